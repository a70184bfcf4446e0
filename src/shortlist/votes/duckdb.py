"""DuckDB: the library's own, which counts the votes of files, frames, Arrow and rows, and that of the user.

With a domain, a vote is matched to a row first, and the groups are the rows. So one person adds at most 1 to each
count, whatever equality an engine applies to items. Without a domain, the groups are the items, by their exact value:
text by its bytes, without collation. Groups whose items Python cannot hold are left out, each by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from shortlist.errors import ParameterError
from shortlist.privacy.numbers import quote
from shortlist.safe_text import escape_surrogates
from shortlist.votes.dialects import DUCKDB, NO_COUNT, Column
from shortlist.votes.failures import end_in, register_engine, translate_errors
from shortlist.votes.libraries import compute, datasets, duckdb, pa
from shortlist.votes.matching import Lookup, make_key_table
from shortlist.votes.queries import READABLE, Query, invent_name, quote_text, refuse_sql, strip_query
from shortlist.votes.source import (
    CellTally,
    Choose,
    Description,
    Header,
    LocalTally,
    Origin,
    Request,
    Source,
    Table,
    Tally,
    check_counts,
    scatter_counts,
)
from shortlist.votes.times import write_value
from shortlist.votes.values import (
    DIGITS,
    LARGEST_FLOAT,
    Family,
    is_missing,
    read_count,
    read_type,
    read_weight,
    write_exact,
    write_item,
    write_person,
    write_text,
)

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing is swept
    fcntl = None  # type: ignore[assignment]

_R = TypeVar("_R")
ALIKE = "is every file complete, and are all its rows alike?"

_SIZE = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*[KMGT]i?B\s*", re.IGNORECASE)
_PREFIX, _LOCK = "shortlist-", "owner.lock"


# The library's own DuckDB


class Workspace:
    """A DuckDB in memory that spills to a folder of its own; both are gone when the last user of it is.

    It is opened when it is first asked for: some engines never do.

    >>> workspace = Workspace(memory_limit="1GB")
    >>> workspace.connection.sql("SELECT 6 * 7").fetchall()
    [(42,)]
    """

    def __init__(self, *, memory_limit: str | None = None) -> None:
        self._connect = duckdb.connect
        self._limit = None if memory_limit is None else _read_size(memory_limit)
        self._folder: Path | None = None
        self._connection: Any = None

    @property
    def folder(self) -> Path:
        """The folder for what spills and for copies. Only its owner may read it."""
        if self._folder is None:
            _remove_left_folders()
            self._folder, lock = make_own_folder()
            weakref.finalize(self, end_in, os.getpid(), _remove, self._folder, lock)
        return self._folder

    @property
    def connection(self) -> Any:
        """The connection."""
        if self._connection is None:
            # A name in a query means a table of the database, never a variable of this program; and nothing is loaded
            # from the network.
            settings = {"python_enable_replacements": "false", "autoinstall_known_extensions": "false"}
            limit = {} if self._limit is None else {"memory_limit": self._limit}
            config = {"temp_directory": str(self.folder), **settings, **limit}
            self._connection = self._connect(":memory:", config=config)
            # The last one made is called first: the connection is closed before its folder is removed.
            weakref.finalize(self, end_in, os.getpid(), self._connection.close)
            self._connection.execute("SET TimeZone = 'UTC'")
        return self._connection

    def count(self, connection: Any, rows: Description, request: Request) -> Tally:
        """Count votes in the connection that has them; without a domain, the workspace keeps the groups."""
        domain = request.domain
        with Views(connection) as views:
            matched, family = match_rows(views, rows, request)
            counted = count_groups(matched, request)
            if domain is not None and request.groups is None and not request.caps:
                found = counted.fetchnumpy()
                check_counts(found["votes"].tolist())
                return LocalTally(domain, scatter_counts(found["item"], found["votes"], d=domain.d))
            if connection is not self.connection:
                counted = self.connection.from_arrow(open_stream(counted))
            return keep_groups(self, counted, family if domain is None else Family.INTEGER, request)

    @contextmanager
    def read_streams(self) -> Iterator[None]:
        """Read streams of Arrow. DuckDB takes one for one row, and would keep all votes in memory, not the keys."""
        with register_engine(self.connection.interrupt):
            self.connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
            try:
                yield
            finally:
                self.connection.execute("RESET disabled_optimizers")

    def open_table(self, table: Table, request: Request | None = None) -> Description:
        """Open a table as a relation. Without a request, its columns have types."""
        connection = self.connection
        columns, places = list(_choose_columns(table.kinds, request)), list(table.kinds)
        schema = pa.schema([(name, kind) for name, kind, _, _ in columns])
        batches = (
            pa.RecordBatch.from_arrays(
                [write(batch[places.index(role)]) for _, _, write, role in columns], schema=schema
            )
            for batch in table.batches
        )
        known = {
            role: Column(value=f"v.{role}", arrow=read_type(kind).exact, family=read_type(kind).family)
            for role, kind in table.kinds.items()
            if kind is not None
        }
        if None not in table.kinds.values():
            return describe_rows(connection.from_arrow(pa.RecordBatchReader.from_batches(schema, batches)), known)
        known.setdefault("moment", Column(value="v.moment", family=Family.TEXT))
        # In this thread, because an engine may answer no other, and to a table, which spills.
        kept, empty = invent_name(), connection.from_arrow(schema.empty_table())
        fields = ", ".join(f"{name} {kind}" for name, kind in zip(empty.columns, empty.types, strict=True))
        connection.execute(f"CREATE TEMP TABLE {kept} ({fields})")
        votes = "true" if request is None or request.checked else "item IS NOT NULL AND other IS NOT NULL"
        for batch in batches:
            connection.from_arrow(pa.Table.from_batches([batch])).filter(votes).insert_into(kept)
        return describe_rows(connection.table(kept), known)


def _read_size(size: Any) -> str:
    """Read an amount of memory. DuckDB by itself takes a negative one for no limit.

    >>> _read_size("1.5 GB")
    '1.5 GB'
    """
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or not float(found[1]):
        raise ParameterError(
            "`memory_limit` must be a size: a number above 0 and a unit (KB, MB, GB, TB, KiB, MiB, GiB or TiB)",
            f"not {quote(size)}",
            hint="try `memory_limit=4GB`",
        )
    return found[0]


def make_own_folder() -> tuple[Path, int]:
    """Make a folder for this process alone, and hold its lock.

    A folder belongs to the process that holds the lock of a file in it. The system gives up the lock when the process
    ends, in whatever way; so a folder whose lock is free is a left-over, and the next process removes it.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # The file gets its name when it is locked, so that nobody ever finds it free.
    new = folder / "new.lock"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(new, folder / _LOCK)
    return folder, lock


