"""How far drawn lists are from the true one: recall, and the errors ℓ∞ and ℓ1 in votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.profile import Picks

QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The mean of a measure over many lists, and the values that 5, 50 and 95 % of the lists do not exceed."""

    mean: float
    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: FloatArray) -> Spread:
        """Summarise a sample. Quantiles are values of the sample, not between two of them.

        >>> Spread.of(np.array([1.0, 2.0, 3.0]))
        Spread(mean=2.0, low=1.0, middle=2.0, high=3.0)
        """
        low, middle, high = np.quantile(values, QUANTILES, method="inverted_cdf").tolist()
        return cls(mean=float(values.mean()), low=low, middle=middle, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The measures of many lists, one value for each list."""

    recall: FloatArray
    """The share of the k places with an item that has as many votes as the true item at place k, or more."""
    largest: FloatArray
    """ℓ∞: the largest difference in votes between the listed and the true item at a place."""
    total: FloatArray
    """ℓ1: the sum of these differences."""

    @property
    def exact(self) -> FloatArray:
        """1 for a list with the true count at every place, else 0."""
        return np.where(self.largest == 0, 1.0, 0.0)


def measure(top: IntArray, lists: Sequence[Picks]) -> Errors:
    """Compare lists of k items with the k largest counts. Lists without an order are put in the order of counts.

    Without a domain, a list may be shorter. A place without an item counts like an item without votes.

    >>> picks = Picks(levels=np.array([9, 2]), ranks=np.zeros(2, dtype=int))
    >>> measure(np.array([9, 7]), [picks])
    Errors(recall=array([0.5]), largest=array([5.]), total=array([5.]))
    """
    levels = fill_places([each.levels for each in lists], len(top), empty=0)
    if lists[0].unordered:
        levels = -np.sort(-levels, axis=1)
    differences = np.abs(levels - top).astype(np.float64)
    return Errors(
        # If nobody voted for the item at place k, a place without an item is as good.
        recall=(levels >= top[-1]).mean(axis=1),
        largest=differences.max(axis=1),
        total=differences.sum(axis=1),
    )


def fill_places(lists: Sequence[IntArray], k: int, *, empty: int) -> IntArray:
    """Lay out lists of up to k values in rows of k places.

    >>> fill_places([np.array([5, 6]), np.array([], dtype=int), np.array([7])], 2, empty=-1)
    array([[ 5,  6],
           [-1, -1],
           [ 7, -1]])
    """
    places = np.full((len(lists), k), empty, dtype=np.int64)
    lengths = np.array([len(each) for each in lists])
    places[np.arange(k) < lengths[:, None]] = np.concatenate(lists)
    return places
