"""The domain: the public list of all items that a release may name, as numbered rows.

It is read first and by itself. The number of items, their type and their spelling come from it alone. A domain that
is seen to come from the votes is refused; no value is compared for that, and none is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.votes.failures import translate_errors
from shortlist.votes.files import STDIN, Files, as_files, identify_files, is_path
from shortlist.votes.libraries import compute, duckdb, find_library, has_columns, pa, pl
from shortlist.votes.queries import Query, list_sources, list_texts, reads_from
from shortlist.votes.source import Header, Origin, Request
from shortlist.votes.values import DIGITS, ITEM_TYPES, Family, is_missing, read_type, write_exact

NAME = "the domain"
_FROM_VOTES = (
    "If the list came from the votes, an item that only one person voted for could be released if and only if that "
    "person is in the data, and no differentially private release may tell that. So the list has to be known without "
    "the votes, and items that nobody voted for belong in it."
)
_INVENTED = re.compile(r"\w+_[0-9a-f]{16}")
"""The name that DuckDB gives to a relation without one. No two relations have the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """The different items of a domain, in rising order: numbers and times by value, text and bytes by their bytes."""

    items: Any
    """An Arrow array; timestamps are stored in UTC."""
    family: Family
    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further columns of the domain, by name: a label for each item."""

    @property
    def d(self) -> int:
        """How many items there are."""
        return len(self.items)

    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return list(self._convert(self.items.take(pa.array(rows))))

    def find_labels(self, rows: IntArray) -> dict[str, tuple[Any, ...]]:
        """The labels of the items of some rows, column by column."""
        return {name: tuple(column[row] for row in rows.tolist()) for name, column in self.labels.items()}

    def values(self) -> Iterator[Any]:
        """All items, in the order of their rows."""
        return self._convert(self.items)

    def _convert(self, items: Any) -> Iterator[Any]:
        values = iter(items.to_pylist())
        if self.family == Family.AWARE:
            return (value.replace(tzinfo=UTC) for value in values)
        return map(int, values) if self.family == Family.INTEGER else values


def number_items(column: Any, *, noun: str = "item", of: str = "domain") -> Domain:
    """Sort the items of an Arrow column and drop duplicates and gaps.

    >>> import pyarrow as pa
    >>> number_items(pa.array(["b", None, "a", "b"])).names(np.array([0, 1]))
    ['a', 'b']
    """
    family = read_type(column.type).family
    if family in (Family.FLOAT, Family.OTHER) and not pa.types.is_null(column.type):
        raise DataError(
            f"the {noun}s of the {of} must be {ITEM_TYPES}",
            f"not {family}",
            hint=("cast them to text or to whole numbers; in pandas, a column of whole numbers with gaps is 'Int64'"),
        )
    with translate_errors(f"the {of}", hint="timestamps must be whole microseconds, and numbers may have 38 digits"):
        column = write_exact(column)
        column = column.cast(_choose_held_type(column.type, family))
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        column = column.drop_null()
        if len(column):
            column = column.take(compute.sort_indices(column))
            later = compute.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
            column = column.filter(pa.array(np.concatenate([[True], later])))
    if not len(column):
        raise DataError(f"`{of}` must hold at least one {noun}", "none was found", hint="is it the right column?")
    decimal = family == Family.DECIMAL and column.type.scale <= 0
    return Domain(items=column, family=Family.INTEGER if decimal else family)


def encode_items(column: Any, *, noun: str = "item", of: str = "domain") -> tuple[Domain, IntArray]:
    """Number the items of an Arrow column, and tell the number of each entry: −1 for a gap.

    >>> import pyarrow as pa
    >>> encode_items(pa.array(["b", None, "a", "b"]))[1]
    array([ 1, -1,  0,  1])
    """
    numbered = number_items(column, noun=noun, of=of)
    return numbered, _find_rows(numbered, column)


def add_labels(domain: Domain, items: Any, columns: Mapping[str, Any]) -> Domain:
    """Give each item the labels of its first entry in a column of items.

    >>> import pyarrow as pa
    >>> items = pa.array(["b", None, "a", "b"])
    >>> add_labels(number_items(items), items, {"title": ["B", "none", "A", "other"]}).find_labels(np.array([1, 0]))
    {'title': ('B', 'A')}
    """
    found, first = np.unique(_find_rows(domain, items), return_index=True)
    places = first[found >= 0].tolist()
    values = {name: _make_alike(column) for name, column in columns.items()}
    return replace(domain, labels={name: [column[place] for place in places] for name, column in values.items()})


def _make_alike(column: Any) -> list[Any]:
    """Give labels one type that a record can hold. Others, such as fractions, become text; a missing label is None."""
    listed = column if isinstance(column, list) else column.to_pylist()
    values = [None if is_missing(label) else label for label in listed]
    kinds = {type(label) for label in values} - {type(None)}
    if len(kinds) <= 1 and kinds <= {bool, int, str, Decimal, bytes, date, datetime, time}:
        return values
    return [None if label is None else str(label) for label in values]


def _find_rows(domain: Domain, column: Any) -> IntArray:
    """The row of each entry of a column of items: −1 for a gap."""
    codes = compute.index_in(write_exact(column).cast(domain.items.type), domain.items)
    return np.asarray(codes.fill_null(-1), dtype=np.int64)


def _choose_held_type(exact: Any, family: Family) -> Any:
    """The type that we hold items in: one for each family, wide enough for all of its values."""
    if family == Family.INTEGER:
        return pa.decimal128(DIGITS, 0) if exact == pa.uint64() else pa.int64()
    if family == Family.DECIMAL:
        return pa.decimal128(DIGITS, max(exact.scale, 0))
    held = {
        Family.TEXT: pa.large_string(),
        Family.BYTES: pa.large_binary(),
        Family.NAIVE: pa.timestamp("us"),
        Family.AWARE: pa.timestamp("us"),
        Family.TIME: pa.time64("us"),
    }
    return held.get(family, exact)


# Whether the domain comes from the votes


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, request: Request) -> None:
    """Refuse to go on without a domain, or with one that is seen to come from the votes."""
    fault = "none was given" if domain is None else find_fault(domain, votes, domain_column, request)
    if fault is not None:
        raise _refuse(fault)


def _refuse(fault: str, otherwise: str = "or another source of items") -> ParameterError:
    return ParameterError(
        "`domain` must be the public list of all items that may be released, voted for or not",
        f"{fault}. {_FROM_VOTES}",
        hint=f"pass `domain='catalogue.csv'`, a file that lists them, {otherwise}",
    )


def choose_item(header: Header, column: str | None, request: Request) -> dict[str, str]:
    """Choose the column that was named, else the one called like the votes' column of items, else the only one.

    The only column of a CSV file is not enough: its first line is an item if the file has no header. A table of votes
    is no catalogue, wherever it was copied to.
    """
    item, listed = request.item, header.origin is not Origin.FIRST_LINE
    if column in (None, item) and is_table_of_votes(header, request):
        raise _refuse(
            f"it has a column {request.other!r}, like the votes, so it looks like a table of votes",
            "or, if it is such a list, its column of items alone",
        )
    if column is None and item not in header.columns:
        if not listed or len(header.columns) != 1:
            near = [] if header.origin is Origin.ANSWER else header.find_nearest(item)[:1]
            raise DataError(
                f"the domain must have a column {item!r}" + (", or one column only" if listed else ""),
                f"{header.describe()}",
                hint=f"name the column of items with `domain_column{f'={near[0]!r}' if near else ''}`"
                + ("" if listed else "; if the first line is an item and no header, pass `domain.Files.header=False`")
                + "; or is `item` misspelt?",
            )
        (column,) = header.columns
    return header.take({"item": item if column is None else column}, where=NAME)


def is_table_of_votes(header: Header, request: Request) -> bool:
    """Whether there are columns called like those of items and of persons. Positions in place of names say nothing."""
    named = not request.counted and not request.other.isdecimal() and header.origin is not Origin.UNKNOWN
    return named and request.item in header.columns and request.other in header.columns


def find_fault(
    domain: Any, votes: Any, domain_column: str | None, request: Request, *, name: str = "domain"
) -> str | None:
    """Say how the domain comes from the votes; None if it does not, or if that cannot be seen."""
    item, same_column = request.item, domain_column in (None, request.item)
    if isinstance(domain, Query) and isinstance(votes, Query) and reads_from(domain, votes):
        return "the query reads the table of the votes"
    if isinstance(domain, Query) and is_path(votes) and _reads_files(domain, votes):
        return "the query reads a file of the votes"
    if same_column and _is_same(domain, votes, name):
        return "the votes themselves were given"
    libraries, taken = {find_library(domain), find_library(votes)}, False
    if isinstance(votes, Mapping):
        taken = same_column and votes.get(item) is domain
    elif libraries <= {"polars", "pyarrow"}:
        # A table of counts may be made from the catalogue, and then it has the memory of the catalogue.
        taken = not request.counted and _is_same_memory(domain, domain_column or item, votes, item)
    elif libraries == {"pandas"} and has_columns(votes):
        # What pandas takes out of a frame has the very index of the frame.
        index, names = getattr(domain, "index", None), getattr(domain, "columns", [getattr(domain, "name", None)])
        taken = same_column and index is not None and index.is_(votes.index) and item in list(names)
    elif libraries == {"duckdb"} and has_columns(domain) and has_columns(votes) and _reads_relation(domain, votes):
        return "the relation reads the table of the votes"
    elif libraries in ({"pyspark"}, {"ibis"}):
        taken = same_column and _is_projection(domain, votes, item)
    return "a column of the votes was given" if taken else None


def _is_same(domain: Any, votes: Any, name: str) -> bool:
    if isinstance(domain, Files | str | os.PathLike) and is_path(votes):
        return _are_same_files(domain, votes, name)
    if isinstance(domain, Query) or isinstance(votes, Query):
        return type(domain) is type(votes) and bool(domain == votes)
    listed = isinstance(domain, list | tuple) and isinstance(votes, list | tuple) and is_path(votes)
    return domain is votes or (listed and list(domain) == list(votes))


def _is_same_memory(domain: Any, domain_column: str, votes: Any, item: str) -> bool:
    """Whether the domain is the whole column of items, in the same place of the memory, in Arrow or Polars."""
    ours, theirs = _take_column(domain, domain_column), _take_column(votes, item)
    if ours is None or theirs is None or not 0 < len(ours) == len(theirs):
        return False
    places = _find_places(ours)
    return places is not None and places == _find_places(theirs)


def _take_column(given: Any, name: str) -> Any:
    """A column of Arrow or Polars, which is given itself, or is in a frame under a name or alone; else None."""
    kinds, library = {kind.__name__ for kind in type(given).__mro__}, find_library(given)
    if library not in ("polars", "pyarrow") or kinds & {"Series", "Array", "ChunkedArray"}:
        return given if library in ("polars", "pyarrow") else None
    if not kinds & {"DataFrame", "Table", "RecordBatch"}:
        return None
    names = given.columns if library == "polars" else given.schema.names
    place = names.index(name) if names.count(name) == 1 else 0 if len(names) == 1 else None
    if place is None:
        return None
    return given.to_series(place) if library == "polars" else given.column(place)


def _find_places(column: Any) -> list[tuple[int, int, int]] | None:
    """Where each chunk has its values (of text, the pointers to it), from which entry, and how many."""
    if find_library(column) == "polars":
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Null):
            return None
        column = column.to_arrow(compat_level=pl.CompatLevel.newest())  # the only one without a copy of text
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    places = []
    for chunk in chunks:
        values = next(iter(chunk.buffers()[1:]), None)
        if values is None:  # a column of gaps only
            return None
        places.append((values.address, chunk.offset, len(chunk)))
    return places


def _reads_relation(domain: Any, votes: Any) -> bool:
    """Whether the domain is made from the relation of the votes, or from the table that the votes are a part of."""
    with suppress(duckdb.Error):
        # DuckDB joins relations of one connection only. Nothing is read.
        votes.project("1").union(domain.project("1"))
        if _INVENTED.fullmatch(votes.alias):
            return votes.alias in domain.sql_query() or domain.alias == votes.alias
        # A table of the database has its own name as alias. Queries do not: they may read variables of Python.
        # Older versions of DuckDB write the name of the schema `main` as well.
        [table, *_], read = (
            [name.removeprefix("main.") for name in list_sources(each.sql_query())] or [""] for each in (votes, domain)
        )
        return table.rpartition(".")[2] == votes.alias.casefold() and table in read
    return False


def _is_projection(domain: Any, votes: Any, item: str) -> bool:
    """Whether the domain is the column of items, or its different values, in Spark or Ibis."""
    with suppress(Exception):  # an engine that cannot compare: nothing is certain
        column = votes.select(item)
        compare = domain.sameSemantics if hasattr(domain, "sameSemantics") else domain.as_table().equals
        return bool(compare(column) or compare(column.distinct()))
    return False


def _reads_files(domain: Query, votes: Any) -> bool:
    texts = [text for text in list_texts(domain.sql) if "." in text or "/" in text]
    return bool(texts) and bool(identify_files(texts).keys() & identify_files(votes).keys())


def _are_same_files(domain: Any, votes: Any, name: str) -> bool:
    """Whether the domain is the files of the votes; refuse a domain that is only one of them, in other words."""
    ours, theirs = identify_files(domain), identify_files(votes)
    shared = [label for identity, label in ours.items() if identity in theirs]
    if STDIN in as_files(domain).paths and STDIN in as_files(votes).paths:
        raise ParameterError(f"votes and {name} must not both be standard input", hint="give one of them as a file")
    if shared and len(theirs) > len(shared):
        raise ParameterError(
            f"`{name}` must not be one of the files of the votes",
            f"{shared[0]!r} is also read as votes",
            hint=f"if it is the public {name}, move it away, or name the votes by a glob such as 'plays/*.parquet'",
        )
    return bool(shared)
