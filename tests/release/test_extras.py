"""What is bought on top of a list: the guarantee is the sum, and every form of the record has it."""

import copy
import json
import pickle
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa
import pytest

from shortlist import Ledger, Release, UsefulnessWarning, compose, prepare, select, top_k
from shortlist.errors import BudgetError, DataError, ParameterError
from shortlist.mechanisms import MECHANISMS, Joint
from shortlist.mechanisms.assess import Assess
from shortlist.mechanisms.noisy_counts import ListCounts
from shortlist.privacy.zcdp import find_epsilon
from shortlist.testing import SeededBits

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
    assert dict(given.parameters) | {"chosen": ""} == dict(made.parameters) | {"chosen": ""}
    assert "The caller states that one person adds at most 1, and has at most 2 votes." in str(given)
    assert "caller states" not in str(made)
    for shown in (str(made), made._repr_html_(), made.explain()):
        assert "At most 2 votes of each person are counted. Counts and accuracy refer to what is counted" in shown
    single = select(VOTES, **OPTIONS, votes_per_person=1)
    assert "At most 1 vote of each person is counted." in str(single)
    assert "Assessment: " in str(made)
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
    scaled = single.guarantee.scale(2, unit="person")
    # The whole epsilon of a part may have a smaller rho than N² times that of its N-th part.
    assert double.guarantee == replace(scaled, rho=double.guarantee.rho)
    assert 0 < double.guarantee.rho <= scaled.rho
    assert (double.parameters["assess"], double.parameters["counts_epsilon"]) == (Fraction("0.1"), Fraction("0.2"))
    assert Release.from_json(double.to_json()) == double


WITH_OTHERS = {
    "pure": {"counts_epsilon": 4},
    "independent": {"counts_rho": 2, "counts_delta": "1e-6"},
    "shared": {"counts_rho": 2, "counts_delta": "1e-6", "votes_per_person": 40},
}
SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "release.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("numbers", WITH_OTHERS.values(), ids=WITH_OTHERS)
def test_others_are_all_votes_that_are_not_listed(numbers, neighbours):
    """Their noisy count is near the truth, has an interval, and is in the record and in every sentence form."""
    asked = {"k": 2, "epsilon": 9, "neighbours": neighbours, "votes_per_person": 3, **numbers}
    release = prepare({**COUNTS, "c": 20, "d": 30_000}, **asked, others=True).release(SeededBits(1))
    counts = ListCounts(
        k=2,
        others=True,
        neighbours=neighbours,
        votes_per_person=asked["votes_per_person"],
        **{name.removeprefix("counts_"): value for name, value in numbers.items() if name.startswith("counts_")},
    )
    stated, shown = counts.state_counts(release.counts.values, others=release.counts.others), release.counts
    assert shown == stated
    assert set(release.items) == {"a", "d"}
    assert abs(shown.others - 520) < 2000
    assert shown.others_low <= 520 <= shown.others_high
    sentence = f"All other items have {shown.others:,} votes together (before noise, from {shown.others_low:,} to "
    for text in (str(release), release._repr_html_(), release.explain()):
        assert sentence in text
    jsonschema.Draft202012Validator(SCHEMA).validate(release.to_dict())
    assert Release.from_json(release.to_json()) == release == pickle.loads(pickle.dumps(release))
    assert release.parameters["others"] is True
    assert "others" not in release.to_arrow().column_names


def test_others_cost_no_more_than_what_was_asked_for():
    """The epsilon and the delta of a release with others are those without; rho may be larger."""
    for numbers in ({"counts_epsilon": "0.5"}, {"counts_rho": "0.1", "counts_delta": "1e-6"}):
        with_others, alone = (
            prepare(COUNTS, k=2, epsilon=1, votes_per_person=9, others=others, **numbers).guarantee
            for others in (True, False)
        )
        assert (with_others.epsilon, with_others.delta) == (alone.epsilon, alone.delta)
        assert with_others.rho >= alone.rho
    sums = prepare(COUNTS, k=2, epsilon=2, counts_epsilon=1, votes_per_person=9, others=True, sensitivity=2).release()
    assert sums.guarantee.epsilon == 3
    assert Release.from_json(sums.to_json()) == sums


