"""The plan: its table, its advice, its wishes, and what it refuses."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import numpy as np
import pytest

import shortlist
from shortlist.errors import DataError, ParameterError
from shortlist.planning import advice
from shortlist.planning.advice import Wish
from shortlist.planning.constraints import Constraints

STEEP = (20_000 / np.arange(10, 3010)).astype(int)
"""The 30th item has 512 votes, and an ordered list of 30 from 3,000 needs about 490 at epsilon 1."""


@pytest.fixture(scope="module")
def made():
    """A plan on counts where an ordered list of 40 collapses."""
    return shortlist.plan(STEEP // 2, k=40, epsilon=1, draws=200)


def test_the_table_has_every_mechanism_that_is_allowed(made):
    """Without a delta, a cap or leave to drop the order, those that need none; the best comes first."""
    names = [row["mechanism"] for row in made.table]
    assert sorted(names) == ["auto", "fastjoint", "joint", "margin-joint", "pnf-joint", "pnf-peel"]
    assert names[0] == made.best.name
    recalls = [row["recall"] for row in made.table]
    assert recalls == sorted(recalls, reverse=True)
    more = shortlist.plan(STEEP, k=3, epsilon=1, delta="1e-6", votes_per_person=3, ordered=False, draws=20)
    extra = {row["mechanism"] for row in more.table} - set(names)
    assert extra == {"cdp-peel", "noisy-counts", "subset"}


def test_a_row_has_quantiles_bound_guarantee_and_releases(made):
    """Each as a plain value; probabilities say where they come from."""
    rows = {row["mechanism"]: row for row in made.table}
    joint = rows["joint"]
    assert joint["recall_5"] <= joint["recall_50"] <= joint["recall_95"]
    assert joint["total_error_5"] <= joint["total_error_50"] <= joint["total_error_95"]
    assert joint["error_bound"] == shortlist.mechanisms.Joint(k=40, epsilon=1).error_bound(3000)
    assert (joint["epsilon"], joint["delta"], joint["rho"]) == ("1", "0", "0.125")
    assert joint["exact_from"] == "law"
    assert rows["pnf-peel"]["exact_from"] == "draws"
    # Twelve releases at ρ = 1/8 would be more than a budget of (10, 1e-6) has; basic composition covers ten.
    assert joint["affordable"] == 11
    assert rows["pnf-peel"]["affordable"] > 100
    assert sum(rows["auto"]["chosen"].values()) == pytest.approx(1)


def test_the_advice_uses_the_users_own_numbers(made):
    """How many people joint needs, how many there are, and what would help, with its recall."""
    needed = shortlist.mechanisms.Joint(k=40, epsilon=1).error_bound(3000)
    assert f"if {needed:,} people or more have the item at rank 40" in made.why
    assert f"you have {sorted(STEEP // 2)[-40]:,}. You have fewer, and in the forecast joint collapses" in made.why
    assert "in any order, subset gets" in made.why
    assert "with δ = 1e-6, cdp-peel gets" in made.why
    assert "with at most 10 votes per person, if that changes the counts little, noisy-counts gets" in made.why


def test_the_point_of_collapse_is_where_votes_are_enough(made):
    """At the epsilon and the k that are named, the bound is at most the votes; a little below, it is not."""
    counts = np.sort(STEEP // 2)[::-1]
    named = re.search(
        r"from ε = ([0-9.]+) on, joint has enough votes; up to k = (\d+), joint has enough votes", made.why
    )
    epsilon, k = Fraction(named[1]), int(named[2])
    assert shortlist.mechanisms.Joint(k=40, epsilon=epsilon).error_bound(3000) <= counts[39]
    assert shortlist.mechanisms.Joint(k=40, epsilon=epsilon * Fraction(9, 10)).error_bound(3000) > counts[39]
    assert shortlist.mechanisms.Joint(k=k, epsilon=1).error_bound(3000) <= counts[k - 1]
    assert shortlist.mechanisms.Joint(k=k + 1, epsilon=1).error_bound(3000) > counts[k]


def test_the_rule_never_contradicts_the_forecast():
    """The bound on votes suffices. Where fewer votes do, the forecast says so, and no collapse is announced."""
    for epsilon, collapses in (("0.5", False), ("0.05", True)):
        made = shortlist.plan(
            like="zipf", exponent="1.1", items=10**5, people=10**6, k=50, epsilon=epsilon, draws=50, sort="name"
        )
        joint = next(each for each in made.forecasts if each.name == "joint")
        assert joint.bound > made.planner.counts.shown[0].counts[49]
        assert (joint.recall.mean < 0.5) == collapses == ("joint collapses" in made.why)
        assert ("You have fewer, so the forecast decides: joint gets" in made.why) == (not collapses)


def test_a_safe_list_needs_no_help():
    """Where counts are large, nothing is proposed, and no alarm is raised."""
    made = shortlist.plan(STEEP * 100, k=10, epsilon=1, draws=100)
    assert made.forecasts[0].recall.mean == 1
    assert "does not collapse" in made.why
    assert "What would help" not in made.why


def test_a_plan_in_rho_compares_mechanisms_at_one_rho(tmp_path):
    """Each mechanism has the rho, the command and the call ask for it, and what is about epsilon is refused."""
    made = shortlist.plan(STEEP, k=3, rho="0.03", delta="1e-6", votes_per_person=3, draws=20)
    assert all(0.02999999 < float(row["rho"]) <= 0.03 for row in made.table)
    assert ("--rho 0.03" in made.command, "--epsilon" in made.command) == (True, False)
    assert eval(made.call, {"shortlist": shortlist, "new_counts": STEEP}) is not None
    assert made.to_dict()["rho"] == "0.03"
    assert "ε = 0.489897948" in made.advice.rule
    for words, call in {
        "must go with epsilon": lambda: shortlist.plan(STEEP, k=3, rho="0.03", want="recall 0.9"),
        "neither was": lambda: shortlist.plan(STEEP, k=3),
        "both were": lambda: shortlist.plan(STEEP, k=3, epsilon=1, rho=1),
        "rho must be above 0": lambda: shortlist.plan(STEEP, k=3, rho=0),
        "a page must be": lambda: made.to_html(tmp_path / "plan.html"),
    }.items():
        with pytest.raises(ParameterError, match=words):
            call()


def test_plans_can_be_sorted_and_repeated():
    """Equal seeds give equal plans. Each measure puts its best mechanism first."""
    options = {"k": 10, "epsilon": "0.2", "draws": 100}
    assert shortlist.plan(STEEP, **options).to_json() == shortlist.plan(STEEP, **options).to_json()
    assert shortlist.plan(STEEP, **options, sort="name").table[0]["mechanism"] == "auto"
    errors = [row["largest_error_50"] for row in shortlist.plan(STEEP, **options, sort="error").table]
    assert errors == sorted(errors)
    with pytest.raises(ParameterError, match="sort must be one of recall, exact"):
        shortlist.plan(STEEP, **options, sort="luck")


def test_the_plan_can_be_written(made, tmp_path):
    """As JSON with its schema, as CSV, and as HTML for notebooks; each says that it is not private, or is data only."""
    record = json.loads(made.to_json())
    assert record["schema"] == "shortlist.plan/1"
    assert record["private"] is False
    assert record["best"] == made.best.name
    assert len(record["table"]) == 6
    made.to_json(tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text(encoding="utf-8")) == record
    assert len(made.to_csv().splitlines()) == 7
    assert "NOT PRIVATE" in made._repr_html_()
    assert made._repr_html_().count("<tr>") == 7


def test_the_call_of_python_works(made):
    """What the plan says is ready to paste runs as it is."""
    counts = STEEP // 2
    assert len(eval(made.call, {"shortlist": shortlist, "new_counts": counts})) == 40
    other = shortlist.plan(
        counts, k=5, epsilon="1/3", delta="1e-6", votes_per_person=3, ordered=False, neighbours="replace", draws=10
    )
    for forecast in other.forecasts:
        call = advice.write_call(forecast.mechanism, forecast.constraints)
        assert "votes_per_person=3" in call
        assert len(eval(call, {"shortlist": shortlist, "new_counts": counts})) == 5, call


def test_invented_counts_need_no_data():
    """Their sum is the number of votes, up to rounding, and nobody votes twice for an item."""
    made = shortlist.plan(
        like="zipf", exponent="1.1", items=1000, people=1e5, votes_per_person=4, k=5, epsilon=1, draws=20
    )
    assert 390_000 < made.planner.counts.shown[0].counts.sum() <= 400_000
    assert made.planner.counts.shown[0].counts[0] <= 100_000
    assert made.planner.counts.invented
    steep = shortlist.plan(like="zipf", exponent=3, items=10, people=100, votes_per_person=9, k=2, epsilon=1, draws=20)
    assert steep.planner.counts.shown[0].counts.max() == 100


@pytest.mark.slow
def test_the_command_for_a_wish_has_its_epsilon():
    """Command, record, notebook and page have the smallest epsilon, and a mechanism that it is enough for."""
    from shortlist.planning.page import compute_grid

    made = shortlist.plan(STEEP, k=10, epsilon="0.1", want="recall 0.9", draws=20)
    least = min(each.epsilon for each in made.answers.values() if each.epsilon is not None)
    names = [name for name, each in made.answers.items() if each.epsilon == least]
    command = made.wish_command
    assert command is not None
    assert f"--epsilon {float(least):g} " in command
    assert any(f"--mechanism {name} " in command for name in names) or "auto" in names
    assert made.to_dict()["wish_command"] == command
    assert command in made._repr_html_()
    page = compute_grid(made, lambda step: None)
    assert page["wishes"][page["sizes"].index(10)]["command"] == command
    assert "--epsilon 0.1 " in made.command
    assert shortlist.plan(STEEP, k=10, epsilon=1, draws=20).wish_command is None


def test_a_limit_is_explained():
    """Beside a command with a limit stands what the limit does to the votes."""
    made = shortlist.plan(STEEP, k=10, epsilon=1, votes_per_person=3, draws=20)
    assert "This counts at most 3 votes of each person. If many people have more" in made._repr_html_()
    assert "This counts" not in shortlist.plan(STEEP, k=10, epsilon=1, draws=20)._repr_html_()


def test_one_vote_is_proposed_to_invented_people():
    """Invented people cast one vote each if nothing else is said; of real people that is not known."""
    invented = shortlist.plan(like="zipf", items=5000, people=2000, k=50, epsilon=1, draws=20)
    assert any("with at most 1 vote per person" in each for each in invented.advice.changes)
    given = shortlist.plan(invented.planner.counts.shown[0].counts, k=50, epsilon=1, draws=20)
    assert any("with at most 10 votes per person" in each for each in given.advice.changes)


def test_invented_people_cast_one_vote_but_nobody_is_limited():
    """Counts are invented for one vote each. A limit that nobody asked for would drop votes of real people."""
    made = shortlist.plan(like="zipf", items=1000, people=10**4, k=5, epsilon=1, draws=20)
    assert made.planner.constraints.votes_per_person is None
    assert "noisy-counts" not in {row["mechanism"] for row in made.table}
    assert "10,000 people with 1 vote each" in made.planner.counts.source
    assert "votes-per-person" not in made.command
    assert "votes_per_person" not in made.call
    limited = shortlist.plan(like="zipf", items=1000, people=10**4, votes_per_person=1, k=5, epsilon=1, draws=20)
    assert "--votes-per-person 1 " in limited.command
    assert "votes_per_person=1" in limited.call


@pytest.mark.parametrize("name", ["margin-joint", "cdp-peel", "noisy-counts", "auto"])
def test_the_command_has_the_cap_whatever_the_mechanism(name):
    """Votes beyond the limit are not counted, so the release needs the limit as well."""
    made = shortlist.plan(STEEP, k=5, epsilon=1, delta="1e-6", votes_per_person=7, draws=10)
    mechanism = next(each.mechanism for each in made.forecasts if each.name == name)
    command = advice.write_command(mechanism, Constraints(votes_per_person=7))
    assert "--votes-per-person 7" in command
    assert ("--delta 1e-6" in command) == (name != "margin-joint")


# without a domain


def test_without_a_domain_other_mechanisms_are_forecast():
    """Items without votes do not exist, lists may be short, and the command needs no catalogue."""
    counts = np.append(STEEP, np.zeros(500, dtype=int))
    options = {"k": 40, "epsilon": 1, "delta": "1e-6", "without_domain": True, "draws": 100}
    made = shortlist.plan(counts, **options)
    assert [row["mechanism"] for row in made.table] == ["limited-domain"]
    assert made.planner.counts.d == len(STEEP)
    assert "--domain" not in made.command
    assert "an item is released only if many people have it" in made.why
    few = shortlist.plan(counts // 2, **options)
    assert "with at most 10 votes per person, if that changes the counts little, threshold gets" in few.why
    more = shortlist.plan(counts, **options, votes_per_person=5, ordered=False)
    rows = {row["mechanism"]: row for row in more.table}
    assert rows.keys() == {"limited-domain", "threshold", "stable"}
    assert rows["stable"]["items"] < 40
    needed = shortlist.mechanisms.Threshold(k=40, epsilon=1, delta="1e-6", votes_per_person=5).threshold
    assert f"threshold needs about {needed:,} people for an item" in more.why
    # One release has all of the delta of the budget.
    assert all(row["affordable"] == 1 for row in more.table)


def test_without_a_domain_few_votes_are_seen():
    """The rule says how many items have enough votes, and proposes as many."""
    made = shortlist.plan(
        [500] * 6 + [9] * 60, k=20, epsilon=1, delta="1e-6", votes_per_person=5, without_domain=True, draws=50
    )
    assert "Only 6 items have as many" in made.why
    assert "k = 6 or less" in made.why
    few = shortlist.plan([3] * 60, k=20, epsilon=1, delta="1e-6", without_domain=True, draws=50)
    assert "No item has as many; in the forecast, limited-domain lists about 0." in few.why


# wishes


def test_a_wish_finds_the_smallest_epsilon_that_does_it():
    """It holds at the epsilon found and at every larger one of the grid, and fails at the next smaller number."""
    for text in ("recall 0.9", "exact 0.5", "error 30"):
        made = shortlist.plan(STEEP, k=10, epsilon=1, want=text, draws=200)
        wish, found = Wish.read(text), made.answers["joint"].epsilon

        def holds(epsilon, wish=wish, made=made):
            return wish.holds(made.planner.look("joint", 10, epsilon, made.planner.constraints))

        assert all(holds(epsilon) for epsilon in (found, *advice.EPSILONS) if epsilon >= found)
        digit = Fraction(1, 1000) if found <= Fraction(1, 10) else Fraction(1, 100) if found <= 1 else Fraction(1, 10)
        assert (found / digit).denominator == 1, "two digits"
        assert not holds(found - digit)
        assert json.loads(made.to_json())["smallest_epsilon"]["joint"] == str(float(found)).removesuffix(".0")


def test_a_wish_that_no_epsilon_meets_is_told(monkeypatch):
    """Then the answer is None, and it says how far the search went."""
    monkeypatch.setattr(advice, "EPSILONS", (Fraction(1, 10), Fraction(1, 5)))
    made = shortlist.plan(STEEP, k=100, epsilon=1, want="exact 0.99", draws=20)
    assert {answer.epsilon for answer in made.answers.values()} == {None}
    assert str(made.answers["joint"]).startswith("no ε up to 0.2, where it is ")
    assert "No mechanism does what you want with ε up to 0.2" in made.why


# what is refused


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "counts or like must be given, and only one of them; neither was"),
        ({"counts": [5, 3], "like": "zipf"}, "only one of them; both were"),
        ({"counts": [5, 3], "people": 9}, "people must go with like; counts were given"),
        ({"like": "zipf"}, "like must go with items and people; items is missing"),
        ({"like": "zipf", "items": 100}, "people is missing"),
        ({"like": "zipf", "items": 10.5, "people": 9}, "items must be a whole number"),
        ({"like": "zipf", "items": 10, "people": "20k"}, "not '20k'.\nHint: try people=20000"),
        ({"like": "bell", "items": 10, "people": 9}, "like must be 'zipf', not 'bell'"),
        ({"counts": [1, 0, 1, 1]}, "none is above 1, as in a table of votes"),
        ({"counts": [5, -3]}, "some are negative"),
        ({"counts": [["u1", "a"], ["u2", "b"]]}, "there are 2 dimensions"),
        ({"counts": [5, 3], "k": 3}, "k is 3, and there are 2"),
        ({"counts": [5, 3], "epsilon": 0}, "epsilon must be above 0"),
        ({"counts": [5, 3], "delta": 2}, "delta must be above 0 and below 1"),
        ({"counts": [5, 3], "draws": 0}, "draws must be a whole number"),
        ({"counts": [5, 3], "votes_per_person": 0}, "votes_per_person must be"),
        ({"counts": [5, 3], "want": "perfection"}, "want must be a measure and a value"),
        ({"counts": [5, 3], "want": "recall 1.5"}, "want for recall must be above 0 and at most 1, not '1.5'"),
        ({"counts": [5, 3], "want": "error -1"}, "want for error must be 0 votes or more"),
        ({"counts": [5, 3], "want": "recall often"}, "want must have a number after the measure"),
        ({"counts": [5, 3], "k": (1, 2)}, "k must be one number in a plan, not a range of sizes"),
        ({"counts": [5, 3], "without_domain": True}, "without_domain must go with delta"),
        (
            {"counts": [5, 3, 0], "without_domain": True, "delta": "1e-6", "k": 3},
            "k must be at most the number of items with votes; k is 3, and there are 2",
        ),
        ({"counts": [5, 3], "budget_epsilon": -1}, "budget_epsilon must be above 0"),
        ({"counts": [5, 3], "budget_delta": 1}, "budget_delta must be from 0 to 1"),
        ({"counts": ["five", "three"]}, "counts must be"),
        ({"counts": [5.0, float("nan")]}, "counts must be"),
        ({"counts": []}, "counts must be"),
    ],
)
def test_bad_input_is_refused(options, said):
    """With a sentence that says what was expected, and no count in it."""
    with pytest.raises((ParameterError, DataError)) as caught:
        shortlist.plan(**{"k": 1, "epsilon": 1, **options})
    assert said in str(caught.value)
