"""Files of votes or items: from paths as users write them to one table of DuckDB, without guessing.

Before the charge, only names and schemas are looked at: the footer of a Parquet file, the first record of a CSV file.
What DuckDB cannot read in place (other encodings, some compressions) is copied after it.
"""

from __future__ import annotations

import codecs
import glob
import inspect
import lzma
import mmap
import os
import re
import sys
import tempfile
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar
from urllib.parse import unquote

from shortlist.errors import ChangedError, DataError, ParameterError, ShortlistError
from shortlist.near_names import describe_unknown
from shortlist.privacy.numbers import quote
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.libraries import datasets, duckdb, pa
from shortlist.votes.places import COMPRESSED, EXTENSIONS, FORMATS, STDIN, Kind, Place, find_files
from shortlist.votes.queries import invent_name, quote_name, quote_text
from shortlist.votes.source import VOTES, Choose, Header, Origin, Table
from shortlist.votes.values import Family, find_family

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
_UTF8 = ("utf-8", "utf-8-sig")
_STATELESS = re.compile(
    r"utf-(8|8-sig|16|16-le|16-be|32|32-le|32-be)|ascii|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|ptcp154|kz1048|hp-roman8"
    r"|tis-620|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis\w*|euc_\w+|johab"
)
"""Encodings in which the bytes of one row cannot change how later rows are read."""
_KNOWN = "Parquet (.parquet), CSV (.csv, .tsv) or JSON lines (.jsonl, .ndjson, .json)"
_OTHER_FORMATS = {
    **dict.fromkeys(
        (".db", ".duckdb", ".sqlite", ".sqlite3"), "to query a database, pass `shortlist.Query(database, sql)`"
    ),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "Excel files are not read: save the sheet as CSV"),
}
_COMPLETE = "is every file complete, and in the format that its name says?"
_CHUNK = 1 << 20
_DELIMITERS = ",\t;|"
_LONGEST_RECORD = 1 << 24
_LONGEST_LINE = 2_000_000
"""DuckDB reads no longer line of CSV, unless it is told to."""
_MARK = "shortlist-mark"
"""What cannot be decoded becomes a sign that is no UTF-8."""
codecs.register_error(_MARK, lambda error: ("\udc80", getattr(error, "end", 0)))
_POSITIONS = tuple(str(position) for position in range(1, 1000))
_NO_HEADER = Header(columns=_POSITIONS, origin=Origin.UNKNOWN)


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
    """One file as it is found: the path to read, how it is packed, and its chosen columns.

    Files of one `layout` are read together: the delimiter and the names of a CSV file. Files whose columns have the
    same `types` are one relation, or one table of Arrow types if DuckDB does not hold all of their values. A dataset
    has columns that are `constants` in a file.
    """

    place: Place
    path: str
    compression: str = "uncompressed"
    empty: bool = False
    chosen: tuple[str, ...] = ()
    layout: tuple[Any, ...] = ()
    types: tuple[Any, ...] = ()
    by_arrow: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)


def open_files(workspace: Workspace, given: Any, choose: Choose, *, name: str) -> OpenedFiles:
    """Describe files of one format as one table with the chosen columns.

    The columns of a CSV or JSON file are all read as text, so that an item '007' stays what it is. In a CSV file,
    an empty field is missing and a quoted empty field is the empty text. A line of votes that cannot be read is a row
    without values, because one person may have written it. In any other table, such a line is an error.
    """
    if not is_path(given):
        return _DatasetFiles(workspace, given, choose, name)
    files = as_files(given)
    places = find_files(files.paths, any_format=files.format is not None, name=name)
    form = _one_format(files, places, name)
    if form == "parquet" and files.encoding not in _UTF8:
        raise ParameterError("an encoding must go with CSV or JSON lines", f"the format of {name} is parquet")
    if form != "csv" and (not files.header or files.delimiter is not None):
        raise ParameterError("a delimiter and a missing header must go with CSV", f"the format of {name} is {form}")
    kinds: dict[str, type[OpenedFiles]] = {"parquet": _ParquetFiles, "csv": _CsvFiles, "json": _JsonFiles}
    return kinds[form](workspace, files, places, choose, name)


