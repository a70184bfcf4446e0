"""Files of votes or items, and how they are opened as one table."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, ParameterError, ShortlistError
from shortlist.near_names import suggest_names
from shortlist.privacy.numbers import quote
from shortlist.votes.files.copies import UTF8, make_readable
from shortlist.votes.files.formats import OPENERS, Request
from shortlist.votes.files.paths import STDIN, Kind, Place, find_files, hide_secrets
from shortlist.votes.files.source import Source, read_stamp, translate_errors_of
from shortlist.votes.header import Choose
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

_KNOWN = "Parquet (.parquet), CSV (.csv, .tsv) or JSON lines (.jsonl, .ndjson, .json)"

_DATABASES = (".db", ".duckdb", ".sqlite", ".sqlite3")
_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")


@suggest_names
@dataclass(frozen=True, slots=True)
class Files:
    """Files of one table, where their names do not say how to read them. It may stand wherever a path may.

    `paths` is a path, a glob, a folder, an address (`file://`, `https://`, `s3://`), "-" for standard input, or a
    list of them. `format` is "parquet", "csv" or "json" (JSON lines); without it, the names of the files decide.
    `encoding` is that of CSV and JSON lines. `delimiter` is that of CSV; without it, the header decides.
    With `header=False`, the columns of a CSV file are called "1", "2" and so on, and the delimiter is a comma
    (in .tsv files a tab) unless it is given: nothing is guessed from a row of data.

    >>> Files("plays.txt", format="csv", header=False)
    Files(paths=('plays.txt',), format='csv', encoding='utf-8', header=False, delimiter=None)
    """

    paths: Any
    _: KW_ONLY
    format: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    delimiter: str | None = None

    def __post_init__(self) -> None:
        paths = [self.paths] if isinstance(self.paths, str | os.PathLike) else self.paths
        if (
            not isinstance(paths, list | tuple)
            or not paths
            or not all(isinstance(each, str | os.PathLike) for each in paths)
        ):
            raise ParameterError(
                "files must be given as a path or a list of paths", "not {type}", type=type(paths).__name__
            )
        object.__setattr__(self, "paths", tuple(os.fsdecode(each) for each in paths))
        if self.format is not None and self.format not in OPENERS:
            raise ParameterError(
                "the format of files must be one of {known}",
                "not {value}",
                known=", ".join(OPENERS),
                value=quote(self.format),
            )
        object.__setattr__(self, "encoding", _read_encoding(self.encoding))
        if self.delimiter is not None and (not isinstance(self.delimiter, str) or len(self.delimiter) != 1):
            raise ParameterError("{delimiter} must be one character", "not {value}", value=quote(self.delimiter))


def is_path(value: object) -> bool:
    """Whether a value names files: `Files`, a path, or several paths in a list."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, str | os.PathLike) for each in value)
    return isinstance(value, Files | str | os.PathLike)


def open_files(workspace: Workspace, given: Any, choose: Choose, *, name: str) -> Source:
    """Open files of one format as one table with the chosen columns.

    The columns of a CSV or JSON file are all read as text, so that an item '007' stays what it is. In a CSV file,
    an empty field is missing and a quoted empty field is the empty text.
    """
    files = as_files(given)
    places = find_files(files.paths, any_format=files.format is not None, name=name)
    form = _one_format(files, places, name)
    _check_options(files, form, name)
    with translate_errors(name, hint="was a file removed just now?"):
        stamps = {Path(place.target): read_stamp(Path(place.target)) for place in places if place.kind is Kind.LOCAL}
    source = Source(relation=None, name=name, stamps=stamps)
    with translate_errors_of(source):
        parts = [make_readable(workspace, place, form=form, encoding=files.encoding, name=name) for place in places]
    source = replace(source, files={part.path: part.place.label for part in parts})
    with translate_errors_of(source, hint="is every file complete, and in the format that its name says?"):
        request = Request(choose=choose, name=name, header=files.header, delimiter=files.delimiter)
        return replace(source, relation=OPENERS[form](workspace.connection, parts, request))


def as_files(given: Any) -> Files:
    """Take a path or paths as files that are read by their names."""
    return given if isinstance(given, Files) else Files(given)


def identify_files(given: Any) -> dict[Any, str]:
    """The files that are given, by what is equal however they are spelled or linked, and how errors name them."""
    files = as_files(given)
    found: dict[Any, str] = {}
    for path in files.paths:
        try:
            places = find_files([path], any_format=files.format is not None, name="a file")
        except ShortlistError:  # raised again, with the right name, when the files are opened
            places = [Place(target=path, label=hide_secrets(path), kind=Kind.LOCAL)]
        found.update((place.identity, place.label) for place in places)
    return found


def are_same_files(domain: Any, votes: Any) -> bool:
    """Whether the domain is the files of the votes; refuse a domain that is only one of them, in other words."""
    ours, theirs = identify_files(domain), identify_files(votes)
    shared = [label for identity, label in ours.items() if identity in theirs]
    if STDIN in as_files(domain).paths and STDIN in as_files(votes).paths:
        raise ParameterError("votes and domain must not both be standard input", hint="give one of them as a file")
    if shared and len(theirs) > len(shared):
        raise ParameterError(
            "{domain} must not be one of the files of the votes",
            "{file!r} is also read as votes",
            hint="if it lists the public items, move it away, or name the votes by a glob such as 'plays/*.parquet'",
            file=shared[0],
        )
    return bool(shared)


def _one_format(files: Files, places: Sequence[Place], name: str) -> str:
    if files.format is not None:
        return files.format
    formats = set()
    for place in places:
        form = place.format
        if form is None:
            label = place.label.lower()
            raise DataError(
                "{name} must be {known}",
                "not {file!r}",
                hint="to query a database, pass {shortlist.Query(database, sql)}"
                if label.endswith(_DATABASES)
                else "Excel files are not read: save the sheet as CSV"
                if label.endswith(_SHEETS)
                else "state it: {Files.format='csv'}",
                **_of(name, place),
            )
        formats.add(form)
    if len(formats) > 1:
        raise DataError(
            "{name} must be files of one format", "found {formats}", name=name, formats=" and ".join(sorted(formats))
        )
    return formats.pop()


def _of(name: str, place: Place) -> dict[str, str]:
    return {"name": name, "known": _KNOWN, "file": place.label}


def _check_options(files: Files, form: str, name: str) -> None:
    """Refuse options that the format does not have, for they would be ignored."""
    if form == "parquet" and files.encoding not in UTF8:
        raise ParameterError("an encoding must go with CSV or JSON lines", "{name} is Parquet", name=name)
    if form != "csv" and (not files.header or files.delimiter is not None):
        raise ParameterError(
            "a delimiter and a missing header must go with CSV", "{name} is {form}", name=name, form=form
        )


def _read_encoding(encoding: Any) -> str:
    """The name that Python gives to a text encoding.

    >>> _read_encoding("latin1"), _read_encoding("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        found = codecs.lookup(encoding)
        "".encode(encoding)  # refuses what is no encoding of text, such as base64
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            "{encoding} must be the name of a text encoding",
            "not {value}",
            hint="try {encoding=utf-8}, {encoding=latin-1} or {encoding=utf-16}",
            value=quote(encoding),
        ) from None
    return found.name
