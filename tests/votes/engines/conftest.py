"""What the tests with hostile votes share: a workspace, and how each engine holds votes."""

from functools import partial

import hostile
import pytest

from shortlist.votes.duckdb import Workspace


@pytest.fixture(scope="module")
def workspace():
    return Workspace()


@pytest.fixture(scope="module")
def holders(tmp_path_factory):
    import duckdb
    import ibis

    folder = tmp_path_factory.mktemp("hostile")
    return {
        "arrow": hostile.hold_arrow,
        "dict": hostile.hold_dict,
        "pandas": hostile.hold_pandas,
        "polars": hostile.hold_polars,
        "parquet": partial(hostile.hold_parquet, folder=folder),
        "duckdb": partial(hostile.hold_duckdb, connection=duckdb.connect()),
        "ibis": partial(hostile.hold_ibis, backend=ibis.duckdb.connect()),
        "sqlite": hostile.hold_sqlite,
        "csv": partial(hostile.hold_text_file, folder=folder),
    }
