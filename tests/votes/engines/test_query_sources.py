"""Queries on open connections, engines of SQLAlchemy and PostgreSQL servers."""

import sqlite3
import time
import traceback
from contextlib import closing

import duckdb
import pytest
from tallying import tally

from shortlist import Query
from shortlist.errors import DataError, ParameterError
from shortlist.selection import select

LOG = "SELECT * FROM plays"
ROWS = """INSERT INTO plays VALUES
    ('p1', 'a'), ('p1', 'a'), ('p2', 'a'), ('p2', 'b'), (NULL, 'b'), ('p3', NULL), ('p3', 'z')"""


def fill(connection):
    connection.execute("CREATE TABLE plays (u TEXT, item TEXT)")
    connection.execute(ROWS)


def counts(all_items, votes, **options):
    found = all_items(tally(votes, person="u", item="item", **{"domain": ["a", "b", "c"], **options}))
    return {item: count for count, item in found}


@pytest.mark.parametrize("connect", [duckdb.connect, sqlite3.connect], ids=["duckdb", "sqlite3"])
def test_open_connections(connect, all_items):
    """An open connection answers, also of tables that nobody committed, and is left as it was."""
    connection = connect(":memory:")
    fill(connection)
    if connect is sqlite3.connect:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes
    assert counts(all_items, Query(connection, LOG)) == {"a": 2, "b": 1, "c": 0}
    assert counts(all_items, Query(connection, LOG), domain=Query(connection, "SELECT 'a' AS item")) == {"a": 2}
    if connect is sqlite3.connect:
        assert (connection.row_factory, connection.text_factory) == (sqlite3.Row, bytes)
        assert connection.execute("SELECT count(*) FROM sqlite_temp_master").fetchone()[0] == 0
    connection.close()


def test_sqlalchemy_engines(tmp_path, all_items):
    """An engine of SQLAlchemy answers by its driver."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection, connection:
        fill(connection)
    connection.close()
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'log.db'}")
    assert counts(all_items, Query(engine, LOG)) == {"a": 2, "b": 1, "c": 0}
    assert counts(all_items, Query(engine, LOG), domain=Query(engine, "SELECT 'b' AS item")) == {"b": 1}
    engine.dispose()


def test_databases_that_have_no_engine(tmp_path, all_items, monkeypatch):
    """Any other database of SQLAlchemy hands its rows over."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'log.db'}")
    with engine.begin() as connection:
        for statement in ("CREATE TABLE plays (u TEXT, item TEXT)", ROWS):
            connection.exec_driver_sql(statement)
    monkeypatch.setattr(engine.dialect, "name", "another")
    assert counts(all_items, Query(engine, LOG)) == {"a": 2, "b": 1, "c": 0}
    assert counts(all_items, Query(engine, LOG), domain=Query(engine, "SELECT 'b' AS item")) == {"b": 1}
    engine.dispose()


@pytest.fixture(scope="module")
def plays(postgres):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS shop")
        connection.execute("DROP TABLE IF EXISTS shop.plays")
        connection.execute("CREATE TABLE shop.plays (u text, item text)")
        connection.execute(ROWS.replace("plays", "shop.plays"))
    return Query(postgres, "SELECT * FROM shop.plays -- all of it")


def wait_until(done):
    """Wait until something is so, for at most half a minute."""
    for _ in range(300):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def test_postgres_writes_nothing(plays, postgres, all_items):
    """The server holds the same tables before and after, and no transaction stays open."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        listing = "SELECT count(*) FROM pg_class"
        before = connection.execute(listing).fetchone()
        assert counts(all_items, plays) == {"a": 2, "b": 1, "c": 0}
        assert counts(all_items, plays, votes_per_person=1)["c"] == 0
        assert connection.execute(listing).fetchone() == before
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        # The server ends a process a little later than the client ends its connection.
        wait_until(lambda: connection.execute(others).fetchone() == (0,))


def test_postgres_by_sqlalchemy(plays, postgres, all_items):
    """An engine of SQLAlchemy lends its connection, or its address."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(postgres.replace("postgresql", "postgresql+psycopg"))
    domain = Query(engine, "SELECT unnest(ARRAY['a', 'b', 'a']) AS item")
    assert counts(all_items, Query(engine, plays.sql), domain=domain) == {"a": 2, "b": 1}
    engine.dispose()


def test_postgres_takes_counted_tables(plays, all_items):
    """Counts in a table of the server are taken as they are."""
    counted = Query(plays.database, "SELECT 'a' AS item, 7 AS n UNION ALL SELECT 'b', NULL")
    found = all_items(tally(counted, count="n", item="item", domain=["a", "b"]))
    assert found == [(7, "a"), (0, "b")]


@pytest.mark.parametrize(
    "sql", ["SELEC 1", "SELECT * FROM nothing", "DELETE FROM shop.plays", "SELECT 1; DROP TABLE shop.plays"]
)
def test_postgres_answers_one_select(plays, sql):
    """Anything but one SELECT is refused, and does nothing."""
    with pytest.raises(ParameterError, match="sql must be one SELECT"):
        tally(Query(plays.database, sql), person="u", item="item", domain=["a"])
    assert tally(plays, person="u", item="item", domain=["a"])[0].d == 1


def test_postgres_functions_write_nothing(plays):
    """The query runs in a transaction that only reads."""
    import psycopg

    with psycopg.connect(plays.database) as connection:
        body = "INSERT INTO shop.plays VALUES (''eve'', ''SECRET''); SELECT ''a''::text"
        connection.execute(f"CREATE OR REPLACE FUNCTION shop.spy() RETURNS text LANGUAGE sql AS '{body}'")
    with pytest.raises(DataError, match="could not be read") as caught:
        tally(Query(plays.database, "SELECT 'x' AS u, shop.spy() AS item"), person="u", item="item", domain=["a"])
    assert "SECRET" not in str(caught.value)


def test_a_release_from_postgres(plays):
    """A release names items by row numbers that the server finds."""
    made = select(plays, person="u", item="item", domain=["a", "b", "c"], k=3, epsilon=100, votes_per_person=2)
    assert sorted(made.items) == ["a", "b", "c"]
    assert made.parameters["votes_per_person"] == 2
    assert "hunter2" not in repr(plays) + repr(made)


@pytest.mark.parametrize(
    "address", ["postgresql://bob:hunter2@127.0.0.1:1/x", "postgresql://bob:hunter2@nowhere.invalid/x"]
)
def test_no_password_is_shown(address):
    """A server that cannot be reached gives an error without the address."""
    query = Query(address, LOG)
    with pytest.raises(DataError, match="PostgreSQL server that can be reached") as caught:
        tally(query, person="u", item="item", domain=["a"])
    shown = "".join(traceback.format_exception(caught.value)) + repr(query) + str(query)
    assert "hunter2" not in shown
    assert caught.value.__context__ is None


def test_other_databases_are_refused():
    """What is no database is named by its type, and an address that is unknown without its password."""
    with pytest.raises(ParameterError, match="not int"):
        Query(7, LOG)
    with pytest.raises(DataError, match="PostgreSQL address") as caught:
        tally(Query("mysql://bob:hunter2@db/x", LOG), person="u", item="item", domain=["a"])
    assert "hunter2" not in str(caught.value)
