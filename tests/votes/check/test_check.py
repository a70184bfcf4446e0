"""A check says how the votes fit the domain: the same on every source, and no value unless it is asked for."""

from dataclasses import FrozenInstanceError, replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tallying import tally

from shortlist import Query, check
from shortlist.errors import ParameterError
from shortlist.votes.check import NOTICE

COLUMNS = {
    "user": [1, 1, 1, 2, 2, 3, 4, None, 5],
    "track": ["a", "a", "b", "a", "Secret", "secret ", None, "a", "zzz"],
}
DOMAIN = ["a", "b", "c", "secret"]


def test_is_the_same_on_every_engine(hold):
    """Rows, persons, votes and causes do not depend on where the votes are."""
    found = check(hold(COLUMNS)["votes"], person="user", item="track", domain=DOMAIN)
    assert (found.rows, found.without_person, found.without_item) == (9, 1, 1)
    assert (found.matched, found.not_in_domain, found.unreadable) == (4, 3, 0)
    assert found.share_matched == 4 / 7
    assert (found.domain_size, found.items_voted) == (4, 2)
    assert (found.persons, found.persons_matched, found.votes) == (5, 2, 3)
    assert dict(found.votes_per_person)[1.0] == 2
    assert found.items_unmatched == 3
    causes = {("upper and lower case", 1), ("leading, trailing or other spaces", 1)}
    assert {(cause.name, cause.rows) for cause in found.causes} == causes


def test_groups_are_the_same_on_every_engine(hold):
    """Groups of a person, persons of a group, and votes of no listed group or day do not depend on the engine."""
    rows = [
        (1, "a", "de", "2026-08-31"),
        (1, "a", "de", "2026-09-01"),
        (1, "b", "at", "2026-09-07"),
        (2, "a", "at", "2026-09-13"),
        (2, "a", "xx", "2026-08-31"),
        (3, "a", "de", "2026-09-14"),
        (3, "a", "xx", None),
        (3, "z", "de", "2026-08-31"),
    ]
    columns = dict(zip(("user", "track", "place", "day"), map(list, zip(*rows, strict=True)), strict=True))
    asked = {"person": "user", "item": "track", "domain": DOMAIN, "by": "place", "groups": ["at", "de"]}
    weeks = {"time": "day", "every": "week", "since": "2026-W36", "until": "2026-W37"}
    found = check(hold(columns)["votes"], **asked, **weeks)
    assert (found.rows, found.not_in_domain, found.matched, found.votes) == (8, 1, 4, 3)
    family = found.family
    assert (family.outside_time, family.not_listed) == (2, 1)
    assert family.groups == (
        ("at, 2026-W36", 0, 0),
        ("at, 2026-W37", 2, 2),
        ("de, 2026-W36", 1, 1),
        ("de, 2026-W37", 0, 0),
    )
    assert (family.groups_per_person[0], family.groups_per_person[-1]) == ((0.0, 1), (1.0, 2))


def test_groups_of_a_person_are_those_of_the_unit():
    """With `per`, the groups of one person in one period are counted; without periods, days are all that counts."""
    votes = {"user": [1, 1, 1], "track": ["a"] * 3, "day": [date(2026, 8, 31), date(2026, 9, 1), date(2026, 9, 7)]}
    asked = {
        "person": "user",
        "item": "track",
        "domain": DOMAIN,
        "time": "day",
        "since": "2026-W36",
        "until": "2026-W37",
    }
    for per, most in ((None, 3), ("week", 2), ("day", 1)):
        assert check(votes, **asked, every="day", per=per).family.groups_per_person[-1] == (1.0, most), per
    assert (found := check(votes, **{**asked, "since": "2026-W37"})).family.groups == ()
    assert (found.family.outside_time, found.matched, found.votes_at_places) == (2, 1, ())


def test_a_catalogue_says_which_items_a_group_has():
    """A vote for an item that its group has not is told with those of groups that are not listed."""
    votes = {"user": [1, 2, 3], "track": ["a", "b", "b"], "place": ["de", "at", "de"]}
    catalogue = {"track": ["a", "b", "a"], "place": ["de", "de", "at"]}
    found = check(votes, person="user", item="track", domain=catalogue, by="place")
    assert (found.matched, found.family.not_listed) == (2, 1)
    assert found.family.groups == (("de", 2, 2), ("at", 0, 0))


