"""Noisy counts: add noise to all counts, and release the k largest. It suits people who cast few votes each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, bound_difference, bound_noise
from shortlist.mechanisms.accuracy import ReleasedCounts
from shortlist.mechanisms.counts.calibrated import add_intervals, choose_noise, state_guarantee
from shortlist.mechanisms.counts.many import NoisyDraws
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, quote, read_positive, read_probability, read_whole
from shortlist.privacy.zcdp import find_epsilon, find_rho
from shortlist.profile import Levels

_NOT_GIVEN = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts(Mechanism):
    """Choose the k items with the largest noisy counts, and release these counts.

    With m votes per person and c = mΔ, the noise is discrete Laplace of scale c/ε, or with `delta` discrete Gaussian of
    variance c/2ρ. Then ρ follows from ε and δ, or ε from ρ and δ. Equal noisy counts are ordered at random.

    Claim  epsilon-DP and (ε tanh(ε/2c))-zCDP, or with delta (epsilon, delta)-DP and rho-zCDP, when one person casts at
           most m votes, for different items.
    Proof  noisy_counts.proof.md, Theorems 1 and 2.
    Cost   one pass over the profile, then about k noises for each draw, for any d.

    >>> mechanism = NoisyCounts(k=100, epsilon=1, votes_per_person=10)
    >>> mechanism.noise, mechanism.count_bound(10**6)
    (DiscreteLaplace(b=Fraction(10, 1)), 168)
    """

    name: ClassVar[str] = "noisy-counts"
    summary: ClassVar[str] = "the k largest counts after noise on all of them, with the noisy counts"
    when: ClassVar[str] = "people cast few votes each, k is large, or you want counts"
    guarantee_in_words: ClassVar[str] = "ε, or (ε, δ)"
    rho_in_words: ClassVar[str] = "ε·tanh(ε/2m), or ρ"

    epsilon: Fraction = _NOT_GIVEN
    votes_per_person: int
    delta: Fraction | None = None
    rho: Fraction | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            epsilon: Real = ...,
            votes_per_person: int,
            delta: Real | None = ...,
            rho: Real | None = ...,
            neighbours: Neighbours | str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._read(votes_per_person=read_whole(self.votes_per_person, name="votes_per_person"))
        if self.delta is not None:
            self._read(delta=read_probability(self.delta, name="delta"))
        if self.rho is not None:
            self._read(epsilon=self._read_rho(self.rho))
        elif self.epsilon is _NOT_GIVEN:
            raise ParameterError("noisy-counts needs {epsilon}, or {rho} and {delta}", hint="try {epsilon=1}")
        Mechanism.__post_init__(self)
        _ = self.noise  # refuses an epsilon and a delta that allow no noise

    @property
    def moved(self) -> int:
        """How many counts one person moves by 1 at most."""
        return self.votes_per_person * self.neighbours.sensitivity

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on each count."""
        return choose_noise(self.moved, self.epsilon, self._find_rho())

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        return state_guarantee(self.moved, self.epsilon, self.delta, self._find_rho(), self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """One divided by the scale of discrete Laplace noise, or a little less than 1/σ for Gaussian noise."""
        noise = self.noise
        if isinstance(noise, DiscreteLaplace):
            return 1 / noise.b
        # The root of a number of 40 bits or more is off by less than a millionth.
        shift = 20 + max(0, math.floor(noise.variance).bit_length())
        return Fraction(math.isqrt(math.floor(4**shift / noise.variance)), 2**shift)

    def count_bound(self, d: int, confidence: Real = Fraction(19, 20)) -> int:
        """Bound the error of the noisy counts of all d items at once, with a probability of `confidence` or more."""
        return bound_noise(self.noise, d, 1 - read_probability(confidence, name="confidence"))

    def state_counts(self, noisy: IntArray, d: int, confidence: Real = Fraction(19, 20)) -> ReleasedCounts:
        """State noisy counts with intervals that hold for all d counts at once."""
        probability = read_probability(confidence, name="confidence")
        return add_intervals(noisy.tolist(), self.count_bound(d, probability), probability)

    def _find_error_bound(self, d: int, failure: Fraction) -> int:
        return bound_difference(self.noise, self.k * d, failure)

    def _prepare(self, levels: Levels) -> NoisyDraws:
        return NoisyDraws(levels, k=self.k, noise=self.noise)

    def _find_rho(self) -> Fraction | None:
        if self.rho is not None or self.delta is None:
            return self.rho
        return find_rho(self.epsilon, self.delta)

    def _read_rho(self, given: Real) -> Fraction:
        """Read rho, and find the epsilon that goes with it."""
        rho = read_positive(given, name="rho")
        if self.delta is None:
            raise ParameterError(
                "{rho} must go with {delta}",
                hint="pass {delta=1e-6}: then the guarantee has an epsilon, too",
            )
        epsilon = find_epsilon(rho, self.delta)
        if not epsilon:
            raise ParameterError(
                "{delta} must be smaller for this {rho}", "its epsilon would be 0", hint="try {delta=1e-6}"
            )
        if self.epsilon is not _NOT_GIVEN and read_positive(self.epsilon, name="epsilon") != epsilon:
            raise ParameterError(
                "{epsilon} must be left out where {rho} is given", "not {value}", value=quote(self.epsilon)
            )
        self._read(rho=rho)
        return epsilon
