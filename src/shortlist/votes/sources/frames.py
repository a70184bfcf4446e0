"""Tables in memory or in other engines: which kind they are, and how each kind is counted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shortlist.arrays import IntArray
from shortlist.errors import ParameterError
from shortlist.votes.counting import VOTES, Columns
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines.duckdb import count_arrow, open_stream, plain_columns
from shortlist.votes.engines.ibis import count_ibis
from shortlist.votes.engines.polars import count_polars
from shortlist.votes.engines.rows import Batch, count_rows, is_missing
from shortlist.votes.item_types import family_of
from shortlist.votes.meanings import can_match
from shortlist.votes.sources.header import Choose, Header
from shortlist.votes.workspace import Workspace

ACCEPTED = (
    "a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, a dict of columns, paths of files, "
    "shortlist.Files or shortlist.Query"
)
_BATCH = 1 << 16


def library_of(value: Any) -> str:
    """The library that a value comes from.

    >>> import pyarrow
    >>> library_of(pyarrow.table({})), library_of([1])
    ('pyarrow', 'builtins')
    """
    return type(value).__module__.partition(".")[0].lstrip("_")


def unwrap(value: Any) -> Any:
    """Take a frame out of narwhals, which wraps the frames of other libraries."""
    return value.to_native() if library_of(value) == "narwhals" else value


def count_frame(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of a table in memory, or of a relation of somebody's DuckDB."""
    library = library_of(votes)
    with reading(VOTES):
        if library == "pandas" and hasattr(votes, "columns"):
            chosen = choose_columns(list(votes.columns), columns)
            columns.start()
            return _count_columns(workspace, open_columns(votes, chosen), domain, columns)
        if isinstance(votes, Mapping):
            chosen = choose_columns(list(votes), columns)
            columns.start()
            return _count_columns(workspace, open_columns(votes, chosen), domain, columns)
        if library == "polars":
            return count_polars(workspace, votes, domain, columns)
        if library == "ibis":
            return count_ibis(workspace, votes, domain, columns)
        if library == "duckdb":
            return count_foreign_relation(workspace, votes, domain, columns)
        reader = open_arrow(votes, lambda header: header.take(columns.names, where=VOTES))
        if reader is not None:
            return count_arrow(workspace, reader, domain, columns)
    raise ParameterError("{votes} must be {accepted}", "not {kind}", accepted=ACCEPTED, kind=type(votes).__name__)


def choose_columns(found: list[Any], columns: Columns) -> list[str]:
    """The two columns, each of which must be there once."""
    return Header(columns=found).take(columns.names, where=VOTES)


def count_foreign_relation(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of a relation of another DuckDB: it hands over batches, and nothing is written there."""
    chosen = choose_columns(list(votes.columns), columns)
    places = [list(votes.columns).index(name) + 1 for name in chosen]
    plain = plain_columns(votes.project(", ".join(f"#{place}" for place in places)))
    return count_arrow(workspace, open_stream(plain), domain, columns)


def open_arrow(table: Any, choose: Choose) -> Any:
    """Open the chosen columns of a table, batch, reader, dataset or Arrow stream as a reader; None if it is neither."""
    pa = optional("pyarrow")
    if library_of(table) == "pyarrow" and hasattr(table, "scanner"):  # a dataset
        return table.scanner(columns=choose(Header(columns=table.schema.names))).to_reader()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        chosen = choose(Header(columns=table.column_names))
        return table.select(chosen).to_reader()
    if isinstance(table, pa.RecordBatchReader) or hasattr(table, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(table)
        chosen = choose(Header(columns=reader.schema.names))
        schema = pa.schema([reader.schema.field(name) for name in chosen])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(chosen) for batch in reader))
    return None


def open_columns(table: Any, names: list[str]) -> Any:
    """Open two columns of a pandas frame or a dict: as a reader if both have a type, else as batches of values."""
    pa = optional("pyarrow")
    pair = [_as_column(table[name]) if isinstance(table, Mapping) else table[name] for name in names]
    typed = [_to_arrow(column) for column in pair]
    if any(column is None for column in typed):
        items, others = (column.to_pylist() if isinstance(column, pa.ChunkedArray) else column for column in pair)
        return _slices(_values(items), _values(others))
    return pa.table(typed, names=["item", "other"]).to_reader()


def _as_column(values: Any) -> Any:
    """A column of a dict: an Arrow or NumPy array or a series as it is, anything else as Python values."""
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__") or library_of(values) == "pandas":
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufM":
        return values
    return list(values)


def _count_columns(workspace: Workspace, opened: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of two columns.

    The type of such a column may come from its values, so no type is refused: what cannot match is ignored.
    """
    if not hasattr(opened, "schema"):
        return count_rows(workspace, opened, domain, columns)
    if not can_match(domain.family, family_of(opened.schema.field(0).type)):
        return np.zeros(domain.d, dtype=np.int64)
    return count_arrow(workspace, opened, domain, columns)


def _to_arrow(column: Any) -> Any:
    """A column in Arrow, or None if its values may have several types."""
    pa = optional("pyarrow")
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    kind = getattr(column, "dtype", object)
    kinds = (str(kind), str(getattr(getattr(kind, "categories", None), "dtype", None)))
    if (isinstance(column, list) or "object" in kinds) and not _is_text(column):
        return None
    try:
        made = pa.array(column, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # text that is no Unicode, say
        return None
    if pa.types.is_floating(made.type):
        # One text in the column makes Python floats of all others, which have 64 bits.
        return made.cast(pa.float64())
    return None if pa.types.is_nested(made.type) or isinstance(made.type, pa.BaseExtensionType) else made


def _is_text(column: Any) -> bool:
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return bool(pandas.api.types.infer_dtype(column, skipna=True) == "string")
    return all(isinstance(value, str) or is_missing(value) for value in column)


def _values(column: Any) -> Any:
    return column if isinstance(column, list) else np.asarray(column, dtype=object)


def _slices(items: Any, others: Any) -> Iterator[Batch]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH], others[start : start + _BATCH]
