"""A person as bytes: different persons are written differently, and equal ones equally, whatever their Python type."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist.votes.items.item_types import Family
from shortlist.votes.items.python_values import classify, is_missing
from shortlist.votes.libraries import import_optional

_TEXT = b"text "
_LARGEST_POWER = 400
_NANOSECONDS = {"W": 604_800 * 10**9, "D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9}
_NANOSECONDS |= {"ms": 10**6, "us": 10**3, "ns": 1}
_PARTS = {"ps": 10**3, "fs": 10**6, "as": 10**9}


def write_person(value: Any) -> bytes | None:
    """Write a person so that different persons are written differently; None for a value of an unknown type.

    >>> write_person(7) == write_person(7.0), write_person(7) == write_person("7"), write_person([7])
    (True, False, None)
    """
    try:
        if isinstance(value, datetime | timedelta | np.datetime64 | np.timedelta64):
            return _write_moment(value)
        if isinstance(value, time) and value.tzinfo is None:
            since = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
            return f"time {_count_nanoseconds(since) + value.microsecond * 1000}".encode()
        if isinstance(value, time):
            return f"time with zone {value.isoformat()}".encode()
        family, key = classify(value)
        if isinstance(key, float | Decimal) and abs(key) == math.inf:
            return f"number {float(key)}".encode()
        if isinstance(key, int | float | Decimal) and family != Family.BOOLEAN:
            large = isinstance(key, Decimal) and abs(key.adjusted()) > _LARGEST_POWER
            return f"number {key.normalize() if large else Fraction(key)}".encode()  # type: ignore[union-attr]
        if isinstance(key, str):
            return _TEXT + key.encode("utf-8", "surrogatepass")
        if isinstance(key, bytes):
            return b"bytes " + key
        if isinstance(key, bool):
            return f"{family} {key!r}".encode()
        if isinstance(key, date):
            return f"date {_count_nanoseconds(key - date(1970, 1, 1))}".encode()
    except Exception:  # values may have any type, and their methods may fail in any way
        pass
    return None


def write_persons(column: Any) -> Any:
    """Write an Arrow column of persons: the bytes that `write_person` gives for its values, whatever the type.

    So the bytes of a person are the same if another person's value gives the column another type.

    >>> import pyarrow as pa
    >>> write_persons(pa.array([7.0, None])).to_pylist() == write_persons(pa.array([7, None])).to_pylist()
    True
    """
    pa, types = import_optional("pyarrow"), import_optional("pyarrow.types")
    if isinstance(column, pa.ChunkedArray):
        chunks = [write_persons(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks, pa.large_binary())
    kind = column.type
    if types.is_dictionary(kind):
        return write_persons(column.dictionary).take(column.indices)
    if types.is_string(kind) or types.is_large_string(kind):
        return _prepend(_TEXT, column)
    if types.is_integer(kind):
        return _prepend(b"number ", column.cast(pa.string()))
    # Each different value is written once.
    coded = column.dictionary_encode()
    if types.is_temporal(kind):
        name, unit = _describe_moments(kind)
        # As numbers: Python has no dates and times for all of them.
        ticks = coded.dictionary.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        values: list[bytes | None] = [f"{name} {each * _NANOSECONDS[unit]}".encode() for each in ticks]
    else:
        values = [None if is_missing(each) else write_person(each) for each in coded.dictionary.to_pylist()]
    return pa.array(values, pa.large_binary()).take(coded.indices)


def _describe_moments(kind: Any) -> tuple[str, str]:
    """What persons of a temporal type are called in their bytes, and the unit of their numbers."""
    types = import_optional("pyarrow.types")
    if types.is_date(kind):
        return "date", "D" if types.is_date32(kind) else "ms"
    name = "duration" if types.is_duration(kind) else "time" if types.is_time(kind) else "timestamp"
    return "instant" if getattr(kind, "tz", None) else name, kind.unit


def _prepend(start: bytes, column: Any) -> Any:
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    beginning, between = (pa.scalar(each, pa.large_binary()) for each in (start, b""))
    return compute.binary_join_element_wise(beginning, column.cast(pa.large_binary()), between)


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
