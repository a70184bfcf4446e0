"""Tables in memory or in other engines: which kind they are, and how each kind is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.votes.counting import VOTES, Columns
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines.duckdb import count_arrow, open_stream, plain_columns
from shortlist.votes.engines.ibis import count_ibis
from shortlist.votes.engines.polars import count_polars
from shortlist.votes.sources.columns import count_columns, open_column
from shortlist.votes.sources.header import Choose, Header
from shortlist.votes.workspace import Workspace

ACCEPTED = (
    "a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, a dict of columns, paths of files, "
    "shortlist.Files or shortlist.Query"
)


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
        if isinstance(votes, Mapping) or (library == "pandas" and hasattr(votes, "columns")):
            item, other = choose_columns(list(votes if isinstance(votes, Mapping) else votes.columns), columns)
            columns.start()
            return count_columns(workspace, votes[item], votes[other], domain, columns)
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
    """Open two columns of a pandas frame or a dict: as a reader if both have a type, else as a batch of values."""
    pair = [open_column(table[name]) for name in names]
    if all(column.typed is not None for column in pair):
        return optional("pyarrow").table([column.typed for column in pair], names=["item", "other"]).to_reader()
    return [tuple(column.to_list() for column in pair)]
