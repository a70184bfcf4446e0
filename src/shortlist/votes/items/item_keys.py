"""Observed items as bytes: equal items are written equally, and bytes are in the order of the items.

Without a domain, items are what the votes say. Each value is read by itself, so that no vote decides how another is
read. A value that could not be an item of a domain is no item: it is ignored, and no error tells of it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from shortlist.errors import DataError
from shortlist.votes.columns import VoteColumns
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.python_values import classify
from shortlist.votes.libraries import import_optional

_LARGEST = 10**38
_WIDTH = 17
_LARGEST_FLOAT = 2**53
_DIGITS = 38
_FIRST = datetime(1, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_MARKS = {
    Family.BOOLEAN: b"a",
    Family.INTEGER: b"b",
    Family.DATE: b"c",
    Family.TIME: b"d",
    Family.NAIVE: b"e",
    Family.AWARE: b"f",
    Family.TEXT: b"g",
    Family.BYTES: b"h",
}
_FAMILIES = {mark: family for family, mark in _MARKS.items()}


def write_item(value: Any) -> bytes | None:
    """Write an item as bytes, or return None for a value that is no item.

    A number is one item, whatever its type; a float counts if it is a whole number.

    >>> write_item(7) == write_item(7.0) == write_item(Decimal("7.00")), write_item("7") == write_item(7)
    (True, False)
    >>> write_item(-3) < write_item(Decimal("-2.5")) < write_item(10), write_item(0.5), write_item([7])
    (True, None, None)
    """
    try:
        family, key = classify(value)
        if family in (Family.INTEGER, Family.DECIMAL, Family.FLOAT):
            return _write_number(family, key)
        return _MARKS[family] + _write_other(family, key)
    except Exception:  # values may have any type, and their methods may fail in any way
        return None


def write_items(column: Any) -> Any:
    """Write an Arrow column of items: the bytes that `write_item` gives for its values, whatever its type.

    >>> import pyarrow as pa
    >>> write_items(pa.array([7.0, None])).to_pylist() == write_items(pa.array([7, None])).to_pylist()
    True
    """
    pa = import_optional("pyarrow")
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([write_items(chunk) for chunk in column.chunks], pa.binary())
    # Each different value is written once.
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return pa.array([_write_scalar(each) for each in coded.dictionary], pa.binary()).take(coded.indices)


def read_item(written: bytes) -> Any:
    """Read an item that `write_item` wrote. A number is an int if it is whole, else a Decimal.

    >>> [read_item(write_item(each)) for each in ("é", Decimal("1.50"), 7.0, date(2024, 2, 29), b"a", True)]
    ['é', Decimal('1.5'), 7, datetime.date(2024, 2, 29), b'a', True]
    """
    family, rest = _FAMILIES[written[:1]], written[1:]
    if family == Family.INTEGER:
        return _read_number(rest)
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


def check_observable(family: Family, columns: VoteColumns) -> None:
    """Refuse a column whose type no item of a domain has. That depends on types alone, not on votes."""
    if family in (Family.FLOAT, Family.OTHER):
        raise DataError(
            "without a domain, column {column!r} of the votes must hold text, whole numbers, booleans, dates, times, "
            "timestamps, decimals or bytes",
            "it holds {seen}",
            hint="cast it to text or to whole numbers",
            column=columns.item,
            seen=family,
        )


def _write_scalar(scalar: Any) -> bytes | None:
    pa = import_optional("pyarrow")
    coarser = {pa.date64(): 86_400_000, pa.time64("ns"): 1000}.get(scalar.type)
    try:
        # Python would round them.
        if coarser is not None and scalar.cast(pa.int64()).as_py() % coarser:
            return None
        return write_item(scalar.as_py())
    except Exception:  # Python has no dates and times for all of them
        return None


def _write_number(family: Family, key: Any) -> bytes | None:
    if family == Family.FLOAT and not (key == int(key) and abs(key) < _LARGEST_FLOAT):
        return None
    number = Fraction(key)
    whole = number.numerator // number.denominator
    if abs(whole) >= _LARGEST:
        return None
    rest = (number - whole) * 10**_DIGITS
    if rest.denominator != 1:
        return None
    # The digits after the point, in which a number that is a beginning of another is the smaller one.
    digits = f"{int(rest):0{_DIGITS}}".rstrip("0")
    return _MARKS[Family.INTEGER] + (whole + _LARGEST).to_bytes(_WIDTH) + digits.encode()


def _read_number(rest: bytes) -> int | Decimal:
    whole, digits = int.from_bytes(rest[:_WIDTH]) - _LARGEST, rest[_WIDTH:].decode()
    if not digits:
        return whole
    exact = Context(prec=2 * _DIGITS + 2)
    return exact.add(Decimal(whole), Decimal(f"0.{digits}"))


def _write_other(family: Family, key: Any) -> bytes:
    if family == Family.TEXT:
        return str(key).encode()  # text that is no Unicode has no bytes
    if family == Family.BYTES:
        return bytes(key)
    if family == Family.BOOLEAN:
        return int(key).to_bytes(1)
    if family == Family.DATE:
        return int(key.toordinal()).to_bytes(4)
    moment = datetime.combine(_FIRST, key) if isinstance(key, time) else key.replace(tzinfo=None)
    return ((moment - _FIRST) // _MICROSECOND).to_bytes(8)
