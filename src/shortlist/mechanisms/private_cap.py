"""A private cap: choose how many votes of each person count, from how many votes people cast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.exact.choice import choose_by_loss
from shortlist.mechanisms import stated
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import LARGEST_EPSILON, quote
from shortlist.privacy.zcdp import find_largest_epsilon

CAPS = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80),
    *(100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000),
)
"""The caps that may be chosen. They are public."""
SHARE = Fraction(1, 20)
"""The share of the budget that chooses the cap. The list has the rest."""
_QUANTILES = {"scale": Fraction(5, 6), "threshold": Fraction(9, 10), "root": Fraction(19, 20)}
"""Near which quantile of the votes per person the cap is, by how fast a larger cap costs accuracy.

Without a delta, the noise on a count grows with the cap. With one it grows with the root of the cap, and without a
list of items the threshold grows with it. These are within 0.02 of the best cap (benchmarks/private_cap.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateCap:
    """Choose the cap near a quantile 1 − 1/n of the votes per person, by the exponential mechanism.

    A_i is the number of persons with more than c_i votes, where c_i is the i-th cap and c_0 is 0. The miss of c_i is
    max(0, n A_i − A_0, A_0 − n A_(i−1)): n times the number of persons by whom the quantile misses the votes from
    c_(i−1) + 1 to c_i. Nobody has more votes than the largest cap, because the rest are not counted. A cap has the
    probability e^(−ε · miss / 2s), up to a factor. The sensitivity s is n under add-remove and n + 1 under replace.

    Claim  epsilon-DP and (ε²/8)-zCDP, if one person adds 0 or 1 to each A_i.
    Proof  private_cap.proof.md.
    Cost   28 weights.

    >>> PrivateCap(epsilon=Fraction(1, 10), quantile=Fraction(9, 10)).find_misses([900, 400, 80, 10])[:5]
    [3100, 0, 100, 800, 900]
    """

    epsilon: Fraction
    quantile: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    caps: ClassVar[tuple[int, ...]] = CAPS

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.read(self.neighbours))
        if not 0 < self.quantile < 1 or (1 / (1 - self.quantile)).denominator > 1:
            raise ParameterError("the quantile must be 1/2, 2/3, 3/4 or so on", f"not {quote(self.quantile)}")

    @classmethod
    def share(
        cls,
        epsilon: Fraction | None = None,
        *,
        rho: Fraction | None = None,
        neighbours: Neighbours,
        delta: object = None,
        without_domain: bool = False,
    ) -> PrivateCap:
        """Take the share of epsilon, or of rho, and the quantile for the noise that these public parameters allow."""
        noise = "threshold" if without_domain else "scale" if delta is None else "root"
        if rho is not None:
            share = find_largest_epsilon(_find_rho, rho * SHARE, most=LARGEST_EPSILON)
        else:
            assert epsilon is not None
            share = epsilon * SHARE
        return cls(epsilon=share, quantile=_QUANTILES[noise], neighbours=neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """What the choice promises, on top of the list."""
        return Guarantee(epsilon=self.epsilon, rho=self.rho, neighbours=self.neighbours)

    @property
    def rho(self) -> Fraction:
        """ε²/8."""
        return _find_rho(self.epsilon)

    @property
    def rate(self) -> Fraction:
        """ε/2s: the factor of the miss in the exponent."""
        return self.epsilon / (2 * (self._one_in + self.neighbours.sensitivity - 1))

    @property
    def _one_in(self) -> int:
        """n: one in so many persons has more votes than the quantile."""
        return int(1 / (1 - self.quantile))

    def find_misses(self, exceeding: Sequence[int]) -> list[int]:
        """Find the miss of each cap, given A_0, A_1 and so on. Those that are not given are 0."""
        above, n = [*exceeding, *[0] * (len(CAPS) + 1 - len(exceeding))], self._one_in
        return [max(0, n * above[place + 1] - above[0], above[0] - n * above[place]) for place in range(len(CAPS))]

    def choose(self, exceeding: Sequence[int], bits: Bits) -> int:
        """Choose a cap, given how many persons have more than 0 votes, more than c_1 votes, and so on."""
        return CAPS[choose_by_loss(self.find_misses(exceeding), self.rate, bits)]

    def state_law(self, exceeding: Sequence[int]) -> list[arb]:
        """State the probability of each cap by brute force, for tests."""
        n = 1 / (1 - self.quantile)
        rate = self.epsilon / (2 * n if self.neighbours == "add-remove" else 2 * n + 2)
        return stated.exponential(self.find_misses(exceeding), rate)


def _find_rho(epsilon: Fraction) -> Fraction:
    """ε²/8: the rho of one round of range ε."""
    return epsilon**2 / 8