def _one_format(files: Files, places: Sequence[Place], name: str) -> str:
    if files.format is not None:
        return files.format
    for place in places:
        if place.format is None:
            hint = _OTHER_FORMATS.get(place.suffixes[0], "state it: `Files.format='csv'`")
            raise DataError(f"{name} must be {_KNOWN}", f"not {place.label!r}", hint=hint)
    formats = sorted({str(place.format) for place in places})
    if len(formats) > 1:
        raise DataError(f"{name} must be files of one format", f"found {' and '.join(formats)}")
    return formats[0]


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
            self.chosen = self._parts[0].chosen if self._parts else choose(_NO_HEADER)

    def read(self, use: Callable[..., _R]) -> _R:
        """Use the chosen columns: a relation or a table for all files of some types. Refuse files that changed."""
        hint = "is every file complete, and are all its rows alike?"
        with self._explain_failures(hint), register_engine(self._connection.interrupt):
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
        nothing = f"SELECT {', '.join(f'NULL::VARCHAR AS {quote_name(each)}' for each in self.chosen)} WHERE false"
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
                plain = self._files.encoding in _UTF8
                in_place = part.place.kind is Kind.REMOTE or (part.compression in _READABLE and plain)
                self._copies[part.path] = part if in_place else self._unpack(part, plain)
            found = self._copies[part.path]
            if not found.empty:
                alike[part.chosen, part.layout, part.types, part.place.keys, found.compression].append(found)
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
        if packed not in _READABLE or self._files.encoding not in _UTF8:
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
                f"FROM read_csv({_list_paths([part])}, {options}, columns = {{'line': 'VARCHAR'}}, "
                f"compression = '{part.compression}') LIMIT 1"
            ).fetchall()
            yield str(rows[0][0]).removeprefix("\ufeff") + "\n" if rows else ""
            return
        with self._report_failures(part.place), closing(_read_bytes(part)) as chunks:
            yield from self._decode(part, chunks, "replace")

    def _decode(self, part: Part, chunks: Iterator[bytes], errors: str) -> Iterator[str]:
        encoding = "utf-8-sig" if self._files.encoding in _UTF8 else self._files.encoding
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


class _ParquetFiles(OpenedFiles):
    """Files that are read by their own types. Those of votes may differ in any type, because a row may decide it.

    A writer such as pandas makes floats of whole numbers with a gap, text of numbers with one that cannot be read, and
    it takes units and scales from single values. A public list is of one kind in all files.
    """

    text = False

    def _describe(self, parts: list[Part]) -> list[Part]:
        first: dict[str, tuple[Family, Part]] = {}
        described = []
        for part in parts:
            opened = self._connection.sql(f"SELECT * FROM {_read_parquet([part])} LIMIT 0")
            file = Path(part.place.label) if len(parts) > 1 else None
            chosen = self._choose(Header(columns=opened.columns, origin=Origin.SCHEMA, file=file))
            types = dict(zip(opened.columns, map(str, opened.types), strict=True))
            for column in () if self._tolerant else chosen:
                (kind,) = opened.project(quote_name(column)).to_arrow_table().schema.types
                family = find_family(kind)
                known, before = first.setdefault(column, (family, part))
                if known != family:
                    raise DataError(
                        f"column {column!r} of {self._name} must have one type in all files",
                        f"it has not in {before.place.label!r} and {part.place.label!r}",
                        hint="write the files with one type, or cast the column in a query",
                    )
            described.append(_choose_reader(part, chosen, types))
        return described

    def _open(self, groups: Sequence[Sequence[Part]]) -> Any:
        first = groups[0][0]
        return Table(kinds=first.types, batches=_read_batches(groups)) if first.by_arrow else super()._open(groups)

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        return f"SELECT {', '.join(map(quote_name, like.chosen))} FROM {_read_parquet(parts)}"


