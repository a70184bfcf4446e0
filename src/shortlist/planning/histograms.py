"""The counts that a plan is made on: given, or invented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import Real, quote, read_positive, read_whole
from shortlist.profile import Profile
from shortlist.votes.array_counts import ArrayTally, read_counts

SHAPES = ("zipf",)
"""What invented counts may look like."""
_MOST_ITEMS = 10**8
_LARGEST_COUNT = 2**53


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts in falling order, with the names of the items if they have any."""

    counts: IntArray
    names: Sequence[Any] | None
    source: str
    """What the counts are, in words."""
    invented: bool

    @property
    def d(self) -> int:
        """The number of items."""
        return len(self.counts)

    @cached_property
    def profile(self) -> Profile:
        """How many items have each count."""
        return Profile.of(self.counts)

    def drop_unvoted(self) -> Histogram:
        """The items that have votes. Without a public list, no others are known."""
        voted = int(np.count_nonzero(self.counts))
        return replace(self, counts=self.counts[:voted])

    def name(self, position: int) -> str:
        """The name of an item, given its position in falling order of count."""
        return f"item {position + 1:,}" if self.names is None else str(self.names[position])


def read_histogram(counts: Any, *, source: str = "the given counts") -> Histogram:
    """Read counts as `top_k` does. Refuse what looks like votes that are not counted yet.

    >>> read_histogram({"pear": 190, "apple": 310}).names
    ['apple', 'pear']
    """
    array, labels = read_counts(counts)
    ArrayTally(array)  # refuses negative counts
    if len(array) > 1 and int(array.max()) <= 1:
        raise DataError(
            "{counts} must be totals, one for each item, and some above 1",
            "none is above 1, as in a table of votes",
            hint="count the votes of each item first",
        )
    order = np.argsort(-array, kind="stable")
    names = None if labels is None else [labels[index] for index in order.tolist()]
    return Histogram(counts=array[order], names=names, source=source, invented=False)


def invent_histogram(
    like: str,
    *,
    items: Real | None,
    people: Real | None,
    exponent: Real | None = None,
    votes_per_person: int | None = None,
) -> Histogram:
    """Invent counts: the item at rank r gets a share of all votes that is proportional to 1 / r^exponent.

    Each person casts `votes_per_person` votes, or 1 if it is not given. Nobody votes twice for an item.

    >>> invent_histogram("zipf", items=5, people=1000).counts
    array([437, 218, 145, 109,  87])
    """
    if like not in SHAPES:
        raise ParameterError(
            "{like} must be one of {shapes}", "not {value}", shapes=", ".join(SHAPES), value=quote(like)
        )
    for name, value in (("items", items), ("people", people)):
        if value is None:
            raise ParameterError(
                "{like} must go with {items} and {people}",
                f"{{{name}}} is missing",
                hint=f"try {{{name}=100000}}",
            )
    size, population = _read_whole(items, name="items", most=_MOST_ITEMS), _read_whole(people, name="people")
    steep = float(read_positive(1 if exponent is None else exponent, name="exponent"))
    shares = np.arange(1, size + 1, dtype=np.float64) ** -steep
    votes = population * (1 if votes_per_person is None else read_whole(votes_per_person, name="votes_per_person"))
    counts = np.minimum(np.floor(votes * shares / shares.sum()), population).astype(np.int64)
    each = votes_per_person or 1
    source = (
        f"invented counts of {size:,} items: {population:,} people with {each:,} {'vote' if each == 1 else 'votes'} "
        f"each, Zipf with exponent {steep:g}"
    )
    return Histogram(counts=counts, names=None, source=source, invented=True)


def _read_whole(value: Any, *, name: str, most: int = _LARGEST_COUNT) -> int:
    try:
        number = read_positive(value, name=name)
    except ParameterError:
        number = Fraction(0)
    if number.denominator != 1 or not 0 < number <= most:
        raise ParameterError(
            f"{{{name}}} must be a whole number from 1 to {{most}}",
            "not {value}",
            hint=f"try {{{name}=20000}}",
            most=f"{most:,}",
            value=quote(value),
        )
    return int(number)
