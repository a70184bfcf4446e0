"""When a vote was cast: which values of a column of times are moments, and in which period each of them is.

Dates and timestamps without a zone are local as they are. Timestamps with a zone are instants. A text is a moment if it
is written as in ISO 8601: 2026-08-31, 2026-08-31 23:59 or 2026-08-31T23:59:59.5, and an instant if Z or +00:00 follows.
Bytes are read as the text that they are. Whatever else a value is, it is in no period, and its vote is ignored.

Texts are compared as texts, so that no engine has to read them: `DAY_TEXT` and `INSTANT_TEXT` are patterns that the
regular expressions of all engines read alike, and among texts of one pattern the order of bytes is that of time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from shortlist.periods import DAY, END_SECOND, Span
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


class MomentLookup:
    """The periods of Python values: for columns whose values have several types. It never fails.

    >>> from datetime import date
    >>> from shortlist.periods import read_span
    >>> span = read_span(time="day", every="week", since="2026-W36", until="2026-W37")
    >>> values = [date(2026, 8, 31), "2026-09-07T00:00", datetime(2026, 9, 14), 7, None]
    >>> [MomentLookup(span).find(value) for value in values]
    [0, 1, None, None, None]
    """

    def __init__(self, span: Span) -> None:
        self._span = span
        self._days = [write_day(each) for each in span.wall.starts]
        self._instants = [write_instant(each) for each in span.instants.starts]

    def find(self, value: Any) -> int | None:
        """The number of the period of a value, None where it is in none."""
        try:
            if isinstance(value, np.datetime64):
                return self._span.wall.find(int(value.astype("datetime64[s]").astype(np.int64)))
            if getattr(value, "nanosecond", 0):  # pandas
                value = value.replace(nanosecond=0)
            family, key = read_bytes(*classify(value))
            if family == Family.TEXT:
                return self._find_text(key)
            if family == Family.DATE:
                return self._span.wall.find((key.toordinal() - _EPOCH.toordinal()) * DAY)
            timeline = {Family.NAIVE: self._span.wall, Family.AWARE: self._span.instants}[family]
            return timeline.find((key.replace(tzinfo=None) - _EPOCH) // timedelta(seconds=1))
        except Exception:  # values may have any type, and their methods may fail in any way
            return None

    def _find_text(self, text: str) -> int | None:
        if re.fullmatch(DAY_TEXT, text):
            numbers, place = self._span.wall.numbers, bisect_right(self._days, text[:10])
        elif re.fullmatch(INSTANT_TEXT, text):
            key = text.replace(" ", "T").replace("Z", "")
            numbers, place = self._span.instants.numbers, bisect_right(self._instants, key)
        else:
            return None
        return numbers[place - 1] if 0 < place <= len(numbers) else None


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
