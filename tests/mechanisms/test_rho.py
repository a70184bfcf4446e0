"""Budgets in ρ: every mechanism finds its epsilon for a `rho`, keeps that rho, and states what follows from it."""

import itertools
from dataclasses import replace
from fractions import Fraction

import pytest
from contract import RELATIONS
from divergences import Law, keeps
from flint import ctx
from laws import neighbour_pairs, small_histograms
from noisy import find_neighbours, neighbours

from shortlist import Ledger, Release, ReleaseFamily, prepare, select
from shortlist.errors import ParameterError
from shortlist.mechanisms import MECHANISMS, Auto, CDPPeel, Joint, Mechanism, NoisyCounts, PNFPeel
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_epsilon, find_largest_epsilon, find_rho_of_pure
from shortlist.terms import Terms

LISTED = ("joint", "margin-joint", "subset", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel", "noisy-counts", "auto")
CASES = [
    *((name, options) for name in LISTED for options in MECHANISMS[name].audited),
    ("auto", {"delta": Fraction(1, 5), "ordered": False, "votes_per_person": 1}),
]
COUNTS = {"a": 90, "b": 70, "c": 55, "d": 54, "e": 3, "f": 0}

every_case = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[f"{n}-{'-'.join(map(str, o.values()))}" for n, o in CASES]
)


def laws(mechanism, *families):
    """The laws of a mechanism on two families. Noisy counts far from both are left out."""
    here, there = (dict(mechanism.state_family(each, reach=4)) for each in families)
    shared = [output for output in here if output in there]
    return Law(here[output] for output in shared), Law(there[output] for output in shared)


@every_case
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_budget_is_kept_on_all_small_neighbours(name, options, relation):
    """Rényi divergences are at most ρα for the rho that was given, and (epsilon, delta) is true."""
    rho, cap = Fraction(1), options.get("votes_per_person")
    mechanism = MECHANISMS[name](k=2, rho=rho, neighbours=relation, **options)
    assert Fraction(99, 100) * rho < mechanism.guarantee.rho <= rho
    promise = replace(mechanism.guarantee, rho=rho)
    smaller = Guarantee(epsilon=promise.epsilon / 10, rho=rho / 20, neighbours=relation)
    histograms = [each for each in small_histograms(3) if len(each) == (2 if cap else 3)]
    with ctx.workprec(96):
        pairs = neighbour_pairs(histograms, relation, lambda each, relation: neighbours(each, relation, cap))
        found = [laws(mechanism, (here,), (there,)) for here, there in pairs]
        assert all(keeps(promise, *each) for each in found)
        assert not all(keeps(smaller, *each) for each in found)


