"""Files of one table, which the library's own DuckDB reads, without guessing.

Before the charge, only names and schemas are looked at: the footer of a Parquet file, the first record of a CSV file.
What DuckDB cannot read in place (other encodings, some compressions) is copied after it.
"""

from __future__ import annotations

import codecs
import glob
import lzma
import os
import re
import sys
import tempfile
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, TypeVar

from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.votes.dialects import Column
from shortlist.votes.duckdb import ALIKE, Workspace, describe_relation, take_plain_columns
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.files import COMPRESSED, EXTENSIONS, STDIN, UTF8, Files, Kind, Place
from shortlist.votes.libraries import duckdb, pa
from shortlist.votes.queries import quote_text
from shortlist.votes.source import VOTES, Choose, Description, Header, Origin, Request, Source, Table
from shortlist.votes.values import Family

_R = TypeVar("_R")
_MAGIC = {
    "gzip": rb"\x1f\x8b\x08",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
}
_READABLE = ("uncompressed", "gzip")
"""The compressions that DuckDB reads safely. It takes a .zst file that is cut off for a complete one."""
_COMPLETE = "is every file complete, and in the format that its name says?"
UNREAD = re.compile("=.*[=?]", re.DOTALL)
"""The name of a folder that names no column for DuckDB, unless the last sign is written in hexadecimal digits."""
_CHUNK = 1 << 20
_MARK = "shortlist-mark"
"""What cannot be decoded becomes a sign that is no UTF-8."""
codecs.register_error(_MARK, lambda error: ("\udc80", getattr(error, "end", 0)))
POSITIONS = tuple(str(position) for position in range(1, 1000))
NO_HEADER = Header(columns=POSITIONS, origin=Origin.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file as it is found: the path to read, how it is packed, and its chosen columns by their roles.

    Files of one `layout` are read together: the delimiter and the names of a CSV file. Files whose columns have the
    same `types` are one relation, or one table of Arrow types if DuckDB does not hold all of their values. A column
    that is named by a folder, or that a dataset has and a file has not, is one of `constants`.
    """

    place: Place
    path: str
    compression: str = "uncompressed"
    empty: bool = False
    chosen: Mapping[str, str] = field(default_factory=dict)
    layout: tuple[Any, ...] = ()
    types: tuple[Any, ...] = ()
    by_arrow: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)


class FileSource(Source):
    """Files of one format. `text` says that all columns are text."""

    text = True
    needs_header = True

    def __init__(self, workspace: Workspace, files: Files, name: str, places: Sequence[Place]) -> None:
        super().__init__(workspace, files, name)
        self._files, self._places = files, places
        self._parts: list[Part] = []
        self._roles: Sequence[str] = ()
        self._labels: dict[str, str] = {}  # by the paths that DuckDB reads, which may be those of copies
        self._copies: dict[str, Part] = {}  # by the path of the file
        self._stamps: dict[str, tuple[int, int]] = {}

    def describe(self, choose: Choose) -> Description:
        """Describe files by their names, footers and headers."""
        with self.explain_failures(_COMPLETE):
            local = [place.target for place in self._places if place.kind is Kind.LOCAL]
            self._stamps = {path: _read_stamp(path) for path in local}
            parts = [self._look_at(place) for place in self._places]
            empty = next((part for part in parts if part.empty), None)
            if empty is not None and self.needs_header and self._files.header:
                raise DataError(f"{self._name} must not be an empty file", f"{empty.place.label!r} is")
            self._parts = self._describe([part for part in parts if not (part.empty and self._names_inside)], choose)
            self._roles = list(self._parts[0].chosen if self._parts else choose(NO_HEADER))
        if self.text:
            return Description.of(pa.schema(dict.fromkeys(self._roles, pa.string())), None)
        described: list[Description] = self._read(lambda *given: list(map(_describe_part, given)))
        first, *more = (
            replace(part, columns={role: _forget_type(role, column) for role, column in part.columns.items()})
            for part in described
        )
        return replace(
            first, more=tuple(more), holds_persons=any(part.holds_persons for part in described), handle=None
        )

    def open(self, described: Description) -> Table:
        """Read the columns to memory, as values where files have different types."""
        tables: list[Table] = self._read(lambda *given: list(map(_collect, given)))
        if len(tables) == 1:
            return tables[0]
        first, *others = (table.kinds for table in tables)
        kinds = {role: kind if all(kind == each[role] for each in others) else None for role, kind in first.items()}
        batches = (
            tuple(column if kind else column.to_pylist() for kind, column in zip(kinds.values(), batch, strict=True))
            for table in tables
            for batch in table.batches
        )
        return Table(kinds=kinds, batches=batches)

    def read_rows(self, described: Description, request: Request, use: Callable[[Any, Description], _R]) -> _R:
        """Use the rows of all files."""
        workspace = self._workspace

        def use_parts(*given: Any) -> _R:
            first, *more = (
                workspace.open_table(each) if isinstance(each, Table) else _describe_part(each) for each in given
            )
            with workspace.read_streams() if any(isinstance(each, Table) for each in given) else nullcontext():
                return use(workspace.connection, replace(first, more=tuple(more)))

        return self._read(use_parts)

    def _read(self, use: Callable[..., _R]) -> _R:
        """Use the chosen columns: a relation or a table for all files of some types. Refuse files that changed.

        Columns are called by their roles.
        """
        with register_engine(self._connection.interrupt):
            try:
                done = use(*self._make())
            except (duckdb.InvalidInputException, duckdb.NotImplementedException):
                if not self._repair():
                    raise
                done = use(*self._make())
        self._check_unchanged()
        return done

    @property
    def _connection(self) -> Any:
        return self._workspace.connection

    @property
    def _tolerant(self) -> bool:
        """Whether a line that cannot be read is a row without values."""
        return self._name == VOTES

    @property
    def _names_inside(self) -> bool:
        """Whether the names of the columns are read from the files."""
        return True

    @abstractmethod
    def _describe(self, parts: list[Part], choose: Choose) -> list[Part]:
        """Choose the columns of each file, by names and types alone."""

    @abstractmethod
    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        """The query for the chosen columns of files that are like one of them."""

    def _repair(self) -> bool:
        """Make copies that can be read, if the files cannot."""
        return False

    def _make(self) -> list[Any]:
        """Open all files whose columns have the same types together.

        Files that are all empty do not say which columns they have.
        """
        nothing = f"SELECT {', '.join(f'NULL::VARCHAR AS {role}' for role in self._roles)} WHERE false"
        alike: dict[Any, list[list[Part]]] = defaultdict(list)
        for group in self._group(self._parts):
            alike[group[0].types].append(group)
        return [self._open(groups) for groups in alike.values()] or [self._connection.sql(nothing)]

    def _open(self, groups: Sequence[Sequence[Part]]) -> Any:
        """The relation or the table of files whose columns have the same types."""
        return self._connection.sql(" UNION ALL ".join(self._write_query(group[0], group) for group in groups))

    def _group(self, parts: Sequence[Part]) -> list[list[Part]]:
        """The files that are read together, as plain files in UTF-8 where DuckDB cannot read them in place."""
        alike: dict[Any, list[Part]] = defaultdict(list)
        for part in parts:
            if part.path not in self._copies:
                plain = self._files.encoding in UTF8
                readable = part.compression in _READABLE and not any(map(UNREAD.search, part.place.partitions))
                in_place = part.place.kind is Kind.REMOTE or (readable and plain)
                self._copies[part.path] = part if in_place else self._unpack(part, plain)
            found = self._copies[part.path]
            if not found.empty:
                chosen = tuple(part.chosen.items())
                alike[chosen, part.layout, part.types, part.place.keys, found.compression].append(found)
        return list(alike.values())

    @contextmanager
    def explain_failures(self, hint: str = ALIKE) -> Iterator[None]:
        """Say in our words that a file could not be read, and first of all if it changed or is gone."""
        try:
            with translate_errors(self._name, hint=hint, files=self._labels):
                yield
        except DataError:
            self._check_unchanged()
            raise

    def _check_unchanged(self) -> None:
        for path, stamp in self._stamps.items():
            now = None
            with suppress(OSError):
                now = _read_stamp(path)
            if now != stamp:
                label = Place(target=path, kind=Kind.LOCAL).label
                raise ChangedError(
                    f"{self._name} changed while it was read; the file is {label!r}",
                    hint="run the selection again when nothing writes to the file",
                )

    def _look_at(self, place: Place) -> Part:
        """Look at the start of a file: the compression is seen from the first bytes, not the name. Copy streams."""
        if place.kind is not Kind.STREAM:
            self._labels[place.target] = place.label
        if place.kind is Kind.REMOTE:
            return self._load_extension(place)
        path = place.target
        with self._report_failures(place):
            if place.kind is Kind.STREAM:
                with _open_stream(place) as file:
                    path = self._copy(place, iter(lambda: file.read(_CHUNK), b""))
            with open(path, "rb") as file:
                start = file.read(16)
        packed = next((name for name, magic in _MAGIC.items() if self.text and re.match(magic, start)), "uncompressed")
        return Part(place=place, path=path, compression=packed, empty=not start)

    def _load_extension(self, place: Place) -> Part:
        """Let DuckDB read an address, if its extension is there; nothing is downloaded or installed."""
        packed = COMPRESSED.get(place.suffixes[1], "uncompressed")
        if packed not in _READABLE or self._files.encoding not in UTF8:
            raise ParameterError(
                f"{self._name} at an address must be plain or .gz, and in UTF-8",
                f"{place.label!r} is not",
                hint="copy the file to this machine first",
            )
        extension = EXTENSIONS[place.target.partition("://")[0].lower()]
        try:
            self._connection.execute(f"LOAD {extension}")
        except duckdb.Error:
            raise DataError(
                f"{self._name} at {place.label!r} can be read only with DuckDB's extension {extension!r}, "
                "which is not installed",
                hint=f'''install it once: python -c "import duckdb; duckdb.sql('INSTALL {extension}')"''',
            ) from None
        return Part(place=place, path=place.target, compression=packed)

    def _unpack(self, part: Part, plain: bool) -> Part:
        """Copy a file as a plain file in UTF-8."""
        with self._report_failures(part.place), closing(_read_bytes(part)) as chunks:
            errors = _MARK if self._tolerant else "strict"
            text = (piece.encode("utf-8", "surrogatepass") for piece in self._decode(part, chunks, errors))
            path = self._copy(part.place, chunks if plain else text)
        if part.place.kind is Kind.STREAM:
            os.remove(part.path)
        return replace(part, path=path, compression="uncompressed", empty=not os.stat(path).st_size)

    def _open_text(self, part: Part) -> Generator[str, None, None]:
        """The text of a file from its start, in pieces. What is wrong further down is found when votes are read."""
        if part.place.kind is Kind.REMOTE:
            # No line has this sign, so a line is one field.
            options = "auto_detect = false, header = false, quote = '', escape = '', delim = '\x1f'"
            rows = self._connection.execute(
                f"FROM read_csv({list_paths([part])}, {options}, columns = {{'line': 'VARCHAR'}}, "
                f"compression = '{part.compression}') LIMIT 1"
            ).fetchall()
            yield str(rows[0][0]).removeprefix("\ufeff") + "\n" if rows else ""
            return
        with self._report_failures(part.place), closing(_read_bytes(part)) as chunks:
            yield from self._decode(part, chunks, "replace")

    def _decode(self, part: Part, chunks: Iterator[bytes], errors: str) -> Iterator[str]:
        encoding = "utf-8-sig" if self._files.encoding in UTF8 else self._files.encoding
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        try:
            for chunk in chunks:
                yield decoder.decode(chunk)
            yield decoder.decode(b"", True)
        except UnicodeError:
            raise self._refuse_encoding(repr(part.place.label)) from None

    def _refuse_encoding(self, what: str) -> DataError:
        return DataError(
            f"{self._name} must be text in {self._files.encoding}",
            f"{what} is not",
            hint="is it in the format of its name? If it is text in another encoding, name that with `Files.encoding`",
        )

    def _report_failures(self, place: Place) -> AbstractContextManager[None]:
        """Say in our words that a file cannot be read."""
        return translate_errors(self._name, hint=_COMPLETE, files={"": place.label})

    def _copy(self, place: Place, chunks: Iterable[bytes]) -> str:
        """Write a new file that only its owner may read, in folders that name the same columns.

        A copy lies in the folder that votes spill to, and is removed with the workspace.
        """
        named = (each.partition("=") for each in place.partitions)
        folders = [f"{key}={value.replace('=', '%3D').replace('?', '%3F')}" for key, _, value in named]
        folder = os.path.join(tempfile.mkdtemp(prefix="copy-", dir=self._workspace.folder), *folders)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "data")
        self._labels[path] = place.label
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for chunk in chunks:
                try:
                    file.write(chunk)
                except OSError as error:
                    raise DataError(
                        f"{self._name} must be copied to the folder for temporary files before it can be read",
                        f"the folder cannot be written ({error.strerror})",
                        hint="set TMPDIR to a folder with more room",
                    ) from None
        return path


def _forget_type(role: str, column: Column) -> Column:
    """A column of gaps may be one of floats, and one value may make text of times: nothing is refused by them."""
    told_by_rows = column.family is Family.FLOAT or (column.family in (Family.TEXT, Family.BYTES) and role == "moment")
    return replace(column, family=None) if told_by_rows else column


def _describe_part(given: Any) -> Description:
    """Describe some files of one table, whose columns have the same types."""
    if isinstance(given, Table):
        return Description.of(pa.schema(given.kinds), given)
    return describe_relation(take_plain_columns(given))


def _collect(given: Any) -> Table:
    """Read some files to memory."""
    if isinstance(given, Table):
        return replace(given, batches=(batch for batch in list(given.batches)))
    return Table.of(take_plain_columns(given).to_arrow_table())


def _read_stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def list_paths(parts: Sequence[Part]) -> str:
    """The SQL of a list of paths. DuckDB reads a path as a glob, so what is special in globs is put in brackets."""
    paths = (part.path if part.place.kind is Kind.REMOTE else glob.escape(part.path) for part in parts)
    return "[" + ", ".join(map(quote_text, paths)) + "]"


def _read_bytes(part: Part) -> Generator[bytes, None, None]:
    with open(part.path, "rb") as file:
        unpacked: Any = file
        if part.compression == "xz":
            unpacked = lzma.LZMAFile(file)  # noqa: SIM115
        elif part.compression != "uncompressed":
            unpacked = pa.CompressedInputStream(file, part.compression)
        with closing(unpacked):
            yield from iter(lambda: unpacked.read(_CHUNK), b"")


def _open_stream(place: Place) -> AbstractContextManager[BinaryIO]:
    if place.target != STDIN:
        return open(place.target, "rb")
    if sys.stdin is None or sys.stdin.isatty():
        raise ParameterError(
            "standard input must be a file or a pipe",
            "it is closed, or a terminal",
            hint="zcat plays.csv.gz | shortlist select - --input-format csv ...",
        )
    return nullcontext(sys.stdin.buffer)
