"""Votes of a time: every engine finds the same period of every moment."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from tallying import plan_count

from shortlist.errors import DataError
from shortlist.periods import Period, read_span
from shortlist.profile import EVERY_LEVEL, Picks

ZONE = "America/St_Johns"
"""In 2010 its clocks went back from 00:01 to 23:01 of the day before."""
FIRST = datetime(2010, 11, 5)
STEPS = [timedelta(hours=3 * n, minutes=7 * n) for n in range(60)]
EDGES = [datetime(2010, 11, 7, 2, minute) + timedelta(seconds=second) for minute in (29, 30, 31) for second in (0, 59)]
FAR = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), datetime(1677, 1, 1), datetime(2300, 1, 1)]
ASKED = {"item": "track", "person": "user", "domain": ["a"], "time": "day"}
SPAN = {"time": "day", "every": "day", "since": "2010-11-06", "until": "2010-11-10", "time_zone": ZONE}


def read_votes(family):
    """The votes of the only item in each group."""
    return [int(each.above(1, 0).values[0]) for each in family]


def count_days(moments, zone=None):
    """How many moments have each local date of the range."""
    near = [each for each in moments if each is not None and 1900 < each.year < 2100]
    days = [(each.astimezone(ZoneInfo(zone)) if zone else each) for each in near]
    dates = [each.date() if isinstance(each, datetime) else each for each in days]
    return [dates.count(each.first) for each in read_span(**SPAN).periods]


def hold_moments(hold, engine, moments, as_text=False, as_bytes=False):
    if engine == "sqlite file" or as_text or as_bytes:
        moments = [None if each is None else each.isoformat() for each in moments]
    if as_bytes:
        moments = [each and each.encode() for each in moments]
    return hold({"user": list(range(len(moments))), "track": ["a"] * len(moments), "day": moments})["votes"]


@pytest.mark.parametrize("form", ["dates", "naive", "aware", "text", "bytes", "instants as text"])
def test_every_engine_finds_the_same_periods(hold, engine, typed, form):
    """Of dates, of timestamps without and with a zone, and of texts, also where clocks go back over midnight."""
    moments = [None, *FAR, *(FIRST + step for step in STEPS), *EDGES]
    zone = None
    if form == "dates":
        moments = [each and each.date() for each in moments]
    elif form in ("aware", "instants as text"):
        moments, zone = [each and each.replace(tzinfo=UTC) for each in moments], ZONE
    if engine == "spark" and form == "naive":
        pytest.skip("the tests hold such columns of Spark by the second column only")
    if form == "bytes" and not typed:
        pytest.skip("files of text have no bytes")
    votes = hold_moments(hold, engine, moments, as_text="text" in form, as_bytes=form == "bytes")
    planned = plan_count(votes, **ASKED, span=read_span(**SPAN), groups_per_person=5)
    assert planned.groups == tuple((str(each),) for each in read_span(**SPAN).periods)
    expected = count_days(moments, zone)
    assert min(expected) > 1
    assert read_votes(planned.count()) == expected
    if form in ("naive", "aware"):
        one = plan_count(votes, **ASKED, span=read_span(time="day", period="2010-11-07", time_zone=ZONE)).count()
        assert one[0].above(1, 0).values.tolist() == [expected[1]]


@pytest.mark.parametrize("aware", [False, True])
def test_every_engine_has_the_years_1_and_9999(hold, engine, aware):
    """They are the first and the last of the calendar."""
    moments = [each.replace(tzinfo=UTC) if aware else each for each in FAR]
    if engine in ("pandas", "spark"):
        pytest.skip("the tests hold no such times there")
    votes = hold_moments(hold, engine, moments)
    for since, until, expected in (
        ("0001", "0002", 1),
        ("1676", "1678", 1677),
        ("2299", "2301", 2300),
        ("9998", "9999", 9999),
    ):
        span = read_span(time="day", every="year", since=since, until=until)
        planned = plan_count(votes, **ASKED, span=span, groups_per_person=1)
        found = read_votes(planned.count())
        assert [span.periods[place].first.year for place in np.flatnonzero(found)] == [expected]


def test_a_family_may_have_hundreds_of_periods():
    """Each vote is in its own, and the others have no vote."""
    votes = {"user": list(range(4)), "track": ["a"] * 4, "day": FAR}
    span = read_span(time="day", every="year", since="1676", until="2301")
    for each in (votes, pa.table(votes)):
        found = read_votes(plan_count(each, **ASKED, span=span, groups_per_person=1).count())
        assert len(found) == 626
        assert [span.periods[place].first.year for place in np.flatnonzero(found)] == [1677, 2300]


def test_limits_are_for_one_person_in_one_period(hold, engine):
    """With `per`, a person has the limits anew in each period of that kind."""
    days = [date(2026, 8, 31) + timedelta(n) for n in range(21)]
    rows = [(user, track, day) for user in range(4) for track in "ab" for day in days]
    users, tracks, times = map(list, zip(*rows, strict=True))
    times = [each.isoformat() for each in times] if engine == "sqlite file" else times
    votes = hold({"user": users, "track": tracks, "day": times})["votes"]
    asked = {**ASKED, "domain": ["a", "b"]}
    # Numbers do not depend on the engine: all of them are tried where the library's own DuckDB counts.
    pairs = ((1, None), (1, 1), (2, 3))
    for number, (per, most) in enumerate(((None, 1), ("week", 3), ("day", 21))):
        span = read_span(time="day", every="day", since="2026-W36", until="2026-W38", per=per)
        for c, m in pairs if engine == "pyarrow" else pairs[number : number + 1]:
            planned = plan_count(votes, **asked, span=span, groups_per_person=c, votes_per_person=m)
            c_found = planned.request.groups_per_person
            assert c_found == min(c, 1 if per == "day" else c)
            family = planned.count()
            total = sum(int((p.values * p.sizes).sum()) for p in (each.above(each.d, EVERY_LEVEL) for each in family))
            assert total == 4 * most * min(m or 99, 2 * c_found), (per, c, m)


def test_what_is_no_moment_is_refused_by_its_type_or_ignored():
    """A column of whole numbers is refused. A value among others is ignored, and no value is an error."""
    span = read_span(time="day", period="2026")

    with pytest.raises(DataError, match="column 'day' of the votes must hold dates"):
        plan_count(pa.table({"user": [1], "track": ["a"], "day": [20260831]}), **ASKED, span=span)
    odd = [20260831, 1.5, object(), b"2026-08-31", float("nan"), True, timedelta(1), date(2025, 1, 1), None]
    odd += ["2026-8-31", "2026-13-01", "2026-08-31\n", "x", "2026-08-31T24:00", "2026-08-31T12:00+02:00", "2026-08-31"]
    votes = {"user": list(range(len(odd))), "track": ["a"] * len(odd), "day": odd}
    assert plan_count(votes, **ASKED, span=span).count()[0].above(1, 0).values.tolist() == [2]
    texts = [each for each in odd if isinstance(each, str)]
    table = pa.table({"user": range(len(texts)), "track": ["a"] * len(texts), "day": texts})
    assert plan_count(table, **ASKED, span=span).count()[0].above(1, 0).values.tolist() == [1]


def test_a_catalogue_by_group_has_its_items_in_every_period():
    """A group of a country and a week has the items of the country."""
    catalogue = {"track": ["a", "b", "a"], "country": ["de", "de", "at"]}
    votes = {
        "user": [1, 1, 2, 3],
        "track": ["b", "a", "b", "a"],
        "country": ["de", "de", "at", "at"],
        "day": [date(2026, 8, 31), date(2026, 9, 7), date(2026, 8, 31), date(2026, 9, 7)],
    }
    span = read_span(time="day", every="week", since="2026-W36", until="2026-W37")
    planned = plan_count(votes, **{**ASKED, "domain": catalogue}, by="country", span=span, groups_per_person=4)
    assert planned.groups == (("de", "2026-W36"), ("de", "2026-W37"), ("at", "2026-W36"), ("at", "2026-W37"))
    assert planned.sizes == (2, 2, 1, 1)
    family = planned.count()
    top = [Picks(levels=each.above(1, 0).values[:1], ranks=np.zeros(1, dtype=np.int64)) for each in family]
    found = [
        (list(items), pick.levels.tolist()) for items, pick in zip(family.names(family.rows(top)), top, strict=True)
    ]
    assert found == [(["b"], [1]), (["a"], [1]), (["a"], [0]), (["a"], [1])]
    assert Period.read("2026-W36").last == date(2026, 9, 6)
