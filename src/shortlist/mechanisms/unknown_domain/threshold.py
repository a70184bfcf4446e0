"""Threshold: noise on the counts of the observed items, and a threshold that items of one person do not pass."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, bound_noise
from shortlist.mechanisms.counts.calibrated import choose_noise
from shortlist.mechanisms.counts.many import NoisyDraws
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.unknown_domain.observed import UnknownDomain
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import Real, quote, read_whole
from shortlist.privacy.zcdp import find_excess_order, find_rho, round_down
from shortlist.profile import ManyPicks, Picks, Profile

_PRECISION = 128


class NoiseLaw(StrEnum):
    """The law of the noise on each count."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(UnknownDomain):
    """Choose the items whose noisy counts reach a threshold, the k largest at most, and release these counts.

    With m votes per person and c = mΔ, the noise is discrete Gaussian of variance c/2ρ or discrete Laplace of scale
    c/ε. Without `noise`, it is the law with the lower threshold. Equal noisy counts are ordered at random.

    Claim  (epsilon, delta)-DP when one person casts at most m votes, for different items.
    Proof  threshold.proof.md.
    Cost   one pass over the profile, then about k noises for each draw, however many items there are.

    >>> mechanism = Threshold(k=100, epsilon=1, delta="1e-6", votes_per_person=20)
    >>> mechanism.law, mechanism.threshold
    (DiscreteGaussian(variance=...), 110)
    """

    name: ClassVar[str] = "threshold"
    summary: ClassVar[str] = "the items whose counts reach a threshold after noise, with the noisy counts"
    when: ClassVar[str] = "there is no list of all items, people cast few votes each, and k is large"

    votes_per_person: int
    noise: NoiseLaw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            epsilon: Real,
            delta: Real,
            votes_per_person: int,
            noise: NoiseLaw | str | None = ...,
            neighbours: Neighbours | str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        UnknownDomain.__post_init__(self)
        self._read(votes_per_person=read_whole(self.votes_per_person, name="votes_per_person"))
        self._read(
            noise=min(NoiseLaw, key=lambda each: self._find(each)[1]) if self.noise is None else self._read_law()
        )

    @property
    def law(self) -> DiscreteGaussian | DiscreteLaplace:
        """The noise on each count."""
        return self._find(self.noise)[0]

    @property
    def counted(self) -> bool:
        """True: noisy counts are released with the items."""
        return True

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is released."""
        return self._find(self.noise)[1]

    def _read_law(self) -> NoiseLaw:
        try:
            return NoiseLaw(str(self.noise))
        except ValueError:
            names = " or ".join(repr(str(each)) for each in NoiseLaw)
            raise ParameterError(
                "{noise} must be {names}", "not {value}", names=names, value=quote(self.noise)
            ) from None

    def _find(self, noise: NoiseLaw | None) -> tuple[DiscreteGaussian | DiscreteLaplace, int]:
        moved = self.votes_per_person * self.neighbours.sensitivity
        if noise is NoiseLaw.LAPLACE:
            law, hidden = choose_noise(moved, self.epsilon, None), self.delta
        else:
            rho = find_rho(self.epsilon, self.delta)
            law, hidden = choose_noise(moved, self.epsilon, rho), self._find_item_delta(rho)
        return law, find_threshold(law, self.votes_per_person, hidden)

    def _find_item_delta(self, rho: Fraction) -> Fraction:
        """Find the δ₂ that is left for hiding items under Gaussian noise: δ (1 − e^(−α(α−1)ρ/Δ)), rounded down.

        A person who brings an item moves one count fewer. So delta need not be divided between noise and items.
        """
        excess = find_excess_order(self.epsilon, self.delta)
        with use_precision(_PRECISION):
            return round_down(
                ball(self.delta) * enclose_shortfall((excess + 1) * excess * rho / self.neighbours.sensitivity)
            )

    def _prepare_observed(self, observed: Profile) -> ItemsAboveThreshold:
        return ItemsAboveThreshold(observed, k=self.k, law=self.law, threshold=self.threshold)


class ItemsAboveThreshold(Prepared):
    """The law of threshold on the profile of the observed items."""

    def __init__(self, observed: Profile, *, k: int, law: DiscreteGaussian | DiscreteLaplace, threshold: int) -> None:
        self._largest = NoisyDraws(observed, k=min(k, observed.d), noise=law)
        self._threshold = threshold

    def draw(self, bits: Bits) -> Picks:
        """Choose the items, with their noisy counts."""
        picks = self._largest.draw(bits)
        assert picks.counts is not None
        released = self._find_released(picks.counts)
        return Picks(levels=picks.levels[released], ranks=picks.ranks[released], counts=picks.counts[released])

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose the items n times, with their noisy counts."""
        picks = self._largest.draw_many(n, bits)
        assert picks.counts is not None
        released = self._find_released(picks.counts)
        return ManyPicks(
            levels=picks.levels[released],
            ranks=picks.ranks[released],
            counts=picks.counts[released],
            lengths=released.reshape(n, -1).sum(axis=1),
        )

    def _find_released(self, noisy: IntArray) -> NDArray[np.bool_]:
        """Find the noisy counts that reach the threshold."""
        released: NDArray[np.bool_] = noisy >= self._threshold
        return released


@lru_cache(maxsize=256)
def find_threshold(law: DiscreteGaussian | DiscreteLaplace, most: int, hidden: Fraction) -> int:
    """Find a T such that items with one vote stay below T after noise.

    Claim   p = P(1 + noise ≥ T) satisfies most · p ≤ hidden and p ≤ 1 − e^(−x), where x is 1/b or 1/2σ².

    >>> find_threshold(DiscreteLaplace(Fraction(1)), 1, Fraction(1, 10**6))
    15
    """
    x = 1 / law.b if isinstance(law, DiscreteLaplace) else 1 / (2 * law.variance)
    with use_precision(_PRECISION):
        rare = round_down(enclose_shortfall(x))
    # `bound_noise` finds the smallest B with 2 · count · P(noise ≥ B + 1) ≤ failure.
    return 2 + max(bound_noise(law, most, 2 * hidden), bound_noise(law, 1, 2 * rare))
