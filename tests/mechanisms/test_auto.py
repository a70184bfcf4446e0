"""Auto: the choice, and then the chosen mechanism, as one mechanism whose choice is visible."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache, partial

import numpy as np
import pytest
from contract import RELATIONS, MechanismContract, item_names
from divergences import ball, hockey_stick, renyi
from flint import arb, ctx, fmpq
from laws import neighbour_pairs, p_value, random_histograms, small_histograms
from levels import UpperLevels
from noisy import capped_neighbours

from shortlist import Release, prepare, top_k
from shortlist.errors import ParameterError
from shortlist.exact.choice import is_below
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import Auto, CDPPeel
from shortlist.mechanisms.auto import state_chances, state_score
from shortlist.mechanisms.stated import flip_round
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class HalfAuto(Auto):
    """With half of epsilon for the choice, the choice itself differs visibly between neighbours."""

    __slots__ = ()

    name = "half-auto"
    share = Fraction(1, 2)


@lru_cache(maxsize=20_000)
def state_candidate(mechanism, histogram, precision, reach=6):
    """The stated law of a candidate. The stated and the implied law of `auto` both need it."""
    return list(mechanism.state_law(histogram, reach=reach))


def combine(mechanism, histogram, chances):
    """The law of choice and output, given the chances with which the coins of the candidates show heads."""
    return {
        (name, output.items): choice * p
        for choice, (name, each) in zip(flip_round(chances), mechanism.candidates.items(), strict=True)
        for output, p in state_candidate(each, histogram, ctx.prec)
    }


class Once:
    """A score that is enclosed once for each effort."""

    def __init__(self, score):
        self.enclose = cache(score.enclose)


class TestAuto(MechanismContract):
    delta = None
    ordered = True
    draws = 3_000
    largest_d = 3
    random_cases = (60, 5)
    private_cases = (6, 4)

    def make(self, k, epsilon, relation="add-remove"):
        return Auto(k=self.sizes(k), epsilon=epsilon, delta=self.delta, ordered=self.ordered, neighbours=relation)

    def sizes(self, k):
        return k

    def law(self, histogram, k, epsilon, relation="add-remove"):
        stated = self.make(k, epsilon, relation).state_law(histogram)
        return [p for _, p in sorted(((output.chosen, output.items), p) for output, p in stated)]

    def implied_law(self, mechanism, histogram):
        """The chances that the mechanism itself uses; the laws of the candidates are checked where they are made."""
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        prepared.scores = {name: Once(score) for name, score in prepared.scores.items()}
        chances = [*prepared.enclose_chances(8).values()]
        return [p for _, p in sorted(combine(mechanism, histogram, chances).items(), key=lambda each: each[0])]

    def sampled_p_values(self, histogram, k):
        prepared = self.make(k, self.epsilon).prepare(Profile.of(np.array(histogram)))
        items = {name: item for item, name in enumerate(item_names(histogram))}
        drawn = Counter()
        for picks in self.sample(prepared):
            chosen = [items[name] for name in zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True)]
            drawn[picks.chosen, tuple(sorted(chosen) if picks.chosen == "subset" else chosen)] += 1
        return tuple(
            self.find_p_value(drawn, histogram, k, factor) for factor in (1, Fraction(7, 10), Fraction(13, 10))
        )

    def find_p_value(self, drawn, histogram, k, factor):
        law = {(o.chosen, o.items): p for o, p in self.make(k, self.epsilon * factor).state_law(histogram)}
        assert drawn.keys() <= law.keys()
        return p_value([drawn[each] for each in law], [float(p.mid()) for p in law.values()])


class TestAutoThatSpendsHalfOnTheChoice(TestAuto):
    def make(self, k, epsilon, relation="add-remove"):
        return HalfAuto(k=k, epsilon=epsilon, neighbours=relation)


class TestAutoWithDelta(TestAuto):
    delta = Fraction(1, 5)


class TestAutoWithoutOrder(TestAuto):
    ordered = False


class TestAutoWithARangeOfSizes(TestAuto):
    ordered = False
    random_cases = (12, 4)
    private_cases = (6, 3)
    test_names_k_distinct_items = None  # there may be fewer
    test_same_seed_gives_the_same_answer = None

    def sizes(self, k):
        return (1, k)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [None, Fraction(1, 5)])
def test_scores_move_by_the_sensitivity_at_most(relation, delta):
    """The step of the proof that the choice stands on, for all neighbours and all candidates."""
    sensitivity, largest, score = (1 if relation == "add-remove" else 2), 0.0, cache(state_score)
    with ctx.workprec(128):
        for here, there in neighbour_pairs([*small_histograms(), *random_histograms(12, 4, seed=37)], relation):
            for k in range(1, min(3, len(here)) + 1):
                mechanism = Auto(k=k, epsilon=2, delta=delta, ordered=False, neighbours=relation)
                for each in mechanism.candidates.values():
                    move = abs(score(each, here) - score(each, there))
                    assert not move > sensitivity
                    largest = max(largest, float(move))
    assert largest > 0.6 * sensitivity


HISTOGRAMS = [
    np.arange(400) % 41,
    (3000 / np.arange(1, 300)).astype(int),
    np.array([900, 700, 500, 400, 300, 200, 5, 4, 3, 2, 1, 0, 0]),
    np.array([2**62, 2**61, 5, 4, 3, 2, 1, 0, 0, 0]),
    np.zeros(30, dtype=int),
    np.array([7, 7, 7, 1, 1, 0]),
]


def make_score(name, levels, k, rate):
    return Auto(k=k, epsilon=1, ordered=False).candidates[name].make_score(levels, rate)


every_score = pytest.mark.parametrize("name", ["margin-joint", "subset", "pnf-peel"])


@pytest.mark.slow
@every_score
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(5)])
def test_floats_enclose_what_balls_enclose(name, rate):
    """The rough score contains the exact one; with single losses it is narrow."""
    with ctx.workprec(192):
        for counts in HISTOGRAMS:
            for k in (1, 3, 6):
                for levels in (Profile.of(counts), UpperLevels(counts)):
                    score = make_score(name, levels, k, rate)
                    rough, exact = score.enclose(0), score.enclose(2)
                    assert rough.overlaps(exact)
                    assert exact.rad() < 1e-9
                    assert rate < Fraction(1, 2) or rough.rad() < 1e-6
                    assert abs(rough - exact) < rough.rad() * 2 + 1e-9


@every_score
def test_scores_are_those_of_enumeration(name):
    """Exact scores overlap brute force, on small histograms with ties and gaps."""
    with ctx.workprec(192):
        for histogram in [*small_histograms(), *random_histograms(60, 6, seed=41)]:
            for k in range(1, min(3, len(histogram)) + 1):
                each = Auto(k=k, epsilon=1, ordered=False).candidates[name]
                score = each.make_score(Profile.of(np.array(histogram)), each.round_rate or each.rate)
                ours = score.enclose(3)
                assert ours.rad() < 1e-15
                assert abs(ours - state_score(each, histogram)) < 1e-15, (histogram, k)


class Doubtful:
    """A score that floats say nothing about."""

    def __init__(self, score):
        self.score = score

    def enclose(self, effort):
        return self.score.enclose(effort) if effort else arb(0, 10**9)


def enclose_chance(prepared, name, effort):
    return prepared.enclose_chances(effort)[name]


@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["dense", "zipf", "gaps", "giant", "zero", "ties"])
def test_balls_accept_what_floats_accept(counts):
    """Whether a coin shows heads is a fact: without floats, the same coins accept the same candidates."""
    mechanism = Auto(k=5, epsilon=20, ordered=False)
    trusting, doubting = (mechanism.prepare(Profile.of(counts)) for _ in range(2))
    doubting.scores = {name: Doubtful(score) for name, score in doubting.scores.items()}
    names = list(mechanism.candidates)
    for seed in range(18):
        answers = [
            is_below(Uniform(SeededBits(seed)), partial(enclose_chance, each, names[seed % 3]))
            for each in (trusting, doubting)
        ]
        assert answers[0] == answers[1]


def test_floats_decide_almost_every_choice():
    """In normal use no choice of thousands needs more effort."""
    prepared = Auto(k=20, epsilon=1, ordered=False).prepare(Profile.of((10**5 / np.arange(1, 2000)).astype(int)))
    bits = SeededBits(8)
    prepared.choose(bits)
    prepared.scores = {}  # what more effort would ask
    assert {prepared.choose(bits) for _ in range(1000)} == {"margin-joint", "pnf-peel", "subset"}


def test_counts_as_large_as_can_be_are_scored():
    """A score that floats cannot bound is not decided by them: one vote does not decide whether there is a list."""
    for largest in (2**63 - 1, 2**63 - 2):
        chosen = prepare(np.array([largest, 2**63 - 1, 0]), k=1, epsilon="1e-30", ordered=False).draw(SeededBits(1))
        assert len(chosen) == 1


def test_the_better_mechanism_is_chosen():
    """Wide gaps choose margin-joint, a dense histogram a peel, and with delta the peel with delta."""
    far, dense = np.array([10**6, 10**5, 10**4, 10]), np.arange(10_000)
    for counts, k, options, wanted in (
        (dense, 100, {}, "pnf-peel"),
        (dense, 100, {"delta": "1e-6"}, "cdp-peel"),
        (dense, 100, {"ordered": False}, "subset"),
    ):
        prepared = Auto(k=k, epsilon=1, **options).prepare(Profile.of(counts))
        chosen = Counter(prepared.draw(SeededBits(seed)).chosen for seed in range(30))
        assert chosen[wanted] > 25, (wanted, chosen)
    assert Auto(k=2, epsilon=1).prepare(Profile.of(far)).draw(SeededBits(1)).chosen in {"margin-joint", "pnf-peel"}


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_with_a_cap_noisy_counts_are_a_candidate(delta):
    """The chances are those of the stated scores, the choice follows them, and the guarantee covers the candidate."""
    mechanism = Auto(k=2, epsilon=3, delta=delta, votes_per_person=2)
    histogram = (9, 6, 5, 2, 0)
    noisy = mechanism.candidates["noisy-counts"]
    assert noisy.epsilon == Fraction(57, 20)
    assert mechanism.guarantee.rho == find_rho_of_pure(Fraction(3, 20)) + max(
        each.guarantee.rho for each in mechanism.candidates.values()
    )
    assert mechanism.guarantee.delta == noisy.guarantee.delta
    prepared = mechanism.prepare(Profile.of(np.array(histogram)))
    with ctx.workprec(192):
        stated = state_chances(mechanism, [histogram])
        assert all(abs(a - b) < 1e-12 for a, b in zip(prepared.enclose_chances(4).values(), stated, strict=True))
        law = [float(p.mid()) for p in flip_round(stated)]
    bits = SeededBits(4)
    drawn = Counter(prepared.choose(bits) for _ in range(4000))
    assert p_value([drawn[name] for name in mechanism.candidates], law) > 1e-9
    picks = [prepared.draw(bits) for _ in range(40)]
    assert all((each.counts is not None) == (each.chosen == "noisy-counts") for each in picks)
    assert {each.chosen for each in picks} == set(mechanism.candidates)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}], ids=str)
@pytest.mark.parametrize("groups", [None, 8])
def test_a_peel_with_more_noise_than_noisy_counts_is_left_out(budget, groups):
    """Whatever the counts are, a peel that is left out would not have had the better score."""
    (_, peel), found = Auto(k=10, groups_per_person=groups, **budget).candidates.values(), set()
    with ctx.workprec(96):
        for cap in (1, 4, 30, 1000):
            candidates = Auto(k=10, groups_per_person=groups, votes_per_person=cap, **budget).candidates
            left_out = peel.name not in candidates
            noisy = state_score(candidates["noisy-counts"], (90, 70, *range(40, 0, -1)))
            assert not left_out or noisy <= state_score(peel, (90, 70, *range(40, 0, -1)))
            found.add(left_out)
    assert found == {True, False}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("delta", "kind"), [(None, Auto), (None, HalfAuto), (Fraction(1, 5), HalfAuto)])
def test_no_neighbour_that_respects_the_cap_is_told_apart(relation, delta, kind):
    """The joint law of the choice, the list and the noisy counts, for all neighbours of small histograms.

    Noisy counts are looked at in a window. The divergences of the laws cut off to it are at most those of the laws.
    """
    cases, epsilon, largest = [(2, 1), (3, 0), (1, 1), (2, 2, 1), (3, 1, 0)], Fraction(2), 0.0
    with ctx.workprec(96):
        for k, cap in ((1, 1), (2, 1), (1, 2)):
            mechanism = kind(k=k, epsilon=epsilon, delta=delta, votes_per_person=cap, neighbours=relation)
            law, guarantee = cache(partial(law_with_counts, mechanism)), mechanism.guarantee
            for here in cases:
                for there in capped_neighbours(here, relation, cap):
                    both = [(p, law(there)[output]) for output, p in law(here).items() if output in law(there)]
                    ours, theirs = zip(*both, strict=True)
                    assert not hockey_stick(ours, theirs, ball(epsilon).exp()) > ball(guarantee.delta)
                    for order in (fmpq(11, 10), fmpq(2), fmpq(20)):
                        assert not renyi(ours, theirs, order) > ball(guarantee.rho) * order
                    largest = max(largest, *(float((p / q).log()) for p, q in both))
    assert largest > 0.5 * epsilon


def law_with_counts(mechanism, histogram):
    """P(choice and list), or P(choice, list and noisy counts) for noisy-counts, with the chances that are used."""
    prepared = mechanism.prepare(Profile.of(np.array(histogram)))
    chances = [*prepared.enclose_chances(4).values()]
    return {
        replace(output, chosen=name): choice * p
        for choice, (name, each) in zip(flip_round(chances), mechanism.candidates.items(), strict=True)
        for output, p in state_candidate(each, histogram, ctx.prec, reach=3)
    }


def test_the_guarantee_is_fixed_beforehand():
    """Epsilon is the whole, delta appears only where a candidate needs it, and rho is the sum of both parts."""
    pure = Auto(k=10, epsilon=1)
    largest = max(each.guarantee.rho for each in pure.candidates.values())
    assert (pure.guarantee.epsilon, pure.guarantee.delta) == (1, 0)
    assert pure.guarantee.rho == find_rho_of_pure(Fraction(1, 20)) + largest
    mixed = Auto(k=100, epsilon=1, delta="1e-6")
    assert (mixed.guarantee.epsilon, mixed.guarantee.delta) == (1, Fraction(1, 10**6))
    assert all(each.epsilon == Fraction(19, 20) for each in mixed.candidates.values())
    # At k = 1 a delta buys nothing, so none is spent.
    assert Auto(k=1, epsilon=1, delta="1e-6").guarantee.delta == 0


def test_the_chosen_mechanism_can_be_asked():
    """The record names the choice; the bound on the error is that of the mechanism chosen."""
    mechanism = Auto(k=5, epsilon=1, delta="1e-3")
    picks = mechanism.prepare(Profile.of(np.arange(50))).draw(SeededBits(1))
    chosen = mechanism.resolve(picks.chosen)
    assert chosen.name == picks.chosen
    assert isinstance(mechanism.resolve("cdp-peel"), CDPPeel)
    assert chosen.error_bound(50) > 0
    assert mechanism.error_bound(50) is None


@pytest.mark.parametrize("options", [{}, {"delta": "1e-3"}, {"ordered": False}])
def test_the_release_names_the_choice_and_both_parts(options):
    """The record has the name of the choice and how epsilon was divided, and it can be read again."""
    for seed in range(6):
        release = prepare(np.arange(60) ** 2, k=5, epsilon=2, mechanism="auto", **options).release(SeededBits(seed))
        assert release.parameters["chosen"] in Auto(k=5, epsilon=2, **options).candidates
        assert release.parameters["choice_epsilon"] == Fraction(1, 10)
        assert release.parameters["chosen_epsilon"] == Fraction(19, 10)
        assert release.guarantee.epsilon == 2
        assert release.ordered != (options == {"ordered": False})
        assert release.ordered or list(release.items) == sorted(release.items)
        words = "each listed item has" if release.ordered else "sorted by their true counts, the listed items have"
        words = "an item left out" if release.parameters["chosen"] == "subset" else words
        assert release.error_bound.statement.startswith(words)
        assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    ("parameters", "text"), [({"delta": 2}, "delta must be above 0"), ({"ordered": "no"}, "ordered must be True or")]
)
def test_refuses_wrong_parameters(parameters, text):
    """Every wrong parameter is named."""
    with pytest.raises(ParameterError, match=text):
        Auto(k=1, epsilon=1, **parameters)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "100", "1e6"])
def test_extreme_epsilons_work(epsilon):
    """Tiny and huge epsilons give a list, on wide and on narrow counts."""
    for counts in (np.array([2**62, 2**40, 10**6, 5, 5, 0]), np.arange(500), np.zeros(10, dtype=int)):
        for options in ({}, {"delta": "1e-6"}, {"ordered": False}):
            chosen = top_k(counts, k=4, epsilon=epsilon, mechanism="auto", bits=SeededBits(1), **options)
            assert len(set(chosen.tolist())) == 4
