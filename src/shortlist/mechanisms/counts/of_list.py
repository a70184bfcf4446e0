"""Noisy counts of a list that any mechanism chose, on top of its guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, bound_noise
from shortlist.mechanisms.accuracy import ReleasedCounts
from shortlist.mechanisms.counts.calibrated import add_intervals, choose_noise, state_guarantee
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, read_epsilon, read_positive, read_probability, read_whole
from shortlist.privacy.zcdp import find_epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCounts:
    """A way to release noisy counts of k items that were released already.

    One person moves c of the k counts: the smaller of k and mΔ, or k without a cap of m votes per person. The noise is
    discrete Laplace of scale c/ε, or with `rho` and `delta` discrete Gaussian of variance c/2ρ.

    Claim  epsilon-DP and (ε tanh(ε/2c))-zCDP, or rho-zCDP, on top of the guarantee of the list.
    Proof  noisy_counts.proof.md, Theorem 4.

    >>> counts = ListCounts(k=100, epsilon="0.5", votes_per_person=10)
    >>> counts.moved, str(counts.guarantee)
    (10, '0.5-DP (rho 0.0124973965) for one person, add-remove')
    """

    k: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    votes_per_person: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            epsilon: Real | None = ...,
            rho: Real | None = ...,
            delta: Real | None = ...,
            votes_per_person: int | None = ...,
            neighbours: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            raise ParameterError(
                "{counts_epsilon} and {counts_rho} must not both be given", hint="pass {counts_epsilon=0.1} alone"
            )
        if self.epsilon is None and self.rho is None:
            raise ParameterError(
                "either {counts_epsilon} or {counts_rho} must be given", hint="pass {counts_epsilon=0.1} alone"
            )
        if (self.rho is None) != (self.delta is None):
            raise ParameterError(
                "{counts_rho} must go with {counts_delta}", hint="pass both, or {counts_epsilon} alone"
            )
        readers = {"epsilon": read_epsilon, "rho": read_positive, "delta": read_probability}
        for name, read in readers.items():
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else read(value, name=f"counts_{name}"))
        object.__setattr__(self, "neighbours", Neighbours.read(self.neighbours))
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")

    @property
    def moved(self) -> int:
        """How many of the k counts one person moves by 1 at most."""
        if self.votes_per_person is None:
            return self.k
        return min(self.k, self.votes_per_person * self.neighbours.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the counts promise, on top of the list."""
        return state_guarantee(self.moved, self._find_epsilon(), self.delta, self.rho, self.neighbours)

    @property
    def noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise on each count."""
        return choose_noise(self.moved, self._find_epsilon(), self.rho)

    def add_noise(self, counts: Sequence[int], bits: Bits) -> list[int]:
        """Draw noisy counts, given the counts of the items."""
        return [count + drawn for count, drawn in zip(counts, self.noise.draw(len(counts), bits), strict=True)]

    def state_counts(self, noisy: Iterable[int], confidence: Real = Fraction(19, 20)) -> ReleasedCounts:
        """State noisy counts with intervals, each of which holds by itself with that confidence."""
        share = read_probability(confidence, name="confidence")
        return add_intervals(noisy, bound_noise(self.noise, 1, 1 - share), share)

    def _find_epsilon(self) -> Fraction:
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        assert self.delta is not None
        return find_epsilon(self.rho, self.delta)