def _remove(folder: Path, lock: int) -> None:
    """Remove a folder, for what spilled there are votes, and give up its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


def _remove_left_folders() -> None:
    """Remove the folders of this user whose processes ended without doing so."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*") if fcntl is not None else ():
        with suppress(OSError):
            status = os.lstat(folder)
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


# Counting

_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
_WHOLE_TEXT = "^[+-]?[0-9]{1,19}$"
_LARGEST = LARGEST_FLOAT - 1
_GAPS = '"NULL"'
"""The type of a column of gaps."""
_NUMBERED = {Family.BOOLEAN: ("61", 2), Family.DATE: ("63", 8), Family.TIME: ("64", 16)}
_NUMBERED |= {Family.NAIVE: ("65", 16), Family.AWARE: ("66", 16)}
"""The marks of `values.write_item`, and the digits of the number behind each, both in base 16."""
_MOST = 10**DIGITS
_BEFORE_1970 = 62_135_596_800_000_000
"""The microseconds from the year 1 to 1970."""
_LAST_NANOSECOND = 86_400 * 10**9 - 1
_FIRST_MOMENT = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
"""DuckDB holds timestamps before this one, and an internal error ends its connection if one is written as text."""
_VIEW = invent_name()
"""What votes under limits are called in a query. DuckDB 1 makes a temporary view of that name."""