def test_says_that_no_group_and_no_day_matches():
    """If all votes miss the groups or the days, the report asks for the likely reason."""
    votes = {"user": [1, 2], "track": ["a", "a"], "place": ["DE", "DE"], "day": ["2026-08-31"] * 2}
    asked = {"person": "user", "item": "track", "domain": DOMAIN}
    assert "written as the votes are" in " ".join(str(check(votes, **asked, by="place", groups=["de"])).split())
    assert "the right range" in " ".join(str(check(votes, **asked, time="day", period="2026-W01")).split())


def test_counts_the_votes_of_a_release():
    """The votes of a check are those that a release counts, and every row is counted once."""
    random = np.random.default_rng(8)
    votes = {
        "user": pa.array(random.integers(0, 30, 500), mask=random.random(500) < 0.1),
        "track": pa.array(random.integers(0, 20, 500), mask=random.random(500) < 0.1),
    }
    found = check(votes, person="user", item="track", domain=range(5, 40))
    profile = tally(votes, person="user", item="track", domain=range(5, 40))[0].above(1, 0)
    assert found.votes == int((profile.values * profile.sizes).sum())
    assert found.items_voted == int(profile.sizes[profile.values > 0].sum())
    parts = (found.without_person, found.without_item, found.unreadable, found.not_in_domain, found.matched)
    assert sum(parts) == found.rows == 500
    assert all(parts[:2] + parts[3:])


@pytest.mark.parametrize(
    ("voted", "listed", "cause"),
    [
        ("TRACK 9", "Track 9", "upper and lower case"),
        ("Track  9 ", "Track 9", "leading, trailing or other spaces"),
        ("Track\u00a09", "Track 9", "leading, trailing or other spaces"),
        ('"Track 9"', "Track 9", "quotation marks"),
        ("Track 9", "'Track 9'", "quotation marks"),
        ("7", "007", "leading zeros"),
        (7, "007", "leading zeros"),
        ("007", 7, "leading zeros"),
        ("7.0", 7, "a type: numbers with a decimal point or a plus sign"),
        ("+7", "7", "a type: numbers with a decimal point or a plus sign"),
        ("2024-02-29 00:00:00", date(2024, 2, 29), "a type: dates with a time of day"),
        (datetime(2024, 2, 29, 5), "2024-02-29", "a type: dates with a time of day"),
        ("cafe\u0301", "caf\u00e9", "accents as letters of their own (Unicode forms)"),
        (' "TRACK 9"', "Track 9", "several of these at once"),
    ],
)
def test_finds_the_cause(voted, listed, cause):
    """Each cause is found by trying it, and alone where it is alone."""
    found = check({"user": [1, 2], "track": [voted, voted]}, person="user", item="track", domain=[listed])
    assert [(each.name, each.rows, each.items) for each in found.causes] == [(cause, 2, 1)]


def test_finds_no_cause_where_there_is_none():
    """Items that are simply not there have no cause."""
    found = check({"user": [1], "track": ["x"]}, person="user", item="track", domain=["a"])
    assert found.causes == ()
    assert "is it the right column" in str(found)


@pytest.mark.parametrize(
    ("items", "domain", "unreadable"),
    [
        (["1", "x", "1.5", "2"], [1], 2),
        ([1.0, 1.5, 2.0, float("nan")], [1], 1),
        ([Decimal("1.5"), Decimal("2.0")], [1], 1),
        (["2024-01-01", "2024-01-02", "yesterday"], [date(2024, 1, 1)], 1),
        (["true", "yes"], [True], 1),
        (["a", "b"], ["a"], 0),
        (["a", "b"], [b"a"], 2),
        ([date(2024, 1, 1), None], [7], 1),
        ([[1], [2]], ["a"], 2),
    ],
)
def test_tells_unreadable_from_absent(items, domain, unreadable):
    """A value that cannot be read in the type of the domain is told from one that is not in it."""
    votes = pa.table({"user": list(range(len(items))), "track": pa.array(items)})
    found = check(votes, person="user", item="track", domain=domain)
    assert found.unreadable == unreadable


