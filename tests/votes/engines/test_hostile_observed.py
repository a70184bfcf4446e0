"""Without a domain: one more person may bring items, and adds 0 or 1 to every count, whatever the person votes."""

from functools import partial

import hostile
import pytest
from hostile_observed import check_chain
from hypothesis import HealthCheck, Phase, given, seed, settings

pytestmark = pytest.mark.slow

ENGINES = ("arrow", "pandas", "polars", "parquet", "duckdb", "ibis")
MIXED = {"pandas": hostile.hold_pandas, "dict": hostile.hold_dict, "sqlite": hostile.hold_sqlite}
POSTGRES_KINDS = ["text", "int32", "float64", "decimal 5,2", "boolean", "date", "time", "instant us", "bytes"]
SPARK_KINDS = ["text", "int64", "decimal 20,5", "boolean", "date", "timestamp us", "instant us", "bytes"]
PEOPLE = 6
CHECKS = settings(
    max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate]
)


@pytest.mark.parametrize("engine", ["arrow", "polars"])
@seed(7)
@CHECKS
@given(case=hostile.cases(sorted(hostile.EXTREMES), people=PEOPLE, named=sorted(hostile.PERSONS)))
def test_extreme_columns(engine, workspace, holders, case):
    """Values that Python cannot hold are no items, whoever votes for them."""
    check_chain(case, holders[engine], workspace, exact=engine == "arrow")


@pytest.mark.filterwarnings("ignore:fetch_:DeprecationWarning")
@pytest.mark.parametrize("engine", ENGINES)
@seed(8)
@CHECKS
@given(case=hostile.cases(hostile.COMMON, people=PEOPLE, named=hostile.USUAL))
def test_typed_columns(engine, workspace, holders, case):
    """Columns of every type, with a collation where the engine has one."""
    check_chain(case, holders[engine], workspace)


@seed(10)
@CHECKS
@given(case=hostile.cases(["text"], people=PEOPLE))
def test_text_files(workspace, holders, case):
    """Files in which everything is text."""
    check_chain(case, holders["csv"], workspace, exact=False)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile.cases([], people=PEOPLE, mixed=True))
def test_mixed_columns(engine, workspace, case):
    """Columns that hold values of every type."""
    check_chain(case, MIXED[engine], workspace, exact=engine in ("pandas", "dict"))


@seed(11)
@settings(CHECKS, max_examples=5)
@given(case=hostile.cases(POSTGRES_KINDS, people=PEOPLE))
def test_postgres_columns(workspace, postgres, case):
    """A real server, with a collation that takes A for a."""
    check_chain(case, partial(hostile.hold_postgres, address=postgres), workspace)


@seed(12)
@settings(CHECKS, max_examples=2)
@given(case=hostile.cases(SPARK_KINDS, people=8))
def test_spark_columns(workspace, spark, case):
    """Spark counts what the rule says for each person of a table, and one person more is counted so too."""

    def hold(data):
        return hostile.hold_spark({**data, "number": [0] * len(data["user"])}, spark)

    check_chain(case, hold, workspace, first=len(case.people) - 1)
