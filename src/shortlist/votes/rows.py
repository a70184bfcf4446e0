"""Votes that are read value by value: columns in memory (pandas, dicts), SQLite, and databases without an engine here.

No value decides how another is read. A column with a declared type becomes an Arrow column. Of any other column, each
item is looked up and each person is written as bytes, value by value, so that no value can cause an error.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from shortlist.errors import DataError
from shortlist.votes.domain import NAME, Domain
from shortlist.votes.duckdb import count_batches, count_groups, count_rows, keep_groups, open_batches, read_typed_rows
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.libraries import find_library, import_optional, unwrap
from shortlist.votes.matching import Lookup, can_match, make_key_table
from shortlist.votes.queries import READABLE, invent_name, refuse_sql, strip_query
from shortlist.votes.source import (
    NO_COUNT,
    Batch,
    Choose,
    CountColumn,
    Description,
    Header,
    LocalTally,
    ObservedTally,
    Origin,
    Rows,
    Source,
    Tally,
    Voters,
)
from shortlist.votes.values import (
    Family,
    choose_exact_type,
    find_family,
    is_missing,
    is_plain,
    make_arrow_column,
    read_count,
    write_item,
    write_person,
    write_text,
)

_BATCH = 1 << 16
_R = TypeVar("_R")
Write = Callable[[Any], Any]
"""Write some values as an Arrow array."""


def write_items(items: Iterable[Any]) -> Any:
    """Items as an Arrow array of bytes."""
    pa = import_optional("pyarrow")
    return pa.array([write_item(each) for each in items], pa.binary())


def write_texts(values: Iterable[Any]) -> Any:
    """The texts by which a cap orders votes, as an Arrow array of bytes."""
    pa = import_optional("pyarrow")
    return pa.array([write_text(each).encode() for each in values], pa.large_binary())


def write_persons(values: Iterable[Any]) -> Any:
    """Persons as an Arrow array of bytes."""
    pa = import_optional("pyarrow")
    return pa.array([None if is_missing(each) else write_person(each) for each in values], pa.large_binary())


def write_counts(values: Iterable[Any]) -> Any:
    """Counts as an Arrow array; what is no count is −1, which no count is."""
    pa = import_optional("pyarrow")
    read = [None if is_missing(each) else NO_COUNT if (n := read_count(each)) is None else n for each in values]
    return pa.array(read, pa.int64())


def _choose_writers(item: Write, voters: Voters, *, observed: bool) -> dict[str, Write]:
    """How the values of each column are written. With a cap, the texts that order votes are columns of their own."""
    if isinstance(voters, CountColumn):
        return {"item": item, "other": write_counts}
    if voters.cap is None:
        return {"item": item, "other": write_persons}
    texts = {"other_text": write_texts}
    return {"item": item, "other": write_persons, **texts, **({"item_text": write_texts} if observed else {})}


# Columns in memory


class ColumnsSource(Source):
    """A data frame of pandas, or a dict of columns. Types may come from values, so none is refused."""

    def describe(self, choose: Choose) -> Description:
        """Take the columns by name."""
        names = list(self._given if isinstance(self._given, Mapping) else self._given.columns)
        return Description(held=[self._given[name] for name in choose(Header(columns=names))])

    def read_items(self, described: Description) -> Any:
        """The items of the chosen column."""
        (column,) = described.held
        return read_series(column) if hasattr(column, "isna") else make_arrow_column(column, what=self._name)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in the workspace."""
        item, other = _open_pair(described, voters)
        every = np.arange(domain.d)
        keys = import_optional("pyarrow").table({"key": every, "row": every})
        if item.typed is not None:
            family = find_family(item.kind)
            if not can_match(domain.family, family):
                return LocalTally(domain, np.zeros(domain.d, dtype=np.int64))
            keys = make_key_table(domain, choose_exact_type(item.kind), family)
        writers = _choose_writers(Lookup(domain).number, voters, observed=False)
        reader = _open_reader(item, other, writers)
        return LocalTally(domain, count_batches(self._workspace, reader, keys, voters, d=domain.d))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group in the workspace. A gap that makes floats of whole numbers changes nothing."""
        item, other = _open_pair(described, voters)
        item = _take_whole_floats(item)
        family = Family.OTHER if item.typed is None else find_family(item.kind)
        if item.typed is not None and family == Family.OTHER:
            return ObservedTally([], lambda counts, ranks: [])
        reader = _open_reader(item, other, _choose_writers(write_items, voters, observed=True))
        return keep_groups(self._workspace, count_groups(open_batches(self._workspace, reader), voters), family)

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows: with types if both columns have one, else in a batch of Python values."""
        pair = _open_pair(described, None)
        if any(column.typed is None for column in pair):
            return use([tuple(column.to_list() for column in pair)])
        table = import_optional("pyarrow").table([column.typed for column in pair], names=["item", "other"])
        return use(read_typed_rows(self._workspace, table.to_reader()))