@pytest.mark.parametrize("name", ["joint", "pnf-peel", "cdp-peel", "auto"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_families_keep_the_budget(name, relation):
    """All lists together keep rho, if one person is in both groups."""
    options = {"delta": Fraction(1, 5)} if name in ("cdp-peel", "auto") else {}
    mechanism = MECHANISMS[name](k=1, rho=1, neighbours=relation, groups_per_person=2, **options)
    promise = replace(mechanism.guarantee, rho=Fraction(1))
    families = itertools.product([(0, 2), (1, 1), (2, 1)], repeat=2)
    with ctx.workprec(96):
        for family in families:
            for other in find_neighbours(family, relation, 2):
                assert keeps(promise, *laws(mechanism, family, other))


def test_candidates_of_auto_have_one_rho():
    """The choice has a twentieth of rho, and each candidate has the rest, up to the ninth digit."""
    auto = Auto(k=100, rho="0.03", delta="1e-6", votes_per_person=10, ordered=False)
    choice = find_rho_of_pure(auto.choice_epsilon)
    assert list(auto.candidates) == ["margin-joint", "subset", "noisy-counts"]
    assert Fraction("0.00149999") < choice <= Fraction("0.0015")
    for each in auto.candidates.values():
        assert Fraction("0.0284999") < each.guarantee.rho <= Fraction("0.03") - choice
    assert auto.guarantee.rho <= Fraction("0.03")


def test_auto_affords_almost_what_cdp_peel_affords():
    """In a year of 52 lists, the rounds of auto's peel have more than 0.95 of the epsilon of those of cdp-peel."""
    auto, peel = (kind(k=100, rho="0.03", delta="1e-6") for kind in (Auto, CDPPeel))
    assert auto.candidates["cdp-peel"].round_epsilon > Fraction(95, 100) * peel.round_epsilon
    assert auto.guarantee.epsilon <= find_epsilon(Fraction("0.03"), Fraction("1e-6"))
    before = Auto(k=100, epsilon=1, delta="1e-6").guarantee.rho
    assert CDPPeel(k=100, epsilon=1, delta="1e-6").guarantee.rho < before / 4


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_with_rho_is_described_by_its_parameters(name):
    """Its parameters build it again, rho and delta are those that were given, and epsilon follows from them."""
    needed = {"delta": "1e-6"} if name in ("cdp-peel", "limited-domain", "threshold", "stable") else {}
    needed |= {"votes_per_person": 3} if name in ("noisy-counts", "threshold") else {}
    mechanism = MECHANISMS[name](k=4, rho="0.05", **needed)
    assert MECHANISMS[name](**mechanism.parameters) == mechanism
    assert Fraction("0.04999999") < mechanism.guarantee.rho <= mechanism.rho == Fraction("0.05")
    larger = {key: value for key, value in mechanism.parameters.items() if key not in ("rho", "epsilon")}
    if name != "auto":
        more = type(mechanism)(epsilon=mechanism.epsilon * Fraction(10**6 + 1, 10**6), **larger)
        assert more.guarantee.rho > mechanism.rho


def test_pure_mechanisms_state_a_pure_guarantee():
    """Joint has √(8ρ), and a peel of k rounds the ε with ε tanh(ε/2k) = ρ. The sum of many is stated by compose."""
    assert float(Joint(k=5, rho="0.02").epsilon) == pytest.approx(0.4, abs=1e-8)
    peel = PNFPeel(k=10, rho="0.049958375")
    assert (float(peel.epsilon), peel.guarantee.delta) == (pytest.approx(1, abs=1e-8), 0)
    pure, gaussian = (NoisyCounts(k=5, rho="0.02", votes_per_person=10, delta=each) for each in (None, "1e-6"))
    assert float(pure.noise.b) == pytest.approx(10 / float(pure.epsilon))
    assert float(gaussian.noise.variance) == pytest.approx(250)


def test_no_epsilon_is_found_where_none_has_so_small_a_rho():
    """The search returns 0 if every epsilon has a larger rho, and the largest one allowed if all are smaller."""
    assert find_largest_epsilon(lambda epsilon: 1 + epsilon, Fraction(1, 2), most=Fraction(10)) == 0
    assert find_largest_epsilon(lambda epsilon: epsilon / 100, Fraction(1, 2), most=Fraction(10)) == 10
    steps = find_largest_epsilon(lambda epsilon: Fraction(int(epsilon)), Fraction(7, 2), most=Fraction(10))
    assert Fraction("3.9999") < steps < 4


@pytest.mark.parametrize(
    ("mechanism", "options"),
    [
        ("auto", {"delta": "1e-6"}),
        ("auto", {"votes_per_person": 2, "counts_epsilon": "0.1"}),
        ("joint", {"sensitivity": 3, "assess": "0.1"}),
        ("cdp-peel", {"delta": "1e-6", "counts_rho": "0.01", "counts_delta": "1e-6"}),
        ("noisy-counts", {"delta": "1e-6", "votes_per_person": 2}),
        ("threshold", {"delta": "1e-3", "votes_per_person": 2}),
    ],
)
def test_a_record_holds_rho(mechanism, options, tmp_path):
    """A release with rho is charged as stated, read again, and refused if its rho or epsilon is changed."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=30, delta="1e-2")
    release = prepare(COUNTS, k=2, rho="0.02", mechanism=mechanism, **options).release(ledger=ledger)
    record = release.to_json()
    assert Release.from_json(record) == release
    assert release.parameters["rho"] == Fraction("0.02")
    assert ledger.spent.rho == release.guarantee.rho
    extra = Fraction("0.01") if "counts_rho" in options else None
    if not {"assess", "counts_epsilon"} & options.keys():
        assert release.guarantee.rho - (extra or 0) <= Fraction("0.02")
    epsilon = record.split('"epsilon": "')[1].split('"')[0]
    for before, after in (('"rho": "0.02"', '"rho": "0.019"'), ('"rho": "0.02"', '"rho": "0.021"'), (epsilon, "0.01")):
        with pytest.raises(Exception, match="must not contradict itself"):
            Release.from_json(record.replace(before, after, 1))


def test_families_and_lists_without_a_catalogue_take_rho():
    """`select` takes rho for a family, also with a mechanism object, and without a catalogue."""
    votes = {"user": list(range(400)), "track": ["a", "b"] * 200, "city": ["Oslo", "Rome", "Rome", "Oslo"] * 100}
    common = {"person": "user", "item": "track", "by": "city", "groups": ["Oslo", "Rome"], "domain": ["a", "b", "c"]}
    made = select(votes, **common, groups_per_person=1, k=1, rho="0.5", delta="1e-6")
    assert ReleaseFamily.from_json(made.to_json()) == made
    assert made.guarantee.rho <= Fraction(1, 2)
    both = select(votes, **common, groups_per_person=2, mechanism=Joint(k=1, rho="0.5"))
    assert (both.parameters["rho"], both.guarantee.rho <= Fraction(1, 2)) == (Fraction(1, 2), True)
    assert float(both.guarantee.epsilon) == pytest.approx(8**0.5, abs=1e-7)
    unlisted = select(votes, person="user", item="track", k=2, rho="0.5", delta="1e-6")
    assert (unlisted.mechanism, Release.from_json(unlisted.to_json())) == ("limited-domain", unlisted)


class Silent(Mechanism):
    """A mechanism of a user that states no rho."""

    name = "silent"

    @property
    def guarantee(self):
        return Guarantee(epsilon=self.epsilon)

    def _prepare(self, levels):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("mechanism", "given", "words"),
    [
        ("joint", {"rho": 0}, "`rho` must be above 0, not 0"),
        ("joint", {"rho": -1}, "`rho` must be above 0"),
        ("joint", {"rho": "much"}, "`rho` must be a finite number such as 0.03"),
        ("joint", {"rho": True}, "`rho` must be a number"),
        ("joint", {"rho": 10**7}, "`rho` must be at most 1000000"),
        ("joint", {"rho": 1, "epsilon": 1}, "`epsilon` and `rho` must not both be given"),
        ("joint", {}, "joint needs `epsilon`, or `rho` in its place"),
        ("joint", {"rho": 1, "delta": "1e-6"}, "joint needs no `delta`: its guarantee is pure"),
        ("cdp-peel", {"rho": 1}, "cdp-peel needs `delta`"),
        ("cdp-peel", {"rho": 1, "delta": "1e-6", "calibration": "optimal"}, "`calibration` must be left out"),
        ("cdp-peel", {"rho": "1e-9", "delta": "0.5"}, "`delta` must be smaller for this `rho`"),
        (Joint(k=2, rho=1), {"k": None, "epsilon": 1}, "`epsilon` and `rho` must not both be given"),
        (Joint(k=2, rho=1), {"k": None, "rho": 2}, "they disagree"),
        (Joint(k=2, epsilon=1), {"k": None, "rho": 2}, "they disagree"),
        (NoisyCounts(k=2, rho=1, votes_per_person=1), {"k": None, "delta": "1e-6"}, "must not both be given"),
    ],
)
def test_wrong_budgets_are_refused(mechanism, given, words):
    """The error says what is wrong and the way out, before counts are looked at."""
    with pytest.raises(ParameterError) as error:
        Terms.read(mechanism, **{"k": 2} | given)
    assert words.replace("`", "") in str(error.value)


def test_a_mechanism_without_a_rho_takes_none():
    """A mechanism of a user that states no rho is refused a budget in rho."""
    with pytest.raises(ParameterError, match="must go with a mechanism that has one, not silent"):
        Silent(k=2, rho=1)
    assert Silent(k=2, epsilon=1).guarantee.rho is None
