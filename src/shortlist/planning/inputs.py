"""What a plan is made from, read and checked: constraints, counts that are given, in files or invented, a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms import MECHANISMS, Mechanism, build_mechanism
from shortlist.mechanisms.accuracy import write_votes
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import (
    Real,
    quote,
    read_positive,
    read_probability,
    read_whole,
    write_rounded_up,
)
from shortlist.profile import Profile
from shortlist.votes.array_counts import ArrayTally, read_counts
from shortlist.votes.failures import strip_context

FEW_VOTES = 10
"""The limit on votes per person that is proposed to those who have given none."""
_MOST_ITEMS = 10**8
_LARGEST_COUNT = 2**53
_TABLE = "the table of counts"
_WHOLE = "^[+-]?[0-9]{1,19}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What a list must satisfy, apart from k and epsilon.

    >>> list(Constraints().allow(k=3, epsilon=1))
    ['auto', 'joint', 'margin-joint', 'fastjoint', 'pnf-joint', 'pnf-peel']
    >>> list(Constraints(delta="1e-6", ordered=False).allow(k=3, epsilon=1))[2:4]
    ['margin-joint', 'subset']
    >>> list(Constraints(delta="1e-6", votes_per_person=5, without_domain=True).allow(k=3, epsilon=1))
    ['limited-domain', 'threshold']
    """

    delta: Any = None
    votes_per_person: int | None = None
    ordered: bool = True
    neighbours: str = "add-remove"
    without_domain: bool = False
    """Whether there is no public list of items."""

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", read_probability(self.delta, name="delta"))
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")
        object.__setattr__(self, "neighbours", str(Neighbours.read(self.neighbours)))
        if self.without_domain and self.delta is None:
            raise ParameterError(
                "`without_domain` must go with `delta`",
                "without a public list of items, δ is the probability that an item of one person shows",
                hint="try `delta=1e-6`",
            )

    def allow(self, k: int, epsilon: Any) -> Mapping[str, Mechanism]:
        """The mechanisms that are allowed, by name: all that need no more than is given, and give an order if asked."""
        found: dict[str, Mechanism] = {}
        accepted = {"delta": self.delta, "votes_per_person": self.votes_per_person, "ordered": self.ordered}
        for name, kind in MECHANISMS.items():
            known = {field.name: field.default is MISSING for field in fields(kind)}
            given = {each: value for each, value in accepted.items() if each in known and value is not None}
            needed = {each for each, needs in known.items() if needs} - {"k", "epsilon"}
            if kind.needs_domain == self.without_domain or not needed <= given.keys():
                continue
            mechanism = build_mechanism(name, k=k, epsilon=epsilon, neighbours=self.neighbours, **given)
            if not (self.ordered and mechanism.unordered):
                found[name] = mechanism
        return found

    def describe(self) -> str:
        """Say in words what is allowed.

        >>> Constraints(delta="1e-6", votes_per_person=20).describe()
        'an ordered list; δ = 1e-6; at most 20 votes of each person; neighbours: add-remove'
        """
        parts = ["an ordered list" if self.ordered else "a list in any order"]
        parts.append("δ = 0" if self.delta is None else f"δ = {write_rounded_up(self.delta)}")
        cap = self.votes_per_person
        parts.append(f"{'any number of votes' if cap is None else f'at most {write_votes(cap)}'} of each person")
        parts += ["no public list of items"] if self.without_domain else []
        return "; ".join([*parts, f"neighbours: {self.neighbours}"])

    def relax(self, k: int, epsilon: Any, *, few: int = FEW_VOTES) -> Mapping[str, Mechanism]:
        """What one change of the constraints would allow: a mechanism for each change, described in words.

        `few` is the limit on votes per person that is proposed.
        """
        limit = f"with at most {write_votes(few)} per person, if that changes the counts little"
        unlisted = self.without_domain
        changes: list[tuple[bool, dict[str, Any], str, str]] = [
            (self.ordered, {"ordered": False}, "in any order", "stable" if unlisted else "subset"),
            (self.delta is None, {"delta": "1e-6"}, "with δ = 1e-6", "cdp-peel"),
            (not self.votes_per_person, {"votes_per_person": few}, limit, "threshold" if unlisted else "noisy-counts"),
        ]
        return {
            words: replace(self, **change).allow(k, epsilon)[name]
            for possible, change, words, name in changes
            if possible
        }


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
            "`counts` must be totals, one for each item, and some above 1",
            "none is above 1, as in a table of votes",
            hint="count the votes of each item first",
        )
    order = np.argsort(-array, kind="stable")
    names = None if labels is None else [labels[index] for index in order.tolist()]
    return Histogram(counts=array[order], names=names, source=source, invented=False)


