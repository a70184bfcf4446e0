"""Files as users name them, and where they are: on this machine, at an address, or in a stream."""

from __future__ import annotations

import codecs
import glob
import inspect
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from pathlib import Path
from types import MethodType
from typing import Any
from urllib.parse import urlsplit

from shortlist.errors import DataError, ParameterError, ShortlistError
from shortlist.near_names import describe_unknown
from shortlist.privacy.numbers import quote
from shortlist.votes.failures import hide_secrets

STDIN = "-"
FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv"}
FORMATS |= dict.fromkeys((".jsonl", ".ndjson", ".json"), "json")
COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
"""The compressions of CSV and JSON lines, by suffix."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
EXTENSIONS = {
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gs", "gcs", "r2", "hf"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}
"""The extension with which DuckDB reads an address, by scheme."""
UTF8 = ("utf-8", "utf-8-sig")
_STATELESS = re.compile(
    r"utf-(8|8-sig|16|16-le|16-be|32|32-le|32-be)|ascii|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|ptcp154|kz1048|hp-roman8"
    r"|tis-620|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|johab"
)
"""Encodings in which the bytes of one row cannot change how later rows are read."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one table, where their names do not say how to read them. It may stand wherever a path may.

    `paths` is a path, a glob, a folder, an address (`file://`, `https://`, `s3://`), "-" for standard input, or a
    list of them. `format` is "parquet", "csv" or "json" (JSON lines); without it, the names of the files decide.
    `encoding` is that of CSV and JSON lines. `delimiter` is that of CSV; without it, the header decides.
    With `header=False`, the columns of a CSV file are called "1", "2" and so on, and the delimiter is a comma
    (in .tsv files a tab) unless it is given: nothing is guessed from a row of data. A row of votes counts if it has the
    columns that are named, whatever follows them.

    >>> Files("plays.txt", format="csv", header=False)
    Files(paths=('plays.txt',), format='csv', encoding='utf-8', header=False, delimiter=None)
    """

    paths: Any
    _: KW_ONLY
    format: str | None = None
    encoding: str = "utf-8"
    header: bool = True
    delimiter: str | None = None

    def __new__(cls, *paths: Any, **options: Any) -> Files:
        """Refuse an option that there is not, with the one that may be meant."""
        known = [each.name for each in fields(cls)]
        for name in options.keys() - set(known):
            raise describe_unknown(name, "Files", known)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        paths = [self.paths] if isinstance(self.paths, str | os.PathLike) else self.paths
        if not isinstance(paths, list | tuple) or not is_path(paths):
            raise ParameterError("files must be given as a path or a list of paths", f"not {type(paths).__name__}")
        object.__setattr__(self, "paths", tuple(os.fsdecode(each) for each in paths))
        if self.format is not None and self.format not in FORMATS.values():
            raise ParameterError(
                f"`Files.format` must be one of {', '.join(dict.fromkeys(FORMATS.values()))}",
                f"not {quote(self.format)}",
            )
        object.__setattr__(self, "encoding", _read_encoding(self.encoding))
        if self.delimiter is not None and (not isinstance(self.delimiter, str) or len(self.delimiter) != 1):
            raise ParameterError("`delimiter` must be one character", f"not {quote(self.delimiter)}")


# Without this, Python shows the parameters of `__new__`.
Files.__signature__ = inspect.signature(MethodType(Files.__init__, object()))  # type: ignore[attr-defined]


def _read_encoding(encoding: Any) -> str:
    """The name that Python gives to a text encoding.

    >>> _read_encoding("latin1"), _read_encoding("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        found = codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        found = ""
    if not _STATELESS.fullmatch(found):
        raise ParameterError(
            "`encoding` must be the name of a text encoding"
            + (" in which each row can be read by itself" if found else ""),
            f"not {quote(encoding)}",
            hint="try `encoding=utf-8`, `encoding=latin-1` or `encoding=utf-16`",
        )
    return found


def is_path(value: object) -> bool:
    """Whether a value names files: `Files`, a path, or several paths in a list."""
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, str | os.PathLike) for each in value)
    return isinstance(value, Files | str | os.PathLike)


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
            places = [Place(target=path, kind=Kind.LOCAL)]
        found.update((place.identity, place.label) for place in places)
    return found


# Single files


