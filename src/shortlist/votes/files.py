"""Files of votes or items: Parquet, CSV and JSON lines, opened by DuckDB."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError
from shortlist.votes.border import optional, reading
from shortlist.votes.source import Choose, Source, stamp_of
from shortlist.votes.workspace import Workspace, identifier, literal

if TYPE_CHECKING:
    import duckdb

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_KNOWN = "Parquet (.parquet), CSV (.csv, .tsv) or JSON lines (.jsonl, .ndjson, .json); the last two also with .gz"
_DELIMITERS = ",\t;|"


def is_path(value: object) -> bool:
    """Whether a value names files: a path, a glob, a folder, or several of them in a list."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, str | os.PathLike) for each in value)
    return isinstance(value, str | os.PathLike)


def open_files(workspace: Workspace, paths: Any, *, choose: Choose, name: str) -> Source:
    """Open files of one format as one table with the chosen columns.

    The columns of a CSV or JSON file are all read as text, so that an item '007' stays what it is. In a CSV file,
    an empty field is missing and a quoted empty field is the empty text.
    """
    files = _expand(paths, name)
    formats = {_format(path, name) for path in files}
    if len(formats) > 1:
        raise DataError(f"{name} must be files of one format; found {' and '.join(sorted(formats))}.")
    (form,) = formats
    stamps = {path: stamp_of(path) for path in files}
    with reading(name, hint=f"is every file complete, and {form.upper()} as its name says?"):
        relation = {"parquet": _parquet, "csv": _csv, "json": _json}[form](workspace, files, choose, name)
        nw = optional("narwhals.stable.v2")
        frame = nw.from_native(relation)
        return Source(frame=frame, name=name, typed=form == "parquet", local=True, stamps=stamps)


def _expand(paths: Any, name: str) -> list[Path]:
    """The files that paths, globs and folders stand for, in a fixed order."""
    found: dict[Path, None] = {}
    for each in [paths] if isinstance(paths, str | os.PathLike) else paths:
        text = os.fspath(each)
        if os.path.isdir(text):
            inside = sorted(path for path in Path(text).rglob("*") if path.is_file() and _format_or_none(path))
            matched = [path for path in inside if not path.name.startswith((".", "_"))]
        elif os.path.exists(text):
            matched = [Path(text)]
        else:
            matched = sorted(Path(path) for path in glob.glob(text, recursive=True) if os.path.isfile(path))
        if not matched:
            raise DataError(
                f"{name} must be files that exist; nothing was found at {text!r}.",
                hint="for a table that is not on this machine, open it with your engine and pass the frame"
                if "://" in text
                else f"the folder must hold {_KNOWN}"
                if os.path.isdir(text)
                else "check the path; globs like 'plays/*.parquet' and folders are allowed",
            )
        found.update(dict.fromkeys(matched))
    return list(found)


def _format_or_none(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    form = _FORMATS.get((suffixes[:-1] if zipped else suffixes)[-1:][0]) if suffixes[zipped:] else None
    return None if zipped and form == "parquet" else form


def _format(path: Path, name: str) -> str:
    form = _format_or_none(path)
    if form is None:
        raise DataError(f"{name} must be {_KNOWN}; found {str(path)!r}.")
    if path.stat().st_size == 0:
        raise DataError(f"{name} must not be an empty file; {str(path)!r} is.")
    return form


def _parquet(workspace: Workspace, files: list[Path], choose: Choose, name: str) -> duckdb.DuckDBPyRelation:
    table = f"read_parquet({_listed(files)}, hive_types_autocast = false)"
    columns = workspace.connection.sql(f"SELECT * FROM {table} LIMIT 0").columns
    return workspace.connection.sql(f"SELECT {_named(choose(columns))} FROM {table}")


def _json(workspace: Workspace, files: list[Path], choose: Choose, name: str) -> duckdb.DuckDBPyRelation:
    options = "format = 'newline_delimited', compression = 'auto_detect'"
    table = f"read_json({_listed(files)}, {options}, union_by_name = true)"
    chosen = choose(workspace.connection.sql(f"SELECT * FROM {table} LIMIT 0").columns)
    types = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in chosen)
    return workspace.connection.sql(f"FROM read_json({_listed(files)}, {options}, columns = {{{types}}})")


def _csv(workspace: Workspace, files: list[Path], choose: Choose, name: str) -> duckdb.DuckDBPyRelation:
    """Read files with equal headers together; columns are found by the header of each."""
    alike: dict[tuple[str, tuple[str, ...]], list[Path]] = defaultdict(list)
    for path in files:
        alike[_header(path, choose, name)].append(path)
    parts = []
    for (delimiter, header), group in alike.items():
        chosen = choose(header)
        if any(header.count(column) > 1 for column in chosen):
            raise DataError(f"{name} must have each column once; {str(group[0])!r} repeats one of them.")
        # DuckDB tells names apart by more than case, and we need no names but our own.
        types = ", ".join(f"'c{index}': 'VARCHAR'" for index in range(len(header)))
        columns = ", ".join(f"c{header.index(column)} AS {identifier(column)}" for column in chosen)
        options = "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false"
        parts.append(
            f"SELECT {columns} FROM read_csv({_listed(group)}, auto_detect = false, header = true, "
            f"delim = {literal(delimiter)}, columns = {{{types}}}, {options})"
        )
    return workspace.connection.sql(" UNION ALL ".join(parts))


def _header(path: Path, choose: Choose, name: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the column names: of the delimiters that give the needed columns, the one that gives most."""
    with reading(f"the first line of {str(path)!r}", hint="is it text in UTF-8?"):
        opened = gzip.open if path.suffix.lower() == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as text:
            line = str(text.readline())
    headers = [(each, tuple(next(csv.reader([line], delimiter=each), []))) for each in _DELIMITERS]
    return max(headers, key=lambda candidate: (_suffices(choose, candidate[1]), len(candidate[1])))


def _suffices(choose: Choose, header: Sequence[str]) -> bool:
    try:
        return bool(choose(header))
    except DataError:
        return False


def _listed(files: Sequence[Path]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
    escaped = (glob.escape(os.fspath(path)) for path in files)
    return "[" + ", ".join(map(literal, escaped)) + "]"


def _named(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))
