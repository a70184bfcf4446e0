"""Files of votes or items: which they are, and that they stay as they are while they are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortlist.errors import DataError
from shortlist.votes.engine_errors import reading
from shortlist.votes.sources.file_formats import OPENERS
from shortlist.votes.sources.header import Choose
from shortlist.votes.sources.source import Source, Stamp, reading_from, stamp_of
from shortlist.votes.workspace import Workspace

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
    source = Source(relation=None, name=name, stamps=_stamps(files, name))
    with reading_from(source, hint=f"is every file complete, and {form.upper()} as its name says?"):
        return replace(source, relation=OPENERS[form](workspace.connection, files, choose, name))


def matched(path: str | os.PathLike[str]) -> list[Path]:
    """The files that a path, a glob or a folder stands for, in a fixed order."""
    text = os.fspath(path)
    if os.path.isdir(text):
        inside = sorted(each for each in Path(text).rglob("*") if each.is_file() and _format_or_none(each))
        return [each for each in inside if not each.name.startswith((".", "_"))]
    if os.path.exists(text):
        return [Path(text)]
    return sorted(Path(each) for each in glob.glob(text, recursive=True) if os.path.isfile(each))


def _expand(paths: Any, name: str) -> list[Path]:
    found: dict[Path, None] = {}
    for each in [paths] if isinstance(paths, str | os.PathLike) else paths:
        files, text = matched(each), os.fspath(each)
        if not files:
            raise DataError(
                f"{name} must be files that exist; nothing was found at {text!r}.",
                hint="for a table that is not on this machine, open it with your engine and pass the frame"
                if "://" in text
                else f"the folder must hold {_KNOWN}"
                if os.path.isdir(text)
                else "check the path; globs like 'plays/*.parquet' and folders are allowed",
            )
        found.update(dict.fromkeys(files))
    return list(found)


def _stamps(files: Sequence[Path], name: str) -> dict[Path, Stamp]:
    with reading(name, hint="was a file removed just now?"):
        return {path: stamp_of(path) for path in files}


def _format_or_none(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = bool(suffixes) and suffixes[-1] == ".gz"
    form = _FORMATS.get((suffixes[:-1] if zipped else suffixes)[-1:][0]) if suffixes[zipped:] else None
    return None if zipped and form == "parquet" else form


def _format(path: Path, name: str) -> str:
    form = _format_or_none(path)
    if form is None:
        raise DataError(f"{name} must be {_KNOWN}; found {str(path)!r}.")
    with reading(name, hint="was a file removed just now?"):
        empty = os.stat(path).st_size == 0
    if empty:
        raise DataError(f"{name} must not be an empty file; {str(path)!r} is.")
    return form
