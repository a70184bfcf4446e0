"""What every source of votes offers: it describes itself, and after the charge it counts.

A source says from names and types alone which columns it has (`describe`). The request is checked against that, and
the ledger is charged. Only then is a row read or converted (`count`). So no failure that depends on a row is free.

The first line of a CSV file without a header is a vote, and the columns of an answer may be made from values. So
names are shown only where they are surely names.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.periods import Every
from shortlist.privacy.numbers import quote, read_whole
from shortlist.profile import Levels, Picks, Profile
from shortlist.votes.array_counts import ArrayTally
from shortlist.votes.dialects import NO_COUNT, SEVERAL_COUNTS, Column, Dialect
from shortlist.votes.failures import strip_context, translate_errors
from shortlist.votes.libraries import pa
from shortlist.votes.matching import can_match
from shortlist.votes.times import MOMENTS
from shortlist.votes.values import (
    ITEM_TYPES,
    LARGEST_WEIGHT,
    NUMBERS,
    Family,
    read_item,
    read_type,
    write_item,
)

if TYPE_CHECKING:
    from shortlist.periods import Span
    from shortlist.votes.domain import Domain
    from shortlist.votes.duckdb import Workspace
    from shortlist.votes.groups import Groups

VOTES = "the votes"
_R = TypeVar("_R")
_SHORTEST = 3
"""A name that is missing and has so many letters may be the beginning of the right one."""

_NO_HEADER = (
    " If there is no header, pass `{files}.Files.header=False`: columns are then called 1, 2 and so on. Fields must be "
    "separated by , ; | or a tab, or by the one character that you pass, as with `{files}.Files.delimiter=':'`"
)


class Origin(StrEnum):
    """Where the names of the columns stand."""

    SCHEMA = "schema"
    """In the schema of a Parquet file: they are names."""
    FRAME = "frame"
    """In a frame or a dict, where a table of items and persons or counts may have items as its columns."""
    FIRST_LINE = "first line"
    """In the first line of a CSV file, which is a vote if the file has no header."""
    POSITIONS = "positions"
    """Nowhere: votes in CSV without a header have columns that are called by their positions."""
    KEYS = "keys"
    """In the objects of JSON lines."""
    ANSWER = "answer"
    """In the answer to a query."""
    UNKNOWN = "unknown"
    """Nowhere: the file has no line, and its columns may be called anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of one table or file."""

    columns: Sequence[Any]
    origin: Origin = Origin.FRAME
    file: Path | None = None

    def take(self, wanted: Mapping[str, str], *, where: str) -> dict[str, str]:
        """Refuse a table that lacks a column or has it twice. Columns are given by their roles.

        >>> Header(columns=["user", "track"]).take({"other": "usr"}, where="the votes")
        Traceback (most recent call last):
        shortlist.errors.DataError: the votes must have a column 'usr'; there is none.
        Hint: did you mean 'user'?
        >>> Header(columns=["nation"], origin=Origin.FIRST_LINE).take({"group_0": "Nation"}, where="the groups")
        Traceback (most recent call last):
        shortlist.errors.DataError: the groups must have a column 'Nation'; there is none.
        Hint: did you mean 'nation'?
        """
        for name in wanted.values() if self.origin is not Origin.UNKNOWN else ():
            times = list(self.columns).count(name)
            if not times:
                raise self._describe_missing_column(name, where)
            if times > 1:
                raise DataError(f"{where} must have each column once", f"{name!r} is repeated{self._inside()}")
        return dict(wanted)

    def describe(self) -> str:
        """What was found, as far as an error may say it."""
        if self.origin is not Origin.SCHEMA:
            return f"there is none{self._inside()}"
        names = ", ".join(map(repr, self.columns[:20])) + (", ..." if len(self.columns) > 20 else "")
        return f"found {names or 'none'}{self._inside()}"

    def _describe_missing_column(self, name: str, where: str) -> DataError:
        # Of a first line, of keys and of an answer to a query nothing is repeated, if they may be votes.
        nearest = " or ".join(map(repr, self.find_nearest(name)))
        near = f"did you mean {nearest}?" if nearest else None
        if near is None and where == VOTES and name.casefold() in set(Every):
            near = f"if the votes have a date or a time, pass `time`, its column, and `every='{name.casefold()}'`"
        advice = {
            Origin.SCHEMA: near,
            Origin.FRAME: near,
            Origin.FIRST_LINE: "is the first line a header, and is the name written as there, in case and blanks too?"
            + (
                "" if where == "the groups" else _NO_HEADER.format(files="domain" if where == "the domain" else "votes")
            ),
            Origin.POSITIONS: "without a header, columns are called 1, 2 and so on",
            Origin.KEYS: "is each line one object, with the names of the columns as its keys?",
            Origin.ANSWER: f"name the column in the query: SELECT ... AS {name}",
        }[self.origin]
        if where != VOTES and self.origin in (Origin.FIRST_LINE, Origin.KEYS):
            advice = near or advice
        return DataError(f"{where} must have a column {name!r}", self.describe(), hint=advice)

    def find_nearest(self, name: str) -> list[str]:
        """Find the names like the one that is missing."""
        cutoff = 0.6 if self.origin is Origin.SCHEMA else 0.8
        texts = [each for each in self.columns if isinstance(each, str)]
        same = [each for each in texts if each.strip().casefold() == name.strip().casefold()]
        longer = [each for each in texts if len(name) >= _SHORTEST and each.casefold().startswith(name.casefold())][:2]
        return same or difflib.get_close_matches(name, texts, n=2, cutoff=cutoff) or longer

    def _inside(self) -> str:
        return "" if self.file is None else f" in {str(self.file)!r}"


Choose = Callable[[Header], dict[str, str]]
"""Says which columns are needed, by their roles, given those that are there; refuses a table without them."""


# What is asked of votes


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The column of items, the other column, and what is counted for each item.

    The other column holds persons, of whom each counts once for an item, and at most `cap` items of each count. In a
    table that is `counted` already, it holds counts. With a domain, items are its rows, else what the votes say.

    In a family, the columns `by` say the group of a vote. A person counts once for a cell, which is an item in a group,
    in at most `groups_per_person` groups, and for at most `cap` cells over all groups. A single list has no groups.

    With a `span`, only votes count whose time is in it. If it has periods, a group has one of them, too, and if it says
    what a unit is, both limits hold for one person in each period of that kind.

    With `choose_cap`, the cap is one of `caps`, and `cap` is the largest of them. It is chosen while the votes are
    counted, given for each of `caps` how many units have more votes than the one before it.

    With a column `weight`, rows have weights: those of a person for a cell are added up and cut at `max_weight`. A cell
    has the sum over persons. A row that weighs less than 1 is ignored, as if it were not there (weights.proof.md).
    """

    item: str
    other: str
    counted: bool = False
    cap: int | None = None
    by: tuple[str, ...] = ()
    groups_per_person: int | None = None
    domain: Domain | None = None
    groups: Groups | None = None
    with_people: bool = False
    """Whether the people of each group are counted, too, after the limits."""
    caps: tuple[int, ...] = ()
    choose_cap: Callable[[Sequence[int]], int] | None = None
    time: str | None = None
    span: Span | None = None
    weight: str | None = None
    max_weight: int = 1
    labels: tuple[str, ...] = ()
    """Further columns of the domain, which travel with its items."""
    checked: bool = False
    """Whether all rows are kept for a check, whatever their types, with the texts of items and persons as counts."""

    @property
    def columns(self) -> dict[str, str]:
        """The columns that are read, by their roles. A role is what the column is called in engines."""
        named = {"item": self.item, "other": self.other}
        if self.by:
            named |= name_groups(self.by)
        if self.time is not None:
            named["moment"] = self.time
        if self.weight is not None:
            named["weight"] = self.weight
        return named

    @property
    def public(self) -> dict[str, Domain]:
        """The public values that votes are matched to, by the roles of their columns."""
        items = {} if self.domain is None else {"item": self.domain}
        return items if self.groups is None else items | name_groups(self.groups.columns)

    def accepts(self, role: str, family: Family) -> bool:
        """Whether any value of a family can count in the column with a role. Bytes are read as their text."""
        public = self.public.get(role)
        if public is not None:
            return can_match(public.family, family)
        if role == "moment":
            return family in (*MOMENTS, Family.BYTES)
        if role == "weight":
            return family in (Family.TEXT, Family.BYTES, *NUMBERS)
        return role != "item" or family not in (Family.FLOAT, Family.OTHER)

    @property
    def cell(self) -> tuple[str, ...]:
        """The columns that make a cell."""
        return ("item",) if self.groups is None else ("group_number", "item")

    @property
    def limits(self) -> Iterable[tuple[tuple[str, ...], int]]:
        """The limits that are enforced, in their order: columns, and of how many values of them a person is kept.

        A limit on cells limits groups as well: who has m cells is in at most m groups.
        """
        groups = 1 if self.groups is None else self.count_lists(len(self.groups))
        if not self.counted and (self.groups_per_person or groups) < min(groups, self.cap or groups):
            yield ("group_number",), self.groups_per_person or groups
        if not self.counted and self.cap is not None:
            yield self.cell, self.cap

    @property
    def needs_pairs(self) -> bool:
        """Whether the different pairs of a person and a cell are listed: limits, people and weights need them."""
        return self.with_people or self.weight is not None or any(self.limits)

    def count_lists(self, lists: int) -> int:
        """Of so many lists, count those in which one unit can be."""
        return lists if self.span is None else self.span.count_lists(lists)


