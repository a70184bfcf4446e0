"""Peels: rounds of permute-and-flip and of the exponential mechanism, drawn among the items that are left."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from contract import ALARM, RELATIONS, MechanismContract, PrivacyContract
from divergences import ball, hockey_stick
from flint import arb, ctx
from laws import neighbours, p_value, random_histograms, same, sequences, small_histograms
from levels import UpperLevels
from peels import PeelLaw, decay, exponential_round, flip_round, peel_law, single_levels

from shortlist import top_k
from shortlist.errors import ParameterError
from shortlist.exact.thinning import accept_by_balls, bound_logs
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms import CDPPeel, PNFPeel
from shortlist.mechanisms.peel import FlipDraws, PeelLevels, PeelRun, SuccessiveDraws
from shortlist.profile import Profile
from shortlist.testing import SeededBits

HISTOGRAMS = {
    "dense": np.arange(300) % 41,
    "zipf": (3000 / np.arange(1, 200)).astype(np.int64),
    "steep": np.arange(0, 12_000, 40),
    "far apart": np.array([2**62, 2**61, 4000, 3999, 900, 890, 880, 9, 9, 8, 2, 1, 0]),
    "zero": np.zeros(30, dtype=np.int64),
}
every_histogram = pytest.mark.parametrize("counts", HISTOGRAMS.values(), ids=HISTOGRAMS)
every_law = pytest.mark.parametrize("law", [SuccessiveDraws, FlipDraws])
ROUND_LAWS = {SuccessiveDraws: exponential_round, FlipDraws: flip_round}


class TestPNFPeel(PeelLaw, MechanismContract):
    random_cases = (120, 6)
    private_cases = (12, 4)
    round_law = staticmethod(flip_round)

    def make(self, k, epsilon, relation="add-remove"):
        return PNFPeel(k=k, epsilon=epsilon, neighbours=relation)


class CDPPeelLaw(PeelLaw):
    private_cases = (12, 4)
    delta = Fraction(1, 5)
    calibration = "optimal"
    round_law = staticmethod(exponential_round)

    def make(self, k, epsilon, relation="add-remove"):
        return CDPPeel(k=k, epsilon=epsilon, delta=self.delta, calibration=self.calibration, neighbours=relation)


class TestCDPPeel(CDPPeelLaw, MechanismContract):
    """With the calibration that is the default."""


class TestTightCDPPeel(CDPPeelLaw, PrivacyContract):
    """The calibration changes one number, the epsilon of a round, and what it promises."""

    calibration = "tight"
    private_cases = (6, 4)


class TestPublishedCDPPeel(CDPPeelLaw, PrivacyContract):
    """The calibration of the paper."""

    calibration = "published"
    private_cases = (6, 4)


class TestPureCDPPeel(CDPPeelLaw, PrivacyContract):
    """With a delta this small and few items, ε/k is more than what composition gives. Then no delta is stated."""

    delta = Fraction(1, 10**100)
    private_cases = (6, 4)

    @pytest.mark.slow
    def test_a_round_spends_its_part(self):
        """Then a round gets ε/k, and the guarantee is pure."""
        assert all(self.make(k, Fraction(1)).round_epsilon == Fraction(1, k) for k in range(1, 7))
        assert not self.make(3, Fraction(1)).guarantee.delta


def choose_among_heads(decays):
    """Permute-and-flip by its coins: every candidate flips one, and those with heads are equally likely."""
    law = [arb(0)] * len(decays)
    for heads in itertools.product((False, True), repeat=len(decays)):
        chance = arb(1)
        for shown, each in zip(heads, decays, strict=True):
            chance *= each if shown else 1 - each
        for item in range(len(decays)):
            if heads[item]:
                law[item] += chance / sum(heads)
    return law


@pytest.mark.parametrize("relation", RELATIONS)
def test_pnf_peel_chooses_uniformly_among_the_heads(relation):
    """The stated law is that of coins in each round, on small and on random histograms."""
    cases = [(each, min(len(each), 2)) for each in [*small_histograms(), *random_histograms(30, 6, seed=2)]]
    with ctx.workprec(200):
        for histogram, k in cases:
            mechanism = PNFPeel(k=k, epsilon="0.9", neighbours=relation)
            rate = Fraction(9, 10) / k / (1 if relation == "add-remove" else 2)
            stated = {output.items: p for output, p in mechanism.state_law(histogram)}
            coins = peel_law(histogram, k, rate, choose_among_heads)
            assert same([stated[items] for items in sequences(len(histogram), k)], coins, 100)


@every_law
@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(2, 5), Fraction(2)])
def test_every_share_of_the_best_level_leaves_the_law(law, rate):
    """Lists have their law if the best items are unlikely, likely, or almost certain, and not at another rate."""
    counts = np.array([4, 4, 3, 1])
    prepared, bits = law(PeelLevels(Profile.of(counts), k=3, rate=rate)), SeededBits(9)
    places = {(4, 0): 0, (4, 1): 1, (3, 0): 2, (1, 0): 3}
    drawn = Counter(
        tuple(places[each] for each in zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
        for picks in prepared.draw_many(8000, bits)
    )
    observed = [drawn[each] for each in sequences(4, 3)]
    for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10)):
        with ctx.workprec(100):
            stated = [float(p.mid()) for p in peel_law(tuple(counts.tolist()), 3, rate * factor, ROUND_LAWS[law])]
        if factor == 1:
            assert p_value(observed, stated) > ALARM
        elif rate > Fraction(1, 10):  # smaller rates are hardly seen in so many draws
            assert p_value(observed, stated) < ALARM


@every_law
def test_ties_are_in_uniform_order(law):
    """Of six equal items, every ordered triple is equally likely: numbers among the items left become ranks."""
    prepared, bits = law(PeelLevels(Profile.of(np.full(6, 7)), k=3, rate=Fraction(1))), SeededBits(4)
    drawn = Counter(tuple(picks.ranks.tolist()) for picks in prepared.draw_many(6000, bits))
    assert p_value([drawn[each] for each in itertools.permutations(range(6), 3)], [1 / 120] * 120) > ALARM


@every_law
@every_histogram
@pytest.mark.parametrize("doubt", [0.01, 1.0])
def test_doubt_changes_no_list(law, counts, doubt):
    """Which level a number hits and whether a proposal is accepted are facts: balls find what floats find."""
    k, rate = min(20, len(counts) - 2), Fraction(1, 4)
    lists = [draw_lists(law, Profile.of(counts), 12, k=k, rate=rate, doubt=each) for each in (0.0, doubt)]
    assert lists[0] == lists[1]


@every_law
@pytest.mark.parametrize("doubt", [0.0, 0.05])
def test_levels_out_of_reach_change_no_list(law, doubt):
    """A large array shows only its upper levels, and the lists are those of the whole profile."""
    counts = np.random.default_rng(4).integers(0, 200, size=5000)
    counts[::100] += 1000
    upper = UpperLevels(counts)
    assert not upper.above(8, 300).is_complete
    whole = draw_lists(law, Profile.of(counts), 5, k=8, rate=Fraction(1, 4))
    assert draw_lists(law, upper, 5, k=8, rate=Fraction(1, 4), doubt=doubt) == whole


def draw_lists(law, levels, seeds, **terms):
    prepared = law(PeelLevels(levels, **terms))
    picks = [prepared.draw(SeededBits(seed)) for seed in range(seeds)]
    return [(each.levels.tolist(), each.ranks.tolist()) for each in picks]


@every_histogram
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(7)])
def test_decisions_and_totals_are_right_along_a_run(counts, rate):
    """Along a run, floats decide about proposals of every level as balls do, and totals are never too small."""
    k = min(25, len(counts) - 1)
    peeling = PeelLevels(Profile.of(counts), k=k, rate=rate)
    run, bits, undecided = PeelRun(peeling, SeededBits(2)), SeededBits(3), 0
    with ctx.workprec(200):
        for _ in range(k):
            levels = list(single_levels(run.left()))
            words = draw_words(len(levels), bits)
            for each, target, word in zip(levels[1:], bound_logs(words), words.tolist(), strict=False):
                coin, x = Uniform(bits), rate * (each.first - levels[0].first)
                accepted = run.accepts(run.find_level(each.first), target, coin.numerator)
                assert accepted in (None, accept_by_balls(Uniform(bits, word), coin, x, levels))
                undecided += accepted is None and x < 20
            first = sum((each.members * each.decay() for each in levels), arb(0))
            assert arb(peeling.totals[run.top]) > first
            run.take(*run.propose())
    assert not undecided


@pytest.mark.parametrize("counts", [[9, 9, 5, 5, 4, 0], [30, 20, 10, 0], [2, 2, 2, 1]])
def test_the_exact_list_has_the_stated_chance(counts):
    """The closed form is the sum of the stated law over all lists with the true counts."""
    mechanism = CDPPeel(k=3, epsilon=2, delta="0.1")
    top = sorted(counts, reverse=True)[:3]
    with ctx.workprec(100):
        stated = mechanism.state_law(tuple(counts))
        chance = sum((p for output, p in stated if [counts[item] for item in output.items] == top), arb(0))
    assert mechanism.prepare(Profile.of(np.array(counts))).compute_exact_chance() == pytest.approx(float(chance.mid()))
    assert PNFPeel(k=3, epsilon=2).prepare(Profile.of(np.array(counts))).compute_exact_chance() is None


@every_histogram
@pytest.mark.parametrize("rate", [Fraction(1, 10**12), Fraction(1, 3), Fraction(200)])
def test_floats_enclose_the_score(counts, rate):
    """With effort the balls of the score and of the spread are narrow, and they are inside those of floats."""
    score = PeelLevels(Profile.of(counts), k=5, rate=rate)
    for enclose in (score.enclose, score.enclose_spread):
        with ctx.workprec(300):
            rough, exact = enclose(0), enclose(1)
            assert exact.rad() <= abs(exact) * arb(2) ** -200 + arb(2) ** -200
            assert rough.overlaps(exact)
            assert rough.rad() <= abs(exact) * arb(2) ** -40 + arb(2) ** -40 / ball(rate)


def test_all_items_can_be_taken():
    """With k = d every item is named once, whatever the levels."""
    counts = np.array([7, 7, 7, 0, 0, 3] * 50)
    for mechanism in (CDPPeel(k=300, epsilon=1, delta="0.1"), PNFPeel(k=300, epsilon=1)):
        picks = mechanism.prepare(Profile.of(counts)).draw(SeededBits(3))
        assert len(set(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))) == 300


EXTREMES = {
    "far": np.array([10**18, 10**6, 900, 5, 5, 0]),
    "largest": np.array([2**63 - 1, 2**63 - 2, 2**62, 0, 0]),
    "close": np.arange(500),
    "zero": np.zeros(40, dtype=np.int64),
    "ties": np.repeat([9, 3, 0], [3, 10**6, 7]),
}


@pytest.mark.parametrize("counts", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-12", "1e-300"), ("0.001", "1e-6"), ("200", "0.5"), ("1e6", "0.1")])
def test_extreme_parameters_work(counts, epsilon, delta):
    """Any epsilon and delta, counts close and far, a million ties: a list comes out."""
    for mechanism in (CDPPeel(k=4, epsilon=epsilon, delta=delta), PNFPeel(k=4, epsilon=epsilon)):
        chosen = top_k(counts, mechanism=mechanism, bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4
        if epsilon == "1e6":
            assert sorted(counts[chosen].tolist(), reverse=True) == sorted(counts.tolist(), reverse=True)[:4]


def test_twice_the_epsilon_of_a_round_is_seen():
    """The check of the divergence has teeth: at twice ε′ it passes delta."""
    with ctx.workprec(128):
        rate = 2 * CDPPeel(k=1, epsilon=1, delta=Fraction(1, 5)).round_epsilon
        factor = arb(1).exp()
        laws = {
            histogram: exponential_round([decay(rate, max(histogram) - count) for count in histogram])
            for histogram in itertools.product(range(5), repeat=3)
        }
        assert any(
            hockey_stick(laws[here], laws[there], factor) > ball(Fraction(1, 5))
            for here in small_histograms()
            if len(here) == 3
            for there in neighbours(here, "add-remove")
        )


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_round_has_bounded_range(relation):
    """Log-ratios of one round lie in an interval of length ε′, which is what ρ = ε′²/8 needs."""
    share = Fraction(3, 4)
    rate = share if relation == "add-remove" else share / 2
    with ctx.workprec(128):
        for here in small_histograms():
            law = exponential_round([decay(rate, 9 - count) for count in here])
            for there in neighbours(here, relation):
                other = exponential_round([decay(rate, 9 - count) for count in there])
                ratios = [(p / q).log() for p, q in zip(law, other, strict=True)]
                assert not any(a - b > ball(share) for a, b in itertools.product(ratios, repeat=2))
                assert not any(abs(a) > ball(share) for a in ratios)


def test_rounds_add_up():
    """k rounds of ε/k have ρ = ε tanh(ε/2k), k times that of one round."""
    assert PNFPeel(k=8, epsilon=2).guarantee.rho == 8 * PNFPeel(k=1, epsilon="0.25").guarantee.rho
    assert float(PNFPeel(k=8, epsilon=2).guarantee.rho) == pytest.approx(2 * np.tanh(1 / 8), rel=1e-8)
    assert ball(PNFPeel(k=8, epsilon=2).guarantee.epsilon) == 2


@pytest.mark.parametrize("delta", [0, 1, -1, 2, "x", float("nan"), True])
def test_refuses_a_wrong_delta(delta):
    """Delta lies strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="delta"):
        CDPPeel(k=1, epsilon=1, delta=delta)


def test_refuses_a_missing_delta():
    """Without delta nothing can be promised, and the error says what is missing."""
    with pytest.raises(ParameterError, match="cdp-peel needs delta"):
        top_k([3, 2, 1], k=1, epsilon=1, mechanism="cdp-peel")


@pytest.mark.parametrize("name", ["joint", "fastjoint", "pnf-joint", "pnf-peel"])
def test_pure_mechanisms_refuse_delta(name):
    """A pure mechanism has no delta, and the error names it."""
    with pytest.raises(ParameterError, match=r"does not take delta[^!]*pure"):
        top_k([3, 2, 1], k=1, epsilon=1, mechanism=name, delta=1e-6)
