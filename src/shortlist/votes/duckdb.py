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
from abc import abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import quote
from shortlist.votes.domain import Domain, choose_held_type
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.files import OpenedFiles, open_files
from shortlist.votes.libraries import import_optional
from shortlist.votes.matching import can_match, make_key_table
from shortlist.votes.queries import READABLE, Query, invent_name, quote_text, refuse_sql, strip_query, write_present
from shortlist.votes.source import (
    NO_COUNT,
    SEVERAL_COUNTS,
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
    TypedRows,
    Voters,
    check_counts,
    scatter_counts,
)
from shortlist.votes.values import (
    Family,
    choose_exact_type,
    choose_plain_type,
    find_family,
    is_plain,
    read_item,
    write_plain,
)

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing is swept
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import duckdb

_R = TypeVar("_R")
_COMPLETE = "is every file complete, and are all its rows alike?"
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
        self._engine = import_optional("duckdb", purpose="opening files and tables")
        self._limit = None if memory_limit is None else _read_size(memory_limit)
        self._folder: Path | None = None
        self._connection: duckdb.DuckDBPyConnection | None = None

    @property
    def folder(self) -> Path:
        """The folder for what spills and for copies. Only its owner may read it."""
        if self._folder is None:
            _remove_left_folders()
            self._folder, lock = make_own_folder()
            weakref.finalize(self, _remove, self._folder, lock)
        return self._folder

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection."""
        if self._connection is None:
            # A name in a query means a table of the database, never a variable of this program; and nothing is loaded
            # from the network.
            settings = {"python_enable_replacements": "false", "autoinstall_known_extensions": "false"}
            limit = {} if self._limit is None else {"memory_limit": self._limit}
            config = {"temp_directory": str(self.folder), **settings, **limit}
            self._connection = self._engine.connect(":memory:", config=config)
            # The last one made is called first: the connection is closed before its folder is removed.
            weakref.finalize(self, self._connection.close)
            self._connection.execute("SET TimeZone = 'UTC'")
        return self._connection


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


def count_matches(connection: Any, plain: Any, keys: Any, voters: Voters, *, d: int) -> IntArray:
    """Match a relation of `item` and `other` to keys, and count the votes of each row.

    Relations are composed as objects, so no table is made and no name is written into a statement.
    """
    matched = plain.set_alias("v").join(connection.from_arrow(keys).set_alias("k"), "v.item = k.key")
    others = ", ".join(name for name in plain.columns if name.startswith("other"))
    return count_rows(matched.project(f'"row" AS item, {others}'), voters, d=d)


def count_rows(numbered: Any, voters: Voters, *, d: int) -> IntArray:
    """Count the votes of each row, given a relation of row numbers (`item`) and `other`."""
    found = count_groups(numbered, voters).fetchnumpy()
    check_counts(found["votes"].tolist())
    return scatter_counts({"row": found["item"], "votes": found["votes"]}, d=d)


def count_groups(plain: Any, voters: Voters) -> Any:
    """Group a relation of `item` and `other` by item; the answer has the columns `item` and `votes`.

    Persons are counted; counts are taken as they are. A cap is the number of items that are kept of each person: the
    first ones by a hash of the texts of the person and the item (`values.write_text`), and then by the item. So they
    depend on that person's votes alone, and not on the types of the columns, which other persons' values may decide.
    Text is told apart by its bytes, because DuckDB's windows misread text that is no UTF-8. Functions are named in
    full, because a macro may have the short name.
    """
    kinds = dict(zip(plain.columns, map(str, plain.types), strict=True))
    voted = plain.filter(f"item IS NOT NULL AND {write_present('other', kinds['other'])}")
    if isinstance(voters, CountColumn):
        read, count = voted.project(f"item, {write_count_reader(kinds['other'])} AS votes"), "system.main.count"
        none = f"WHEN {count}(votes) < {count}(*) THEN {NO_COUNT}"
        several = f"WHEN {count}(*) > 1 THEN {SEVERAL_COUNTS}"
        return read.aggregate(f"item, CASE {none} {several} ELSE system.main.max(votes) END AS votes", "item")
    if voters.cap is None:
        return voted.aggregate("item, system.main.count(DISTINCT other) AS votes", "item")
    columns = [
        f"system.main.encode(CAST({name} AS VARCHAR)) AS {name}" if _is_text(kind) else name
        for name, kind in kinds.items()
    ]
    join = 'system.main."||"'
    person, item = (_write_order(name, kinds) for name in ("other", "item"))
    order = f"system.main.md5_number({join}({join}({person}, CAST(' ' AS BLOB)), {item})), item"
    turn = f"system.main.row_number() OVER (PARTITION BY other ORDER BY {order}) AS turn"
    kept = voted.project(", ".join(columns)).distinct().project(f"item, {turn}").filter(f"turn <= {voters.cap}")
    return kept.aggregate("item, system.main.count(*) AS votes", "item")


def _is_text(kind: str) -> bool:
    return kind in ("VARCHAR", "JSON") or kind.startswith("ENUM(")


def _write_order(name: str, kinds: dict[str, str]) -> str:
    """The SQL of `values.write_text` of a column, as bytes; text is bytes already, and may be a column of its own."""
    kind, text = kinds[name], f"CAST({name} AS VARCHAR)"
    if f"{name}_text" in kinds or _is_text(kind):
        return f"{name}_text" if f"{name}_text" in kinds else name
    if kind in ("FLOAT", "DOUBLE"):
        text = f"CAST(TRY_CAST(system.main.floor({name}) AS BIGINT) AS VARCHAR)"
    elif kind.startswith("DECIMAL("):
        text = f"CAST(system.main.floor({name}) AS VARCHAR)"
    elif kind == "BLOB":
        text = f"system.main.lower(system.main.hex({name}))"
    elif kind == "TIME" or kind.startswith("TIMESTAMP"):
        text = f"CAST(TRY(system.main.epoch_us({name})) AS VARCHAR)"
    return f"system.main.encode(coalesce({text}, ''))"


def write_count_reader(kind: str) -> str:
    """The SQL that reads a count, NULL where it is none."""
    value = "CAST(NULL AS BIGINT)"
    if _WHOLE.fullmatch(kind):
        value = "TRY_CAST(other AS BIGINT)"
    elif kind == "VARCHAR":
        value = f"CASE WHEN system.main.regexp_matches(other, '{_WHOLE_TEXT}') THEN TRY_CAST(other AS BIGINT) END"
    elif kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL("):
        value = "CASE WHEN other = system.main.trunc(other) THEN TRY_CAST(other AS BIGINT) END"
    return f"CASE WHEN {value} >= 0 THEN {value} END"


# Items that were observed

_RANGES = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIME": "BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
    "TIMESTAMP WITH TIME ZONE": (
        "BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
    ),
}
"""The items that Python can hold."""


def keep_groups(workspace: Workspace, counted: Any, family: Family) -> ObservedTally:
    """Keep counted groups, a relation of `item` and `votes`, in a table of the workspace, which spills.

    Items of no family (`OTHER`) are bytes that `write_item` wrote.
    """
    connection, table = workspace.connection, invent_name()
    item, condition = _clean_items(str(counted.types[0]), family)
    with register_engine(connection.interrupt):
        clean = counted.project(f"{item} AS item, CAST(votes AS BIGINT) AS votes").filter(condition)
        connection.execute(f"CREATE TEMP TABLE {table} (item {clean.types[0]}, votes BIGINT)")
        clean.insert_into(table)
        levels = connection.table(table).aggregate("votes, system.main.count(*) AS n", "votes").fetchall()
    return ObservedTally(levels, partial(_find_items, workspace, table, family))


def convert_items(column: Any, family: Family) -> list[Any]:
    """Turn an Arrow column of chosen items into Python values."""
    if family == Family.OTHER:
        return [read_item(each) for each in column.to_pylist()]
    held = column.cast(choose_held_type(column.type, family))
    return list(Domain(items=held, family=family).values())


def _clean_items(kind: str, family: Family) -> tuple[str, str]:
    """The SQL of a group's item in the type that it is held in, and the condition that Python can hold it."""
    if family == Family.TEXT:
        text = "item" if kind == "BLOB" else "system.main.encode(item)"
        return f"TRY(system.main.decode({text}))", "item IS NOT NULL"
    if kind.startswith("TIMESTAMP_"):
        whole = "CASE WHEN system.main.epoch_ns(item) % 1000 = 0 THEN item END" if kind == "TIMESTAMP_NS" else "item"
        return f"TRY_CAST({whole} AS TIMESTAMP)", f"item {_RANGES['TIMESTAMP']}"
    return "item", f"item {_RANGES.get(kind, 'IS NOT NULL')}"


