"""Votes as batches of Arrow, counted in the workspace as they arrive."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import VOTES, CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import count_matches
from shortlist.votes.engines.duckdb_columns import take_plain_columns
from shortlist.votes.engines.observed import ObservedTally, count_groups, keep_groups
from shortlist.votes.engines.table import Rows, Start, Table, Tally, TypedRows, check_comparable, check_persons
from shortlist.votes.files.source import Source
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import Family, choose_exact_type, find_family
from shortlist.votes.items.keys import key_table
from shortlist.votes.libraries import find_library, import_optional
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace


class ArrowTable(Table):
    """A table, batch, reader or dataset of Arrow, or anything that exports an Arrow stream."""

    def read_items(self, choose: Choose) -> Any:
        """The items of the chosen column."""
        with translate_errors(self._name):
            return _open_reader(self._given, choose).read_all().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in the workspace."""
        with translate_errors(self._name):
            reader = _open_reader(self._given, columns.choose)
            return LocalTally(domain, count_reader(self._workspace, reader, domain, columns, start))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in the workspace."""
        with translate_errors(self._name):
            return observe_reader(self._workspace, _open_reader(self._given, columns.choose), columns, start)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        with translate_errors(self._name):
            return type_reader(self._workspace, _open_reader(self._given, choose))


def exports_arrow(value: Any) -> bool:
    """Whether a value is a table of Arrow, or exports one."""
    pa = import_optional("pyarrow")
    return isinstance(value, pa.RecordBatch | import_optional("pyarrow.dataset").Dataset) or hasattr(
        value, "__arrow_c_stream__"
    )


def count_reader(workspace: Workspace, reader: Any, domain: Domain, columns: VoteColumns, start: Start) -> IntArray:
    """Count the votes of batches with two columns."""
    pa = import_optional("pyarrow")
    declared = reader.schema.field(0).type
    if pa.types.is_null(declared):
        return np.zeros(domain.d, dtype=np.int64)
    check_comparable(find_family(declared), domain, columns)
    check_persons(_is_plain(reader.schema.field(1).type), columns)
    start()
    keys = key_table(domain, choose_exact_type(declared), find_family(declared))
    return count_batches(workspace, reader, keys, columns.voters, d=domain.d)


def _is_plain(kind: Any) -> bool:
    types = import_optional("pyarrow.types")
    exact = choose_exact_type(kind)
    return not (types.is_nested(exact) or types.is_interval(exact))


def count_batches(
    workspace: Workspace, reader: Any, keys: Any, voters: PersonColumn | CountColumn, *, d: int
) -> IntArray:
    """Count the votes of batches whose items equal keys."""
    connection = workspace.connection
    relation = take_plain_columns(connection.from_arrow(cast_exactly(reader)))
    with register_engine(connection.interrupt):
        # DuckDB takes a stream for one row, and would keep all votes in memory in place of the keys.
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            return count_matches(connection, relation, keys, voters, d=d)
        finally:
            connection.execute("RESET disabled_optimizers")


def observe_reader(workspace: Workspace, reader: Any, columns: VoteColumns, start: Start) -> ObservedTally:
    """Group the votes of batches with two columns by item."""
    pa = import_optional("pyarrow")
    declared = reader.schema.field(0).type
    if pa.types.is_null(declared):
        return ObservedTally([], lambda counts, ranks: [])
    check_observable(find_family(declared), columns)
    check_persons(_is_plain(reader.schema.field(1).type), columns)
    start()
    return observe_batches(workspace, reader, find_family(declared), columns.voters)


def observe_batches(
    workspace: Workspace, reader: Any, family: Family, voters: PersonColumn | CountColumn
) -> ObservedTally:
    """Group the votes of batches whose items are of one family."""
    relation = take_plain_columns(workspace.connection.from_arrow(cast_exactly(reader)))
    return keep_groups(workspace, count_groups(relation, voters), family, moved=False)


def keep_counted(workspace: Workspace, reader: Any, family: Family) -> ObservedTally:
    """Keep groups that another engine counted: batches of an item and its votes."""
    relation = take_plain_columns(workspace.connection.from_arrow(cast_exactly(reader)))
    return keep_groups(workspace, relation.project("item, other AS votes"), family, moved=False)


def type_reader(workspace: Workspace, reader: Any) -> TypedRows:
    """The rows of batches, in the workspace."""
    declared = reader.schema.field(0).type
    relation = take_plain_columns(workspace.connection.from_arrow(cast_exactly(reader)))
    source = Source(relation=relation, name=VOTES)
    return TypedRows(source=source, kept=choose_exact_type(declared), family=find_family(declared))


def _open_reader(table: Any, choose: Choose) -> Any:
    """Open the chosen columns as a reader of batches."""
    pa = import_optional("pyarrow")
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


def cast_exactly(reader: Any) -> Any:
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