def read_series(series: Any) -> Any:
    """The items of a series of pandas, as an Arrow array."""
    kinds = (series.dtype, getattr(getattr(series.dtype, "categories", None), "dtype", None))
    if object not in kinds:
        return import_optional("pyarrow").array(series, from_pandas=True)
    present = (None if missing else each for each, missing in zip(series, series.isna(), strict=True))
    return make_arrow_column(present, what=NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Either an Arrow array, or Python values; of categories, the values that the codes number (−1 is a gap)."""

    typed: Any = None
    values: Any = None
    codes: Any = None

    def __len__(self) -> int:
        return len(next(each for each in (self.typed, self.codes, self.values) if each is not None))

    @property
    def kind(self) -> Any:
        """The Arrow type of the values; that of a dictionary is the type of what its codes number."""
        kind = self.typed.type
        return kind.value_type if import_optional("pyarrow").types.is_dictionary(kind) else kind

    def to_list(self) -> list[Any]:
        """All values, as Python has them."""
        if self.typed is not None:
            return list(self.typed.to_pylist())
        return list(self.values) if self.codes is None else [self.values[code] for code in self.codes]

    def write(self, writers: list[Write]) -> Iterator[list[Any]]:
        """Values in batches: as they are if they have a type, else as each writer gives them."""
        pa = import_optional("pyarrow")
        coded = None if self.codes is None else [write(self.values) for write in writers]
        for start in range(0, len(self), _BATCH):
            part = slice(start, start + _BATCH)
            if self.typed is not None:
                # Dictionaries are read value by value: short codes cannot number the values of several chunks together.
                taken = self.typed[part]
                yield [_combine(taken if taken.type == self.kind else taken.cast(self.kind))]
            elif coded is not None:
                codes = self.codes[part].astype(np.int64)
                places = pa.array(np.where(codes < 0, len(self.values) - 1, codes))
                yield [each.take(places) for each in coded]
            else:
                yield [write(self.values[part]) for write in writers]


def _open_pair(described: Description, voters: Voters | None) -> tuple[Column, Column]:
    """Open the columns of items and of persons or counts, which have one length."""
    items, others = described.held
    item, other = _type_text(_open_column(items)), _open_column(others, moments=False)
    if len(item) != len(other):
        raise DataError("the columns of items and of persons or counts must have one length", "they differ")
    return item, other if isinstance(voters, CountColumn) or voters is None else _type_text(other)


def _open_column(given: Any, *, moments: bool = True) -> Column:
    """Open a series of pandas or Polars, an Arrow or NumPy array, or any other sequence.

    A type counts only if no value can have decided it, or if values of that type are written alike without it. Without
    `moments`, times have no type: persons that are times are written value by value.
    """
    pa, given = import_optional("pyarrow"), unwrap(given)
    library, kind = find_library(given), getattr(getattr(given, "dtype", None), "kind", None)
    fixed = kind in ("b", "i", "u", "f") or (moments and kind == "M" and given.dtype != "M8[D]")
    if library == "pandas":
        return _open_pandas(given, fixed)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return _open_arrow(given)
    if library == "polars":
        return Column(values=given.to_list()) if str(given.dtype) == "Object" else _open_arrow(given.to_arrow())
    exported = hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")
    return _convert(given) if exported or (isinstance(given, np.ndarray) and fixed) else Column(values=list(given))


def _open_pandas(given: Any, fixed: bool) -> Column:
    """Open a series, an index or an array. Text has no type here: only some texts of Python fit in Arrow."""
    held, categories = getattr(given, "array", given), getattr(given.dtype, "categories", None)
    if categories is not None and hasattr(held, "codes"):
        if getattr(categories.dtype, "kind", None) not in ("b", "i", "u", "f"):
            return Column(values=[*categories, None], codes=np.asarray(held.codes))
        return _convert(given)
    if fixed or hasattr(given.dtype, "pyarrow_dtype"):
        return _convert(given)
    return Column(values=held if type(given.dtype).__name__ == "StringDtype" else np.asarray(given, dtype=object))


def _convert(given: Any) -> Column:
    """Take a column to Arrow if Arrow has its type."""
    pa = import_optional("pyarrow")
    try:
        made = pa.array(given, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return Column(values=list(given))
    opened = _open_arrow(made)
    return opened if opened.typed is not None else Column(values=list(given))


def _open_arrow(made: Any) -> Column:
    pa = import_optional("pyarrow")
    kind = choose_exact_type(made.type)
    if not is_plain(kind) or isinstance(kind, pa.BaseExtensionType):
        return Column(values=made.to_pylist())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # One text in a column of pandas makes Python floats of all others, which have 64 bits.
        made = made.cast(pa.float64() if pa.types.is_floating(kind) else kind)
    return Column(typed=made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made]))


def _type_text(column: Column) -> Column:
    """Give the type of text to values that are all text or missing; they mean what they mean value by value."""
    if column.values is None or column.codes is not None:
        return column
    pa, pandas = import_optional("pyarrow"), sys.modules.get("pandas")
    if pandas is not None:
        text = pandas.api.types.infer_dtype(column.values, skipna=True) == "string"
    else:
        text = all(isinstance(value, str) or is_missing(value) for value in column.values)
    with suppress(pa.ArrowException, ValueError, TypeError):  # text that is no Unicode
        return _open_arrow(pa.array(column.values, pa.large_string(), from_pandas=True)) if text else column
    return column


def _take_whole_floats(column: Column) -> Column:
    """Take floats that are whole numbers as such, and the others as gaps: a float is no item."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    if column.typed is None or not pa.types.is_floating(column.kind):
        return column
    values = column.typed.cast(pa.float64())
    whole = compute.and_(compute.equal(values, compute.floor(values)), compute.less(compute.abs(values), 2.0**53))
    return Column(typed=compute.if_else(whole, values, pa.scalar(None, pa.float64())).cast(pa.int64()))


def _open_reader(item: Column, other: Column, writers: dict[str, Write]) -> Any:
    """Read two columns as a reader of Arrow batches, with the texts of those that have no type."""
    pa = import_optional("pyarrow")
    names: list[str] = []
    kinds: dict[str, Any] = {}
    batches: list[Iterator[list[Any]]] = []
    for name, column in (("item", item), ("other", other)):
        own = [each for each in writers if each.startswith(name) and (column.typed is None or each == name)]
        batches.append(column.write([writers[each] for each in own]))
        kinds |= {each: column.kind if column.typed is not None else writers[each]([]).type for each in own}
        names += own
    # `item` and `other` come first.
    schema = pa.schema(sorted(kinds.items(), key=lambda pair: "_" in pair[0]))
    columns = (dict(zip(names, (*items, *others), strict=True)) for items, others in zip(*batches, strict=True))
    arrays = ([each[name] for name in schema.names] for each in columns)
    return pa.RecordBatchReader.from_batches(
        schema, (pa.RecordBatch.from_arrays(each, schema=schema) for each in arrays)
    )


def _combine(part: Any) -> Any:
    pa = import_optional("pyarrow")
    whole = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


# Rows of databases


class RowsSource(Source):
    """The answer to a query of a database whose rows come one by one. Define `describe` and `read_batches`."""

    hint = READABLE

    @abstractmethod
    def read_batches(self, described: Description) -> Generator[Batch, None, None]:
        """The described columns in batches."""

    def read_items(self, described: Description) -> Any:
        """The items of the chosen column."""
        with closing(self.read_batches(described)) as batches:
            return make_arrow_column((item for (items,) in batches for item in items), what=self._name)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Look up every item in Python, and count in the workspace."""
        numbered = self._keep(described, _choose_writers(Lookup(domain).number, voters, observed=False))
        with register_engine(self._workspace.connection.interrupt):
            return LocalTally(domain, count_rows(numbered, voters, d=domain.d))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Write every item as bytes in Python, and group in the workspace."""
        written = self._keep(described, _choose_writers(write_items, voters, observed=True))
        return keep_groups(self._workspace, count_groups(written, voters), Family.OTHER)

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows."""
        with closing(self.read_batches(described)) as batches:
            return use(batches)

    def _keep(self, described: Description, writers: dict[str, Write]) -> Any:
        """Keep columns as they are written in a table of the workspace, which spills."""
        connection, table, pa = self._workspace.connection, invent_name(), import_optional("pyarrow")
        empty = connection.from_arrow(pa.table({name: write([]) for name, write in writers.items()}))
        kinds = ", ".join(f"{name} {kind}" for name, kind in zip(empty.columns, empty.types, strict=True))
        connection.execute(f"CREATE TEMP TABLE {table} ({kinds})")
        with closing(self.read_batches(described)) as batches:
            for batch in batches:
                values = dict(zip(("item", "other"), batch, strict=True))
                written = pa.table({name: write(values[name.removesuffix("_text")]) for name, write in writers.items()})
                voted = connection.from_arrow(written)
                voted.filter("item IS NOT NULL AND other IS NOT NULL").insert_into(table)
        return connection.table(table)


class SqliteSource(RowsSource):
    """The answer to a query on an SQLite file or connection, whose columns hold values of any type.

    Rows are read one by one, and nothing is written.
    """

    origin = Origin.ANSWER

    def describe(self, choose: Choose) -> Description:
        """Prepare the query, which names the columns."""
        with self._connect() as connection:
            # On lines of its own, so that a comment at the end of the query ends there.
            table = f"(\n{strip_query(self._given.sql)}\n)"
            names = _read_names(connection, table)
        chosen = choose(Header(columns=names, origin=self.origin))
        # By position: a name may have lost a part in brackets, and SQLite takes an unknown name for a text.
        places, answered = ", ".join(f"c{place}" for place in range(len(names))), invent_name()
        # A plus sign makes an expression of a column: no converter of the connection is applied.
        columns = ", ".join(f"+c{names.index(column)} AS c{place}" for place, column in enumerate(chosen))
        return Description(held=f"WITH {answered} ({places}) AS {table} SELECT {columns} FROM {answered}")

    def read_batches(self, described: Description) -> Generator[Batch, None, None]:
        """The described columns in batches of Python values."""
        with self._connect() as connection, register_engine(connection.interrupt):
            before, cursor = connection.text_factory, connection.cursor()
            cursor.row_factory = None
            try:
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                cursor.execute(described.held)
                while rows := cursor.fetchmany(_BATCH):
                    yield tuple(zip(*rows, strict=True))
            finally:
                # After an interrupt, the connection may be closed before this generator is.
                with suppress(sqlite3.Error):
                    connection.text_factory = before
                    cursor.close()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        given = self._given.database
        if isinstance(given, sqlite3.Connection):
            yield given
            return
        address = f"{self._given.path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            yield connection


def _read_names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of an answer's columns. No row is read: the text of an error in a row quotes values."""
    said = None
    with translate_errors("the query", hint=READABLE), closing(connection.cursor()) as cursor:
        try:
            # To explain a query is to prepare it.
            cursor.execute(f"EXPLAIN SELECT * FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            said = str(error)
        if said is None:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            found = [each[0] for each in cursor.description]
    if said is not None:
        raise refuse_sql(said, table)
    # SQLite tells columns with one name apart by a number.
    return [base if (base := re.sub(r":\d+$", "", each)) in found else each for each in found]


class SqlalchemySource(RowsSource):
    """The answer to a query of any other database that SQLAlchemy knows. Rows are read one by one."""

    def describe(self, choose: Choose) -> Description:
        """Ask for the names with an answer of no rows."""
        sql, engine = strip_query(self._given.sql), self._given.database
        # SQL Server takes no query here that begins with WITH or is ordered: there, names are seen with the answer.
        tolerated = [Exception] if engine.dialect.name == "mssql" else []
        names: list[str] | None = None
        with engine.connect() as connection, suppress(*tolerated):
            names = list(connection.exec_driver_sql(f"SELECT * FROM (\n{sql}\n) {invent_name()} WHERE 1 = 0").keys())
        chosen = None if names is None else choose(Header(columns=names, origin=Origin.ANSWER))
        return Description(held=(sql, choose, chosen))

    def read_batches(self, described: Description) -> Generator[Batch, None, None]:
        """The described columns in batches of Python values."""
        sql, choose, chosen = described.held
        with self._given.database.connect() as connection:
            result = connection.execution_options(stream_results=True).exec_driver_sql(sql)
            names = list(result.keys())
            places = [names.index(each) for each in chosen or choose(Header(columns=names, origin=Origin.ANSWER))]
            for rows in result.partitions(_BATCH // 4):
                yield tuple([row[place] for row in rows] for place in places)
