"""The calendar: how periods are written, and that an instant is in the period of its local date."""

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from shortlist.errors import ParameterError
from shortlist.periods import Every, Period, Span, list_periods, read_span

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHANGES = {
    "Europe/Berlin": [(2026, 3, 29), (2026, 10, 25), (1893, 4, 1)],
    "America/Havana": [(2025, 11, 2), (2025, 3, 9)],  # 01:00 becomes 00:00, and midnight is left out
    "America/Sao_Paulo": [(2018, 2, 18), (2018, 11, 4)],  # 24:00 becomes 23:00, and midnight is left out
    "America/St_Johns": [(2010, 11, 7), (2010, 3, 14)],  # 00:01 becomes 23:01 of the day before
    "Asia/Beirut": [(2022, 3, 27), (2022, 10, 30)],
    "Pacific/Apia": [(2011, 12, 30), (2011, 12, 31)],  # a day is left out
    "Pacific/Kwajalein": [(1969, 10, 1), (1993, 8, 21)],  # most of a day is shown twice, and one is left out
    "America/Juneau": [(1867, 10, 19)],
    "Africa/Monrovia": [(1972, 1, 7)],  # 00:44:30 are left out
    "Asia/Kathmandu": [(1986, 1, 1)],
    "Australia/Lord_Howe": [(2026, 4, 5)],
    "UTC": [(2024, 2, 29)],
}
"""Days near which clocks change."""


@pytest.mark.parametrize("every", Every)
def test_periods_are_read_as_they_are_written(every):
    """Every day is in one period, whose text means the same period, and periods follow each other."""
    days = [date.min, date.max, date(2024, 2, 29), date(2026, 1, 1), date(2020, 12, 31), date(2021, 1, 3)]
    bits = random.Random(1)
    for day in days + [date.fromordinal(bits.randrange(1, date.max.toordinal() + 1)) for _ in range(500)]:
        period = Period.of(day, every)
        assert period.first <= day <= period.last
        assert Period.read(str(period)) == period
        assert Period.of(period.last, every) == period
        if period.last < date.max:
            following = Period.of(period.last + timedelta(1), every)
            assert following.first == period.last + timedelta(1)
            assert list_periods(day, following.first, every) == (period, following)


def test_weeks_are_those_of_iso():
    """A week belongs to the year of its Thursday."""
    assert [str(Period.of(date(2027, 1, day), Every.WEEK)) for day in (1, 3, 4)] == ["2026-W53", "2026-W53", "2027-W01"]
    assert str(Period.of(date.min, Every.WEEK)) == "0001-W01"
    assert Period.read("9999-W52").last == date.max


@pytest.mark.parametrize(
    "text",
    [
        *("", "26", "2026-W54", "2026-W00", "2026-00", "2026-02-30", "2026-Q5", "2026-1", "0000", " 2026", "2026\n"),
        *("2026-08-31T00", "٢٠٢٦", "2026-W36-1", 2026, datetime(2026, 1, 1), None),
    ],
)
def test_other_texts_are_no_periods(text):
    """They are refused with the forms that are."""
    with pytest.raises(ParameterError, match="2026-W36"):
        Period.read(text)


@pytest.mark.parametrize(
    ("text", "missing"), [("2026-W54", True), ("2026-02-30", True), ("2026-Q5", True), ("2026W05", False)]
)
def test_a_period_that_the_calendar_lacks_is_told_from_a_wrong_form(text, missing):
    """2026 has 53 weeks, so the form of 2026-W54 is not what is wrong."""
    with pytest.raises(ParameterError) as caught:
        Period.read(text)
    assert ("the calendar has none like it" in str(caught.value)) == missing


@pytest.mark.parametrize("zone", CHANGES)
@pytest.mark.parametrize("every", [Every.DAY, Every.WEEK, Every.YEAR])
def test_an_instant_is_in_the_period_of_its_local_date(zone, every):
    """Also where clocks go forward or back over midnight, and where a day is left out."""
    bits, info = random.Random(1), ZoneInfo(zone)
    for parts in CHANGES[zone]:
        middle = date(*parts)
        since, until = (Period.of(middle + timedelta(shift), every) for shift in (-9, 9))
        span = Span(since=since.first, until=until.last, every=every, time_zone=zone)
        noon = int((datetime(*parts, 12, tzinfo=UTC) - EPOCH).total_seconds())
        near = [start + step for start in span.instants.starts for step in (-3600, -1, 0, 1, 59, 60, 3600)]
        seconds = [*near, *range(noon - 50 * 3600, noon + 50 * 3600, 900)]
        seconds += [noon + bits.randrange(-20 * 86_400, 20 * 86_400) for _ in range(200)]
        for second in seconds:
            local = (EPOCH + timedelta(seconds=second)).astimezone(info).date()
            period = Period.of(local, every)
            expected = span.periods.index(period) if period in span.periods else None
            assert span.instants.find(second) == expected, (zone, second)


