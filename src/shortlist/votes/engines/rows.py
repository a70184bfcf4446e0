"""Votes as Python values, row by row: columns of several types, SQLite, and databases that have no engine of their own.

A value is looked up by its type and value, and nothing is converted, so that no value can cause an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.counting import Columns, count_pairs, take_counts
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional
from shortlist.votes.item_types import Family
from shortlist.votes.keys import NO_ROW, Lookup, classify
from shortlist.votes.running import interruptible
from shortlist.votes.workspace import Workspace, invent_name

Batch = tuple[Sequence[Any], ...]
"""The items of some rows, and their persons or counts."""

PERSON_TEXT = b"text "
_LARGEST_POWER = 400
_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9}
_NANOSECONDS |= {"ms": 10**6, "us": 10**3, "ns": 1}
_PARTS = {"ps": 10**3, "fs": 10**6, "as": 10**9}


def count_rows(workspace: Workspace, batches: Iterable[Batch], domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of rows that come in batches; matched pairs are kept by the workspace, which spills."""
    pa, connection = optional("pyarrow"), workspace.connection
    lookup, table = Lookup(domain), invent_name()
    read, kind = (read_count, pa.int64()) if columns.counted else (write_person, pa.binary())
    other = "votes" if columns.counted else "person"
    connection.execute(f'CREATE TEMP TABLE {table} ("row" BIGINT, {other} {"BIGINT" if columns.counted else "BLOB"})')
    for items, others in batches:
        rows = lookup.rows(items)
        found = np.flatnonzero(rows != NO_ROW)
        pairs = [(rows[place], read(others[place])) for place in found.tolist() if not is_missing(others[place])]
        if not columns.counted:
            pairs = [pair for pair in pairs if pair[1] is not None]
        if pairs:
            matched = pa.table({"row": [row for row, _ in pairs], other: pa.array([each for _, each in pairs], kind)})
            connection.from_arrow(matched).insert_into(table)
    with interruptible(connection.interrupt):
        if columns.counted:
            return take_counts(connection.table(table), d=domain.d)
        return count_pairs(connection.table(table), d=domain.d, cap=columns.cap)


def write_person(value: Any) -> bytes | None:
    """Write a person so that different persons are written differently; None for a value of an unknown type.

    >>> write_person(7) == write_person(7.0), write_person(7) == write_person("7"), write_person([7])
    (True, False, None)
    """
    try:
        if isinstance(value, datetime | timedelta | np.datetime64 | np.timedelta64):
            return _write_moment(value)
        if isinstance(value, time):
            return f"time {value.isoformat()}".encode()
        family, key = classify(value)
        if isinstance(key, float | Decimal) and abs(key) == math.inf:
            return f"number {float(key)}".encode()
        if isinstance(key, int | float | Decimal) and family != Family.BOOLEAN:
            large = isinstance(key, Decimal) and abs(key.adjusted()) > _LARGEST_POWER
            return f"number {key.normalize() if large else Fraction(key)}".encode()  # type: ignore[union-attr]
        if isinstance(key, str):
            return PERSON_TEXT + key.encode("utf-8", "surrogatepass")
        if isinstance(key, bytes):
            return b"bytes " + key
        if isinstance(key, bool | date):
            return f"{family} {key!r}".encode()
    except Exception:  # values may have any type, and their methods may fail in any way
        pass
    return None


def _write_moment(value: Any) -> bytes:
    """Write a point in time or a duration as its exact number of nanoseconds."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit, step = np.datetime_data(value.dtype)
        ticks = int(value.astype(np.int64)) * step
        kind = "timestamp" if isinstance(value, np.datetime64) else "duration"
        if unit in ("Y", "M"):
            return f"{kind} in months {ticks * (12 if unit == 'Y' else 1)}".encode()
        return f"{kind} {Fraction(ticks * _NANOSECONDS.get(unit, 1), _PARTS.get(unit, 1))}".encode()
    if isinstance(value, timedelta):
        return f"duration {_count_nanoseconds(value) + getattr(value, 'nanoseconds', 0)}".encode()
    fields = value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    offset = value.utcoffset()
    since = datetime(*fields) - datetime(1970, 1, 1) - (offset or timedelta(0))
    nanoseconds = _count_nanoseconds(since) + getattr(value, "nanosecond", 0)
    return f"{'timestamp' if offset is None else 'instant'} {nanoseconds}".encode()


def _count_nanoseconds(duration: timedelta) -> int:
    return (duration.days * 86_400 + duration.seconds) * 10**9 + duration.microseconds * 1000


def read_count(value: Any) -> int | None:
    """Read a count; None if it is no whole number from 0 to 2^63 − 1.

    >>> read_count("12"), read_count(3.0), read_count(3.5), read_count(True)
    (12, 3, None, None)
    """
    try:
        family, key = classify(value)
        if family == Family.TEXT and key.strip("0123456789") in ("", "+"):
            key = int(key)
        if family in (Family.BOOLEAN, Family.DATE) or key != int(key) or not 0 <= key <= EVERY_LEVEL:
            return None
        return int(key)
    except Exception:  # as above
        return None


def is_missing(value: Any) -> bool:
    """Whether a value stands for no value: None, NaN, and what pandas writes for them.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    try:
        return isinstance(value, float | Decimal | np.floating) and bool(value != value)
    except Exception:  # a signalling NaN
        return True