def _find_items(
    workspace: Workspace, table: str, family: Family, counts: IntArray, ranks: IntArray
) -> Iterable[tuple[int, int, Any]]:
    pa, connection = import_optional("pyarrow"), workspace.connection
    levels = ", ".join(map(str, np.unique(counts).tolist()))
    rank = "system.main.row_number() OVER (PARTITION BY votes ORDER BY item) - 1 AS place"
    with register_engine(connection.interrupt):
        ranked = connection.table(table).filter(f"votes IN ({levels})").project(f"votes, item, {rank}").set_alias("r")
        wanted = connection.from_arrow(pa.table({"votes": counts, "place": ranks})).set_alias("w")
        found = ranked.join(wanted, "r.votes = w.votes AND r.place = w.place").project("r.votes, r.place, item")
        answer = found.to_arrow_table()
    items = convert_items(answer.column(2).combine_chunks(), family)
    return zip(answer.column(0).to_pylist(), answer.column(1).to_pylist(), items, strict=True)


# Columns of DuckDB as they are: without a collation, and in types that Arrow has

_TEXT_IN_ARROW = re.compile(r"UUID|JSON|UHUGEINT|BIGNUM|ENUM\(.*", re.DOTALL)
_NEVER_ITEMS = re.compile(r"BIT|TIME WITH TIME ZONE|TIME_NS|INTERVAL|VARIANT|GEOMETRY.*")
_NEVER_PERSONS = re.compile(r"^(STRUCT|MAP|UNION|VARIANT|GEOMETRY|INTERVAL)\b|\]$")
_PERSONS_AS_TEXT = re.compile(r"JSON|U?HUGEINT|BIGNUM|BIT|TIME WITH TIME ZONE|ENUM\(.*", re.DOTALL)


