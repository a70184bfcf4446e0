"""Open files by their format. CSV and JSON lines are read here: all their columns are text."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.duckdb import Workspace, write_float
from shortlist.votes.failures import translate_errors
from shortlist.votes.file_source import NO_HEADER, POSITIONS, FileSource, Part, list_paths
from shortlist.votes.files import UTF8, Files, Kind, Place, as_files, find_files
from shortlist.votes.parquet import ParquetFiles
from shortlist.votes.queries import quote_name, quote_text
from shortlist.votes.source import Choose, Header, Origin

_KNOWN = "Parquet (.parquet), CSV (.csv, .tsv) or JSON lines (.jsonl, .ndjson, .json)"
_OTHER_FORMATS = {
    **dict.fromkeys(
        (".db", ".duckdb", ".sqlite", ".sqlite3"), "to query a database, pass `shortlist.Query(database, sql)`"
    ),
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), "Excel files are not read: save the sheet as CSV"),
}
_DELIMITERS = ",\t;|"
_LONGEST_RECORD = 1 << 24
_LONGEST_LINE = 2_000_000
"""DuckDB reads no longer line of CSV, unless it is told to."""


def open_files(workspace: Workspace, given: Any, name: str) -> FileSource:
    """Open files of one format as one table.

    The columns of a CSV or JSON file are all read as text, so that an item '007' stays what it is. In a CSV file,
    an empty field is missing and a quoted empty field is the empty text. A line of votes that cannot be read is a row
    without values, because one person may have written it. In any other table, such a line is an error.
    """
    files = as_files(given)
    with translate_errors(name):
        places = find_files(files.paths, any_format=files.format is not None, name=name)
    form = _one_format(files, places, name)
    if form == "parquet" and files.encoding not in UTF8:
        raise ParameterError("an encoding must go with CSV or JSON lines", f"the format of {name} is parquet")
    if form != "csv" and (not files.header or files.delimiter is not None):
        raise ParameterError("a delimiter and a missing header must go with CSV", f"the format of {name} is {form}")
    kinds: dict[str, type[FileSource]] = {"parquet": ParquetFiles, "csv": _CsvFiles, "json": _JsonFiles}
    return kinds[form](workspace, files, name, places)


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


class _JsonFiles(FileSource):
    """JSON lines. The keys of a line of votes are data, so columns are declared. Those of a public table are found."""

    needs_header = False

    @property
    def _names_inside(self) -> bool:
        return not self._tolerant

    def _describe(self, parts: list[Part], choose: Choose) -> list[Part]:
        if not self._names_inside:
            chosen = choose(NO_HEADER)
        else:
            self._refuse_arrays(parts)
            found: dict[str, None] = {}
            for group in self._group(parts):
                names = self._connection.sql(f"SELECT * FROM {_read_json(group)}, union_by_name = true) LIMIT 0")
                found.update(dict.fromkeys(names.columns))
            chosen = choose(Header(columns=list(found), origin=Origin.KEYS))
        return [replace(part, chosen=chosen) for part in parts]

    def _make(self) -> list[Any]:
        if not self._names_inside:  # the first line is a vote, so it is read after the charge
            self._refuse_arrays(part for part in self._parts if part.path not in self._copies)
        return super()._make()

    def _refuse_arrays(self, parts: Iterable[Part]) -> None:
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

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        declared = [each for each in like.chosen.values() if each not in like.place.keys]
        types = ", ".join(f"{quote_text(each)}: 'JSON'" for each in dict.fromkeys(declared))
        # Larger floats stand for several whole numbers, which matters where they are items.
        values = {
            role: _read_json_value(quote_name(each), "9007199254740991" if role == "item" else "1e38")
            if each in declared
            else quote_name(each)
            for role, each in like.chosen.items()
        }
        columns = ", ".join(f"{value} AS {role}" for role, value in values.items())
        return f"SELECT {columns} FROM {_read_json(parts)}, ignore_errors = {self._tolerant}, columns = {{{types}}})"


def _read_json(parts: Sequence[Part]) -> str:
    return (
        f"read_json({list_paths(parts)}, format = 'newline_delimited', hive_types_autocast = false, "
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


class _CsvFiles(FileSource):
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

    def _describe(self, parts: list[Part], choose: Choose) -> list[Part]:
        described = []
        for part in parts:
            delimiter, names = self._find_columns(part, choose)
            chosen = choose(self._make_header(part, names if self._names_inside else POSITIONS))
            if not self._names_inside:
                # If all rows are as long as the first, DuckDB reads the file in place; otherwise see `_repair`.
                width = _count_needed(chosen.values(), part)
                names = POSITIONS[: len(names) if width <= len(names) <= len(POSITIONS) else width]
            described.append(replace(part, chosen=chosen, layout=(delimiter, names)))
        return described

    def _find_columns(self, part: Part, choose: Choose) -> tuple[str, tuple[str, ...]]:
        """The delimiter and the names: of the delimiters that give the needed columns, the one that gives most.

        Without a header, columns are named by their positions, and nothing is guessed: the first line is a vote.
        """
        if not self._files.header:
            delimiter = self._files.delimiter or ("\t" if part.place.suffixes[0] == ".tsv" else ",")
            fields: tuple[str, ...] = ()
            with suppress(*([DataError] if self._tolerant else [])):  # of a vote, it is said after the charge
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
                return bool(choose(self._make_header(part, names)))
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
        # By itself, DuckDB takes the first line end for that of the file, also one in quotes. A copy has one kind.
        line_end = "" if self._parallel else "new_line = '\\n', "
        columns = ", ".join(
            f"{quote_name(each if each in keys else f'/{names.index(each)}')} AS {role}"
            for role, each in like.chosen.items()
        )
        return (
            f"SELECT {columns} FROM read_csv({list_paths(parts)}, auto_detect = false, parallel = {self._parallel}, "
            f"{line_end}header = {self._files.header}, delim = {quote_text(delimiter)}, columns = {{{types}}}, "
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
            width = len(names) if self._names_inside else _count_needed(part.chosen.values(), part)
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
