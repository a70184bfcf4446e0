"""Counted votes: in memory, or in the engine that counted them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError
from shortlist.profile import Picks, Profile
from shortlist.votes.items.domain import Domain
from shortlist.votes.memory.arrays import ArrayTally
from shortlist.votes.workspace.failures import strip_context

Find = Callable[[IntArray, IntArray], list[tuple[int, int, int]]]
"""Given the counts and ranks of some picks, answers with count, rank and row number of each."""


class LocalTally:
    """The votes of every row of the domain, in memory."""

    def __init__(self, domain: Domain, counts: IntArray) -> None:
        self._domain = domain
        self._tally = ArrayTally(counts)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""
        return self._tally.above(k, depth)

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        return self._tally.items(picks)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)


class RemoteTally:
    """The votes of every row of the domain, in a table of another engine that is computed once.

    Only levels and chosen row numbers come back.
    """

    def __init__(self, domain: Domain, levels: list[tuple[int, int]], find: Find) -> None:
        self._domain = domain
        self._find = find
        levels = sorted(levels, reverse=True)
        values, sizes = (np.array([level[part] for level in levels], dtype=np.int64) for part in (0, 1))
        if int(sizes.sum()) != domain.d:
            raise ChangedError("each row of the domain must be counted once")
        self._profile = Profile(values=values, sizes=sizes, d=domain.d)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        wanted = list(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
        found = {(level, rank): row for level, rank, row in self._find(picks.levels, picks.ranks)}
        if not all(each in found for each in wanted):
            raise ChangedError("the counted items must not change between two reads")
        return np.array([found[each] for each in wanted], dtype=np.int64)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)
