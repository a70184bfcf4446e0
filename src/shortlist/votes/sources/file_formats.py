"""Parquet, CSV and JSON lines, each opened by DuckDB without guessing."""

from __future__ import annotations

import csv
import glob
import gzip
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from shortlist.errors import DataError
from shortlist.votes.engine_errors import reading
from shortlist.votes.sources.file_copies import Part
from shortlist.votes.sources.file_paths import Kind
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.workspace import identifier, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_DELIMITERS = ",\t;|"
_MOST_COLUMNS = 1000
_WHOLE = {f"{sign}{width}INT" for sign in ("", "U") for width in ("TINY", "SMALL", "BIG", "HUGE")}
_WHOLE |= {"INTEGER", "UINTEGER"}
_TEXT = "is it text in the stated encoding, and is it complete?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is asked of files: their columns, how they are written, and what errors call them."""

    choose: Choose
    name: str
    header: bool = True
    delimiter: str | None = None


def _parquet(connection: DuckDBPyConnection, parts: list[Part], asked: Reading) -> DuckDBPyRelation:
    """Read files with equal types together; the files may differ in the width of a type, not in the type."""
    alike: dict[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], list[Part]] = defaultdict(list)
    first: dict[str, tuple[str, Part]] = {}
    for part in parts:
        _refuse_empty(part, asked)
        opened = connection.sql(f"SELECT * FROM {_read_parquet([part])} LIMIT 0")
        types = dict(zip(opened.columns, map(str, opened.types), strict=True))
        chosen = asked.choose(Header(columns=opened.columns, file=_file(part) if len(parts) > 1 else None))
        for column in chosen:
            family, before = first.setdefault(column, (_family(types[column]), part))
            if family != _family(types[column]):
                raise DataError(
                    "column {column!r} of {name} must have one type in all files",
                    "it has not in {before!r} and {file!r}",
                    hint="write the files with one type, or cast the column in a query",
                    column=column,
                    name=asked.name,
                    before=before.place.shown,
                    file=part.place.shown,
                )
        alike[tuple((column, types[column]) for column in chosen), part.place.keys].append(part)
    queries = (
        f"SELECT {', '.join(identifier(column) for column, _ in typed)} FROM {_read_parquet(group)}"
        for (typed, _), group in alike.items()
    )
    return connection.sql(" UNION ALL ".join(queries))


def _read_parquet(parts: Sequence[Part]) -> str:
    return f"read_parquet({_listed(parts)}, hive_types_autocast = false)"


def _family(written: str) -> str:
    """What the types of one family have in common.

    >>> _family("UINTEGER") == _family("BIGINT"), _family("DOUBLE"), _family("TIMESTAMP_NS")
    (True, 'DOUBLE', 'TIMESTAMP')
    """
    if written in _WHOLE:
        return "INTEGER"
    if written in ("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return "TIMESTAMP"
    bare = written.partition("(")[0]
    return {"ENUM": "VARCHAR", "DECIMAL": "DECIMAL"}.get(bare, written)


def _json(connection: DuckDBPyConnection, parts: list[Part], asked: Reading) -> DuckDBPyRelation:
    """Read files with equal compression and folders together; files without a line hold no rows."""
    alike: dict[tuple[str, tuple[str, ...]], list[Part]] = defaultdict(list)
    for part in parts:
        if not part.empty:
            _refuse_array(part, asked)
            alike[part.compression, part.place.keys].append(part)
    if not alike:
        return _nothing(connection, asked)
    options = "format = 'newline_delimited', hive_types_autocast = false"
    tables = {
        key: f"read_json({_listed(group)}, {options}, compression = '{key[0]}', hive_partitioning = {bool(key[1])}"
        for key, group in alike.items()
    }
    found: dict[str, None] = {}
    for table in tables.values():
        found.update(dict.fromkeys(connection.sql(f"SELECT * FROM {table}, union_by_name = true) LIMIT 0").columns))
    chosen = asked.choose(Header(columns=list(found), origin=Origin.KEYS))
    names = ", ".join(map(identifier, chosen))
    queries = []
    for (_, keys), table in tables.items():
        types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in chosen if column not in keys)
        queries.append(f"SELECT {names} FROM {table}, columns = {{{types}}})")
    return connection.sql(" UNION ALL ".join(queries))


def _refuse_array(part: Part, asked: Reading) -> None:
    if part.place.kind is Kind.REMOTE:
        return
    with reading(f"the start of {part.place.shown!r}", hint=_TEXT), _opened(part) as text:
        start = text.read(4096).lstrip()
    if start.startswith("["):
        raise DataError(
            "{name} must be JSON lines, one object on each line",
            "{file!r} holds an array",
            hint="write it line by line: jq -c '.[]', or in pandas to_json(orient='records', lines=True)",
            name=asked.name,
            file=part.place.shown,
        )


