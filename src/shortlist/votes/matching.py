"""When a value of a vote means an item of the domain, and the keys that engines look for.

Numbers match if they are equal, without rounding. A text matches a value of another type if it is one of the ways to
write that value. Bytes of votes are read as text in UTF-8, because one value that is bytes makes some writers write the
whole column so. Everything else matches its own kind only: a date is no timestamp.

Engines do nothing but look for votes that equal a key. Keys have the type of the votes' column, so no engine converts
a vote. A value that is no key is ignored, whatever it is.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.votes.libraries import pa
from shortlist.votes.values import LARGEST_FLOAT, NUMBERS, Family, classify, read_type

if TYPE_CHECKING:
    from shortlist.votes.domain import Domain

_SAME = (Family.TEXT, Family.BYTES, Family.BOOLEAN, Family.DATE)
_TICKS = {"s": -(10**6), "ms": -(10**3), "us": 1, "ns": 10**3}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_LONGEST_NUMBER = 60
_TRUTHS = {True: ("true", "True", "TRUE"), False: ("false", "False", "FALSE")}
_ZONES = ("Z", "+00:00", "+00", "+0000")


def make_key_table(domain: Domain, kept: Any, among: Family | None = None) -> Any:
    """Make the Arrow table of keys (`key`, in the type `kept` of the votes' column) and row numbers (`row`).

    `among` is the family of the votes' column, where its type does not tell: instants may be kept as times in UTC.

    >>> import pyarrow as pa
    >>> from shortlist.votes.domain import number_items
    >>> make_key_table(number_items(pa.array(["7", "x", "8"])), pa.int32()).to_pylist()
    [{'key': 7, 'row': 0}, {'key': 8, 'row': 1}]
    """
    among = read_type(kept).family if among is None else among
    same = domain.family == among and (among in _SAME or domain.items.type == kept)
    if same or (domain.family == Family.INTEGER and among == Family.TEXT):
        keys = domain.items if same else domain.items.cast(pa.string())
        return pa.table({"key": keys.cast(kept), "row": np.arange(domain.d)})
    found = find_keys(domain, among)
    fitting = [(stored, row) for key, row in found.items() if (stored := _fit(key, kept)) is not None]
    keys = pa.array([key for key, _ in fitting], _stored_type(kept))
    return pa.table({"key": keys.cast(kept), "row": pa.array([row for _, row in fitting], pa.int64())})


def find_keys(domain: Domain, among: Family) -> dict[Any, int]:
    """Every value of a family that means an item, and the row of the item; of several items, the first."""
    found: dict[Any, int] = {}
    for row, item in enumerate(domain.values()):
        for key in find_equal_values(item, domain.family, among):
            found.setdefault(key, row)
    return found


class Lookup:
    """The rows of the domain that Python values mean: for columns whose values have several types.

    It never fails: a value of an unknown type means nothing. A type's keys are made when its first value is met.

    >>> import pyarrow as pa
    >>> from shortlist.votes.domain import number_items
    >>> lookup = Lookup(number_items(pa.array([7, 8])))
    >>> [lookup.find(value) for value in [7, "8", 7.0, 7.5, [7], None, True]]
    [0, 1, 0, None, None, None, None]
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._keys: dict[Family, dict[Any, int]] = {}

    def find(self, value: Any) -> int | None:
        """The row of a value, None where it means none."""
        try:
            family, key = classify(value)
            if family not in self._keys:
                self._keys[family] = find_keys(self._domain, family)
            return self._keys[family].get(key)
        except Exception:  # values may have any type, and their methods may fail in any way
            return None


def _fit(key: Any, kept: Any) -> Any:
    """The key as an Arrow type stores it, or None where the type cannot hold it."""
    types = pa.types
    if types.is_integer(kept):
        bits = kept.bit_width - types.is_signed_integer(kept)
        low = -(1 << bits) if types.is_signed_integer(kept) else 0
        return key if low <= key < 1 << bits else None
    if types.is_decimal(kept):
        # As a fraction: decimals would be rounded to the digits of Python's context.
        scaled = Fraction(key) * Fraction(10) ** kept.scale
        return key if scaled.denominator == 1 and abs(scaled) < 10**kept.precision else None
    if types.is_floating(kept):
        # Larger floats stand for several whole numbers.
        floats = np.finfo(kept.to_pandas_dtype())
        return key if floats.dtype.type(key) == key and abs(key) <= 2 ** (floats.nmant + 1) else None
    if types.is_timestamp(kept) or types.is_time(kept):
        return _count_ticks(key, kept)
    return key


def _count_ticks(key: datetime | time, kept: Any) -> int | None:
    """A time as a whole number of an Arrow type's units, since 1970 or midnight."""
    if isinstance(key, time):
        micros = ((key.hour * 60 + key.minute) * 60 + key.second) * 10**6 + key.microsecond
    else:
        since = key.replace(tzinfo=None) - datetime(1970, 1, 1)
        micros = (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds
    factor = _TICKS[kept.unit]
    if factor < 0 and micros % -factor:
        return None
    ticks = micros * factor if factor > 0 else micros // -factor
    return ticks if abs(ticks) < 1 << 63 else None


def _stored_type(kept: Any) -> Any:
    if pa.types.is_timestamp(kept) or pa.types.is_time64(kept):
        return pa.int64()
    return pa.int32() if pa.types.is_time32(kept) else kept


def find_equal_values(item: Any, family: Family, among: Family) -> list[Any]:
    """All values of one family that mean an item of another (or the same) family.

    >>> find_equal_values(7, Family.INTEGER, Family.TEXT), find_equal_values("7", Family.TEXT, Family.INTEGER)
    (['7'], [7])
    >>> find_equal_values(Decimal("1.50"), Family.DECIMAL, Family.TEXT)
    ['1.5', '1.50']
    >>> find_equal_values(7, Family.INTEGER, Family.BYTES), find_equal_values(b"7", Family.BYTES, Family.TEXT)
    ([b'7'], [])
    """
    if family == among:
        return [item]
    if among == Family.BYTES:
        return [text.encode() for text in find_equal_values(item, family, Family.TEXT)]
    if family in NUMBERS and among in NUMBERS:
        return _convert_number(item, among)
    if among == Family.TEXT:
        return write_texts(item)
    if family == Family.TEXT:
        return _read_text(item, among)
    return []


def can_match(family: Family, among: Family) -> bool:
    """Whether any value of one family can mean an item of another.

    >>> can_match(Family.INTEGER, Family.TEXT), can_match(Family.DATE, Family.NAIVE)
    (True, False)
    >>> can_match(Family.TEXT, Family.BYTES), can_match(Family.BYTES, Family.TEXT)
    (True, False)
    """
    if among == Family.BYTES:
        return family != Family.OTHER
    if family == among:
        return True
    if Family.TEXT in (family, among):
        return not {Family.BYTES, Family.OTHER} & {family, among}
    return family in NUMBERS and among in NUMBERS


def write_texts(value: Any) -> list[str]:
    """All the ways to write a value that is not text itself.

    >>> write_texts(datetime(2024, 2, 29, 12, 30))[:3], write_texts(True), write_texts(b"a")
    (['2024-02-29 12:30', '2024-02-29 12:30:00', '2024-02-29 12:30:00.000'], ['true', 'True', 'TRUE'], [])
    """
    if isinstance(value, bool):
        return list(_TRUTHS[value])
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, Decimal):
        return _write_decimal(value)
    if isinstance(value, datetime):
        zones = ("",) if value.tzinfo is None else _ZONES
        day, clocks = value.date().isoformat(), _write_time(value.time())
        return [f"{day}{between}{clock}{zone}" for between in " T" for clock in clocks for zone in zones]
    if isinstance(value, date):
        return [value.isoformat()]
    return _write_time(value) if isinstance(value, time) else []


def _write_decimal(value: Decimal) -> list[str]:
    """Write a decimal with every number of digits from those that it needs to its own scale."""
    whole, _, digits = f"{value:f}".partition(".")
    needed = len(digits.rstrip("0"))
    return [f"{whole}.{digits[:length]}" if length else whole for length in range(needed, len(digits) + 1)]


def _write_time(value: time) -> list[str]:
    short = [f"{value:%H:%M}"] if not value.second and not value.microsecond else []
    seconds, digits = f"{value:%H:%M:%S}", f"{value.microsecond:06}"
    needed = len(digits.rstrip("0"))
    # Without a fraction, with the digits that it needs, in milliseconds and in microseconds.
    fractions = [digits[:length] for length in sorted({needed, max(needed, 3), 6})]
    return short + [f"{seconds}.{fraction}" if fraction else seconds for fraction in fractions]


def _convert_number(number: Any, among: Family) -> list[Any]:
    if among == Family.DECIMAL:
        return [Decimal(number)]
    if among == Family.INTEGER:
        return [int(number)] if number == int(number) else []
    # Larger floats stand for several whole numbers.
    near = abs(number) <= LARGEST_FLOAT
    return [float(number)] if near and Decimal(float(number)) == number else []


def _read_text(text: str, among: Family) -> list[Any]:
    if among in NUMBERS:
        if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text) or (text[0] == "-" and not Decimal(text)):
            return []
        if among == Family.INTEGER and "." in text:
            return []
        return _convert_number(Decimal(text), among)
    if among == Family.BOOLEAN:
        return [truth for truth, texts in _TRUTHS.items() if text in texts]
    readers: dict[Family, Any] = {Family.DATE: date, Family.TIME: time, Family.NAIVE: datetime, Family.AWARE: datetime}
    if among not in readers:
        return []
    try:
        value = readers[among].fromisoformat(text)
        value = value.astimezone(UTC) if among == Family.AWARE and value.tzinfo else value
    except (ValueError, OverflowError):
        return []
    aware = getattr(value, "tzinfo", None) is not None
    return [value] if aware == (among == Family.AWARE) and text in write_texts(value) else []
