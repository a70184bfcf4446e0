"""Private copies of what DuckDB cannot read in place: streams, some compressions, and encodings other than UTF-8.

A copy lies in the folder that votes spill to. Only its owner may read it, and it is removed with the workspace.
DuckDB reads .zst files too, but it takes a cut-off file for a complete one; so they are copied as well.
"""

from __future__ import annotations

import codecs
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from shortlist.errors import DataError, ParameterError, ShortlistError
from shortlist.votes.files.paths import COMPRESSED, EXTENSIONS, STDIN, Kind, Place
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.workspace import Workspace

UTF8 = ("utf-8", "utf-8-sig")

_CHUNK = 1 << 20
_MAGIC = {
    "gzip": rb"\x1f\x8b\x08",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
}
_READABLE = ("uncompressed", "gzip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file as DuckDB reads it: in UTF-8, and plain or gzip."""

    place: Place
    path: str
    compression: str = "uncompressed"
    empty: bool = False


def make_readable(workspace: Workspace, place: Place, *, form: str, encoding: str, name: str) -> Part:
    """Copy a file if DuckDB cannot read it in place. The compression is seen from the first bytes, not the name."""
    if place.kind is Kind.REMOTE:
        return _load_extension(workspace, place, encoding=encoding, name=name)
    path = place.target
    with _report_failures(place, name):
        if place.kind is Kind.STREAM:
            with _open_stream(place) as file:
                path = _copy(workspace, place, _read_chunks(file), name)
        with open(path, "rb") as file:
            start = file.read(16)
        packed = "uncompressed" if form == "parquet" else _find_compression(start)
        if packed in _READABLE and encoding in UTF8:
            return Part(place=place, path=path, compression=packed, empty=not start)
        with open(path, "rb") as file, closing(_unpack(file, packed)) as unpacked:
            chunks = _read_chunks(unpacked)
            text = chunks if encoding in UTF8 else _recode(chunks, encoding, place, name)
            copied = _copy(workspace, place, text, name)
        if place.kind is Kind.STREAM:
            os.remove(path)
        return Part(place=place, path=copied, empty=not os.stat(copied).st_size)


def _load_extension(workspace: Workspace, place: Place, *, encoding: str, name: str) -> Part:
    """Let DuckDB read an address, if its extension is there; nothing is downloaded or installed."""
    packed = COMPRESSED.get(place.suffixes[1], "uncompressed")
    if packed not in _READABLE or encoding not in UTF8:
        raise ParameterError(
            "{name} at an address must be plain or .gz, and in UTF-8",
            "{address!r} is not",
            hint="copy the file to this machine first",
            name=name,
            address=place.label,
        )
    extension = EXTENSIONS[place.label.partition("://")[0].lower()]
    engine = import_optional("duckdb")
    try:
        workspace.connection.execute(f"LOAD {extension}")
    except engine.Error:
        raise DataError(
            "{name} at {address!r} can be read only with DuckDB's extension {extension!r}",
            "which is not installed",
            hint="install it once: python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\"",
            name=name,
            address=place.label,
            extension=extension,
        ) from None
    return Part(place=place, path=place.target, compression=packed)


@contextmanager
def _report_failures(place: Place, name: str) -> Iterator[None]:
    """Say in our words that a file cannot be read."""
    try:
        yield
    except ShortlistError:
        raise
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(
            "{name} must be complete and readable",
            "{file!r} is not ({reason})",
            name=name,
            file=place.label,
            reason=(error.strerror if isinstance(error, OSError) else None) or type(error).__name__,
        ) from None


@contextmanager
def _open_stream(place: Place) -> Iterator[BinaryIO]:
    if place.target != STDIN:
        with open(place.target, "rb") as file:
            yield file
    elif sys.stdin is None or sys.stdin.isatty():
        raise ParameterError(
            "standard input must be a file or a pipe",
            "it is closed, or a terminal",
            hint="zcat plays.csv.gz | shortlist select - --input-format csv ...",
        )
    else:
        yield sys.stdin.buffer


def _read_chunks(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK), b"")


def _copy(workspace: Workspace, place: Place, chunks: Iterator[bytes], name: str) -> str:
    """Write a new file that only its owner may read, in folders that name the same columns."""
    folder = os.path.join(tempfile.mkdtemp(prefix="copy-", dir=workspace.folder), *place.partitions)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "data")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in chunks:
            try:
                file.write(chunk)
            except OSError as error:
                raise DataError(
                    "{name} must be copied to the folder for temporary files before it can be read",
                    "the folder cannot be written ({reason})",
                    hint="set TMPDIR to a folder with more room",
                    name=name,
                    reason=error.strerror,
                ) from None
    return path


def _find_compression(start: bytes) -> str:
    """Tell the compression of a file from its first bytes.

    >>> _find_compression(b"user,track"), _find_compression(bytes.fromhex("28b52ffd2412"))
    ('uncompressed', 'zstd')
    """
    return next((name for name, magic in _MAGIC.items() if re.match(magic, start)), "uncompressed")


def _unpack(file: BinaryIO, packed: str) -> BinaryIO:
    if packed == "uncompressed":
        return file
    if packed == "xz":
        return cast(BinaryIO, lzma.open(file))
    return cast(BinaryIO, import_optional("pyarrow").CompressedInputStream(file, packed))


def _recode(chunks: Iterator[bytes], encoding: str, place: Place, name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    try:
        for chunk in chunks:
            yield decoder.decode(chunk).encode()
        yield decoder.decode(b"", True).encode()
    except UnicodeError:
        raise DataError(
            "{name} must be text in {encoding_name}",
            "{file!r} is not",
            name=name,
            encoding_name=encoding,
            file=place.label,
        ) from None