def name_groups(columns: Iterable[_R]) -> dict[str, _R]:
    """The columns of groups, or what belongs to each of them, by their roles."""
    return {f"group_{place}": each for place, each in enumerate(columns)}


def read_request(
    *,
    item: Any,
    person: Any = None,
    count: Any = None,
    votes_per_person: Any = None,
    by: Sequence[str] | str = (),
    groups_per_person: Any = None,
    time: str | None = None,
    span: Span | None = None,
    weight: str | None = None,
    max_weight: Any = None,
    **further: Any,
) -> Request:
    """Refuse columns that contradict each other. All that is given further is a field of `Request`.

    >>> read_request(item="track", person="user", count=None, votes_per_person=2).cap
    2
    """
    by = (by,) if isinstance(by, str) else tuple(by)
    named = [("item", item), ("person", person), ("count", count), *zip(repeat("by"), by, strict=False)]
    for name, column in named:
        if not isinstance(column, str) and (column is not None or name in ("item", "by")):
            raise ParameterError(f"`{name}` must be the name of a column, as text", f"not {type(column).__name__}")
    if (person is None) == (count is None):
        raise ParameterError(
            "`person` or `count` must be named, and only one of them",
            "neither was" if person is None else "both were",
            hint=("`person` names the column of who voted; `count` the counts of a table that is counted already"),
        )
    if item in (person, count):
        raise ParameterError(f"`item` and `{('person' if count is None else 'count')}` must be different columns")
    columns = [item, count if person is None else person, *by]
    if len({*columns}) < len(columns):
        twice = next(each for each in by if columns.count(each) > 1)
        raise ParameterError(
            "`by` must name columns that differ from each other and from all others", f"{quote(twice)} has two roles"
        )
    if time in columns:
        raise ParameterError("`time` must be a column that differs from all others", f"{quote(time)} has two roles")
    check_weight(weight, max_weight, person)
    if weight is not None and weight in (item, person, *by, time):
        raise ParameterError("`weight` must be a column that differs from all others", f"{quote(weight)} has two roles")
    for name, limit in (("votes_per_person", votes_per_person), ("groups_per_person", groups_per_person)):
        if limit is not None:
            read_whole(limit, name=name)
    if groups_per_person is not None and not by and not (span and span.periods):
        raise ParameterError("`groups_per_person` must go with `by`, the columns of the groups")
    if votes_per_person is not None and person is None:
        raise ParameterError(
            "`votes_per_person` must go with `person`",
            hint="in a table that is counted already, nobody's votes can be told apart",
        )
    return Request(
        item=item,
        other=count if person is None else person,
        counted=person is None,
        cap=votes_per_person,
        by=by,
        groups_per_person=groups_per_person,
        time=time,
        span=span,
        weight=weight,
        max_weight=max_weight or 1,
        **further,
    )


