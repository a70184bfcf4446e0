"""The counts that a plan is made from, of one list or of many groups: given, in files or invented.

Invented groups have sizes that fall like 1/g, and every group has the same shape of counts. Of invented people it is
known how many votes they cast and in how many groups, so a plan may try other limits. Counts that are given must
already be limited, so their limits are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.planning.constraints import Constraints
from shortlist.privacy.numbers import Real, quote, read_positive, write_count
from shortlist.profile import EVERY_LEVEL, Profile
from shortlist.votes.array_counts import ArrayTally, read_counts
from shortlist.votes.failures import strip_context

SIZES = ("large", "middle", "small")
"""A third of the groups each, by their votes."""
MOST_GROUPS = 10**6
_MOST_ITEMS = 10**8
_LARGEST_COUNT = 2**53
_SHOWN = 10
"""Of each third, so many groups are forecast, from its largest to its smallest."""
_SIGMA = 1.0
"""How unequal people are: the logarithm of their number of votes has this standard deviation."""
_PARTS = 1000
"""Invented people are so many equal parts, in rising order of their votes."""
_GROUP_STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
_VOTE_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Limits that are tried where none is given."""
_FARTHEST = 5
"""A limit above so many times the mean of the votes keeps almost all of them, so it is not tried."""
_TABLE = "the table of counts"
_WHOLE = "[+-]?[0-9]{1,19}"


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """The counts of one list in falling order, with the names of the items if they have any."""

    counts: IntArray
    names: Sequence[Any] | None = None
    unvoted: int = 0
    """How many further items nobody voted for. They are public if there are any."""

    @property
    def d(self) -> int:
        """The number of items."""
        return len(self.counts) + self.unvoted

    @cached_property
    def profile(self) -> Profile:
        """How many items have each count."""
        profile = Profile.of(self.counts)
        if not self.unvoted:
            return profile
        return Profile(values=np.append(profile.values, 0), sizes=np.append(profile.sizes, self.unvoted), d=self.d)

    def top(self, k: int) -> IntArray:
        """The k largest counts. A count that does not exist is 0."""
        found = self.counts[:k]
        return np.append(found, np.zeros(k - len(found), dtype=np.int64))

    def count_from(self, votes: int) -> int:
        """How many items have so many votes or more."""
        return int(np.searchsorted(-self.counts, -votes, side="right"))

    def scale(self, share: float) -> Histogram:
        """The counts if only a share of the votes of every item is left."""
        counts = np.floor(self.counts * share).astype(np.int64)
        voted = counts[: np.count_nonzero(counts)]
        return replace(self, counts=voted, unvoted=self.d - len(voted))

    def drop_unvoted(self) -> Histogram:
        """Without a public list, only items that have votes are known."""
        return replace(self, counts=self.counts[: np.count_nonzero(self.counts)], unvoted=0)

    def name(self, position: int) -> str:
        """The name of an item, given its position in falling order of count."""
        return f"item {position + 1:,}" if self.names is None else str(self.names[position])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Habits:
    """How many votes each part of the people casts, in rising order, and in how many groups they may vote.

    A person who casts n votes, each in one of a groups by chance, is in a(1 − (1 − 1/a)ⁿ) groups on average.
    """

    votes: FloatArray
    groups: int = 1

    def keep(self, constraints: Constraints) -> float:
        """Compute which share of the votes the limits leave. The limit on groups comes first.

        >>> habits = Habits(votes=np.array([4.0, 16.0]))
        >>> habits.keep(Constraints(groups=9, groups_per_person=1)), habits.keep(Constraints(votes_per_person=6))
        (1.0, 0.5)
        """
        kept = self.votes
        if constraints.groups_per_person is not None:
            visited = self.groups * (1 - (1 - 1 / self.groups) ** self.votes)
            kept = kept * np.minimum(1, constraints.groups_per_person / visited)
        if constraints.votes_per_person is not None:
            kept = np.minimum(kept, constraints.votes_per_person)
        return float(kept.sum() / self.votes.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """Counts of one list, or of groups, the largest group first. Of many groups, only some are shown to mechanisms."""

    shown: tuple[Histogram, ...]
    """The groups that are forecast, without the limits that a plan tries."""
    source: str
    """What the counts are, in words."""
    groups: int | None = None
    """How many groups there are; None is one list."""
    sizes: Mapping[str, range] = field(default_factory=dict)
    """Which of the shown groups are large, middle and small. One list has no size."""
    habits: Habits | None = None
    """What is known about invented people."""
    without_domain: bool = False
    _limited: dict[float, tuple[Histogram, ...]] = field(default_factory=dict, repr=False)

    @property
    def invented(self) -> bool:
        """Whether the counts are invented."""
        return self.habits is not None

    @property
    def may_be_limited(self) -> bool:
        """Whether other limits may be tried: of the people of invented groups, the habits are known."""
        return self.habits is not None and self.groups is not None

    @property
    def d(self) -> int:
        """The number of items of the list, or of the group with the most."""
        return max(each.d for each in self.shown)

    def suit(self, constraints: Constraints) -> Counts:
        """Count in units of the largest weight, which are as votes without weights, and drop what cannot be known.

        The noise is the same. Invented people give half of the largest weight to an item, on average.
        """
        shown, source = self.shown, self.source
        if constraints.max_weight is not None:
            half = "votes weigh half of that on average, and " if self.invented else ""
            most = write_count(constraints.max_weight, constraints.weight_unit)
            source = f"{source}; {half}1 vote of this plan stands for {most}"
            shown = tuple(each.scale(1 / 2 if self.invented else 1 / constraints.max_weight) for each in shown)
        if constraints.without_domain:
            shown = tuple(each.drop_unvoted() for each in shown)
        return replace(self, shown=shown, source=source, without_domain=constraints.without_domain, _limited={})

    def keep(self, constraints: Constraints) -> float:
        """Compute which share of the votes the limits leave. Counts that are given are limited already."""
        return 1.0 if self.habits is None else self.habits.keep(constraints)

    def limit(self, constraints: Constraints) -> tuple[Histogram, ...]:
        """The counts of the shown groups under limits. A limit drops votes of all items and groups alike."""
        kept = self.keep(constraints)
        if kept not in self._limited:
            scaled = (each if kept == 1 else each.scale(kept) for each in self.shown)
            self._limited[kept] = tuple(each.drop_unvoted() if self.without_domain else each for each in scaled)
        return self._limited[kept]

    def list_limits(self, constraints: Constraints, *, on_votes: bool) -> list[Constraints]:
        """List the limits to try: those that are given, and steps for the one that a mechanism depends on.

        Noise on all cells depends on the votes of a person, and all else on the groups of a person.
        """
        name, steps = "votes_per_person" if on_votes else "groups_per_person", list[Any]()
        if self.habits is None or constraints.caps[name] is not None:
            return [constraints]
        if on_votes:
            farthest = max(1.0, _FARTHEST * float(self.habits.votes.mean()))
            steps = [step for step in _VOTE_STEPS if step <= farthest]
        else:
            steps = [*(step for step in _GROUP_STEPS if step < self.habits.groups), self.habits.groups]
        return [replace(constraints, **{name: step}) for step in steps]


def read_given(counts: Any) -> Counts:
    """Read counts as `top_k` does, or a mapping from each group to its counts. Refuse votes that are not counted yet.

    >>> read_given({"pear": 190, "apple": 310}).shown[0].names
    ['apple', 'pear']
    >>> made = read_given({"DE": [9, 5, 0], "AT": {"a": 3, "b": 1}})
    >>> [group.counts.tolist() for group in made.shown], made.sizes
    ([[9, 5, 0], [3, 1]], {'large': range(0, 1), 'middle': range(1, 2)})
    """
    if isinstance(counts, Counts):
        return counts
    family = isinstance(counts, Mapping) and bool(counts) and all(map(_is_many, counts.values()))
    return _collect(list(counts.values()) if family else [counts], "the given counts", family=family)


def _is_many(counts: Any) -> bool:
    return isinstance(counts, Mapping) or np.ndim(counts) == 1


def _collect(given: Collection[Any], source: str, *, family: bool, items: int = 0) -> Counts:
    """Read the counts of one list or of each group, and refuse what looks like votes that are not counted yet.

    Each list has the number of items that is given, or more.
    """
    read = [_read_histogram(each, items) for each in given]
    if (family or read[0].d > 1) and max(int(each.counts[0]) for each in read) <= 1:
        raise DataError(
            "`counts` must be totals, one for each item, and some above 1",
            "none is above 1, as in a table of votes",
            hint="count the votes of each item first",
        )
    if not family:
        return Counts(shown=tuple(read), source=source)
    read.sort(key=lambda each: -int(each.counts.sum()))
    ranks, sizes = choose_shown(len(read))
    source = f"{source} of {len(read):,} groups"
    return Counts(shown=tuple(read[rank] for rank in ranks), source=source, groups=len(read), sizes=sizes)


def _read_histogram(counts: Any, items: int) -> Histogram:
    array, labels = read_counts(counts)
    ArrayTally(array)  # refuses negative counts
    order = np.argsort(-array, kind="stable")
    names = None if labels is None else [labels[index] for index in order.tolist()]
    return Histogram(counts=array[order], names=names, unvoted=max(0, items - len(array)))


@strip_context
def read_count_files(files: Any, *, item: str, count: str, by: Sequence[str] = ()) -> Counts:
    """Read a Parquet, CSV or JSON lines file with a column of items and a column of counts.

    With `by`, the columns of groups, these are the counts of each group. Every item that the files name is an item of
    every group.
    """
    from shortlist.votes.duckdb import Workspace
    from shortlist.votes.formats import open_files
    from shortlist.votes.source import name_groups
    from shortlist.votes.values import is_missing

    source, wanted = open_files(Workspace(), files, _TABLE), {"item": item, "other": count, **name_groups(by)}
    with source.explain_failures():
        columns = source.open(source.describe(lambda header: header.take(wanted, where=_TABLE))).read_columns()
        listed = {role: each if isinstance(each, list) else each.to_pylist() for role, each in columns.items()}
    votes = list(map(_read_whole_number, listed["other"]))
    keys = [[None if is_missing(each) else str(each) for each in listed[role]] for role in (*name_groups(by), "item")]
    unnamed, uncounted = any(None in column for column in keys), None in votes
    if unnamed or uncounted:
        missing = "some rows have no item" + (" or no group" if by else "")
        raise DataError(
            f"{_TABLE} must have an item and a whole number in each row",
            missing if unnamed else "some counts are missing or no whole numbers",
            hint="is it the right column? Write 1000, not 1,000 or 1000.0",
        )
    groups: dict[tuple[Any, ...], dict[Any, Any]] = {}
    for *group, name, counted in zip(*keys, votes, strict=True):
        groups.setdefault(tuple(group), {})[name] = counted
    if sum(map(len, groups.values())) < len(votes):
        raise DataError(
            f"{_TABLE} must name each item once" + (" in each group" if by else ""),
            "some items have several rows, as in a table of votes" + ("" if by else " or of several groups"),
            hint="count the votes of each item first"
            + ("" if by else ", or name the columns of the groups by `by`")
            + "; `like='zipf'` plans without any data",
        )
    items = len({name for each in groups.values() for name in each})
    return _collect(groups.values() or [{}], f"the counts in column {count!r}", family=bool(by), items=items)


def _read_whole_number(value: Any) -> int | None:
    """Read what is written as a whole number of 64 bits, also a negative one, which is refused later."""
    text = str(value).strip()
    return int(text) if re.fullmatch(_WHOLE, text) and abs(int(text)) <= EVERY_LEVEL else None


def invent_counts(
    like: str,
    constraints: Constraints,
    *,
    items: Real | None,
    people: Real | None,
    exponent: Real | None = None,
    votes_cast: Real | None = None,
    groups_visited: Real | None = None,
) -> Counts:
    """Invent counts: the item at rank r gets a share of all votes that is proportional to 1 / r^exponent.

    People cast `votes_cast` votes on average, or all of them as many as the limits allow. Nobody votes twice for an
    item. Group g of a family has a share of the votes that is proportional to 1/g.

    >>> invent_counts("zipf", Constraints(), items=5, people=1000).shown[0].counts
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
    weights = np.arange(1, size + 1, dtype=np.float64) ** -steep
    groups, visited = constraints.groups or 1, constraints.groups_per_person or 1
    if groups_visited is not None:
        visited = read_number(groups_visited, name="groups_visited", most=MOST_GROUPS)
    habits = invent_habits(votes_cast, min(visited, groups), constraints)
    each = float(habits.votes.mean())
    harmonic = float((1 / np.arange(1, groups + 1)).sum())
    ranks, sizes = choose_shown(groups)
    shown = []
    for rank in ranks:
        share = 1 / ((rank + 1) * harmonic)
        counts = np.floor(population * each * share * weights / weights.sum()).astype(np.int64)
        voters = round(population * min(1.0, share * habits.groups))
        shown.append(Histogram(counts=np.minimum(counts, voters)))
    in_groups = visits = ""
    if constraints.groups is not None:
        in_groups, visits = f" in {groups:,} groups, whose sizes fall like 1/g", f" in up to {habits.groups:,} of them"
    mean = f"{each:,.6g} vote{'' if each == 1 else 's'} {'each' if votes_cast is None else 'on average'}"
    return Counts(
        shown=tuple(shown),
        source=f"invented counts of {size:,} items{in_groups}: {population:,} people with {mean}{visits}, "
        f"Zipf with exponent {steep:g}",
        groups=constraints.groups,
        sizes=sizes if constraints.groups is not None else {},
        habits=habits,
    )


def invent_habits(votes: Real | None, groups: int, constraints: Constraints) -> Habits:
    """Invent people with a mean number of votes. Without it, they all cast as many as the limits allow."""
    if votes is None:
        return Habits(votes=np.array([float(constraints.votes_per_person or groups)]), groups=groups)
    ranks = [NormalDist().inv_cdf((part + 0.5) / _PARTS) for part in range(_PARTS)]
    shape = np.exp(_SIGMA * np.array(ranks))
    return Habits(votes=float(read_positive(votes, name="votes_cast")) * shape / shape.mean(), groups=groups)


def choose_shown(groups: int) -> tuple[list[int], dict[str, range]]:
    """Choose the ranks of the groups that are forecast, and say which of them are large, middle and small.

    >>> choose_shown(4)
    ([0, 1, 2, 3], {'large': range(0, 2), 'middle': range(2, 3), 'small': range(3, 4)})
    >>> choose_shown(300)[0][:12]
    [5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 105, 115]
    """
    ranks: list[int] = []
    sizes = {}
    for name, third in zip(SIZES, np.array_split(np.arange(groups), len(SIZES)), strict=True):
        if len(third):
            n = min(_SHOWN, len(third))
            sizes[name] = range(len(ranks), len(ranks) + n)
            ranks += third[(2 * np.arange(n) + 1) * len(third) // (2 * n)].tolist()
    return ranks, sizes


def read_number(value: Any, *, name: str, most: int) -> int:
    """Read a whole number that may be written as 1e6."""
    try:
        number = read_positive(value.item() if isinstance(value, np.ndarray) else value, name=name)
    except (ParameterError, ValueError):
        number = Fraction(0)
    if number.denominator != 1 or not 0 < number <= most:
        raise ParameterError(
            f"`{name}` must be a whole number from 1 to {most:,}", f"not {quote(value)}", hint=f"try `{name}=20000`"
        )
    return int(number)