def test_all_days_of_the_calendar_can_be_asked_for():
    """The years 1 and 9999 are whole. Instants before and after them in UTC belong to no period."""
    for zone in (None, "Asia/Tokyo", "America/New_York"):
        span = Span(since=date.min, until=date.max, every=Every.YEAR, time_zone=zone)
        assert (len(span.periods), len(span.wall.numbers)) == (9999, 9999)
        for timeline in (span.wall, span.instants):
            assert timeline.find(timeline.starts[0]) == 0
            assert timeline.find(timeline.starts[0] - 1) is None
            assert timeline.find(timeline.starts[-1]) is None
            assert timeline.find(timeline.starts[-1] - 1) == 9998
            assert EPOCH + timedelta(seconds=timeline.starts[0]) >= datetime.min.replace(tzinfo=UTC)
            assert EPOCH + timedelta(seconds=timeline.starts[-1] - 1) <= datetime.max.replace(tzinfo=UTC)


def test_a_range_of_a_day_that_is_left_out_is_empty():
    """No instant has that local date."""
    timeline = Span(since=date(2011, 12, 30), until=date(2011, 12, 30), time_zone="Pacific/Apia").instants
    assert all(timeline.find(start + step) is None for start in timeline.starts for step in (-1, 0, 1))


def test_a_unit_is_a_period_of_lists():
    """Periods of one unit follow each other. One unit is in at most as many lists as its longest period has."""
    span = read_span(time="day", every="day", since="2026-08-29", until="2026-09-13", per="week")
    assert span.units == (0, 0, *[1] * 7, *[2] * 7)
    assert span.count_lists(3 * len(span.periods)) == 21
    assert read_span(time="day", every="month", since="2026-01", until="2026-12", per="quarter").count_lists(12) == 3
    whole = read_span(time="day", every="month", since="2026-01", until="2026-12")
    assert (whole.units, whole.count_lists(24)) == ((0,) * 12, 24)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"time": None, "every": "week"}, "every must go with time"),
        ({"time": None, "time_zone": "UTC"}, "time_zone must go with time"),
        ({"time": 3}, "time must be the name of a column"),
        ({}, "time must go with the public range"),
        ({"period": "2026", "until": "2026"}, "period or since and until must be given"),
        ({"period": "soon"}, "period must be a day 2026-08-31"),
        ({"every": "week", "since": "2026-W01"}, "until was not"),
        ({"every": "fortnight", "since": "2026", "until": "2026"}, "every must be 'day', 'week', 'month', "),
        ({"since": "2026-02", "until": "2026-01"}, "since must not be after until"),
        ({"since": datetime(2026, 1, 1), "until": "2026"}, "since must be a day"),
        ({"every": "month", "since": "2026-01-02", "until": "2026-03-31"}, "since='2026-01-01' or since='2026-02-01'"),
        ({"every": "week", "since": "2026-W36", "until": "2026-10-26"}, "until='2026-10-25' or until='2026-11-01'"),
        ({"every": "week", "period": "2026-Q3"}, "since must be the first day of a week"),
        ({"period": "2026", "per": "year"}, "per must go with every"),
        (
            {"every": "week", "period": "2026-W36", "per": "year"},
            "per must be 'week' where every is 'week'",
        ),
        ({"every": "month", "period": "2026", "per": "day"}, "per must be 'month', 'quarter' or 'year'"),
        ({"every": "day", "since": "0001", "until": "9999"}, "at most 10,000 periods"),
        ({"period": "2026", "time_zone": "Mars/Olympus"}, "time_zone must be a name of the IANA database"),
        ({"period": "2026", "time_zone": "../../etc/passwd"}, "time_zone must be a name of the IANA database"),
        ({"period": "2026", "time_zone": ""}, "time_zone must be a name of the IANA database"),
        ({"period": "2026", "time_zone": 1}, "time_zone must be the name of a zone"),
    ],
    ids=repr,
)
def test_what_makes_no_sense_is_refused(asked, text):
    """With the parameter, and with the nearest boundaries where there are some."""
    with pytest.raises(ParameterError, match=text):
        read_span(**{"time": "day", **asked})