OF_OTHERS = {
    "others": ("counts", "others", 5, "counts differs"),
    "an end": ("counts", "others_low", 0, "counts differs"),
    "others that are no number": ("counts", "others", "5", "schema"),
    "others without an end": ("counts", "others_high", None, "schema"),
    "ends in the wrong order": ("counts", "others_low", 10**9, "schema"),
    "the parameter": ("parameters", "others", None, "guarantee differs"),
    "a parameter that is no bool": ("parameters", "others", "yes", "cannot have these"),
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_refuses_records_whose_others_were_changed(name):
    """The count of others and its interval belong together, and to the parameter that asked for them."""
    section, field, value, words = OF_OTHERS[name]
    asked = {"counts_epsilon": "0.5", "votes_per_person": 3, "others": True}
    stored = prepare(STEPS, k=2, epsilon=1, mechanism="joint", **asked).release(SeededBits(1)).to_dict()
    stored[section].update({field: value})
    if value is None:
        del stored[section][field]
    with pytest.raises(DataError, match=words):
        Release.from_json(json.dumps(stored))


STEPS = {f"item {rank}": 100 * (300 - rank) for rank in range(300)}
JOINT = {"mechanism": "joint", "assess": 8, "counts_epsilon": "0.5", "votes_per_person": 3}
CHANGES = {
    "assess": ("parameters", "assess", "7", "epsilon differs"),
    "no assess": ("parameters", "assess", None, "epsilon differs"),
    "counts_epsilon": ("parameters", "counts_epsilon", "0.4", "epsilon differs"),
    "a counts_epsilon that is none": ("parameters", "counts_epsilon", "-1", "cannot have these"),
    "counts_rho": ("parameters", "counts_rho", "0.1", "cannot have these"),
    "epsilon": ("parameters", "epsilon", "0.9", "epsilon differs"),
    "a cap that moves fewer counts": ("parameters", "votes_per_person", 1, "promises more"),
    "how the cap was ensured": ("parameters", "cap", "enforced", "cannot have these"),
    "epsilon of the guarantee": ("guarantee", "epsilon", "9.6", "epsilon differs"),
    "less rho": ("guarantee", "rho", "0.1", "promises more"),
    "more rho": ("guarantee", "rho", "100", "guarantee differs"),
    "votes of the bound": ("error_bound", "votes", 0, "error_bound differs"),
    "confidence of the bound": ("error_bound", "confidence", "0.99", "error_bound differs"),
    "words of the bound": ("error_bound", "statement", "perfect", "error_bound differs"),
    "margin of the assessment": ("assessment", "margin", 1000, "assessment differs"),
    "estimate": ("assessment", "estimate", 10**6, "assessment differs"),
    "counts": ("counts", "values", [1, 2], "counts differs"),
    "an interval": ("counts", "low", [0, 0], "counts differs"),
    "confidence of the counts": ("counts", "confidence", "0.99", "counts differs"),
    "no counts": (None, "counts", None, "counts differs"),
    "no assessment": (None, "assessment", None, "assessment differs"),
    "the order": (None, "ordered", False, "ordered differs"),
    "the mechanism": (None, "mechanism", "subset", "ordered differs"),
    "the domain": (None, "domain_size", 9, "error_bound differs"),
}


@pytest.fixture(scope="module")
def joint_record():
    return prepare(STEPS, k=2, epsilon=1, **JOINT).release(SeededBits(1)).to_dict()


@pytest.mark.parametrize("name", CHANGES)
def test_refuses_records_that_were_changed_in_one_place(joint_record, name):
    """All that can be stated again from the parameters is compared with what the record says."""
    section, field, value, words = CHANGES[name]
    stored = copy.deepcopy(joint_record)
    assert Release.from_json(json.dumps(stored)).to_dict() == stored
    place = stored if section is None else stored[section]
    place.update({field: value})
    if value is None:
        del place[field]
    with pytest.raises(DataError, match=words):
        Release.from_json(json.dumps(stored))


def test_other_versions_may_state_other_bounds(joint_record):
    """Numbers and words of bounds and intervals may change from version to version; what is stated at all may not."""
    stored = {**copy.deepcopy(joint_record), "version": "9.9"}
    stored["error_bound"]["statement"] = "in other words"
    stored["guarantee"]["rho"] = "100"
    assert Release.from_json(json.dumps(stored)).error_bound.statement == joint_record["error_bound"]["statement"]
    stored["guarantee"]["rho"] = "0.1"
    with pytest.raises(DataError, match="promises more"):
        Release.from_json(json.dumps(stored))


def test_refuses_what_was_not_bought(joint_record):
    """Counts and an assessment belong to the parameters that asked for them."""
    plain = prepare(COUNTS, k=2, epsilon=1, mechanism="joint").release().to_dict()
    for name in ("counts", "assessment"):
        with pytest.raises(DataError, match=f"{name} differs"):
            Release.from_json(json.dumps({**plain, name: joint_record[name]}))


def test_reads_counts_whose_rho_is_worth_no_epsilon():
    """With a large delta and a small rho, the counts add a delta only."""
    release = prepare(COUNTS, k=2, epsilon=1, counts_rho="1e-4", counts_delta="1e-2", people=10**6).release()
    assert release.guarantee.epsilon == 1
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("epsilon", ["2e-19", "1e-30"])
def test_counts_with_huge_noise_fit_every_format(epsilon):
    """Noisy counts and their intervals are cut off where 64 bits end, and nothing fails after the draw."""
    for terms in (
        {"epsilon": 1, "counts_epsilon": epsilon},
        {"epsilon": epsilon, "mechanism": "noisy-counts", "votes_per_person": 1},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UsefulnessWarning)
            release = prepare(COUNTS, k=2, **terms).release(SeededBits(1))
        assert max(release.counts.high) == 2**63 - 1
        assert all(0 <= low <= high for low, high in zip(release.counts.low, release.counts.high, strict=True))
        assert release.to_arrow()["count"].to_pylist() == list(release.counts.values)
        assert Release.from_json(release.to_json()) == release


def test_records_with_any_noise_are_read():
    """An estimate of 0 stands for all spreads below it, and the bound tells which."""
    seen = set()
    for seed in range(20):
        release = prepare(STEPS, k=2, epsilon=1, mechanism="joint", assess="0.4").release(SeededBits(seed))
        assert Release.from_json(release.to_json()) == release
        seen.add((release.assessment.estimate == 0, release.assessment.bound.votes))
    assert len([zero for zero, _ in seen if zero]) > 1


def test_an_assessed_bound_is_shown_where_it_is_smaller():
    """The public bound is always shown. No sentence states the spread, which is no error."""
    release = prepare(COUNTS, k=2, epsilon=1, mechanism="joint", assess="0.1").release(SeededBits(7))
    assert release.assessment is not None
    for votes, times in ((0, 2), (10**6, 1)):
        bound = replace(release.assessment.bound, votes=votes)
        shown = replace(release, assessment=replace(release.assessment, bound=bound)).remarks()
        assert " ".join(shown).count("with probability 0.95") == times
        assert ("on these data, with probability 0.95" in shown[-1]) == (times == 2)
        assert ("no smaller bound follows from these data" in shown[-1]) == (times == 1)
        assert "about" not in shown[-1]


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
    "deltas that sum to 1": (
        {"mechanism": "cdp-peel", "delta": "0.6", "counts_rho": 1, "counts_delta": "0.6"},
        "delta and counts_delta must sum to less than 1",
    ),
    "no sensitivity": ({"sensitivity": 0}, "sensitivity must be a whole number from 1"),
    "bytes for a number": (
        {"k": b"12", "ordered": False},
        "k must be a number, or two numbers",
    ),
    "an epsilon and a delta that allow no noise": (
        {"mechanism": "noisy-counts", "votes_per_person": 1, "epsilon": "1e-300", "delta": "1e-300"},
        "epsilon and delta must be larger",
    ),
    "a rho that is worth no epsilon": (
        {"mechanism": "noisy-counts", "votes_per_person": 1, "epsilon": None, "rho": "1e-4", "delta": "1e-2"},
        "delta must be smaller for this rho",
    ),
    "too large an assessment": ({"assess": 10**7}, "assess must be at most 1000000, not 10000000"),
    "no people": ({"people": 0}, "people must be a whole number from 1"),
    "no assessment": ({"assess": 0}, "assess must be above 0"),
    "nothing proven": ({"assess": 1, "mechanism": "fastjoint"}, "assess must go with one of"),
    "counts twice": (
        {"mechanism": "noisy-counts", "votes_per_person": 1, "counts_epsilon": 1},
        "noisy-counts releases its counts already",
    ),
    "rho without delta": ({"counts_rho": 1}, "counts_rho must go with counts_delta"),
    "epsilon and rho": ({"counts_epsilon": 1, "counts_rho": 1, "counts_delta": "1e-6"}, "must not both be given"),
    "delta alone": ({"counts_delta": "1e-6"}, "either counts_epsilon or"),
    "others without counts": ({"others": True, "votes_per_person": 3}, "either counts_epsilon or counts_rho must"),
    "others without a cap": (
        {"others": True, "counts_epsilon": 1},
        "others must go with votes_per_person; without a limit, one person may have voted for every item",
    ),
    "others of noisy-counts": (
        {"others": True, "mechanism": "noisy-counts", "votes_per_person": 3},
        "others must go with another mechanism; noisy-counts releases its counts already",
    ),
    "others that are no bool": (
        {"others": 1, "counts_epsilon": 1, "votes_per_person": 3},
        "others must be True or False, not 1",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses_wrong_terms(name):
    """Each is a clear error before any count is looked at."""
    terms, words = WRONG[name]
    with pytest.raises(ParameterError, match=words):
        prepare(COUNTS, **{"k": 2, "epsilon": 1, **terms})


WITH_DELTA = {
    "auto": {"votes_per_person": 5},
    "cdp-peel": {},
    "noisy-counts": {"votes_per_person": 5},
    "limited-domain": {},
    "threshold": {"votes_per_person": 5},
    "stable": {},
}


def test_all_mechanisms_with_a_delta_are_listed():
    """A new mechanism with a delta is tested, too."""
    assert {name for name, kind in MECHANISMS.items() if "delta" in kind.__dataclass_fields__} == WITH_DELTA.keys()


@pytest.mark.parametrize("name", WITH_DELTA)
def test_a_delta_is_for_persons_who_add_one(name):
    """With an epsilon, a delta and a higher sensitivity nothing can be drawn: noise would hide N votes too little.

    A rho scales, and so does what follows from it.
    """
    terms = {"k": 40, "epsilon": 1, "delta": "1e-6", "sensitivity": 5, "mechanism": name, **WITH_DELTA[name]}
    for refused in (prepare, top_k):
        with pytest.raises(ParameterError, match="sensitivity above 1 must go with a mechanism that has no delta"):
            refused(range(50), **terms)
    if name in ("limited-domain", "stable"):
        with pytest.raises(ParameterError, match="sensitivity above 1"):
            prepare(range(50), **{**terms, "epsilon": None, "rho": "0.02"})
    if name in ("noisy-counts", "cdp-peel"):
        guarantee = prepare(range(50), **{**terms, "epsilon": None, "rho": "0.02"}).guarantee
        assert Fraction("0.0199") < guarantee.rho <= Fraction("0.02")
        assert guarantee.epsilon == find_epsilon(guarantee.rho, Fraction(1, 10**6))


def test_mechanisms_name_the_parameter_that_was_meant():
    """A mechanism object answers a wrong name as top_k does, and it can be copied."""
    with pytest.raises(ParameterError, match="joint takes k, epsilon, neighbours, rho; it has no parameter 'eps'"):
        Joint(k=2, eps=1)
    assert pickle.loads(pickle.dumps(Joint(k=2, epsilon=1))) == Joint(k=2, epsilon=1)


def test_the_items_alone_have_no_extras():
    """top_k returns no record, so nothing may be bought there."""
    with pytest.raises(ParameterError, match="assess must go with a whole release; top_k returns the items alone"):
        top_k(COUNTS, k=2, epsilon=1, assess="0.1")
    with pytest.raises(ParameterError, match="people must go with a whole release"):
        top_k(COUNTS, k=2, epsilon=1, people=3)
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
        ({"epsilon": "0.0001", "people": 10**9}, "says little if the counts are below"),
        (
            {"epsilon": "0.01", "mechanism": "noisy-counts", "votes_per_person": 1},
            "noisy counts are below it: these may",
        ),
        ({"epsilon": "0.1", "mechanism": "noisy-counts", "votes_per_person": 1}, None),
        ({"epsilon": "0.1", "mechanism": "joint", "people": 1000}, None),
        ({"epsilon": "0.1", "mechanism": "joint", "people": 210}, None),
        ({"epsilon": "0.1", "mechanism": "joint", "people": 210, "votes_per_person": 2}, None),
        (
            {"epsilon": "0.1", "mechanism": "joint", "people": 210, "votes_per_person": 1},
            "item at place 2 has at most 105",
        ),
        ({"epsilon": "0.001", "mechanism": "joint", "counts_epsilon": 1, "people": 10**6}, "no count is above"),
        ({"epsilon": "0.001", "mechanism": "joint", "counts_epsilon": 1}, "no count is above"),
    ],
    ids=str,
)
def test_warns_of_lists_that_say_little(terms, words):
    """A bound above the votes that an item can have, or above counts, and a huge epsilon are warnings; nothing else is.

    A number of people removes no warning.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = prepare(COUNTS, k=2, **terms).release(SeededBits(3))
        _ = select(VOTES, **{**OPTIONS, **terms}, bits=SeededBits(3))
    assert len(release) == 2
    assert [each.category for each in caught] == ([] if words is None else [UsefulnessWarning] * 2)
    assert all(words in str(each.message) and each.filename == __file__ for each in caught)


def test_people_may_add_more_than_one_to_a_count():
    """With a sensitivity of 10, the count of an item may be ten times the number of people."""
    for people, warned in ((100, False), (11, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            release = prepare(COUNTS, k=2, epsilon=1, mechanism="joint", sensitivity=10, people=people).release()
        assert release.error_bound is not None
        assert release.error_bound.votes == 119
        assert [("almost random" in str(each.message)) for each in caught] == [True] * warned


def test_says_of_which_places_a_bound_says_nothing():
    """The sentence stands after the bound, in the caption and in the explanation; without a bound there is none."""
    release = prepare(COUNTS, k=2, epsilon="0.1", mechanism="joint").release()
    assert release.error_bound is not None
    words = f"It says nothing about places whose true item has {release.error_bound.votes} votes or fewer: these may"
    assert all(f"at that place. {words} hold random items." in text for text in (str(release), release.explain()))
    assert "It says nothing" not in str(prepare(COUNTS, k=2, epsilon=100, mechanism="joint").release())


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_ranges_of_sizes_are_released(neighbours):
    """With a wide gap after two items, sets of one to four have two; the record can be read again."""
    release = prepare(COUNTS, k=(1, 4), epsilon=4, ordered=False, neighbours=neighbours).release()
    assert 1 <= len(release) <= 4
    assert (release.parameters["k"], release.parameters["at_least"]) == (4, 1)
    assert Release.from_json(release.to_json()) == release
    assert prepare(COUNTS, k=(1, 4), epsilon=4, mechanism="subset", ordered=False).draw() == ["a", "b"]
