"""PNF-Joint: permute-and-flip over all sequences of k items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.many_thinning import POWERS, Mask, Words, accept_each_by_integers, accept_each_by_sums
from shortlist.exact.scaled import powers
from shortlist.exact.thinning import accept_by_balls, accept_by_integers, accept_by_sums
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels, ManyPicks, Picks, cut_batches

_PRECISION = 128
_LARGEST_SUM = 900
"""Sums above 2^900 are not tried as floats: integers decide nearly every proposal then."""


class PNFJoint(Mechanism):
    """Choose the sequence s of k items with the largest −L(s) + exponential noise of mean 2Δ/ε.

    Claim  epsilon-DP when one person raises each count by 0 or 1. The expected loss is never larger than Joint's.
    Proof  pnf_joint.proof.md.
    Cost   that of Joint, and the same again at twice the rate when few sequences have a small loss.

    >>> float(PNFJoint(k=10, epsilon=1).guarantee.rho)
    0.462117158
    """

    __slots__ = ()

    name: ClassVar[str] = "pnf-joint"
    summary: ClassVar[str] = "permute-and-flip over all ordered lists"
    when: ClassVar[str] = "you make one release only: its expected loss is never larger than that of joint"
    rho_in_words: ClassVar[str] = "ε·tanh(ε/2)"

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises. Every epsilon-DP mechanism has this rho."""
        return Guarantee(epsilon=self.epsilon, rho=find_rho_of_pure(self.epsilon), neighbours=self.neighbours)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(math.perm(d, self.k), self.rate, failure)

    def _prepare(self, levels: Levels) -> ThinnedMixture:
        return ThinnedMixture(levels, k=self.k, rate=self.rate)


class ThinnedMixture(Prepared):
    """PNF-Joint's law on given levels: rejection sampling from Joint's sequences."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction) -> None:
        self._levels = levels
        self._k = k
        self._rate = rate
        self._joint = Mixture(levels, k=k, rate=rate, tau=None)

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        height = Uniform(bits)
        while True:
            sequences, positions = self._joint.draw_positions(bits)
            if self._accept(height, Uniform(bits), sequences, positions):
                return self._joint.picks(sequences, positions)

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose k items n times."""
        parts = [
            self._joint.picks(self._joint.all_sequences, self._draw_many_positions(size, bits).ravel())
            for size in cut_batches(n, self._k)
        ]
        return ManyPicks.join(parts).reshape(self._k)

    def _draw_many_positions(self, n: int, bits: Bits) -> IntArray:
        """Propose lists for all draws that have none, until each has one."""
        positions = np.empty((n, self._k), dtype=np.int64)
        heights = draw_words(n, bits)
        # The numbers of which more than 64 bits may have been drawn.
        exact: dict[int, Uniform] = {}
        missing = np.arange(n)
        while len(missing):
            proposed = self._joint.draw_many_positions(len(missing), bits)
            coins = draw_words(len(missing), bits)
            accepted, unsure = self._decide_each(heights[missing], coins, proposed)
            for i in unsure.tolist():
                draw = int(missing[i])
                height = exact.setdefault(draw, Uniform(bits, int(heights[draw])))
                accepted[i] = self._accept(height, Uniform(bits, int(coins[i])), self._joint.all_sequences, proposed[i])
            positions[missing[accepted]] = proposed[accepted]
            missing = missing[~accepted]
        return positions

    def _decide_each(self, heights: Words, coins: Words, proposed: IntArray) -> tuple[Mask, IntArray]:
        """Return which proposals are surely accepted, and the places of those that floats cannot decide."""
        accepted = accept_each_by_integers(heights, coins, np.full(len(heights), self._joint.magnitude))
        rest = np.flatnonzero(~accepted)
        if not len(rest):
            return accepted, rest
        losses = self._joint.all_sequences.compute_loss_each(proposed[rest])
        accepted[rest[losses == 0]] = True
        rest, losses = rest[losses > 0], losses[losses > 0]
        if not len(rest) or self._power_sums is None:
            return accepted, rest
        distinct, place = np.unique(losses, return_inverse=True)
        decays = powers(self._rate, distinct)
        below, above = (np.tile(each[:, None], len(rest)) for each in self._power_sums)
        sure, never = accept_each_by_sums(
            heights[rest], coins[rest], decays.align(0)[place], decays.error, below, above
        )
        accepted[rest[sure]] = True
        return accepted, rest[~sure & ~never]

    @cached_property
    def _power_sums(self) -> tuple[FloatArray, FloatArray] | None:
        """Bounds of Σ c^m over all sequences, for m from 1 on; None if they are beyond the range of floats."""
        if self._joint.magnitude > _LARGEST_SUM:
            return None
        totals = [*self._first_sums, *map(self._enclose_power_sum, range(3, POWERS + 1))]
        # The best sequence alone weighs 1. Conversion to float is off by less than 2^-50 of the number.
        below = np.array([max(1.0, float(each.lower()) * (1 - 2.0**-50)) for each in totals])
        above = np.array([float(each.upper()) * (1 + 2.0**-50) for each in totals])
        return (below, above) if np.isfinite(above).all() else None

    @cached_property
    def _first_sums(self) -> tuple[arb, arb]:
        """Enclosures of Σ c and Σ c² over all sequences."""
        return self._joint.total(), self._enclose_power_sum(2)

    def _enclose_power_sum(self, m: int) -> arb:
        """Enclose Σ c^m. As c^m = e^(−m · rate · loss), it is the sum of the weights of Joint at m times the rate."""
        return Mixture(self._levels, k=self._k, rate=m * self._rate, tau=None).total()

    def _accept(self, height: Uniform, coin: Uniform, sequences: Sequences, positions: IntArray) -> bool:
        if accept_by_integers(height, coin, self._joint.magnitude):
            return True
        loss = sequences.compute_loss(positions)
        if not loss:
            return True
        with use_precision(_PRECISION):
            quick = accept_by_sums(height, coin, enclose_exp_minus(self._rate * loss), *self._first_sums)
        return accept_by_balls(height, coin, self._rate * loss, self.crowds) if quick is None else quick

    @cached_property
    def crowds(self) -> list[LossCrowd]:
        """All sequences, in one crowd. Splitting it where a decision needs it gives fewer crowds than a fixed grid."""
        sequences = self._joint.all_sequences
        return _make_crowds(self._rate, sequences, [(0, sequences.widest)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCrowd:
    """The sequences whose loss lies between `first` and `last`, both included."""

    rate: Fraction
    sequences: Sequences
    first: int
    last: int
    members: int

    def decay(self) -> arb:
        """Enclose e^(−rate · loss) for all of them."""
        highest = enclose_exp_minus(self.rate * self.first)
        return highest if self.first == self.last else highest.union(enclose_exp_minus(self.rate * self.last))

    def split(self) -> list[LossCrowd] | None:
        """Return two halves, or the one half that has members, or None for a single loss."""
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        return _make_crowds(self.rate, self.sequences, [(self.first, middle), (middle + 1, self.last)])


def _make_crowds(rate: Fraction, sequences: Sequences, ranges: list[tuple[int, int]]) -> list[LossCrowd]:
    """Make a crowd for each range of losses that some sequence has."""
    crowds = []
    for first, last in ranges:
        members = sequences.number(last) - sequences.number(first - 1)
        if members:
            crowds.append(LossCrowd(rate=rate, sequences=sequences, first=first, last=last, members=members))
    return crowds
