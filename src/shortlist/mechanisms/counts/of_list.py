"""Noisy counts of a list that any mechanism chose, on top of its guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.exact.noise import bound_noise
from shortlist.mechanisms.accuracy import ReleasedCounts
from shortlist.mechanisms.counts.calibrated import add_intervals, choose_noise, state_guarantee
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, read_positive, read_probability, read_whole
from shortlist.privacy.zcdp import epsilon_from


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
    epsilon: Real | None = None
    rho: Real | None = None
    delta: Real | None = None
    votes_per_person: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError("{counts_epsilon} or {counts_rho} must be given", hint="pass {counts_epsilon=0.1}")
        if (self.rho is None) != (self.delta is None):
            raise ParameterError("{counts_rho} must go with {delta}", hint="pass both, or {counts_epsilon} alone")
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")
        _ = self.guarantee, Neighbours.read(self.neighbours)

    @property
    def moved(self) -> int:
        """How many of the k counts one person moves by 1 at most."""
        if self.votes_per_person is None:
            return self.k
        return min(self.k, self.votes_per_person * Neighbours.read(self.neighbours).sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the counts promise, on top of the list."""
        epsilon, delta, rho = self._numbers()
        return state_guarantee(self.moved, epsilon, delta, rho, Neighbours.read(self.neighbours))

    def draw(self, counts: Sequence[int], bits: Bits, confidence: Real = Fraction(19, 20)) -> ReleasedCounts:
        """Draw noisy counts, given the counts of the k items. Each single interval holds with that confidence."""
        epsilon, _, rho = self._numbers()
        noise = choose_noise(self.moved, epsilon, rho)
        probability = read_probability(confidence, name="confidence")
        bound = bound_noise(noise, 1, 1 - probability)
        values = [int(count) + drawn for count, drawn in zip(counts, noise.draw(len(counts), bits), strict=True)]
        return add_intervals(values, bound, probability)

    def _numbers(self) -> tuple[Fraction, Fraction | None, Fraction | None]:
        """Read epsilon, delta and rho."""
        if self.epsilon is not None:
            return read_positive(self.epsilon, name="counts_epsilon"), None, None
        assert self.rho is not None
        assert self.delta is not None
        rho, delta = read_positive(self.rho, name="counts_rho"), read_probability(self.delta, name="delta")
        return epsilon_from(rho, delta), delta, rho
