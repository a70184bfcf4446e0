"""Python values as an Arrow column, of one type and without loss."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from shortlist.errors import DataError
from shortlist.votes.border import optional, reading


def arrow_column(values: Iterable[Any], *, what: str) -> Any:
    """Make an Arrow array of values that all have one type; None stays a gap.

    >>> arrow_column([1, 2**70], what="domain").type
    Decimal128Type(decimal128(38, 0))
    """
    pa = optional("pyarrow")
    listed = list(values)
    types = {type(value) for value in listed} - {type(None)}
    # Arrow by itself would shorten a datetime among dates to a date, and take text among bytes for bytes.
    whole = all(issubclass(each, numbers.Integral) and not issubclass(each, bool) for each in types)
    if len(types) > 1 and not whole:
        names = ", ".join(sorted(each.__name__ for each in types))
        raise DataError(f"{what} must hold values of one type; found {names}.", hint="make them all text, say")
    with reading(what):
        if types and whole:
            return _integers([None if value is None else int(value) for value in listed])
        return pa.array(listed)


def _integers(values: list[int | None]) -> Any:
    pa = optional("pyarrow")
    try:
        return pa.array(values, pa.int64())
    except OverflowError:
        return pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(38, 0))
