"""Python values of any type: their family, and whether they are missing or counts. Nothing here fails."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from shortlist.profile import EVERY_LEVEL
from shortlist.votes.items.item_types import Family


def classify(value: Any) -> tuple[Family, Any]:
    """Tell the family of a Python value, and the value in the form that keys have.

    >>> classify(np.int8(7)), classify(bytearray(b"a"))
    ((<Family.INTEGER: 'whole numbers'>, 7), (<Family.BYTES: 'bytes'>, b'a'))
    """
    if isinstance(value, np.generic):
        value = _from_numpy(value)
    if isinstance(value, complex) and value.imag == 0:
        # One complex number makes pandas turn a column of whole numbers into complex ones.
        value = value.real
    if isinstance(value, str):
        return Family.TEXT, str.__str__(value)
    if isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):  # pandas
            return Family.OTHER, None
        plain = value.replace(tzinfo=None) if value.utcoffset() is None else value.astimezone(UTC)
        family = Family.NAIVE if plain.tzinfo is None else Family.AWARE
        return family, datetime.combine(plain.date(), plain.timetz())
    if isinstance(value, time):
        return (Family.TIME, value) if value.tzinfo is None else (Family.OTHER, None)
    if type(value).__module__ == "uuid":
        return Family.TEXT, str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return Family.BYTES, bytes(value)
    kinds = ((bool, Family.BOOLEAN), (int, Family.INTEGER), (float, Family.FLOAT), (Decimal, Family.DECIMAL))
    return next((family, value) for kind, family in (*kinds, (date, Family.DATE)) if isinstance(value, kind))


def _from_numpy(value: Any) -> Any:
    if isinstance(value, np.datetime64) and np.datetime_data(value.dtype) == ("D", 1):
        return day if isinstance(day := value.item(), date) else None
    if isinstance(value, np.datetime64):
        short = value.astype("datetime64[us]")
        return short.item() if short == value else None
    return value.item()


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
        return isinstance(value, float | complex | Decimal | np.inexact) and bool(value != value)
    except Exception:  # a signalling NaN
        return True
