"""Values of votes: which kinds there are, which mean the same, and how each is written.

The one place that says what a missing value is, which Arrow and Python types belong together, and how an item or a
person is written as bytes. Nothing here fails on a value: a value that is of no known kind means nothing.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.libraries import compute, pa

DIGITS = 38
"""Whole numbers and decimals have at most so many digits before the point, and after it: what Arrow and DuckDB hold."""
_LARGEST = 10**DIGITS
LARGEST_FLOAT = 2**53
"""Larger floats stand for several whole numbers."""


class Family(StrEnum):
    """Values that are compared with each other.

    Floats are not items of a domain: equal-looking floats differ. A column of votes may hold floats, because a gap
    turns a pandas column of whole numbers into floats.
    """

    TEXT = "text"
    INTEGER = "whole numbers"
    DECIMAL = "decimals"
    FLOAT = "floats"
    BOOLEAN = "booleans"
    DATE = "dates"
    TIME = "times of day"
    NAIVE = "timestamps"
    AWARE = "timestamps with time zone"
    BYTES = "bytes"
    OTHER = "values of another type"


ITEM_TYPES = "text, whole numbers, booleans, dates, times, timestamps, decimals or bytes"
"""The families of items, in the words of errors."""
NUMBERS = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)

_ARROW_TYPES = {
    r"(large_)?string": (Family.TEXT, None),
    r"string_view|extension<arrow\.(uuid|json)>": (Family.TEXT, "large_string"),
    r"u?int\d+": (Family.INTEGER, None),
    r"float|double": (Family.FLOAT, None),
    r"halffloat": (Family.FLOAT, "float32"),
    r"decimal\d+\(.*": (Family.DECIMAL, None),
    r"bool": (Family.BOOLEAN, None),
    r"date\d+\[.*": (Family.DATE, "date32"),
    r"time32\[.*": (Family.TIME, None),
    r"time64\[.*": (Family.TIME, "time64[us]"),
    r"timestamp\[\w+\]": (Family.NAIVE, None),
    r"timestamp\[.*": (Family.AWARE, None),
    r"(large_)?binary": (Family.BYTES, None),
    r"binary_view|fixed_size_binary\[.*": (Family.BYTES, "large_binary"),
    r"duration\[.*": (Family.OTHER, "int64"),
}
"""The families of Arrow types by their names, and the exact types where these are others."""


class ArrowType(NamedTuple):
    """What an Arrow type means."""

    family: Family
    exact: Any
    """The type that all engines hold without loss. DuckDB keeps instants, times of day and durations to the microsecond
    only, and other timestamps to the nanosecond."""
    holds_persons: bool
    """Whether its values can be persons that every engine compares alike."""


@cache
def read_type(arrow_type: Any) -> ArrowType:
    """Tell what an Arrow type means: dictionaries are their values, instants are times in UTC, UUIDs and JSON are text.

    >>> import pyarrow as pa
    >>> [str(read_type(each).family) for each in (pa.int8(), pa.timestamp("s", "UTC"), pa.list_(pa.int8()))]
    ['whole numbers', 'timestamps with time zone', 'values of another type']
    """
    if pa.types.is_dictionary(arrow_type):
        return read_type(arrow_type.value_type)
    found = (each for name, each in _ARROW_TYPES.items() if re.fullmatch(name, str(arrow_type)))
    family, name = next(found, (Family.OTHER, None))
    if family == Family.AWARE:
        return ArrowType(family, pa.timestamp(arrow_type.unit), holds_persons=True)
    if family == Family.DECIMAL:
        # A negative scale stands for zeros at the end.
        digits, scale = arrow_type.precision - min(arrow_type.scale, 0), max(arrow_type.scale, 0)
        if digits > DIGITS:
            return ArrowType(Family.OTHER, arrow_type, holds_persons=False)
        return ArrowType(family, pa.decimal128(digits, scale), holds_persons=True)
    exact = arrow_type if name is None else pa.type_for_alias(name)
    return ArrowType(family, exact, holds_persons=not (pa.types.is_nested(exact) or pa.types.is_interval(exact)))


# Python values


def classify(value: Any) -> tuple[Family, Any]:
    """Tell the family of a Python value, and the value in the form that keys have. It fails on unknown types.

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


def read_bytes(family: Family, key: Any) -> tuple[Family, Any]:
    """Read bytes as the text that they are in UTF-8: one value that is bytes makes some writers write all texts so.

    >>> read_bytes(*classify(b"12")), read_bytes(*classify(12))
    ((<Family.TEXT: 'text'>, '12'), (<Family.INTEGER: 'whole numbers'>, 12))
    """
    return (Family.TEXT, key.decode()) if family == Family.BYTES else (family, key)


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


