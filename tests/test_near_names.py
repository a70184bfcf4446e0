"""A parameter that does not exist is answered with the one that was probably meant."""

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
        (lambda: shortlist.select(COUNTS, item="i", domain=["a"], user="u"), "person"),
        (lambda: shortlist.check(COUNTS, items="i"), "item"),
        (lambda: shortlist.plan(COUNTS, k=1, epsilon=1, wish="recall 0.9"), "want"),
        (lambda: shortlist.audit(mechanisms="joint"), "mechanism"),
        (lambda: shortlist.compose([], dleta=1), "delta"),
        (lambda: shortlist.Guarantee(eps=1), "epsilon"),
        (lambda: shortlist.Ledger.create("new.db", eps=1), "epsilon"),
        (lambda: shortlist.Ledger.open("new.db", time_out=1), "timeout"),
        (lambda: shortlist.SeededBits(sede=1), "seed"),
        (lambda: shortlist.Joint(k=1, epsilon=1, neighbors="replace"), "neighbours"),
        (lambda: shortlist.Files("plays.csv", delimeter=";"), "delimiter"),
        (lambda: shortlist.Query(db="plays.db", sql="SELECT 1"), "database"),
    ],
)
def test_near_names_are_suggested(call, meant):
    """Every public function and class does so, before anything is read or written."""
    with pytest.raises(ParameterError, match=f"no parameter '\\w+'.\nHint: did you mean {meant}\\?"):
        call()


@pytest.mark.parametrize("method", ["draw", "release"])
def test_selectors_suggest_names(method):
    """Methods do so, too."""
    selector = shortlist.prepare(COUNTS, k=1, epsilon=1)
    with pytest.raises(ParameterError, match="did you mean bits"):
        getattr(selector, method)(rng=1)
    with pytest.raises(ParameterError, match="did you mean force"):
        selector.release().to_json("top.json", overwrite=True)


def test_names_that_a_mechanism_cannot_take_are_not_suggested():
    """A mechanism has no randomness of its own."""
    with pytest.raises(ParameterError, match=r"joint takes k, epsilon, neighbours; it has no parameter 'rng'\.$"):
        shortlist.Joint(k=1, epsilon=1, rng=1)
