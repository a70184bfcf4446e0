"""A parameter that does not exist is answered with the one that was probably meant."""

import inspect
import re

import pytest

import shortlist
from shortlist import ParameterError

COUNTS = {"apple": 310, "pear": 190, "plum": 12}


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: shortlist.top_k(COUNTS, k=1, eps=1), "epsilon"),
        (lambda: shortlist.prepare(COUNTS, k=1, epsilon=1, max_votes=3), "votes_per_person"),
        (lambda: shortlist.prepare(COUNTS, k=1, epsilon=1, sensitivty=3), "sensitivity"),
        (lambda: shortlist.mechanisms.NoisyCounts(k=1, epsilon=1, vots=3), "votes_per_person"),
        (lambda: shortlist.select(COUNTS, item="i", domain=["a"], user="u"), "person"),
        (lambda: shortlist.select(COUNTS, person="u", item="i", domain=["a"], labels="title"), "label"),
        (lambda: shortlist.mechanisms.Joint(k=1, epsilon=1, neighbors="replace"), "neighbours"),
    ],
)
def test_near_names_are_suggested(call, meant):
    """`select`, `top_k`, `prepare` and mechanisms do so, before anything is read or written."""
    with pytest.raises(ParameterError, match=f"no parameter '\\w+'.\nHint: did you mean {meant}\\?"):
        call()


@pytest.mark.parametrize(
    ("option", "answer"),
    [({"unordered": True}, "pass ordered=False"), ({"delimiter": ";"}, r"pass the table as shortlist\.Files")],
)
def test_options_of_the_command_line_are_answered(option, answer):
    """Python says them in another way."""
    with pytest.raises(ParameterError, match=f"Hint: {answer}"):
        shortlist.select("plays.csv", person="u", item="i", domain=["a"], k=1, epsilon=1, **option)


def test_what_only_a_whole_release_has_is_answered():
    """A list alone is charged to nothing."""
    for verb in (shortlist.top_k, shortlist.prepare):
        with pytest.raises(ParameterError, match=r"Hint: use prepare\(\.\.\.\)\.release\(\), which takes it"):
            verb(COUNTS, k=1, epsilon=1, ledger="budget.db")


def test_a_call_by_place_is_answered_with_the_right_call():
    """Columns are given by name."""
    for wrong in (("user_id", "track"), ("user_id", "track", 10, 1)):
        with pytest.raises(ParameterError, match="select takes one table, and all else by name") as caught:
            shortlist.select({"user_id": [1], "track": ["a"]}, *wrong)
        assert "select(votes, person='user_id', item='track', domain='catalogue.csv', k=10, epsilon=1)" in str(
            caught.value
        )
    with pytest.raises(ParameterError, match=r"item must be given.\nHint: write select\("):
        shortlist.select({"user_id": [1], "track": ["a"]}, person="user_id")
    with pytest.raises(ParameterError, match="votes must be given"):
        shortlist.select(person="user_id", item="track", domain=["a"], k=1, epsilon=1)


def test_help_shows_every_parameter_by_name():
    """No catch-all, and no address of a function."""
    for verb in (shortlist.select, shortlist.top_k, shortlist.prepare):
        shown = inspect.signature(verb)
        assert {"delta", "ordered", "votes_per_person", "k", "epsilon"} <= set(shown.parameters)
        assert not re.search(r"\*\w|0x|lambda", str(shown))
        assert shown.parameters["sensitivity"].default == 1


def test_names_that_a_mechanism_cannot_take_are_not_suggested():
    """A mechanism has no randomness of its own."""
    with pytest.raises(ParameterError, match=r"joint takes k, epsilon, neighbours, rho; it has no parameter 'rng'\.$"):
        shortlist.mechanisms.Joint(k=1, epsilon=1, rng=1)
