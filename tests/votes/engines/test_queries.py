"""Queries on database files, which stay as they are."""

import hashlib
import sqlite3
from contextlib import closing

import duckdb
import pytest
from tallying import tally

from shortlist import Query
from shortlist.errors import DataError, ParameterError


@pytest.fixture(params=["duckdb", "sqlite"])
def database(request, tmp_path):
    path = tmp_path / "log.db"
    connect = duckdb.connect if request.param == "duckdb" else sqlite3.connect
    connection = connect(str(path))
    connection.execute("CREATE TABLE log (user INTEGER, track TEXT)")
    connection.execute("INSERT INTO log VALUES (1, 'secret'), (2, 'secret'), (2, 'b')")
    connection.commit()
    connection.close()
    return path


def count(database, sql):
    return tally(Query(database, sql), person="user", item="track", domain=["secret", "b"])


def test_answers_a_query(database, all_items):
    """Any SELECT can be the table of votes."""
    counted = count(database, "SELECT user, track FROM log WHERE user > 1;")
    assert all_items(counted) == [(1, "b"), (1, "secret")]


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT * FROM nothing", "DROP TABLE log", "DELETE FROM log"])
def test_refuses_what_is_no_query(database, sql):
    """Only a SELECT is answered, and the file does not change."""
    before = hashlib.sha256(database.read_bytes()).digest()
    with pytest.raises(ParameterError, match="sql must be one SELECT"):
        count(database, sql)
    assert hashlib.sha256(database.read_bytes()).digest() == before


def test_names_missing_columns(database):
    """A query without the columns is told what it lacks."""
    with pytest.raises(DataError, match="must have a column 'track'"):
        count(database, "SELECT user, track AS song FROM log")


def test_shows_no_names_of_an_answer(database):
    """The columns of an answer may be made from values, so they are not shown."""
    with pytest.raises(DataError, match="must have a column 'track'") as caught:
        count(database, "SELECT user, track AS trackecret FROM log")
    assert "ecret" not in str(caught.value)


@pytest.mark.parametrize("end", ["; -- hi", ";\n/* hi; */ ;", " -- hi;", "-- ';\n;"])
def test_takes_what_may_follow_a_query(database, end):
    """A semicolon and comments may follow."""
    assert count(database, "SELECT user, track FROM log WHERE track <> ';'" + end)[0].d == 2


def test_refuses_a_column_that_is_there_twice(database):
    """Of two columns with one name, none is guessed."""
    with pytest.raises(DataError, match="each column once"):
        count(database, "SELECT user, track, track || user AS track FROM log")


def test_an_empty_answer_has_the_domains_type(database):
    """Without rows, the answer fits any domain."""
    sql = "SELECT user, user AS track FROM log WHERE user > 5"
    assert tally(Query(database, sql), person="user", item="track", domain=[7, 8])[0].d == 2


def test_refuses_files_that_the_query_cannot_read(tmp_path):
    """What an engine says of a file in a query does not cross."""
    (tmp_path / "bad.parquet").write_text("secret" * 9)
    duckdb.connect(str(tmp_path / "log.db")).close()
    with pytest.raises(DataError, match=r"the query could not be read \(InvalidInputException\)") as caught:
        count(tmp_path / "log.db", f"SELECT * FROM '{tmp_path / 'bad.parquet'}'")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("size", [90, 4096, 5000])
def test_refuses_a_torn_database(database, size):
    """A file that was cut is no fault of the query."""
    database.write_bytes(database.read_bytes()[:size])
    with pytest.raises(DataError, match="could not be read"):
        count(database, "SELECT user, track FROM log")


@pytest.mark.parametrize(
    "domain_sql",
    ["SELECT user, track FROM log", " SELECT user,\n track  FROM log ; ", "SELECT DISTINCT track FROM main.LOG"],
)
def test_refuses_the_query_of_the_votes_as_the_domain(database, domain_sql):
    """A domain that is asked for as the votes are is the votes."""
    votes, domain = Query(database, "SELECT user, track FROM log"), Query(database, domain_sql)
    with pytest.raises(ParameterError, match="the query reads the table of the votes"):
        tally(votes, domain=domain, person="user", item="track")


def test_takes_an_empty_answer(database, all_items):
    """No row is no vote."""
    assert all_items(count(database, "SELECT * FROM log WHERE user > 5")) == [(0, "b"), (0, "secret")]


def test_counts_columns_of_several_types(tmp_path, all_items):
    """SQLite lets a column hold anything; each value is matched by its own type."""
    path = tmp_path / "log.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE log (user, track)")
        rows = [(1, "secret"), (2, 7), ("2", 7.0), (b"2", b"7"), (3, None), (4, "7"), (5, 7.5)]
        connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
    connection.close()
    counted = tally(Query(path, "SELECT * FROM log"), person="user", item="track", domain=[7, 8])
    assert all_items(counted) == [(4, 7), (0, 8)]


def test_refuses_other_files(tmp_path):
    """A database is a DuckDB or SQLite file that is there."""
    (tmp_path / "log.db").write_text("something else")
    with pytest.raises(DataError, match="neither"):
        count(tmp_path / "log.db", "SELECT 1")
    with pytest.raises(DataError, match="nothing was found"):
        count(tmp_path / "other.db", "SELECT 1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"votes": None}, "votes must be given"),
        ({"votes": "log.csv", "votes_per_person": 0}, "votes_per_person must be a whole number from 1"),
        ({"votes": "log.csv", "votes_per_person": True}, "votes_per_person must be a whole number from 1"),
        ({"votes": "log.csv", "person": None, "count": "n", "votes_per_person": 1}, "must go with person"),
        ({"votes": "log.csv", "count": "plays"}, "person or count must be named, and only one of them; both were"),
        ({"votes": "log.csv", "person": None}, "person or count must be named, and only one of them; neither was"),
        ({"votes": "log.csv", "person": "track"}, "different columns"),
        ({"votes": "log.csv", "person": 0}, "person must be the name of a column"),
        ({"votes": "log.csv", "item": None}, "item must be the name of a column"),
        ({"votes": "log.csv", "domain_column": 1}, "domain_column must be the name of a column"),
    ],
)
def test_refuses_arguments_that_do_not_fit(arguments, message):
    """What contradicts itself is refused before anything is opened."""
    with pytest.raises(ParameterError, match=message):
        tally(**{"person": "user", "item": "track", "domain": ["a"], **arguments})


def test_refuses_what_is_no_table():
    """A number is no table of votes."""
    with pytest.raises(ParameterError, match="must be a pandas"):
        tally(7, person="user", item="track", domain=["a"])


def test_refuses_a_memory_limit_that_is_none():
    """The memory limit is a size."""
    with pytest.raises(ParameterError, match="memory_limit"):
        tally("log.csv", person="user", item="track", domain=["a"], memory_limit="plenty")
