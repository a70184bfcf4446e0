"""A view of a long array that tallies its counts chunk by chunk.

It needs no memory for each item. A chunk fits into the processor's cache, so its counts come from memory once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.profile import Picks, Profile
from shortlist.votes.memory.views import Window

WIDEST = 1 << 12
"""How many levels are tallied at most. The tallies of one chunk then take as much memory as a quarter of its items."""
_CHUNK = 1 << 15
"""The number of counts in a chunk, which is below 2^16."""
_SHORT = 1 << 12
_FEW_LEVELS = 4
"""For more levels than this, sorting a chunk is faster than searching it for each of them."""


class Chunks:
    """The counts from a floor upwards: those below a cap tallied chunk by chunk, the others in a window.

    The tallies say in which chunk the item of a given rank lies, so that only that chunk is searched.
    """

    def __init__(self, counts: IntArray, floor: int, tallies: NDArray[np.uint16], large: IntArray) -> None:
        """Take a row of tallies for each chunk, of the levels from the floor on, and where all larger counts are."""
        self.floor = floor
        self._counts = counts
        self._tallies = tallies
        self._cap = floor + tallies.shape[1]
        self._large = Window(counts, self._cap, large) if len(large) else None

    def profile(self) -> Profile:
        """The levels from the floor upwards."""
        sizes = self._tallies.sum(axis=0, dtype=np.int64)[::-1]
        peopled = np.flatnonzero(sizes)
        values, sizes = self._cap - 1 - peopled, sizes[peopled]
        if self._large is not None:
            above = self._large.profile()
            values, sizes = np.concatenate([above.values, values]), np.concatenate([above.sizes, sizes])
        return Profile(values=values, sizes=sizes, d=len(self._counts))

    def items(self, picks: Picks) -> IntArray:
        """The indices of the items with these levels and ranks."""
        found = np.empty_like(picks.ranks)
        large = picks.levels >= self._cap
        if self._large is not None and large.any():
            found[large] = self._large.items(Picks(levels=picks.levels[large], ranks=picks.ranks[large]))
        small = np.flatnonzero(~large)
        if len(small):
            found[small] = self._search(picks.levels[small], picks.ranks[small])
        return found

    def _search(self, levels: IntArray, ranks: IntArray) -> IntArray:
        """The indices of items below the cap, chunk by chunk."""
        chunks, within = self._locate(levels, ranks)
        order = np.lexsort((levels, chunks))
        other_chunk, other_level = np.diff(chunks[order]) != 0, np.diff(levels[order]) != 0
        searches = np.split(order, np.flatnonzero(other_chunk | other_level) + 1)
        many = len(searches) > _FEW_LEVELS * (1 + np.count_nonzero(other_chunk))
        if many:
            searches = np.split(order, np.flatnonzero(other_chunk) + 1)
        found = np.empty_like(ranks)
        for same in searches:
            start = int(chunks[same[0]]) * _CHUNK
            counts = self._counts[start : start + _CHUNK]
            if many:
                found[same] = start + self._sort_chunk(counts, levels[same], within[same])
            else:
                found[same] = start + _search_chunk(counts, int(levels[same[0]]), within[same])
        return found

    def _locate(self, levels: IntArray, ranks: IntArray) -> tuple[IntArray, IntArray]:
        """Find the chunk of each item, and its rank among the items of its level there."""
        chunks, within = np.empty_like(ranks), np.empty_like(ranks)
        passed = np.zeros(len(self._tallies) + 1, dtype=np.int64)
        for level in set(levels.tolist()):
            same = np.flatnonzero(levels == level)
            np.cumsum(self._tallies[:, level - self.floor], out=passed[1:])
            chunks[same] = np.searchsorted(passed, ranks[same], side="right") - 1
            within[same] = ranks[same] - passed[chunks[same]]
        return chunks, within

    def _sort_chunk(self, counts: IntArray, levels: IntArray, ranks: IntArray) -> IntArray:
        """Find items of many levels in a chunk. Levels are few, so they fit into sixteen bits, sorted by radix."""
        below = max(self.floor - 1, 0)
        top = min(self._cap, int(np.iinfo(counts.dtype).max))  # the cap itself may not fit into the type
        keys = (np.clip(counts, below, top) - below).astype(np.uint16)
        order: IntArray = np.argsort(keys, kind="stable")
        found: IntArray = order[np.searchsorted(keys[order], levels - below) + ranks]
        return found


def tally_chunks(counts: IntArray, floor: int, largest: int) -> Chunks:
    """Tally the counts from a floor upwards. Those that are too far above it are few, or wanted anyway."""
    width = min(largest + 1 - floor, WIDEST)
    tallies = np.empty((-(-len(counts) // _CHUNK), width + 1), dtype=np.uint16)
    above, room = floor + width, np.empty(_CHUNK, dtype=np.int64)
    for row, chunk in zip(tallies, _cut(counts), strict=True):
        kept = chunk[np.flatnonzero(chunk >= floor)] if floor else chunk
        offsets = room[: len(kept)]
        np.copyto(offsets, kept if largest < above else np.minimum(kept, above))
        if floor:
            offsets -= floor
        row[:] = np.bincount(offsets, minlength=width + 1)
    return Chunks(counts, floor, tallies[:, :-1], _find_large(counts, above, np.flatnonzero(tallies[:, -1])))


def _find_large(counts: IntArray, cap: int, chunks: IntArray) -> IntArray:
    """The indices of all counts from a cap upwards, in the chunks that have any."""
    starts = (int(chunk) * _CHUNK for chunk in chunks)
    found = [start + np.flatnonzero(counts[start : start + _CHUNK] >= cap) for start in starts]
    return np.concatenate(found) if found else chunks


def _search_chunk(counts: IntArray, level: int, ranks: IntArray) -> IntArray | int:
    """Find items of one level in a chunk. A single one needs no list of all indices, and on average half the chunk."""
    if len(ranks) > 1:
        return np.flatnonzero(counts == level)[ranks]
    rank, start = int(ranks[0]), 0
    while rank >= (passed := int(np.count_nonzero(there := counts[start : start + _SHORT] == level))):
        rank, start = rank - passed, start + _SHORT
    return start + int(np.flatnonzero(there)[rank])


def _cut(counts: NDArray[Any]) -> Iterator[NDArray[Any]]:
    return (counts[start : start + _CHUNK] for start in range(0, len(counts), _CHUNK))
