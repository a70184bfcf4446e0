"""PNF-Joint: permute-and-flip over all sequences of k items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from flint import arb

from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.thinning import Bounds, accept_by_balls, accept_by_sums, bound_logs
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels, Picks

_PRECISION = 128
_LARGEST = 2.0**1000


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
        self._sums: dict[int, Bounds] = {}

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        words = draw_words(1, bits)
        target, height = bound_logs(words)[0], Uniform(bits, int(words[0]))
        while True:
            sequences, positions = self._joint.draw_positions(bits)
            if self._accept(target, height, Uniform(bits), sequences.compute_loss(positions)):
                return self._joint.picks(sequences, positions)

    def _accept(self, target: Bounds, height: Uniform, coin: Uniform, loss: int) -> bool:
        if not loss:  # the best sequences are always accepted
            return True
        with use_precision(_PRECISION):
            decay = _bound(enclose_exp_minus(self._rate * loss))
        quick = accept_by_sums(target, coin.numerator, decay, self._bound_sum)
        return accept_by_balls(height, coin, self._rate * loss, self.crowds) if quick is None else quick

    def _bound_sum(self, m: int) -> Bounds:
        """Bound Σ c^m. As c^m = e^(−m · rate · loss), it is the sum of the weights of Joint at m times the rate."""
        if m not in self._sums:
            mixture = self._joint if m == 1 else Mixture(self._levels, k=self._k, rate=m * self._rate, tau=None)
            with use_precision(_PRECISION):
                self._sums[m] = _bound(mixture.total())
        return self._sums[m]

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


def _bound(number: arb) -> Bounds:
    """Bound a positive number by floats. Conversion to float is off by less than 2^-50 of the number."""
    least, most = float(number.lower()), float(number.upper())
    return min(least, _LARGEST) * (1 - 2.0**-50), most * (1 + 2.0**-50)
