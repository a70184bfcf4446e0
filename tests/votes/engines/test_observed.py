"""Votes without a domain: the same groups on every engine."""

from contextlib import suppress
from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet
from tallying import observe

from shortlist.errors import DataError

MOMENT = datetime(2024, 2, 29, 12, 30, 0, 5)
ITEMS = {
    "text": ["b", "a", "B", "é", "e\u0301", " a", "7", "a" * 300],
    "whole numbers": [7, -3, 0, 10, 2**53 - 1],
    "booleans": [True, False],
    "dates": [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)],
    "times": [time(12, 30), time(0), time(23, 59, 59, 999999)],
    "timestamps": [MOMENT, datetime(1970, 1, 1)],
    "instants": [MOMENT.replace(tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)],
    "decimals": [Decimal("1.50"), Decimal("-0.25"), Decimal("7.00")],
    "bytes": [b"a", b"", b"\x00\xff", "é𝄞".encode(), b"a\0", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"],
}
UNHOLDABLE = {
    "sqlite file": ["booleans", "dates", "times", "timestamps", "instants", "decimals"],
    "csv": ["bytes"],
    "csv.gz": ["bytes"],
    "jsonl": ["bytes"],
    "spark": ["times"],
}


def canonical(item):
    if isinstance(item, Decimal):
        return int(item) if item == int(item) else item.normalize()
    if isinstance(item, bytes):
        with suppress(UnicodeDecodeError):
            return item.decode()
    return item


