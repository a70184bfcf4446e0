"""A person as bytes: different persons are written differently, and equal ones equally, whatever their Python type."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist.votes.items.item_types import Family
from shortlist.votes.items.python_values import classify

PERSON_TEXT = b"text "
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
