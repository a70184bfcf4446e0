"""Assess: the spread of a law, its noise, and the bound that follows."""

from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from divergences import ball
from flint import arb, ctx
from laws import losses, neighbours, p_value, set_losses, small_histograms
from noisy import laplace_law
from scipy.stats import binom

from shortlist.errors import ParameterError
from shortlist.mechanisms import Auto, CDPPeel, FastJoint, Joint, MarginJoint, NoisyCounts, PNFJoint, PNFPeel, Subset
from shortlist.mechanisms.assess import Assess, check_assessed, find_spread
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Profile
from shortlist.testing import SeededBits

RELATIONS = {"add-remove": 1, "replace": 2}
KINDS = {
    "joint": lambda **given: Joint(**given),
    "margin-joint": lambda **given: MarginJoint(**given),
    "pnf-joint": lambda **given: PNFJoint(**given),
    "subset": lambda **given: Subset(**given),
    "pnf-peel": lambda **given: PNFPeel(**given),
    "cdp-peel": lambda **given: CDPPeel(**given, delta="0.1"),
    "noisy-counts": lambda **given: NoisyCounts(**given, votes_per_person=1),
    "gaussian noisy-counts": lambda **given: NoisyCounts(**given, votes_per_person=1, delta="0.1"),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
SMALL = [h for h in small_histograms() if len(h) in (2, 3)]
# Spreads are cut off at the largest count in the small ones, and not in those that are raised.
CASES = [*SMALL, *(tuple(count + 30 for count in h) for h in SMALL[::3])]


def log_sum(numbers, rate):
    return sum(((-ball(rate) * number).exp() for number in numbers), arb(0)).log() / ball(rate)


def stated_spread(mechanism, histogram):
    """The spread by brute force, rounded down and cut off."""
    rate, k, top = mechanism.find_tail()[0] / 2, mechanism.k, sorted(histogram, reverse=True)
    if isinstance(mechanism, Subset):
        places = [log_sum([max(loss, 0) for loss in set_losses(histogram, mechanism.sizes)], rate)]
    elif isinstance(mechanism, Joint | PNFJoint):
        places = [log_sum(losses(histogram, k), rate)]
    else:
        places = [log_sum([top[j] - count for count in top[j:]], rate) for j in range(k)]
    return min(max(0, int(max(float(each.mid()) for each in places) + 1e-12)), top[0])


@every_kind
@pytest.mark.parametrize("relation", RELATIONS)
def test_spreads_move_by_the_sensitivity_at_most(kind, relation):
    """The step of the proof that the guarantee stands on, for all neighbours; and some neighbour needs all of it."""
    largest = 0
    for k in (1, 2):
        mechanism = KINDS[kind](k=k, epsilon=2, neighbours=relation)

        @cache
        def spread(histogram, mechanism=mechanism):
            found = find_spread(mechanism, Profile.of(np.array(histogram)))
            with ctx.workprec(128):
                assert found == stated_spread(mechanism, histogram), histogram
            return found

        for here in CASES:
            for there in neighbours(here, relation):
                move = abs(spread(here) - spread(tuple(sorted(there, reverse=True))))
                assert move <= RELATIONS[relation], (here, there)
                largest = max(largest, move)
    assert largest == RELATIONS[relation] or "gaussian" in kind or relation == "replace"


def test_ranges_of_sizes_are_counted_together():
    """The spread of a range sums over the sets of all sizes."""
    mechanism = Subset(k=(1, 3), epsilon=1)
    with ctx.workprec(128):
        for histogram in ((5, 3, 3, 0), (2, 2, 2), (9, 1, 0, 0, 0)):
            assert find_spread(mechanism, Profile.of(np.array(histogram))) == stated_spread(mechanism, histogram)


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_is_told_apart(relation):
    """Spreads that differ by the sensitivity have noisy values within e^ε; a smaller scale would not do."""
    assess = Assess(epsilon="0.7", neighbours=relation)
    step = RELATIONS[relation]
    for scale, private in ((assess.noise.b, True), (assess.noise.b * Fraction(9, 10), False)):
        with ctx.workprec(96):
            at, _ = laplace_law(scale)
            ratios = [(at(x) / at(x - move)).log() for x in range(-20, 20) for move in range(-step, step + 1) if move]
            within = not any(ratio > ball(assess.epsilon) + arb(2) ** -60 for ratio in ratios)
        assert within == private
    assert assess.guarantee.epsilon == Fraction(7, 10)
    assert assess.guarantee.rho == find_rho_of_pure(Fraction(7, 10))


def test_the_noise_follows_its_law_and_no_other():
    """What is released is the spread with its noise, and not with noise that is 30 % off."""
    mechanism, profile, bits = Joint(k=1, epsilon=1), Profile.of(np.array([9, 8, 3, 0])), SeededBits(5)
    assess, spread = Assess(epsilon="0.5"), find_spread(mechanism, profile)
    drawn = Counter(assess.draw(mechanism, profile, bits) - spread for _ in range(3000))
    values = range(-40, 41)
    for factor, right in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        with ctx.workprec(64):
            at, _ = laplace_law(assess.noise.b * factor)
            p = p_value([drawn[x] for x in values], [float(at(x).mid()) for x in values])
        assert (p > 1e-9) == right


@every_kind
def test_bounds_hold(kind):
    """Lists exceed the bound in 5 % of the draws at most, on histograms where many items are nearly as good."""
    draws, failure = 300, Fraction(1, 20)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mechanism = KINDS[kind](k=int(rng.integers(1, 4)), epsilon=1, neighbours=list(RELATIONS)[seed % 2])
        counts = rng.integers(0, (3, 30, 300)[seed % 3], size=int(rng.integers(4, 90)))
        profile, bits = Profile.of(counts), SeededBits(seed)
        assess = Assess(epsilon="0.5", neighbours=mechanism.neighbours)
        spread, top = find_spread(mechanism, profile), profile.top(min(mechanism.k + 1, len(counts)))
        bound = cache(lambda noisy, assess=assess, mechanism=mechanism: assess.bound(mechanism, noisy, failure))
        prepared, worse = mechanism.prepare(profile), 0
        for noise in assess.noise.draw(draws, bits):
            levels = prepared.draw(bits).levels
            if mechanism.unordered:
                chosen = [*np.sort(levels)[::-1], -1]
                error = next(a for a, b in zip(top, chosen, strict=True) if a != b) - levels.min()
            else:
                error = (top[: mechanism.k] - levels).max()
            worse += int(error > bound(spread + noise))
        assert binom.sf(worse - 1, draws, float(failure)) > 1e-9, mechanism


def test_the_bound_is_the_stated_formula():
    """B = A + ⌈(2/a) ln(2c/β)⌉, A being the noisy spread and what the noise may take away."""
    assess, failure = Assess(epsilon=1), Fraction(1, 20)
    assert assess.bound(Joint(k=3, epsilon=1), 10, failure) == 10 + 3 + 15
    assert assess.bound(PNFPeel(k=3, epsilon=1), 10, failure) == 10 + 3 + 29
    assert assess.bound(Joint(k=3, epsilon=1), -100, failure) == 15


@pytest.mark.parametrize("counts", [[2**62, 0], [5], [7, 7, 7], [0, 0], list(range(300))], ids=str)
def test_spreads_are_found_whatever_the_counts(counts):
    """Wide gaps, ties and single items: every spread is decided."""
    for kind in KINDS.values():
        for k in {1, len(counts)} if len(counts) < 10 else {1, 20}:
            assert find_spread(kind(k=k, epsilon=1), Profile.of(np.array(counts))) >= 0


def test_spreads_above_the_largest_count_need_no_precision():
    """The cut-off is the answer as soon as the spread is known to reach it."""
    levels = Profile.of(np.array([2**62, 2**62 - 1, 5]))
    for kind in (Joint, PNFPeel, Subset):
        for epsilon in ("1e-300", "1e-19"):
            assert find_spread(kind(k=2, epsilon=epsilon), levels) == 2**62


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(0, "assess must be above 0"), ("x", "assess must be a finite"), (10**7, "assess must be at most")],
)
def test_refuses_a_wrong_epsilon(epsilon, words):
    """Errors name the parameter under which the assessment is asked for."""
    with pytest.raises(ParameterError, match=words):
        Assess(epsilon=epsilon)


def test_refuses_mechanisms_without_a_proof():
    """fastjoint gives every list the same least weight, so that nothing is proven."""
    check_assessed(Auto(k=2, epsilon=1))
    with pytest.raises(ParameterError, match="assess must go with one of auto, joint"):
        check_assessed(FastJoint(k=2, epsilon=1))
