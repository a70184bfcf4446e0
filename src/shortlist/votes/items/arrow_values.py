"""Python values as an Arrow column, of one type and without loss."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from shortlist.errors import DataError
from shortlist.votes.libraries import import_optional

_LONGEST = 38


def make_arrow_column(values: Iterable[Any], *, what: str) -> Any:
    """Make an Arrow array of values that all have one type; None is a gap, and a UUID is its text.

    >>> make_arrow_column([1, 2**70], what="domain").type
    Decimal128Type(decimal128(38, 0))
    """
    listed = [_to_plain(value) for value in values]
    present = [value for value in listed if value is not None]
    kinds = {type(value) for value in present}
    # Arrow by itself would shorten a datetime among dates to a date, and take text among bytes for bytes.
    mixed = len(kinds) > 1 or (kinds == {datetime} and len({value.tzinfo is None for value in present}) > 1)
    if mixed:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        expected = "{what} must hold values of one type"
        raise DataError(expected, "found {names}", hint="make them all text, say", what=what, names=names)
    if kinds == {int} and any(not -(1 << 63) <= value < 1 << 63 for value in present):
        return _wide_integers(listed, what)
    pa = import_optional("pyarrow")
    made = None
    with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        made = pa.array(listed)
    if made is None:
        raise DataError(
            "{what} must hold text, whole numbers, booleans, dates, times, timestamps, decimals or bytes",
            "not {kind}",
            hint="make them text",
            what=what,
            kind=next(iter(kinds)).__name__,
        )
    return made


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if type(value).__module__ == "uuid" else value


def _wide_integers(values: list[int | None], what: str) -> Any:
    pa = import_optional("pyarrow")
    if any(value is not None and abs(value) >= 10**_LONGEST for value in values):
        expected = "whole numbers of {what} must have at most {longest} digits"
        raise DataError(expected, hint="make them text", what=what, longest=_LONGEST)
    return pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(_LONGEST, 0))