@strip_context
def read_count_files(files: Any, *, item: str, count: str) -> Histogram:
    """Read a Parquet, CSV or JSON lines file with a column of items and a column of counts."""
    from shortlist.votes.duckdb import Workspace
    from shortlist.votes.files import open_files

    workspace = Workspace(memory_limit=None)
    opened = open_files(workspace, files, choose=lambda header: header.take([item, count], where=_TABLE), name=_TABLE)
    text = "trim(CAST(#2 AS VARCHAR))"
    whole = f"CASE WHEN regexp_matches({text}, '{_WHOLE}') THEN TRY_CAST({text} AS BIGINT) END"
    columns = f"CAST(#1 AS VARCHAR) AS item, {whole} AS votes"
    table = opened.read(lambda relation: relation.project(columns).fetchnumpy())
    unnamed, uncounted = (np.any(np.ma.getmaskarray(table[name])) for name in ("item", "votes"))
    if unnamed or uncounted:
        raise DataError(
            f"{_TABLE} must have an item and a whole number in each row",
            "some rows have no item" if unnamed else "some counts are missing or no whole numbers",
            hint="is it the right column? Write 1000, not 1,000 or 1000.0",
        )
    counts = dict(zip(map(str, table["item"].tolist()), table["votes"].tolist(), strict=True))
    if len(counts) < len(table["item"]):
        raise DataError(
            f"{_TABLE} must name each item once",
            "some items have several rows, as in a table of votes",
            hint="count the votes of each item first; `like='zipf'` plans without any data",
        )
    return read_histogram(counts, source=f"the counts in column {count!r}")


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
    if like != "zipf":
        raise ParameterError("`like` must be 'zipf'", f"not {quote(like)}")
    for name, value in (("items", items), ("people", people)):
        if value is None:
            raise ParameterError(
                "`like` must go with `items` and `people`", f"`{name}` is missing", hint=f"try `{name}=100000`"
            )
    size = read_number(items, name="items", most=_MOST_ITEMS)
    population = read_number(people, name="people", most=_LARGEST_COUNT)
    steep = float(read_positive(1 if exponent is None else exponent, name="exponent"))
    shares = np.arange(1, size + 1, dtype=np.float64) ** -steep
    votes = population * (votes_per_person or 1)
    counts = np.minimum(np.floor(votes * shares / shares.sum()), population).astype(np.int64)
    people_and_votes = f"{population:,} people with {write_votes(votes_per_person or 1)} each"
    source = f"invented counts of {size:,} items: {people_and_votes}, Zipf with exponent {steep:g}"
    return Histogram(counts=counts, names=None, source=source, invented=True)


def read_number(value: Any, *, name: str, most: int) -> int:
    """Read a whole number that may be written as 1e6."""
    try:
        number = read_positive(value, name=name)
    except ParameterError:
        number = Fraction(0)
    if number.denominator != 1 or not 0 < number <= most:
        raise ParameterError(
            f"`{name}` must be a whole number from 1 to {most:,}", f"not {quote(value)}", hint=f"try `{name}=20000`"
        )
    return int(number)


def take_histogram(
    counts: Any,
    k: int,
    constraints: Constraints,
    like: str | None,
    items: Real | None,
    people: Real | None,
    exponent: Real | None,
) -> Histogram:
    """Read the counts, or invent them."""
    if (counts is None) == (like is None):
        wrong = "neither was" if counts is None else "both were"
        raise ParameterError("`counts` or `like` must be given, and only one of them", wrong)
    sizes = {"items": items, "people": people, "exponent": exponent}
    if like is not None:
        histogram = invent_histogram(like, **sizes, votes_per_person=constraints.votes_per_person)
    else:
        for name in (each for each, value in sizes.items() if value is not None):
            raise ParameterError(f"`{name}` must go with `like`", "counts were given")
        histogram = counts if isinstance(counts, Histogram) else read_histogram(counts)
    if constraints.without_domain:
        # Without a public list, only items that have votes are known.
        histogram = replace(histogram, counts=histogram.counts[: np.count_nonzero(histogram.counts)])
    if k > histogram.d:
        raise DataError(
            "`k` must be at most the number of items" + (" with votes" if constraints.without_domain else ""),
            f"k is {k}, and there are {histogram.d}",
            hint="ask for fewer items",
        )
    return histogram
