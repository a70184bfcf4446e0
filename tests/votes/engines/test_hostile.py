"""One more person changes neither d nor an item, and every count by 0 or 1, whatever the person votes.

Each case is 8 tables, with and without each of three people, which are 12 pairs of neighbours.
"""

from functools import partial

import hostile
import pytest
from hypothesis import given, seed, settings

from shortlist.votes import duckdb as counting
from shortlist.votes.source import Request

pytestmark = pytest.mark.slow

ENGINES = ("arrow", "dict", "pandas", "polars", "parquet", "duckdb", "ibis", "sqlite")
MIXED = {
    "pandas": hostile.hold_pandas,
    "inferred": hostile.hold_inferred,
    "dict": hostile.hold_dict,
    "subclass": hostile.hold_subclass,
    "arrays": hostile.hold_arrays,
    "memtable": hostile.hold_memtable,
    "sqlite": hostile.hold_sqlite,
}
ANYTHING = ("arrow", "dict")
PEOPLE = {"fewest": 4, "people": 12}
CHECKS = settings(hostile.CHECKS, max_examples=33)


def draw_cases(engine):
    if engine in ANYTHING:
        return hostile.cases(sorted(hostile.KINDS), **PEOPLE, named=sorted(hostile.PERSONS))
    kinds = hostile.SQLITE_KINDS if engine == "sqlite" else hostile.COMMON
    return hostile.cases(kinds, **PEOPLE, named=hostile.EVERYWHERE if engine == "sqlite" else hostile.USUAL)


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_typed_columns(engine, workspace, holders):
    """Columns of every type, with a collation where the engine has one."""

    @seed(8)
    @CHECKS
    @given(case=draw_cases(engine))
    def check(case):
        hostile.check_cube(case, holders[engine], workspace, free=3, exact=engine != "sqlite")

    check()


@seed(10)
@CHECKS
@given(case=hostile.cases(["text"], **PEOPLE))
def test_text_files(workspace, holders, case):
    """Files in which everything is text."""
    hostile.check_cube(case, holders["csv"], workspace, free=3, exact=False, texts=True)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile.cases([], **PEOPLE, mixed=True))
def test_mixed_columns(engine, workspace, case):
    """Columns that hold values of every type, or whose type changes with one more person."""
    hostile.check_cube(case, MIXED[engine], workspace, free=3, exact=engine in ("pandas", "dict", "subclass", "arrays"))


@seed(11)
@settings(CHECKS, max_examples=9)
@given(case=hostile.cases(hostile.POSTGRES_KINDS, **PEOPLE))
def test_postgres_columns(workspace, postgres, case):
    """A real server, with a collation that takes A for a."""
    hostile.check_cube(case, partial(hostile.hold_postgres, address=postgres), workspace, free=3)


@seed(12)
@settings(CHECKS, max_examples=10)
@given(case=hostile.cases(hostile.SPARK_KINDS, people=11, named=hostile.EVERYWHERE))
def test_spark_columns(workspace, spark, case):
    """The tables of a chain are counted in one job of Spark, each by the plan of a release."""
    hostile.check_spark_chain(case, spark, workspace)


def count_rows_of_persons(pairs, request):
    """A broken counter: a person counts as often as it votes."""
    return pairs.aggregate("item, count(other) AS votes", "item")


def fold_persons(pairs, request):
    """A broken counter: persons that differ in case share one cap."""
    folded = pairs.project("item, lower(CAST(other AS VARCHAR)) AS other")
    return COUNT_GROUPS(folded, Request(item="track", other="user", cap=1))


def hash_by_place(pairs, request):
    """A broken counter: what a cap keeps depends on the other persons."""
    turn = "row_number() OVER (PARTITION BY other ORDER BY hash(item, (SELECT count(*) FROM pairs)), item) AS turn"
    kept = pairs.distinct().query("pairs", f"SELECT item, {turn} FROM pairs").filter("turn <= 1")
    return kept.aggregate("item, count(*) AS votes", "item")


COUNT_GROUPS = counting.count_groups


@pytest.mark.parametrize("broken", [count_rows_of_persons, fold_persons, hash_by_place])
def test_a_broken_counter_is_caught(broken, workspace, monkeypatch):
    """The property has the power to find what it is for."""
    monkeypatch.setattr(counting, "count_groups", broken)

    @seed(13)
    @CHECKS
    @given(case=hostile.cases(["text"], **PEOPLE, named=("cases",)))
    def check(case):
        hostile.check_cube(case, hostile.hold_arrow, workspace, free=3, exact=False)

    with pytest.raises(AssertionError):
        check()
