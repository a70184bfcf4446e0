"""Subset: the exponential mechanism over all sets of k items, without their order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.mechanism import Mechanism, read_sizes
from shortlist.mechanisms.subset.draws import SetMixture
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real
from shortlist.profile import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset(Mechanism):
    """Choose k items in one draw, a set S with probability proportional to e^(−ε loss(S) / 2Δ).

    The loss is the largest count outside S minus the smallest count inside S: how many people must change their votes
    until S is the top k. It is negative where S leads. With `at_least`, or with a pair as k, sets of every size
    from `at_least` to k are candidates, and sizes where the counts have a gap are preferred.

    Claim  epsilon-DP and (epsilon²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  subset.proof.md.
    Cost   one pass over the profile, then O(k) for each draw; a table of pairs of levels near the k-th count.

    >>> Subset(k=(5, 10), epsilon="0.5")
    Subset(k=10, epsilon=Fraction(1, 2), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>, at_least=5)
    """

    name: ClassVar[str] = "subset"
    summary: ClassVar[str] = "one draw among all sets of k items, without their order"
    when: ClassVar[str] = "the order of the items does not matter: fewer votes are needed then"
    rho_in_words: ClassVar[str] = "ε²/8"
    bound_in_words: ClassVar[str] = "an item left out has at most {bound} more than any listed item"

    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int | tuple[int, int], epsilon: Real, neighbours: str = ..., at_least: int | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        k, at_least = read_sizes(self.k, self.at_least)
        self._read(k=k, at_least=at_least)
        Mechanism.__post_init__(self)

    @property
    def sizes(self) -> range:
        """How many items a set may have."""
        return range(self.k if self.at_least is None else self.at_least, self.k + 1)

    @property
    def unordered(self) -> bool:
        """True: the items have no order."""
        return True

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        return Guarantee(epsilon=self.epsilon, rho=self.epsilon**2 / 8, neighbours=self.neighbours)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(sum(math.comb(d, size) for size in self.sizes), self.rate, failure)

    def _prepare(self, levels: Levels) -> SetMixture:
        return SetMixture(levels, sizes=self.sizes, rate=self.rate)
