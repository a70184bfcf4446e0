"""Levels, and how many sequences of items they allow: combinatorics, with no epsilon in it.

Every mechanism treats items with equal counts alike (the profile principle), so counts cross to it as a
`Profile`, and it answers with `Picks`: a count level and a rank inside that level for each chosen item.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shortlist.exact.scaled import Scaled, product

IntArray = NDArray[np.int64]

EVERY_LEVEL = 2**63 - 1
"""A depth below the k-th largest count that leaves no level out."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The items' levels from the largest count downwards: `sizes[i]` items have count `values[i]`.

    A profile may stop early: then `sizes` sum to less than `d`, and all other items have counts below the last value.

    >>> Profile.of(np.array([2, 0, 2, 7]))
    Profile(values=array([7, 2, 0]), sizes=array([1, 2, 1]), d=4)
    """

    values: IntArray
    sizes: IntArray
    d: int

    @classmethod
    def of(cls, counts: IntArray, *, d: int | None = None) -> Profile:
        """Make the levels of some counts; of the top counts among `d` items, if `d` is given."""
        d = len(counts) if d is None else d
        lowest = int(counts.min())
        if int(counts.max()) - lowest <= 4 * len(counts):
            sizes = np.bincount(counts - lowest if lowest else counts)[::-1]
            offsets = np.flatnonzero(sizes)
            return cls(values=lowest + len(sizes) - 1 - offsets, sizes=sizes[offsets], d=d)
        falling = np.sort(counts)[::-1]
        starts = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1]]))
        return cls(values=falling[starts], sizes=np.diff(starts, append=len(falling)), d=d)

    @cached_property
    def ends(self) -> IntArray:
        """How many items have count `values[i]` or more."""
        return np.cumsum(self.sizes)

    @property
    def complete(self) -> bool:
        """Whether every item is on one of the levels."""
        return bool(self.ends[-1] == self.d)

    def above(self, k: int, depth: int) -> Profile:
        """Itself: a complete profile can show all its levels."""
        return self

    def top(self, k: int) -> IntArray:
        """The k largest counts, falling."""
        last = int(np.searchsorted(self.ends, k)) + 1
        return np.repeat(self.values[:last], self.sizes[:last])[:k]

    def picks(self, positions: IntArray) -> Picks:
        """Name items by level and rank, given their positions among all items in falling order of count."""
        level = np.searchsorted(self.ends, positions, side="right")
        return Picks(levels=self.values[level], ranks=positions - (self.ends[level] - self.sizes[level]))


class Levels(Protocol):
    """Counts of `d` items that can show their upper levels."""

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """The chosen items, best first: `ranks[j]` counts from 0 inside the level of all items with count `levels[j]`."""

    levels: IntArray
    ranks: IntArray


class Sequences:
    """The sequences of k distinct items, told apart by their loss L(s) = max_j (h_(j) − h[s_j]).

    Position j of a sequence with loss at most r may hold any of C_{r,j} items, those with count h_(j) − r or more;
    the sets are nested, so C_{r,j} − (j − 1) of them are left when the earlier positions are taken, and
    N_r = ∏_j (C_{r,j} − (j − 1)) sequences have loss at most r. N_r never falls as r grows.

    Losses up to `reach` can be asked about; the profile must show its levels down to `reach` below h_(k).
    """

    def __init__(self, profile: Profile, k: int, reach: int) -> None:
        self.profile = profile
        self.k = k
        self.top = profile.top(k)
        self.widest = int(self.top[0] - profile.values[-1])
        """The largest loss of any sequence, if the profile is complete."""
        self._earlier = np.arange(k)
        # As many factors as surely multiply to less than 2^1000.
        self._group = 1000 // profile.d.bit_length()
        self._lookup = _Lookup(profile, self.top, min(reach, self.widest))

    def allowed(self, r: int | None) -> IntArray:
        """C_{r,j} for every j; for no r, as if every item were allowed everywhere."""
        if r is None:
            return np.full(self.k, self.profile.d)
        return self._lookup.counts(np.array([r]))[:, 0].astype(np.int64)

    def number(self, r: int | None) -> int:
        """N_r, exactly; 0 for a negative loss, N_∞ for no r."""
        if r is not None and r < 0:
            return 0
        return math.prod((self.allowed(r) - self._earlier).tolist())

    def numbers(self, losses: IntArray) -> Scaled:
        """N_r for rising losses r, as floats with a proven error."""
        free = np.flatnonzero(self._lookup.counts(losses[-1:])[:, 0] > self._earlier + 1)
        if not len(free):  # N_r is 1 for all of them
            return product([np.ones((1, len(losses)))])
        rows = np.split(free, range(self._group, len(free), self._group))
        return product(self._lookup.counts(losses, part) - self._earlier[part, None] for part in rows)

    def all_numbers(self) -> Scaled:
        """N_∞ likewise, as an array of one."""
        left = self.profile.d - self._earlier[:, None].astype(np.float64)
        return product(np.split(left, range(self._group, self.k, self._group)))

    def loss(self, positions: IntArray) -> int:
        """L(s) of the sequence whose items stand at these positions in falling order of count."""
        return int(np.max(self.top - self.profile.picks(positions).levels))


class _Lookup:
    """C_{r,j} for any r up to a reach, from one table of "how many items have at least this count".

    Gaps between levels wider than the reach are shortened to reach + 1 first: no count within reach of another
    level changes by that, and the table stays short.
    """

    _LARGEST_TABLE = 1 << 22

    def __init__(self, profile: Profile, top: IntArray, reach: int) -> None:
        last = int(np.searchsorted(-profile.values, reach - top[-1], side="right"))
        self._values, self._ends = profile.values[:last], profile.ends[:last]
        self._top = top
        gaps = np.minimum(self._values[:-1] - self._values[1:], min(reach + 1, EVERY_LEVEL))
        depths = np.concatenate([[0], np.cumsum(gaps)])
        self._starts = depths[np.searchsorted(self._ends, np.arange(len(top)), side="right")]
        length = int(self._starts[-1]) + reach + 1
        self._table: NDArray[np.float64] | None = None
        if reach < self._LARGEST_TABLE and length < self._LARGEST_TABLE:
            runs = np.diff(depths, append=max(length, int(depths[-1]) + 1))
            self._table = np.repeat(self._ends.astype(np.float64), runs)

    def counts(self, losses: IntArray, rows: IntArray | slice = slice(None)) -> NDArray[np.float64]:
        """C_{r,j}, a row for each j asked for and a column for each of the rising losses r."""
        if self._table is None:
            found = np.searchsorted(-self._values, losses - self._top[rows, None], side="right")
            return np.take(self._ends.astype(np.float64), found - 1)
        first, last = int(losses[0]), int(losses[-1])
        if last - first == len(losses) - 1:
            # Consecutive losses read consecutive entries of the table.
            return sliding_window_view(self._table, len(losses))[self._starts[rows] + first]
        return self._table[self._starts[rows, None] + losses]
