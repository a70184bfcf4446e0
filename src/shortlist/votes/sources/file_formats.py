"""Parquet, CSV and JSON lines, each opened by DuckDB without guessing."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from shortlist.errors import DataError
from shortlist.votes.engine_errors import reading
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.workspace import identifier, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

_DELIMITERS = ",\t;|"
_WHOLE = {f"{sign}{width}INT" for sign in ("", "U") for width in ("TINY", "SMALL", "BIG", "HUGE")}
_WHOLE |= {"INTEGER", "UINTEGER"}


def _parquet(connection: DuckDBPyConnection, files: list[Path], choose: Choose, name: str) -> DuckDBPyRelation:
    """Read files with equal types together; the files may differ in the width of a type, not in the type."""
    alike: dict[tuple[tuple[str, str], ...], list[Path]] = defaultdict(list)
    first: dict[str, tuple[str, Path]] = {}
    for path in files:
        opened = connection.sql(f"SELECT * FROM {_read_parquet([path])} LIMIT 0")
        types = dict(zip(opened.columns, map(str, opened.types), strict=True))
        chosen = choose(Header(columns=opened.columns, file=path if len(files) > 1 else None))
        for column in chosen:
            family, before = first.setdefault(column, (_family(types[column]), path))
            if family != _family(types[column]):
                raise DataError(
                    f"column {column!r} of {name} must have one type in all files; "
                    f"it has not in {str(before)!r} and {str(path)!r}.",
                    hint="write the files with one type, or cast the column in a query",
                )
        alike[tuple((column, types[column]) for column in chosen)].append(path)
    parts = (
        f"SELECT {', '.join(identifier(column) for column, _ in typed)} FROM {_read_parquet(group)}"
        for typed, group in alike.items()
    )
    return connection.sql(" UNION ALL ".join(parts))


def _read_parquet(files: Sequence[Path]) -> str:
    return f"read_parquet({_listed(files)}, hive_types_autocast = false)"


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


def _json(connection: DuckDBPyConnection, files: list[Path], choose: Choose, name: str) -> DuckDBPyRelation:
    for path in files:
        _check_lines(path, name)
    options = "format = 'newline_delimited', compression = 'auto_detect'"
    table = f"read_json({_listed(files)}, {options}, union_by_name = true)"
    found = connection.sql(f"SELECT * FROM {table} LIMIT 0").columns
    chosen = choose(Header(columns=found, origin=Origin.KEYS))
    types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in chosen)
    return connection.sql(f"FROM read_json({_listed(files)}, {options}, columns = {{{types}}})")


def _check_lines(path: Path, name: str) -> None:
    with (
        reading(f"the start of {str(path)!r}", hint="is it text in UTF-8, and packed only if it ends in .gz?"),
        _opened(path) as text,
    ):
        start = text.read(4096).lstrip()
    if start.startswith("["):
        raise DataError(
            f"{name} must be JSON lines, one object on each line; {str(path)!r} holds an array.",
            hint="write it line by line: jq -c '.[]', or in pandas to_json(orient='records', lines=True)",
        )


def _csv(connection: DuckDBPyConnection, files: list[Path], choose: Choose, name: str) -> DuckDBPyRelation:
    """Read files with equal headers together; columns are found by the header of each."""
    alike: dict[tuple[str, tuple[str, ...]], list[Path]] = defaultdict(list)
    for path in files:
        alike[_header(path, choose, name)].append(path)
    parts = []
    for (delimiter, header), group in alike.items():
        chosen = choose(Header(columns=header, origin=Origin.FIRST_LINE, file=group[0]))
        # DuckDB tells names apart by more than case, and we need no names but our own.
        types = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(header)))
        columns = ", ".join(f"c{header.index(column)} AS {identifier(column)}" for column in chosen)
        options = "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false"
        parts.append(
            f"SELECT {columns} FROM read_csv({_listed(group)}, auto_detect = false, header = true, "
            f"delim = {literal(delimiter)}, columns = {{{types}}}, {options})"
        )
    return connection.sql(" UNION ALL ".join(parts))


def _header(path: Path, choose: Choose, name: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the column names: of the delimiters that give the needed columns, the one that gives most."""
    with (
        reading(f"the first line of {str(path)!r}", hint="is it text in UTF-8, and packed only if it ends in .gz?"),
        _opened(path) as text,
    ):
        line = text.readline()
        line.encode()
    if not line.strip():
        raise DataError(
            f"{name} must begin with a header, the names of the columns; the first line of {str(path)!r} is blank.",
            hint="remove what stands above the header",
        )
    headers = [(each, tuple(next(csv.reader([line], delimiter=each), []))) for each in _DELIMITERS]
    return max(headers, key=lambda candidate: (_suffices(choose, candidate[1]), len(candidate[1])))


def _suffices(choose: Choose, columns: Sequence[str]) -> bool:
    try:
        return bool(choose(Header(columns=columns, origin=Origin.FIRST_LINE)))
    except DataError:
        return False


def _opened(path: Path) -> TextIO:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    # What is wrong further down is found by DuckDB, which tells the line.
    return cast(TextIO, opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=""))


def _listed(files: Sequence[Path]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
    escaped = (glob.escape(os.fspath(path)) for path in files)
    return "[" + ", ".join(map(literal, escaped)) + "]"


OPENERS: dict[str, Callable[[DuckDBPyConnection, list[Path], Choose, str], DuckDBPyRelation]] = {
    "parquet": _parquet,
    "csv": _csv,
    "json": _json,
}
"""How the files of each format are opened as one table with the chosen columns."""