def describe_rows(relation: Any, known: Mapping[str, Column]) -> Description:
    """The rows of a relation, whose columns are called by their roles, given the columns that have Arrow types.

    Columns that were written or numbered value by value have no family, and those of gaps.
    """
    columns = {}
    for role, kind in zip(relation.columns, map(str, relation.types), strict=True):
        columns[role] = replace(known.get(role) or Column(value=f"v.{role}"), kind=kind)
    return Description(columns=columns, handle=relation)


class Views:
    """Tables and relations that have names in a connection for a while, which nobody can guess."""

    def __init__(self, connection: Any) -> None:
        self._connection, self._names = connection, [_VIEW]

    def __enter__(self) -> Views:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            self._connection.unregister(name)

    def send(self, table: Any) -> str:
        """Name an Arrow table."""
        self._names.append(invent_name())
        self._connection.register(self._names[-1], table)
        return self._names[-1]

    def match(self, rows: Description, request: Request, *, taken: Mapping[str, str], where: Sequence[str] = ()) -> Any:
        """The relation of `Dialect.write_votes`."""
        self._names.append(view := invent_name())
        sql = DUCKDB.write_votes(
            f"{view} AS v",
            request,
            rows.columns,
            taken=taken,
            where=where,
            send=self.send,
            send_keys=lambda public, column: self.send(make_key_table(public, column.arrow, column.family)),
        )
        return rows.handle.query(view, sql)


def match_rows(views: Views, rows: Description, request: Request) -> tuple[Any, Family | None]:
    """Put numbers in place of the values that are public, and tell the family of the items. Other votes are dropped.

    Where persons have several types, each is written as the text that it has in all of them. Without a domain, items of
    several types are written as `write_item` does, and have no family.
    """
    rounded = rows.parts if request.domain is not None else map(_round_items, rows.parts)
    parts = [leave_out_misfits(part, request) for part in rounded]
    items, persons = ({part.columns[role].kind for part in parts} - {_GAPS} for role in ("item", "other"))
    as_bytes = request.domain is None and len(items) > 1
    as_text = len(persons) > 1 and not all(map(_WHOLE.fullmatch, persons))
    united = None
    for part in parts:
        item, other = part.columns["item"], part.columns["other"]
        taken = {name: f"v.{name}" for name in part.columns if name.endswith("_text")} | {"other": other.value}
        if request.counted:
            taken["other"] = write_count_reader(other)
        elif as_text:
            taken |= {"other": write_person_text(other), "other_text": DUCKDB.write_text(other.value, other.kind)}
        if as_bytes:
            taken["item_text"] = DUCKDB.write_text(item.value, item.kind)
            written = Column(value=write_item_bytes(item), kind="BLOB")
            part = replace(part, columns={**part.columns, "item": written})
        where = [f"({part.columns['item'].value}) IS NOT NULL", DUCKDB.is_present(other.value, other.kind)]
        found = views.match(part, request, taken=taken, where=where)
        found = found.project(", ".join(sorted(found.columns)))
        united = found if united is None else united.union(found)
    families = [part.columns["item"].family for part in parts if part.columns["item"].kind != _GAPS]
    return united, None if as_bytes else next(iter(families), Family.OTHER)


def leave_out_misfits(rows: Description, request: Request) -> Description:
    """The rows of one file with gaps in place of the columns of which no value can count, by their types."""
    columns = dict(rows.columns)
    for role, column in rows.columns.items():
        misfit = column.family is not None and not request.accepts(role, column.family)
        if misfit or (role == "other" and not request.counted and _NEVER_PERSONS.search(column.kind)):
            columns[role] = Column(value="NULL", kind=_GAPS)
    return replace(rows, columns=columns)


