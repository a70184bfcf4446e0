"""What a selection needs from votes, wherever they are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from shortlist.profile import Picks, Profile


class Tally(Protocol):
    """The votes of every item of a domain, counted and fixed: nothing is read a second time.

    A tally satisfies `Levels`. Items on one level are ranked in ascending order, which is the same on every engine:
    numbers and times by value, false before true, text and bytes by their (UTF-8) bytes.
    """

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""

    def items(self, picks: Picks) -> Sequence[Any]:
        """The chosen items, best first."""
