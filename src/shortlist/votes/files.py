"""Files of votes or items: from paths as users write them to one table of DuckDB, without guessing.

Before the charge, only names and schemas are looked at: the footer of a Parquet file, the first record of a CSV file.
What DuckDB cannot read in place (other encodings, some compressions) is copied after it.
"""

from __future__ import annotations

import codecs
import glob
import lzma
import mmap
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from shortlist.errors import ChangedError, DataError, ParameterError, ShortlistError
from shortlist.privacy.numbers import quote
from shortlist.votes.failures import translate_errors
from shortlist.votes.libraries import import_optional
from shortlist.votes.places import COMPRESSED, EXTENSIONS, FORMATS, STDIN, Kind, Place, find_files
from shortlist.votes.queries import quote_name, quote_text
from shortlist.votes.source import Choose, Header, Origin

if TYPE_CHECKING:
    from shortlist.votes.duckdb import Workspace

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
_DATABASES = (".db", ".duckdb", ".sqlite", ".sqlite3")
_SHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_CHUNK = 1 << 20
_DELIMITERS = ",\t;|"
_LONGEST_RECORD = 1 << 24
_NO_HEADER = Header(columns=[str(position) for position in range(1, 1000)], origin=Origin.UNKNOWN)


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
        listed = (
            isinstance(paths, list | tuple) and paths and all(isinstance(each, str | os.PathLike) for each in paths)
        )
        if not listed:
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
    """One file as it is found: the path to read, and how it is packed."""

    place: Place
    path: str
    compression: str = "uncompressed"
    empty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFiles:
    """Files that are described and not read: how to make a relation of the chosen columns.

    `text` says that all columns are text. `stamps` belong to the files that must not change.
    """

    name: str
    text: bool
    make: Callable[[bool], Any] = lambda parallel: None
    """Make the relation, in parallel or not."""
    stamps: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    """The paths that DuckDB reads, which may be those of copies, with the names that errors may show."""
    csv: Sequence[tuple[Part, str]] = ()
    """Files of CSV with their delimiters."""

    @contextmanager
    def explain_failures(self, hint: str | None = None) -> Iterator[None]:
        """Say in our words that a file could not be read, and first of all if it changed or is gone."""
        try:
            with translate_errors(self.name, hint=hint, files=self.labels):
                yield
        except DataError:
            self.check_unchanged()
            raise

    @property
    def may_be_misread(self) -> bool:
        """Whether DuckDB may fail on files that are right: it does on line ends in quotes if it reads in parallel.

        It reads a quote that is never closed without an error if it does not, so all quotes must be closed.
        """
        return bool(self.csv) and all(_closes_quotes(part, delimiter) for part, delimiter in self.csv)

    def check_unchanged(self) -> None:
        """Refuse to go on with files that changed while they were read."""
        for path, stamp in self.stamps.items():
            now = None
            with suppress(OSError):
                now = _read_stamp(path)
            if now != stamp:
                raise ChangedError(
                    f"{self.name} changed while it was read; the file is {Place(target=path, kind=Kind.LOCAL).label!r}",
                    hint="run the selection again when nothing writes to the file",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is asked of files: their columns, how they are written, and what errors call them."""

    workspace: Workspace
    files: Files
    choose: Choose
    name: str
    labels: dict[str, str] = field(default_factory=dict)
    copies: dict[str, Part] = field(default_factory=dict)
    """The copies of files that DuckDB cannot read in place, by the path of the file."""
    csv: list[tuple[Part, str]] = field(default_factory=list)

    @property
    def connection(self) -> Any:
        return self.workspace.connection


def open_files(workspace: Workspace, given: Any, choose: Choose, *, name: str) -> OpenedFiles:
    """Describe files of one format as one table with the chosen columns.

    The columns of a CSV or JSON file are all read as text, so that an item '007' stays what it is. In a CSV file,
    an empty field is missing and a quoted empty field is the empty text.
    """
    files = as_files(given)
    places = find_files(files.paths, any_format=files.format is not None, name=name)
    form = _one_format(files, places, name)
    _check_options(files, form, name)
    with translate_errors(name, hint="was a file removed just now?"):
        stamps = {place.target: _read_stamp(place.target) for place in places if place.kind is Kind.LOCAL}
    request = _Request(workspace=workspace, files=files, choose=choose, name=name)
    opened = OpenedFiles(name=name, text=form != "parquet", stamps=stamps, labels=request.labels, csv=request.csv)
    with opened.explain_failures():
        parts = [_look_at(request, place, form) for place in places]
    request.labels.update((part.path, part.place.label) for part in parts)
    describe = {"parquet": _describe_parquet, "csv": _describe_csv, "json": _describe_json}[form]
    with opened.explain_failures(hint="is every file complete, and in the format that its name says?"):
        return replace(opened, make=describe(request, parts))


def _read_stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _one_format(files: Files, places: Sequence[Place], name: str) -> str:
    if files.format is not None:
        return files.format
    for place in places:
        if place.format is None:
            label = place.label.lower()
            raise DataError(
                f"{name} must be {_KNOWN}",
                f"not {place.label!r}",
                hint="to query a database, pass `shortlist.Query(database, sql)`"
                if label.endswith(_DATABASES)
                else "Excel files are not read: save the sheet as CSV"
                if label.endswith(_SHEETS)
                else "state it: `Files.format='csv'`",
            )
    formats = sorted({str(place.format) for place in places})
    if len(formats) > 1:
        raise DataError(f"{name} must be files of one format", f"found {' and '.join(formats)}")
    return formats[0]


def _check_options(files: Files, form: str, name: str) -> None:
    """Refuse options that the format does not have, for they would be ignored."""
    if form == "parquet" and files.encoding not in _UTF8:
        raise ParameterError("an encoding must go with CSV or JSON lines", f"the format of {name} is parquet")
    if form != "csv" and (not files.header or files.delimiter is not None):
        raise ParameterError("a delimiter and a missing header must go with CSV", f"the format of {name} is {form}")


def _refuse_empty(request: _Request, part: Part) -> None:
    if part.empty:
        raise DataError(f"{request.name} must not be an empty file", f"{part.place.label!r} is")


def _describe_parquet(request: _Request, parts: list[Part]) -> Callable[[bool], Any]:
    """Read files with equal types together; the files may differ in the width of a type, not in the type."""
    alike: dict[Any, list[Part]] = defaultdict(list)
    first: dict[str, tuple[str, Part]] = {}
    for part in parts:
        _refuse_empty(request, part)
        opened = request.connection.sql(f"SELECT * FROM {_read_parquet([part])} LIMIT 0")
        types = dict(zip(opened.columns, map(str, opened.types), strict=True))
        file = Path(part.place.label) if len(parts) > 1 else None
        chosen = request.choose(Header(columns=opened.columns, origin=Origin.SCHEMA, file=file))
        for column in chosen:
            family, before = first.setdefault(column, (_find_width_family(types[column]), part))
            if family != _find_width_family(types[column]):
                raise DataError(
                    f"column {column!r} of {request.name} must have one type in all files",
                    f"it has not in {before.place.label!r} and {part.place.label!r}",
                    hint="write the files with one type, or cast the column in a query",
                )
        alike[tuple((column, types[column]) for column in chosen), part.place.keys].append(part)
    queries = (
        f"SELECT {', '.join(quote_name(column) for column, _ in typed)} FROM {_read_parquet(group)}"
        for (typed, _), group in alike.items()
    )
    relation = request.connection.sql(" UNION ALL ".join(queries))
    return lambda parallel: relation


def _read_parquet(parts: Sequence[Part]) -> str:
    return f"read_parquet({_list_paths(parts)}, hive_types_autocast = false)"


def _find_width_family(written: str) -> str:
    """What types have in common that DuckDB brings together without rounding a value or failing on it.

    >>> _find_width_family("UINTEGER") == _find_width_family("BIGINT"), _find_width_family("DOUBLE")
    (True, 'DOUBLE')
    >>> _find_width_family("DECIMAL(9,2)") == _find_width_family("DECIMAL(38,2)"), _find_width_family("DECIMAL(9,3)")
    (True, 'DECIMAL with scale 3)')
    """
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER", written):
        return "INTEGER"
    bare, _, rest = written.partition("(")
    if bare == "DECIMAL":
        return f"DECIMAL with scale {rest.partition(',')[2]}"
    return "VARCHAR" if bare == "ENUM" else written


def _describe_json(request: _Request, parts: list[Part]) -> Callable[[bool], Any]:
    """Read files with equal compression and folders together.

    The keys of a line are data, so the columns of votes are declared and not looked for. A line of votes that is not an
    object is a row without values. Of a domain, which is public and one column, keys are looked for.
    """
    for part in parts:
        _refuse_array(request, part)
    chosen: list[str] = []
    with suppress(DataError):
        chosen = request.choose(_NO_HEADER)
    if len(chosen) <= 1:
        parts = _make_readable(request, parts)
        found: dict[str, None] = {}
        for table in _group_json(parts).values():
            names = request.connection.sql(f"SELECT * FROM {table}, union_by_name = true) LIMIT 0").columns
            found.update(dict.fromkeys(names))
        chosen = request.choose(Header(columns=list(found), origin=Origin.KEYS))

    def make(parallel: bool) -> Any:
        queries = []
        for (_, keys), table in _group_json(_make_readable(request, parts)).items():
            types = ", ".join(f"{quote_text(column)}: 'JSON'" for column in chosen if column not in keys)
            # The first column holds items, and larger floats stand for several whole numbers.
            largest = {chosen[0]: "9007199254740991"}
            columns = ", ".join(
                quote_name(each)
                if each in keys
                else f"{_read_json_value(quote_name(each), largest.get(each, '1e38'))} AS {quote_name(each)}"
                for each in chosen
            )
            queries.append(f"SELECT {columns} FROM {table}, ignore_errors = {len(chosen) > 1}, columns = {{{types}}})")
        return request.connection.sql(" UNION ALL ".join(queries)) if queries else _make_empty(request, chosen)

    return make


def _group_json(parts: list[Part]) -> dict[tuple[str, tuple[str, ...]], str]:
    alike: dict[tuple[str, tuple[str, ...]], list[Part]] = defaultdict(list)
    for part in parts:
        if not part.empty:
            alike[part.compression, part.place.keys].append(part)
    options = "format = 'newline_delimited', hive_types_autocast = false"
    return {
        key: f"read_json({_list_paths(group)}, {options}, compression = '{key[0]}', hive_partitioning = {bool(key[1])}"
        for key, group in alike.items()
    }


def _read_json_value(column: str, largest: str) -> str:
    """The SQL of a JSON value as text. A number has one text, however it is written: 0, 0.0, -0.0 and 0e1 are one."""
    raw, text = f"CAST({column} AS VARCHAR)", f"system.main.json_extract_string({column}, '$')"
    number = f"TRY_CAST({text} AS DOUBLE)"
    one = (
        f"CASE WHEN system.main.isinf({number}) THEN NULL "
        f"WHEN {number} = system.main.trunc({number}) AND {number} BETWEEN -{largest} AND {largest} "
        f"THEN CAST(CAST({number} AS HUGEINT) AS VARCHAR) ELSE CAST({number} AS VARCHAR) END"
    )
    # Whole numbers beyond 64 bits would be called DOUBLE as well.
    return (
        f"CASE WHEN system.main.starts_with({raw}, '\"') THEN {text} "
        f"WHEN system.main.regexp_full_match({raw}, '-?[0-9]+') THEN {raw} "
        f"WHEN system.main.json_type({column}) = 'DOUBLE' THEN {one} ELSE {text} END"
    )


def _refuse_array(request: _Request, part: Part) -> None:
    if part.place.kind is Kind.REMOTE or part.empty:
        return
    with closing(_open_text(request, part)) as text:
        start = next(text, "").lstrip()
    if start.startswith("["):
        raise DataError(
            f"{request.name} must be JSON lines, one object on each line",
            f"{part.place.label!r} holds an array",
            hint="write it line by line: jq -c '.[]', or in pandas to_json(orient='records', lines=True)",
        )


def _describe_csv(request: _Request, parts: list[Part]) -> Callable[[bool], Any]:
    """Read files with equal headers together; columns are found by the header of each."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for part in parts:
        if request.files.header or not part.empty:
            found[part.path] = _find_columns(request, part)
            _, names = found[part.path]
            request.choose(_make_header(request, part, names))
    read = [part for part in parts if part.path in found]

    def make(parallel: bool) -> Any:
        alike: dict[Any, list[Part]] = defaultdict(list)
        request.csv.clear()
        for part, readable in zip(read, _make_readable(request, read), strict=True):
            request.csv.append((readable, found[part.path][0]))
            alike[readable.compression, *found[part.path], part.place.keys].append(readable)
        queries = []
        for (compression, delimiter, names, keys), group in alike.items():
            taken = request.choose(_make_header(request, group[0], names))
            # DuckDB tells names apart by more than case, and a name with a stroke is never that of a folder.
            types = ", ".join(f"'/{index}': 'VARCHAR'" for index in range(len(names)))
            columns = ", ".join(
                f"{quote_name(each) if each in keys else quote_name(f'/{names.index(each)}')} AS {quote_name(each)}"
                for each in taken
            )
            queries.append(
                f"SELECT {columns} FROM read_csv({_list_paths(group)}, auto_detect = false, parallel = {parallel}, "
                f"header = {request.files.header}, delim = {quote_text(delimiter)}, columns = {{{types}}}, "
                f"compression = '{compression}', hive_partitioning = {bool(keys)}, hive_types_autocast = false, "
                "quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false)"
            )
        return (
            request.connection.sql(" UNION ALL ".join(queries))
            if queries
            else _make_empty(request, request.choose(_NO_HEADER))
        )

    if not read:
        request.choose(_NO_HEADER)
    return make


def _find_columns(request: _Request, part: Part) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names: of the delimiters that give the needed columns, the one that gives most.

    Without a header, columns are named by their positions, and nothing is guessed: the first line is a vote.
    """
    _refuse_empty(request, part)
    if not request.files.header:
        delimiter = request.files.delimiter or ("\t" if part.place.suffixes[0] == ".tsv" else ",")
        fields = _read_first_record(request, part, delimiter)
        return delimiter, tuple(str(position) for position in range(1, len(fields) + 1))
    candidates = [(each, _read_first_record(request, part, each)) for each in request.files.delimiter or _DELIMITERS]
    if not any(any(name.strip() for name in names) for _, names in candidates):
        raise DataError(
            f"{request.name} must begin with a header, the names of the columns",
            f"the first line of {part.place.label!r} is blank",
            hint="remove what stands above the header",
        )

    def fits(names: tuple[str, ...]) -> bool:
        with suppress(DataError):
            return bool(request.choose(_make_header(request, part, names)))
        return False

    return max(candidates, key=lambda candidate: (fits(candidate[1]), len(candidate[1])))


def _make_header(request: _Request, part: Part, names: Sequence[str]) -> Header:
    columns = [*names, *(key for key in part.place.keys if key not in names)]
    origin = Origin.FIRST_LINE if request.files.header else Origin.SCHEMA
    return Header(columns=columns, origin=origin, file=Path(part.place.label))


def _read_first_record(request: _Request, part: Part, delimiter: str) -> tuple[str, ...]:
    """The fields of the first record, in which a field in quotes may hold line ends and any number of characters."""
    field = re.compile(r'"((?:[^"]|"")*)"[^D\r\n]*|([^D\r\n]*)'.replace("D", re.escape(delimiter)))
    read, fields, complete = "", [""], False
    with closing(_open_text(request, part)) as text:
        while not complete and len(read) < _LONGEST_RECORD and (piece := next(text, None)) is not None:
            read, place, fields = read + piece, 0, []
            while place <= len(read) and (found := field.match(read, place)):
                fields.append(found[2] if found[1] is None else found[1].replace('""', '"'))
                place = found.end() + 1
                if read[found.end() : place] != delimiter:
                    break
            # What was read may end inside the record, or inside quotes.
            quoted = found is not None and (found[2] or "").startswith('"')
            complete = place <= len(read) and not quoted
    if request.files.header and "\ufffd" in "".join(fields):
        raise DataError(
            f"{request.name} must be text in {request.files.encoding}", f"the first line of {part.place.label!r} is not"
        )
    return tuple(fields)


def _closes_quotes(part: Part, delimiter: str) -> bool:
    """Whether a plain file in UTF-8 closes each quote that opens a field."""
    if part.place.kind is Kind.REMOTE or part.compression != "uncompressed" or part.empty:
        return False
    sign = re.escape(delimiter.encode())
    quoted = re.compile(rb"(?:^|(?<=" + sign + rb')|(?<=[\r\n]))"(?:[^"]++|"")*+("?)')
    with open(part.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return all(found[1] for found in quoted.finditer(data))


def _make_empty(request: _Request, chosen: Sequence[str]) -> Any:
    """A table without rows, of files that do not say which columns they have."""
    columns = ", ".join(f"NULL::VARCHAR AS {quote_name(each)}" for each in chosen)
    return request.connection.sql(f"SELECT {columns} WHERE false")


def _list_paths(parts: Sequence[Part]) -> str:
    # DuckDB reads a path as a glob, so what is special in globs is put in brackets.
    paths = (part.path if part.place.kind is Kind.REMOTE else glob.escape(part.path) for part in parts)
    return "[" + ", ".join(map(quote_text, paths)) + "]"


def _look_at(request: _Request, place: Place, form: str) -> Part:
    """Look at the start of a file: the compression is seen from the first bytes, not the name. Streams are copied."""
    if place.kind is Kind.REMOTE:
        return _load_extension(request, place)
    path = place.target
    with _report_failures(request, place):
        if place.kind is Kind.STREAM:
            with _open_stream(place) as file:
                path = _copy(request, place, iter(lambda: file.read(_CHUNK), b""))
        with open(path, "rb") as file:
            start = file.read(16)
    packed = next((name for name, magic in _MAGIC.items() if re.match(magic, start)), "uncompressed")
    return Part(place=place, path=path, compression="uncompressed" if form == "parquet" else packed, empty=not start)


def _load_extension(request: _Request, place: Place) -> Part:
    """Let DuckDB read an address, if its extension is there; nothing is downloaded or installed."""
    packed = COMPRESSED.get(place.suffixes[1], "uncompressed")
    if packed not in _READABLE or request.files.encoding not in _UTF8:
        raise ParameterError(
            f"{request.name} at an address must be plain or .gz, and in UTF-8",
            f"{place.label!r} is not",
            hint="copy the file to this machine first",
        )
    extension = EXTENSIONS[place.target.partition("://")[0].lower()]
    try:
        request.connection.execute(f"LOAD {extension}")
    except import_optional("duckdb").Error:
        raise DataError(
            f"{request.name} at {place.label!r} can be read only with DuckDB's extension {extension!r}, "
            "which is not installed",
            hint=f'''install it once: python -c "import duckdb; duckdb.sql('INSTALL {extension}')"''',
        ) from None
    return Part(place=place, path=place.target, compression=packed)


def _make_readable(request: _Request, parts: Sequence[Part]) -> list[Part]:
    """Copy files that DuckDB cannot read in place: as plain files in UTF-8, each once."""
    plain = request.files.encoding in _UTF8
    for part in parts:
        in_place = part.place.kind is Kind.REMOTE or part.empty or (part.compression in _READABLE and plain)
        if part.path not in request.copies:
            request.copies[part.path] = part if in_place else _unpack(request, part, plain)
    return [request.copies[part.path] for part in parts]


def _unpack(request: _Request, part: Part, plain: bool) -> Part:
    with _report_failures(request, part.place), closing(_read_bytes(part)) as chunks:
        text = chunks if plain else (piece.encode() for piece in _decode(request, part, chunks))
        path = _copy(request, part.place, text)
    request.labels[path] = part.place.label
    if part.place.kind is Kind.STREAM:
        os.remove(part.path)
    return Part(place=part.place, path=path, empty=not os.stat(path).st_size)


def _open_text(request: _Request, part: Part) -> Generator[str, None, None]:
    """The text of a file from its start, in pieces. What is wrong further down is found when votes are read."""
    if part.place.kind is Kind.REMOTE:
        # No line has this sign, so a line is one field.
        options = "auto_detect = false, header = false, quote = '', escape = '', delim = '\x1f'"
        rows = request.connection.execute(
            f"FROM read_csv({_list_paths([part])}, {options}, columns = {{'line': 'VARCHAR'}}, "
            f"compression = '{part.compression}') LIMIT 1"
        ).fetchall()
        yield str(rows[0][0]).removeprefix("\ufeff") + "\n" if rows else ""
        return
    with _report_failures(request, part.place), closing(_read_bytes(part)) as chunks:
        yield from _decode(request, part, chunks, "replace")


def _read_bytes(part: Part) -> Generator[bytes, None, None]:
    with open(part.path, "rb") as file:
        unpacked: Any = file
        if part.compression == "xz":
            unpacked = lzma.LZMAFile(file)  # noqa: SIM115
        elif part.compression != "uncompressed":
            unpacked = import_optional("pyarrow").CompressedInputStream(file, part.compression)
        with closing(unpacked):
            yield from iter(lambda: unpacked.read(_CHUNK), b"")


def _decode(request: _Request, part: Part, chunks: Iterator[bytes], errors: str = "strict") -> Iterator[str]:
    encoding = "utf-8-sig" if request.files.encoding in _UTF8 else request.files.encoding
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    try:
        for chunk in chunks:
            yield decoder.decode(chunk)
        yield decoder.decode(b"", True)
    except UnicodeError:
        raise DataError(
            f"{request.name} must be text in {request.files.encoding}", f"{part.place.label!r} is not"
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


@contextmanager
def _report_failures(request: _Request, place: Place) -> Iterator[None]:
    """Say in our words that a file cannot be read."""
    try:
        yield
    except ShortlistError:
        raise
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
        raise DataError(
            f"{request.name} must be complete and readable",
            f"{place.label!r} is not ({reason})",
        ) from None


def _copy(request: _Request, place: Place, chunks: Iterator[bytes]) -> str:
    """Write a new file that only its owner may read, in folders that name the same columns.

    A copy lies in the folder that votes spill to, and is removed with the workspace.
    """
    folder = os.path.join(tempfile.mkdtemp(prefix="copy-", dir=request.workspace.folder), *place.partitions)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "data")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for chunk in chunks:
            try:
                file.write(chunk)
            except OSError as error:
                raise DataError(
                    f"{request.name} must be copied to the folder for temporary files before it can be read",
                    f"the folder cannot be written ({error.strerror})",
                    hint="set TMPDIR to a folder with more room",
                ) from None
    return path