def _round_items(rows: Description) -> Description:
    """The rows of one file, whose items are whole numbers where they are floats, because a gap makes floats of them."""
    item = rows.columns["item"]
    if item.family != Family.FLOAT:
        return rows
    # Larger floats stand for several whole numbers.
    whole = f"{item.value} = system.main.trunc({item.value}) AND {item.value} BETWEEN -{_LARGEST} AND {_LARGEST}"
    value = f"CASE WHEN {whole} THEN CAST({item.value} AS BIGINT) END"
    rounded = Column(value=value, kind="BIGINT", arrow=pa.int64(), family=Family.INTEGER)
    return replace(rows, columns={**rows.columns, "item": rounded})


def count_groups(plain: Any, request: Request) -> Any:
    """Group a relation of cells and `other` by cell; the answer has the columns of a cell, and `votes`.

    Under limits, text is told apart by its bytes, because DuckDB's windows misread text that is no UTF-8. Where values
    have no type, their texts are columns of their own.
    """
    kinds = dict(zip(plain.columns, map(str, plain.types), strict=True))
    texts = {name: f"{name}_text" for name in kinds if f"{name}_text" in kinds}
    if request.needs_pairs:
        encoded = {name for name, kind in kinds.items() if kind in ("VARCHAR", "JSON") or kind.startswith("ENUM(")}
        texts = {name: name for name in encoded} | texts
        encode = "system.main.encode(CAST({0} AS VARCHAR)) AS {0}"
        plain = plain.project(", ".join(encode.format(name) if name in encoded else name for name in kinds))
    return plain.query(_VIEW, DUCKDB.write_counting(_VIEW, request, kinds, texts))


def write_person_text(column: Column) -> str:
    """The SQL of a person as text. Equal numbers and equal times have one text, whatever their types."""
    value, kind, text = column.value, column.kind, write_shown(column)
    if kind in ("FLOAT", "DOUBLE"):
        return write_float(f"CAST({value} AS DOUBLE)")
    if kind == "BLOB":
        return f"coalesce({DUCKDB.decode.format(value)}, {text})"
    if column.family == Family.AWARE and re.fullmatch("TIMESTAMP(_.*)?", kind):
        return f"{text} || '+00'"
    if column.family == Family.TIME and kind == "BIGINT":  # nanoseconds since midnight, see `_choose_columns`
        exact = f"system.main.mod({value}, 1000) = 0 AND {value} BETWEEN 0 AND {_LAST_NANOSECOND}"
        clock = DUCKDB.add.format("TIME '00:00:00'", f"system.main.to_microseconds({value} // 1000)")
        return f"CASE WHEN {exact} THEN CAST({clock} AS VARCHAR) ELSE {text} END"
    trimmed = f"system.main.rtrim(system.main.rtrim({text}, '0'), '.')"
    return trimmed if re.fullmatch(r"DECIMAL\(.*,[1-9]\d*\)", kind) else text


def write_float(number: str, largest: str = "1e38") -> str:
    """The SQL of a float as text, which is that of the whole number if it is one."""
    whole = f"{number} = system.main.trunc({number}) AND {number} BETWEEN -{largest} AND {largest}"
    return f"CASE WHEN {whole} THEN CAST(CAST({number} AS HUGEINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"


def write_shown(column: Column) -> str:
    """The SQL of a value as text. DuckDB fails on times that no clock and no calendar has: they have a text of ours."""
    value, kind = column.value, column.kind
    text = f"CAST({value} AS VARCHAR)"
    if kind == "TIME":
        number = f"CAST(system.main.epoch_us({value}) AS VARCHAR)"
        return f"CASE WHEN {DUCKDB.is_held(value, Family.TIME)} THEN {text} ELSE {number} END"
    if kind in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"):
        # DuckDB writes the least value of a file as text to plan a query. It knows nothing of what TRY returns.
        moment = f"TRY({value})" if kind == "TIMESTAMP" else f"TRY_CAST(TRY({value}) AS TIMESTAMP)"
        text = f"CASE WHEN {moment} >= {_FIRST_MOMENT} THEN CAST({moment} AS VARCHAR) END"
        code = f"CASE WHEN {value} IS NOT NULL THEN CAST(system.main.hash({value}) AS VARCHAR) END"
        return f"coalesce({text}, {code})"
    return text


