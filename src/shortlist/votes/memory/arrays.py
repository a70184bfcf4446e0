"""Counts that are already in memory, one for each item: an array, or whatever becomes one without loss."""

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
from shortlist.votes.memory.blocks import tally_blocks
from shortlist.votes.memory.chunks import WIDEST, tally_chunks
from shortlist.votes.memory.views import Peaks, View, Window

_EXPECTED = "{counts} must be whole numbers from 0 to 2^63 − 1, one for each item"
_KINDS = "{counts} must be a mapping, a Series, or a list or array of numbers"
_SHORT = 1 << 13
_MANY = 1 << 16
_LONG = 1 << 17
_SPARSE = 1 << 6
"""Up to one count in this many is copied, even if the counts have few levels."""


class ArrayTally:
    """Counts in an array; the items are their indices.

    A long array shows only the levels it is asked for. One pass takes the largest counts of some thousands of columns
    of the array, and of bands. The k-th largest of the columns is a lower bound for the k-th largest count. So a
    second pass over some of the bands finds all counts that can matter. If these are many, they are tallied chunk by
    chunk. A long array of low counts is tallied block by block when it is read. Counts of any integer type are read
    where they are.

    >>> tally = ArrayTally(np.array([3, 9, 3, 0]))
    >>> tally.items(Picks(levels=np.array([9, 3]), ranks=np.array([0, 1])))
    array([1, 2])
    """

    def __init__(self, counts: IntArray) -> None:
        self._counts = counts
        self._shown: tuple[View, Profile] | None = None
        # Of low counts, nearly every mechanism needs every level.
        self._low = tally_blocks(counts) if self.d > _MANY else None
        if self._low is not None:
            return
        # Seen as unsigned, a negative count is larger than every valid one: one pass tells the largest and the sign.
        unsigned = counts.view(f"u{counts.itemsize}")
        self._peaks = Peaks(unsigned) if self.d > _SHORT else None
        self._largest = int((unsigned if self._peaks is None else self._peaks.columns).max())
        if self._largest > np.iinfo(counts.dtype).max:
            raise DataError(_EXPECTED, "some are negative")

    @property
    def d(self) -> int:
        """How many items there are."""
        return len(self._counts)

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""
        floor = 0 if self._low is not None or self._peaks is None else max(0, self._peaks.bound_kth(k) - depth)
        shown = self._shown  # another thread may replace it meanwhile
        if shown is None or shown[0].floor > floor:
            view = self._look(floor)
            self._shown = shown = view, view.profile()
        return shown[1]

    def items(self, picks: Picks) -> IntArray:
        """The indices of the chosen items; inside a level they are ranked by index."""
        if not len(picks.levels):
            return picks.ranks
        view = None if self._shown is None else self._shown[0]
        if view is None or picks.levels.min() < view.floor:
            view = self._look(0)
            self._shown = view, view.profile()
        return view.items(picks)

    def _look(self, floor: int) -> View:
        """Copy the counts from a floor upwards if they are few, else tally them."""
        if self._low is not None:
            return self._low
        if self._peaks is not None and floor > 0:
            if self._has_few_levels(floor) and self._peaks.estimate(self._counts, floor) > self.d // _SPARSE:
                return tally_chunks(self._counts, floor, self._largest)
            # More counts than this are tallied if the array is long. A short array would sort all its counts otherwise.
            indices = self._peaks.find(self._counts, floor, most=self.d // 8 if self.d > _LONG else self.d)
            if indices is not None:
                return Window(self._counts, floor, indices)
        return tally_chunks(self._counts, 0, self._largest) if self.d > _LONG else Window(self._counts, 0)

    def _has_few_levels(self, floor: int) -> bool:
        return self.d > _LONG and self._largest - floor < WIDEST


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
        raise DataError(
            _KINDS, "not {type}", hint="use select for a table; it counts the votes", type=type(counts).__name__
        )
    labels: Any = getattr(counts, "index", None)
    if callable(labels) or not hasattr(labels, "is_unique"):
        return _read_whole_numbers(counts, widen=widen), None
    array, names = _read_whole_numbers(counts, widen=widen), labels.tolist()
    if not labels.is_unique:
        raise DataError(
            "the labels of {counts} must be different", "some are repeated", hint="add up the counts of equal labels"
        )
    return array, names


def _read_whole_numbers(counts: Any, *, widen: bool = True) -> IntArray:
    masks = sys.modules.get("numpy.ma")  # importing it takes time, and without it nothing is masked
    if masks is not None and isinstance(counts, masks.MaskedArray) and counts.mask.any():
        raise DataError(_EXPECTED, "some are masked")
    try:
        # NumPy would make one type of a list of several, and lose digits or take booleans for numbers.
        array = np.array(counts, dtype=object) if isinstance(counts, list | tuple) else np.asarray(counts)
    except (ValueError, TypeError, OverflowError):
        raise DataError(_EXPECTED, "{type} cannot be read as an array", type=type(counts).__name__) from None
    if array.ndim == 0:
        raise DataError(_KINDS, "not {type}", type=type(counts).__name__)
    if array.ndim != 1:
        raise DataError(_EXPECTED, "there are {dimensions} dimensions, not 1", dimensions=array.ndim)
    if not len(array):
        raise DataError(_EXPECTED, "there are none")
    if array.dtype == object:
        return _read_objects(array)
    if array.dtype.kind not in "iuf":
        raise DataError(_EXPECTED, "not {type}", type=array.dtype.name)
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
            raise DataError(_EXPECTED, "some are missing or of another type")
        try:
            whole = [int(value) for value in values]
        except (ValueError, OverflowError):
            raise DataError(_EXPECTED, "some are fractional or missing") from None
        if any(number != value for number, value in zip(whole, values, strict=True)):
            raise DataError(_EXPECTED, "some are fractional")
        values = whole
    if min(values) < 0 or max(values) > EVERY_LEVEL:
        raise DataError(_EXPECTED, "some are negative or larger")
    return np.array(values, dtype=np.int64)
