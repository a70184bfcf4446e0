"""One more person changes neither d nor an item, and every count by 0 or 1, whatever the person votes."""

from functools import partial

import hostile
import pytest
from hypothesis import HealthCheck, given, seed, settings

from shortlist.votes.workspace import Workspace

NOT_IN_POLARS = {"decimal 38,0"}
ENGINES = {
    "arrow": hostile.hold_arrow,
    "pandas": hostile.hold_pandas,
    "polars": hostile.hold_polars,
    "parquet": hostile.hold_parquet,
    "duckdb": hostile.hold_duckdb,
}
MIXED = {"pandas": hostile.hold_pandas, "dict": hostile.hold_dict, "sqlite": hostile.hold_sqlite}
PEOPLE = 12
CHECKS = settings(max_examples=70, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.fixture(scope="module")
def workspace():
    return Workspace()


@pytest.fixture(scope="module")
def holders(tmp_path_factory):
    import duckdb

    return {
        "parquet": partial(hostile.hold_parquet, folder=tmp_path_factory.mktemp("hostile")),
        "duckdb": partial(hostile.hold_duckdb, connection=duckdb.connect()),
    }


@pytest.mark.parametrize("engine", ENGINES)
@seed(8)
@CHECKS
@given(case=hostile.cases(sorted(hostile.KINDS), people=PEOPLE, smallest=PEOPLE))
def test_typed_columns(engine, workspace, holders, case):
    """Columns of every type, with a collation where the engine has one."""
    hostile.check_chain(case, holders.get(engine, ENGINES[engine]), workspace)


@pytest.mark.parametrize("engine", MIXED)
@seed(9)
@CHECKS
@given(case=hostile.cases([], people=PEOPLE, smallest=PEOPLE, mixed=True))
def test_mixed_columns(engine, workspace, case):
    """Columns that hold values of every type."""
    hostile.check_chain(case, MIXED[engine], workspace, exact=engine != "sqlite")