def write_item_bytes(column: Column) -> str:
    """The SQL of an item as `values.write_item` writes it, NULL for what Python cannot hold."""
    (item, held), family = clean_item(column.value, column.kind, column.family), column.family
    mark, width, digits = *_NUMBERED.get(family or Family.OTHER, ("62", 34)), ""
    if family in (Family.TEXT, Family.BYTES):
        code = item if family == Family.BYTES else f"system.main.encode({item})"
        return f"CASE WHEN {held} THEN {DUCKDB.item_bytes.format(code)} END"
    if family == Family.BOOLEAN:
        number = f"CAST({item} AS INTEGER)"
    elif family == Family.DATE:
        number = f"({item} - DATE '0001-01-01' + 1)"
    elif family == Family.TIME:
        number = f"system.main.epoch_us({item})"
    elif family in (Family.NAIVE, Family.AWARE):
        number = f"(system.main.epoch_us({item}) + {_BEFORE_1970})"
    else:
        below = f"CASE WHEN {item} < system.main.trunc({item}) THEN 1 ELSE 0 END"
        whole = f"(CAST(system.main.trunc({item}) AS HUGEINT) - {below})"
        # The sum of both has no place in a HUGEINT.
        number = (
            f"CASE WHEN {whole} < 0 THEN CAST({_MOST} + {whole} AS UHUGEINT) ELSE "
            f"CAST({_MOST} AS UHUGEINT) + CAST({whole} AS UHUGEINT) END"
        )
        rest = f"system.main.rtrim(system.main.split_part(CAST({item} AS VARCHAR), '.', 2), '0')"
        # Behind the whole part below, a negative number has what its digits lack of 1.
        lacking = f"system.main.translate({rest}[:-2], '0123456789', '9876543210')"
        lacking += f" || system.main.translate({rest}[-1], '123456789', '987654321')"
        digits = f" || system.main.encode(CASE WHEN {below} = 1 THEN {lacking} ELSE {rest} END)"
    code = f"system.main.lpad(system.main.hex(CAST({number} AS UHUGEINT)), {width}, '0')"
    return f"CASE WHEN {held} THEN system.main.unhex('{mark}' || {code}){digits} END"


