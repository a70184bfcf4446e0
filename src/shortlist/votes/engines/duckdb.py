"""Votes in DuckDB: files, database files, and everything that arrives as Arrow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.votes.counting import Columns, count_pairs, take_counts
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional
from shortlist.votes.item_types import Family, exact_type, family_of
from shortlist.votes.keys import key_table
from shortlist.votes.meanings import can_match
from shortlist.votes.running import interruptible
from shortlist.votes.sources.source import Source, reading_from
from shortlist.votes.workspace import Workspace

_READABLE = "is every file complete, and are all its rows alike?"
_TEXT_IN_ARROW = re.compile(r"UUID|JSON|UHUGEINT|BIGNUM|ENUM\(.*", re.DOTALL)
_NEVER_ITEMS = re.compile(r"BIT|TIME WITH TIME ZONE|TIME_NS|INTERVAL|VARIANT|GEOMETRY.*")
_NESTED = re.compile(r"^(STRUCT|MAP|UNION|VARIANT)\b|\]$")
_WIDE = ("HUGEINT", "UHUGEINT", "BIGNUM")
_WHOLE_TYPES = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
_WHOLE_TEXT = "^[+-]?[0-9]{1,19}$"


def count_relation(connection: Any, votes: Source, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of a relation of a connection: its first column holds items, its second persons or counts.

    Relations are composed as objects, so no table is made and no name is written into a statement.
    """
    with reading_from(votes, hint=_READABLE), interruptible(connection.interrupt):
        plain = plain_columns(votes.relation)
        kept = plain.project("item").limit(0).to_arrow_table().schema.field(0).type
        check_comparable(family_of(kept), domain, columns)
        check_persons(bool(_NESTED.search(str(plain.types[1]))), columns)
        columns.start()
        counts = _count(connection, plain, key_table(domain, kept), domain, columns)
    votes.check_unchanged()
    return counts


def count_arrow(workspace: Workspace, reader: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of Arrow batches with two columns, as they arrive."""
    pa = optional("pyarrow")
    declared = reader.schema.field(0).type
    if pa.types.is_null(declared):
        return np.zeros(domain.d, dtype=np.int64)
    check_comparable(family_of(declared), domain, columns)
    check_persons(pa.types.is_nested(exact_type(reader.schema.field(1).type)), columns)
    columns.start()
    keys = key_table(domain, exact_type(declared), family_of(declared))
    return count_batches(workspace, reader, keys, domain, columns)


def count_batches(workspace: Workspace, reader: Any, keys: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of Arrow batches whose items equal keys."""
    connection = workspace.connection
    relation = connection.from_arrow(exact_batches(reader))
    with interruptible(connection.interrupt):
        # DuckDB takes a stream for one row, and would keep all votes in memory in place of the keys.
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            return _count(connection, plain_columns(relation), keys, domain, columns)
        finally:
            connection.execute("RESET disabled_optimizers")


def open_stream(relation: Any) -> Any:
    """Read a relation of any DuckDB batch by batch."""
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # its name in DuckDB 1
    return reader()


def plain_columns(relation: Any) -> Any:
    """Take columns as `item` and `other`, without collation, and items in a type that Arrow has.

    They are taken by position, because DuckDB takes two names that differ in case for one.
    """
    item, *others = map(str, relation.types)
    other = "" if not others else f", {_other_expression(others[0])} AS other"
    return relation.project(f"{_item_expression(item)} AS item{other}")


def check_comparable(among: Family, domain: Domain, columns: Columns) -> None:
    """Refuse a column of which no value can ever be an item. That depends on types alone, not on votes."""
    if not can_match(domain.family, among):
        raise DataError(
            "column {column!r} of the votes must hold values that can be items of the domain, which holds {items}",
            "it holds {seen}",
            hint="cast one of them to the type of the other",
            column=columns.item,
            items=domain.family,
            seen=among,
        )


def check_persons(nested: bool, columns: Columns) -> None:
    """Refuse persons that are lists or structures, whose parts each engine compares and hashes in its own way."""
    if nested and not columns.counted:
        raise DataError(
            "column {column!r} of the votes must hold persons as plain values",
            "it holds lists or structures",
            hint="make one text of their parts",
            column=columns.other,
        )


def _count(connection: Any, plain: Any, keys: Any, domain: Domain, columns: Columns) -> IntArray:
    kind = str(plain.types[1])
    nothing = " AND NOT system.main.isnan(other)" if kind in ("FLOAT", "DOUBLE") else ""
    voted = plain.filter(f"other IS NOT NULL{nothing}").set_alias("v")
    matched = voted.join(connection.from_arrow(keys).set_alias("k"), "v.item = k.key")
    if columns.counted:
        return take_counts(matched.project(f'"row", {_count_expression(kind)} AS votes'), d=domain.d)
    return count_pairs(matched.project('"row", other AS person'), d=domain.d, cap=columns.cap)


def _item_expression(kind: str) -> str:
    if _NEVER_ITEMS.fullmatch(kind):
        return "CAST(NULL AS STRUCT(nothing INTEGER))"
    if kind == "HUGEINT":
        # Arrow has no wider numbers, and an item of the domain has at most 38 digits.
        return "TRY_CAST(#1 AS DECIMAL(38, 0))"
    if _TEXT_IN_ARROW.fullmatch(kind):
        return 'CAST(#1 AS VARCHAR) COLLATE "binary"'
    return _uncollate(kind, "#1")


def _other_expression(kind: str) -> str:
    if kind in _WIDE:
        return "CAST(#2 AS VARCHAR)"
    return 'CAST(#2 AS VARCHAR) COLLATE "binary"' if kind.startswith("ENUM(") else _uncollate(kind, "#2")


def _uncollate(kind: str, column: str) -> str:
    return f'{column} COLLATE "binary"' if kind == "VARCHAR" else column


def _count_expression(kind: str) -> str:
    """The SQL that reads a count, NULL where it is none."""
    value = "CAST(NULL AS BIGINT)"
    if _WHOLE_TYPES.fullmatch(kind):
        value = "TRY_CAST(other AS BIGINT)"
    elif kind == "VARCHAR":
        value = f"CASE WHEN system.main.regexp_matches(other, '{_WHOLE_TEXT}') THEN TRY_CAST(other AS BIGINT) END"
    elif kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL("):
        value = "CASE WHEN other = system.main.trunc(other) THEN TRY_CAST(other AS BIGINT) END"
    return f"CASE WHEN {value} >= 0 THEN {value} END"


def exact_batches(reader: Any) -> Any:
    """Bring batches to types that DuckDB holds without loss."""
    pa = optional("pyarrow")
    item, other = (field.type for field in reader.schema)
    # Persons whose time of day differs by a nanosecond are different persons.
    person = pa.int64() if other == pa.time64("ns") else exact_type(other)
    schema = pa.schema([("i", exact_type(item)), ("o", person)])

    def cast(batch: Any) -> Any:
        items, others = batch.columns
        items = _whole_microseconds(items) if item == pa.time64("ns") else items.cast(schema.field(0).type, safe=False)
        return pa.RecordBatch.from_arrays([items, others.cast(person, safe=False)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, map(cast, reader))


def _whole_microseconds(times: Any) -> Any:
    """Times of day in microseconds, and gaps in place of those that would be rounded."""
    pa, compute = optional("pyarrow"), optional("pyarrow.compute")
    ticks = times.cast(pa.int64())
    whole = compute.divide(ticks, 1000)
    exact = compute.equal(compute.multiply(whole, 1000), ticks)
    return compute.if_else(exact, whole, pa.scalar(None, pa.int64())).cast(pa.time64("us"))
