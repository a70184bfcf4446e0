"""How many sequences of k distinct items have a loss of at most r: combinatorics, with no epsilon in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.scaled import Scaled, concatenate, product
from shortlist.profile import EVERY_LEVEL, Profile

_LARGEST_TABLE = 1 << 22
_PER_ROW = 1 << 10
_FEW = 64
"""Up to this many integers are multiplied one after the other."""
_FEW_ROWS = 1 << 9
"""Up to this many positions, it is faster to keep those whose factor is always 1."""
_CACHED = 1 << 16
"""A matrix with this many entries fits into the processor's cache."""
_COLUMNS = 1 << 11
_FEW_FACTORS, _MANY_FACTORS = 1 << 13, 1 << 16
"""For more factors than this, those that are the same for all losses are multiplied once."""


class Sequences:
    """The sequences of k distinct items, grouped by their loss L(s) = max_j (h_(j) − h[s_j]).

    In a sequence with loss at most r, position j holds one of the C_{r,j} items with count h_(j) − r or more. The sets
    of allowed items are nested. So C_{r,j} − (j − 1) items are left for position j after the earlier positions, and
    N_r = ∏_j (C_{r,j} − (j − 1)) sequences have loss at most r. N_r never falls as r grows.

    Only losses up to `reach` are supported. The profile must have all levels down to `reach` below h_(k).

    >>> sequences = Sequences(Profile.of(np.array([5, 3, 3, 0])), k=2, reach=5)
    >>> [sequences.number(r) for r in range(6)]
    [2, 2, 6, 9, 9, 12]
    """

    def __init__(self, profile: Profile, k: int, reach: int) -> None:
        self.profile = profile
        self.k = k
        places = profile.find_levels(np.arange(k))
        self.top = profile.values[places]
        self.widest = int(self.top[0] - profile.values[-1]) if profile.is_complete else EVERY_LEVEL
        """The largest loss of any sequence. If the profile stops early, it is unknown and above the reach."""
        self._earlier = np.arange(k, dtype=np.float64)
        # A first pass looks up some dozens of losses only. For these, a longer table does not pay.
        self._places = places
        self._lookup = _choose_lookup(profile, places, min(reach, self.widest), min(_LARGEST_TABLE, _PER_ROW * k))
        self._known: dict[int | None, int] = {}
        self._safe = 1000 // profile.d.bit_length()
        """How many factors certainly multiply to less than 2^1000."""

    def narrow(self, reach: int) -> None:
        """Support losses below a smaller reach only. Then a table may be short enough."""
        if isinstance(self._lookup, _Search):
            self._lookup = _choose_lookup(self.profile, self._places, reach, _LARGEST_TABLE)

    def count_allowed(self, r: int | None) -> IntArray:
        """Return C_{r,j} for every j. Without r, every item is allowed at every position."""
        if r is None:
            return np.full(self.k, self.profile.d)
        return self._lookup.row(r).astype(np.int64)

    def count_allowed_each(self, losses: IntArray) -> IntArray:
        """Return C_{r,j} for many r, a row for each. A negative r allows every item everywhere."""
        rows = self._lookup.each(np.maximum(losses, 0)).astype(np.int64)
        rows[losses < 0] = self.profile.d
        return rows

    def number(self, r: int | None) -> int:
        """Return N_r exactly: 0 for a negative loss, and N_∞ without r."""
        if r is not None and r < 0:
            return 0
        if r not in self._known:
            self._known[r] = _multiply((self.count_allowed(r) - np.arange(self.k)).tolist())
        return self._known[r]

    def compute_numbers(self, losses: IntArray) -> Scaled:
        """Compute N_r for rising losses r, as floats with a proven error."""
        if self.k <= _FEW_ROWS and self.k * len(losses) <= _MANY_FACTORS:
            return product([self._compute_factors(slice(self.k), losses)], safe=self._safe)
        free = np.arange(self.k)
        if self.k > _FEW_ROWS:
            free = np.flatnonzero(self._lookup.row(int(losses[-1])) > self._earlier + 1)
            if not len(free):  # N_r is 1 for all of them
                return product([np.ones((1, len(losses)))])
        return concatenate(
            [self._compute_numbers(free, losses[start : start + _COLUMNS]) for start in range(0, len(losses), _COLUMNS)]
        )

    def compute_number_of_all(self) -> Scaled:
        """Compute N_∞ in the same way, as an array of one."""
        return product(_cut(self.profile.d - self._earlier[:, None]), safe=self._safe)

    def compute_loss(self, positions: IntArray) -> int:
        """Return L(s) of the sequence with the items at these positions in falling order of count."""
        return int(np.max(self.top - self.profile.picks(positions).levels))

    def compute_loss_each(self, positions: IntArray) -> IntArray:
        """Compute L(s) of many sequences, a row for each."""
        levels = self.profile.picks(positions.ravel()).levels.reshape(positions.shape)
        losses: IntArray = (self.top - levels).max(axis=1)
        return losses

    def _compute_numbers(self, free: IntArray, losses: IntArray) -> Scaled:
        fixed = np.empty((0, 1))
        if len(free) * len(losses) > _MANY_FACTORS:
            lowest, highest = self._lookup.row(int(losses[0]))[free], self._lookup.row(int(losses[-1]))[free]
            varies = lowest < highest
            varies[0] = True  # one at least, for the shape of the result
            fixed, free = (lowest - self._earlier[free])[~varies, None], free[varies]
        # Matrices that fit into the processor's cache.
        rows = min(self._safe * 1000, max(self._safe, _CACHED // len(losses)))
        varying = (self._compute_factors(free[start : start + rows], losses) for start in range(0, len(free), rows))
        return product(chain(_cut(fixed), varying), safe=self._safe)

    def _compute_factors(self, positions: IntArray | slice, losses: IntArray) -> FloatArray:
        """Compute C_{r,j} − (j − 1), a row for each j and a column for each loss."""
        factors = self._lookup.rows(positions, losses)
        factors -= self._earlier[positions, None]
        return factors


def _cut(column: FloatArray) -> Iterator[FloatArray]:
    """Cut one column into parts that fit into the processor's cache. Their rows are fewer than 1000 groups."""
    return (column[start : start + _CACHED // 4] for start in range(0, len(column), _CACHED // 4))


def _multiply(numbers: list[int]) -> int:
    """Multiply many integers, by halves: products of similar length are fast.

    >>> _multiply([3] * 1000) == 3**1000
    True
    """
    if len(numbers) <= _FEW:
        return math.prod(numbers)
    middle = len(numbers) // 2
    return _multiply(numbers[:middle]) * _multiply(numbers[middle:])


def _choose_lookup(profile: Profile, places: IntArray, reach: int, longest: int) -> _Table | _Search:
    """Choose how to find C_{r,j} for losses r up to `reach`: by a table, if it is not too long.

    `places` are the levels of the k largest counts.

    Gaps between levels that are wider than the reach are shortened to reach + 1 first. This changes no C_{r,j} with
    r up to the reach, and it keeps the table short.
    """
    lowest = int(profile.values[places[-1]]) - reach
    last = len(profile.values) - int(profile.values[::-1].searchsorted(lowest))
    values, ends = profile.values[:last], profile.ends[:last].astype(np.float64)
    runs, depths = np.empty(last, dtype=np.int64), np.zeros(last, dtype=np.int64)
    gaps = runs[:-1]
    np.minimum(values[:-1] - values[1:], min(reach + 1, EVERY_LEVEL), out=gaps)
    gaps.cumsum(out=depths[1:])
    starts = depths[places]
    length = int(starts[-1]) + reach + 1
    if length > longest:
        return _Search(values, ends, values[places])
    runs[-1] = max(length - int(depths[-1]), 1)
    return _Table(ends.repeat(runs), starts)


class _Table:
    """C_{r,j} from one table: entry t counts the items that are at most t below the largest count."""

    def __init__(self, table: FloatArray, starts: IntArray) -> None:
        self._table = table
        self._starts = starts

    def row(self, r: int) -> FloatArray:
        """Return C_{r,j} for every j."""
        return self._table[self._starts + r]

    def each(self, losses: IntArray) -> FloatArray:
        """Return C_{r,j} for every j, a row for each loss."""
        rows: FloatArray = self._table[self._starts + losses[:, None]]
        return rows

    def rows(self, positions: IntArray | slice, losses: IntArray) -> FloatArray:
        """Return C_{r,j} with a row for each of these positions j and a column for each loss."""
        starts = self._starts[positions]
        few = len(starts) * len(losses) < _FEW_FACTORS
        width, stride = (0, 0) if few else _find_stride(losses)
        if width < len(losses) - 1:
            return self._table.take(starts[:, None] + losses)
        # Losses at equal distances read entries at equal distances: row t of this view is the table from t onwards.
        step = self._table.strides[0]
        shape = (len(self._table) - (width - 1) * stride, width)
        windows: FloatArray = np.ndarray(shape, np.float64, self._table, strides=(step, step * stride))
        rows: FloatArray = windows[starts + int(losses[0])]
        if width == len(losses):
            return rows
        last = self._table[starts + int(losses[-1])]
        return np.concatenate([rows, last[:, None]], axis=1)


def _find_stride(losses: IntArray) -> tuple[int, int]:
    """Return how many of the first losses are at equal distances, and that distance."""
    width = int(losses[-1] - losses[0])
    if len(losses) < 3 or width == len(losses) - 1:
        return len(losses), width // max(1, len(losses) - 1) or 1
    steps = losses[1:] - losses[:-1]
    other = steps != steps[0]
    return (int(other.argmax()) if other.any() else len(steps)) + 1, int(steps[0])


class _Search:
    """C_{r,j} by binary search, for counts too far apart for a table."""

    def __init__(self, values: IntArray, ends: FloatArray, top: IntArray) -> None:
        self._rising = -values
        self._ends = ends
        self._top = top

    def row(self, r: int) -> FloatArray:
        """Return C_{r,j} for every j."""
        return self._ends[np.searchsorted(self._rising, r - self._top, side="right") - 1]

    def each(self, losses: IntArray) -> FloatArray:
        """Return C_{r,j} for every j, a row for each loss."""
        return self._ends[np.searchsorted(self._rising, losses[:, None] - self._top, side="right") - 1]

    def rows(self, positions: IntArray | slice, losses: IntArray) -> FloatArray:
        """Return C_{r,j} with a row for each of these positions j and a column for each loss."""
        return self._ends[np.searchsorted(self._rising, losses - self._top[positions, None], side="right") - 1]