def take_plain_columns(relation: Any) -> Any:
    """Take columns as `item` and `other`, without collation, and items in a type that Arrow has.

    They are taken by position, because DuckDB takes two names that differ in case for one.
    """
    item, *others = map(str, relation.types)
    taken = f"{_write_item(item)} AS item"
    if others:
        text = _PERSONS_AS_TEXT.fullmatch(others[0])
        taken += f", {_uncollate('CAST(#2 AS VARCHAR)' if text else '#2', 'VARCHAR' if text else others[0])} AS other"
    return relation.project(taken)


def _write_item(kind: str) -> str:
    if _NEVER_ITEMS.fullmatch(kind):
        return "CAST(NULL AS STRUCT(nothing INTEGER))"
    if kind == "HUGEINT":
        # Arrow has no wider numbers, and an item of the domain has at most 38 digits.
        return "TRY_CAST(#1 AS DECIMAL(38, 0))"
    text = _TEXT_IN_ARROW.fullmatch(kind)
    return _uncollate("CAST(#1 AS VARCHAR)" if text else "#1", "VARCHAR" if text else kind)


def _uncollate(column: str, kind: str) -> str:
    return f'{column} COLLATE "binary"' if kind == "VARCHAR" else column


def _describe_relation(plain: Any) -> Description:
    """Describe a relation of `item` and `other` by its types."""
    kept = plain.project("item").limit(0).to_arrow_table().schema.field(0).type
    persons = len(plain.types) < 2 or not _NEVER_PERSONS.search(str(plain.types[1]))
    return Description(family=find_family(kept), plain=persons, held=(plain, kept))


# Files, queries and relations


