"""Counted votes: in memory, or in the engine that counted them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError
from shortlist.profile import Picks, Profile
from shortlist.votes.array_counts import ArrayTally
from shortlist.votes.engines.counting import check_counts
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import read_item, write_item
from shortlist.votes.workspace.failures import strip_context

Find = Callable[[IntArray, IntArray], Iterable[tuple[int, int, Any]]]
"""Given the counts and ranks of some picks, answers with count, rank and row number (or item) of each."""


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


class _TableTally:
    """Votes in a table of an engine that is computed once. Only levels and chosen rows or items come back."""

    def __init__(self, levels: Iterable[tuple[int, int]], find: Find) -> None:
        """Take the number of groups of each count, and a way to find the chosen ones."""
        falling = sorted(levels, reverse=True)
        check_counts(value for value, _ in falling)
        values, sizes = (np.array([level[part] for level in falling], dtype=np.int64) for part in (0, 1))
        self._profile = Profile(values=values, sizes=sizes, d=int(sizes.sum()))
        self._find = find

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    def _find_picks(self, picks: Picks) -> list[Any]:
        """The row or item of each pick."""
        wanted = list(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
        found = {(level, rank): each for level, rank, each in self._find(picks.levels, picks.ranks)} if wanted else {}
        if not all(pick in found for pick in wanted):
            raise ChangedError("the counted items must not change between two reads")
        return [found[pick] for pick in wanted]


class RemoteTally(_TableTally):
    """The votes of every row of the domain."""

    def __init__(self, domain: Domain, levels: Iterable[tuple[int, int]], find: Find) -> None:
        """Take levels that count every row of the domain, and a way to find row numbers."""
        super().__init__(levels, find)
        self._domain = domain
        if self._profile.d != domain.d:
            raise ChangedError("each row of the domain must be counted once")

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        return np.array(self._find_picks(picks), dtype=np.int64)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)


class ObservedTally(_TableTally):
    """The votes of every observed item.

    Items on one level are ranked in ascending order: numbers and times by value, text and bytes by their bytes. How
    many items there are is data, and must not be published.
    """

    _chosen: Sequence[Any] = ()

    @property
    def d(self) -> int:
        """How many items there are. It is not public."""
        return self._profile.d

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """Number the picks in the order of their items, and keep the items."""
        written = [write_item(item) for item in self._find_picks(picks)]
        keys = sorted(key for key in set(written) if key is not None)
        if None in written:
            raise ChangedError("the counted items must not change between two reads")
        self._chosen = [read_item(key) for key in keys]
        places = {key: place for place, key in enumerate(keys)}
        return np.array([places[key] for key in written if key is not None], dtype=np.int64)

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows of the last picks."""
        return [self._chosen[row] for row in rows.tolist()]
