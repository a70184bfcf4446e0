"""Votes with weights: on every engine, one person adds at most the largest weight to a cell, whatever the rows hold.

Each hostile case is 8 tables, with and without each of three people, which are 12 pairs of neighbours.
"""

import math
from decimal import Decimal
from functools import partial

import hostile
import hostile_families
import pyarrow as pa
import pytest
from hypothesis import given, seed, settings
from tallying import plan_count, tally

from shortlist.errors import DataError
from shortlist.periods import read_span
from shortlist.profile import EVERY_LEVEL
from shortlist.votes import dialects

PEOPLE = {"fewest": 4, "people": 8}
CHECKS = settings(hostile.CHECKS, max_examples=4)
KINDS = sorted(hostile_families.WEIGHING)
ENGINES = {
    **dict.fromkeys(("arrow", "dict", "pandas", "polars", "parquet", "duckdb", "ibis"), KINDS),
    "sqlite": ["text", "int64", "float64"],
    "csv": KINDS,
}
ASKED = {"item": "track", "person": "user", "domain": ["a", "b", "c"], "weight": "length", "max_weight": 60}
ROWS = [
    *[(1, "a", 50.9), (1, "a", 20.0), (1, "b", 3.5), (2, "a", 7.0), (2, "c", None), (3, "b", -5.0)],
    *[(4, "c", math.inf), (5, "a", 1.0), (6, "b", 0.9), (7, "b", -math.inf), (8, "b", math.nan)],
]
EXPECTED = {"a": 60 + 7 + 1, "b": 3, "c": 60}


@pytest.mark.parametrize("form", ["floats", "whole numbers", "text", "bytes", "decimals"])
def test_every_engine_adds_up_the_same_weights(hold, engine, typed, form, all_items):
    """Rows of a person for an item are added up and cut. What is negative or no number weighs nothing."""
    if form == "decimals" and engine == "sqlite file":
        pytest.skip("SQLite has no decimals")
    if form == "bytes" and not typed:
        pytest.skip("files of text have no bytes")
    users, items, lengths = map(list, zip(*ROWS, strict=True))
    finite = [each if each is None or math.isfinite(each) else 99 * (each > 0) for each in lengths]
    if form == "floats" and engine == "jsonl":  # JSON has finite numbers only
        lengths = finite
    elif form in ("text", "bytes"):
        lengths = ["x" if each is None else f"{each}" for each in lengths]
        lengths = lengths if form == "text" else [*map(str.encode, lengths)]
    elif form == "whole numbers":
        lengths = [None if each is None else math.floor(each) for each in finite]
    elif form == "decimals":
        lengths = [None if each is None else Decimal(str(each)) for each in finite]
    votes = hold({"user": users, "track": items, "length": lengths})["votes"]
    assert {item: votes for votes, item in all_items(tally(votes, **ASKED))} == EXPECTED


def test_limits_and_periods_come_before_the_sum(hold, engine):
    """With times, groups and limits, each person gives at most the largest weight to each cell that is kept."""
    rows = [(user, track, f"2026-09-{day:02}") for user in range(5) for track in "ab" for day in range(1, 15)]
    users, tracks, days = map(list, zip(*rows, strict=True))
    columns = {"user": users, "track": tracks, "city": [0] * len(rows), "day": days, "length": [7] * len(rows)}
    votes = hold(columns)["votes"]
    span = read_span(time="day", every="week", since="2026-W36", until="2026-W38")
    asked = {**ASKED, "time": "day", "span": span, "by": "city", "groups": [0], "with_people": True}
    for limits, cells in (({"groups_per_person": 2}, 4), ({"votes_per_person": 3}, 3), ({"votes_per_person": 1}, 1)):
        family = plan_count(votes, **asked, **limits).count()
        sums = [int((p.values * p.sizes).sum()) for p in (each.above(each.d, EVERY_LEVEL) for each in family)]
        assert 5 * cells * 14 <= sum(sums) <= 5 * cells * 49
        assert 5 <= family.people.sum() <= 5 * min(cells, 3)


def test_a_row_without_weight_is_as_if_it_were_not_there():
    """It takes no place under a limit, and makes nobody one of the people of a group."""
    rows = [(1, "a", 5), *((1, item, 0) for item in "bcdefgh"), (2, "b", 0)]
    users, items, lengths = map(list, zip(*rows, strict=True))
    votes = {"user": users, "track": items, "length": lengths, "city": [0] * len(rows)}
    asked = {**ASKED, "domain": list("abcdefgh"), "by": "city", "groups": [0], "votes_per_person": 1}
    family = plan_count(votes, **asked, with_people=True).count()
    assert family[0].above(1, EVERY_LEVEL).values.tolist() == [5, 0]
    assert family.people.tolist() == [1]


