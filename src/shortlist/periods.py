"""The calendar of releases: days, ISO weeks, months, quarters and years, and where they begin in a time zone.

A period is written in the form of ISO 8601: 2026-08-31, 2026-W36, 2026-08, 2026-Q3 or 2026. A moment belongs to the
period of its local date. Dates and times without a zone are local as they are. Times with a zone are instants, and a
`Timeline` says at which instants periods begin and end. Engines do nothing but compare moments with these public
boundaries, so a period means the same in all of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

from shortlist.errors import ParameterError, refuse_given
from shortlist.privacy.guarantee import check_unit
from shortlist.privacy.numbers import Choice, quote
from shortlist.safe_text import join_words

DAY = 86_400
"""Seconds of a day."""
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal() + 1
FIRST_SECOND, END_SECOND = (1 - _EPOCH) * DAY, (_LAST - _EPOCH) * DAY
"""Moments before the year 1 and from the year 10000 belong to no period. Like all boundaries, these are seconds since
1970."""
MOST_PERIODS = 10_000
"""A family has at most so many periods."""
_FORMS = "a day 2026-08-31, a week 2026-W36, a month 2026-08, a quarter 2026-Q3 or a year 2026"
_WRITTEN = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?|-W[0-9]{2}|-Q[0-9])?")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
_COMPLETED = {"day": "", "week": "", "month": "-01", "quarter": "-01", "year": "-01-01"}
"""What makes a date of the text of a period, once a quarter is written as its first month."""


class Every(Choice):
    """A kind of periods.

    >>> Every.read("week"), Every.DAY.makes_up(Every.WEEK), Every.WEEK.makes_up(Every.MONTH)
    (<Every.WEEK: 'week'>, True, False)
    """

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    @property
    def days(self) -> int:
        """The days of the longest period of this kind."""
        return _DAYS[self]

    def name_unit(self, unit: str) -> str:
        """Name the votes of one unit, such as a person, in one period of this kind."""
        return f"{unit}-{self}"

    def find_whole(self, unit: str) -> str:
        """Find the whole unit of one in a period of this kind.

        >>> Every.WEEK.name_unit("person"), Every.WEEK.find_whole("person-week")
        ('person-week', 'person')
        """
        return unit.removesuffix(f"-{self}")

    def makes_up(self, other: Every) -> bool:
        """Whether every period of another kind is a union of periods of this kind. Weeks cross months and years."""
        if Every.WEEK in (self, other):
            return self is other or self is Every.DAY
        return list(Every).index(self) <= list(Every).index(other)


@dataclass(frozen=True, slots=True)
class Period:
    """One period: its kind and its first day.

    >>> period = Period.read("2026-W01")
    >>> str(period), str(period.first), str(period.last), str(Period.of(date(2026, 8, 31), Every.QUARTER))
    ('2026-W01', '2025-12-29', '2026-01-04', '2026-Q3')
    """

    every: Every
    first: date

    @classmethod
    def of(cls, day: date, every: Every) -> Period:
        """Find the period that has a day."""
        if every is Every.DAY:
            return cls(every, day)
        if every is Every.WEEK:
            return cls(every, day - timedelta(day.weekday()))
        months = _MONTHS[every]
        return cls(every, day.replace(month=(day.month - 1) // months * months + 1, day=1))

    @classmethod
    def read(cls, text: object, *, name: str = "period") -> Period:
        """Read a period as it is written.

        >>> Period.read("2026-13")
        Traceback (most recent call last):
        shortlist.errors.ParameterError: period must be a day 2026-08-31, a week 2026-W36, a month 2026-08, ...
        """
        if isinstance(text, date) and not isinstance(text, datetime):
            return cls(Every.DAY, text)
        if isinstance(text, str):
            start = re.sub("Q([1-4])$", lambda found: f"{3 * int(found[1]) - 2:02}", text)
            for every in Every:
                with suppress(ValueError):
                    period = cls.of(date.fromisoformat(start + _COMPLETED[every]), every)
                    if str(period) == text:
                        return period
        written = isinstance(text, str) and _WRITTEN.fullmatch(text)
        hint = "it is written as it must be, but the calendar has none like it" if written else None
        raise ParameterError(f"`{name}` must be {_FORMS}", f"not {quote(text)}", hint=hint)

    def __str__(self) -> str:
        if self.every is Every.WEEK:
            year, week, _ = self.first.isocalendar()
            return f"{year:04}-W{week:02}"
        if self.every is Every.QUARTER:
            return f"{self.first.year:04}-Q{self.first.month // 3 + 1}"
        return self.first.isoformat()[: {Every.YEAR: 4, Every.MONTH: 7}.get(self.every, 10)]

    @property
    def end(self) -> int:
        """The number of the first day after the period, as `date.toordinal` counts days."""
        after = self.first.toordinal() + self.every.days
        return _LAST if after >= _LAST else Period.of(date.fromordinal(after), self.every).first.toordinal()

    @property
    def last(self) -> date:
        """The last day."""
        return date.fromordinal(self.end - 1)


def list_periods(since: date, until: date, every: Every) -> tuple[Period, ...]:
    """List the periods that have a day of a range, which includes its last day.

    >>> [str(each) for each in list_periods(date(2026, 1, 1), date(2026, 3, 31), Every.MONTH)]
    ['2026-01', '2026-02', '2026-03']
    """
    found = [Period.of(since, every)]
    while found[-1].end <= until.toordinal():
        found.append(Period(every, date.fromordinal(found[-1].end)))
    return tuple(found)


# A public range of days


@dataclass(frozen=True, kw_only=True)
class Span:
    """The days whose votes count, from the first to the last one.

    With `every`, they are cut into periods of that kind, with a list for each. With `per`, the guarantee is for one
    person in one period of that kind. `time_zone` is the zone of the local date of an instant, UTC if it is None.

    >>> span = Span(since=date(2026, 8, 31), until=date(2026, 9, 13), every=Every.WEEK)
    >>> [str(each) for each in span.periods], span.units
    (['2026-W36', '2026-W37'], (0, 0))
    """

    since: date
    until: date
    every: Every | None = None
    per: Every | None = None
    time_zone: str | None = None

    def __post_init__(self) -> None:
        for name in ("every", "per"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Every.read(getattr(self, name), name=name))
        if self.since > self.until:
            raise ParameterError("`since` must not be after `until`", f"{self.since} is after {self.until}")
        if self.time_zone is not None:
            read_zone(self.time_zone)
        if self.every is None:
            whole = "one list of all days counts each person once, and has its guarantee for the whole person"
            refuse_given({"per": self.per}, "`every`", whole)
            return
        _check_boundary("since", self.since, self.every)
        _check_boundary("until", self.until, self.every)
        if self.per is not None and not self.every.makes_up(self.per):
            whole = join_words([repr(str(each)) for each in Every if self.every.makes_up(each)], "or")
            raise ParameterError(
                f"`per` must be {whole} where `every` is {str(self.every)!r}",
                f"not {str(self.per)!r}. A list must lie in one period of `per`, so that it costs no other",
            )
        # Ranges that are far too long are not listed.
        if (self.until - self.since).days >= MOST_PERIODS * self.every.days or len(self.periods) > MOST_PERIODS:
            raise ParameterError(f"`since` and `until` must have at most {MOST_PERIODS:,} periods between them")

    @property
    def in_words(self) -> str:
        """Say from when to when, where there is a first and a last day.

        >>> Span(since=date(2026, 8, 31), until=date.max).in_words
        'from 2026-08-31 on'
        """
        if self.until == date.max:
            return f"from {self.since} on"
        return f"until {self.until}" if self.since == date.min else f"from {self.since} to {self.until}"

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """The periods that have a list each; none without `every`."""
        return () if self.every is None else list_periods(self.since, self.until, self.every)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """For each period, the number of the period of `per` that has it; all are 0 if a unit is a whole person."""
        if self.per is None:
            return (0,) * len(self.periods)
        firsts = [Period.of(each.first, self.per).first for each in self.periods]
        return tuple(number for number, (_, same) in enumerate(groupby(firsts)) for _ in same)

    def count_lists(self, lists: int) -> int:
        """Of a family with so many lists, count those in which one unit can be."""
        if self.per is None:
            return lists
        return lists // len(self.periods) * max(map(self.units.count, set(self.units)))

    @cached_property
    def wall(self) -> Timeline:
        """The boundaries for dates and times without a zone."""
        return _make_timeline((number, _to_seconds(day)) for _, number, day in self._list_cuts())

    @cached_property
    def instants(self) -> Timeline:
        """The boundaries for instants, in UTC."""
        if self.time_zone is None:
            return self.wall
        zone = read_zone(self.time_zone)
        return _make_timeline(event for cut in self._list_cuts() for event in _cross(zone, *cut))

    def _list_cuts(self) -> Iterator[tuple[int | None, int | None, int]]:
        """The first day of each period, and the day after the last: with the numbers of the periods around it."""
        starts = [each.first for each in self.periods] or [self.since]
        for number, day in enumerate(starts):
            yield number - 1 if number else None, number, day.toordinal()
        yield len(starts) - 1, None, self.until.toordinal() + 1


def _check_boundary(name: str, day: date, every: Every) -> None:
    """Refuse a range that cuts a period."""
    period, last = Period.of(day, every), name == "until"
    near = [each - last for each in (period.first.toordinal(), period.end)]
    if day.toordinal() == near[last]:
        return
    ways = [f"`{name}={str(date.fromordinal(each))!r}`" for each in near if 0 < each < _LAST]
    raise ParameterError(
        f"`{name}` must be the {'last' if last else 'first'} day of a {every}",
        f"not {day}",
        hint=f"pass {' or '.join(ways)}",
    )


def read_span(
    *,
    time: Any,
    every: Any = None,
    since: Any = None,
    until: Any = None,
    period: Any = None,
    per: Any = None,
    time_zone: Any = None,
) -> Span | None:
    """Read which votes count by their time; None if no column of times is named. Then a period is only a note.

    >>> read_span(time="day", period="2026-W36").until
    datetime.date(2026, 9, 6)
    >>> read_span(time="day", every="week", since="2026-09-01", until="2026-W40")
    Traceback (most recent call last):
    shortlist.errors.ParameterError: since must be the first day of a week, not 2026-09-01.
    Hint: pass since='2026-08-31' or since='2026-09-07'
    """
    if time is None:
        given = {"every": every, "since": since, "until": until, "per": per, "time_zone": time_zone}
        refuse_given(given, "`time`, the column of dates or times of the votes")
        return None
    if not isinstance(time, str):
        raise ParameterError("`time` must be the name of a column, as text", f"not {type(time).__name__}")
    if period is not None and (since is not None or until is not None):
        raise ParameterError("`period` or `since` and `until` must be given, and only one of them", "both were")
    if period is None and since is None and until is None:
        raise ParameterError(
            "`time` must go with the public range of days whose votes count",
            "neither `since` and `until` nor `period` was given",
            hint="pass `since='2026-08-31'` and `until='2026-10-25'`, or `period='2026-W36'`",
        )
    if every is not None and period is None and (since is None or until is None):
        raise ParameterError(
            "`since` and `until` must be given with `every`",
            f"`{'since' if since is None else 'until'}` was not",
            hint="if the range came from the votes, the first and the last person would show",
        )
    whole = None if period is None else Period.read(period)
    return Span(
        since=whole.first if whole else date.min if since is None else Period.read(since, name="since").first,
        until=whole.last if whole else date.max if until is None else Period.read(until, name="until").last,
        every=every,
        per=per,
        time_zone=time_zone,
    )


def name_unit(unit: str, span: Span | None, *, persons_counted: bool) -> str:
    """Name whom a guarantee protects: a person, or a person in a period.

    Where persons are counted, only `per` makes it the latter. A caller who counted says whom the counts are about.

    >>> week = Span(since=date(2026, 8, 31), until=date(2026, 9, 6), every="week", per="week")
    >>> name_unit("person", week, persons_counted=True), name_unit("person-week", None, persons_counted=False)
    ('person-week', 'person-week')
    """
    per = None if span is None else span.per
    if is_of_period(unit) and (persons_counted or per is not None):
        raise ParameterError(
            "`unit` must be the word for a whole person",
            f"not {quote(unit)}",
            hint="leave the period out of it. `per='week'`, with `time` and `every`, makes the guarantee one for a "
            "person in one week",
        )
    if per is None:
        return unit
    check_unit(unit)
    return per.name_unit(unit)


def is_of_period(unit: object) -> bool:
    """Whether a unit is a person in a period, such as person-week."""
    return isinstance(unit, str) and unit.rpartition("-")[2] in set(Every) and "-" in unit


def read_zone(name: object) -> ZoneInfo:
    """Read a zone of the IANA database by its name."""
    if not isinstance(name, str):
        raise ParameterError("`time_zone` must be the name of a zone, as text", f"not {type(name).__name__}")
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # an unknown name is a KeyError, one with odd characters a ValueError
        raise ParameterError(
            "`time_zone` must be a name of the IANA database, such as 'Europe/Berlin'",
            f"not {quote(name)}",
            hint="a system without that database needs the package tzdata",
        ) from None


# Boundaries


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where periods begin: from `starts[i]` up to `starts[i + 1]` is the period with the number `numbers[i]`.

    Boundaries are whole seconds since 1970, and the last one is the end. The clocks of a zone may show a part of a day
    twice. So a period may be in several pieces, and a piece between them may belong to no listed period (None).
    """

    starts: tuple[int, ...]
    numbers: tuple[int | None, ...]

    def find(self, second: int) -> int | None:
        """Find the number of the period of a moment; None if it is in no listed one.

        >>> Timeline((0, 10, 20), (0, 1)).find(10), Timeline((0, 10, 20), (0, 1)).find(20)
        (1, None)
        """
        place = bisect_right(self.starts, second) - 1
        return self.numbers[place] if 0 <= place < len(self.numbers) else None


