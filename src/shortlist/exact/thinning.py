"""The second primitive: from the exponential mechanism to permute-and-flip, exactly.

Permute-and-flip reports the candidate with the largest noisy score, when candidate i scores −x_i and gets
exponential noise of mean 1 (Ding et al. 2021). Let c_i = e^(−x_i), the best c being 1, and X = e^(−largest noisy
score). Then

    P(X ≥ x) = ∏_i (1 − c_i x),       and given X = x, candidate i has it with probability ∝ c_i / (1 − c_i x).

The exponential mechanism proposes i with probability ∝ c_i. Keeping a proposal with probability
(1 − X) / (1 − c_i X), which is at most 1, and proposing again otherwise, gives the second law. With U and V uniform,
X is where the product equals U, and V < (1 − X) / (1 − c_i X) if and only if X < x* = (1 − V) / (1 − c_i V). So

    keep i   ⇔   S(x*) > −ln U,       where S(x) = −Σ_i ln(1 − c_i x),

and nothing has to be solved: one sum is compared with one logarithm. U belongs to the draw, V to the proposal.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol, Self, TypeVar

from flint import arb

from shortlist.exact.balls import exp_minus, working_precision
from shortlist.exact.uniform import Uniform


class Crowd(Protocol):
    """Candidates with about the same score; it may consist of smaller crowds."""

    @property
    def members(self) -> int:
        """How many candidates there are."""

    def decay(self) -> arb:
        """Enclose e^(−x) for the scores −x of all of them."""

    def split(self) -> Sequence[Self] | None:
        """Smaller crowds, or None if all scores are the same."""


AnyCrowd = TypeVar("AnyCrowd", bound=Crowd)


def surely_kept(height: Uniform, coin: Uniform, magnitude: int) -> bool:
    """Say yes if a proposal is kept whatever it is, given that Σ c_i ≥ 2^magnitude; by integers alone.

    S(x) ≥ x Σ c_i and x* ≥ 1 − V, so 2^magnitude (1 − V) > −ln U is enough. Both sides are rounded to powers of two.
    """
    tail = (1 << coin.known) - 1 - coin.numerator  # 1 − V is above tail · 2^-known
    if not tail or not height.numerator:
        return False
    halvings = height.known - height.numerator.bit_length() + 1  # U ≥ 2^-halvings, so −ln U < halvings
    return magnitude + tail.bit_length() - 1 - coin.known >= halvings.bit_length()


def kept_by_sums(height: Uniform, coin: Uniform, decay: arb, first: arb, second: arb) -> bool | None:
    """Decide whether a proposal with c_i = `decay` is kept from Σ c_i and Σ c_i² alone, or say None.

    Claim   with p_m = Σ c_i^m and r = p_2 / p_1,   −(p_1 / r) ln(1 − r x) ≤ S(x) ≤ p_1 x − p_2 (ln(1 − x) + x).
    Proof   S(x) = Σ_m p_m x^m / m. No c_i is above 1, so p_m ≤ p_2 for m ≥ 2: the upper bound. Under weights
            c_i / p_1, p_(m+1) / p_1 is the mean of c^m, by Jensen at least r^m, so p_m ≥ p_1 r^(m−1): the lower.
    """
    with working_precision(coin.known + 64):
        chance = coin.ball()
        threshold = (1 - chance) / (1 - decay * chance)
        target = -height.ball().log()
        ratio = second / first
        if -first / ratio * (-ratio * threshold).log1p() > target:
            return True
        if first * threshold - second * ((-threshold).log1p() + threshold) < target:
            return False
    return None


def kept(height: Uniform, coin: Uniform, x: Fraction, crowds: Sequence[AnyCrowd]) -> bool:
    """Decide with certainty whether a proposal of score −x is kept; `height` is U and `coin` is V."""
    while True:
        with working_precision(coin.known + 64):
            chance = coin.ball()
            threshold = (1 - chance) / (1 - exp_minus(x) * chance)
            target = -height.ball().log()
            terms = [-crowd.members * (-crowd.decay() * threshold).log1p() for crowd in crowds]
            total = sum(terms, arb(0))
            if total > target:
                return True
            if total < target:
                return False
            before = len(crowds)
            if total.is_finite():  # else only more bits of both numbers help
                crowds = _narrowed(crowds, terms, total)
        if len(crowds) == before:
            height.extend()
            coin.extend()


def _narrowed(crowds: Sequence[AnyCrowd], terms: Sequence[arb], total: arb) -> Sequence[AnyCrowd]:
    """Split the crowds that blur the sum most: all those with more than an even share of its radius."""
    share = total.rad() / (2 * len(crowds))
    finer: list[AnyCrowd] = []
    for crowd, term in zip(crowds, terms, strict=True):
        parts = None if term.rad() < share else crowd.split()
        finer.extend([crowd] if parts is None else parts)
    return finer
