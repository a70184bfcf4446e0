"""What every mechanism is: parameters checked at once, a guarantee, and picks from a profile.

A mechanism knows no engine and no item. It is prepared once for given levels, which pays for the weights, and can
then be drawn from any number of times; every draw is a release of its own and costs the guarantee again.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import Bits
from shortlist.privacy import Guarantee
from shortlist.profile import Levels, Picks


class Prepared(Protocol):
    """A mechanism that has seen the levels."""

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""


class Mechanism(Protocol):
    """A way to choose k items privately."""

    name: ClassVar[str]
    research: ClassVar[bool]
    """Whether the mechanism works in floating point, and so may not make a secure release."""

    @property
    def k(self) -> int:
        """How many items are chosen."""

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""

    @property
    def parameters(self) -> dict[str, object]:
        """The public parameters, by the names under which `top_k` takes them."""

    def prepare(self, levels: Levels) -> Prepared:
        """See the levels, and be ready to draw."""


def checked_k(k: object) -> int:
    """Refuse a k that no data could satisfy."""
    if isinstance(k, bool) or not hasattr(k, "__index__"):
        raise ParameterError(f"k must be a whole number, not {k!r}.")
    number = k.__index__()
    if number < 1:
        raise ParameterError(f"k must be at least 1, not {number}.")
    return int(number)


def check_enough_items(k: int, levels: Levels) -> None:
    """Refuse to choose more items than there are; d is public, so it may be named."""
    if k > levels.d:
        raise DataError(
            f"k must be at most the number of items: k is {k}, and there are {levels.d}.",
            hint="ask for fewer items, or pass the whole domain",
        )
