"""Parquet files, and datasets of PyArrow that hold them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shortlist.errors import DataError
from shortlist.votes.duckdb import Workspace
from shortlist.votes.file_source import FileSource, Part, list_paths
from shortlist.votes.files import Files, Kind, Place
from shortlist.votes.libraries import datasets, pa
from shortlist.votes.queries import invent_name, quote_name
from shortlist.votes.source import Choose, Header, Origin, Table
from shortlist.votes.values import Family, read_type

_PATH = "shortlist-path"
"""What the column with the path of each row is called."""


class ParquetFiles(FileSource):
    """Files that are read by their own types. Those of votes may differ in any type, because a row may decide it.

    A writer such as pandas makes floats of whole numbers with a gap, text of numbers with one that cannot be read, and
    it takes units and scales from single values. A public list is of one kind in all files.
    """

    text = False

    def _describe(self, parts: list[Part], choose: Choose) -> list[Part]:
        first: dict[str, tuple[Family, Part]] = {}
        described = []
        for part in parts:
            opened = self._connection.sql(f"SELECT * FROM {_read_parquet([part])} LIMIT 0")
            file = Path(part.place.label) if len(parts) > 1 else None
            folders = dict(each.split("=", 1) for each in part.place.partitions)
            local = part.place.kind is not Kind.REMOTE
            unread = [name for name in folders if local and name not in opened.columns]  # see `file_source.UNREAD`
            chosen = choose(Header(columns=[*opened.columns, *unread], origin=Origin.SCHEMA, file=file))
            types = dict(zip(opened.columns, map(str, opened.types), strict=True)) | dict.fromkeys(unread, "VARCHAR")
            for column in () if self._tolerant else (each for each in chosen.values() if each not in unread):
                (kind,) = opened.project(quote_name(column)).to_arrow_table().schema.types
                family = read_type(kind).family
                known, before = first.setdefault(column, (family, part))
                if known != family:
                    raise DataError(
                        f"column {column!r} of {self._name} must have one type in all files",
                        f"it has not in {before.place.label!r} and {part.place.label!r}",
                        hint="write the files with one type, or cast the column in a query",
                    )
            named = [column for column in chosen.values() if column in folders]
            constants = {column: pa.scalar(unquote(folders[column])) for column in named}
            by_arrow = any(name in unread for name in named)
            described.append(_choose_reader(replace(part, constants=constants, by_arrow=by_arrow), chosen, types))
        return described

    def _open(self, groups: Sequence[Sequence[Part]]) -> Any:
        first = groups[0][0]
        if not first.by_arrow:
            return super()._open(groups)
        return Table(kinds=dict(zip(first.chosen, first.types, strict=True)), batches=_read_batches(groups))

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        columns = ", ".join(f"{quote_name(column)} AS {role}" for role, column in like.chosen.items())
        return f"SELECT {columns} FROM {_read_parquet(parts)}"


def _read_parquet(parts: Sequence[Part], folders: bool = True) -> str:
    named = "hive_types_autocast = false" if folders else f"hive_partitioning = false, filename = '{_PATH}'"
    return f"read_parquet({list_paths(parts)}, {named})"


def _choose_reader(part: Part, chosen: Mapping[str, str], types: Mapping[str, str]) -> Part:
    """Read a file by DuckDB, given the types that it sees there, or by Arrow if it fails on some of their values.

    DuckDB has no times of day that are negative, and reads milliseconds as microseconds, of which it has fewer.
    """
    columns = chosen.values()
    part = replace(part, chosen=chosen, types=tuple(types[each] for each in columns))
    times = any(kind.startswith("TIME") for kind in part.types)
    if part.place.kind is Kind.REMOTE or not (times or part.by_arrow):
        return part
    schema = datasets.dataset(part.path, format="parquet").schema
    constants = part.constants
    if not set(columns) <= {*schema.names, *constants}:  # DuckDB has another name for a column
        return part
    kinds = tuple(constants[each].type if each in constants else schema.field(each).type for each in columns)
    if part.by_arrow or any(
        pa.types.is_time(kind) or (pa.types.is_timestamp(kind) and kind.unit == "ms") for kind in kinds
    ):
        return replace(part, types=kinds, by_arrow=True)
    return part


def _read_batches(groups: Sequence[Sequence[Part]]) -> Generator[tuple[Any, ...], None, None]:
    for part in chain.from_iterable(groups):
        columns, constants = part.chosen.values(), part.constants
        names = list(dict.fromkeys(each for each in columns if each not in constants))
        for batch in datasets.dataset(part.path, format="parquet").to_batches(columns=names):
            yield tuple(batch[each] if each in names else pa.repeat(constants[each], len(batch)) for each in columns)


class DatasetFiles(ParquetFiles):
    """The files of a dataset of PyArrow, or of a union of them, with the columns and the values that folders name."""

    def __init__(self, workspace: Workspace, dataset: Any, name: str) -> None:
        self._dataset = dataset
        paths = [fragment.path for fragment in dataset.get_fragments()]
        places = [Place(target=path, kind=Kind.LOCAL) for path in paths]
        super().__init__(workspace, Files(paths, format="parquet"), name, places)

    def _describe(self, parts: list[Part], choose: Choose) -> list[Part]:
        schema, named, described = self._dataset.schema, {}, []
        chosen = choose(Header(columns=schema.names))
        for fragment in self._dataset.get_fragments():
            named[fragment.path] = datasets.get_partition_keys(fragment.partition_expression)
        for part in parts:
            opened = self._connection.sql(f"SELECT * FROM {_read_parquet([part], folders=False)} LIMIT 0")
            types, constants = dict(zip(opened.columns, map(str, opened.types), strict=True)), {}
            for column in chosen.values():
                if column in named[part.path] or column not in types:
                    kind = schema.field(column).type
                    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
                    constants[column] = pa.scalar(named[part.path].get(column), kind)
                    types[column] = str(kind)
            described.append(_choose_reader(replace(part, constants=constants), chosen, types))
        return described

    def _write_query(self, like: Part, parts: Sequence[Part]) -> str:
        table = {_PATH: [part.path for part in parts]}
        for column, constant in like.constants.items():
            table[column] = pa.array([part.constants[column].as_py() for part in parts], constant.type)
        self._connection.register(constants := invent_name(), pa.table(table))
        columns = ", ".join(
            f"{'c' if column in like.constants else 'f'}.{quote_name(column)} AS {role}"
            for role, column in like.chosen.items()
        )
        files = _read_parquet(parts, folders=False)
        return f"SELECT {columns} FROM {files} AS f JOIN {constants} AS c USING ({quote_name(_PATH)})"


def holds_parquet(dataset: Any) -> bool:
    """Whether a dataset is whole Parquet files on this machine, for whose columns nobody chose other types.

    By itself, PyArrow would read all files by the types of the first. In a union, no file may be there twice.
    """
    if isinstance(dataset, datasets.UnionDataset):
        paths = [fragment.path for fragment in dataset.get_fragments()]
        return all(map(holds_parquet, dataset.children)) and len(set(paths)) == len(paths)
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
