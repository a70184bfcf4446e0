"""What every source of votes offers: it describes itself, and after the charge it counts.

A source says from names and types alone which columns it has (`describe`). The request is checked against that, and
the ledger is charged. Only then is a row read or converted (`count`). So no failure that depends on a row is free.

The first line of a CSV file without a header is a vote, and the columns of an answer may be made from values. So
names are shown only where they are surely names.
"""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.privacy.numbers import quote
from shortlist.profile import EVERY_LEVEL, Picks, Profile
from shortlist.votes.array_counts import ArrayTally
from shortlist.votes.failures import strip_context, translate_errors
from shortlist.votes.matching import can_match
from shortlist.votes.values import Family, read_item, write_item

if TYPE_CHECKING:
    from shortlist.votes.domain import Domain
    from shortlist.votes.duckdb import Workspace

VOTES = "the votes"
_R = TypeVar("_R")
_SHORTEST = 3
"""A name that is missing and has so many letters may be the beginning of the right one."""

_NO_HEADER_OF_VOTES = (
    " If there is no header, pass `votes.Files.header=False`: columns are then called 1, 2 and so on. Fields must be "
    "separated by , ; | or a tab, or by the one character that you pass, as with `votes.Files.delimiter=':'`"
)
_NO_HEADER_OF_DOMAIN = _NO_HEADER_OF_VOTES.replace("`votes.", "`domain.")


class Origin(StrEnum):
    """Where the names of the columns stand."""

    SCHEMA = "schema"
    """In the schema of a Parquet file: they are names."""
    FRAME = "frame"
    """In a frame or a dict, where a table of items and persons or counts may have items as its columns."""
    FIRST_LINE = "first line"
    """In the first line of a CSV file, which is a vote if the file has no header."""
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

    def take(self, wanted: Sequence[str], *, where: str) -> list[str]:
        """Refuse a table that lacks a column or has it twice.

        >>> Header(columns=["user", "track"]).take(["usr"], where="the votes")
        Traceback (most recent call last):
        shortlist.errors.DataError: the votes must have a column 'usr'; there is none.
        Hint: did you mean 'user'?
        """
        for name in wanted if self.origin is not Origin.UNKNOWN else ():
            times = list(self.columns).count(name)
            if not times:
                raise self._describe_missing_column(name, where)
            if times > 1:
                raise DataError(f"{where} must have each column once", f"{name!r} is repeated{self._inside()}")
        return list(wanted)

    def describe(self) -> str:
        """What was found, as far as an error may say it."""
        if self.origin is not Origin.SCHEMA:
            return f"there is none{self._inside()}"
        names = ", ".join(map(repr, self.columns[:20])) + (", ..." if len(self.columns) > 20 else "")
        return f"found {names or 'none'}{self._inside()}"

    def _describe_missing_column(self, name: str, where: str) -> DataError:
        # Of a first line, of keys and of an answer nothing is repeated: they may be data.
        nearest = " or ".join(self._nearest(name))
        near = f"did you mean {nearest}?" if nearest else None
        advice = {
            Origin.SCHEMA: near,
            Origin.FRAME: near,
            Origin.FIRST_LINE: "is the first line a header, and is the name written as there, in case and blanks too?"
            + (_NO_HEADER_OF_DOMAIN if where == "the domain" else _NO_HEADER_OF_VOTES),
            Origin.KEYS: "is each line one object, with the names of the columns as its keys?",
            Origin.ANSWER: f"name the column in the query: SELECT ... AS {name}",
        }[self.origin]
        return DataError(f"{where} must have a column {name!r}", self.describe(), hint=advice)

    def _nearest(self, name: str) -> list[str]:
        """The names like the one that is missing, quoted."""
        cutoff = 0.6 if self.origin is Origin.SCHEMA else 0.8
        texts = [each for each in self.columns if isinstance(each, str)]
        same = [each for each in texts if each.strip().casefold() == name.strip().casefold()]
        longer = [each for each in texts if len(name) >= _SHORTEST and each.casefold().startswith(name.casefold())][:2]
        return list(map(repr, same or difflib.get_close_matches(name, texts, n=2, cutoff=cutoff) or longer))

    def _inside(self) -> str:
        return "" if self.file is None else f" in {str(self.file)!r}"


Choose = Callable[[Header], list[str]]
"""Says which columns are needed, given those that are there; refuses a table without them."""


# Columns of votes


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonColumn:
    """The column of who voted. With a cap, at most so many items of each person count."""

    name: str
    cap: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountColumn:
    """The column of counts, of a table that is counted already."""

    name: str


