"""Without a domain: one more person may bring items, and adds 0 or 1 to every count, whatever the person votes.

Each case is 8 tables, with and without each of three people, which are 12 pairs of neighbours.
"""

from functools import partial

import hostile
import pytest
from hostile_observed import check_cube, check_spark_chain
from hypothesis import given, seed, settings

from shortlist.votes import duckdb as counting

pytestmark = pytest.mark.slow

ENGINES = ("arrow", "pandas", "polars", "parquet", "duckdb", "ibis")
MIXED = {"pandas": hostile.hold_pandas, "dict": hostile.hold_dict, "sqlite": hostile.hold_sqlite}
PEOPLE = 6
CHECKS = settings(hostile.CHECKS, max_examples=8)


@pytest.mark.parametrize("engine", ["arrow", "polars"])
@seed(7)
@CHECKS
@given(case=hostile.cases(sorted(hostile.EXTREMES), people=PEOPLE, named=sorted(hostile.PERSONS)))
def test_extreme_columns(engine, workspace, holders, case):
    """Values that Python cannot hold are no items, whoever votes for them."""
    check_cube(case, holders[engine], workspace, free=3, exact=engine == "arrow")


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
@seed(8)
@CHECKS
@given(case=hostile.cases(hostile.COMMON, people=PEOPLE, named=hostile.USUAL))
def test_typed_columns(engine, workspace, holders, case):
    """Columns of every type, with a collation where the engine has one."""
    check_cube(case, holders[engine], workspace, free=3)


@seed(10)
@CHECKS
@given(case=hostile.cases(["text"], people=PEOPLE))
def test_text_files(workspace, holders, case):
    """Files in which everything is text."""
    check_cube(case, holders["csv"], workspace, free=3, exact=False, texts=True)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile.cases([], people=PEOPLE, mixed=True))
def test_mixed_columns(engine, workspace, case):
    """Columns that hold values of every type."""
    check_cube(case, MIXED[engine], workspace, free=3, exact=engine in ("pandas", "dict"))


@seed(11)
@settings(CHECKS, max_examples=5)
@given(case=hostile.cases(hostile.POSTGRES_KINDS, people=PEOPLE))
def test_postgres_columns(workspace, postgres, case):
    """A real server, with a collation that takes A for a."""
    check_cube(case, partial(hostile.hold_postgres, address=postgres), workspace, free=3)


@seed(12)
@settings(CHECKS, max_examples=2)
@given(case=hostile.cases(hostile.SPARK_KINDS, people=8))
def test_spark_columns(workspace, spark, case):
    """The tables of a chain are counted in one job of Spark, each by the plan of a release."""
    check_spark_chain(case, spark, workspace)


def count_rows_of_persons(pairs, request):
    """A broken counter: a person counts as often as it votes."""
    return pairs.aggregate("item, count(other) AS votes", "item")


def fold_items(pairs, request):
    """A broken counter: of items that differ in case, the largest is released."""
    counted = pairs.aggregate("lower(item) AS low, max(item) AS item, count(DISTINCT other) AS votes", "lower(item)")
    return counted.project("item, votes")


@pytest.mark.parametrize("broken", [count_rows_of_persons, fold_items])
def test_a_broken_counter_is_caught(broken, workspace, monkeypatch):
    """The property has the power to find what it is for."""
    monkeypatch.setattr(counting, "count_groups", broken)

    @seed(13)
    @settings(CHECKS, max_examples=50)
    @given(case=hostile.cases(["text"], people=PEOPLE))
    def check(case):
        check_cube(case, hostile.hold_arrow, workspace, free=3, exact=False)

    with pytest.raises(AssertionError):
        check()
