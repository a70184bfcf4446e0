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
best candidate is always accepted: its x* is 1, where S is infinite. For others, `accept_by_floats` computes the sum, or
says that floats cannot tell. Then `accept_by_balls` decides.

Rounds   At most two proposals are expected. Let C = Σ c_i. Given X, a proposal is accepted with probability 1 − X or
         more, and also with probability 1/C or more, as the best one always is. So at most E min(C, 1/(1 − X))
         proposals are expected. For t ≥ 1, P(1/(1 − X) > t) ≤ ∏_i (1 − c_i (1 − 1/t)) ≤ e^(−(C−1)(1−1/t)) / t. From
         t = 1 to 2 this integrates to ln 2 at most, from 2 to C to ln(C/2) e^(−(C−1)/2), which is below 0.2. With the
         integral from 0 to 1, which is 1, the sum is below 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from flint import arb

from shortlist.array_types import FloatArray, IntArray, WordArray
from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.choice import LossRange, refine
from shortlist.exact.scaled import FEW_ROUNDINGS, LOG_ERROR, compute_negative_logs, draw_exponentials
from shortlist.exact.uniform import Uniform

Bounds = tuple[float, float]
"""A lower and an upper bound of a number."""

_UNIT = 2.0**-64


def bound_logs(words: WordArray) -> list[Bounds]:
    """Bound −ln U for each U, given by its leading 64 bits. If all of them are 0, the bounds say nothing."""
    logs, errors = draw_exponentials(words)
    return list(zip((logs - errors).tolist(), (logs + errors).tolist(), strict=True))


def accept_by_floats(
    target: Bounds, coin: int, place: int, decays: FloatArray, members: IntArray, error: float, omitted: float
) -> bool | None:
    """Decide whether a proposal is accepted, or return None if floats cannot tell.

    `target` is −ln U, and `coin` the leading 64 bits of V. There are `members` candidates with each c of `decays`,
    which is off by `error` of itself at most. The proposal is at one `place` of them. All others have c below 1/2, and
    a sum of c of at most `omitted`.

    Claim  The answer is the sign of S(x*) + ln U.
    Proof  Let a = 1 − V, and x* = a / (a + (1 − c) V), which is at least a. Let w = 2 (error + 2^-50) / a. Then x* and
           every c together are off by less than w of themselves: a is off by 2^-64, c by `error`, and few roundings
           move x* by less than 2^-50. The derivative of −ln(1 − y) is 1 / (1 − y). So this moves S(x*) by at most
           2w S(x*) / (1 − x*), if that is at most half of it. Each logarithm is off by `LOG_ERROR` and two roundings,
           and the sum is rounded once for each c. As −ln(1 − y) ≤ 2y for y ≤ 1/2, others add at most twice what is
           omitted.
    """
    tail = (2**64 - coin) * _UNIT
    rest = (1 - decays.item(place)) * (coin * _UNIT)
    share = rest / (tail + rest)  # 1 − x*
    if share <= 0:
        return None
    relative = 4 * (error + FEW_ROUNDINGS) / (tail * share) + FEW_ROUNDINGS * len(decays)
    if relative > 1 / 2:
        return None
    products = (1 - share) * decays
    # −ln(1 − y) is y or more, which is enough in most cases: 2.5 to 27 times as fast for 1,000 items.
    if float((members * products).sum()) * (1 - relative) > target[1]:
        return True
    total = float((members * compute_negative_logs(1 - products)).sum())
    slack = 2 * LOG_ERROR * int(members.sum()) + relative * total
    if total - slack > target[1]:
        return True
    return False if total + slack + 2 * omitted < target[0] else None


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