Voters = PersonColumn | CountColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteColumns:
    """The column of items, and the column of persons or of counts (`voters`)."""

    item: str
    voters: Voters

    def choose(self, header: Header) -> list[str]:
        """The two columns, each of which must be there once."""
        return header.take([self.item, self.voters.name], where=VOTES)


def read_columns(*, item: Any, person: Any, count: Any, votes_per_person: Any) -> VoteColumns:
    """Refuse columns that contradict each other.

    >>> read_columns(item="track", person="user", count=None, votes_per_person=2).voters
    PersonColumn(name='user', cap=2)
    """
    for name, column in (("item", item), ("person", person), ("count", count)):
        if not isinstance(column, str) and (column is not None or name == "item"):
            raise ParameterError(f"`{name}` must be the name of a column, as text", f"not {type(column).__name__}")
    if (person is None) == (count is None):
        raise ParameterError(
            "`person` or `count` must be named, and only one of them",
            "neither was" if person is None else "both were",
            hint=("`person` names the column of who voted; `count` the counts of a table that is counted already"),
        )
    if item in (person, count):
        raise ParameterError(f"`item` and `{('person' if count is None else 'count')}` must be different columns")
    if votes_per_person is not None:
        _check_cap(votes_per_person, counted=person is None)
    voters = CountColumn(name=count) if person is None else PersonColumn(name=person, cap=votes_per_person)
    return VoteColumns(item=item, voters=voters)


def _check_cap(cap: Any, *, counted: bool) -> None:
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= EVERY_LEVEL:
        raise ParameterError("`votes_per_person` must be a whole number from 1", f"not {quote(cap)}")
    if counted:
        raise ParameterError(
            "`votes_per_person` must go with `person`",
            hint="in a table that is counted already, nobody's votes can be told apart",
        )


# Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a source says of the chosen columns before a row is read.

    `family` is that of the items, None where the values say it: then no type is refused, and what cannot match is
    ignored. `plain` says whether the values of the other column can be persons. `held` is the source's own.
    """

    family: Family | None = None
    plain: bool = True
    held: Any = None


Batch = tuple[Sequence[Any], ...]
"""The items of some rows, and their persons or counts, as Python values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRows:
    """A relation of the workspace with the columns `item` and `other`, and the type and family of its items."""

    relation: Any
    kept: Any
    family: Family


Rows = TypedRows | Iterable[Batch]
"""All rows of a table, in columns with types or in batches of Python values."""


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
    def read_items(self, described: Description) -> Any:
        """The different items of the first described column, as an Arrow array."""

    @abstractmethod
    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Match votes to the rows of a domain, and count different persons for each row."""

    @abstractmethod
    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group votes by item, without a domain, and count different persons for each item."""

    @abstractmethod
    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows of the two described columns. A release never asks for them; a check does."""


class LateSource(Source):
    """A source that only after the charge can say which other source holds its votes. Define `hand_over`."""

    @abstractmethod
    def hand_over(self, described: Description) -> tuple[Source, Description]:
        """The source that holds the votes, and what it says of the described columns."""

    def read_items(self, described: Description) -> Any:
        """The different items."""
        source, found = self.hand_over(described)
        return source.read_items(found)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in the other source."""
        source, found = self.hand_over(described)
        return source.count(found, domain, voters)

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group in the other source."""
        source, found = self.hand_over(described)
        return source.count_observed(found, voters)

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows of the other source."""
        source, found = self.hand_over(described)
        return source.read_rows(found, use)


def check_comparable(described: Description, domain: Domain, columns: VoteColumns) -> None:
    """Refuse a column of which no value can ever be an item. That depends on types alone, not on votes."""
    if described.family is not None and not can_match(domain.family, described.family):
        raise DataError(
            f"column {columns.item!r} of the votes must hold values that can be items of the domain, which "
            f"holds {domain.family}",
            f"it holds {described.family}",
            hint="cast one of them to the type of the other",
        )


def check_observable(described: Description, columns: VoteColumns) -> None:
    """Refuse a column whose type no item of a domain has. That depends on types alone, not on votes."""
    if described.family in (Family.FLOAT, Family.OTHER):
        raise DataError(
            f"without a domain, column {columns.item!r} of the votes must hold text, whole numbers, "
            "booleans, dates, times, timestamps, decimals or bytes",
            f"it holds {described.family}",
            hint="cast it to text or to whole numbers",
        )