def _read_parquet(parts: Sequence[Part], folders: bool = True) -> str:
    named = "hive_types_autocast = false" if folders else f"hive_partitioning = false, filename = '{_MARK}'"
    return f"read_parquet({_list_paths(parts)}, {named})"


def _choose_reader(part: Part, chosen: Sequence[str], types: Mapping[str, str]) -> Part:
    """Read a file by DuckDB, given the types that it sees there, or by Arrow if it fails on some of their values.

    DuckDB has no times of day that are negative, and reads milliseconds as microseconds, of which it has fewer.
    """
    part = replace(part, chosen=tuple(chosen), types=tuple(types[each] for each in chosen))
    if part.place.kind is Kind.REMOTE or not any(kind.startswith("TIME") for kind in part.types):
        return part
    schema = datasets.dataset(part.path, format="parquet").schema
    texts = {
        name: pa.scalar(unquote(value)) for name, _, value in (each.partition("=") for each in part.place.partitions)
    }
    constants = part.constants or {name: text for name, text in texts.items() if name in chosen}
    if not set(chosen) <= {*schema.names, *constants}:  # DuckDB has another name for a column
        return part
    kinds = tuple(constants[each].type if each in constants else schema.field(each).type for each in chosen)
    if any(pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ms") for kind in kinds):
        return replace(part, types=kinds, by_arrow=True, constants=constants)
    return part


def _read_batches(groups: Sequence[Sequence[Part]]) -> Generator[tuple[Any, ...], None, None]:
    for part in chain.from_iterable(groups):
        names = list(dict.fromkeys(each for each in part.chosen if each not in part.constants))
        for batch in datasets.dataset(part.path, format="parquet").to_batches(columns=names):
            rows = len(batch)
            yield tuple(batch[each] if each in names else pa.repeat(part.constants[each], rows) for each in part.chosen)


class _DatasetFiles(_ParquetFiles):
    """The files of a dataset of PyArrow, with the columns and the values that it takes from the names of folders."""

    def __init__(self, workspace: Workspace, dataset: Any, choose: Choose, name: str) -> None:
        self._dataset = dataset
        places = [Place(target=path, kind=Kind.LOCAL) for path in dataset.files]
        super().__init__(workspace, Files(dataset.files, format="parquet"), places, choose, name)

    def _describe(self, parts: list[Part]) -> list[Part]:
        schema, named, described = self._dataset.schema, {}, []
        chosen = self._choose(Header(columns=schema.names))
        for fragment in self._dataset.get_fragments():
            named[fragment.path] = datasets.get_partition_keys(fragment.partition_expression)
        for part in parts:
            opened = self._connection.sql(f"SELECT * FROM {_read_parquet([part], folders=False)} LIMIT 0")
            types, constants = dict(zip(opened.columns, map(str, opened.types), strict=True)), {}
            for column in chosen:
                if column in named[part.path] or column not in types:
                    kind = schema.field(column).type
                    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
                    constants[column] = pa.scalar(named[part.path].get(column), kind)
                    types[column] = str(kind)
            described.append(_choose_reader(replace(part, constants=constants), chosen, types))
        return described

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        table = {_MARK: [part.path for part in parts]}
        for column, constant in like.constants.items():
            table[column] = pa.array([part.constants[column].as_py() for part in parts], constant.type)
        self._connection.register(constants := invent_name(), pa.table(table))
        columns = ", ".join(f"{'c' if each in like.constants else 'f'}.{quote_name(each)}" for each in like.chosen)
        files = _read_parquet(parts, folders=False)
        return f"SELECT {columns} FROM {files} AS f JOIN {constants} AS c USING ({quote_name(_MARK)})"


def holds_parquet(dataset: Any) -> bool:
    """Whether a dataset is whole Parquet files on this machine, for whose columns nobody chose other types.

    By itself, PyArrow would read all files by the types of the first.
    """
    if not isinstance(dataset, datasets.FileSystemDataset) or getattr(dataset, "_scan_options", None):
        return False
    if not isinstance(dataset.format, datasets.ParquetFileFormat) or dataset.filesystem.type_name != "local":
        return False
    schema = dataset.schema
    if len({name.casefold() for name in schema.names}) < len(schema.names):  # DuckDB takes them for one
        return False
    with suppress(OSError, pa.ArrowException):  # said where the files are opened
        fragments = list(dataset.get_fragments())
        if not fragments or any(len(each.row_groups) < each.metadata.num_row_groups for each in fragments):
            return False
        first = fragments[0].physical_schema
        return all(each.type == schema.field(each.name).type for each in first if each.name in schema.names)
    return True


class _JsonFiles(OpenedFiles):
    """JSON lines. The keys of a line of votes are data, so columns are declared. Those of a public table are found."""

    needs_header = False

    @property
    def _names_inside(self) -> bool:
        return not self._tolerant

    def _describe(self, parts: list[Part]) -> list[Part]:
        for part in parts:
            start = ""
            if part.place.kind is not Kind.REMOTE:
                with closing(self._open_text(part)) as text:
                    start = next(text, "").lstrip()
            if start.startswith("["):
                raise DataError(
                    f"{self._name} must be JSON lines, one object on each line",
                    f"{part.place.label!r} holds an array",
                    hint="write it line by line: jq -c '.[]', or in pandas to_json(orient='records', lines=True)",
                )
        if not self._names_inside:
            chosen = self._choose(_NO_HEADER)
        else:
            found: dict[str, None] = {}
            for group in self._group(parts):
                names = self._connection.sql(f"SELECT * FROM {_read_json(group)}, union_by_name = true) LIMIT 0")
                found.update(dict.fromkeys(names.columns))
            chosen = self._choose(Header(columns=list(found), origin=Origin.KEYS))
        return [replace(part, chosen=tuple(chosen)) for part in parts]

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        declared = [each for each in like.chosen if each not in like.place.keys]
        types = ", ".join(f"{quote_text(each)}: 'JSON'" for each in declared)
        # The first column holds items, and larger floats stand for several whole numbers.
        largest = {like.chosen[0]: "9007199254740991"}
        columns = ", ".join(
            f"{_read_json_value(quote_name(each), largest.get(each, '1e38'))} AS {quote_name(each)}"
            if each in declared
            else quote_name(each)
            for each in like.chosen
        )
        return f"SELECT {columns} FROM {_read_json(parts)}, ignore_errors = {self._tolerant}, columns = {{{types}}})"


def _read_json(parts: Sequence[Part]) -> str:
    return (
        f"read_json({_list_paths(parts)}, format = 'newline_delimited', hive_types_autocast = false, "
        f"compression = '{parts[0].compression}', hive_partitioning = {bool(parts[0].place.keys)}"
    )


def _read_json_value(column: str, largest: str) -> str:
    """The SQL of a JSON value as text. A number has one text, however it is written: 0, 0.0, -0.0 and 0e1 are one."""
    raw, text = f"CAST({column} AS VARCHAR)", f"system.main.json_extract_string({column}, '$')"
    number = f"TRY_CAST({text} AS DOUBLE)"
    one = f"CASE WHEN NOT system.main.isinf({number}) THEN {write_float(number, largest)} END"
    # Whole numbers beyond 64 bits would be called DOUBLE as well.
    return (
        f"CASE WHEN system.main.starts_with({raw}, '\"') THEN {text} "
        f"WHEN system.main.regexp_full_match({raw}, '-?[0-9]+') THEN {raw} "
        f"WHEN system.main.json_type({column}) = 'DOUBLE' THEN {one} ELSE {text} END"
    )


def write_float(number: str, largest: str = "1e38") -> str:
    """The SQL of a float as text, which is that of the whole number if it is one."""
    whole = f"{number} = system.main.trunc({number}) AND {number} BETWEEN -{largest} AND {largest}"
    return f"CASE WHEN {whole} THEN CAST(CAST({number} AS HUGEINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"


class _CsvFiles(OpenedFiles):
    """CSV. Columns are found by the header of each file, or by position.

    DuckDB reads in parallel and refuses a file for one bad line. In parallel it also refuses right files with line ends
    in quotes, and if it is told to ignore errors, it makes votes of such quoted lines. So a file that is refused is
    copied without its bad lines, and the copy is read by one thread.
    """

    _parallel = True

    @property
    def _names_inside(self) -> bool:
        """Without a header, the first row of a public table says how many columns there are. A vote must not."""
        return self._files.header or not self._tolerant

    def _describe(self, parts: list[Part]) -> list[Part]:
        described = []
        for part in parts:
            delimiter, names = self._find_columns(part)
            chosen = self._choose(self._make_header(part, names if self._names_inside else _POSITIONS))
            if not self._names_inside:
                # If all rows are as long as the first, DuckDB reads the file in place; otherwise see `_repair`.
                width = _count_needed(chosen, part)
                names = _POSITIONS[: len(names) if width <= len(names) <= len(_POSITIONS) else width]
            described.append(replace(part, chosen=tuple(chosen), layout=(delimiter, names)))
        return described

    def _find_columns(self, part: Part) -> tuple[str, tuple[str, ...]]:
        """The delimiter and the names: of the delimiters that give the needed columns, the one that gives most.

        Without a header, columns are named by their positions, and nothing is guessed: the first line is a vote.
        """
        if not self._files.header:
            delimiter = self._files.delimiter or ("\t" if part.place.suffixes[0] == ".tsv" else ",")
            fields = self._read_first_record(part, delimiter)
            return delimiter, tuple(str(position) for position in range(1, len(fields) + 1))
        candidates = [(each, self._read_first_record(part, each)) for each in self._files.delimiter or _DELIMITERS]
        if not any(any(name.strip() for name in names) for _, names in candidates):
            raise DataError(
                f"{self._name} must begin with a header, the names of the columns",
                f"the first line of {part.place.label!r} is blank",
                hint="remove what stands above the header",
            )

        def fits(names: tuple[str, ...]) -> bool:
            with suppress(DataError):
                return bool(self._choose(self._make_header(part, names)))
            return False

        return max(candidates, key=lambda candidate: (fits(candidate[1]), len(candidate[1])))

    def _make_header(self, part: Part, names: Sequence[str]) -> Header:
        columns = [*names, *(key for key in part.place.keys if key not in names)]
        origin = Origin.FIRST_LINE if self._files.header else Origin.SCHEMA if self._names_inside else Origin.POSITIONS
        return Header(columns=columns, origin=origin, file=Path(part.place.label))

    def _read_first_record(self, part: Part, delimiter: str) -> tuple[str, ...]:
        """The fields of the first record, in which a field in quotes may hold line ends and be of any length."""
        field, sign, read = _match_field(delimiter), re.escape(delimiter), ""
        record = re.compile(rf"({field}(?:{sign}{field})*+)[\r\n]")
        with closing(self._open_text(part)) as text:
            while len(read) < _LONGEST_RECORD and not record.match(read) and (piece := next(text, None)) is not None:
                read += piece
        found = record.match(read + "\n")
        line = re.split(r"[\r\n]", read, maxsplit=1)[0] if found is None else found[1]
        if self._files.header and "\ufffd" in line:
            raise self._refuse_encoding(f"the first line of {part.place.label!r}")
        fields = line.split(delimiter) if found is None else re.findall(f"({field}){sign}", line + delimiter)
        return tuple(
            each.strip(" ")[1:-1].replace('""', '"') if re.match(' ?"', each) and found else each for each in fields
        )

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        (delimiter, names), keys = like.layout, like.place.keys
        # DuckDB tells names apart by more than case, and a name with a stroke is never that of a folder.
        types = ", ".join(f"'/{index}': 'VARCHAR'" for index in range(len(names)))
        columns = ", ".join(
            f"{quote_name(each) if each in keys else quote_name(f'/{names.index(each)}')} AS {quote_name(each)}"
            for each in like.chosen
        )
        return (
            f"SELECT {columns} FROM read_csv({_list_paths(parts)}, auto_detect = false, parallel = {self._parallel}, "
            f"header = {self._files.header}, delim = {quote_text(delimiter)}, columns = {{{types}}}, "
            f"compression = '{like.compression}', hive_partitioning = {bool(keys)}, hive_types_autocast = false, "
            f"quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, max_line_size = {_LONGEST_LINE})"
        )

    def _repair(self) -> bool:
        """Copy files without the lines that cannot be read. In a public table, such a line stays an error.

        Votes without a header are cut behind the last column that is needed. So each line is read by itself.
        """
        if any(part.place.kind is Kind.REMOTE or part.path not in self._copies for part in self._parts):
            return False
        for part in self._parts:
            delimiter, names = part.layout
            width = len(names) if self._names_inside else _count_needed(part.chosen, part)
            found = self._copies[part.path]
            if found.empty:
                continue
            plain = found if found.compression == "uncompressed" else self._unpack(found, True)
            with open(plain.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if not self._tolerant and None in _split_records(data, delimiter, width):
                    return False
                blank = delimiter.encode() * (width - 1)
                lines = _split_records(data, delimiter, width, cut=not self._names_inside)
                path = self._copy(part.place, ((blank if line is None else line) + b"\n" for line in lines))
            self._copies[part.path] = replace(plain, path=path, layout=(delimiter, names[:width]))
        self._parallel = False
        return True


def _count_needed(chosen: Iterable[str], part: Part) -> int:
    """How many fields a row without a header must have, so that it has those that are chosen by their positions."""
    return max((int(each) for each in chosen if each not in part.place.keys), default=1)


def _match_field(delimiter: str) -> str:
    """The pattern of a field as DuckDB accepts it: a blank may stand before a quote, and blanks behind it."""
    sign = re.escape(delimiter)
    return rf'(?: ?"(?:[^"]++|"")*+" *+(?={sign}|[\r\n]|\Z)|(?! ?")(?:(?!{sign})[^\r\n])*+)'


def _split_records(data: Any, delimiter: str, width: int, *, cut: bool = False) -> Iterator[bytes | None]:
    r"""Split CSV in UTF-8 into records without their line ends, with None in place of a line that cannot be read.

    A record has `width` fields, and delimiters may follow, or with `cut` other fields, which are left out. If a quote
    is not closed before a delimiter or a line end, its line is left out, and the next line is read by itself.

    >>> list(_split_records(b'1,"a\n2,b\r\n3,"c\nd"\n4\n', ",", 2))
    [None, b'2,b', b'3,"c\nd"', None]
    >>> list(_split_records(b'1,a,x\n2,b\n3\n4,c,"d\n', ",", 2, cut=True))
    [b'1,a', b'2,b', None, None]
    """
    field, sign, line_end = _match_field(delimiter), re.escape(delimiter), r"(?:\r\n?|\n|\Z)"
    more = f"{sign}{field}" if cut else sign
    record = rf"({field}(?:{sign}{field}){{{width - 1}}})(?:{more})*+{line_end}|[^\r\n]*+{line_end}"
    for found in re.finditer(rb"(?:\A\xef\xbb\xbf)?(?:%b)" % record.encode(), data):
        line, kept = found[0], found[1]
        with suppress(UnicodeDecodeError):
            if kept is not None and len(line) <= _LONGEST_LINE and line.decode():
                yield kept
                continue
        if line:
            yield None if line.strip(b"\r\n") else b""


def _read_stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _list_paths(parts: Sequence[Part]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
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
