"""Parquet, CSV and JSON lines, each opened by DuckDB without guessing."""

from __future__ import annotations

import csv
import glob
import gzip
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from shortlist.errors import DataError
from shortlist.votes.files.copies import Part
from shortlist.votes.files.paths import Kind
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.sql import quote_name, quote_text
from shortlist.votes.workspace.failures import translate_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_DELIMITERS = ",\t;|"
_NO_HEADER = Header(columns=[str(position) for position in range(1, 1000)], origin=Origin.UNKNOWN)
_WHOLE = {f"{sign}{width}INT" for sign in ("", "U") for width in ("TINY", "SMALL", "BIG", "HUGE")}
_WHOLE |= {"INTEGER", "UINTEGER"}
_TEXT = "is it text in the stated encoding, and is it complete?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of files: their columns, how they are written, and what errors call them."""

    choose: Choose
    name: str
    header: bool = True
    delimiter: str | None = None


def _open_parquet(connection: DuckDBPyConnection, parts: list[Part], request: Request) -> DuckDBPyRelation:
    """Read files with equal types together; the files may differ in the width of a type, not in the type."""
    alike: dict[tuple[tuple[tuple[str, str], ...], tuple[str, ...]], list[Part]] = defaultdict(list)
    first: dict[str, tuple[str, Part]] = {}
    for part in parts:
        _refuse_empty(part, request)
        opened = connection.sql(f"SELECT * FROM {_read_parquet([part])} LIMIT 0")
        types = dict(zip(opened.columns, map(str, opened.types), strict=True))
        chosen = request.choose(
            Header(columns=opened.columns, origin=Origin.SCHEMA, file=_path_of(part) if len(parts) > 1 else None)
        )
        for column in chosen:
            family, before = first.setdefault(column, (_family(types[column]), part))
            if family != _family(types[column]):
                raise DataError(
                    "column {column!r} of {name} must have one type in all files",
                    "it has not in {before!r} and {file!r}",
                    hint="write the files with one type, or cast the column in a query",
                    column=column,
                    name=request.name,
                    before=before.place.label,
                    file=part.place.label,
                )
        alike[tuple((column, types[column]) for column in chosen), part.place.keys].append(part)
    queries = (
        f"SELECT {', '.join(quote_name(column) for column, _ in typed)} FROM {_read_parquet(group)}"
        for (typed, _), group in alike.items()
    )
    return connection.sql(" UNION ALL ".join(queries))


def _read_parquet(parts: Sequence[Part]) -> str:
    return f"read_parquet({_list_paths(parts)}, hive_types_autocast = false)"


def _family(written: str) -> str:
    """What types have in common that DuckDB brings together without rounding a value or failing on it.

    >>> _family("UINTEGER") == _family("BIGINT"), _family("DOUBLE"), _family("TIMESTAMP_NS")
    (True, 'DOUBLE', 'TIMESTAMP_NS')
    >>> _family("DECIMAL(9,2)") == _family("DECIMAL(38,2)"), _family("DECIMAL(9,2)") == _family("DECIMAL(9,3)")
    (True, False)
    """
    if written in _WHOLE:
        return "INTEGER"
    bare, _, rest = written.partition("(")
    if bare == "DECIMAL":
        return f"DECIMAL with scale {rest.partition(',')[2]}"
    return "VARCHAR" if bare == "ENUM" else written


