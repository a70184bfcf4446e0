"""Schema, then charge, then data: no row of the votes is read before the ledger is charged."""

import sqlite3

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile import Connection
from pyarrow import parquet

from shortlist import Files, Ledger, Query
from shortlist.errors import BudgetError, ShortlistError
from shortlist.selection import select

TERMS = {"item": "track", "k": 1, "epsilon": 1, "domain": ["a", "b"]}


class Recorder:
    """How many charges the ledger had each time that a row was read."""

    def __init__(self, ledger):
        self.ledger, self.charges = ledger, []

    def rows(self, values):
        """A column that says when it is read."""
        return map(self.touch, values)

    def touch(self, value):
        """A function that says when it is called."""
        self.charges.append(len(self.ledger.charges))
        return value


class Column:
    """A column that can be read again, and says when it is."""

    def __init__(self, recorder, values):
        self._recorder, self._values = recorder, values

    def __iter__(self):
        return self._recorder.rows(self._values)


def as_dict(recorder, folder):
    return {"user": Column(recorder, [1, 2]), "track": Column(recorder, ["a", "b"])}


def as_pandas(recorder, folder):
    class Frame(pd.DataFrame):
        """A frame whose column of items says when it is asked for its values."""

        def __getitem__(self, name):
            found = super().__getitem__(name)
            return Column(recorder, list(found)) if name == "track" else found

    return Frame({"user": [1, 2], "track": ["a", "b"]})


def as_polars(recorder, folder):
    def see(batch):
        recorder.touch(None)
        return batch

    return pl.LazyFrame({"user": [1, 2], "track": ["a", "b"]}).map_batches(see, schema=None)


def as_polars_objects(recorder, folder):
    frame = pl.DataFrame({"user": [1, 2], "track": pl.Series(["a", "b"], dtype=pl.Object)}).lazy()
    return frame.map_batches(lambda batch: (recorder.touch(None), batch)[1], schema=None)


def as_arrow(recorder, folder):
    table = pa.table({"user": [1, 2], "track": ["a", "b"]})
    return pa.RecordBatchReader.from_batches(table.schema, recorder.rows(table.to_batches()))


def connect_duckdb(recorder):
    connection = duckdb.connect()
    connection.create_function("see", recorder.touch, ["BIGINT"], "BIGINT", side_effects=True)
    connection.execute("CREATE TABLE plays AS FROM (VALUES (1, 'a'), (2, 'b')) AS t (user, track)")
    return connection


def as_duckdb_relation(recorder, folder):
    return connect_duckdb(recorder).sql("SELECT see(user) AS user, track FROM plays")


def as_duckdb_query(recorder, folder):
    return Query(connect_duckdb(recorder), "SELECT see(user) AS user, track FROM plays")


def as_sqlite(recorder, folder):
    connection = sqlite3.connect(":memory:", factory=Connection, check_same_thread=False)
    connection.create_function("see", 1, recorder.touch)
    connection.execute("CREATE TABLE plays AS SELECT 1 AS user, 'a' AS track UNION ALL SELECT 2, 'b'")
    return Query(connection, "SELECT see(user) AS user, track FROM plays")


def as_ibis(recorder, folder):
    backend = pytest.importorskip("ibis").duckdb.connect()
    backend.con.create_function("see", recorder.touch, ["BIGINT"], "BIGINT", side_effects=True)
    backend.con.execute("CREATE TABLE plays AS FROM (VALUES (1, 'a'), (2, 'b')) AS t (user, track)")
    backend.con.execute("CREATE TEMP VIEW seen AS SELECT see(user) AS user, track FROM plays")
    return backend.table("seen")


def as_ibis_of_polars(recorder, folder):
    return pytest.importorskip("ibis").polars.connect({"plays": as_polars(recorder, folder)}).table("plays")


