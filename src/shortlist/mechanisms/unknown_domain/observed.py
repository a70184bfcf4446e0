"""What all mechanisms without a domain share: they see the observed items only, and may choose fewer than k.

An item that nobody voted for does not exist for them. One person can therefore add an item or take it away. Which
items exist is data, and so is their number: no error and no parameter may depend on it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import quote, read_probability
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownDomain(Mechanism):
    """A mechanism that needs no domain: it chooses up to k of the items that have votes, and it needs a delta."""

    guarantee_in_words: ClassVar[str] = "(ε, δ)"
    rho_in_words: ClassVar[str] = "–"
    needs_domain: ClassVar[bool] = False

    delta: Fraction

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.k > EVERY_LEVEL:  # no domain bounds k, and the record must hold it
            raise ParameterError("{k} must be at most 2^63 − 1", "not {value}", value=quote(self.k))
        self._read(delta=read_probability(self.delta, name="delta"))

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        return Guarantee(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)

    def check_size(self, d: int) -> None:
        """Accept any number of items: it is data, and fewer than k may be chosen."""

    def _prepare(self, levels: Levels) -> Prepared:
        observed = find_observed(levels)
        return NothingToChoose(self) if observed is None else self._prepare_observed(observed)

    @property
    def counted(self) -> bool:
        """Whether the picks have noisy counts."""
        return False

    @abstractmethod
    def _prepare_observed(self, observed: Profile) -> Prepared:
        """Prepare for the items that have votes."""


class NothingToChoose(Prepared):
    """A mechanism that always chooses no item. Its picks look like those of any draw that chooses none."""

    def __init__(self, mechanism: UnknownDomain) -> None:
        self._mechanism = mechanism

    def draw(self, bits: Bits) -> Picks:
        """Choose no item."""
        nothing = np.empty(0, dtype=np.int64)
        counts = nothing if self._mechanism.counted else None
        return Picks(levels=nothing, ranks=nothing, counts=counts, unordered=self._mechanism.unordered)


def find_observed(levels: Levels) -> Profile | None:
    """Find the profile of the items with votes, or None where there is no vote at all.

    >>> find_observed(Profile.of(np.array([0, 3, 0, 1])))
    Profile(values=array([3, 1]), sizes=array([1, 1]), d=2)
    """
    if not levels.d:
        return None
    profile = levels.above(1, EVERY_LEVEL)
    voted = int(np.count_nonzero(profile.values))
    if not voted:
        return None
    return Profile(values=profile.values[:voted], sizes=profile.sizes[:voted], d=int(profile.ends[voted - 1]))
