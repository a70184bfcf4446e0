"""Votes as batches of Arrow, counted in the workspace as they arrive."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import VOTES, CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.counted import LocalTally, ObservedTally
from shortlist.votes.engines.counting import count_groups, count_matches
from shortlist.votes.engines.duckdb_columns import take_plain_columns
from shortlist.votes.engines.observed import keep_groups
from shortlist.votes.engines.table import Rows, Start, Table, Tally, TypedRows, check_comparable, check_persons
from shortlist.votes.files.source import Source
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.arrow_extensions import write_plain_batches
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import choose_exact_type, find_family, is_plain
from shortlist.votes.items.keys import make_key_table
from shortlist.votes.libraries import find_library, import_optional
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace


class StreamTable(Table):
    """A table that hands its rows to the workspace. Define `open_reader`."""

    @abstractmethod
    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns as a reader of Arrow batches."""

    def read_items(self, choose: Choose) -> Any:
        """The items of the chosen column."""
        return self.open_reader(choose).read_all().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in the workspace."""
        reader = self.open_reader(columns.choose)
        item, other = reader.schema.types
        if import_optional("pyarrow").types.is_null(item):
            return LocalTally(domain, np.zeros(domain.d, dtype=np.int64))
        check_comparable(find_family(item), domain, columns)
        check_persons(is_plain(other), columns)
        start()
        keys = make_key_table(domain, choose_exact_type(item), find_family(item))
        return LocalTally(domain, count_batches(self._workspace, reader, keys, columns.voters, d=domain.d))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in the workspace."""
        reader = self.open_reader(columns.choose)
        item, other = reader.schema.types
        if import_optional("pyarrow").types.is_null(item):
            return ObservedTally([], lambda counts, ranks: [])
        check_observable(find_family(item), columns)
        check_persons(is_plain(other), columns)
        start()
        grouped = count_groups(open_batches(self._workspace, reader), columns.voters)
        return keep_groups(self._workspace, grouped, find_family(item))

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        return read_typed_rows(self._workspace, self.open_reader(choose))


class ArrowTable(StreamTable):
    """A table, batch, reader or dataset of Arrow, or anything that exports an Arrow stream."""

    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns, in types that all engines have; nothing is read yet."""
        return write_plain_batches(self._open(choose))

    def _open(self, choose: Choose) -> Any:
        pa, table = import_optional("pyarrow"), self._given
        if find_library(table) == "pyarrow" and hasattr(table, "scanner"):  # a dataset
            return table.scanner(columns=choose(Header(columns=table.schema.names))).to_reader()
        if isinstance(table, pa.RecordBatch):
            table = pa.Table.from_batches([table])
        if isinstance(table, pa.Table):
            return table.select(choose(Header(columns=table.column_names))).to_reader()
        reader = pa.RecordBatchReader.from_stream(table)
        chosen = choose(Header(columns=reader.schema.names))
        schema = pa.schema([reader.schema.field(name) for name in chosen])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(chosen) for batch in reader))


def exports_arrow(value: Any) -> bool:
    """Whether a value is a table of Arrow, or exports one."""
    pa = import_optional("pyarrow")
    if isinstance(value, pa.RecordBatch | import_optional("pyarrow.dataset").Dataset):
        return True
    return hasattr(value, "__arrow_c_stream__") and not isinstance(value, pa.ChunkedArray)


def count_batches(
    workspace: Workspace, reader: Any, keys: Any, voters: PersonColumn | CountColumn, *, d: int
) -> IntArray:
    """Count the votes of batches whose items equal keys."""
    connection = workspace.connection
    relation = open_batches(workspace, reader)
    with register_engine(connection.interrupt):
        # DuckDB takes a stream for one row, and would keep all votes in memory in place of the keys.
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            return count_matches(connection, relation, keys, voters, d=d)
        finally:
            connection.execute("RESET disabled_optimizers")


def open_batches(workspace: Workspace, reader: Any) -> Any:
    """Batches with two columns as a relation of `item` and `other` in the workspace."""
    return take_plain_columns(workspace.connection.from_arrow(_cast_exactly(reader)))


def read_typed_rows(workspace: Workspace, reader: Any) -> TypedRows:
    """The rows of batches, in the workspace."""
    declared = reader.schema.field(0).type
    source = Source(relation=open_batches(workspace, reader), name=VOTES)
    return TypedRows(source=source, kept=choose_exact_type(declared), family=find_family(declared))


def _cast_exactly(reader: Any) -> Any:
    """Bring batches to types that DuckDB holds without loss."""
    pa = import_optional("pyarrow")
    item, other = (field.type for field in reader.schema)
    # DuckDB has days and microseconds, and persons who differ by less are different persons.
    finer = other in (pa.time64("ns"), pa.date64())
    schema = pa.schema([("i", choose_exact_type(item)), ("o", pa.int64() if finer else choose_exact_type(other))])
    item_kind, person_kind = schema.types
    units = {pa.time64("ns"): 1000, pa.date64(): 86_400_000}.get(item)

    def cast(batch: Any) -> Any:
        items, others = batch.columns
        if units is not None:
            items = _divide_exactly(items, units, item_kind)
        columns = [items.cast(item_kind, safe=False), others.cast(person_kind, safe=False)]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(cast, reader))


def _divide_exactly(times: Any, units: int, kind: Any) -> Any:
    """Dates or times in coarser units, and gaps in place of those that would be rounded or do not fit."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    ticks = times.cast(pa.int64())
    whole = compute.divide(ticks, units)
    low, high = (pa.scalar(limit, pa.int64()) for limit in (-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1))
    fits = compute.and_(compute.greater_equal(whole, low), compute.less_equal(whole, high))
    exact = compute.and_(fits, compute.equal(compute.multiply(whole, units), ticks))
    held = pa.int32() if kind.bit_width == 32 else pa.int64()
    return compute.if_else(exact, whole, pa.scalar(None, pa.int64())).cast(held).cast(kind)
