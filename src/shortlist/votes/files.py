"""Files of votes or items: from paths as users write them to one table of DuckDB, without guessing.

Before the charge, only names and schemas are looked at: the footer of a Parquet file, the first record of a CSV file.
What DuckDB cannot read in place (other encodings, some compressions) is copied after it.
"""

from __future__ import annotations

import codecs
import glob
import inspect
import lzma
import os
import re
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from types import MethodType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from shortlist.errors import ChangedError, DataError, ParameterError, ShortlistError
from shortlist.near_names import describe_unknown
from shortlist.privacy.numbers import quote
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.libraries import duckdb, pa
from shortlist.votes.places import COMPRESSED, EXTENSIONS, FORMATS, STDIN, Kind, Place, find_files
from shortlist.votes.queries import quote_text
from shortlist.votes.source import VOTES, Choose, Header, Origin

if TYPE_CHECKING:
    from shortlist.votes.duckdb import Workspace

_R = TypeVar("_R")
_MAGIC = {
    "gzip": rb"\x1f\x8b\x08",
    "zstd": rb"\x28\xb5\x2f\xfd",
    "bz2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
}
_READABLE = ("uncompressed", "gzip")
"""The compressions that DuckDB reads safely. It takes a .zst file that is cut off for a complete one."""
UTF8 = ("utf-8", "utf-8-sig")
_STATELESS = re.compile(
    r"utf-(8|8-sig|16|16-le|16-be|32|32-le|32-be)|ascii|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|ptcp154|kz1048|hp-roman8"
    r"|tis-620|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|johab"
)
"""Encodings in which the bytes of one row cannot change how later rows are read."""
_COMPLETE = "is every file complete, and in the format that its name says?"
ALIKE = "is every file complete, and are all its rows alike?"
_CHUNK = 1 << 20
_MARK = "shortlist-mark"
"""What cannot be decoded becomes a sign that is no UTF-8."""
codecs.register_error(_MARK, lambda error: ("\udc80", getattr(error, "end", 0)))
POSITIONS = tuple(str(position) for position in range(1, 1000))
NO_HEADER = Header(columns=POSITIONS, origin=Origin.UNKNOWN)


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
                f"the format of files must be one of {', '.join(dict.fromkeys(FORMATS.values()))}",
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


# Files as one table


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


class OpenedFiles(ABC):
    """Files that are described and not read. `text` says that all columns are text."""

    text = True
    needs_header = True

    def __init__(self, workspace: Workspace, files: Files, places: Sequence[Place], choose: Choose, name: str) -> None:
        self._workspace, self._files, self._choose, self._name = workspace, files, choose, name
        self._labels: dict[str, str] = {}  # by the paths that DuckDB reads, which may be those of copies
        self._copies: dict[str, Part] = {}  # by the path of the file
        self._stamps: dict[str, tuple[int, int]] = {}
        with self._explain_failures(_COMPLETE):
            self._stamps = {place.target: _read_stamp(place.target) for place in places if place.kind is Kind.LOCAL}
            parts = [self._look_at(place) for place in places]
            empty = next((part for part in parts if part.empty), None)
            if empty is not None and self.needs_header and files.header:
                raise DataError(f"{name} must not be an empty file", f"{empty.place.label!r} is")
            self._parts = self._describe([part for part in parts if not (part.empty and self._names_inside)])
            self.chosen = self._parts[0].chosen if self._parts else choose(NO_HEADER)

    def read(self, use: Callable[..., _R]) -> _R:
        """Use the chosen columns: a relation or a table for all files of some types. Refuse files that changed.

        Columns are called by their roles.
        """
        with self._explain_failures(ALIKE), register_engine(self._connection.interrupt):
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
    def _describe(self, parts: list[Part]) -> list[Part]:
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
        nothing = f"SELECT {', '.join(f'NULL::VARCHAR AS {role}' for role in self.chosen)} WHERE false"
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
                in_place = part.place.kind is Kind.REMOTE or (part.compression in _READABLE and plain)
                self._copies[part.path] = part if in_place else self._unpack(part, plain)
            found = self._copies[part.path]
            if not found.empty:
                chosen = tuple(part.chosen.items())
                alike[chosen, part.layout, part.types, part.place.keys, found.compression].append(found)
        return list(alike.values())

    @contextmanager
    def _explain_failures(self, hint: str) -> Iterator[None]:
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
        folder = os.path.join(tempfile.mkdtemp(prefix="copy-", dir=self._workspace.folder), *place.partitions)
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
