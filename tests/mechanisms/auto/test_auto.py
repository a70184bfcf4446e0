"""Auto: the choice, and then the chosen mechanism, as one mechanism whose choice is visible."""

from collections import Counter
from fractions import Fraction
from functools import cache, lru_cache, partial

import numpy as np
import pytest
from contract import RELATIONS, MechanismContract, item_names
from divergences import ball, hockey_stick, renyi
from flint import arb, ctx, fmpq
from laws import (
    exponential,
    margin_losses,
    neighbour_pairs,
    p_value,
    random_histograms,
    sequences,
    set_losses,
    small_histograms,
    subsets,
)
from levels import UpperLevels
from noisy import capped_neighbours, gaussian_law, laplace_law, output_chance
from noisy import outputs as outputs_with_counts
from peels import exponential_round, flip_round, peel_law

from shortlist import Release, prepare, top_k
from shortlist.audits.auto_laws import acceptance_chances, stated_score
from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteLaplace
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import Auto, CDPPeel
from shortlist.mechanisms.auto import auto, set_scores
from shortlist.mechanisms.auto.scores import ListScore, RoundScore
from shortlist.mechanisms.auto.set_scores import SetScore
from shortlist.mechanisms.joint import blocks, mixture
from shortlist.mechanisms.subset import grid
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Profile
from shortlist.testing import SeededBits


def candidate_law(mechanism, histogram):
    """The stated law of a candidate, over `laws.sequences` or `laws.subsets`."""
    return law_at_precision(mechanism, histogram, ctx.prec)


@lru_cache(maxsize=20_000)
def law_at_precision(mechanism, histogram, precision):
    """The stated and the implied law of `auto` both need it."""
    k = mechanism.k
    if mechanism.name == "margin-joint":
        return exponential(margin_losses(histogram, k), mechanism.rate)
    if mechanism.name == "subset":
        return exponential(set_losses(histogram, mechanism.sizes), mechanism.rate)
    round_law = exponential_round if mechanism.name == "cdp-peel" else flip_round
    return peel_law(histogram, k, mechanism.round_rate, round_law)


def outputs(mechanism, d):
    """What can be seen: the name of the choice, and the list or the set."""
    return [
        (name, each)
        for name, candidate in mechanism.candidates.items()
        for each in (subsets(d, candidate.sizes) if name == "subset" else sequences(d, mechanism.k))
    ]


def combined(mechanism, histogram, chances):
    """The law of choice and output, given the chances with which permute-and-flip accepts the candidates."""
    laws = [candidate_law(each, histogram) for each in mechanism.candidates.values()]
    return [choice * p for choice, law in zip(flip_round(chances), laws, strict=True) for p in law]


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
        mechanism = self.make(k, epsilon, relation)
        return combined(mechanism, histogram, acceptance_chances(mechanism, histogram))

    def implied_law(self, mechanism, histogram):
        """The chances that the mechanism itself uses; the laws of the candidates are checked where they are made."""
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        prepared._scores = [Once(score) for score in prepared._scores]
        chances = [prepared.enclose_chance(index, effort=8) for index in range(len(mechanism.candidates))]
        return combined(mechanism, histogram, chances)

    def sampled_p_values(self, histogram, k):
        mechanism = self.make(k, self.epsilon)
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        names = item_names(histogram)
        drawn = Counter()
        for picks in self.sample(prepared):
            items = tuple(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
            drawn[picks.chosen, frozenset(items) if picks.chosen == "subset" else items] += 1
        observed = []
        for name, each in outputs(mechanism, len(histogram)):
            items = tuple(names[item] for item in each)
            observed.append(drawn[name, frozenset(items) if name == "subset" else items])
        assert sum(observed) == self.draws
        return tuple(
            p_value(observed, [float(p.mid()) for p in self.law(histogram, k, self.epsilon * factor)])
            for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10))
        )


class TestAutoThatSpendsHalfOnTheChoice(TestAuto):
    """With half of epsilon for the choice, the choice itself differs visibly between neighbours."""

    @pytest.fixture(autouse=True)
    def half(self, monkeypatch):
        monkeypatch.setattr(auto, "SHARE", Fraction(1, 2))


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
    sensitivity, largest, score = (1 if relation == "add-remove" else 2), 0.0, cache(stated_score)
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


def build(kind, levels, k, rate):
    sizes = {"sizes": range(k, k + 1)} if kind is SetScore else {"k": k}
    return kind(levels, rate=rate, **sizes)


every_score = pytest.mark.parametrize("kind", [ListScore, SetScore, RoundScore])


@every_score
@pytest.mark.parametrize("wide", [False, True], ids=["single", "blocks"])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(5)])
def test_floats_enclose_what_balls_enclose(kind, rate, wide, monkeypatch):
    """The rough score contains the exact one; with single losses it is narrow."""
    if wide:
        monkeypatch.setattr(blocks, "_MOST_BLOCKS", 3)
        monkeypatch.setattr(grid, "_MOST_PAIRS", 2)
        monkeypatch.setattr(grid, "_FEW_PAIRS", 1)
    with ctx.workprec(192):
        for counts in HISTOGRAMS:
            for k in (1, 3, 6):
                for levels in (Profile.of(counts), UpperLevels(counts)):
                    score = build(kind, levels, k, rate)
                    rough, exact = score.enclose(0), score.enclose(2)
                    assert rough.overlaps(exact)
                    assert exact.rad() < 1e-9
                    assert wide or rate < Fraction(1, 2) or rough.rad() < 1e-6
                    assert abs(rough - exact) < rough.rad() * 2 + 1e-9