RECORDED = [
    as_dict,
    as_pandas,
    as_polars,
    as_polars_objects,
    as_arrow,
    as_duckdb_relation,
    as_duckdb_query,
    as_sqlite,
    as_ibis,
    as_ibis_of_polars,
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", RECORDED)
@pytest.mark.parametrize("more", [{}, {"votes_per_person": 1}, {"domain": None, "delta": "0.1"}, {"count": "user"}])
def test_the_charge_comes_before_the_first_row(make, more, tmp_path):
    """Whenever a row is read, the ledger has the charge. None is read if the budget is exhausted."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1, delta="0.2")
    recorder, columns = Recorder(ledger), {} if "count" in more else {"person": "user"}
    select(make(recorder, tmp_path), **columns, **{**TERMS, **more}, ledger=ledger)
    assert set(recorder.charges) == {1}
    recorder.charges.clear()
    with pytest.raises(BudgetError):
        select(make(recorder, tmp_path), **columns, **{**TERMS, **more}, ledger=ledger)
    assert recorder.charges == []


def as_bad_csv(folder):
    (folder / "votes.csv").write_bytes(b"user,track\n1,a\n2,\xff\n")
    return folder / "votes.csv"


def as_bad_recoded(folder):
    (folder / "votes.csv").write_bytes(b"user,track\n1,a\n2,\xff\xff\n")
    return Files(folder / "votes.csv", encoding="shift_jis")


def as_cut_zst(folder):
    rows = b"".join(b"%d,a\n" % (n * n * 7919 % 1_000_003) for n in range(300_000))
    packed = pa.compress(b"user,track\n" + rows, codec="zstd", asbytes=True)
    (folder / "votes.csv.zst").write_bytes(packed[:-5])
    return folder / "votes.csv.zst"


def as_bad_first_record(folder):
    (folder / "votes.csv").write_bytes(b"1,\xff\n2,a\n")
    return Files(folder / "votes.csv", header=False)


def as_bad_parquet(folder):
    table = pa.table({"user": list(range(9999)), "track": ["a"] * 9999})
    parquet.write_table(table, folder / "votes.parquet", compression="none", use_dictionary=False)
    data = bytearray((folder / "votes.parquet").read_bytes())
    data[4:40] = b"\xff" * 36
    (folder / "votes.parquet").write_bytes(bytes(data))
    return folder / "votes.parquet"


def as_uneven_dict(folder):
    return {"user": [1, 2], "track": ["a"]}


def as_bad_relation(folder):
    return duckdb.connect().sql("SELECT CAST(u AS BIGINT) AS user, 'a' AS track FROM (VALUES ('1'), ('x')) AS t (u)")


def as_array_of_json(folder):
    (folder / "votes.jsonl").write_text('[{"user": 1, "track": "a"}]\n{"user": 2, "track": "b"}\n')
    return folder / "votes.jsonl"


def as_packed_first_record(folder):
    (folder / "votes.csv").write_text("BZh91AY&SY,a\n2,a\n")
    return Files(folder / "votes.csv", header=False)


@pytest.mark.parametrize(
    "make",
    [as_cut_zst, as_bad_parquet, as_uneven_dict, as_bad_relation, as_array_of_json, as_packed_first_record],
)
def test_a_failure_on_a_row_is_paid_for(make, tmp_path):
    """What depends on a row is never told for free."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=9)
    names = {"person": "1", "item": "2"} if make is as_packed_first_record else {"person": "user"}
    with pytest.raises(ShortlistError):
        select(make(tmp_path), **{**TERMS, **names}, ledger=ledger)
    assert len(ledger.charges) == 1


@pytest.mark.parametrize("make", [as_bad_csv, as_bad_recoded, as_bad_first_record])
def test_a_bad_line_of_text_is_no_failure(make, tmp_path):
    """A line that cannot be read is found after the charge, and says nothing."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=9)
    names = {"person": "1", "item": "2"} if make is as_bad_first_record else {"person": "user"}
    assert len(select(make(tmp_path), **{**TERMS, **names}, ledger=ledger).items) == 1
    assert len(ledger.charges) == 1


def fail_on_postgres(postgres):
    return Query(postgres, "SELECT 1 / n AS user, 'a' AS track FROM generate_series(0, 3) AS s (n)")


def test_a_failure_on_a_server_is_paid_for(postgres, tmp_path):
    """A view is made and described before the charge, and no row of it is computed."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=9)
    with pytest.raises(ShortlistError):
        select(fail_on_postgres(postgres), **TERMS, person="user", ledger=ledger)
    assert len(ledger.charges) == 1


def test_a_failure_in_spark_is_paid_for(spark, tmp_path):
    """A plan is analysed before the charge, and no row of it is computed."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=9)
    frame = spark.sql("SELECT raise_error('no') AS user, 'a' AS track FROM range(3)")
    with pytest.raises(ShortlistError):
        select(frame.selectExpr("CAST(user AS INT) AS user", "track"), **TERMS, person="user", ledger=ledger)
    assert len(ledger.charges) == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("columns", [{"person": "usr"}, {"person": "user", "item": "trak"}])
def test_a_misspelt_column_is_free(columns, tmp_path):
    """All that names and types tell is checked before the charge."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=9)
    for make in RECORDED:
        with pytest.raises(ShortlistError):
            select(make(Recorder(ledger), tmp_path), **{**TERMS, **columns}, ledger=ledger)
    assert not ledger.charges
