"""Pure guarantees as zero-concentrated ones."""

import itertools
from fractions import Fraction

import pytest
from divergences import ball, renyi
from flint import arb, ctx, fmpq

from shortlist.privacy.zcdp import find_rho_of_pure

ORDERS = [fmpq(1001, 1000), fmpq(3, 2), fmpq(2), fmpq(7), fmpq(100)]
EPSILONS = ["1e-6", "0.1", "1", "5", "40"]


def pure_laws(epsilon):
    """Pairs of laws whose probabilities differ by a factor in [e^−ε, e^ε], on two and three outcomes."""
    steps = [-arb(1), -arb(1) / 2, arb(0), arb(1) / 3, arb(1)]
    for loss in itertools.product(steps, repeat=3):
        factors = [(ball(epsilon) * each).exp() for each in loss]
        # Q puts weight on the outcomes so that P = f Q sums to 1; two outcomes on either side of 1 determine it.
        low, high, third = factors
        if not (low < 1 < high):
            continue
        for share in (arb(0), arb(1) / 7):
            weight = (1 - share * third - (1 - share) * low) / (high - low)
            there = [1 - share - weight, weight, share]
            if share and not (there[0] > 0 and weight > 0):
                continue
            pairs = [(f * q, q) for f, q in zip(factors, there, strict=True) if q != 0]
            yield [p for p, _ in pairs], [q for _, q in pairs]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_laws_are_within_rho(epsilon):
    """Rényi divergences of laws that are ε-DP are at most ρ times their order."""
    exact = Fraction(epsilon)
    with ctx.workprec(256):
        laws = list(pure_laws(exact))
        assert len(laws) > 20
        for here, there in laws:
            for order in ORDERS:
                assert not renyi(here, there, order) > ball(find_rho_of_pure(exact)) * order


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_smaller_rho_would_do(epsilon):
    """Randomised response needs 99 % of rho at an order near 1, so the check above has power."""
    exact = Fraction(epsilon)
    with ctx.workprec(256):
        odds = ball(exact).exp()
        here, there = [odds / (1 + odds), 1 / (1 + odds)], [1 / (1 + odds), odds / (1 + odds)]
        order = fmpq(10**6 + 1, 10**6)
        assert renyi(here, there, order) > ball(find_rho_of_pure(exact)) * order * fmpq(99, 100)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", "0.3", "7", "1000000"])
def test_rho_is_rounded_up(epsilon):
    """Never below ε tanh(ε/2), never above ε²/2, and within nine digits of the former."""
    exact = Fraction(epsilon)
    with ctx.workprec(2500):
        bound = ball(exact) * (ball(exact) / 2).tanh()
        assert not ball(find_rho_of_pure(exact)) < bound
        assert ball(find_rho_of_pure(exact)) < bound * (1 + ball(Fraction(1, 10**8)))
    assert find_rho_of_pure(exact) <= exact**2 / 2