def check_weight(weight: Any, max_weight: Any, person: Any) -> None:
    """Refuse weights without a largest one, without persons, or with a largest one that engines could not add up."""
    if weight is None and max_weight is None:
        return
    if weight is not None and not isinstance(weight, str):
        raise ParameterError("`weight` must be the name of a column, as text", f"not {type(weight).__name__}")
    if weight is None:
        raise ParameterError("`max_weight` must go with `weight`, the column of weights")
    if person is None:
        raise ParameterError(
            "`weight` must go with `person`",
            hint="in a table that is counted already, `count` is the sum, and `sensitivity` what one person can add",
        )
    if max_weight is None:
        raise ParameterError(
            "`max_weight` must go with `weight`: how much one person adds to one item at most",
            hint="choose what a normal person adds, without looking at these data: `max_weight=60`, say",
        )
    whole = isinstance(max_weight, int) and not isinstance(max_weight, bool)
    if not whole or not 1 <= max_weight <= LARGEST_WEIGHT:
        raise ParameterError("`max_weight` must be a whole number from 1 to 2^53", f"not {quote(max_weight)}")


# Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The chosen columns by their roles, as a source describes them before a row is read, or as an engine has them.

    A column is missing where the values say its type. It has no family if it may be one of gaps: then it is not
    refused, and what cannot match is ignored. `holds_persons` says whether values of the other column can be persons.
    Rows that have other types are described in `more`. `handle` is what the source needs to read the columns: something
    of its own, or the relation of DuckDB that has them.
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    more: tuple[Description, ...] = ()
    holds_persons: bool = True
    handle: Any = None

    @classmethod
    def of(cls, fields: Iterable[Any], handle: Any) -> Description:
        """Describe columns by the fields of an Arrow schema, which are called by their roles."""
        columns, holds_persons = {}, True
        for each in fields:
            known = read_type(each.type)
            family = None if pa.types.is_null(each.type) else known.family
            columns[each.name] = Column(value=f"v.{each.name}", arrow=each.type, family=family)
            holds_persons = holds_persons and (known.holds_persons or each.name != "other")
        return cls(columns=columns, holds_persons=holds_persons, handle=handle)

    @property
    def parts(self) -> tuple[Description, ...]:
        """These rows, and more."""
        return self, *self.more

    def list_families(self, role: str) -> list[Family]:
        """The families of a column: several where files differ, none where the values say it."""
        found = dict.fromkeys(part.columns[role].family for part in self.parts if role in part.columns)
        return [family for family in found if family is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All rows of some columns, in batches: Arrow arrays of one type, or Python values where `kinds` has None.

    `kinds` are the types by the roles of the columns, in the order of each batch.
    """

    kinds: Mapping[str, Any]
    batches: Generator[tuple[Any, ...], None, None]

    @classmethod
    def of(cls, stream: Any) -> Table:
        """The columns of a table or a reader of Arrow, which are called by their roles."""
        batches = stream.to_reader() if hasattr(stream, "to_reader") else stream
        kinds = dict(zip(stream.schema.names, stream.schema.types, strict=True))
        return cls(kinds=kinds, batches=(tuple(batch.columns) for batch in batches))

    def read_columns(self) -> dict[str, Any]:
        """Each column as one Arrow array, or as a list of values if it has no type."""
        with closing(self.batches):
            columns = list(zip(*self.batches, strict=True)) or [()] * len(self.kinds)
        return {
            role: list(chain.from_iterable(parts)) if kind is None else pa.chunked_array(parts, kind)
            for (role, kind), parts in zip(self.kinds.items(), columns, strict=True)
        }


class Source(ABC):
    """A table in the engine that holds it. Errors call it by its name, and add a hint if the engine has one.

    Methods may fail with the engine's own errors. Whoever calls them wraps the call in `explain_failures`.
    """

    hint: str | None = None

    def __init__(self, workspace: Workspace, given: Any, name: str) -> None:
        self._workspace = workspace
        self._given = given
        self._name = name

    def explain_failures(self) -> AbstractContextManager[None]:
        """Say in our words that the engine failed."""
        return translate_errors(self._name, hint=self.hint)

    @abstractmethod
    def describe(self, choose: Choose) -> Description:
        """Describe the chosen columns by names and types alone. No row is read."""

    @abstractmethod
    def open(self, described: Description) -> Table:
        """Read the described columns."""

    def count(self, described: Description, request: Request) -> Tally:
        """Count votes for each item. By itself, a source lets DuckDB count its rows."""
        return self.read_rows(described, request, partial(self._workspace.count, request=request))

    def read_rows(self, described: Description, request: Request, use: Callable[[Any, Description], _R]) -> _R:
        """Use all rows of the described columns, and the connection that has them."""
        table, workspace = self.open(described), self._workspace
        with closing(table.batches), workspace.read_streams():
            return use(workspace.connection, workspace.open_table(table, request))


def check_types(described: Description, request: Request) -> None:
    """Refuse a column of which no value can ever count. That depends on types alone, not on votes.

    Of several files, one that fits is enough.
    """
    for role, column in request.columns.items():
        found = described.list_families(role)
        if found and not any(map(partial(request.accepts, role), found)):
            unlisted = "without a domain, " if role == "item" and request.domain is None else ""
            expected, hint = _describe_expected(role, request.public.get(role))
            raise DataError(
                f"{unlisted}column {column!r} of the votes must hold {expected}",
                f"it holds {' and '.join(found)}",
                hint=hint,
            )
    # Each engine would compare other persons in its own way.
    if not described.holds_persons and not request.counted:
        raise DataError(
            f"column {request.other!r} of the votes must hold persons as plain values",
            "it holds lists, structures, intervals or numbers of more than 38 digits",
            hint="make one text of their parts",
        )


def _describe_expected(role: str, public: Domain | None) -> tuple[str, str]:
    """What the column with a role must hold, and how to get there."""
    if public is not None:
        meant = "items of the domain, which" if role == "item" else "groups, whose list"
        return f"values that can be {meant} holds {public.family}", "cast one of them to the type of the other"
    return {
        "item": (ITEM_TYPES, "cast it to text or to whole numbers"),
        "moment": (
            "dates, timestamps or text such as 2026-08-31 or 2026-08-31T23:59Z",
            "cast it to a date or a timestamp",
        ),
        "weight": (
            "weights: numbers, or text such as 12 or 12.5",
            "cast it to whole numbers, of seconds or minutes, say",
        ),
    }[role]


# Counted votes


class Tally(Protocol):
    """The votes of every cell, counted and fixed: nothing is read a second time. A single list is a family of one.

    Items on one level of a group are ranked in ascending order, which is the same on every engine: numbers and times by
    value, false before true, text and bytes by their (UTF-8) bytes. Without a domain, how many items there are is data,
    and must not be published. Rows and names are found for all groups together, so that the engine is asked once.
    """

    @property
    def people(self) -> IntArray | None:
        """How many persons each group has after the limits, if the request asks for it."""

    def __len__(self) -> int:
        """How many groups there are."""

    def __getitem__(self, group: int) -> Levels:
        """The levels of one group."""

    def __iter__(self) -> Iterator[Levels]:
        """The levels of each group."""

    def rows(self, picks: Sequence[Picks]) -> list[IntArray]:
        """The row of each pick, group by group: in the domain, or among the items of all picks in their order."""

    def names(self, rows: Sequence[IntArray]) -> list[Sequence[Any]]:
        """The items of some rows, group by group, as the domain wrote them."""


class LocalTally:
    """The votes of every row of the domain, in memory: a family of one list.

    It needs no table of DuckDB. With one, a whole release from 300,000 votes takes 1.2 times as long for a table of
    Arrow, and 2.7 times for one of Polars, which starts DuckDB for nothing else.
    """

    people = None

    def __init__(self, domain: Domain, counts: IntArray) -> None:
        self._domain, self._lists = domain, [ArrayTally(counts)]

    def __len__(self) -> int:
        return len(self._lists)

    def __getitem__(self, group: int) -> ArrayTally:
        return self._lists[group]

    def __iter__(self) -> Iterator[ArrayTally]:
        return iter(self._lists)

    def rows(self, picks: Sequence[Picks]) -> list[IntArray]:
        """The row of each pick."""
        return list(map(ArrayTally.items, self._lists, picks))

    @strip_context
    def names(self, rows: Sequence[IntArray]) -> list[Sequence[Any]]:
        """The items of some rows, as the domain wrote them."""
        return list(map(self._domain.names, rows))


Ask = Callable[[str], Sequence[Sequence[Any]]]
"""Answer a query on `{table}`, column by column."""


class CellTally:
    """Votes in a table of an engine, which is computed once. Only levels and chosen rows or items come back.

    The table has the columns of a cell, and `votes`. With a domain, an item is the number of a row, or its place among
    the items of its group, and rows that are missing have no vote. Otherwise `write` writes an item as the bytes of
    `write_item`.

    A table under a private cap has a row for each cell and step between two caps. The cap is chosen here, and all that
    is asked later is asked of the votes within it.
    """

    def __init__(
        self,
        dialect: Dialect,
        ask: Ask,
        request: Request,
        *,
        write: Callable[[Any], bytes | None] = write_item,
        hint: str | None = None,
    ) -> None:
        if request.choose_cap is not None:
            ask = _apply_cap(dialect, ask, request, request.choose_cap)
        self._dialect, self._ask, self._hint = dialect, ask, hint
        self._domain, self._groups, self._cell, self._write = request.domain, request.groups, request.cell, write
        self._chosen: Sequence[Any] = ()
        with_domain, with_people = self._domain is not None, request.with_people
        asked = dialect.write_levels(request.cell, with_domain, with_people)
        levels = [np.asarray(column, dtype=np.int64) for column in ask(asked)]
        numbers, values, sizes, *firsts = np.array(levels, dtype=np.int64).reshape(3 + with_people, -1)
        check_counts(np.unique(values).tolist())
        falling = np.lexsort((-values, numbers))
        self._numbers, self._values, self._sizes = numbers[falling], values[falling], sizes[falling]
        count = 1 if self._groups is None else len(self._groups)
        self._starts = np.searchsorted(self._numbers, np.arange(count + 1))
        self.people: IntArray | None = None
        if with_people:
            self.people = np.zeros(count, dtype=np.int64)
            np.add.at(self.people, numbers, firsts[0])
        voted = np.append(0, np.cumsum(self._sizes))[self._starts]
        sums = np.diff(voted)
        if self._domain is not None:
            sums = np.array([self._domain.d]) if self._groups is None else self._groups.count_items(self._domain)
        self._rest = sums - np.diff(voted)
        if voted[-1] - voted[0] < self._sizes.sum() or self._rest.min() < 0:
            raise ChangedError("each row of the domain must be counted once")

    def __len__(self) -> int:
        return len(self._rest)

    def __getitem__(self, group: int) -> Profile:
        group = range(len(self))[group]
        part, rest = slice(self._starts[group], self._starts[group + 1]), self._rest[group]
        values, sizes = self._values[part], self._sizes[part]
        if rest:
            values, sizes = np.append(values, 0), np.append(sizes, rest)
        return Profile(values=values, sizes=sizes, d=int(sizes.sum()))

    def __iter__(self) -> Iterator[Profile]:
        return map(self.__getitem__, range(len(self)))

    @strip_context
    def rows(self, picks: Sequence[Picks]) -> list[IntArray]:
        """The row of each pick. Without a domain, picks are numbered in the order of their items, which are kept."""
        numbers = np.repeat(np.arange(len(picks)), [len(each.levels) for each in picks])
        levels, ranks = (np.concatenate(parts) for parts in ([p.levels for p in picks], [p.ranks for p in picks]))
        found = np.empty(len(numbers), dtype=object)
        with translate_errors("the chosen items", hint=self._hint):
            unvoted = (levels == 0) & (self._domain is not None)
            for chosen, write in ((unvoted, self._dialect.write_unvoted), (~unvoted, self._dialect.write_finding)):
                places = np.flatnonzero(chosen)
                columns = (places, *(column[places] for column in (numbers, levels, ranks)))
                sql = write(self._cell, [",".join(map(str, column.tolist())) for column in columns])
                for place, item in zip(*self._ask(sql), strict=True) if len(places) else ():
                    found[place] = item
        if self._domain is None:
            found[:] = [None if item is None else self._write(item) for item in found]
        if None in found.tolist():
            raise ChangedError("the counted items must not change between two reads")
        if self._domain is None:
            keys = sorted(set(found))
            self._chosen, rows = [read_item(key) for key in keys], {key: row for row, key in enumerate(keys)}
            found[:] = [rows[key] for key in found]
        elif self._groups is not None:
            found = self._groups.find_rows(numbers, found.astype(np.int64))
        return _split(found.astype(np.int64), [each.levels for each in picks])

    @strip_context
    def names(self, rows: Sequence[IntArray]) -> list[Sequence[Any]]:
        """The items of some rows: as the domain wrote them, or those of the last picks."""
        together = np.concatenate(rows)
        found = [self._chosen[row] for row in together] if self._domain is None else self._domain.names(together)
        return _split(found, rows)


def _apply_cap(dialect: Dialect, ask: Ask, request: Request, choose: Callable[[Sequence[int]], int]) -> Ask:
    exceeding = dict(zip(*(np.asarray(column).tolist() for column in ask(dialect.write_exceeding())), strict=True))
    cap = choose([int(exceeding.get(step, 0)) for step in range(len(request.caps))])
    within = dialect.write_within(request.cell, request.caps.index(cap), request.with_people)
    return lambda sql: ask(sql.replace("{table}", within))


def _split(together: Any, like: Sequence[IntArray]) -> list[Any]:
    ends = np.cumsum([len(each) for each in like])
    return [together[end - len(each) : end] for end, each in zip(ends.tolist(), like, strict=True)]


def check_counts(votes: Iterable[int]) -> None:
    """Refuse a table of counts in which a group has no count, or several.

    >>> check_counts([3, 0, -2])
    Traceback (most recent call last):
    shortlist.errors.DataError: counts must name each item once; some items have several rows.
    Hint: add the rows up first, and let sensitivity say what one person can add to the sum
    """
    found = set(votes)
    if NO_COUNT in found:
        raise DataError(
            "counts must be whole numbers from 0 to 2^63 − 1",
            "others were found",
            hint="is it the right column? In a file of text, write 1000, not 1,000 or 1000.0; leave a gap for no count",
        )
    if SEVERAL_COUNTS in found:
        raise DataError(
            "counts must name each item once",
            "some items have several rows",
            hint="add the rows up first, and let `sensitivity` say what one person can add to the sum",
        )


def scatter_counts(rows: Any, votes: Any, *, d: int) -> IntArray:
    """Write the counts of some rows into an array of all rows; refuse a row that is unknown, missing or repeated.

    >>> scatter_counts([2, 0], [5, 7], d=4).tolist()
    [7, 0, 5, 0]
    """
    missing = np.any(getattr(rows, "mask", False)) or np.any(getattr(votes, "mask", False))
    counts, places = np.zeros(d, dtype=np.int64), np.asarray(rows, dtype=np.int64)
    outside = bool(((places < 0) | (places >= d)).any())
    if missing or outside or np.bincount(places, minlength=d).max() > 1:
        raise ChangedError("each row of the domain must be counted once")
    counts[places] = np.asarray(votes, dtype=np.int64)
    return counts
