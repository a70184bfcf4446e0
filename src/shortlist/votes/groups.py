"""The groups of a family of lists: a public list of them, or a catalogue that says which items each group has.

A group is one value of each of some columns. Values are numbered as items are, column by column, so that votes match
them by the same rules. Like the domain, groups are read before the votes, and nothing about them comes from the votes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.periods import Period
from shortlist.votes.domain import Domain, encode_items, find_fault, is_table_of_votes
from shortlist.votes.libraries import pa
from shortlist.votes.source import Header, Origin, Request, name_groups
from shortlist.votes.values import is_missing, read_count

GROUPS = "the groups"
PEOPLE = "people"
"""The column of a list of groups that says how many people each group has, where that is public."""
_FROM_VOTES = (
    "If the list came from the votes, a group of one person would be listed if and only if that person is in the "
    "data, and no differentially private release may tell that."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Public groups, numbered in the order of their list."""

    columns: tuple[Domain, ...]
    """The different values of each column."""
    codes: IntArray
    """For each group and column, the number of its value in the column."""
    people: tuple[int | None, ...] | None = None
    starts: IntArray | None = None
    items: IntArray | None = None
    """Where a catalogue lists items by group: group g has the rows `items[starts[g] : starts[g + 1]]` of the domain."""
    periods: tuple[str, ...] | None = None
    """With periods of time, each listed group is as many groups: number g · len(periods) + p is group g in period p."""

    def __len__(self) -> int:
        return len(self.codes) * self.width

    @property
    def width(self) -> int:
        """How many groups a listed group is."""
        return 1 if self.periods is None else len(self.periods)

    @property
    def names(self) -> tuple[tuple[Any, ...], ...]:
        """The values of each group, as the list wrote them."""
        columns = [each.names(codes) for each, codes in zip(self.columns, self.codes.T, strict=True)]
        listed = list(zip(*columns, strict=True)) if columns else [()] * len(self.codes)
        return tuple(listed if self.periods is None else ((*group, each) for group in listed for each in self.periods))

    def split(self, periods: Sequence[Period]) -> Groups:
        """Make groups of each listed one, one for each period. A group has no more people in one period."""
        people = None if self.people is None else tuple(each for each in self.people for _ in periods)
        return replace(self, periods=tuple(map(str, periods)), people=people)

    def count_items(self, domain: Domain) -> IntArray:
        """How many items each group has."""
        return np.full(len(self), domain.d) if self.starts is None else np.repeat(np.diff(self.starts), self.width)

    def make_table(self) -> Any:
        """The Arrow table of the numbers of values, of the listed group that they make, and of its first group."""
        listed = np.arange(len(self.codes))
        numbers = {"group_number": listed, "first_number": listed * self.width}
        return pa.table({**name_groups(self.codes.T), **numbers})

    def make_cell_table(self) -> Any:
        """The Arrow table of the rows of each listed group, with their places in it; None if groups have all rows."""
        if self.starts is None or self.items is None:
            return None
        numbers = np.repeat(np.arange(len(self.codes)), np.diff(self.starts))
        places = np.arange(len(self.items)) - self.starts[numbers]
        columns = {"listed_group": numbers, "listed": self.items, "place": places}
        return pa.table(columns)

    def find_rows(self, numbers: IntArray, places: IntArray) -> IntArray:
        """The rows of the domain at some places of some groups."""
        if self.starts is None or self.items is None:
            return places
        rows: IntArray = self.items[self.starts[numbers // self.width] + places]
        return rows


ALL = Groups(columns=(), codes=np.zeros((1, 0), dtype=np.int64))
"""The only group, where groups differ by their periods alone."""


def number_groups(columns: Sequence[Any], people: Any = None) -> Groups:
    """Number the groups of a list, in its order; the first row of a group counts, and rows with gaps do not.

    >>> import pyarrow as pa
    >>> number_groups([pa.array(["b", "a", None, "b"]), pa.array([1, 2, 3, 1])]).names
    (('b', 1), ('a', 2))
    """
    values, table = _encode(columns)
    rows = np.flatnonzero((table >= 0).all(axis=1))
    rows = rows[_number_rows(table[rows])[0]]
    known = None if people is None else tuple(map(_read_people, people.take(pa.array(rows)).to_pylist()))
    return Groups(columns=values, codes=table[rows], people=known)


def number_cells(items: Any, columns: Sequence[Any]) -> tuple[Domain, Groups]:
    """Number the items of a catalogue that lists them by group, and the groups, in the order of the catalogue.

    >>> import pyarrow as pa
    >>> domain, groups = number_cells(pa.array(["x", "y", "x"]), [pa.array(["de", "de", "at"])])
    >>> groups.names, groups.count_items(domain)
    ((('de',), ('at',)), array([2, 1]))
    """
    domain, rows = encode_items(items)
    values, codes = _encode(columns)
    table = np.column_stack([codes, rows])
    table = table[(table >= 0).all(axis=1)]
    first, numbers = _number_rows(table[:, :-1])
    cells = np.unique(numbers * domain.d + table[:, -1])
    starts = np.searchsorted(cells, np.arange(len(first) + 1) * domain.d)
    return domain, Groups(columns=values, codes=table[first, :-1], starts=starts, items=cells % domain.d)


def _encode(columns: Sequence[Any]) -> tuple[tuple[Domain, ...], IntArray]:
    """The different values of each column, and the table of their numbers."""
    values, codes = zip(*(encode_items(column, noun="value", of="groups") for column in columns), strict=True)
    return values, np.stack(codes, axis=1)


def _number_rows(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Number different rows by their first appearance: the first row of each number, and the number of each row."""
    keys = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        # Numbered again after each column, so that keys stay small.
        keys = np.unique(keys * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    if not len(first):
        raise DataError("`groups` must hold at least one group", "none was found", hint="has every row a gap?")
    order = np.argsort(first)
    return first[order].astype(np.int64), np.argsort(order)[numbers].astype(np.int64)


def _read_people(value: Any) -> int | None:
    found = None if is_missing(value) else read_count(value)
    if found is None and not is_missing(value):
        raise DataError(f"column {PEOPLE!r} of the groups must hold whole numbers", "others were found")
    return found


# Reading a list of groups


def check_groups(groups: Any, votes: Any, request: Request) -> None:
    """Refuse a list of groups that is seen to come from the votes."""
    fault = find_fault(groups, votes, None, replace(request, item=request.by[0]), name="groups")
    if fault is not None:
        raise _refuse(fault)


def _refuse(fault: str) -> ParameterError:
    return ParameterError(
        "`groups` must be the public list of groups",
        f"{fault}. {_FROM_VOTES}",
        hint="pass `groups='groups.csv'`, a file that lists them; in Python, their values will do",
    )


def choose_groups(header: Header, request: Request) -> dict[str, str]:
    """Choose the columns of groups, and that of their people if there is one."""
    if is_table_of_votes(header, replace(request, item=request.by[0])):
        raise _refuse(f"it has a column {request.other!r}, like the votes, so it looks like a table of votes")
    known = PEOPLE in header.columns and PEOPLE not in request.by and header.origin is not Origin.UNKNOWN
    return header.take(name_groups(request.by) | ({PEOPLE: PEOPLE} if known else {}), where=GROUPS)


def make_columns(groups: Iterable[Any], by: Sequence[str]) -> dict[str, Any]:
    """Make columns of a list of values, or of tuples of them.

    >>> make_columns([("de", 1), ("at", 2)], ["country", "week"])
    {'country': ['de', 'at'], 'week': [1, 2]}
    """
    if len(by) == 1 and not isinstance(groups, list | tuple):
        return {by[0]: groups}
    rows = [row if isinstance(row, list | tuple) else (row,) for row in groups]
    if any(len(row) != len(by) for row in rows):
        raise ParameterError(
            f"`groups` must hold {len(by)} value{'s' * (len(by) > 1)} for each group",
            "some have more or fewer",
            hint=f"`by` names {len(by)} column{'s' * (len(by) > 1)}",
        )
    return {name: [row[place] for row in rows] for place, name in enumerate(by)}
