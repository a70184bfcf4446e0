"""The second primitive: from the exponential mechanism to permute-and-flip, exactly.

Permute-and-flip reports the candidate with the largest noisy score, when candidate i scores −x_i and gets
exponential noise of mean 1 (Ding et al. 2021). Let c_i = e^(−x_i), the best c being 1, and X = e^(−largest noisy
score). Then

    P(X ≥ x) = ∏_i (1 − c_i x),       and given X = x, candidate i has it with probability ∝ c_i / (1 − c_i x).

The exponential mechanism proposes i with probability ∝ c_i. Rejection sampling accepts a proposal with probability
(1 − X) / (1 − c_i X), which is at most 1, and otherwise proposes again. That gives the second law. With U and V
uniform, X is where the product equals U, and V < (1 − X) / (1 − c_i X) if and only if X < x* = (1 − V) / (1 − c_i V).
So

    accept i   ⇔   S(x*) > −ln U,       where S(x) = −Σ_i ln(1 − c_i x).

No equation has to be solved: one sum is compared with one logarithm. A draw has one U. Each proposal has its own V.

Rounds   At most two proposals are expected. Let C = Σ c_i. Given X, a proposal is accepted with probability 1 − X or
         more, and also with probability 1/C or more, as the best one always is. So at most E min(C, 1/(1 − X))
         proposals are expected. For t ≥ 1, P(1/(1 − X) > t) ≤ ∏_i (1 − c_i (1 − 1/t)) ≤ e^(−(C−1)(1−1/t)) / t. From
         t = 1 to 2 this integrates to ln 2 at most, from 2 to C to ln(C/2) e^(−(C−1)/2), which is below 0.2. With the
         integral from 0 to 1, which is 1, the sum is below 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from flint import arb

from shortlist.exact.balls import enclose_exp_minus, split_wide, use_precision
from shortlist.exact.uniform import Uniform


class Crowd(Protocol):
    """A group of candidates with about the same score. It may consist of smaller crowds."""

    @property
    def members(self) -> int:
        """The number of candidates."""

    def decay(self) -> arb:
        """Enclose the c of every member."""

    def split(self) -> Sequence[Self] | None:
        """Return smaller crowds, or None if all scores are equal."""


AnyCrowd = TypeVar("AnyCrowd", bound=Crowd)


def accept_by_integers(height: Uniform, coin: Uniform, magnitude: int) -> bool:
    """Return True only if every proposal is accepted, given that Σ c_i ≥ 2^magnitude. False decides nothing.

    S(x) ≥ x Σ c_i and x* ≥ 1 − V, so 2^magnitude (1 − V) > −ln U is enough. Both sides are rounded to powers of two.
    """
    tail = (1 << coin.known) - 1 - coin.numerator  # 1 − V is above tail · 2^-known
    if not tail or not height.numerator:
        return False
    halvings = height.known - height.numerator.bit_length() + 1  # U ≥ 2^-halvings, so −ln U < halvings
    return magnitude + tail.bit_length() - 1 - coin.known >= halvings.bit_length()


def accept_by_sums(height: Uniform, coin: Uniform, decay: arb, first: arb, second: arb) -> bool | None:
    """Decide from Σ c_i and Σ c_i² alone whether a proposal with c_i = `decay` is accepted. None means undecided.

    Claim   with p_m = Σ c_i^m and r = p_2 / p_1,   −(p_1 / r) ln(1 − r x) ≤ S(x) ≤ p_1 x − p_2 (ln(1 − x) + x).
    Proof   S(x) = Σ_m p_m x^m / m. No c_i is above 1, so p_m ≤ p_2 for m ≥ 2: the upper bound. Under weights
            c_i / p_1, p_(m+1) / p_1 is the mean of c^m, by Jensen at least r^m, so p_m ≥ p_1 r^(m−1): the lower.
    """
    with use_precision(coin.known + 64):
        chance = coin.ball()
        threshold = (1 - chance) / (1 - decay * chance)
        target = -height.ball().log()
        ratio = second / first
        if -first / ratio * (-ratio * threshold).log1p() > target:
            return True
        if first * threshold - second * ((-threshold).log1p() + threshold) < target:
            return False
    return None


def accept_by_balls(height: Uniform, coin: Uniform, x: Fraction, crowds: Sequence[AnyCrowd]) -> bool:
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
            terms = [_enclose_term(crowd, threshold) for crowd in crowds]
            total = sum(terms, arb(0))
            if total > target:
                return True
            if total < target:
                return False
            finer = crowds
            if total.is_finite():  # otherwise x* is not yet known to be below 1, and only more bits help
                # Split the crowds that add most to the radius of the sum: more than half of the average.
                finer = split_wide(crowds, terms, total.rad() / (2 * len(crowds)))
        if finer is crowds:
            height.extend()
            coin.extend()
        crowds = finer


def _enclose_term(crowd: Crowd, threshold: arb) -> arb:
    """Enclose −Σ ln(1 − c x) over a crowd from its smallest and its largest c.

    The radius of a ball has 30 bits only, so a ball for c in [a, 1] reaches beyond 1, where the logarithm may not
    exist. No c is above 1, so the largest is cut off there.
    """
    decay = crowd.decay()
    ends = (decay.lower(), min(decay.upper(), arb(1)))
    low, high = (-crowd.members * (-end * threshold).log1p() for end in ends)
    return low.union(high)