def check_persons(described: Description, columns: VoteColumns) -> None:
    """Refuse persons whose type each engine compares in its own way. That depends on types alone."""
    if not described.plain and not isinstance(columns.voters, CountColumn):
        raise DataError(
            f"column {columns.voters.name!r} of the votes must hold persons as plain values",
            "it holds lists, structures, intervals or numbers of more than 38 digits",
            hint="make one text of their parts",
        )


# Counted votes


class Tally(Protocol):
    """The votes of every item of a domain, counted and fixed: nothing is read a second time.

    A tally satisfies `Levels`. Items on one level are ranked in ascending order, which is the same on every engine:
    numbers and times by value, false before true, text and bytes by their (UTF-8) bytes.
    """

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick in the domain."""

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows, as the domain wrote them."""


NO_COUNT, SEVERAL_COUNTS = -1, -2
"""In place of the votes of a group: a value of it is no count, or it has several rows."""


Find = Callable[[IntArray, IntArray], Iterable[tuple[int, int, Any]]]
"""Given the counts and ranks of some picks, answers with count, rank and row number (or item) of each."""


class LocalTally:
    """The votes of every row of the domain, in memory."""

    def __init__(self, domain: Domain, counts: IntArray) -> None:
        self._domain = domain
        self._tally = ArrayTally(counts)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""
        return self._tally.above(k, depth)

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        return self._tally.items(picks)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)


class _TableTally:
    """Votes in a table of an engine that is computed once. Only levels and chosen rows or items come back."""

    def __init__(self, levels: Iterable[tuple[int, int]], find: Find) -> None:
        """Take the number of groups of each count, and a way to find the chosen ones."""
        falling = sorted(levels, reverse=True)
        check_counts(value for value, _ in falling)
        values, sizes = (np.array([level[part] for level in falling], dtype=np.int64) for part in (0, 1))
        self._profile = Profile(values=values, sizes=sizes, d=int(sizes.sum()))
        self._find = find

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    def _find_picks(self, picks: Picks) -> list[Any]:
        """The row or item of each pick."""
        wanted = list(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
        found = {(level, rank): each for level, rank, each in self._find(picks.levels, picks.ranks)} if wanted else {}
        if not all(pick in found for pick in wanted):
            raise ChangedError("the counted items must not change between two reads")
        return [found[pick] for pick in wanted]


class RemoteTally(_TableTally):
    """The votes of every row of the domain."""

    def __init__(self, domain: Domain, levels: Iterable[tuple[int, int]], find: Find) -> None:
        """Take levels that count every row of the domain, and a way to find row numbers."""
        super().__init__(levels, find)
        self._domain = domain
        if self._profile.d != domain.d:
            raise ChangedError("each row of the domain must be counted once")

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        return np.array(self._find_picks(picks), dtype=np.int64)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)


class ObservedTally(_TableTally):
    """The votes of every observed item.

    Items on one level are ranked in ascending order: numbers and times by value, text and bytes by their bytes. How
    many items there are is data, and must not be published.
    """

    _chosen: Sequence[Any] = ()

    @property
    def d(self) -> int:
        """How many items there are. It is not public."""
        return self._profile.d

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """Number the picks in the order of their items, and keep the items."""
        written = [write_item(item) for item in self._find_picks(picks)]
        keys = sorted(key for key in set(written) if key is not None)
        if None in written:
            raise ChangedError("the counted items must not change between two reads")
        self._chosen = [read_item(key) for key in keys]
        places = {key: place for place, key in enumerate(keys)}
        return np.array([places[key] for key in written if key is not None], dtype=np.int64)

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows of the last picks."""
        return [self._chosen[row] for row in rows.tolist()]


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


def scatter_counts(found: Any, *, d: int) -> IntArray:
    """Write the counts of some rows into an array of all rows; refuse a row that is unknown, missing or repeated.

    >>> scatter_counts({"row": [2, 0], "votes": [5, 7]}, d=4).tolist()
    [7, 0, 5, 0]
    """
    missing = any(np.any(getattr(found[name], "mask", False)) for name in ("row", "votes"))
    counts = np.zeros(d, dtype=np.int64)
    rows = np.asarray(found["row"], dtype=np.int64)
    outside = bool(((rows < 0) | (rows >= d)).any())
    if missing or outside or np.bincount(rows, minlength=d).max() > 1:
        raise ChangedError("each row of the domain must be counted once")
    counts[rows] = np.asarray(found["votes"], dtype=np.int64)
    return counts
