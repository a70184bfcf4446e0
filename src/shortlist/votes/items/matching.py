"""When a value of a vote means an item of the domain: the one rule of matching, value by value.

Numbers match if they are equal, without rounding. A text matches a value of another type if it is one of the ways to
write that value. Everything else matches its own kind only: a date is no timestamp, and bytes are no text.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from shortlist.votes.items.item_types import Family

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_NUMBERS = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)
_LONGEST_NUMBER = 60
_LARGEST_FLOAT = 2**53
_TRUTHS = {True: ("true", "True", "TRUE"), False: ("false", "False", "FALSE")}
_ZONES = ("Z", "+00:00", "+00", "+0000")


def find_equal_values(item: Any, family: Family, among: Family) -> list[Any]:
    """All values of one family that mean an item of another (or the same) family.

    >>> find_equal_values(7, Family.INTEGER, Family.TEXT), find_equal_values("7", Family.TEXT, Family.INTEGER)
    (['7'], [7])
    >>> find_equal_values(Decimal("1.50"), Family.DECIMAL, Family.TEXT)
    ['1.5', '1.50']
    """
    if family == among:
        return [item]
    if family in _NUMBERS and among in _NUMBERS:
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
    """
    if family == among:
        return True
    if Family.TEXT in (family, among):
        return not {Family.BYTES, Family.OTHER} & {family, among}
    return family in _NUMBERS and among in _NUMBERS


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
    near = abs(number) <= _LARGEST_FLOAT
    return [float(number)] if near and Decimal(float(number)) == number else []


def _read_text(text: str, among: Family) -> list[Any]:
    if among in _NUMBERS:
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
