"""Where a pick stands among the items of all picked levels, and in what form items leave an engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from shortlist.arrays import IntArray
from shortlist.errors import DataError
from shortlist.profile import Picks, Profile

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def checked_profile(values: Any, sizes: Any, *, distinct: int | None = None) -> Profile:
    """Make the profile of what an engine counted, and refuse what no count can be.

    `distinct` is the number of different items, where the counts were given and might name an item twice.
    """
    counts, members = np.asarray(values, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    order = np.argsort(-counts)
    profile = Profile(values=counts[order], sizes=members[order], d=int(members.sum()))
    if not profile.d:
        raise no_items()
    if profile.values[-1] < 0:
        raise DataError(
            "counts must be whole numbers from 0; others were found.",
            hint="is it the right column? In a file of text, write 1000, not 1,000 or 1000.0; leave a gap for no count",
        )
    if distinct is not None and distinct != profile.d:
        raise DataError(
            "counts must name each item once; some items have several rows.",
            hint="add the rows up first, and let sensitivity say what one person can add to the sum",
        )
    return profile


def no_items() -> DataError:
    """What a domain without items is answered with."""
    return DataError("the domain must hold at least one item; none was found.", hint="is it the right column?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Picks as places in one sorted list: all items of the picked levels, by rising count, then by item."""

    levels: IntArray
    """The levels that are in the list."""
    places: IntArray
    """The place of each pick, from 0; best first, so not sorted."""

    @classmethod
    def of(cls, picks: Picks, profile: Profile) -> Places:
        """Find the places.

        >>> profile = Profile(values=np.array([9, 4, 0]), sizes=np.array([1, 2, 5]), d=8)
        >>> Places.of(Picks(levels=np.array([9, 0]), ranks=np.array([0, 3])), profile)
        Places(levels=array([0, 9]), places=array([5, 3]))
        """
        levels = np.unique(picks.levels)
        sizes = profile.sizes[np.searchsorted(-profile.values, -levels)]
        starts = np.cumsum(sizes) - sizes
        return cls(levels=levels, places=starts[np.searchsorted(levels, picks.levels)] + picks.ranks)


def instant(microseconds: int) -> datetime:
    """The point in time so long after 1970, in UTC: engines hand over what their own time zone cannot touch.

    >>> print(instant(1_500_000))
    1970-01-01 00:00:01.500000+00:00
    """
    return _EPOCH + timedelta(microseconds=microseconds)