def _open_json(connection: DuckDBPyConnection, parts: list[Part], request: Request) -> DuckDBPyRelation:
    """Read files with equal compression and folders together.

    The keys of a line are data, so the columns of votes are declared and not looked for. A line of votes that is not an
    object is a row without values.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[Part]] = defaultdict(list)
    for part in parts:
        if not part.empty:
            _refuse_array(part, request)
            alike[part.compression, part.place.keys].append(part)
    options = "format = 'newline_delimited', hive_types_autocast = false"
    tables = {
        key: f"read_json({_list_paths(group)}, {options}, compression = '{key[0]}', hive_partitioning = {bool(key[1])}"
        for key, group in alike.items()
    }
    chosen = _choose_keys(connection, list(tables.values()), request)
    names = ", ".join(map(quote_name, chosen))
    queries = []
    for (_, keys), table in tables.items():
        types = ", ".join(f"{quote_text(column)}: 'VARCHAR'" for column in chosen if column not in keys)
        queries.append(f"SELECT {names} FROM {table}, ignore_errors = {len(chosen) > 1}, columns = {{{types}}})")
    return connection.sql(" UNION ALL ".join(queries)) if queries else _make_empty(connection, chosen)


def _choose_keys(connection: DuckDBPyConnection, tables: list[str], request: Request) -> list[str]:
    """The columns of votes as they are asked for. Of a domain, which is public and one column, keys are looked for."""
    with suppress(DataError):
        chosen = request.choose(_NO_HEADER)
        if len(chosen) > 1:
            return chosen
    found: dict[str, None] = {}
    for table in tables:
        found.update(dict.fromkeys(connection.sql(f"SELECT * FROM {table}, union_by_name = true) LIMIT 0").columns))
    return request.choose(Header(columns=list(found), origin=Origin.KEYS))


def _refuse_array(part: Part, request: Request) -> None:
    if part.place.kind is Kind.REMOTE:
        return
    with translate_errors(f"the start of {part.place.label!r}", hint=_TEXT), _open_text(part) as text:
        start = text.read(4096).lstrip()
    if start.startswith("["):
        raise DataError(
            "{name} must be JSON lines, one object on each line",
            "{file!r} holds an array",
            hint="write it line by line: jq -c '.[]', or in pandas to_json(orient='records', lines=True)",
            name=request.name,
            file=part.place.label,
        )


def _open_csv(connection: DuckDBPyConnection, parts: list[Part], request: Request) -> DuckDBPyRelation:
    """Read files with equal headers together; columns are found by the header of each."""
    alike: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[Part]] = defaultdict(list)
    for part in parts:
        if request.header or not part.empty:
            delimiter, names = _find_columns(connection, part, request)
            alike[part.compression, delimiter, names, part.place.keys].append(part)
    queries = []
    for (compression, delimiter, names, keys), group in alike.items():
        chosen = request.choose(_make_header([*names, *(key for key in keys if key not in names)], group[0], request))
        # DuckDB tells names apart by more than case, and a name with a stroke is never that of a folder.
        types = ", ".join(f"'/{index}': 'VARCHAR'" for index in range(len(names)))
        columns = ", ".join(
            quote_name(column) if column in keys else f"{quote_name(f'/{names.index(column)}')} AS {quote_name(column)}"
            for column in chosen
        )
        options = "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, hive_types_autocast = false"
        queries.append(
            f"SELECT {columns} FROM read_csv({_list_paths(group)}, auto_detect = false, header = {request.header}, "
            f"delim = {quote_text(delimiter)}, columns = {{{types}}}, compression = '{compression}', "
            f"hive_partitioning = {bool(keys)}, {options})"
        )
    if not queries:
        return _make_empty(connection, request.choose(_NO_HEADER))
    return connection.sql(" UNION ALL ".join(queries))


def _find_columns(connection: DuckDBPyConnection, part: Part, request: Request) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names: of the delimiters that give the needed columns, the one that gives most.

    Without a header, columns are named by their positions, and nothing is guessed: the first line is a vote.
    """
    _refuse_empty(part, request)
    line = _read_first_line(connection, part)
    if not request.header:
        delimiter = request.delimiter or ("\t" if part.place.suffixes[0] == ".tsv" else ",")
        fields = next(csv.reader([line], delimiter=delimiter), [])
        return delimiter, tuple(str(position) for position in range(1, len(fields) + 1))
    if not line.strip():
        raise DataError(
            "{name} must begin with a header, the names of the columns",
            "the first line of {file!r} is blank",
            hint="remove what stands above the header",
            name=request.name,
            file=part.place.label,
        )
    delimiters = request.delimiter or _DELIMITERS
    headers = [(each, tuple(next(csv.reader([line], delimiter=each), []))) for each in delimiters]
    return max(headers, key=lambda candidate: (_has_columns(candidate[1], part, request), len(candidate[1])))


def _read_first_line(connection: DuckDBPyConnection, part: Part) -> str:
    with translate_errors(f"the first line of {part.place.label!r}", hint=_TEXT):
        if part.place.kind is Kind.REMOTE:
            # No line has this sign, so a line is one field.
            options = "auto_detect = false, header = false, quote = '', escape = '', delim = '\x1f'"
            rows = connection.execute(
                f"FROM read_csv({_list_paths([part])}, {options}, columns = {{'line': 'VARCHAR'}}, "
                f"compression = '{part.compression}') LIMIT 1"
            ).fetchall()
            return str(rows[0][0]).removeprefix("\ufeff") if rows else ""
        with _open_text(part) as text:
            line = text.readline()
        line.encode()
        return line


def _has_columns(names: Sequence[str], part: Part, request: Request) -> bool:
    try:
        return bool(request.choose(_make_header([*names, *part.place.keys], part, request)))
    except DataError:
        return False


def _make_header(columns: Sequence[str], part: Part, request: Request) -> Header:
    return Header(columns=columns, origin=Origin.FIRST_LINE if request.header else Origin.SCHEMA, file=_path_of(part))


def _make_empty(connection: DuckDBPyConnection, chosen: list[str]) -> DuckDBPyRelation:
    """A table without rows, of files that do not say which columns they have."""
    return connection.sql(f"SELECT {', '.join(f'NULL::VARCHAR AS {quote_name(each)}' for each in chosen)} WHERE false")


def _refuse_empty(part: Part, request: Request) -> None:
    if part.empty:
        raise DataError("{name} must not be an empty file", "{file!r} is", name=request.name, file=part.place.label)


def _open_text(part: Part) -> TextIO:
    opened = gzip.open if part.compression == "gzip" else open
    # What is wrong further down is found by DuckDB, which tells the line.
    return cast(TextIO, opened(part.path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _path_of(part: Part) -> Path:
    return Path(part.place.label)


def _list_paths(parts: Sequence[Part]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
    paths = (part.path if part.place.kind is Kind.REMOTE else glob.escape(part.path) for part in parts)
    return "[" + ", ".join(map(quote_text, paths)) + "]"


OPENERS: dict[str, Callable[[DuckDBPyConnection, list[Part], Request], DuckDBPyRelation]] = {
    "parquet": _open_parquet,
    "csv": _open_csv,
    "json": _open_json,
}
"""How the files of each format are opened as one table with the chosen columns."""
