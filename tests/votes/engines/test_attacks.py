"""Attacks on the guarantee that worked once."""

import sqlite3
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tallying import observe, tally

from shortlist import Query
from shortlist.errors import DataError, ParameterError

NAMES = ["counted", "domain", "votes", "places", "keys", "picked", "v", "k", "matched", "pairs", "item", "rows_read"]


def counts(all_items, votes, **options):
    found = all_items(tally(votes, **{"person": "u", "item": "item", **options}))
    return {item: count for count, item in found}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["duckdb", "sqlite", "postgres"])
def test_no_name_of_a_table_is_captured(kind, name, tmp_path, all_items, request):
    """A catalogue or a log may have any name: no table of ours is read in its place."""
    database = tmp_path / "a.db"
    if kind == "postgres":
        psycopg = pytest.importorskip("psycopg")
        database = request.getfixturevalue("postgres")
        connection = psycopg.connect(database, autocommit=True)
        connection.execute(f'DROP TABLE IF EXISTS plays, "{name}"')
    else:
        connection = (duckdb.connect if kind == "duckdb" else sqlite3.connect)(str(database))
    connection.execute("CREATE TABLE plays (u TEXT, item TEXT)")
    connection.execute("INSERT INTO plays VALUES ('p1', 'A'), ('p2', 'A'), ('eve', 'SECRET')")
    connection.execute(f'CREATE TABLE "{name}" (u TEXT, item TEXT)')
    connection.execute(f"INSERT INTO \"{name}\" VALUES ('p1', 'A'), ('p1', 'B'), ('p1', 'C')")
    if kind == "sqlite":
        connection.commit()
    connection.close()
    plays, other = Query(database, "SELECT * FROM plays"), Query(database, f'SELECT * FROM "{name}"')
    tracks, others = Query(database, "SELECT item FROM plays"), Query(database, f'SELECT item FROM "{name}"')
    assert counts(all_items, plays, domain=others) == {"A": 2, "B": 0, "C": 0}
    assert counts(all_items, other, domain=tracks) == {"A": 1, "SECRET": 0}


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "de"])
def test_a_collation_moves_no_votes(collation, all_items):
    """Under a collation, a vote for 'a' leaves the votes for 'A' where they are."""
    connection = duckdb.connect()
    if collation == "de":
        connection.execute("SET default_collation = 'NOCASE'")
    column = "TEXT" if collation == "de" else f"TEXT COLLATE {collation}"
    connection.execute(f"CREATE TABLE plays (u TEXT, item {column})")
    connection.execute("INSERT INTO plays SELECT 'p' || i, 'A' FROM range(50) AS r(i)")
    domain = ["A", "a", "ä"]
    assert counts(all_items, connection.table("plays"), domain=domain) == {"A": 50, "a": 0, "ä": 0}
    connection.execute("INSERT INTO plays VALUES ('eve', 'a')")
    assert counts(all_items, connection.table("plays"), domain=domain) == {"A": 50, "a": 1, "ä": 0}
    assert counts(all_items, Query(connection, "FROM plays"), domain=domain) == {"A": 50, "a": 1, "ä": 0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_collation_behind_ibis(tmp_path, all_items):
    """Where the backend decides what is equal, one person still adds at most 1 to each item."""
    ibis = pytest.importorskip("ibis")
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection, connection:
        connection.execute("CREATE TABLE plays (u TEXT, item TEXT COLLATE NOCASE)")
        connection.executemany("INSERT INTO plays VALUES (?, 'A')", [(f"p{number}",) for number in range(50)])
    connection.close()
    backend = ibis.sqlite.connect(tmp_path / "log.db")
    before = counts(all_items, backend.table("plays"), domain=["A", "a"])
    backend.con.execute("INSERT INTO plays VALUES ('eve', 'a'), ('eve', 'A')")
    after = counts(all_items, backend.table("plays"), domain=["A", "a"])
    assert {after[item] - before[item] for item in before} <= {0, 1}
    backend.disconnect()


def test_mixed_values_change_no_domain(all_items):
    """A datetime among dates does not add an item."""
    items = pd.Series([date(2020, 1, 1)] * 50 + [datetime(2020, 1, 1, 5)], dtype=object)
    votes = pd.DataFrame({"u": range(51), "item": items})
    found = counts(all_items, votes, domain=[date(2020, 1, 1), date(2020, 1, 2)])
    assert found == {date(2020, 1, 1): 50, date(2020, 1, 2): 0}


def test_a_scale_does_not_leak(all_items):
    """Items have the scale of the domain, whatever anybody votes for."""
    domain = [Decimal("1.5"), Decimal("2.5")]
    for items in ([Decimal("1.5")], [Decimal("1.5"), Decimal("9.12345")]):
        votes = pa.table({"u": range(len(items)), "item": items})
        found = counts(all_items, votes, domain=domain)
        assert [str(item) for item in found] == ["1.5", "2.5"]
        assert list(found.values()) == [1, 0]


@pytest.mark.parametrize("sql", ["SELECT 'x' AS u, json_extract(item, path) AS item FROM docs"])
def test_the_text_of_an_error_in_a_row_does_not_cross(tmp_path, sql):
    """SQLite quotes values in the errors of a running query."""
    with closing(sqlite3.connect(tmp_path / "log.db")) as connection, connection:
        connection.execute("CREATE TABLE docs (item TEXT, path TEXT)")
        connection.execute("INSERT INTO docs VALUES ('{}', 'SECRET-DIAGNOSIS')")
    connection.close()
    with pytest.raises(DataError, match="could not be read") as caught:
        tally(Query(tmp_path / "log.db", sql), person="u", item="item", domain=["a"])
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("hold", [pa.table, pd.DataFrame, lambda columns: columns], ids=["arrow", "pandas", "dict"])
def test_both_zeros_are_one_person(hold, all_items):
    """0.0 and −0.0 are one person, and NaN is nobody."""
    votes = hold({"u": pa.array([0.0, -0.0, float("nan")]), "item": pa.array(["a"] * 3)})
    if isinstance(votes, pd.DataFrame):
        votes = pd.DataFrame({"u": [0.0, -0.0, float("nan")], "item": ["a"] * 3})
    assert counts(all_items, votes, domain=["a"]) == {"a": 1}


MOMENTS = ["2024-01-01T00:00:00.000000001", "2024-01-01T00:00:00.000000002"]


@pytest.mark.parametrize(
    "persons",
    [
        pd.Series([1, 2]),
        pd.Series([2**53, 2**53 + 1]),
        pd.Series([0.5, 1.5], dtype="float32"),
        pd.Series([True, False]),
        pd.Series(pd.to_datetime(MOMENTS)),
        pd.Series(pd.to_datetime(MOMENTS, utc=True)),
        pd.Series(pd.to_timedelta([1, 2], "ns")),
        pd.Series(pd.period_range("2024-01", periods=2, freq="M")),
        pd.Series([1, 2], dtype="category"),
        pd.Series([1, 2], dtype="Int64"),
    ],
    ids=lambda persons: str(persons.dtype),
)
def test_one_text_among_persons_changes_no_other(persons, all_items):
    """A text makes objects of a pandas column; the other persons stay as many as they were."""
    plain = pd.DataFrame({"u": persons, "item": ["a", "a"]})
    mixed = pd.DataFrame({"u": pd.Series([*persons.astype(object), "eve"], dtype=object), "item": ["a", "a", "b"]})
    before, after = (counts(all_items, votes, domain=["a", "b"]) for votes in (plain, mixed))
    assert after == {**before, "b": 1}


@pytest.mark.parametrize(
    ("items", "domain"),
    [
        (pd.Series([2.0**25, 7.0], dtype="float32"), [2**25, 7]),
        (pd.Series([2**60, 7], dtype="uint64"), [2**60, 7]),
        (
            pd.Series(pd.to_datetime(["2024-01-01T00:00:00.000000000", MOMENTS[0]])),
            [datetime(2024, 1, 1), datetime(2025, 1, 1)],
        ),
        (pd.Series([True, False]), [True, False]),
        (pd.Series([7, 8], dtype="category"), ["7", "8"]),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, pd.Series) else "",
)
def test_one_text_among_items_changes_no_other(items, domain, all_items):
    """A text makes objects of a pandas column; the votes for other items stay where they were."""
    plain = pd.DataFrame({"u": [1, 2], "item": items})
    mixed = pd.DataFrame({"u": [1, 2, 3], "item": pd.Series([*items.astype(object), "eve"], dtype=object)})
    before, after = (counts(all_items, votes, domain=domain) for votes in (plain, mixed))
    assert after == before


@pytest.mark.parametrize("cap", [None, 2])
@pytest.mark.parametrize("more", [8 + 0j, 9 + 1j, None])
@pytest.mark.parametrize("library", ["pandas", "numpy"])
def test_one_complex_number_changes_no_other(all_items, library, more, cap):
    """pandas and NumPy turn a column of whole numbers with one complex number into complex numbers."""
    hold = pd.Series if library == "pandas" else np.array

    def count(users, items):
        votes = {"user": hold(users), "track": hold(items)}
        return all_items(tally(votes, person="user", item="track", domain=[7, 8], votes_per_person=cap))

    assert count([1, 2, 3], [7, 7, 8]) == [(2, 7), (1, 8)]
    assert count([1, 2, 3, 4], [7, 7, 8, more]) == [(2, 7), (2 if more == 8 else 1, 8)]
    assert count([1, 2, 3, more], [7, 7, 8, 8]) == [(2, 7), (2 if more == 8 else 1, 8)]
    assert count([1, 2, 3, 2 + 0j], [7, 7, 8, 7]) == [(2, 7), (1, 8)]


@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_no_nanosecond_is_rounded(library, all_items):
    """A time of day that is a nanosecond off matches nothing, and a person who is one off is another person."""
    noon = 12 * 3600 * 10**9
    items = pa.array([noon, noon + 1, noon], pa.int64()).cast(pa.time64("ns"))
    votes = pa.table({"u": pa.array([1, 2, 3], pa.duration("ns")), "item": items})
    if library == "polars":
        votes = pytest.importorskip("polars").from_arrow(votes)
    assert counts(all_items, votes, domain=[time(12), time(13)]) == {time(12): 2, time(13): 0}


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
def test_numbers_that_are_too_large_are_ignored(kind, all_items):
    """A number that Arrow cannot hold is no error, neither as an item nor as a person."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE plays (u {kind}, item {kind})")
    largest = 2**127 - 1
    connection.execute(f"INSERT INTO plays VALUES (1, 7), ({largest}, 7), ({largest - 1}, 7), (2, {largest}), (3, 8)")
    for votes in (connection.table("plays"), Query(connection, "FROM plays")):
        assert counts(all_items, votes, domain=[7, 8]) == {7: 3, 8: 1}


@pytest.mark.parametrize("hold", [pd.DataFrame, dict])
def test_lists_among_the_votes(hold, all_items):
    """Values that are no single values match nothing, in columns that hold nothing else, too."""
    votes = hold({"u": [1, 2], "item": [["a"], ["a"]]})
    assert counts(all_items, votes, domain=["a"]) == {"a": 0}
    votes = hold({"u": [["a"], ["a"]], "item": ["a", "a"]})
    assert counts(all_items, votes, domain=["a"]) == {"a": 0}


@pytest.mark.parametrize("rows", [0, 1, 1000])
def test_errors_do_not_depend_on_the_number_of_rows(rows):
    """Types that cannot match are refused, with and without votes."""
    votes = pa.table({"u": pa.array(range(rows), pa.int64()), "item": pa.array([date(2020, 1, 1)] * rows, pa.date32())})
    with pytest.raises(DataError, match="whole numbers; it holds dates"):
        tally(votes, person="u", item="item", domain=[7])
    assert tally(votes, person="u", item="item", domain=["7"])[0].d == 1


def test_the_votes_own_file_is_no_domain(tmp_path):
    """A query on a file of the votes is the votes."""
    (tmp_path / "plays.csv").write_text("u,item\n1,a\n")
    duckdb.connect(str(tmp_path / "a.duckdb")).close()
    domain = Query(tmp_path / "a.duckdb", f"SELECT DISTINCT item FROM '{tmp_path / 'plays.csv'}'")
    with pytest.raises(ParameterError, match="reads a file of the votes"):
        tally(tmp_path / "plays.csv", person="u", item="item", domain=domain)


@pytest.mark.parametrize("cap", [None, 1])
@pytest.mark.parametrize(
    ("kind", "values"),
    [("tenths", ["1.0", "1.00"]), ("reals", ["0", "-0"]), ("days", []), ("pair", []), ("numrange", []), ("jsonb", [])],
)
def test_persons_of_rare_types_of_a_server(postgres, all_items, kind, values, cap):
    """A domain of a domain has the type at its base; values with parts, which have several texts, are no persons."""
    with pytest.importorskip("psycopg").connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rare CASCADE; CREATE SCHEMA rare; SET search_path = rare")
        for domain, base in (("tenths", "numeric"), ("reals", "float8"), ("days", "interval")):
            connection.execute(f"CREATE DOMAIN base_{domain} AS {base}; CREATE DOMAIN {domain} AS base_{domain}")
        connection.execute(f"CREATE TYPE pair AS (a numeric, b numeric); CREATE TABLE plays (u {kind}, t text)")
        for value in values:
            connection.execute("INSERT INTO plays VALUES (%s, 'a'), (%s, 'b')", (value, value))
    votes, options = Query(postgres, "SELECT * FROM rare.plays"), {"person": "u", "item": "t", "votes_per_person": cap}
    if not values:
        with pytest.raises(DataError, match="must hold persons as plain values"):
            tally(votes, **options, domain=["a", "b"])
        return
    for counted in (tally(votes, **options, domain=["a", "b"]), observe(votes, **options)):
        assert sum(count for count, _ in all_items(counted)) == (2 if cap is None else 1)
