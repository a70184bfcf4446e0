"""What is bought on top of a list: the guarantee is the sum, and every form of the record has it."""

import json
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from shortlist import Joint, Ledger, Release, SeededBits, UsefulnessWarning, compose, prepare, select, top_k
from shortlist.errors import BudgetError, DataError, ParameterError
from shortlist.mechanisms.assess.assess import Assess
from shortlist.mechanisms.counts.of_list import ListCounts

COUNTS = {"a": 900, "b": 500, "c": 20, "d": 3, "e": 0}
VOTES = pa.table({"user": [*range(900), *range(500)], "track": ["a"] * 900 + ["b"] * 500})
OPTIONS = {"person": "user", "item": "track", "domain": ["a", "b", "c", "d"], "k": 2, "epsilon": 1}
EXTRAS = {
    "assess": {"assess": "0.1"},
    "counts": {"counts_epsilon": "0.5"},
    "rho": {"counts_rho": "0.05", "counts_delta": "1e-6"},
    "all": {"assess": "0.1", "counts_epsilon": "0.5"},
}
every_extra = pytest.mark.parametrize("extras", EXTRAS.values(), ids=EXTRAS)


def bought(extras, *, k=2, cap=None, neighbours="add-remove"):
    """The guarantees of the extras by themselves."""
    counts = {name.removeprefix("counts_"): value for name, value in extras.items() if name != "assess"}
    found = [ListCounts(k=k, votes_per_person=cap, neighbours=neighbours, **counts).guarantee] if counts else []
    return [*found, *([Assess(epsilon="0.1", neighbours=neighbours).guarantee] if "assess" in extras else [])]


@every_extra
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("options", [{}, {"ordered": False}, {"mechanism": "pnf-peel"}], ids=str)
def test_the_guarantee_is_the_sum(extras, neighbours, options):
    """Of the mechanism, the counts and the assessment; the record says what each spent, and can be read again."""
    plain = prepare(COUNTS, k=2, epsilon=1, neighbours=neighbours, **options)
    release = prepare(COUNTS, k=2, epsilon=1, neighbours=neighbours, **options, **extras).release()
    assert release.guarantee == compose([plain.guarantee, *bought(extras, neighbours=neighbours)])
    assert {name: release.parameters[name] for name in extras} == {n: Fraction(value) for n, value in extras.items()}
    assert (release.assessment is None) == ("assess" not in extras)
    assert (release.counts is None) == (extras.keys() == {"assess"})
    assert set(release.items) == {"a", "b"}
    assert Release.from_json(release.to_json()) == release


