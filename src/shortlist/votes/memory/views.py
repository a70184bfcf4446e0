"""A view of counts in an array: some of them, sorted. The views in `chunks.py` and `blocks.py` tally all of them.

A view knows every level from its floor upwards, and can find an item again by its level and rank; inside a level,
items are ranked by index. Peaks bound the k-th largest count, and find the counts from a floor upwards.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.profile import Picks, Profile

_ROWS, _COLUMNS = 1 << 5, 1 << 11
"""The size of a band."""
_BANDS_AT_ONCE = 1 << 4
_SAMPLED_BANDS = 1 << 3
_FEW = 1 << 14
_RADIX = 1 << 16


class View(Protocol):
    """What an array shows of its counts."""

    @property
    def floor(self) -> int:
        """The view knows all counts from here upwards."""

    def profile(self) -> Profile:
        """The levels from the floor upwards."""

    def items(self, picks: Picks) -> IntArray:
        """The indices of the items with these levels and ranks."""


class Peaks:
    """The largest counts of parts of a long array, written row by row into columns.

    A band is some rows. The largest counts of a sorted array lie in few bands, and in different columns.
    """

    def __init__(self, counts: NDArray[np.unsignedinteger[Any]]) -> None:
        self._size = _ROWS * _COLUMNS
        whole = len(counts) // self._size * self._size
        rest = np.zeros(-(-max(len(counts) - whole, 1) // _COLUMNS) * _COLUMNS, dtype=counts.dtype)
        rest[: len(counts) - whole] = counts[whole:]
        peaks = np.empty((whole // self._size + 1, _COLUMNS), dtype=counts.dtype)
        counts[:whole].reshape(-1, _ROWS, _COLUMNS).max(axis=1, out=peaks[:-1])
        rest.reshape(-1, _COLUMNS).max(axis=0, out=peaks[-1])
        self.columns = peaks.max(axis=0)
        self._bands = peaks.max(axis=1)

    def bound_kth(self, k: int) -> int:
        """Return a lower bound of the k-th largest count."""
        return int(np.partition(self.columns, len(self.columns) - k)[-k]) if k <= len(self.columns) else 0

    def estimate(self, counts: IntArray, floor: int) -> int:
        """Estimate how many counts there are from a floor upwards, by some of the bands that have any."""
        bands = np.flatnonzero(self._bands >= floor)
        sampled = bands[:: -(-len(bands) // _SAMPLED_BANDS)]
        starts = [int(band) * self._size for band in sampled]
        found = sum(int(np.count_nonzero(counts[start : start + self._size] >= floor)) for start in starts)
        return found * len(bands) // len(sampled)

    def find(self, counts: IntArray, floor: int, most: int) -> IntArray | None:
        """Find the indices of all counts from a floor upwards, in bands that have any; None if they are too many."""
        bands = np.flatnonzero(self._bands >= floor)
        found: list[IntArray] = []
        for start in range(0, len(bands), _BANDS_AT_ONCE):
            if sum(map(len, found)) > most:
                return None
            chosen = bands[start : start + _BANDS_AT_ONCE]
            # Bands that lie together are searched together.
            near = int(chosen[-1] - chosen[0]) < 2 * _BANDS_AT_ONCE
            ranges = [(chosen[0], chosen[-1] + 1)] if near else [(band, band + 1) for band in chosen]
            for first, after in (map(int, each) for each in ranges):
                part = counts[first * self._size : after * self._size]
                found.append(first * self._size + np.flatnonzero(part >= floor))
        indices = np.concatenate(found)
        return indices if len(indices) <= most else None


class Window:
    """The counts from a floor upwards, copied out of the array."""

    def __init__(self, counts: IntArray, floor: int, indices: IntArray | None = None) -> None:
        """Copy the counts. `indices` tells where they are, if they are not all counts."""
        self.floor = floor
        self._d = len(counts)
        self._indices = indices
        self._values = (counts if indices is None else counts[indices]).astype(np.int64, copy=False)
        self._asked = False
        self._order: tuple[int, IntArray, IntArray] | None = None

    def profile(self) -> Profile:
        """The levels from the floor upwards."""
        if len(self._values) > _FEW or int(self._values.max()) >= _RADIX:
            return Profile.of(self._values, d=self._d)
        # One sort by radix shows the levels, and where their items are.
        positions = self._values.astype(np.uint16).argsort(kind="stable")
        values = self._values[positions]
        self._order = self.floor, positions, values
        starts = np.flatnonzero(values[1:] != values[:-1])
        starts += 1
        ends = np.concatenate([[len(values)], starts[::-1], [0]])
        return Profile(values=values[ends[:-1] - 1], sizes=ends[:-1] - ends[1:], d=self._d)

    def items(self, picks: Picks) -> IntArray:
        """The indices of the items with these levels and ranks."""
        lowest, order = int(picks.levels.min()), self._order  # another thread may replace it meanwhile
        if order is None or lowest < order[0]:
            # Most counts are asked for one list only. Then few of many are sorted.
            once = len(self._values) > _FEW and not self._asked
            order = lowest, *self._sort(self._find(picks.levels) if once else self._values >= lowest)
            self._order, self._asked = None if once else order, True
        _, positions, values = order
        found: IntArray = positions[np.searchsorted(values, picks.levels) + picks.ranks]
        return found if self._indices is None else np.take(self._indices, found)

    def _find(self, levels: IntArray) -> NDArray[np.bool_]:
        """Find counts on some levels, and few others: those with the same last bits."""
        chosen = np.zeros(_RADIX, dtype=bool)
        chosen[levels & (_RADIX - 1)] = True
        found: NDArray[np.bool_] = chosen[self._values & (_RADIX - 1)]
        return found

    def _sort(self, chosen: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
        """Sort some counts in rising order, ties by index: where they stand, and what they are."""
        kept = np.flatnonzero(chosen)
        keys = self._values[kept]
        keys -= keys.min()
        # Sixteen bits are sorted by radix, much faster than by comparison.
        keys = keys.astype(np.uint16) if int(keys.max()) < _RADIX else keys
        positions = kept[np.argsort(keys, kind="stable")]
        return positions, self._values[positions]