def _make_timeline(events: Iterable[tuple[int | None, int]]) -> Timeline:
    """Make a timeline of the numbers of periods that begin at some seconds; None is the end of the listed ones."""
    starts: list[int] = []
    numbers: list[int | None] = []
    for number, second in sorted(events, key=lambda event: event[1]):
        place = min(max(second, FIRST_SECOND), END_SECOND)
        if starts and starts[-1] == place:  # a day that the clocks of the zone left out
            starts.pop()
            numbers.pop()
        if not numbers or numbers[-1] != number:
            starts.append(place)
            numbers.append(number)
    if len(starts) < 2:  # all days were left out
        return Timeline((FIRST_SECOND, FIRST_SECOND), (None,))
    return Timeline(tuple(starts), tuple(numbers[:-1]))


def _to_seconds(day: int) -> int:
    return (day - _EPOCH) * DAY


def _cross(zone: ZoneInfo, before: int | None, number: int | None, day: int) -> Iterator[tuple[int | None, int]]:
    """Find the instants at which the local date becomes a day, and the instant at which it goes back."""
    # The end of all days has the last offset before it.
    local = datetime.fromordinal(day) if day < _LAST else datetime.max.replace(microsecond=0)
    offsets = [_find_offset(local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)]
    first, second = (_to_seconds(day) - offset for offset in offsets)
    if first == second:
        yield number, first
        return
    # The clocks change near midnight: find the first second of the new offset.
    low, high = min(first, second), max(first, second)
    while high - low > 1:
        middle = (low + high) // 2
        shown = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=middle)).astimezone(zone)
        low, high = (low, middle) if _find_offset(shown) == offsets[1] else (middle, high)
    if first > second:  # midnight is left out
        yield number, high
        return
    yield number, first
    if high < second:  # the clocks go back to the day before
        yield before, high
        yield number, second


def _find_offset(local: datetime) -> int:
    """The offset of a local time, in seconds."""
    offset = local.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())