class DuckDBSource(Source):
    """A relation of the workspace or of a connection of the user, which `take` makes of the chosen columns."""

    def __init__(self, workspace: Workspace, connection: Any, name: str, take: Callable[[Choose], Any]) -> None:
        super().__init__(workspace, connection, name)
        self._take = take

    def describe(self, choose: Choose) -> Description:
        """Describe the columns, which are bound and not read."""
        return _describe_relation(take_plain_columns(self._take(choose)))

    def read_items(self, described: Description) -> Any:
        """The different items."""
        return self._run(described, lambda plain, kept: plain.distinct().to_arrow_table().column(0))

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count where the relation is."""

        def work(plain: Any, kept: Any) -> Tally:
            if not can_match(domain.family, find_family(kept)):
                return LocalTally(domain, np.zeros(domain.d, dtype=np.int64))
            keys = make_key_table(domain, kept)
            return LocalTally(domain, count_matches(self._given, plain, keys, voters, d=domain.d))

        return self._run(described, work)

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group where the relation is; the workspace keeps the groups."""

        def work(plain: Any, kept: Any) -> ObservedTally:
            if find_family(kept) in (Family.FLOAT, Family.OTHER):
                return ObservedTally([], lambda counts, ranks: [])
            counted, ours = count_groups(plain, voters), self._workspace.connection
            here = counted if self._given is ours else ours.from_arrow(_open_stream(counted))
            return keep_groups(self._workspace, here, find_family(kept))

        return self._run(described, work)

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows, in the workspace."""

        def work(plain: Any, kept: Any) -> _R:
            if self._given is not self._workspace.connection:
                return use(read_typed_rows(self._workspace, _open_stream(plain)))
            return use(TypedRows(relation=plain, kept=kept, family=find_family(kept)))

        return self._run(described, work)

    def _run(self, described: Description, work: Callable[[Any, Any], _R]) -> _R:
        with translate_errors(self._name, hint=_COMPLETE), register_engine(self._given.interrupt):
            return work(*described.held)


class FileSource(DuckDBSource):
    """Files of one table. Those of text are opened after the charge."""

    def __init__(self, workspace: Workspace, files: Any, name: str) -> None:
        super().__init__(workspace, None, name, partial(open_files, workspace, files, name=name))

    def describe(self, choose: Choose) -> Description:
        """Describe files by their names, footers and headers."""
        opened: OpenedFiles = self._take(choose)
        self._given = self._workspace.connection
        if opened.text:
            return Description(family=Family.TEXT, held=opened)
        described = opened.read(lambda relation: _describe_relation(take_plain_columns(relation)))
        return Description(family=described.family, plain=described.plain, held=opened)

    def read_items(self, described: Description) -> Any:
        """The items. A file of items hardly repeats one, and duplicates are dropped later anyway."""
        return self._run(described, lambda plain, kept: plain.to_arrow_table().column(0))

    def _run(self, described: Description, work: Callable[[Any, Any], _R]) -> _R:
        opened: OpenedFiles = described.held
        return opened.read(lambda relation: work(*_describe_relation(take_plain_columns(relation)).held))


def open_duckdb_query(workspace: Workspace, query: Query, name: str, *, origin: Origin = Origin.ANSWER) -> DuckDBSource:
    """The answer to a query on a file, which the workspace opens, or on a connection of the user."""
    connection = query.database
    if isinstance(query.database, str | os.PathLike):
        connection, path = workspace.connection, query.path
        with translate_errors(f"database {str(path)!r}", hint="is it open elsewhere, for writing?"):
            attached = invent_name()
            connection.execute(f"ATTACH {quote_text(str(path))} AS {attached} (READ_ONLY)")
            connection.execute(f"USE {attached}")
    relation = _ask(connection, query.sql)
    return DuckDBSource(workspace, connection, name, partial(_take_columns, relation, name=name, origin=origin))


def _ask(connection: Any, sql: str) -> Any:
    """The relation of one SELECT."""
    engine = import_optional("duckdb")
    with translate_errors("the query", hint=READABLE):
        try:
            statements = connection.extract_statements(sql)
            if len(statements) == 1 and statements[0].type == engine.StatementType.SELECT:
                return connection.sql(strip_query(sql))
            said = "it is not one SELECT"
        except (engine.ParserException, engine.CatalogException, engine.BinderException) as error:
            said = str(error)
    raise refuse_sql(said, sql)


def _take_columns(relation: Any, choose: Choose, *, name: str, origin: Origin) -> Any:
    """The chosen columns by position, because DuckDB takes two names that differ in case for one."""
    found = list(relation.columns)
    chosen = choose(Header(columns=found, origin=origin))
    with translate_errors(name):
        return relation.project(", ".join(f"#{found.index(column) + 1}" for column in chosen))


def _open_stream(relation: Any) -> Any:
    """Read a relation of any DuckDB batch by batch."""
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # its name in DuckDB 1
    return reader()


# Batches of Arrow


class StreamSource(Source):
    """A table that hands its rows to the workspace. Define `open_reader`, and `describe` with `describe_types`."""

    @abstractmethod
    def open_reader(self, described: Description) -> Any:
        """The described columns as a reader of Arrow batches."""

    def read_items(self, described: Description) -> Any:
        """The items."""
        return self.open_reader(described).read_all().column(0)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in the workspace."""
        reader = self.open_reader(described)
        item = reader.schema.types[0]
        if not can_match(domain.family, find_family(item)):
            return LocalTally(domain, np.zeros(domain.d, dtype=np.int64))
        keys = make_key_table(domain, choose_exact_type(item), find_family(item))
        return LocalTally(domain, count_batches(self._workspace, reader, keys, voters, d=domain.d))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group in the workspace."""
        reader = self.open_reader(described)
        family = find_family(reader.schema.types[0])
        if family == Family.OTHER:
            return ObservedTally([], lambda counts, ranks: [])
        return keep_groups(self._workspace, count_groups(open_batches(self._workspace, reader), voters), family)

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows."""
        return use(read_typed_rows(self._workspace, self.open_reader(described)))


