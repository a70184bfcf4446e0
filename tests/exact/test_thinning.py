"""The second primitive decides every proposal after few bits."""

from fractions import Fraction

import pytest
from flint import arb

from shortlist import prepare
from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform
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
