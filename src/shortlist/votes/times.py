"""When a vote was cast: which values of a column of times are moments, and in which period each of them is.

Dates and timestamps without a zone are local as they are. Timestamps with a zone are instants. A text is a moment if it
is written as in ISO 8601: 2026-08-31, 2026-08-31 23:59 or 2026-08-31T23:59:59.5, and an instant if Z or +00:00 follows.
Bytes are read as the text that they are. Whatever else a value is, it is in no period, and its vote is ignored.

Texts are compared as texts, so that no engine has to read them: `DAY_TEXT` and `INSTANT_TEXT` are patterns that the
regular expressions of all engines read alike, and among texts of one pattern the order of bytes is that of time.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from shortlist.periods import END_SECOND
from shortlist.votes.values import Family, classify, read_bytes

MOMENTS = (Family.DATE, Family.NAIVE, Family.AWARE, Family.TEXT)
_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
DAY_TEXT = f"{_DAY}([ T]{_CLOCK})?"
"""The pattern of local dates and times. The first ten characters are the date."""
INSTANT_TEXT = f"{_DAY}[ T]{_CLOCK}(Z|[+]00(:?00)?)"
"""The pattern of times in UTC."""
_AFTER_ALL = "A"
"""It comes after every text that begins with a digit."""
_EPOCH = datetime(1970, 1, 1)


def write_value(value: Any) -> str | None:
    """Write a Python value as text: for columns whose values have several types. None if it is no moment.

    >>> from datetime import UTC, date
    >>> [write_value(each) for each in (date(2026, 8, 31), "2026-09-07T00:00", 7, None)]
    ['2026-08-31', '2026-09-07T00:00', None, None]
    >>> write_value(datetime(2026, 9, 14, tzinfo=UTC))
    '2026-09-14T00:00:00+00:00'
    """
    try:
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[s]").item()
        elif getattr(value, "nanosecond", 0):  # pandas
            value = value.replace(nanosecond=0)
        family, key = read_bytes(*classify(value))
        if family == Family.TEXT:
            return key if re.fullmatch(f"{DAY_TEXT}|{INSTANT_TEXT}", key) else None
        return str(key.isoformat()) if family in MOMENTS else None
    except Exception:  # values may have any type, and their methods may fail in any way
        return None


def write_day(second: int) -> str:
    """Write a boundary of days as text, to be compared with the first ten characters of a `DAY_TEXT`."""
    return _AFTER_ALL if second == END_SECOND else write_moment(second)[:10]


def write_instant(second: int) -> str:
    """Write a boundary as text, to be compared with an `INSTANT_TEXT` that has a T in its middle and no Z.

    >>> write_instant(1_788_127_200), write_instant(1_788_127_201)
    ('2026-08-30T22:00', '2026-08-30T22:00:01')
    """
    return _AFTER_ALL if second == END_SECOND else write_moment(second).replace(" ", "T").removesuffix(":00")


def write_moment(second: int) -> str:
    """Write a boundary as engines read timestamps.

    >>> write_moment(1_788_127_200), write_moment(END_SECOND)
    ('2026-08-30 22:00:00', '10000-01-01 00:00:00')
    """
    return "10000-01-01 00:00:00" if second == END_SECOND else str(_EPOCH + timedelta(seconds=second))