def test_select_and_prepare_agree(tmp_path):
    """The same terms give the same record, but for the cap: select enforces it, and the ledger is charged the sum."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=4)
    made = select(VOTES, **OPTIONS, **EXTRAS["all"], votes_per_person=2, ledger=ledger)
    given = prepare(COUNTS, k=2, epsilon=1, **EXTRAS["all"], votes_per_person=2).release()
    assert made.guarantee == given.guarantee
    assert made.guarantee.epsilon == ledger.spent.epsilon == Fraction("1.6")
    assert dict(given.parameters) | {"chosen": ""} == dict(made.parameters) | {
        "cap": "declared by the caller, not enforced",
        "chosen": "",
    }
    assert "Votes per person: at most 2, declared by the caller, not enforced." in str(given)
    assert "declared" not in str(made)
    for shown in (str(made), made._repr_html_(), made.explain()):
        assert "At most 2 votes of each person are counted. Counts and accuracy are about those" in shown
    assert "Assessment: the worst place is wrong by about" in str(made)
    assert Release.from_json(made.to_json()) == made
    with pytest.raises(BudgetError, match=r"needs 2\.6-DP"):
        select(VOTES, **{**OPTIONS, "epsilon": 2}, **EXTRAS["all"], ledger=ledger)


def test_counts_are_near_the_truth_and_have_an_interval_each():
    """Each interval is as wide as one count needs, in the order of the items."""
    release = prepare(COUNTS, k=2, epsilon=9, ordered=False, counts_epsilon=2).release(SeededBits(1))
    intervals = ListCounts(k=2, epsilon=2).state_counts([0, 0])
    assert release.items == ("a", "b")
    assert np.abs(np.array(release.counts.values) - [900, 500]).max() < 20
    assert [high - value for high, value in zip(release.counts.high, release.counts.values, strict=True)] == [
        *intervals.high
    ]


def test_a_person_who_adds_more_costs_more():
    """With a sensitivity of N everything runs at epsilon / N, and the release states the whole."""
    single = prepare(COUNTS, k=2, epsilon="0.5", assess="0.05", counts_epsilon="0.1")
    double = prepare(COUNTS, k=2, epsilon=1, assess="0.1", counts_epsilon="0.2", sensitivity=2).release()
    assert double.guarantee == single.guarantee.scale(2, unit="person")
    assert (double.parameters["assess"], double.parameters["counts_epsilon"]) == (Fraction("0.1"), Fraction("0.2"))
    assert Release.from_json(double.to_json()) == double


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("assess", None, "assessment goes with"),
        ("assess", "0.9", "promises more"),
        ("counts_epsilon", "0.9", "promises more"),
        ("counts_epsilon", "-1", "cannot have these"),
        ("epsilon", "0.9", "chosen mechanism"),
        ("epsilon", "1.6", "epsilon differs"),
    ],
)
def test_refuses_records_that_contradict_themselves(place, value, words):
    """What the extras spent fits the guarantee."""
    stored = prepare(COUNTS, k=2, epsilon=1, **EXTRAS["all"]).release().to_dict()
    stored["parameters"][place] = value
    stored["parameters"] = {name: each for name, each in stored["parameters"].items() if each is not None}
    with pytest.raises(DataError, match=words):
        Release.from_json(json.dumps(stored))


def test_an_assessed_bound_is_shown_where_it_is_smaller():
    """The public bound is always shown. The estimate is shown with its margin, which the record may lack."""
    release = prepare(COUNTS, k=2, epsilon=1, mechanism="joint", assess="0.1").release()
    assert release.assessment is not None
    for votes, times in ((0, 2), (10**6, 1)):
        bound = replace(release.assessment.bound, votes=votes)
        shown = replace(release, assessment=replace(release.assessment, bound=bound)).remarks()
        assert " ".join(shown).count("with probability 0.95") == times
        assert f"votes (± {release.assessment.margin}) on these data" in shown[-1]
    stored = release.to_dict()
    del stored["assessment"]["margin"]
    assert "(±" not in str(Release.from_json(json.dumps(stored)))


@pytest.mark.parametrize(
    "value", [{"estimate": -1}, {"estimate": True}, {"margin": -1}, {"bound": None}, {"bound": {"votes": 1}}]
)
def test_refuses_an_assessment_that_no_release_has(value):
    """An estimate is a whole number, and has a bound."""
    stored = prepare(COUNTS, k=2, epsilon=1, assess="0.1").release().to_dict()
    stored["assessment"] |= value
    with pytest.raises(DataError, match="schema"):
        Release.from_json(json.dumps(stored))


WRONG = {
    "subset with an order": ({"mechanism": "subset", "ordered": True}, "ordered must be False for subset"),
    "an order where there is one": ({"mechanism": "joint", "ordered": False}, "does not take ordered"),
    "a cap of 0": ({"votes_per_person": 0}, "votes_per_person must be a whole number from 1"),
    "a cap of 0 for joint": ({"mechanism": "joint", "votes_per_person": 0}, "votes_per_person must be a whole"),
    "noisy-counts without a cap": ({"mechanism": "noisy-counts"}, "noisy-counts needs votes_per_person"),
    "an empty range": ({"mechanism": "subset", "k": (3, 2)}, "k must be a range with the smaller size first"),
    "an empty range of auto": ({"k": (3, 2), "ordered": False}, r"first, not 3 and 2.\nHint: try k=\(5, 10\)"),
    "a range as text": ({"k": "5-10", "ordered": False}, r"not '5-10'.\nHint: try k=\(5, 10\)"),
    "a range from 0": ({"k": (0, 2), "ordered": False}, "k must be a whole number from 1"),
    "a range with an order": ({"k": (1, 2)}, "k must be one number where the items have an order"),
    "a range for joint": ({"k": (1, 2), "mechanism": "joint"}, "k must be a whole number from 1"),
    "three sizes": ({"k": (1, 2, 3), "ordered": False}, "two numbers for the smallest"),
    "a cap below the sensitivity": ({"votes_per_person": 2, "sensitivity": 3}, "votes_per_person must be at least"),
    "no sensitivity": ({"sensitivity": 0}, "sensitivity must be a whole number from 1"),
    "no people": ({"people": 0}, "people must be a whole number from 1"),
    "no assessment": ({"assess": 0}, "assess must be above 0"),
    "nothing proven": ({"assess": 1, "mechanism": "fastjoint"}, "assess must go with one of"),
    "counts twice": (
        {"mechanism": "noisy-counts", "votes_per_person": 1, "counts_epsilon": 1},
        "noisy-counts releases its counts already",
    ),
    "rho without delta": ({"counts_rho": 1}, "counts_rho must go with counts_delta"),
    "epsilon and rho": ({"counts_epsilon": 1, "counts_rho": 1, "counts_delta": "1e-6"}, "either counts_epsilon or"),
    "delta alone": ({"counts_delta": "1e-6"}, "either counts_epsilon or"),
    "delta and sensitivity": (
        {"counts_rho": 1, "counts_delta": "1e-6", "sensitivity": 2},
        "sensitivity above 1 must go with",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_terms(name):
    """Each is a clear error before any count is looked at."""
    terms, words = WRONG[name]
    with pytest.raises(ParameterError, match=words):
        _ = prepare(COUNTS, **{"k": 2, "epsilon": 1, **terms}).guarantee


def test_mechanisms_name_the_parameter_that_was_meant():
    """A mechanism object answers a wrong name as top_k does, and it can be copied."""
    with pytest.raises(ParameterError, match="joint takes k, epsilon, neighbours; it has no parameter 'eps'"):
        Joint(k=2, eps=1)
    assert pickle.loads(pickle.dumps(Joint(k=2, epsilon=1))) == Joint(k=2, epsilon=1)


def test_the_items_alone_have_no_extras():
    """top_k returns no record, so nothing may be bought there."""
    with pytest.raises(ParameterError, match="assess must go with a whole release; top_k returns the items alone"):
        top_k(COUNTS, k=2, epsilon=1, assess="0.1")
    assert sorted(prepare(COUNTS, k=2, epsilon=1, assess="0.1").draw()) == ["a", "b"]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"epsilon": 1, "people": 1000}, None),
        ({"epsilon": "0.01", "people": 1000}, "the bound on the error is"),
        ({"epsilon": "0.01"}, None),
        ({"epsilon": "0.0001"}, "says little if the counts are below"),
        ({"epsilon": 21}, "an epsilon above 20"),
        ({"epsilon": 1, "delta": "0.001", "people": 1000}, "a delta of 0.001 is not far below 1/1,000"),
        ({"epsilon": 1, "delta": "0.01"}, "a delta of 0.01 is large"),
        ({"epsilon": 1, "delta": "1e-6", "people": 1000}, None),
        ({"epsilon": "0.01", "mechanism": "noisy-counts", "votes_per_person": 1}, None),
        ({"epsilon": "0.001", "mechanism": "joint", "counts_epsilon": 1}, "no count is above"),
    ],
    ids=str,
)
def test_warns_of_lists_that_say_little(terms, words):
    """A bound above the number of people, or above all counts, and a huge epsilon are warnings; nothing else is."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = prepare(COUNTS, k=2, **terms).release(SeededBits(1))
        _ = select(VOTES, **{**OPTIONS, **terms}, bits=SeededBits(1))
    assert len(release) == 2
    assert [each.category for each in caught] == ([] if words is None else [UsefulnessWarning] * 2)
    assert all(words in str(each.message) and each.filename == __file__ for each in caught)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_ranges_of_sizes_are_released(neighbours):
    """With a wide gap after two items, sets of one to four have two; the record can be read again."""
    release = prepare(COUNTS, k=(1, 4), epsilon=4, ordered=False, neighbours=neighbours).release()
    assert 1 <= len(release) <= 4
    assert (release.parameters["k"], release.parameters["at_least"]) == (4, 1)
    assert Release.from_json(release.to_json()) == release
    assert prepare(COUNTS, k=(1, 4), epsilon=4, mechanism="subset", ordered=False).draw() == ["a", "b"]
