"""Counts in memory, one for each item: an array, or whatever becomes one without loss."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks, Profile

_EXPECTED = "`counts` must be whole numbers from 0 to 2^63 − 1, one for each item"
_KINDS = "`counts` must be a mapping, a Series, or a list or array of numbers"
_LONGEST = 400
"""A decimal with more digits is not made a whole number: those of Decimal("1e999999") take a minute to write."""
_COLUMNS = 1 << 11  # a longer array shows only its upper levels, for k up to here
_SHORT = 1 << 13  # so many counts are sorted in a moment
_CHUNK = 1 << 15  # below 2^16, the range of a tally
_LEVELS = 1 << 12
"""How many levels are tallied. The tallies of a chunk then take a quarter of a byte for each of its counts."""
_FEW_LEVELS = 16
"""A chunk is searched for each of so few levels. For items of more levels, it is sorted."""


class ArrayTally:
    """Counts in an array; the items are their indices.

    Most mechanisms need only the upper levels. The largest count of each of some columns of the array is found in one
    pass. The k-th largest of these is a lower bound of the k-th largest count. So a second pass finds all counts that
    can matter. If they are few, they are copied, else they are tallied. Counts of any integer type are read where they
    are.

    >>> tally = ArrayTally(np.array([3, 9, 3, 0]))
    >>> tally.items(Picks(levels=np.array([9, 3]), ranks=np.array([0, 1])))
    array([1, 2])
    """

    def __init__(self, counts: IntArray) -> None:
        self._counts = counts
        self.d = len(counts)
        """How many items there are."""
        # Seen as unsigned, a negative count is larger than every valid one: one pass tells the largest and the sign.
        unsigned = counts.view(f"u{counts.itemsize}")
        whole = self.d - self.d % _COLUMNS
        self._columns = unsigned[:whole].reshape(-1, _COLUMNS).max(axis=0, initial=0)
        np.maximum(self._columns[: self.d - whole], unsigned[whole:], out=self._columns[: self.d - whole])
        self._largest = int(self._columns.max())
        if self._largest > np.iinfo(counts.dtype).max:
            raise DataError(_EXPECTED, "some are negative")
        self._view: _Sorted | _Tallied | None = None

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""
        bound = int(np.partition(self._columns, _COLUMNS - k)[-k]) if k <= _COLUMNS < self.d else 0
        return self._look(max(0, bound - depth)).profile

    def items(self, picks: Picks) -> IntArray:
        """The indices of the chosen items; inside a level they are ranked by index."""
        return self._look(int(picks.levels.min())).items(picks) if len(picks.levels) else picks.ranks

    def _look(self, floor: int) -> _Sorted | _Tallied:
        """Return a view of all counts from a floor upwards. It stays until a lower floor is asked for."""
        view = self._view  # another thread may replace it meanwhile
        if view is None or view.floor > floor:
            most = max(_SHORT, self.d // 64)
            found = _find_counts(self._counts, floor, most)
            many = len(found) > most
            view = _Tallied(self._counts, floor, self._largest) if many else _Sorted(self._counts, floor, found)
            self._view = view
        return view


class _Sorted:
    """Counts from a floor upwards, copied out of the array and sorted: rising counts, ties by index."""

    def __init__(self, counts: IntArray, floor: int, indices: IntArray) -> None:
        """Sort the counts with these indices."""
        self.floor = floor
        values = counts[indices].astype(np.int64, copy=False)
        lowest, bits = int(values.min()), len(values).bit_length()
        if (int(values.max()) - lowest).bit_length() + bits < 64:
            # Numbers that hold both a count and its place are sorted many times as fast as places by their counts.
            packed = (values - lowest) << bits
            packed |= np.arange(len(values))
            packed.sort()
            self._values, order = (packed >> bits) + lowest, packed & ((1 << bits) - 1)
        else:
            order = np.argsort(values, kind="stable")
            self._values = values[order]
        self._indices = indices[order]
        ends = np.append(len(values), np.flatnonzero(np.diff(self._values))[::-1] + 1)
        self.profile = Profile(values=self._values[ends - 1], sizes=-np.diff(ends, append=0), d=len(counts))

    def items(self, picks: Picks) -> IntArray:
        """The indices of the items with these levels and ranks."""
        found: IntArray = self._indices[np.searchsorted(self._values, picks.levels) + picks.ranks]
        return found


class _Tallied:
    """Counts from a floor upwards: those on the lowest levels tallied chunk by chunk, and the larger ones sorted.

    The tallies say in which chunk the item of a given rank lies, so that only that chunk is searched.
    """

    def __init__(self, counts: IntArray, floor: int, largest: int) -> None:
        self.floor = floor
        self._counts = counts
        self._cap = min(largest + 1, floor + _LEVELS)
        self._tallies = np.empty((-(-len(counts) // _CHUNK), self._cap - floor), dtype=np.uint16)
        for row, start in zip(self._tallies, range(0, len(counts), _CHUNK), strict=True):
            part = counts[start : start + _CHUNK]
            wanted = part[(part >= floor) & (part < self._cap)] - floor if floor or largest >= self._cap else part
            row[:] = _count_levels(wanted, len(row))
        sizes = self._tallies.sum(axis=0, dtype=np.int64)[::-1]
        offsets = np.flatnonzero(sizes)
        values, sizes = self._cap - 1 - offsets, sizes[offsets]
        self._larger = None
        if largest >= self._cap:
            self._larger = _Sorted(counts, self._cap, _find_counts(counts, self._cap, len(counts)))
            values = np.concatenate([self._larger.profile.values, values])
            sizes = np.concatenate([self._larger.profile.sizes, sizes])
        self.profile = Profile(values=values, sizes=sizes, d=len(counts))

    def items(self, picks: Picks) -> IntArray:
        """The indices of the items with these levels and ranks."""
        found = np.empty_like(picks.ranks)
        large = picks.levels >= self._cap
        if self._larger is not None and large.any():
            found[large] = self._larger.items(Picks(levels=picks.levels[large], ranks=picks.ranks[large]))
        small = np.flatnonzero(~large)
        if len(small):
            found[small] = self._search(picks.levels[small], picks.ranks[small])
        return found

    def _search(self, levels: IntArray, ranks: IntArray) -> IntArray:
        """Find items below the cap: first the chunk of each, and its rank there, then all items of a chunk."""
        distinct, place = np.unique(levels - self.floor, return_inverse=True)
        ends = np.cumsum(self._tallies[:, distinct], axis=0, dtype=np.int64).T
        # One search for all levels: the ends of each level are moved above those of the level before.
        shifts = np.arange(len(distinct)) * len(self._counts)
        chunks = np.searchsorted((ends + shifts[:, np.newaxis]).ravel(), ranks + shifts[place], side="right")
        chunks -= place * ends.shape[1]
        within = ranks - (ends[place, chunks] - self._tallies[chunks, levels - self.floor])
        found, order = np.empty_like(ranks), np.argsort(chunks)
        for same in np.split(order, np.flatnonzero(np.diff(chunks[order])) + 1):
            start = int(chunks[same[0]]) * _CHUNK
            found[same] = start + _search_chunk(self._counts[start : start + _CHUNK], levels[same], within[same])
        return found


def _find_counts(counts: IntArray, floor: int, most: int) -> IntArray:
    """Find the indices of all counts from a floor upwards, or of the first ones if they are more than `most`."""
    found: list[IntArray] = []
    for start in range(0, len(counts), _CHUNK):
        found.append(start + np.flatnonzero(counts[start : start + _CHUNK] >= floor))
        most -= len(found[-1])
        if most < 0:
            break
    return np.concatenate(found)


def _count_levels(counts: IntArray, width: int) -> IntArray:
    """Count how many of the counts are on each level. Low counts are taken in pairs, which saves a quarter of the time.

    >>> _count_levels(np.array([0, 2, 2, 1]), width=4)
    array([1, 1, 2, 0])
    """
    if width > _FEW_LEVELS or len(counts) % 2:
        return np.bincount(counts, minlength=width)
    pairs = np.bincount(counts.astype(np.uint8).view(np.uint16), minlength=width << 8).reshape(width, -1)[:, :width]
    both: IntArray = pairs.sum(axis=0) + pairs.sum(axis=1)
    return both


def _search_chunk(counts: IntArray, levels: IntArray, ranks: IntArray) -> IntArray:
    """Find the indices of items in a chunk. Items of few levels are found one level after the other."""
    distinct = set(levels.tolist())
    if len(distinct) > _FEW_LEVELS:
        return _Sorted(counts, 0, np.arange(len(counts))).items(Picks(levels=levels, ranks=ranks))
    found = np.empty_like(ranks)
    for level in distinct:
        same = levels == level
        found[same] = np.flatnonzero(counts == level)[ranks[same]]
    return found


def read_counts(counts: Any, *, widen: bool = True) -> tuple[IntArray, list[Any] | None]:
    """Read counts as an int64 array, with the labels of the items if a mapping or a pandas Series was given.

    Without `widen`, an array of another integer type is not copied. It may have negative numbers.

    A count is a whole number of any numeric type: 3, 3.0 and Decimal("3") are 3, and 1.5 is refused. Booleans and
    missing values are refused.

    >>> read_counts({"apple": 3, "pear": 1})
    (array([3, 1]), ['apple', 'pear'])
    """
    if isinstance(counts, Mapping):
        return _read_whole_numbers(list(counts.values())), list(counts)
    if hasattr(counts, "columns"):
        raise DataError(_KINDS, f"not {type(counts).__name__}", hint="use select for a table; it counts the votes")
    array, labels = _read_whole_numbers(counts, widen=widen), getattr(counts, "index", None)
    if labels is None or callable(labels) or not hasattr(labels, "is_unique"):
        return array, None
    if not labels.is_unique:
        raise DataError(
            "the labels of `counts` must be different", "some are repeated", hint="add up the counts of equal labels"
        )
    return array, labels.tolist()


def _read_whole_numbers(counts: Any, *, widen: bool = True) -> IntArray:
    masks = sys.modules.get("numpy.ma")  # importing it takes time, and without it nothing is masked
    if masks is not None and isinstance(counts, masks.MaskedArray) and counts.mask.any():
        raise DataError(_EXPECTED, "some are masked")
    try:
        # NumPy would make one type of a list of several, and lose digits or take booleans for numbers.
        array = np.array(counts, dtype=object) if isinstance(counts, list | tuple) else np.asarray(counts)
    except (ValueError, TypeError, OverflowError):
        raise DataError(_EXPECTED, f"{type(counts).__name__} cannot be read as an array") from None
    if array.ndim == 0:
        raise DataError(_KINDS, f"not {type(counts).__name__}")
    if array.ndim != 1:
        raise DataError(_EXPECTED, f"there are {array.ndim} dimensions, not 1")
    if not len(array):
        raise DataError(_EXPECTED, "there are none")
    if array.dtype == object:
        return _read_objects(array)
    if array.dtype.kind not in "iuf":
        raise DataError(_EXPECTED, f"not {array.dtype.name}")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.floor(array))).all():
        raise DataError(_EXPECTED, "some are fractional or missing")
    # As integers: a comparison as floats would round 2^63 − 1.
    short = array.dtype.kind in "iu" and array.dtype.itemsize < np.dtype(np.int64).itemsize
    if array.dtype.kind in "uf" and not short and (int(array.min()) < 0 or int(array.max()) > EVERY_LEVEL):
        raise DataError(_EXPECTED, "some are negative or larger")
    if array.dtype == np.uint64:  # below 2^63, both types have the same bytes
        return array.view(np.int64)
    return array if short and array.dtype.isnative and not widen else array.astype(np.int64, copy=False)


def _read_objects(array: np.ndarray[Any, np.dtype[np.object_]]) -> IntArray:
    """Read Python numbers. Refuse anything else, and numbers beyond int64."""
    values = array.tolist()
    if {type(value) for value in values} != {int}:
        if any(isinstance(value, bool | np.bool_) or not isinstance(value, Real | Decimal) for value in values):
            raise DataError(_EXPECTED, "some are missing or of another type", hint="select counts the votes of a table")
        if any(isinstance(value, Decimal) and value.adjusted() > _LONGEST for value in values):
            raise DataError(_EXPECTED, "some are negative or larger")
        try:
            whole = [int(value) for value in values]
        except (ValueError, OverflowError):
            raise DataError(_EXPECTED, "some are fractional or missing") from None
        if whole != values:
            raise DataError(_EXPECTED, "some are fractional")
        values = whole
    if min(values) < 0 or max(values) > EVERY_LEVEL:
        raise DataError(_EXPECTED, "some are negative or larger")
    return np.array(values, dtype=np.int64)
