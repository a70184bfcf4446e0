"""The second primitive decides every proposal after few bits."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from contract import ALARM
from flint import arb, ctx
from laws import p_value

from shortlist import prepare
from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.thinning import accept_by_balls, accept_by_floats, bound_logs
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.testing import SeededBits


class Rationed:
    """Seeded bits that end: a loop that asks for more without end fails instead."""

    def __init__(self, seed, most):
        self._bits = SeededBits(seed)
        self._left = most

    def draw(self, count):
        self._left -= count
        assert self._left >= 0, "too many bits were drawn"
        return self._bits.draw(count)


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [("pnf-joint", "1e-9"), ("pnf-peel", "1e-12"), ("pnf-joint", "1e-300"), ("pnf-peel", "1e-300"), ("pnf-peel", "1")],
)
def test_scores_that_almost_agree_are_decided(mechanism, epsilon):
    """Two giant counts that differ by 1 and a tiny epsilon: every draw ends after few bytes."""
    selector = prepare([2**40, 2**40 - 1, 0], k=1, epsilon=epsilon, mechanism=mechanism)
    for seed in range(300):
        selector.draw(Rationed(seed, 3000))


class Wide:
    """A crowd of the scores 0 to −x that shows only its ends until it is split."""

    def __init__(self, x, members):
        self.x, self.members = x, members

    def decay(self):
        return arb(1).union(enclose_exp_minus(self.x)) if self.members > 1 else enclose_exp_minus(self.x)

    def split(self):
        return [Wide(self.x, 1), Wide(0 * self.x, self.members - 1)] if self.members > 1 else None


def test_a_crowd_that_reaches_the_best_score_is_split():
    """A ball for c in [a, 1] reaches beyond 1; the sum of logarithms exists nevertheless."""
    x = Fraction(1, 10**12)
    assert (arb(1).union(enclose_exp_minus(x))).upper() > 1
    for seed in range(200):
        bits = Rationed(seed, 200)
        height, coin = Uniform(bits), Uniform(bits)
        apart = [Wide(x, 1), Wide(0 * x, 1)]
        assert accept_by_balls(height, coin, x, [Wide(x, 2)]) == accept_by_balls(height, coin, x, apart)


def decide_by_floats(target, coin, losses, place, rate, error=2.0**-50):
    """The answer of floats about one of the candidates with these losses, one of each."""
    decays = np.array([float(enclose_exp_minus(rate * loss).mid()) for loss in losses])
    return accept_by_floats(target, coin, place, decays, np.ones(len(losses), dtype=np.int64), error, 2.0**-47)


@pytest.mark.parametrize(("largest", "scale"), [(4, 12), (12, 12), (200, 60), (200, 10**6)])
def test_floats_decide_what_balls_decide(largest, scale):
    """For the same U and V, floats never contradict balls, and leave few proposals open. Nor do less exact ones."""
    rng, number, rate, asked, decided = np.random.default_rng(largest), 400, Fraction(1, 6), 0, Counter()
    words = np.concatenate([draw_words(number - 4, SeededBits(3)), np.array([0, 1, 2**64 - 1, 2**63], dtype=np.uint64)])
    coins = rng.permutation(words)
    for word, coin, target in zip(words.tolist(), coins.tolist(), bound_logs(words), strict=True):
        losses = np.append(0, rng.integers(0, scale, size=rng.integers(1, largest))).tolist()
        x = rate * losses[-1]
        if not x:
            continue
        height, chance = Uniform(SeededBits(1), word), Uniform(SeededBits(2), coin)
        truth = accept_by_balls(height, chance, x, [Wide(rate * loss, 1) for loss in losses])
        for error in (2.0**-50, 2.0**-20, 0.001, 0.02):
            off = rate if scale == 10**6 or error == 2.0**-50 else rate * Fraction(1 + error / 40)
            quick = decide_by_floats(target, coin, losses, -1, off, error)
            assert quick in (truth, None), error
            decided[error] += quick is not None
        asked += 1
    assert asked - decided[2.0**-50] < 0.03 * number
    assert min(decided.values()) > 0.1 * number


def test_bounds_of_logarithms_hold_for_all_further_bits():
    """−ln U is within its bounds whatever the bits of U after the first 64 are."""
    edges = [1, 2, 2**20, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**20, 2**64 - 2**11, 2**64 - 2, 2**64 - 1]
    steps = [(i << 53) + j for i in (1, 511, 512, 700, 1023) for j in (-1, 0, 1)]
    words = np.array([*edges, *steps, *draw_words(300, SeededBits(1)).tolist()], dtype=np.uint64)
    with ctx.workprec(200):
        for word, (below, above) in zip(words.tolist(), bound_logs(words), strict=True):
            for share in (arb(0), arb(1) - arb(2) ** -60):
                assert arb(below) < -((arb(word) + share) * arb(2) ** -64).log() < arb(above)
            assert above - below < 2.0**-39 + 2.1 / word
    ((below, above),) = bound_logs(np.zeros(1, dtype=np.uint64))
    assert below < 0
    assert above > 1e6


@pytest.mark.parametrize("losses", [(0, 1), (0, 0, 3), (0, 1, 2, 5), (0, 4, 4, 4, 4, 9)])
def test_proposals_that_are_accepted_have_the_law_of_the_heads(losses):
    """Thinned proposals of the exponential mechanism are uniform choices among coins with heads."""
    rate, draws, bits = Fraction(1, 2), 12_000, SeededBits(len(losses))
    chances = np.exp(-0.5 * np.array(losses))
    rng, drawn = np.random.default_rng(7), np.zeros(len(losses), dtype=int)
    words = draw_words(draws, bits)
    for word, target in zip(words.tolist(), bound_logs(words), strict=True):
        while True:
            item, coin = int(rng.choice(len(losses), p=chances / chances.sum())), Uniform(bits)
            members = np.ones(len(losses), dtype=np.int64)
            quick = not losses[item] or accept_by_floats(target, coin.numerator, item, chances, members, 1e-15, 0.0)
            if quick is None:
                crowds = [Wide(rate * loss, 1) for loss in losses]
                quick = accept_by_balls(Uniform(bits, word), coin, rate * losses[item], crowds)
            if quick:
                break
        drawn[item] += 1
    law = np.zeros(len(losses))
    for heads in itertools.product((0, 1), repeat=len(losses)):
        if any(heads):
            law += np.prod(np.where(heads, chances, 1 - chances)) * np.array(heads) / sum(heads)
    assert p_value(drawn, law) > ALARM
    assert p_value(drawn, chances / chances.sum()) < ALARM


@pytest.mark.parametrize("rate", ["1e-9", "1e-12", "1e-15", "1e-18"])
def test_chances_of_almost_one_are_decided_as_by_balls(rate):
    """Floats decide as balls do, or leave proposals open. Where c is within roundings of 1, they leave all open."""
    rate, decided = Fraction(rate), 0
    for height, power in itertools.product((2**64 - 2**57, 2**64 - 2**50, 2**64 - 2**20, 2**63), range(0, 60, 2)):
        target, coin = bound_logs(np.array([height], dtype=np.uint64))[0], 2**64 - 1 - 2**power
        numbers = Uniform(SeededBits(1), height), Uniform(SeededBits(2), coin)
        truth = accept_by_balls(*numbers, rate, [Wide(rate * loss, 1) for loss in (0, 1, 2)])
        quick = decide_by_floats(target, coin, [0, 1, 2], 1, rate)
        assert quick in (None, truth)
        decided += quick is not None
    assert (decided > 0) == (rate > 2.0**-48)
