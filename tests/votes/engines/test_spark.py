"""How a catalogue comes to Spark, and that votes are counted alike however Spark joins them."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from tallying import tally

from shortlist.profile import EVERY_LEVEL
from shortlist.votes import frames as engine
from shortlist.votes.domain import number_items
from shortlist.votes.source import read_request
from shortlist.votes.tallies import plan_tally

USUAL = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "3",
}
"""What Spark does unless it is told otherwise, in few partitions."""
JOINS = {"BroadcastHashJoin": engine._FEW_BYTES, "SortMergeJoin": 0}


@pytest.fixture(scope="module")
def spark(spark):
    """The session with the settings that users have."""
    before = {name: spark.conf.get(name) for name in USUAL}
    for name, value in USUAL.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(params=JOINS)
def join(request, monkeypatch):
    """The join that Spark is told to use. Packs are so small that each catalogue has several."""
    monkeypatch.setattr(engine, "_FEW_BYTES", JOINS[request.param])
    monkeypatch.setattr(engine, "_PACK", 2)
    return request.param


def test_spark_joins_as_it_is_told(spark, workspace, join):
    """The number of bytes of the keys decides how votes meet them, and no estimate of Spark does."""
    assert join in find_join(spark, workspace)


def test_a_session_may_forbid_to_send_the_keys_to_every_executor(spark, workspace):
    """With a negative threshold, Spark sorts and merges even a small catalogue."""
    before = spark.conf.get(engine._THRESHOLD)
    try:
        spark.conf.set(engine._THRESHOLD, "-1")
        assert "SortMergeJoin" in find_join(spark, workspace)
    finally:
        spark.conf.set(engine._THRESHOLD, before)


def find_join(spark, workspace):
    """Find the line of Spark's plan that joins votes and keys."""
    votes = spark.createDataFrame([(1, "a")], "user int, track string")
    columns = read_request(item="track", person="user", count=None, votes_per_person=None)
    table = engine.SparkSource(workspace, votes, "the votes")
    request = replace(columns, domain=number_items(pa.array(["a", "b", "c"])))
    planned = table.plan_counts(table.describe(columns.choose), request)
    plan = planned._jdf.queryExecution().sparkPlan().toString()
    (found,) = (line for line in plan.splitlines() if "Join" in line and "key" in line)
    return found


@pytest.mark.parametrize("cap", [None, 9])
def test_keys_in_several_packs(spark, join, cap, all_items):
    """Every row of the catalogue is found, in whichever pack its keys are."""
    votes = [(user, f"{item}") for item in range(7) for user in range(item)] * 2
    frame = spark.createDataFrame([*votes, (1, "no item"), (None, "1"), (1, None)], "user int, track string")
    counted = tally(frame, person="user", item="track", domain=range(9), votes_per_person=cap)
    assert all_items(counted) == [(6, 6), (5, 5), (4, 4), (3, 3), (2, 2), (1, 1), (0, 0), (0, 7), (0, 8)]


def test_limits_keep_what_they_keep_elsewhere(spark, join):
    """Spark's own settings change nothing of a family: the votes of each group are those that DuckDB counts."""
    rows = [(user, country, item) for user in range(9) for country in "xyz" for item in "abc"]
    table = pa.table(dict(zip(("user", "country", "track"), zip(*rows, strict=True), strict=True)))
    asked = {"item": "track", "person": "user", "domain": list("abcd"), "by": "country", "groups": list("zyx")}
    here, elsewhere = (
        [each.above(4, EVERY_LEVEL) for each in family]
        for votes in (spark.createDataFrame(table), table)
        for family in [plan_tally(votes, **asked, groups_per_person=2, votes_per_person=3).count_family()]
    )
    assert sum((each.values * each.sizes).sum() for each in here) == 9 * 3
    for one, other in zip(here, elsewhere, strict=True):
        assert (one.values.tolist(), one.sizes.tolist()) == (other.values.tolist(), other.sizes.tolist())


def test_several_keys_of_one_row(spark, join, all_items):
    """A person who writes an item in two ways is counted once, also if the ways are in different packs."""
    ways = ["1", "1.0", "1.00", "1.000"]
    frame = spark.createDataFrame([(user, way) for user in (1, 2) for way in ways], "user int, track string")
    counted = tally(frame, person="user", item="track", domain=[Decimal("1.000"), Decimal("2.000")])
    assert all_items(counted) == [(2, Decimal("1.000")), (0, Decimal("2.000"))]


def test_no_keys(spark, join, all_items):
    """If no value of the votes' type can mean an item, every item has no votes."""
    frame = spark.createDataFrame([(1, 7), (2, 7)], "user int, track int")
    assert all_items(tally(frame, person="user", item="track", domain=["x", "y"])) == [(0, "x"), (0, "y")]


def test_a_large_catalogue_goes_to_several_tasks(spark, join, all_items):
    """Above a size of its own, Spark reads each chunk of a table in a task, and no task gets the whole catalogue."""
    setting = "spark.sql.execution.arrow.localRelationThreshold"
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, "0")
        table = pa.table({"key": ["a", "b", "c", "d", "e"], "row": np.arange(5)})
        assert spark.createDataFrame(engine._pack(table)).rdd.getNumPartitions() == 3
        frame = spark.createDataFrame([(1, "e"), (2, "e"), (2, "c")], "user int, track string")
        counted = tally(frame, person="user", item="track", domain=["a", "b", "c", "d", "e"])
    finally:
        spark.conf.set(setting, before)
    assert all_items(counted) == [(2, "e"), (1, "c"), (0, "a"), (0, "b"), (0, "d")]


@pytest.mark.parametrize(("size", "packs"), [(0, 1), (1, 1), (10_000, 1), (10_001, 2), (25_000, 3)])
def test_packs_hold_every_key(size, packs):
    """Spark is given few rows, each in a chunk of its own, so that each can go to another task."""
    keys = pa.table({"key": [f"item {row}" for row in range(size)], "row": np.arange(size)})
    keys = keys.cast(pa.schema({"key": pa.string(), "row": pa.int64()}))
    packed = engine._pack(keys).column("pack")
    assert len(packed) == packed.num_chunks == packs
    assert [pair for pack in packed.to_pylist() for pair in pack] == keys.to_pylist()
