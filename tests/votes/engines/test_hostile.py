"""One more person changes neither d nor an item, and every count by 0 or 1, whatever the person votes."""

from functools import partial

import hostile
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from shortlist.votes.engines import counting

ENGINES = ("arrow", "dict", "pandas", "polars", "parquet", "duckdb", "ibis", "sqlite")
MIXED = {
    "pandas": hostile.hold_pandas,
    "inferred": hostile.hold_inferred,
    "dict": hostile.hold_dict,
    "sqlite": hostile.hold_sqlite,
}
ANYTHING = ("arrow", "dict")
SQLITE_KINDS = ["text", "int64", "float64", "bytes"]
POSTGRES_KINDS = [
    *("text", "int16", "int32", "int64", "float32", "float64", "decimal 5,2", "decimal 38,0"),
    *("boolean", "date", "time", "timestamp us", "instant us", "bytes"),
]
SPARK_KINDS = [
    *("text", "int8", "int32", "int64", "float64", "decimal 20,5", "boolean", "date"),
    *("timestamp us", "instant us", "bytes"),
]
PEOPLE = 12
CHECKS = settings(
    max_examples=36, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate]
)


def draw_cases(engine):
    if engine in ANYTHING:
        return hostile.cases(sorted(hostile.KINDS), people=PEOPLE, named=sorted(hostile.PERSONS))
    kinds = SQLITE_KINDS if engine == "sqlite" else hostile.COMMON
    return hostile.cases(kinds, people=PEOPLE, named=hostile.EVERYWHERE if engine == "sqlite" else hostile.USUAL)


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_typed_columns(engine, workspace, holders):
    """Columns of every type, with a collation where the engine has one."""

    @seed(8)
    @CHECKS
    @given(case=draw_cases(engine))
    def check(case):
        hostile.check_chain(case, holders[engine], workspace, exact=engine != "sqlite")

    check()


@seed(10)
@CHECKS
@given(case=hostile.cases(["text"], people=PEOPLE))
def test_text_files(workspace, holders, case):
    """Files in which everything is text."""
    hostile.check_chain(case, holders["csv"], workspace, exact=False)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile.cases([], people=PEOPLE, mixed=True))
def test_mixed_columns(engine, workspace, case):
    """Columns that hold values of every type, or whose type changes with one more person."""
    hostile.check_chain(case, MIXED[engine], workspace, exact=engine in ("pandas", "dict"))


@seed(11)
@settings(CHECKS, max_examples=12)
@given(case=hostile.cases(POSTGRES_KINDS, people=PEOPLE))
def test_postgres_columns(workspace, postgres, case):
    """A real server, with a collation that takes A for a."""
    hostile.check_chain(case, partial(hostile.hold_postgres, address=postgres), workspace)


@seed(12)
@settings(CHECKS, max_examples=10)
@given(case=hostile.cases(SPARK_KINDS, people=11, named=hostile.EVERYWHERE))
def test_spark_columns(workspace, spark, case):
    """The tables of a chain are counted in one job of Spark, each by the plan of a release."""
    # To compile the many small plans would take longer than to run them.
    quick = {"spark.sql.codegen.wholeStage": "false", "spark.sql.adaptive.enabled": "false"}
    quick |= {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name) for name in quick}
    try:
        for name, value in quick.items():
            spark.conf.set(name, value)
        hostile.check_spark_chain(case, spark, workspace)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def count_rows_of_persons(pairs, *, d, cap):
    """A broken counter: a person counts as often as it votes."""
    counted = pairs.aggregate('"row", count(person) AS votes', '"row"')
    return counting.scatter_counts(counted.fetchnumpy(), d=d)


def fold_persons(pairs, *, d, cap):
    """A broken counter: persons that differ in case share one cap."""
    folded = pairs.project('"row", lower(CAST(person AS VARCHAR)) AS person')
    return COUNT_PAIRS(folded, d=d, cap=1)


def hash_by_place(pairs, *, d, cap):
    """A broken counter: what a cap keeps depends on the other persons."""
    turn = 'row_number() OVER (PARTITION BY person ORDER BY hash("row", (SELECT count(*) FROM pairs)), "row") AS turn'
    kept = pairs.distinct().query("pairs", f'SELECT "row", {turn} FROM pairs').filter("turn <= 1")
    counted = kept.aggregate('"row", count(*) AS votes', '"row"')
    return counting.scatter_counts(counted.fetchnumpy(), d=d)


COUNT_PAIRS = counting.count_pairs


@pytest.mark.parametrize("broken", [count_rows_of_persons, fold_persons, hash_by_place])
def test_a_broken_counter_is_caught(broken, workspace, monkeypatch):
    """The property has the power to find what it is for."""
    monkeypatch.setattr(counting, "count_pairs", broken)

    @seed(13)
    @CHECKS
    @given(case=hostile.cases(["text"], people=PEOPLE, named=("cases",)))
    def check(case):
        hostile.check_chain(case, hostile.hold_arrow, workspace, exact=False)

    with pytest.raises(AssertionError):
        check()