def describe_types(types: Any, held: Any) -> Description:
    """Describe columns by their Arrow types. A column of gaps has no family."""
    item, *others = types
    gaps = import_optional("pyarrow").types.is_null(item)
    return Description(family=None if gaps else find_family(item), plain=all(map(is_plain, others)), held=held)


class ArrowSource(StreamSource):
    """A table, batch, reader or dataset of Arrow, or anything that exports an Arrow stream."""

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema; of a stream, no batch is asked for."""
        pa, table = import_optional("pyarrow"), self._given
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if not isinstance(table, pa.Table | import_optional("pyarrow.dataset").Dataset):
            table = pa.RecordBatchReader.from_stream(table)
        chosen = choose(Header(columns=table.schema.names))
        if isinstance(table, import_optional("pyarrow.dataset").FileSystemDataset):
            table = _widen(table, chosen, self._name)
        types = [choose_plain_type(table.schema.field(name).type) for name in chosen]
        return describe_types(types, (table, chosen))

    def open_reader(self, described: Description) -> Any:
        """The columns, in types that all engines have."""
        pa, (table, chosen) = import_optional("pyarrow"), described.held
        if hasattr(table, "scanner"):
            batches = table.scanner(columns=chosen).to_reader()
        elif isinstance(table, pa.Table):
            batches = table.select(chosen).to_reader()
        else:
            batches = (batch.select(chosen) for batch in table)
        types = [choose_plain_type(table.schema.field(name).type) for name in chosen]
        schema = pa.schema(list(zip(chosen, types, strict=True)))
        columns = (list(map(write_plain, batch.columns)) for batch in batches)
        return pa.RecordBatchReader.from_batches(
            schema, (pa.RecordBatch.from_arrays(each, schema=schema) for each in columns)
        )


def _widen(dataset: Any, chosen: list[str], name: str) -> Any:
    """A dataset in whose schema each file fits: a later file may hold wider whole numbers than the first.

    A file of text has no schema of its own, and a dataset with a filter is left as it is.
    """
    pa, schema = import_optional("pyarrow"), dataset.schema
    if dataset.format.default_extname in ("csv", "json") or getattr(dataset, "_scan_options", None):
        return dataset
    fragments = list(dataset.get_fragments())
    for column in chosen:
        place = schema.get_field_index(column)
        files = (fragment.physical_schema for fragment in fragments)
        kinds = {schema.field(place).type, *(file.field(column).type for file in files if column in file.names)}
        if len(kinds) > 1 and all(map(pa.types.is_integer, kinds)):
            signed = any(map(pa.types.is_signed_integer, kinds))
            wide = pa.decimal128(20, 0) if signed and pa.uint64() in kinds else pa.int64() if signed else pa.uint64()
            schema = schema.set(place, pa.field(column, wide))
        elif len({find_family(kind) for kind in kinds}) > 1:
            raise DataError(
                f"column {column!r} of {name} must have one type in all files",
                "it has not",
                hint="write the files with one type, or cast the column in a query",
            )
    if schema.equals(dataset.schema):
        return dataset
    make = import_optional("pyarrow.dataset").FileSystemDataset
    return make(fragments, schema, dataset.format, dataset.filesystem, dataset.partition_expression)


def exports_arrow(value: Any) -> bool:
    """Whether a value is a table of Arrow, or exports one."""
    pa = import_optional("pyarrow")
    if isinstance(value, pa.RecordBatch | import_optional("pyarrow.dataset").Dataset):
        return True
    return hasattr(value, "__arrow_c_stream__") and not isinstance(value, pa.ChunkedArray)


class RelationSource(StreamSource):
    """A relation of the user, whose connection is unknown."""

    def describe(self, choose: Choose) -> Description:
        """Describe the columns, which are bound and not read."""
        taken = _take_columns(self._given, choose, name=self._name, origin=Origin.FRAME)
        return _describe_relation(take_plain_columns(taken))

    def open_reader(self, described: Description) -> Any:
        """The columns."""
        return _open_stream(described.held[0])


def count_batches(workspace: Workspace, reader: Any, keys: Any, voters: Voters, *, d: int) -> IntArray:
    """Count the votes of batches whose items equal keys."""
    connection = workspace.connection
    relation = open_batches(workspace, reader)
    with register_engine(connection.interrupt):
        # DuckDB takes a stream for one row, and would keep all votes in memory in place of the keys.
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            return count_matches(connection, relation, keys, voters, d=d)
        finally:
            connection.execute("RESET disabled_optimizers")


def open_batches(workspace: Workspace, reader: Any) -> Any:
    """Batches as a relation of `item`, `other` and, if they are there, the texts of both as bytes."""
    return workspace.connection.from_arrow(_cast_exactly(reader))


def read_typed_rows(workspace: Workspace, reader: Any) -> TypedRows:
    """The rows of batches, in the workspace."""
    declared = reader.schema.field(0).type
    relation = open_batches(workspace, reader)
    return TypedRows(relation=relation, kept=choose_exact_type(declared), family=find_family(declared))


def _cast_exactly(reader: Any) -> Any:
    """Bring batches to types that DuckDB holds without loss."""
    pa = import_optional("pyarrow")
    item, other, *texts = (field.type for field in reader.schema)
    names = ("item", "other", *reader.schema.names[2:])
    # DuckDB has days and microseconds, and persons who differ by less are different persons.
    finer = other in (pa.time64("ns"), pa.date64())
    kinds = [choose_exact_type(item), pa.int64() if finer else choose_exact_type(other), *texts]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    units = {pa.time64("ns"): 1000, pa.date64(): 86_400_000}.get(item)

    def cast(batch: Any) -> Any:
        items, *others = batch.columns
        if units is not None:
            items = _divide_exactly(items, units, kinds[0])
        columns = [each.cast(kind, safe=False) for each, kind in zip((items, *others), kinds, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(cast, reader))


def _divide_exactly(times: Any, units: int, kind: Any) -> Any:
    """Dates or times in coarser units, and gaps in place of those that would be rounded or do not fit."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    ticks = times.cast(pa.int64())
    whole = compute.divide(ticks, units)
    low, high = (pa.scalar(limit, pa.int64()) for limit in (-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1))
    fits = compute.and_(compute.greater_equal(whole, low), compute.less_equal(whole, high))
    exact = compute.and_(fits, compute.equal(compute.multiply(whole, units), ticks))
    held = pa.int32() if kind.bit_width == 32 else pa.int64()
    return compute.if_else(exact, whole, pa.scalar(None, pa.int64())).cast(held).cast(kind)