def _csv(connection: DuckDBPyConnection, parts: list[Part], asked: Reading) -> DuckDBPyRelation:
    """Read files with equal headers together; columns are found by the header of each."""
    alike: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[Part]] = defaultdict(list)
    for part in parts:
        if asked.header or not part.empty:
            delimiter, names = _columns(connection, part, asked)
            alike[part.compression, delimiter, names, part.place.keys].append(part)
    queries = []
    for (compression, delimiter, names, keys), group in alike.items():
        chosen = asked.choose(_header([*names, *(key for key in keys if key not in names)], group[0], asked))
        # DuckDB tells names apart by more than case, and a name with a stroke is never that of a folder.
        types = ", ".join(f"'/{index}': 'VARCHAR'" for index in range(len(names)))
        columns = ", ".join(
            identifier(column) if column in keys else f"{identifier(f'/{names.index(column)}')} AS {identifier(column)}"
            for column in chosen
        )
        options = "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, hive_types_autocast = false"
        queries.append(
            f"SELECT {columns} FROM read_csv({_listed(group)}, auto_detect = false, header = {asked.header}, "
            f"delim = {literal(delimiter)}, columns = {{{types}}}, compression = '{compression}', "
            f"hive_partitioning = {bool(keys)}, {options})"
        )
    return connection.sql(" UNION ALL ".join(queries)) if queries else _nothing(connection, asked)


def _columns(connection: DuckDBPyConnection, part: Part, asked: Reading) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names: of the delimiters that give the needed columns, the one that gives most.

    Without a header, columns are named by their positions, and nothing is guessed: the first line is a vote.
    """
    _refuse_empty(part, asked)
    line = _first_line(connection, part)
    if not asked.header:
        delimiter = asked.delimiter or ("\t" if part.place.suffixes[0] == ".tsv" else ",")
        fields = next(csv.reader([line], delimiter=delimiter), [])
        return delimiter, tuple(str(position) for position in range(1, len(fields) + 1))
    if not line.strip():
        raise DataError(
            "{name} must begin with a header, the names of the columns",
            "the first line of {file!r} is blank",
            hint="remove what stands above the header",
            name=asked.name,
            file=part.place.shown,
        )
    delimiters = asked.delimiter or _DELIMITERS
    headers = [(each, tuple(next(csv.reader([line], delimiter=each), []))) for each in delimiters]
    return max(headers, key=lambda candidate: (_suffices(candidate[1], part, asked), len(candidate[1])))


def _first_line(connection: DuckDBPyConnection, part: Part) -> str:
    with reading(f"the first line of {part.place.shown!r}", hint=_TEXT):
        if part.place.kind is Kind.REMOTE:
            # No line has this sign, so a line is one field.
            options = "auto_detect = false, header = false, quote = '', escape = '', delim = '\x1f'"
            rows = connection.execute(
                f"FROM read_csv({_listed([part])}, {options}, columns = {{'line': 'VARCHAR'}}, "
                f"compression = '{part.compression}') LIMIT 1"
            ).fetchall()
            return str(rows[0][0]).removeprefix("\ufeff") if rows else ""
        with _opened(part) as text:
            line = text.readline()
        line.encode()
        return line


def _suffices(names: Sequence[str], part: Part, asked: Reading) -> bool:
    try:
        return bool(asked.choose(_header([*names, *part.place.keys], part, asked)))
    except DataError:
        return False


def _header(columns: Sequence[str], part: Part, asked: Reading) -> Header:
    return Header(columns=columns, origin=Origin.FIRST_LINE if asked.header else Origin.SCHEMA, file=_file(part))


def _nothing(connection: DuckDBPyConnection, asked: Reading) -> DuckDBPyRelation:
    """A table without rows, of files that do not say which columns they have."""
    positions = [str(position) for position in range(1, _MOST_COLUMNS)]
    chosen = asked.choose(Header(columns=positions, origin=Origin.UNKNOWN))
    return connection.sql(f"SELECT {', '.join(f'NULL::VARCHAR AS {identifier(each)}' for each in chosen)} WHERE false")


def _refuse_empty(part: Part, asked: Reading) -> None:
    if part.empty:
        raise DataError("{name} must not be an empty file", "{file!r} is", name=asked.name, file=part.place.shown)


def _opened(part: Part) -> TextIO:
    opened = gzip.open if part.compression == "gzip" else open
    # What is wrong further down is found by DuckDB, which tells the line.
    return cast(TextIO, opened(part.path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _file(part: Part) -> Path:
    return Path(part.place.shown)


def _listed(parts: Sequence[Part]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
    paths = (part.path if part.place.kind is Kind.REMOTE else glob.escape(part.path) for part in parts)
    return "[" + ", ".join(map(literal, paths)) + "]"


OPENERS: dict[str, Callable[[DuckDBPyConnection, list[Part], Reading], DuckDBPyRelation]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
}
"""How the files of each format are opened as one table with the chosen columns."""