def read_all(tally):
    """Every group by its item; ranks are read too."""
    import numpy as np

    from shortlist.profile import EVERY_LEVEL, Picks

    profile = tally[0].above(tally[0].d, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    return list(zip(tally.names(tally.rows([Picks(levels=levels, ranks=ranks)]))[0], levels.tolist(), strict=True))


@pytest.mark.parametrize("kind", ITEMS)
def test_groups_by_exact_value(hold, engine, typed, kind):
    """Item i has i + 1 voters; a person who votes twice counts once; gaps count nowhere."""
    if kind in UNHOLDABLE.get(engine, ()):
        pytest.skip(f"{engine} has no such column")
    items = ITEMS[kind]
    rows = [(person, item) for place, item in enumerate(items) for person in range(place + 1)]
    rows += [rows[0], (None, items[0]), (99, None)]
    found = read_all(
        observe(**hold({"user": [u for u, _ in rows], "track": [i for _, i in rows]}), person="user", item="track")
    )
    if typed:
        expected = [(canonical(item), place + 1) for place, item in enumerate(items)][::-1]
        assert found == expected
        assert [type(item) for item, _ in found] == [type(item) for item, _ in expected]
    else:
        assert [votes for _, votes in found] == list(range(len(items), 0, -1))
        assert {type(item) for item, _ in found} == {str}


def test_ties_are_in_the_order_of_bytes(hold):
    """The same on every engine: upper case before lower case, ASCII before the rest."""
    tracks = ["b", "a", "B", "é", "z", "𝄞", "\uffee", "A", "aa"]
    found = read_all(observe(**hold({"user": [1] * len(tracks), "track": tracks}), person="user", item="track"))
    assert [item for item, _ in found] == sorted(tracks, key=str.encode)


@pytest.mark.parametrize("cap", [None, 2])
def test_bytes_are_the_text_that_they_are_in_utf8(hold, engine, cap):
    """One item that is bytes makes bytes of a column that pandas writes. Neither items nor those of a cap change."""
    if "bytes" in UNHOLDABLE.get(engine, ()):
        pytest.skip(f"{engine} has no such column")
    users = [person for person in range(20) for _ in range(6)]
    tracks = [f"t{(3 * person + n) % 11}" for person in range(20) for n in range(6)]
    asked = {"person": "user", "item": "track", "votes_per_person": cap}
    text = observe(pa.table({"user": users, "track": tracks}), **asked)
    found = observe(**hold({"user": users, "track": [track.encode() for track in tracks]}), **asked)
    assert read_all(found) == read_all(text)


@pytest.mark.parametrize("cap", [1, 3])
def test_a_cap_keeps_so_many_items_of_each_person(hold, cap):
    """Whichever they are; who has fewer keeps all."""
    users = [person for person in range(20) for _ in range(7)] + [20]
    tracks = [f"t{(3 * person + n) % 11}" for person in range(20) for n in range(7)] + ["own"]
    votes = hold({"user": users, "track": tracks})
    found = dict(read_all(observe(**votes, person="user", item="track", votes_per_person=cap)))
    assert sum(found.values()) == 20 * cap + 1
    assert found["own"] == 1


def test_counted_tables_are_taken_as_they_are(hold):
    """With `count`, every item has one row."""
    votes = hold({"plays": [5, 0, 5, 2], "track": ["b", "none", "a", "c"]})
    assert read_all(observe(**votes, count="plays", item="track")) == [("a", 5), ("b", 5), ("c", 2), ("none", 0)]


def test_counted_tables_name_each_item_once(hold):
    """Which of two counts of one item is meant, nobody knows."""
    twice = hold({"plays": [5, 1], "track": ["b", "b"]})
    with pytest.raises(DataError, match="counts must name each item once"):
        observe(**twice, count="plays", item="track")


def test_floats_are_no_items(hold, engine, typed):
    """A declared type is refused by its name; where the type comes from the values, whole numbers are items."""
    votes = hold({"user": [1, 2, 3], "track": [7.0, 7.0, 0.5]})
    if not typed:
        assert {item for item, _ in read_all(observe(**votes, person="user", item="track"))} <= {"7.0", "7", "0.5"}
    elif engine in ("pandas", "parquet", "sqlite file"):
        assert read_all(observe(**votes, person="user", item="track")) == [(7, 2)]
    else:
        with pytest.raises(DataError, match="without a domain, column 'track' of the votes must hold text"):
            observe(**votes, person="user", item="track")


def test_nobody_voted(hold):
    """No votes are no error: that there are none is data."""
    tally = observe(**hold({"user": [None, 1], "track": ["a", None]}), person="user", item="track")
    assert tally[0].d == 0


def test_values_of_many_types_are_read_one_by_one():
    """In a list of Python values, no value decides how another is read, and what is no item is ignored."""
    tracks = ["7", 7, 7.0, Decimal("7.00"), True, b"7", None, float("nan"), [7], "\ud800", 0.5, 10**50, object()]
    found = read_all(observe({"user": list(range(len(tracks))), "track": tracks}, person="user", item="track"))
    assert found == [(7, 3), ("7", 2), (True, 1)]


def test_values_that_python_cannot_hold_are_ignored():
    """Dates before the year 1, text that is no UTF-8, and parts of a microsecond."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    for kind, values in {
        "TIMESTAMP": "'infinity', '-infinity', '0044-03-15 (BC) 00:00:00', '2024-02-29 12:30:00'",
        "TIMESTAMPTZ": "'infinity', '2024-02-29 12:30:00+00'",
        "DATE": "'infinity', '-infinity', '2024-02-29'",
        "TIMESTAMP_NS": "'2024-02-29 12:30:00.000000001', '2024-02-29 12:30:00'",
        "TIME": "'24:00:00', '12:30:00'",
    }.items():
        rows = ", ".join(f"({each}::{kind}, 1)" for each in values.split(", "))
        votes = connection.sql(f"SELECT * FROM (VALUES {rows}) AS t (track, user)")
        assert len(read_all(observe(votes, person="user", item="track"))) == 1, kind
    times = pa.array([-1, 45_000 * 10**6, 10**12], pa.int64()).view(pa.time64("us"))
    assert len(read_all(observe(pa.table({"user": [1, 1, 1], "track": times}), person="user", item="track"))) == 1
    broken = pa.array([b"\xff", b"a", b"\xff"], pa.binary()).view(pa.string())
    votes = pa.table({"user": [1, 2, 3], "track": broken})
    for cap in (None, 1):
        assert read_all(observe(votes, person="user", item="track", votes_per_person=cap)) == [("a", 1)]


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("file", [False, True])
def test_instants_that_python_cannot_hold_are_left_out(unit, file, tmp_path):
    """Neither an extreme instant nor one between two microseconds is an error."""
    ticks = pa.array([0, 0, 1, 2**63 - 2, -(2**63) + 2], pa.int64())
    votes = pa.table({"user": [1, 2, 3, 4, 5], "track": ticks.cast(pa.timestamp(unit, "UTC"), safe=False)})
    parquet.write_table(votes, tmp_path / "votes.parquet")
    found = observe(tmp_path / "votes.parquet" if file else votes, person="user", item="track")
    first = datetime(1970, 1, 1, tzinfo=UTC)
    assert dict(read_all(found)) == {first: 2, **({first.replace(microsecond=1): 1} if unit == "us" else {})}
