"""The profile of counts: how many items have each count.

Every mechanism treats items with equal counts alike, so it needs no more than the profile. A *level* is the set of all
items with the same count. A mechanism answers with `Picks`: for each chosen item, the count of its level and its rank
inside the level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError

EVERY_LEVEL = 2**63 - 1
"""A depth below the k-th largest count that reaches every level."""

_MANY = 1 << 12
_LONGEST_TABLE = 1 << 22
_CACHED = 1 << 14


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """The levels in falling order of count: `sizes[i]` items have count `values[i]`.

    A profile may stop early. Then `sizes` sum to less than `d`, and all other items have counts below the last value.

    >>> Profile.of(np.array([2, 0, 2, 7]))
    Profile(values=array([7, 2, 0]), sizes=array([1, 2, 1]), d=4)
    """

    values: IntArray
    sizes: IntArray
    d: int

    @classmethod
    def of(cls, counts: IntArray, *, d: int | None = None) -> Profile:
        """Group counts into levels. With `d`, they are the largest counts of `d` items."""
        counts = np.asarray(counts)
        d = len(counts) if d is None else d
        lowest = int(counts.min())
        spread = int(counts.max()) - lowest
        if spread <= 4 * len(counts):
            sizes = np.bincount(counts - lowest if lowest else counts)[::-1]
            offsets = np.flatnonzero(sizes)
            return cls(values=lowest + len(sizes) - 1 - offsets, sizes=sizes[offsets], d=d)
        # NumPy sorts numbers of 32 bits in about half the time.
        falling = np.sort((counts - lowest).astype(np.uint32) if spread < 1 << 32 else counts - lowest)[::-1]
        starts = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1]]))
        return cls(values=lowest + falling[starts].astype(np.int64), sizes=np.diff(starts, append=len(falling)), d=d)

    @cached_property
    def ends(self) -> IntArray:
        """How many items have count `values[i]` or more."""
        return np.cumsum(self.sizes)

    @property
    def is_complete(self) -> bool:
        """Whether every item is on one of the levels."""
        return int(self.ends[-1]) == self.d

    def above(self, k: int, depth: int) -> Profile:
        """Return the profile itself. Refuse if it stops too early.

        >>> Profile.of(np.array([9, 9]), d=4).above(k=1, depth=5)
        Traceback (most recent call last):
        shortlist.errors.DataError: the profile must hold every level that the mechanism needs; it stops too early.
        Hint: pass the counts of all items, or of more of them
        """
        if not self.is_complete and (k > self.ends[-1] or int(self.values[-1]) > int(self.top(k)[-1]) - depth):
            raise DataError(
                "the profile must hold every level that the mechanism needs",
                "it stops too early",
                hint="pass the counts of all items, or of more of them",
            )
        return self

    def top(self, k: int) -> IntArray:
        """The k largest counts, in falling order."""
        return self.values[self.find_levels(np.arange(min(k, int(self.ends[-1]))))]

    def picks(self, positions: IntArray) -> Picks:
        """Describe items by level and rank, given their positions in the falling order of counts."""
        level = self.find_levels(positions)
        return Picks(levels=self.values[level], ranks=positions - (self.ends[level] - self.sizes[level]))

    def find_levels(self, positions: IntArray) -> IntArray:
        """Find the level of each item, given its position in the falling order of counts."""
        if len(positions) < _MANY or int(self.ends[-1]) > _LONGEST_TABLE:
            return np.searchsorted(self.ends, positions, side="right")
        return self._levels[positions]

    @cached_property
    def _levels(self) -> IntArray:
        """The level of each position, for many questions."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


class Levels(Protocol):
    """Counts of `d` items, of which the upper levels can be read."""

    @property
    def d(self) -> int:
        """The number of items, with or without votes."""

    def above(self, k: int, depth: int) -> Profile:
        """Return at least every level down to `depth` below the k-th largest count."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picks:
    """The chosen items, best first: item j has rank `ranks[j]`, from 0, among the items with count `levels[j]`.

    If the mechanism releases noisy counts, `counts[j]` is the noisy count of item j.
    """

    levels: IntArray
    ranks: IntArray
    counts: IntArray | None = None
    chosen: str | None = None
    """The name of the mechanism that `auto` chose."""
    unordered: bool = False
    """Whether the picks have no order. Items are then listed in the order of the domain."""

    def publish(self, rows: IntArray) -> tuple[IntArray, IntArray | None]:
        """Return rows and noisy counts in the order in which they are published, given the row of each item.

        >>> picks = Picks(levels=np.array([9, 7]), ranks=np.array([0, 0]), unordered=True)
        >>> picks.publish(np.array([40, 30]))
        (array([30, 40]), None)
        """
        if not self.unordered:
            return rows, self.counts
        order = np.argsort(rows)
        return rows[order], None if self.counts is None else self.counts[order]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyPicks(Sequence[Picks]):
    """The picks of many independent draws, one draw after the other in each array.

    Draw i holds `lengths[i]` picks. Everything else is as in `Picks`, and `chosen` has a name for each draw. If only
    some draws have noisy counts, `counted` says which.

    >>> picks = Picks(levels=np.array([9, 7]), ranks=np.array([0, 0]))
    >>> [each.levels for each in ManyPicks.join([picks, picks]).split()]
    [array([9, 7]), array([9, 7])]
    """

    levels: IntArray
    ranks: IntArray
    lengths: IntArray
    counts: IntArray | None = None
    chosen: Sequence[str] | None = None
    unordered: bool = False
    counted: Sequence[bool] | None = None

    @classmethod
    def join(cls, draws: Sequence[Picks]) -> ManyPicks:
        """Join single draws of one mechanism."""
        counted = [each.counts is not None for each in draws]
        noisy = [np.zeros_like(each.levels) if each.counts is None else each.counts for each in draws]
        return cls(
            levels=np.concatenate([each.levels for each in draws]),
            ranks=np.concatenate([each.ranks for each in draws]),
            lengths=np.array([len(each.levels) for each in draws]),
            counts=np.concatenate(noisy) if any(counted) else None,
            chosen=[str(each.chosen) for each in draws] if draws[0].chosen is not None else None,
            unordered=draws[0].unordered,
            counted=counted if any(counted) and not all(counted) else None,
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, place: Any) -> Any:
        return list(self.split())[place]

    def __iter__(self) -> Iterator[Picks]:
        return self.split()

    def reshape(self, k: int) -> ManyPicks:
        """Return the same picks as draws of k items each."""
        return replace(self, lengths=np.full(len(self.levels) // k, k))

    def split(self) -> Iterator[Picks]:
        """Return the picks of each draw."""
        ends = np.cumsum(self.lengths).tolist()
        for i, (length, end) in enumerate(zip(self.lengths.tolist(), ends, strict=True)):
            draw = slice(end - length, end)
            counted = self.counted is None or self.counted[i]
            yield Picks(
                levels=self.levels[draw],
                ranks=self.ranks[draw],
                counts=self.counts[draw] if self.counts is not None and counted else None,
                chosen=None if self.chosen is None else self.chosen[i],
                unordered=self.unordered,
            )


def cut_batches(n: int, k: int) -> Iterator[int]:
    """Cut n draws of k items into batches whose arrays fit into the processor's cache.

    >>> list(cut_batches(1000, 40))
    [409, 409, 182]
    """
    largest = max(1, _CACHED // k)
    yield from (min(largest, n - done) for done in range(0, n, largest))