def read_count(value: Any) -> int | None:
    """Read a count; None if it is no whole number from 0 to 2^63 − 1.

    >>> read_count("12"), read_count(3.0), read_count(3.5), read_count(True)
    (12, 3, None, None)
    """
    try:
        family, key = classify(value)
        if family == Family.TEXT and key.strip("0123456789") in ("", "+"):
            key = int(key)
        # In this order: the digits of Decimal("1e999999") would take a minute to write.
        if family in (Family.BOOLEAN, Family.DATE) or not 0 <= key <= EVERY_LEVEL or key != int(key):
            return None
        return int(key)
    except Exception:  # values may have any type, and their methods may fail in any way
        return None


LARGEST_WEIGHT = LARGEST_FLOAT
"""A column of whole numbers with a gap may be held as floats. Up to here, both mean the same weights."""
WEIGHT_TEXT = "[0-9]{1,40}([.][0-9]{0,40})?([eE][+-]?[0-9]{1,2})?|[Ii]nf(inity)?"
"""The pattern of texts that are weights, which the regular expressions of all engines read alike. No float of such a
text is out of range."""


def read_weight(value: Any, largest: int) -> int:
    """Read a weight, rounded down and cut at the largest one; 0 if it is negative, or no number.

    Text, also in bytes, is read as the nearest float. The SQL of it is `Dialect.write_weight`.

    >>> [read_weight(each, 60) for each in (7.9, "12.5", math.inf, -3, None, "1,5", True, math.nan)]
    [7, 12, 60, 0, 0, 0, 0, 0]
    """
    try:
        family, key = read_bytes(*classify(value))
        if family == Family.TEXT:
            family, key = Family.FLOAT, float(key) if re.fullmatch(WEIGHT_TEXT, key) else 0
        # In this order: the digits of Decimal("1e999999") would take a minute to write.
        return 0 if family not in NUMBERS or not key >= 1 else largest if key >= largest else math.floor(key)
    except Exception:  # values may have any type, and their methods may fail in any way
        return 0


# A value as bytes, and as the text that orders votes under a cap