class Kind(StrEnum):
    """How a file can be read."""

    LOCAL = "local"
    """On this machine, again and again."""
    STREAM = "stream"
    """Once, from the start to the end: standard input or a pipe."""
    REMOTE = "remote"
    """At an address, through an extension of DuckDB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One file: its path or address, and how it can be read."""

    target: str
    kind: Kind

    @property
    def label(self) -> str:
        """How errors name the file: without a password or a query, and without the values that folders name.

        >>> Place(target="plays/user=alice/1.csv", kind=Kind.LOCAL).label
        'plays/user=.../1.csv'
        """
        if self.target == STDIN:
            return "standard input"
        known = self.target if self.kind is Kind.LOCAL else hide_secrets(self.target)
        return re.sub(r"([^/\\=]+)=[^/\\]*(?=[/\\])", r"\1=...", known)

    @property
    def _path(self) -> str:
        return re.split(r"[?#]", self.target, maxsplit=1)[0] if self.kind is Kind.REMOTE else self.target

    @property
    def suffixes(self) -> tuple[str, str]:
        """The suffix of the format and that of the compression, in small letters; each may be empty.

        >>> Place(target="plays.CSV.gz", kind=Kind.LOCAL).suffixes
        ('.csv', '.gz')
        """
        found = [suffix.lower() for suffix in Path(self._path).suffixes]
        packed = found.pop() if found and found[-1] in COMPRESSED else ""
        return found[-1] if found else "", packed

    @property
    def format(self) -> str | None:
        """The format that the name says, or None."""
        suffix, packed = self.suffixes
        form = FORMATS.get(suffix)
        return None if packed and form == "parquet" else form

    @property
    def identity(self) -> Any:
        """What is equal for two names of one file, and different for two files."""
        try:
            status = os.fstat(0) if self.target == STDIN else os.stat(self.target)
        except (OSError, ValueError):  # not there, or no path at all
            return self.target if self.kind is Kind.REMOTE else os.path.abspath(self.target)
        return status.st_dev, status.st_ino

    @property
    def partitions(self) -> tuple[str, ...]:
        """The folders that name a column and its value, as in day=2024-01-31/plays.csv."""
        folders = self._path.replace(os.sep, "/").split("/")[:-1]
        return tuple(folder for folder in folders if folder.find("=") > 0)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that the folders name."""
        return tuple(folder.partition("=")[0] for folder in self.partitions)


def find_files(paths: Sequence[str], *, any_format: bool, name: str) -> list[Place]:
    """Find the files that paths, globs, folders and addresses stand for, each once and in a fixed order.

    Of a folder, the files are taken whose names say a format, or all files if the format is known otherwise. Files
    whose names begin with a dot or an underscore are left out.
    """
    found: dict[str, Place] = {}
    for text in paths:
        places = list(_find(text, any_format, name))
        if not places:
            folder = os.path.isdir(os.path.expanduser(text))
            raise DataError(
                f"{name} must be files that exist",
                f"nothing was found at {hide_secrets(text)!r}",
                hint=f"the folder must hold files that end in {', '.join(FORMATS)}, or state their format"
                if folder
                else "check the path; globs like 'plays/*.parquet' and folders are allowed",
            )
        found.update((place.target, place) for place in places)
    return list(found.values())


def _find(text: str, any_format: bool, name: str) -> Iterator[Place]:
    if text == STDIN:
        yield Place(target=STDIN, kind=Kind.STREAM)
        return
    address = _ADDRESS.fullmatch(text)
    if address is not None and address[1].lower() != "file":
        _check_address(text, address, name)
        yield Place(target=text, kind=Kind.REMOTE)
        return
    path = _read_local_path(text, name) if address is not None else os.path.expanduser(text)
    for each in [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True)):
        mode = stat.S_IFREG
        with suppress(OSError):  # it was removed just now, or it is a broken link: opening it says so
            mode = os.stat(each).st_mode
        if stat.S_ISDIR(mode):
            yield from _search_folder(each, any_format)
        elif stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
            yield Place(target=each, kind=Kind.LOCAL if stat.S_ISREG(mode) else Kind.STREAM)
        else:
            raise DataError(f"{name} must be files, folders or pipes", f"{each!r} is a device or a socket")


def _read_local_path(address: str, name: str) -> str:
    """The path in a file:// address."""
    parts = urlsplit(address)
    if parts.netloc.lower() not in ("", "localhost"):
        raise DataError(
            f"{name} must be on this machine if its address begins with file://",
            f"found {hide_secrets(address)!r}",
            hint="write file:/// with three strokes before the path",
        )
    from urllib.request import url2pathname  # loads http and ssl

    return url2pathname(parts.path)


def _search_folder(folder: str, any_format: bool) -> Iterator[Place]:
    try:
        found = sorted(Path(folder).rglob("*"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"the folder {folder!r} must be one that can be searched", reason) from None
    for each in found:
        place = Place(target=os.fspath(each), kind=Kind.LOCAL)
        if each.is_file() and not each.name.startswith((".", "_")) and (any_format or place.format):
            yield place


def _check_address(text: str, address: re.Match[str], name: str) -> None:
    scheme, rest = address[1].lower(), address[2]
    if scheme not in EXTENSIONS:
        raise ParameterError(
            f"{name} must be at an address that DuckDB can read: file://, https://, s3://, gs://, az://",
            f"not at {scheme}://",
            hint="to query a database, pass `shortlist.Query(database, sql)`",
        )
    user, at, _ = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")
    # Azure writes a container before the @: abfss://container@account.dfs.core.windows.net/plays.parquet.
    if at and (":" in user or not scheme.startswith("abfs")):
        raise ParameterError(
            "an address of files must hold no user and no password",
            f"{hide_secrets(text)!r} does, without what is hidden here",
            hint="store them in DuckDB once, with CREATE PERSISTENT SECRET, and leave them out of the address",
        )