def test_shows_no_value_unless_asked(tmp_path):
    """Items appear only with show_values, cut and escaped; the notice is always there."""
    votes = {"user": [1, 1, 2], "track": ["hidden\x1b[2J", "hidden\x1b[2J", "h" * 999]}
    for shown in (False, True):
        found = check(votes, person="user", item="track", domain=["a"], show_values=shown)
        text = str(found)
        assert text.startswith(NOTICE)
        assert text.endswith(NOTICE)
        assert ("hidden" in text) == ("hidden" in str(found.to_dict())) == shown
        assert "\x1b" not in text
        assert "h" * 300 not in text
        assert [each for _, each in found.most_unmatched] == [2, 1]
        entries = list(found.to_dict().values())
        assert entries[0] == entries[-1] == NOTICE


def test_is_narrow_and_rounds_no_share_to_nothing():
    """Lines fit 60 columns, and a tiny share is not 0 %."""
    votes = {"user": list(range(3000)), "track": ["a", *("x" * 2999)]}
    text = str(check(votes, person="user", item="track", domain=["a"]))
    assert max(map(len, text.splitlines())) <= 60
    assert "<0.1 %" in text
    assert "min 1, 25th percentile 1, median 1" in text


def test_is_a_frozen_value():
    """A check can be compared and not changed."""
    found = check({"user": [1], "track": ["a"]}, person="user", item="track", domain=["a"])
    assert replace(found) == found
    with pytest.raises(FrozenInstanceError):
        found.rows = 0


def test_an_empty_table_has_a_check():
    """Without rows, all numbers are 0."""
    votes = pa.table({"user": pa.array([], pa.int64()), "track": pa.array([], pa.string())})
    found = check(votes, person="user", item="track", domain=["a"])
    assert (found.rows, found.votes, found.share_matched, found.votes_per_person) == (0, 0, 0.0, ())
    assert str(found).count(NOTICE) == 2


def test_checks_queries(tmp_path):
    """A query on a DuckDB connection and on a file is checked as it is released."""
    import duckdb

    connection = duckdb.connect(tmp_path / "votes.duckdb")
    connection.execute("CREATE TABLE log AS SELECT i AS who, 'a' AS what FROM range(7) AS numbers (i)")
    sql = "SELECT * FROM log"
    assert check(Query(connection, sql), person="who", item="what", domain=["a"]).matched == 7
    connection.close()
    assert check(Query(tmp_path / "votes.duckdb", sql), person="who", item="what", domain=["a"]).matched == 7


def test_refuses_what_select_refuses():
    """The votes as their own domain and what is no table are refused alike."""
    votes = pa.table({"user": [1], "track": ["a"]})
    with pytest.raises(ParameterError, match="the votes themselves"):
        check(votes, person="user", item="track", domain=votes)
    with pytest.raises(ParameterError, match="not int"):
        check(7, person="user", item="track", domain=["a"])


@pytest.mark.parametrize("make", [dict, pa.table], ids=["values", "types"])
def test_a_table_that_is_counted_already(make):
    """Counts that a release would refuse are counted."""
    items, numbers = ["a", "b", "b", "x", "a", None], [5.0, 2.0, 1.5, 9.0, None, 4.0]
    found = check(make({"track": items, "n": numbers}), item="track", count="n", domain=["a", "b", "c"])
    assert (found.rows, found.without_person, found.without_item, found.matched) == (6, 1, 1, 3)
    assert (found.votes, found.counts_unreadable, found.items_repeated, found.persons) == (7, 1, 1, 0)
    assert "items with several counts" in str(found)