@every_score
def test_scores_are_those_of_enumeration(kind):
    """Exact scores overlap brute force, on small histograms with ties and gaps."""
    with ctx.workprec(192):
        for histogram in [*small_histograms(), *random_histograms(60, 6, seed=41)]:
            for k in range(1, min(3, len(histogram)) + 1):
                mechanism = Auto(k=k, epsilon=1, ordered=False)
                name = {ListScore: "margin-joint", SetScore: "subset", RoundScore: "pnf-peel"}[kind]
                each = mechanism.candidates[name]
                rate = each.round_rate if kind is RoundScore else each.rate
                ours = build(kind, Profile.of(np.array(histogram)), k, rate).enclose(3)
                assert ours.rad() < 1e-15
                assert abs(ours - stated_score(each, histogram)) < 1e-15, (histogram, k)


@pytest.mark.parametrize("counts", HISTOGRAMS, ids=["dense", "zipf", "gaps", "giant", "zero", "ties"])
def test_balls_accept_what_floats_accept(counts, monkeypatch):
    """Whether a coin shows heads is a fact: without floats, the same coins accept the same candidates."""
    mechanism = Auto(k=5, epsilon=20, ordered=False)

    def answers():
        prepared = mechanism.prepare(Profile.of(counts))
        return [prepared._accept(seed % 3, Uniform(SeededBits(seed))) for seed in range(18)]

    wanted = answers()
    for kind in (ListScore, SetScore, RoundScore):
        enclose = kind.enclose
        monkeypatch.setattr(
            kind, "enclose", lambda self, effort, enclose=enclose: enclose(self, effort) if effort else arb(0, 10**9)
        )
    assert answers() == wanted


def test_floats_decide_almost_every_choice(monkeypatch):
    """In normal use no choice of thousands needs more effort."""
    prepared = Auto(k=20, epsilon=1, ordered=False).prepare(Profile.of((10**5 / np.arange(1, 2000)).astype(int)))
    for module in (set_scores, mixture):
        monkeypatch.setattr(module, "enclose_sum", None)
    bits = SeededBits(8)
    assert {prepared.choose(bits) for _ in range(1000)} == {"margin-joint", "pnf-peel", "subset"}


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
        stated = acceptance_chances(mechanism, histogram)
        assert all(abs(prepared.enclose_chance(i, 4) - each) < 1e-12 for i, each in enumerate(stated))
        law = [float(p.mid()) for p in flip_round(stated)]
    bits = SeededBits(4)
    drawn = Counter(prepared.choose(bits) for _ in range(4000))
    assert p_value([drawn[name] for name in mechanism.candidates], law) > 1e-9
    picks = [prepared.draw(bits) for _ in range(40)]
    assert all((each.counts is not None) == (each.chosen == "noisy-counts") for each in picks)
    assert {each.chosen for each in picks} == set(mechanism.candidates)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("delta", "share"), [(None, "1/20"), (None, "1/2"), (Fraction(1, 5), "1/2")])
def test_no_neighbour_that_respects_the_cap_is_told_apart(relation, delta, share, monkeypatch):
    """The joint law of the choice, the list and the noisy counts, for all neighbours of small histograms.

    Noisy counts are looked at in a window. The divergences of the laws cut off to it are at most those of the laws.
    """
    monkeypatch.setattr(auto, "SHARE", Fraction(share))
    cases, epsilon, largest = [(2, 1), (3, 0), (1, 1), (2, 2, 1), (3, 1, 0)], Fraction(2), 0.0
    with ctx.workprec(96):
        for k, cap in ((1, 1), (2, 1), (1, 2)):
            mechanism = Auto(k=k, epsilon=epsilon, delta=delta, votes_per_person=cap, neighbours=relation)
            law, guarantee = cache(partial(law_with_counts, mechanism)), mechanism.guarantee
            for here in cases:
                for there in capped_neighbours(here, relation, cap):
                    ours, theirs = law(here), law(there)
                    assert not hockey_stick(ours, theirs, ball(epsilon).exp()) > ball(guarantee.delta)
                    for order in (fmpq(11, 10), fmpq(2), fmpq(20)):
                        assert not renyi(ours, theirs, order) > ball(guarantee.rho) * order
                    ratios = (p / q for p, q in zip(ours, theirs, strict=True))
                    largest = max(largest, *(float(ratio.log()) for ratio in ratios))
    assert largest > 0.5 * epsilon


def law_with_counts(mechanism, histogram):
    """P(choice and list), or P(choice, list and noisy counts) for noisy-counts, with the chances that are used."""
    prepared = mechanism.prepare(Profile.of(np.array(histogram)))
    chances = [prepared.enclose_chance(index, effort=4) for index in range(len(mechanism.candidates))]
    law = []
    for choice, each in zip(flip_round(chances), mechanism.candidates.values(), strict=True):
        if each.name == "noisy-counts":
            noise = each.noise
            points = laplace_law(noise.b) if isinstance(noise, DiscreteLaplace) else gaussian_law(noise.variance)
            made = [
                output_chance(histogram, items, noisy, points)
                for items in sequences(len(histogram), each.k)
                for noisy in outputs_with_counts(each.k, range(-1, 6))
            ]
        else:
            made = candidate_law(each, histogram)
        law += [choice * p for p in made]
    return law


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