@pytest.mark.parametrize("engine", ["pyarrow", "postgres", "spark"], indirect=True)
def test_no_sum_is_out_of_range(hold, engine, all_items, monkeypatch):
    """Sums are cut where 64 bits end, not wrapped, for as many people as there may be."""
    assert [each for each, _ in _sum_large(hold, all_items)] == [2**53 * 5 + 2**53 - 1, 0, 0]
    # As if there were so many people: a cut far below 2^63, by the same SQL.
    monkeypatch.setattr(dialects, "EVERY_LEVEL", 2**54)
    assert [each for each, _ in _sum_large(hold, all_items)] == [2**54, 0, 0]


def _sum_large(hold, all_items):
    rows = [(user, 2**62) for user in range(5) for _ in range(9)] + [(5, 2**53 - 1)]
    columns = {"user": [user for user, _ in rows], "track": ["a"] * len(rows), "length": [n for _, n in rows]}
    return all_items(tally(hold(columns)["votes"], **{**ASKED, "max_weight": 2**53}))


def test_types_that_hold_no_weight_are_refused_before_a_row_is_read():
    """The refusal depends on the type alone."""
    for values in (pa.array([True]), pa.array([0], pa.timestamp("us")), pa.array([[7]])):
        with pytest.raises(DataError, match="column 'length' of the votes must hold weights"):
            plan_count(pa.table({"user": [1], "track": ["a"], "length": values}), **ASKED)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_weights(engine, workspace, holders):
    """Columns of weights of every type."""
    kinds = hostile.SQLITE_KINDS if engine == "sqlite" else ["text"] if engine == "csv" else hostile.COMMON

    @seed(8)
    @CHECKS
    @given(case=hostile_families.families(kinds, **PEOPLE, weighed=ENGINES[engine]))
    def check(case):
        hostile_families.check_cube(case, holders[engine], workspace, exact=engine not in ("sqlite", "csv"))

    check()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pandas", "inferred", "dict", "subclass", "memtable", "sqlite"])
@seed(9)
@CHECKS
@given(case=hostile_families.families(mixed=True, **PEOPLE, weighed=["any"]))
def test_hostile_mixed_weights(engine, workspace, case):
    """Columns of weights that hold values of every type, or whose type changes with one more person."""
    exact = engine in ("pandas", "dict", "subclass")
    hostile_families.check_cube(case, getattr(hostile, f"hold_{engine}"), workspace, exact=exact)


POSTGRES = ["text", "int64", "int8", "float32", "float64", "decimal 20,5", "decimal 38,0"]


@pytest.mark.slow
@seed(11)
@CHECKS
@given(case=hostile_families.families(hostile.POSTGRES_KINDS, **PEOPLE, weighed=POSTGRES))
def test_hostile_weights_in_postgres(workspace, postgres, case):
    """A real server."""
    hostile_families.check_cube(case, partial(hostile.hold_postgres, address=postgres), workspace)


@pytest.mark.slow
@seed(12)
@settings(CHECKS, max_examples=3)
@given(case=hostile_families.families(hostile.SPARK_KINDS, people=8, weighed=POSTGRES[:-1]))
def test_hostile_weights_in_spark(workspace, spark, case):
    """The tables of a chain are counted in one job of Spark, each by the plan of a release."""
    hostile_families.check_spark_chain(case, spark, workspace)


def test_a_sum_that_is_not_cut_is_caught(workspace):
    """The property has the power to find what it is for."""

    def hold_apart(data):
        # If every row has a person of its own, no sum of several rows is cut.
        return hostile.hold_arrow({**data, "user": pa.array(range(len(data["user"])), pa.int64())})

    votes = [("a", 1, "b", 6), ("a", 1, "b", 3)]
    people = [(person, votes if person == 3 else [("A", 1, "b", 2)]) for person in range(4)]
    case = hostile_families.Family(
        listed="text", kind="text", named="whole", people=people, several=False, form="domain", c=1, cap=None,
        weighed="int64",
    )  # fmt: skip
    hostile_families.check_cube(case, hostile.hold_arrow, workspace)
    with pytest.raises(AssertionError, match="too much in a cell"):
        hostile_families.check_cube(case, hold_apart, workspace, exact=False)
