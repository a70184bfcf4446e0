"""The second primitive: from the exponential mechanism to permute-and-flip, exactly.

Candidate i scores −x_i, the best one 0. Let c_i = e^(−x_i), so the best c is 1. Permute-and-flip flips a coin for every
candidate, with heads of probability c_i, and chooses uniformly among the heads (McKenna and Sheldon 2020). Give every
candidate a uniform T_i in [0, 1), and let the heads with the smallest T_i win: that is a uniform choice. So with X the
smallest T of a candidate with heads,

    P(X > x) = ∏_i (1 − c_i x),       and given X = x, candidate i has it with probability ∝ c_i / (1 − c_i x).

The exponential mechanism proposes i with probability ∝ c_i. Rejection sampling accepts a proposal with probability
(1 − X) / (1 − c_i X), which is at most 1, and otherwise proposes again. That gives the second law. With U and V
uniform, X is where the product equals U, and V < (1 − X) / (1 − c_i X) if and only if X < x* = (1 − V) / (1 − c_i V).
So

    accept i   ⇔   S(x*) > −ln U,       where S(x) = −Σ_i ln(1 − c_i x).

No equation has to be solved: one sum is compared with one logarithm. A draw has one U. Each proposal has its own V. The
best candidate is always accepted: its x* is 1, where S is infinite. For all others, `accept_by_sums` decides with
floats, or says that they cannot tell. Then `accept_by_balls` decides.

Rounds   At most two proposals are expected. Let C = Σ c_i. Given X, a proposal is accepted with probability 1 − X or
         more, and also with probability 1/C or more, as the best one always is. So at most E min(C, 1/(1 − X))
         proposals are expected. For t ≥ 1, P(1/(1 − X) > t) ≤ ∏_i (1 − c_i (1 − 1/t)) ≤ e^(−(C−1)(1−1/t)) / t. From
         t = 1 to 2 this integrates to ln 2 at most, from 2 to C to ln(C/2) e^(−(C−1)/2), which is below 0.2. With the
         integral from 0 to 1, which is 1, the sum is below 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.choice import LossRange, refine
from shortlist.exact.scaled import draw_exponentials
from shortlist.exact.uniform import Uniform

Bounds = tuple[float, float]
"""A lower and an upper bound of a number."""

_UNIT = 2.0**-64
_POWERS = 3
_TERMS = 16
_MARGIN = 2.0**-40
"""Larger than the relative error of a sum or product of positive floats with fewer than 200 roundings."""


def bound_logs(words: NDArray[np.uint64]) -> list[Bounds]:
    """Bound −ln U for each U, given by its leading 64 bits. If all of them are 0, the bounds say nothing."""
    logs, errors = draw_exponentials(words)
    return list(zip((logs - errors).tolist(), (logs + errors).tolist(), strict=True))


def accept_by_sums(target: Bounds, coin: int, decay: Bounds, find_sum: Callable[[int], Bounds]) -> bool | None:
    """Decide whether a proposal with c_i = `decay` is accepted, from Σ c_i and if necessary from Σ c_i² and Σ c_i³.

    None means that floats cannot tell. `target` is −ln U, `coin` the leading 64 bits of V, and `find_sum(m)` bounds
    p_m = Σ c_i^m. A bound of c_i may be above 1, where it says nothing.

    Claim   For J sums and r ≤ p_J / p_(J−1), Σ_m q_m x^m / m ≤ S(x) with q_m = p_J r^(m−J) for m > J, and S(x) is at
            most the same sum with r = 1. The first n terms are enough for the lower bound. For the upper one, the n-th
            term times x / (1 − x) makes up for all later ones. For J = 1, r is 0.
    Proof   S(x) = Σ_m p_m x^m / m. No c_i is above 1, so p_m falls with m. By Cauchy and Schwarz p_(m+1) p_(m−1) ≥
            p_m², so p_(m+1) / p_m rises with m. The bounds grow with x and with every p_m. x* = A / (A + B) with
            A = 1 − V and B = (1 − c_i) V, which loses no digits. All numbers are positive, with fewer than 200
            roundings. Those below the range of floats are negligible beside the first term.
    """
    tail, value = (2**64 - 1 - coin) * _UNIT, coin * _UNIT
    low = tail / (tail + (1 - decay[0]) * (value + _UNIT)) * (1 - _MARGIN) if tail else 0.0
    high = (tail + _UNIT) / (tail + _UNIT + max(0.0, 1 - decay[1]) * value) * (1 + _MARGIN)
    sums = [find_sum(1)]
    while True:
        ratio = sums[-1][0] / sums[-2][1] if len(sums) > 1 else 0.0
        least, _ = _add_terms(sums, 0, ratio, low)
        if least * (1 - _MARGIN) > target[1]:
            return True
        most, last = _add_terms(sums, 1, 1.0, high)
        if high < 1 and (most + last * high / (1 - high)) * (1 + _MARGIN) < target[0]:
            return False
        if len(sums) == _POWERS:
            return None
        sums += [find_sum(m) for m in range(2, _POWERS + 1)]


def _add_terms(sums: Sequence[Bounds], side: int, ratio: float, x: float) -> tuple[float, float]:
    """Add up the first terms p_m x^m / m, where each p_m that is not given is `ratio` times the one before.

    `side` is 0 for lower and 1 for upper bounds of p_m. Return the sum of the terms and the last of them.
    """
    total, power, number, term = 0.0, 1.0, 0.0, 0.0
    for m in range(1, _TERMS + 1):
        power *= x
        number = sums[m - 1][side] if m <= len(sums) else number * ratio
        if not number:
            break
        term = number * power / m
        total += term
    return total, term


def accept_by_balls(height: Uniform, coin: Uniform, x: Fraction, crowds: Sequence[LossRange]) -> bool:
    """Decide with certainty whether a proposal of score −x, below the best, is accepted. `height` is U, `coin` is V.

    Rounds  A round that does not decide splits a crowd, or draws 64 bits of U and of V. There are finitely many
            crowds to split. The c of a crowd that cannot be split is known to the working precision, and x* < 1. So
            once V is known to be above 0, the radius of S(x*) is at most R 2^(−64 n) after n draws, for some R. The
            density of −ln U is at most 1, so the n-th draw is undecided with probability O(R 2^(−64 n)). The sum
            over n is finite, and so is the expected number of rounds.
    """
    while True:
        with use_precision(coin.known + 64):
            chance = coin.ball()
            threshold = (1 - chance) / (1 - enclose_exp_minus(x) * chance)
            target = -height.ball().log()
            # If x* is not yet known to be below 1, the sum is infinite, and only more bits help.
            crowds, _, total = refine(
                crowds,
                partial(_enclose_term, threshold=threshold),
                lambda total, target=target: not total.overlaps(target) or not total.is_finite(),  # type: ignore[misc]
            )
            if not total.overlaps(target):
                return bool(total > target)
        height.extend()
        coin.extend()


def _enclose_term(crowd: LossRange, threshold: arb) -> arb:
    """Enclose −Σ ln(1 − c x) over a crowd from its smallest and its largest c.

    The radius of a ball has 30 bits only, so a ball for c in [a, 1] reaches beyond 1, where the logarithm may not
    exist. No c is above 1, so the largest is cut off there.
    """
    decay = crowd.decay()
    ends = (decay.lower(), min(decay.upper(), arb(1)))
    low, high = (-crowd.members * (-end * threshold).log1p() for end in ends)
    return low.union(high)