_MARKS = {
    Family.BOOLEAN: b"a",
    Family.INTEGER: b"b",
    Family.DECIMAL: b"b",
    Family.FLOAT: b"b",
    Family.DATE: b"c",
    Family.TIME: b"d",
    Family.NAIVE: b"e",
    Family.AWARE: b"f",
    Family.TEXT: b"g",
    Family.BYTES: b"h",
}
_FAMILIES = {mark: family for family, mark in _MARKS.items() if family not in (Family.DECIMAL, Family.FLOAT)}
_WIDTH = 17
"""The bytes of a whole number of 38 digits."""
_FIRST = datetime(1, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 10**9
_UNITS = {"W": 604_800 * _SECOND, "D": 86_400 * _SECOND, "h": 3600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND}
_UNITS |= {"ms": 10**6, "us": 10**3, "ns": 1}
_PARTS = {"ps": 10**3, "fs": 10**6, "as": 10**9}
_LARGEST_POWER = 400


def write_item(value: Any) -> bytes | None:
    """Write an item as bytes, or return None for a value that could not be an item of a domain.

    Equal items are written equally, and bytes are in the order of the items. A number is one item, whatever its type; a
    float counts if it is a whole number. Bytes are the text that they are in UTF-8, because one value that is bytes
    makes some writers write the whole column so.

    >>> write_item(7) == write_item(7.0) == write_item(Decimal("7.00")), write_item("7") == write_item(7)
    (True, False)
    >>> write_item(b"7") == write_item("7"), read_item(write_item(b"\\xff"))
    (True, b'\\xff')
    >>> write_item(-3) < write_item(Decimal("-2.5")) < write_item(10), write_item(0.5), write_item([7])
    (True, None, None)
    """
    try:
        family, key = classify(value)
        if family == Family.BYTES and (text := _decode(key)) is not None:
            family, key = Family.TEXT, text
        if family == Family.FLOAT and not (key == int(key) and abs(key) < LARGEST_FLOAT):
            return None
        written = _write(family, key)
        return written if family not in NUMBERS or len(written) <= 1 + _WIDTH + DIGITS else None
    except Exception:  # values may have any type, and their methods may fail in any way
        return None


def read_item(written: bytes) -> Any:
    """Read an item that `write_item` wrote. A number is an int if it is whole, else a Decimal.

    >>> [read_item(write_item(each)) for each in ("é", Decimal("1.50"), 7.0, date(2024, 2, 29), b"a", True)]
    ['é', Decimal('1.5'), 7, datetime.date(2024, 2, 29), 'a', True]
    """
    family, rest = _FAMILIES[written[:1]], written[1:]
    if family == Family.INTEGER:
        whole, digits = int.from_bytes(rest[:_WIDTH]) - _LARGEST, rest[_WIDTH:].decode()
        return Context(prec=2 * DIGITS + 2).add(Decimal(whole), Decimal(f"0.{digits}")) if digits else whole
    if family == Family.TEXT:
        return rest.decode()
    if family == Family.BYTES:
        return rest
    number = int.from_bytes(rest)
    if family == Family.BOOLEAN:
        return bool(number)
    if family == Family.DATE:
        return date.fromordinal(number)
    moment = _FIRST + number * _MICROSECOND
    if family == Family.TIME:
        return moment.time()
    return moment.replace(tzinfo=UTC) if family == Family.AWARE else moment


def write_person(value: Any) -> bytes | None:
    """Write a person so that different persons are written differently; None for a gap or a value of an unknown type.

    >>> write_person(7) == write_person(7.0), write_person(7) == write_person("7"), write_person([7])
    (True, False, None)
    """
    try:
        if is_missing(value):
            return None
        if isinstance(value, datetime | timedelta | np.datetime64 | np.timedelta64):
            return _write_moment(value)
        if isinstance(value, time) and value.tzinfo is not None:
            return f"time with zone {value.isoformat()}".encode()
        return _write(*classify(value), errors="surrogatepass")
    except Exception:  # as above
        return None


def write_text(value: Any) -> str:
    """Write the text of a person or item whose hash orders a person's votes under a cap.

    It is the same whatever type holds the value: 5, 5.0, "5" and b"5" are alike, because one person's value may decide
    the type of a column. Of a number it is the whole part. Bytes that are no text are written in hexadecimal. Values of
    other kinds may share a text, which harms nothing: the hash only orders the votes of one person, and equal hashes
    are ordered by the items themselves.

    >>> write_text(5), write_text(5.0), write_text("5"), write_text(b"5"), write_text(True), write_text(1e300)
    ('5', '5', '5', '5', 'true', '')
    >>> write_text(b"\\xff")
    'ff'
    """
    try:
        family, key = classify(value)
        if family == Family.TEXT:
            return str(key).encode("utf-8", "replace").decode()
        if family in NUMBERS:
            limit = 1 << 63 if family == Family.FLOAT else _LARGEST
            return str(math.floor(key)) if -limit <= key < limit else ""
        if family == Family.BOOLEAN:
            return "true" if key else "false"
        if family == Family.BYTES:
            return _decode(bytes(key)) or bytes(key).hex()
        if family == Family.DATE:
            return str(key.isoformat())
        moment = datetime.combine(date(1970, 1, 1), key) if family == Family.TIME else key.replace(tzinfo=None)
        return str((moment - datetime(1970, 1, 1)) // _MICROSECOND)
    except Exception:  # as above
        return ""


def _decode(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _write(family: Family, key: Any, errors: str = "strict") -> bytes:
    """Write a mark for the family, and then the value. By itself, text that is no Unicode has no bytes."""
    if family in NUMBERS:
        written = _write_number(key)
    elif family == Family.TEXT:
        written = str(key).encode("utf-8", errors)
    elif family == Family.BYTES:
        written = bytes(key)
    elif family == Family.BOOLEAN:
        written = int(key).to_bytes(1)
    elif family == Family.DATE:
        written = int(key.toordinal()).to_bytes(4)
    else:
        moment = datetime.combine(_FIRST, key) if isinstance(key, time) else key.replace(tzinfo=None)
        written = ((moment - _FIRST) // _MICROSECOND).to_bytes(8)
    return _MARKS[family] + written


def _write_number(key: Any) -> bytes:
    """Write the whole part with a fixed width, then the digits after the point: bytes are in the order of numbers.

    Numbers beyond 38 digits are no items, and are written in any way that tells them apart.
    """
    if isinstance(key, float | Decimal) and abs(key) == math.inf:
        return b" -infinite" if key < 0 else b" infinite"
    if isinstance(key, Decimal) and (abs(key.adjusted()) > _LARGEST_POWER or int(key.as_tuple().exponent) < -5000):
        digits = Context(prec=max(len(key.as_tuple().digits), 1))
        return f"{' ' * (_WIDTH + DIGITS)}{key.normalize(digits)}".encode()
    number = Fraction(key)
    whole = number.numerator // number.denominator
    rest = number - whole
    # A denominator is a product of twos and fives, so this many digits are enough.
    places = rest.denominator.bit_length()
    digits_after = f"{rest.numerator * 10**places // rest.denominator:0{places}}".rstrip("0") if rest else ""
    if abs(whole) >= _LARGEST:
        return f"{' ' * (_WIDTH + DIGITS)}{whole}.{digits_after}".encode()
    return int(whole + _LARGEST).to_bytes(_WIDTH) + digits_after.encode()


def _write_moment(value: Any) -> bytes:
    """Write a point in time or a duration as its exact number of nanoseconds."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit, step = np.datetime_data(value.dtype)
        ticks = int(value.astype(np.int64)) * step
        kind = "timestamp" if isinstance(value, np.datetime64) else "duration"
        if unit in ("Y", "M"):
            return f"{kind} in months {ticks * (12 if unit == 'Y' else 1)}".encode()
        return f"{kind} {Fraction(ticks * _UNITS.get(unit, 1), _PARTS.get(unit, 1))}".encode()
    if isinstance(value, timedelta):
        return f"duration {_count_nanoseconds(value) + getattr(value, 'nanoseconds', 0)}".encode()
    fields = value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond
    offset = value.utcoffset()
    since = datetime(*fields) - datetime(1970, 1, 1) - (offset or timedelta(0))
    nanoseconds = _count_nanoseconds(since) + getattr(value, "nanosecond", 0)
    return f"{'timestamp' if offset is None else 'instant'} {nanoseconds}".encode()


def _count_nanoseconds(duration: timedelta) -> int:
    return (duration.days * 86_400 + duration.seconds) * _SECOND + duration.microseconds * 1000


# Arrow columns

_PLAIN = {bool, bytes, date, int, str, time, type(None)}
"""Types of Python whose values Arrow takes as they are."""


def make_arrow_column(values: Any, *, what: str) -> Any:
    """Make an Arrow array of values that all have one type; a missing value is a gap, and a UUID is its text.

    An Arrow array stays what it is.

    >>> make_arrow_column([1, 2**70], what="domain").type
    Decimal128Type(decimal128(38, 0))
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    listed = list(values) if set(map(type, values)) <= _PLAIN else [_to_plain(value) for value in values]
    kinds = set(map(type, listed)) - {type(None)}
    # Arrow by itself would shorten a datetime among dates to a date, and take text among bytes for bytes.
    zoned = {value.tzinfo is not None for value in listed if value is not None} if kinds == {datetime} else ()
    if len(kinds) > 1 or len(zoned) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"{what} must hold values of one type", f"found {names}", hint="make them all text, say")
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array(listed)
    if kinds == {int}:
        if any(value is not None and abs(value) >= _LARGEST for value in listed):
            raise DataError(f"whole numbers of {what} must have at most {DIGITS} digits", hint="make them text")
        return pa.array([None if each is None else Decimal(each) for each in listed], pa.decimal128(DIGITS, 0))
    raise DataError(
        f"{what} must hold {ITEM_TYPES}",
        f"not {next(iter(kinds)).__name__}",
        hint="make them text",
    )


def _to_plain(value: Any) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if type(value).__module__ == "uuid" else value


def write_exact(column: Any, *, safe: bool = True) -> Any:
    """Write an Arrow column in the type that all engines hold without loss.

    >>> import pyarrow as pa
    >>> write_exact(pa.array([bytes(range(16)), None], pa.uuid())).to_pylist()
    ['00010203-0405-0607-0809-0a0b0c0d0e0f', None]
    """
    kind = read_type(column.type).exact
    if column.type == kind:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([write_exact(chunk, safe=safe) for chunk in column.chunks], kind)
    if pa.types.is_dictionary(column.type) and isinstance(column.type.value_type, pa.BaseExtensionType):
        return write_exact(column.dictionary).take(column.indices)
    if isinstance(column.type, pa.BaseExtensionType) and kind == pa.large_string():
        column = column.storage if column.type.extension_name == "arrow.json" else _write_uuids(column.storage)
    return column.cast(kind, safe=safe)


def _write_uuids(stored: Any) -> Any:
    """Write arrays of 16 bytes in lower case, with hyphens."""
    if stored.null_count == len(stored):
        return pa.nulls(len(stored), pa.large_string())
    start = 16 * stored.offset
    raw = stored.buffers()[1].to_pybytes()[start : start + 16 * len(stored)]
    digits = np.frombuffer(raw.hex().encode(), dtype=np.uint8).reshape(-1, 32)
    texts = np.insert(digits, (8, 12, 16, 20), ord("-"), axis=1)
    written = pa.array(texts.view("S36").ravel()).cast(pa.large_string())
    return compute.if_else(stored.is_valid(), written, pa.scalar(None, pa.large_string()))
