"""How a catalogue comes to Spark, and that votes are counted alike however Spark joins them."""

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from tallying import plan_count, tally

from shortlist.profile import EVERY_LEVEL
from shortlist.votes import frames as engine
from shortlist.votes.domain import number_items
from shortlist.votes.source import read_request

USUAL = {
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "3",
}
"""What Spark does unless it is told otherwise, in few partitions."""
JOINS = {"BroadcastHashJoin": "10485760", "SortMergeJoin": "-1"}
"""The threshold with which a user's session joins votes and a small catalogue in each way."""
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
LARGE = 35_000
"""A catalogue of so many items comes to Spark in four packs."""


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
def join(request, spark):
    """The join that Spark uses, because its session allows or forbids to send keys to every executor."""
    before = spark.conf.get(THRESHOLD)
    spark.conf.set(THRESHOLD, JOINS[request.param])
    yield request.param
    spark.conf.set(THRESHOLD, before)


def test_a_session_may_forbid_to_send_the_keys_to_every_executor(spark, workspace, join):
    """With a negative threshold, Spark sorts and merges even a small catalogue."""
    assert join in find_join(spark, workspace, ["a", "b", "c"])


def test_many_bytes_of_keys_are_sorted_and_merged(spark, workspace):
    """The number of bytes of the keys decides how votes meet them, and no estimate of Spark does."""
    assert "SortMergeJoin" in find_join(spark, workspace, [f"{item}" * 300_000 for item in range(100, 130)])


def find_join(spark, workspace, items):
    """Find the line of Spark's plan that joins votes and keys."""
    votes = spark.createDataFrame([(1, "a")], "user int, track string")
    columns = read_request(item="track", person="user", count=None, votes_per_person=None)
    table = engine.SparkSource(workspace, votes, "the votes")
    request = replace(columns, domain=number_items(pa.array(items)))
    planned = table.plan_counts(table.describe(lambda header: header.take(columns.columns, where="the votes")), request)
    plan = planned._jdf.queryExecution().sparkPlan().toString()
    (found,) = (line for line in plan.splitlines() if "Join" in line and "key" in line)
    return found


@pytest.mark.parametrize("cap", [None, 9])
def test_keys_in_several_packs(spark, join, cap, all_items):
    """Every row of the catalogue is found, in whichever pack its keys are."""
    items = [3_000 * place for place in range(12)]
    votes = [(user, f"{item}") for place, item in enumerate(items) for user in range(place)] * 2
    frame = spark.createDataFrame([*votes, (1, "no item"), (None, "1"), (1, None)], "user int, track string")
    counted = all_items(tally(frame, person="user", item="track", domain=range(LARGE), votes_per_person=cap))
    voted = [(place, item) for place, item in enumerate(items) if place]
    if cap is None:
        assert counted[:11] == voted[::-1]
    else:
        # Of the persons with more votes, nine are kept.
        assert sum(count for count, _ in counted) == sum(min(9, 11 - user) for user in range(11))
    assert len(counted) == LARGE


def test_limits_keep_what_they_keep_elsewhere(spark, join):
    """Spark's own settings change nothing of a family: the votes of each group are those that DuckDB counts."""
    rows = [(user, country, item) for user in range(9) for country in "xyz" for item in "abc"]
    table = pa.table(dict(zip(("user", "country", "track"), zip(*rows, strict=True), strict=True)))
    asked = {"item": "track", "person": "user", "domain": list("abcd"), "by": "country", "groups": list("zyx")}
    here, elsewhere = (
        [each.above(4, EVERY_LEVEL) for each in family]
        for votes in (spark.createDataFrame(table), table)
        for family in [plan_count(votes, **asked, groups_per_person=2, votes_per_person=3).count()]
    )
    assert sum((each.values * each.sizes).sum() for each in here) == 9 * 3
    for one, other in zip(here, elsewhere, strict=True):
        assert (one.values.tolist(), one.sizes.tolist()) == (other.values.tolist(), other.sizes.tolist())


def test_several_keys_of_one_row(spark, join, all_items):
    """A person who writes an item in several ways is counted once."""
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
    setting, group = "spark.sql.execution.arrow.localRelationThreshold", f"several tasks {join}"
    before, context = spark.conf.get(setting), spark.sparkContext
    frame = spark.createDataFrame([(1, "7"), (2, "7"), (2, "34999")], "user int, track string")
    try:
        spark.conf.set(setting, "0")
        context.setJobGroup(group, group)
        counted = all_items(tally(frame, person="user", item="track", domain=range(LARGE)))
    finally:
        spark.conf.set(setting, before)
        context.setLocalProperty("spark.jobGroup.id", None)
    assert counted[:3] == [(2, 7), (1, 34_999), (0, 0)]
    tracker = context.statusTracker()
    # Keys that are sent to every executor are read by a job of another group.
    stages = [stage for job in tracker.getJobIdsForGroup(group) for stage in tracker.getJobInfo(job).stageIds]
    assert join == "BroadcastHashJoin" or 4 in {found.numTasks for found in map(tracker.getStageInfo, stages) if found}
