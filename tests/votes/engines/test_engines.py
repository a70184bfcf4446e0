"""The same votes give the same levels and the same items, on every engine."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from tallying import tally

from shortlist.errors import DataError

VOTES = {
    "user": [1, 1, 2, 3, 3, 2, None, 4, 5, 1],
    "track": ["b", "b", "b", "a", "a", "B", "a", None, "zzz", ""],
}
QUERIES = ("duckdb file", "sqlite file", "postgres")
UNDECLARED = ("pandas", "csv", "csv.gz", "jsonl", "sqlite file")
DOMAIN = ["b", "a", "ä", "B", "", "é", "Z", "b", None, "😀", "\uffff", "10", "9"]


def test_counts_each_person_once(hold, all_items):
    """Repeats, rows without a person or an item, and items outside the domain do not count."""
    counted = tally(**hold(VOTES), person="user", item="track", domain=DOMAIN)
    assert counted[0].d == 11
    assert [item for item in all_items(counted) if item[0]] == [(2, "b"), (1, ""), (1, "B"), (1, "a")]


def test_orders_text_by_its_bytes(hold, all_items):
    """Inside a level, text stands in the order of code points."""
    counted = tally(**hold(VOTES), person="user", item="track", domain=DOMAIN)
    rest = [item for count, item in all_items(counted) if not count]
    assert rest == ["10", "9", "Z", "ä", "é", "\uffff", "😀"]


def test_takes_whole_numbers(hold, all_items):
    """Numbers stand in the order of their values, also those of untyped files if the domain has types."""
    votes = {"user": [1, 2, 2, 3], "track": [9, 9, 10, -3]}
    counted = tally(**hold(votes), person="user", item="track", domain=[10, 9, -3, 100, -4])
    assert all_items(counted) == [(2, 9), (1, -3), (1, 10), (0, -4), (0, 100)]


def test_takes_counted_tables(hold, all_items):
    """Counts that are there already are taken as they are; rows without one are ignored."""
    votes = {"track": ["a", "b", "c", None, "z"], "plays": [7, 7, None, 3, 4]}
    counted = tally(**hold(votes), count="plays", item="track", domain=["a", "b", "c", "d"])
    assert all_items(counted) == [(7, "a"), (7, "b"), (0, "c"), (0, "d")]


def test_refuses_an_item_that_is_counted_twice(hold):
    """Two counts of one item could be added or not, and the guarantee depends on it."""
    votes = {"track": ["a", "b", "a"], "plays": [7, 7, 1]}
    with pytest.raises(DataError, match="each item once"):
        tally(**hold(votes), count="plays", item="track", domain=["a", "b"])


def test_refuses_negative_counts(hold):
    """No count is below zero."""
    with pytest.raises(DataError, match="from 0"):
        tally(**hold({"track": ["a"], "plays": [-1]}), count="plays", item="track", domain=["a", "b"])


def test_refuses_counts_that_are_not_whole(hold):
    """A count is a whole number."""
    with pytest.raises(DataError, match=r"whole numbers"):
        tally(**hold({"track": ["a"], "plays": [1.5]}), count="plays", item="track", domain=["a", "b"])


@pytest.mark.parametrize(("person", "item"), [("user", "trak"), ("USER", "Track")])
def test_names_the_nearest_column(hold, engine, typed, person, item):
    """A column that is not there, or in other case, is answered with those like it where they are surely names."""
    if engine == "jsonl":  # the keys of a line are data, so a column that no line has is a column of gaps
        assert tally(**hold(VOTES), person=person, item=item, domain=DOMAIN)[0].above(1, 0).values.tolist() == [0]
        return
    answer = f"AS {item}" if engine in QUERIES else "did you mean 'track'" if typed else "header"
    with pytest.raises(DataError, match=answer) as caught:
        tally(**hold(VOTES), person=person, item=item, domain=DOMAIN)
    assert ("did you mean" in str(caught.value)) == (typed and engine not in QUERIES)


@pytest.mark.parametrize(("items", "domain"), [([["a"], ["b"]], DOMAIN), ([date(2020, 1, 1)] * 2, [7, 8])])
def test_types_that_cannot_match(hold, engine, all_items, items, domain):
    """A declared type that no item can have is refused; where types come from values, nothing matches."""
    if engine == "sqlite file":
        items = [b"bytes"] * 2
    if engine.startswith("csv") and type(items[0]) is list:
        pytest.skip("there are no lists there")
    votes = hold({"user": [1, 2], "track": items})
    if engine in UNDECLARED:
        counted = all_items(tally(**votes, person="user", item="track", domain=domain))
        assert {count for count, _ in counted} == {0}
        return
    with pytest.raises(DataError, match="must hold values that can be items of the domain"):
        tally(**votes, person="user", item="track", domain=domain)


def test_numbers_match_text_that_writes_them(hold, engine, all_items):
    """Text 7 is the number 7, and 007 is not, whichever side is text."""
    votes = {"user": [1, 2, 3, 4], "track": ["7", "007", "8", "x"]}
    assert all_items(tally(**hold(votes), person="user", item="track", domain=[7, 8, 9])) == [(1, 7), (1, 8), (0, 9)]


def test_text_matches_numbers_that_it_writes(hold, all_items):
    """A catalogue of text serves votes for numbers."""
    votes = {"user": [1, 2, 2], "track": [7, 7, 8]}
    counted = tally(**hold(votes), person="user", item="track", domain=["7", "007", "8.0"])
    assert all_items(counted) == [(2, "7"), (0, "007"), (0, "8.0")]


def test_whole_floats_match_numbers(hold, engine, typed, all_items):
    """A gap makes floats of whole numbers; 7.0 is 7, 7.5 is nothing, and large floats are ambiguous."""
    votes = {"user": [1, 2, 3, 4], "track": [7.0, 7.5, float(2**53 + 2), -0.5]}
    counted = tally(**hold(votes), person="user", item="track", domain=[7, 8, 2**53 + 2])
    assert all_items(counted) == [(int(typed or engine == "jsonl"), 7), (0, 8), (0, 2**53 + 2)]


def test_a_cap_keeps_so_many_votes_of_each_person(hold, all_items):
    """With votes_per_person, nobody counts for more items, and who has fewer loses none."""
    votes = hold({"user": [1, 1, 1, 1, 2, 2, 2, 3], "track": ["a", "b", "c", "c", "a", "a", "z", "c"]})
    for cap, total in ((1, 3), (2, 4), (3, 5), (99, 5)):
        counted = tally(**votes, person="user", item="track", domain=["a", "b", "c"], votes_per_person=cap)
        assert sum(count for count, _ in all_items(counted)) == total


def test_a_cap_prefers_no_item(hold, all_items):
    """Of votes for four items each, one is kept: each item keeps about a quarter of the persons."""
    votes = hold({"user": [person for person in range(1000) for _ in range(4)], "track": ["a", "b", "c", "d"] * 1000})
    counted = tally(**votes, person="user", item="track", domain=["a", "b", "c", "d"], votes_per_person=1)
    assert all(abs(count - 250) < 6 * 14 for count, _ in all_items(counted))


def test_votes_for_nobody(hold, all_items):
    """Without a vote in the domain, every item counts zero."""
    votes = {"user": [1, 2], "track": ["x", "y"]}
    counted = tally(**hold(votes), person="user", item="track", domain=["b", "a"])
    assert all_items(counted) == [(0, "a"), (0, "b")]


@pytest.mark.parametrize(
    "items",
    [
        [date(1969, 12, 31), date(2024, 2, 29), date(2024, 3, 1)],
        [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 3, 10, 2, 30), datetime(2024, 3, 10, 3, 30)],
        [datetime(2024, 3, 10, 6, 30, tzinfo=UTC), datetime(2024, 3, 10, 7, 30, 0, 1, tzinfo=UTC)],
        [False, True],
        [-(2**63), 2**63 - 1],
    ],
    ids=["dates", "timestamps", "timestamps with time zone", "booleans", "large numbers"],
)
def test_keeps_types(hold, engine, all_items, items):
    """Dates, times, booleans and numbers come back as they went in, in their order."""
    if engine == "sqlite file" and type(items[0]) is not int:
        pytest.skip("SQLite has neither times nor booleans")
    counted = tally(**hold({"user": [7] * len(items), "track": items}), person="user", item="track", domain=items[::-1])
    assert all_items(counted) == [(1, item) for item in items]


@pytest.mark.parametrize(
    "items",
    [[b"", b"\x00\xff"], [Decimal("-1.50"), Decimal("2.25")], [2**70, 2**70 + 1]],
    ids=["bytes", "decimals", "huge"],
)
def test_keeps_rare_types(hold, engine, typed, all_items, items):
    """Bytes, decimals and numbers beyond 64 bits come back as they went in, where an engine has them."""
    if not typed or engine == "sqlite file":
        pytest.skip("no such type there")
    stored = [Decimal(item) for item in items] if isinstance(items[0], int) else items
    counted = tally(**hold({"user": [7] * 2, "track": stored}), person="user", item="track", domain=items)
    assert all_items(counted) == [(1, item) for item in items]
