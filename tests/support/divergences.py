"""How far apart two laws are: floats decide where they are far from the limit, and balls decide near it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpq

from shortlist.array_types import FloatArray
from shortlist.privacy.guarantee import Guarantee

CLEAR = 1e-6
"""A float this far inside a limit is inside it. The errors of the floats below are smaller than 1e-10."""
__all__ = ["CLEAR", "ORDERS", "Law", "ball", "hockey_stick", "keeps", "keeps_epsilon", "keeps_rho", "renyi"]

ORDERS = (fmpq(11, 10), fmpq(2), fmpq(20))


class Law(list[arb]):
    """The probabilities of all outputs as balls."""

    @cached_property
    def logs(self) -> FloatArray:
        """Their logarithms as floats."""
        return np.array([float(chance.log().mid()) for chance in self])


def keeps(guarantee: Guarantee, here: Law, there: Law) -> bool:
    """Whether two neighbours are as close as a guarantee says: epsilon and delta, and rho for several orders."""
    pairs = ((here, there), (there, here))
    return all(
        keeps_epsilon(guarantee, *pair) and all(keeps_rho(guarantee, *pair, order) for order in ORDERS)
        for pair in pairs
    )


def keeps_epsilon(guarantee: Guarantee, here: Law, there: Law) -> bool:
    """Whether the hockey-stick divergence is not certainly above delta."""
    epsilon, delta = float(guarantee.epsilon), float(guarantee.delta)
    if np.max(here.logs - there.logs) < epsilon - CLEAR:
        return True
    if delta and np.maximum(np.exp(here.logs) - np.exp(epsilon + there.logs), 0).sum() < delta - CLEAR:
        return True
    return not hockey_stick(here, there, ball(guarantee.epsilon).exp()) > ball(guarantee.delta)


def keeps_rho(guarantee: Guarantee, here: Law, there: Law, order: fmpq) -> bool:
    """Whether the Rényi divergence of an order is not certainly above rho times the order, if rho needs no delta."""
    if guarantee.rho is None or guarantee.rho_delta:
        return True
    above = float(order.p) / float(order.q) - 1
    divergence = np.logaddexp.reduce(here.logs + above * (here.logs - there.logs)) / above
    if divergence < float(ball(guarantee.rho) * order) - CLEAR:
        return True
    return not renyi(here, there, order) > ball(guarantee.rho) * order


def hockey_stick(here: Iterable[arb], there: Iterable[arb], factor: arb) -> arb:
    """The hockey-stick divergence: Σ max(0, p − factor · q) over all outputs, where factor is e^epsilon."""
    gaps = [p - factor * q for p, q in zip(here, there, strict=True)]
    return sum((gap for gap in gaps if gap > 0), arb(0))


def renyi(here: Iterable[arb], there: Iterable[arb], order: fmpq) -> arb:
    """The Rényi divergence of an order above 1."""
    return sum((p**order * q ** (1 - order) for p, q in zip(here, there, strict=True)), arb(0)).log() / (order - 1)


def ball(number: Fraction | None) -> arb:
    """An exact number as a ball."""
    assert number is not None
    return arb(fmpq(number.numerator, number.denominator))
