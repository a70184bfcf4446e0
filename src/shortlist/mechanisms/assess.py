"""Assess: publish, with noise, how spread the law of a list is on the data at hand, for the bound that follows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.errors import ParameterError
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteLaplace, bound_noise
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.mechanism import READERS, Mechanism, ceil_log
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, read_fields
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels

_PRECISION = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Assess:
    """A way to bound by how many votes a place of a list is wrong, from the data that the list was drawn from.

    The spread of a law is a number of votes that one person moves by Δ. Its floor, cut off at the largest count, is
    released with discrete Laplace noise of scale Δ/ε, or cΔ/ε for each list of a family in which one person is in c.

    Claim  epsilon-DP and (ε tanh(ε/2c))-zCDP, on top of the guarantee of the list, or of the family.
    Proof  assess.proof.md; families.proof.md, Theorem 7.

    >>> print(Assess(epsilon="0.1").guarantee)
    0.1-DP (rho 0.0049958375) for one person, add-remove
    """

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    groups_per_person: int | None = None

    if TYPE_CHECKING:

        def __init__(self, *, epsilon: Real, neighbours: str = ..., groups_per_person: int | None = ...) -> None: ...

    def __post_init__(self) -> None:
        read_fields(self, READERS, epsilon="assess")

    @property
    def guarantee(self) -> Guarantee:
        """What the assessment promises, on top of the list: one of each list in a family."""
        rho = find_rho_of_pure(self.epsilon, self.groups_per_person or 1)
        return Guarantee(epsilon=self.epsilon, rho=rho, neighbours=self.neighbours)

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the spread of one list."""
        return DiscreteLaplace((self.groups_per_person or 1) * self.neighbours.sensitivity / self.epsilon)

    def draw(self, mechanism: Mechanism, levels: Levels, bits: Bits) -> int:
        """Draw the noisy spread of the mechanism that made a list."""
        return find_spread(mechanism, levels) + int(self.noise.draw(1, bits)[0])

    def find_margin(self, failure: Fraction) -> int:
        """Bound the noise: it is farther from 0 with a probability of `failure` at most."""
        return bound_noise(self.noise, 1, failure)

    def bound(self, mechanism: Mechanism, noisy: int, failure: Fraction) -> int:
        """Bound the error of the list, given the noisy spread; it is exceeded with a probability of `failure` at most.

        Half of the failure is for the noise, and half for the list.
        """
        most, tail = max(0, noisy + self.find_margin(failure)), mechanism.find_tail()
        assert tail is not None  # `check_assessed` was called before
        rate, factor = tail
        return most + ceil_log(2 * factor / failure, rate / 2)


def check_assessed(mechanism: Mechanism) -> None:
    """Refuse a mechanism for which nothing is proven."""
    if not _has_proof(mechanism):
        raise ParameterError(
            "`assess` must go with one of "
            f"{', '.join((name for name, kind in MECHANISMS.items() if _has_proof(kind.build_example())))}",
            f"not {mechanism.name}",
            hint="`mechanism='auto'` is the default",
        )


def _has_proof(mechanism: Mechanism) -> bool:
    return all(each.find_tail() is not None for each in mechanism.candidates.values())


def find_spread(mechanism: Mechanism, levels: Levels) -> int:
    """Find the floor of the spread: (1/r) ln Σ e^(−r · loss) over lists or sets, at half of the rate of the mechanism.

    For a peel and for noisy counts it is the largest such number of a round. No error is above the largest count, so
    the floor is cut off there.

    Rounds  The spread is 0 or more, and never a whole number above 0 (assess.proof.md). So narrower balls decide.
            Above the largest count nothing is left to decide.
    """
    largest = int(levels.above(mechanism.k, 0).values[0])
    tail, effort = mechanism.find_tail(), 0
    assert tail is not None  # `check_assessed` was called before
    score = mechanism.make_score(levels, tail[0] / 2)
    assert score is not None  # what has a tail has a score
    while True:
        with use_precision(_PRECISION * (effort + 1)):
            spread = score.enclose_spread(effort)
            if spread.lower() >= largest:
                return largest
            low, high = (end.floor().unique_fmpz() for end in (spread.lower(), spread.upper()))
        if low is not None and high is not None and max(0, int(low)) == int(high):
            return int(high)
        effort += 1
