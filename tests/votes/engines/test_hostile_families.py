"""One more person changes at most c groups and m cells of a family, each by 1, whatever the person votes.

Each case is 8 tables, with and without each of three people, which are 12 pairs of neighbours.
"""

from functools import partial

import hostile
import hostile_families
import pytest
from hypothesis import given, seed, settings

from shortlist.votes.source import Request

pytestmark = pytest.mark.slow

ENGINES = ("arrow", "dict", "pandas", "polars", "parquet", "duckdb", "ibis", "sqlite")
MIXED = ("pandas", "inferred", "dict", "subclass", "arrays", "memtable", "sqlite")
PEOPLE = {"fewest": 4, "people": 8}
CHECKS = settings(hostile.CHECKS, max_examples=15)


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_typed_groups(engine, workspace, holders):
    """Columns of groups of every type, with a collation where the engine has one."""
    kinds = hostile.SQLITE_KINDS if engine == "sqlite" else hostile.COMMON
    kinds = sorted(hostile.KINDS) if engine in ("arrow", "dict") else kinds

    @seed(8)
    @CHECKS
    @given(case=hostile_families.families(kinds, **PEOPLE))
    def check(case):
        hostile_families.check_cube(case, holders[engine], workspace, exact=engine != "sqlite")

    check()


@seed(10)
@CHECKS
@given(case=hostile_families.families(["text"], **PEOPLE))
def test_text_files(workspace, holders, case):
    """Files in which everything is text."""
    hostile_families.check_cube(case, holders["csv"], workspace, exact=False)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile_families.families(mixed=True, **PEOPLE))
def test_mixed_groups(engine, workspace, case):
    """Columns of groups that hold values of every type, or whose type changes with one more person."""
    exact = engine in ("pandas", "dict", "subclass", "arrays")
    hostile_families.check_cube(case, getattr(hostile, f"hold_{engine}"), workspace, exact=exact)


@seed(11)
@settings(CHECKS, max_examples=9)
@given(case=hostile_families.families(hostile.POSTGRES_KINDS, **PEOPLE))
def test_postgres_groups(workspace, postgres, case):
    """A real server, with a collation that takes A for a."""
    hostile_families.check_cube(case, partial(hostile.hold_postgres, address=postgres), workspace)


@seed(12)
@settings(CHECKS, max_examples=8)
@given(case=hostile_families.families(hostile.SPARK_KINDS, people=8))
def test_spark_groups(workspace, spark, case):
    """The tables of a chain are counted in one job of Spark, each by the plan of a release."""
    hostile_families.check_spark_chain(case, spark, workspace)


STRICT = (lambda case: case.c == 1 and case.cap is None, lambda case: case.cap is not None and case.cap < case.c)
"""Whether few groups are kept of a person, or few cells."""


@pytest.mark.parametrize("limit", [0, 1], ids=["groups", "cells"])
def test_a_missing_limit_is_caught(limit, workspace, monkeypatch):
    """The property has the power to find what it is for, with cases in which this limit is the stricter one."""
    limits = Request.limits.fget

    def forget(request):
        kept = list(limits(request))
        return [each for each in kept if (each[0] == ("group_number",)) == bool(limit)]

    monkeypatch.setattr(Request, "limits", property(forget))

    @seed(13)
    @settings(CHECKS, max_examples=100)
    @given(case=hostile_families.families(["text"], forms=["domain"], **PEOPLE).filter(STRICT[limit]))
    def check(case):
        hostile_families.check_cube(case, hostile.hold_arrow, workspace, exact=False)

    with pytest.raises(AssertionError, match="too many groups" if not limit else "too many cells"):
        check()