@pytest.mark.parametrize("form", [dict, pa.table])
def test_tells_the_votes_at_some_places(form):
    """A person counts once for an item, places without a vote have 0, and places beyond the domain are left out."""
    items = [item for item in range(60) for _ in range(item + 1)]
    persons = [person for item in range(60) for person in range(item + 1)]
    votes = form({"user": [*persons, 0], "track": [*items, 59]})
    places = [check(votes, person="user", item="track", domain=range(d)).votes_at_places for d in (9, 60, 100)]
    assert places == [(), ((10, 51), (50, 11)), ((10, 51), (50, 11), (100, 0))]
    counts = form({"n": [7 * item for item in range(60)], "track": list(range(60))})
    counted = check(counts, count="n", item="track", domain=range(60))
    assert counted.votes_at_places == ((10, 350), (50, 70))
    assert "votes of the item at place 10" in str(counted)
    assert f"{350:>14}" in str(counted)


def test_asks_whether_the_domain_was_made_from_the_log():
    """It is likely if each of many items has a vote."""
    votes = {"user": range(40), "track": list(TRACKS)}
    for domain, asked in ((TRACKS, True), ([*TRACKS, "other"], False), (TRACKS[:19], False), (TRACKS[:20], True)):
        text = str(check(votes, person="user", item="track", domain=list(domain)))
        assert ("Every item of the domain has a vote" in text) == asked
        assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize(("columns", "told"), [({"person": "usr"}, "a person"), ({"item": "trak"}, "an item")])
def test_says_that_a_column_of_json_lines_may_be_misspelt(tmp_path, columns, told):
    """A release cannot say it, because one person may be the only one who has that key."""
    (tmp_path / "votes.jsonl").write_text('{"user": 1, "track": "a"}\n{"user": 2, "track": "a"}\n')
    for more, said in ((columns, True), ({}, False)):
        text = str(check(tmp_path / "votes.jsonl", **{"person": "user", "item": "track", "domain": ["a"], **more}))
        assert (f"No row has {told}" in " ".join(text.split())) == said
        assert max(map(len, text.splitlines())) <= 60


def test_counts_lines_of_csv_that_cannot_be_read(tmp_path):
    """They are rows without a person."""
    (tmp_path / "votes.csv").write_text('user,track\n1,a\n2,"a\n3,a,a\n4,a\n')
    found = check(tmp_path / "votes.csv", person="user", item="track", domain=["a"])
    assert (found.rows, found.without_person, found.matched) == (4, 2, 2)


TRACKS = [f"track {number}" for number in range(40)]
COUNTS = [40 // (rank + 1) for rank in range(40)]


@pytest.mark.parametrize("make", [int, str, float])
@pytest.mark.parametrize("form", [dict, pa.table])
def test_notices_counts_in_place_of_persons(make, form):
    """One row for each item, and whole numbers that repeat; whichever type the column has."""
    votes = form({"plays": list(map(make, COUNTS)), "track": TRACKS})
    found = check(votes, person="plays", item="track", domain=[*TRACKS, "other"])
    assert found.persons_look_like_counts
    assert found.to_dict()["persons_look_like_counts"]
    assert "Are the persons counts?" in str(found)
    assert "column with count in place of person." in " ".join(str(found).split())
    assert max(map(len, str(found).splitlines())) <= 60
    counted = check(votes, count="plays", item="track", domain=[*TRACKS, "other"])
    assert not counted.persons_look_like_counts


@pytest.mark.parametrize(
    ("persons", "tracks"),
    [
        (COUNTS * 2, TRACKS * 2),
        (list(range(40)), TRACKS),
        ([f"u{count}" for count in COUNTS], TRACKS),
        ([count + 0.5 for count in COUNTS], TRACKS),
        (COUNTS[:19], TRACKS[:19]),
        ([], []),
    ],
    ids=["several rows", "different persons", "names", "fractions", "few items", "nothing"],
)
def test_takes_no_persons_for_counts(persons, tracks):
    """A table of votes has items with several rows, or persons that are no whole numbers, or many persons."""
    for votes in (
        {"user": persons, "track": tracks},
        pa.table({"user": persons, "track": pa.array(tracks, pa.string())}),
    ):
        found = check(votes, person="user", item="track", domain=[*TRACKS, "other"])
        assert not found.persons_look_like_counts
        assert "Are the persons counts?" not in str(found)