def write_count_reader(column: Column) -> str:
    """The SQL that reads a count, NULL where it is none."""
    value, kind = column.value, column.kind
    count, readable = f"TRY_CAST({value} AS BIGINT)", "false"
    if _WHOLE.fullmatch(kind):
        readable = "true"
    elif kind == "VARCHAR":
        readable = f"system.main.regexp_matches({value}, '{_WHOLE_TEXT}')"
    elif kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL("):
        readable = f"{value} = system.main.trunc({value})"
    return f"CASE WHEN {readable} AND {count} >= 0 THEN {count} END"


def keep_groups(workspace: Workspace, counted: Any, family: Family | None, request: Request) -> Tally:
    """Keep counted cells, a relation of their columns and `votes`, in a table of the workspace, which spills.

    Items without a family are bytes that `write_item` wrote. Items that Python cannot hold are left out.
    """
    connection, table = workspace.connection, invent_name()
    item, held = clean_item("item", str(counted.types[counted.columns.index("item")]), family)
    if family == Family.BYTES:
        item, family = DUCKDB.item_bytes.format(item), None
    with register_engine(connection.interrupt):
        numbers = [name for name in counted.columns if name not in request.cell]
        columns = [*request.cell[:-1], f"{item} AS item", *(f"CAST({each} AS BIGINT) AS {each}" for each in numbers)]
        clean = counted.filter(held).project(", ".join(columns))
        kinds = ", ".join(f"{name} {kind}" for name, kind in zip(clean.columns, clean.types, strict=True))
        connection.execute(f"CREATE TEMP TABLE {table} ({kinds})")
        clean.insert_into(table)
        # From here on, no macro of a database file that was read can have the name of a function.
        connection.execute("USE memory")

    def ask(sql: str) -> list[Any]:
        with register_engine(connection.interrupt):
            return list_columns(workspace.connection.sql(sql.format(table=table)).to_arrow_table())

    if family == Family.AWARE:
        return CellTally(DUCKDB, ask, request, write=lambda item: write_item(item.replace(tzinfo=UTC)))
    return CellTally(DUCKDB, ask, request, write=write_item if family is not None else bytes)


def clean_item(item: str, kind: str, family: Family | None) -> tuple[str, str]:
    """The SQL of an item in a type that Python holds, and whether Python can hold it."""
    if family == Family.OTHER or kind == _GAPS:
        return "CAST(NULL AS INTEGER)", "false"
    held = family
    if family == Family.TEXT:
        item = f"TRY(system.main.decode({item if kind == 'BLOB' else f'system.main.encode({item})'}))"
    elif kind.endswith("_NS"):
        item = f"CASE WHEN system.main.epoch_ns({item}) % 1000 = 0 THEN {item} END"
    if kind.startswith("TIMESTAMP_"):
        item = f"TRY_CAST({item} AS TIMESTAMP)"
    elif kind == "TIMESTAMPTZ_NS":
        item = f"TRY_CAST({item} AS TIMESTAMPTZ)"
    if family == Family.AWARE and re.fullmatch("TIMESTAMP(_.*)?", kind):  # a stream holds instants as times in UTC
        held = Family.NAIVE
    return item, DUCKDB.is_held(item, held)


def list_columns(answer: Any) -> list[Any]:
    """The columns of an Arrow table: whole numbers as arrays, all else as Python values."""
    is_integer = pa.types.is_integer
    return [column.to_numpy() if is_integer(column.type) else column.to_pylist() for column in answer.columns]


# Columns of DuckDB as they are: without a collation, and in types that Arrow has

_TEXT_IN_ARROW = re.compile(r"UUID|JSON|UHUGEINT|BIGNUM|ENUM\(.*", re.DOTALL)
_NEVER_ITEMS = re.compile(r"BIT|TIME WITH TIME ZONE|TIME_NS|INTERVAL|VARIANT|GEOMETRY.*")
_NEVER_PERSONS = re.compile(r"^(STRUCT|MAP|UNION|VARIANT|GEOMETRY|INTERVAL)\b|\]$")
_PERSONS_AS_TEXT = re.compile(r"JSON|U?HUGEINT|BIGNUM|BIT|TIME WITH TIME ZONE|ENUM\(.*", re.DOTALL)


def take_plain_columns(relation: Any) -> Any:
    """Take columns, which are called by their roles, without collation, and items in a type that Arrow has."""
    taken = []
    for role, kind in zip(relation.columns, map(str, relation.types), strict=True):
        column, as_text = role, _PERSONS_AS_TEXT if role == "other" else _TEXT_IN_ARROW
        if role != "other" and _NEVER_ITEMS.fullmatch(kind):
            column = "CAST(NULL AS STRUCT(nothing INTEGER))"
        elif role != "other" and kind == "HUGEINT":
            # Arrow has no wider numbers, and an item of the domain has at most 38 digits.
            column = f"TRY_CAST({column} AS DECIMAL(38, 0))"
        elif kind == "VARCHAR" or as_text.fullmatch(kind):
            column = f'CAST({column} AS VARCHAR) COLLATE "binary"'
        elif kind in ("FLOAT", "DOUBLE"):
            # The least and the greatest value in a Parquet file leave NaN out. By them, DuckDB would decide that no
            # value is NaN. It knows nothing of what TRY returns, which is the value as it is.
            column = f"TRY({column})"
        taken.append(f"{column} AS {role}")
    return relation.project(", ".join(taken))


def describe_relation(plain: Any) -> Description:
    """Describe a relation of `item`, `other` and further columns by its types. A column of gaps has no family."""
    names = [name for name in plain.columns if name != "other"]
    found = plain.project(", ".join(names)).limit(0).to_arrow_table().schema
    known = Description.of(found, plain).columns
    described = describe_rows(plain, known)
    persons = "other" not in described.columns or not _NEVER_PERSONS.search(described.columns["other"].kind)
    return replace(described, holds_persons=persons)


# Files, queries and relations


class RelationSource(Source):
    """A relation of the user, whose connection is unknown: its rows are handed over."""

    hint = ALIKE
    origin = Origin.FRAME

    def describe(self, choose: Choose) -> Description:
        """Describe the columns, which are bound and not read. Of items alone, different values are enough."""
        found = list(self._given.columns)
        chosen = choose(Header(columns=found, origin=self.origin))
        # By position, because DuckDB takes two names that differ in case for one.
        columns = ", ".join(f"#{found.index(column) + 1} AS {role}" for role, column in chosen.items())
        plain = take_plain_columns(self._given.project(columns))
        return describe_relation(plain.distinct() if plain.columns == ["item"] else plain)

    def open(self, described: Description) -> Table:
        """Read the columns, batch by batch."""
        return Table.of(open_stream(described.handle))


class QuerySource(RelationSource):
    """The answer to a query, in the connection that answers it: that of the workspace, or one of the user."""

    def __init__(self, workspace: Workspace, connection: Any, name: str, answer: Any, origin: Origin) -> None:
        super().__init__(workspace, answer, name)
        self._connection, self.origin = connection, origin

    def open(self, described: Description) -> Table:
        """Read the columns to memory."""
        with register_engine(self._connection.interrupt):
            return Table.of(described.handle.to_arrow_table())

    def read_rows(self, described: Description, request: Request, use: Callable[[Any, Description], _R]) -> _R:
        """Use all rows where the answer is."""
        with register_engine(self._connection.interrupt):
            return use(self._connection, described)


def open_duckdb_query(workspace: Workspace, query: Query, name: str, *, origin: Origin = Origin.ANSWER) -> QuerySource:
    """The answer to a query on a file, which the workspace opens, or on a connection of the user."""
    connection = query.database
    if isinstance(query.database, str | os.PathLike):
        connection, path = workspace.connection, query.path
        with translate_errors(f"database {str(path)!r}", hint="is it open elsewhere, for writing?"):
            attached = invent_name()
            connection.execute(f"ATTACH {quote_text(str(path))} AS {attached} (READ_ONLY)")
            connection.execute(f"USE {attached}")
    return QuerySource(workspace, connection, name, _ask(connection, query.sql), origin)


def _ask(connection: Any, sql: str) -> Any:
    """The relation of one SELECT."""
    with translate_errors("the query", hint=READABLE):
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise refuse_sql("it is not one SELECT", sql)
            return connection.sql(strip_query(sql))
        except (duckdb.ParserException, duckdb.CatalogException, duckdb.BinderException) as error:
            raise refuse_sql(str(error), sql) from None


def open_stream(relation: Any) -> Any:
    """Read a relation of any DuckDB batch by batch."""
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # its name in DuckDB 1
    return reader()


# Batches of Arrow


class ArrowSource(Source):
    """A table, batch, reader or dataset of Arrow, or anything that exports an Arrow stream."""

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema; of a stream, no batch is asked for."""
        table = self._given
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table | datasets.Dataset):
            table = pa.RecordBatchReader.from_stream(table)
        chosen = choose(Header(columns=table.schema.names))
        kinds = {role: table.schema.field(name).type for role, name in chosen.items()}
        return Description.of(pa.schema(kinds), (table, kinds, list(chosen.values())))

    def open(self, described: Description) -> Table:
        """Read the columns."""
        table, kinds, chosen = described.handle
        batches = table.scanner(columns=list(dict.fromkeys(chosen))) if hasattr(table, "scanner") else table
        batches = batches.to_reader() if hasattr(batches, "to_reader") else batches
        return Table(kinds=kinds, batches=(tuple(map(batch.column, chosen)) for batch in batches))


def exports_arrow(value: Any) -> bool:
    """Whether a value is a table of Arrow, or exports one."""
    if isinstance(value, pa.RecordBatch | datasets.Dataset):
        return True
    return hasattr(value, "__arrow_c_stream__") and not isinstance(value, pa.ChunkedArray)


# What is written to the workspace

Write = Callable[[Any], Any]
"""Write some values, or an Arrow array, as an Arrow array."""


def _choose_columns(kinds: Mapping[str, Any], request: Request | None) -> Iterable[tuple[str, Any, Write, str]]:
    """The columns of a relation: each with its name, its type, how it is written, and from which column.

    A column with a type is brought to one that DuckDB holds without loss. Of any other column, each item is looked up
    or written as bytes, and each person, value by value, so that no value can cause an error. Then a cap needs the
    texts that order votes, in columns of their own. A check needs the texts of items, and persons as counts.
    """
    readers: dict[str, Callable[[Any], Any]] = {}
    if request is not None:
        readers |= {role: Lookup(public).find for role, public in request.public.items()}
        readers |= {"weight": partial(read_weight, largest=request.max_weight)}
    checked = request is not None and request.checked
    limited = request is not None and request.needs_pairs and not checked
    texts = _write_each(pa.large_binary(), lambda value: write_text(value).encode())
    for role, kind in kinds.items():
        if kind is not None and pa.types.is_decimal256(read_type(kind).exact):  # DuckDB has no such numbers
            yield role, pa.null(), lambda column: pa.nulls(len(column)), role
        elif role == "other":
            if kind in (pa.time64("ns"), pa.date64()):
                # DuckDB has days and microseconds, and persons who differ by less are different persons.
                yield role, pa.int64(), lambda column: column.cast(pa.int64()), role
            elif kind is not None:
                yield role, read_type(kind).exact, partial(write_exact, safe=False), role
            elif request is not None and request.counted:
                yield role, *_write_each(pa.int64(), _read_count), role
            else:
                yield role, *_write_each(pa.large_binary(), write_person), role
        elif kind is not None:
            yield role, read_type(kind).exact, _write_items, role
        elif role == "moment":
            yield role, *_write_each(pa.string(), write_value), role
        elif role in readers:
            yield role, *_write_each(pa.int64(), readers[role]), role
        else:
            yield role, *_write_each(pa.large_binary(), write_item), role
        if limited and kind is None and (role == "other" or (role == "item" and role not in readers)):
            yield f"{role}_text", *texts, role
    if checked and kinds["item"] is None:
        yield "item_written", *_write_each(pa.string(), _write_shown), "item"
    if checked and kinds["other"] is None:
        yield "other_count", *_write_each(pa.int64(), read_count), "other"


def _write_each(kind: Any, write: Callable[[Any], Any]) -> tuple[Any, Write]:
    """An Arrow type, and the writer of values to it, each by itself."""
    return kind, lambda values: pa.array([write(each) for each in values], kind)


def _read_count(value: Any) -> int | None:
    """Read a count; what is no count is −1, which no count is."""
    return None if is_missing(value) else NO_COUNT if (count := read_count(value)) is None else count


def _write_shown(value: Any) -> str | None:
    """Write an item as a check shows it."""
    try:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return None if is_missing(value) else escape_surrogates(str(value))
    except Exception:  # values may have any type, and their methods may fail in any way
        return f"a {type(value).__name__}"


def _write_items(column: Any) -> Any:
    """Write items in a type that DuckDB holds, with gaps in place of those that would be rounded."""
    exact = write_exact(column, safe=False)
    if column.type not in (pa.time64("ns"), pa.date64()):
        return exact
    same = compute.equal(exact.cast(column.type, safe=False), column)
    return compute.if_else(same, exact, pa.scalar(None, exact.type))
