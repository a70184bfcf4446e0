"""Attacks that gave one person more weight than a cap allows, or took persons for others."""

import sqlite3
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tallying import tally

from shortlist import Query
from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.votes.source import scatter_counts

DOMAIN = [f"i{number:02}" for number in range(20)]
ROWS = [(f"p{number:03}", item) for number in range(100) for item in (DOMAIN[:10] if number % 2 else DOMAIN[10:])]


def counts(all_items, votes, domain, **options):
    found = all_items(tally(votes, **{"person": "u", "item": "item", "domain": domain, **options}))
    return {item: count for count, item in found}


def changes(all_items, make, **options):
    """What one person changes who stands before all others and votes for one item."""
    before, after = (
        counts(all_items, make(rows), DOMAIN, votes_per_person=1, **options) for rows in (ROWS, [("a", "i00"), *ROWS])
    )
    return {item: after[item] - before[item] for item in DOMAIN if after[item] != before[item]}


def as_raw_text(values):
    """An Arrow column of text that is not checked to be UTF-8."""
    held = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


def test_a_person_that_is_no_text(all_items):
    """Bytes that are no UTF-8 do not decide which row a window names."""
    persons, items = [b"p%d" % number for number in range(500)], [DOMAIN[number % 18] for number in range(500)]
    before = counts(all_items, pa.table({"u": as_raw_text(persons), "item": items}), DOMAIN, votes_per_person=1)
    for row in range(-20, 0):
        tail = bytes((byte - 1) % 256 for byte in (row + (1 << 63)).to_bytes(8, "big"))
        eve = pa.table({"u": as_raw_text([*persons, b"e\xff\x01\x00" + tail]), "item": [*items, "i00"]})
        after = counts(all_items, eve, DOMAIN, votes_per_person=1)
        assert after == {**before, "i00": before["i00"] + 1}


@pytest.mark.parametrize("rows", [[-1, 0], [0, 3], [1, 1], np.ma.masked_array([0, 1], [False, True])])
def test_rows_that_the_domain_has_not(rows):
    with pytest.raises(ChangedError, match="counted once"):
        scatter_counts(rows, [1, 1], d=3)


def as_columns(rows):
    return {"u": [person for person, _ in rows], "item": [item for _, item in rows]}


def as_category(rows):
    return pd.DataFrame(as_columns(rows)).astype({"u": "category"})


def as_dictionary(rows):
    return pa.table({"u": pa.array(as_columns(rows)["u"]).dictionary_encode(), "item": as_columns(rows)["item"]})


def as_enum_query(rows):
    connection = duckdb.connect()
    connection.register("source", as_category(rows))
    connection.execute("CREATE TABLE plays AS FROM source")
    return Query(connection, "FROM plays")


def as_enum_relation(rows):
    return as_enum_query(rows).database.table("plays")


def as_dictionary_query(rows):
    connection = duckdb.connect()
    connection.register("plays", as_dictionary(rows))
    return Query(connection, "FROM plays")


def as_ibis(rows):
    backend = pytest.importorskip("ibis").duckdb.connect()
    backend.con.register("source", as_category(rows))
    backend.raw_sql("CREATE TABLE plays AS FROM source")
    return backend.table("plays")


def as_polars_enum(rows):
    return pl.DataFrame(as_columns(rows)).with_columns(pl.col("u").cast(pl.Enum(sorted(set(as_columns(rows)["u"])))))


def as_polars_categories(rows):
    return pl.LazyFrame(as_columns(rows)).with_columns(pl.col("u").cast(pl.Categorical))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "make",
    [
        as_category,
        as_dictionary,
        as_enum_query,
        as_enum_relation,
        as_dictionary_query,
        as_ibis,
        as_polars_enum,
        as_polars_categories,
    ],
)
def test_codes_of_categories_do_not_choose_votes(make, all_items):
    """The code of a category depends on other persons, so no hash may depend on it."""
    assert changes(all_items, make) == {"i00": 1}


@pytest.mark.parametrize("rows", [2, 0])
def test_lists_and_structures_are_no_persons(rows):
    """They are refused by their type, with and without rows."""
    kinds = {"u": pl.List(pl.String), "item": pl.String}
    frame = pl.DataFrame({"u": [["a"], ["b"]][:rows], "item": ["a", "a"][:rows]}, kinds)
    first, second = duckdb.connect(), duckdb.connect()
    for connection in (first, second):
        connection.register("plays", frame.to_arrow())
    nested = [frame, frame.lazy(), frame.to_arrow(), frame.with_columns(u=pl.struct("u")).to_arrow()]
    nested += [
        first.table("plays"),
        Query(second, "FROM plays"),
        Query(second, "SELECT {'a': u} AS u, item FROM plays"),
    ]
    for votes in nested:
        with pytest.raises(DataError, match="persons as plain values; it holds lists, structures, intervals"):
            tally(votes, person="u", item="item", domain=["a"])


def test_an_object_column_of_polars_is_collected_once(all_items):
    """Two collections of a lazy frame may come in two orders, and would pair persons with items of others."""
    frame = pl.DataFrame({"u": [1] * 100 + list(range(2, 102)), "item": ["a"] * 100 + ["b"] * 100})
    shuffled = frame.lazy().map_batches(lambda batch: batch.sample(fraction=1, shuffle=True))
    objects = pl.col("item").map_batches(
        lambda each: pl.Series(each.to_list(), dtype=pl.Object), return_dtype=pl.Object
    )
    assert counts(all_items, shuffled.with_columns(objects), ["a", "b"]) == {"a": 1, "b": 100}


def persons_in_cases(rows):
    """Persons that a collation takes for one: p000 and P000 vote for different items."""
    return [*rows, *((person.upper(), "i19" if item < "i10" else "i00") for person, item in rows[:40])]


def as_folding_sqlite(rows):
    backend = pytest.importorskip("ibis").sqlite.connect()
    backend.con.execute("CREATE TABLE plays (u TEXT COLLATE NOCASE, item TEXT COLLATE NOCASE)")
    backend.con.executemany("INSERT INTO plays VALUES (?, ?)", rows)
    return backend.table("plays")


def as_folding_duckdb(rows):
    backend = pytest.importorskip("ibis").duckdb.connect()
    backend.con.execute("CREATE TABLE plays (u VARCHAR COLLATE NOCASE, item VARCHAR COLLATE NOCASE)")
    backend.con.executemany("INSERT INTO plays VALUES (?, ?)", rows)
    return backend.table("plays")


def as_folding_polars(rows):
    return pytest.importorskip("ibis").polars.connect({"plays": pl.DataFrame(as_columns(rows))}).table("plays")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", [as_folding_sqlite, as_folding_duckdb, as_folding_polars])
def test_persons_behind_ibis_are_bytes(make, all_items):
    """A cap belongs to one person, also where the backend takes another one for the same."""
    rows = persons_in_cases(ROWS)
    table = make(rows)
    own, given = (counts(all_items, votes, DOMAIN, votes_per_person=1) for votes in (as_columns(rows), table))
    assert sum(own.values()) == sum(given.values()) == 104
    table.get_backend().disconnect()


def test_persons_of_a_server_are_bytes(postgres, all_items):
    """Text is compared by its bytes, whatever its collation; equal numbers are one person, however they are written."""
    with pytest.importorskip("psycopg").connect(postgres, autocommit=True) as connection:
        collation = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        connection.execute(f"CREATE COLLATION IF NOT EXISTS case_insensitive ({collation})")
        connection.execute("DROP TABLE IF EXISTS folded; DROP TABLE IF EXISTS scaled; DROP TABLE IF EXISTS endless")
        connection.execute('CREATE TABLE folded (u text COLLATE "case_insensitive", item text)')
        connection.cursor().executemany("INSERT INTO folded VALUES (%s, %s)", persons_in_cases(ROWS))
        connection.execute("CREATE TABLE scaled AS SELECT u, 'i0' || n AS item FROM generate_series(0, 9) AS n, "
                           "(VALUES (1.0::numeric), (1.00), (1)) AS v (u)")  # fmt: skip
        connection.execute("CREATE TABLE endless AS SELECT d::date AS item, 5 AS n FROM "
                           "(VALUES ('infinity'), ('2024-02-29'), ('4000-01-01 BC')) AS v (d)")  # fmt: skip
    folded = counts(all_items, Query(postgres, "SELECT * FROM folded"), DOMAIN, votes_per_person=1)
    assert sum(folded.values()) == 104
    for cap, expected in ((None, 10), (3, 3)):
        scaled = counts(all_items, Query(postgres, "SELECT * FROM scaled"), DOMAIN, votes_per_person=cap)
        assert sum(scaled.values()) == expected
    endless = Query(postgres, "SELECT * FROM endless")
    assert counts(all_items, endless, ["2024-02-29"], person=None, count="n") == {"2024-02-29": 5}
    reading = Query(f"{postgres}&options=-c%20default_transaction_read_only%3Don", "SELECT * FROM folded")
    assert sum(counts(all_items, reading, DOMAIN, votes_per_person=1).values()) == 104


@pytest.mark.parametrize("eve", ["x", 2.7, True, None, "\ud800"], ids=ascii)
@pytest.mark.parametrize("persons", [range(40), [number / 2 for number in range(40)]], ids=["whole", "floats"])
def test_the_type_of_a_column_chooses_no_vote(persons, eve, all_items):
    """One value makes objects or floats of a column of pandas, and keeps the votes of all others."""
    rows = [(person, item) for person in persons for item in DOMAIN]
    before = counts(all_items, pd.DataFrame(as_columns(rows)), DOMAIN, votes_per_person=1)
    columns = as_columns([*rows, (eve, "i00")])
    kind = object if eve == "\ud800" else None
    after = counts(all_items, pd.DataFrame({**columns, "u": pd.Series(columns["u"], dtype=kind)}), DOMAIN,
                   votes_per_person=1)  # fmt: skip
    assert after == {**before, "i00": before["i00"] + (eve is not None)}


def test_intervals_are_no_persons():
    """An interval equals others that are written differently."""
    connection = duckdb.connect()
    votes = Query(connection, "SELECT INTERVAL 1 MONTH AS u, 'a' AS item")
    with pytest.raises(DataError, match="lists, structures, intervals"):
        tally(votes, person="u", item="item", domain=["a"])


def test_an_error_in_a_query_repeats_no_value(tmp_path):
    """The columns of a CSV file without a header are called like its first vote."""
    (tmp_path / "votes.csv").write_text("SECRET,OTHER\n1,2\n")
    sql = f"SELECT SECRE AS u, item FROM read_csv('{tmp_path}/votes.csv', header = true)"
    with pytest.raises(ParameterError, match="SECRE") as caught:
        tally(Query(duckdb.connect(), sql), person="u", item="item", domain=["a"])
    assert "SECRET" not in str(caught.value)


MACROS = ["isnan(x) AS true", "hash(a, b) AS 1", "count(x) AS 7", "row_number() AS 1", "encode(x) AS 'a'::BLOB"]
MACROS += ["trunc(x) AS 0", "max(x) AS 7", "regexp_matches(a, b) AS false"]


@pytest.mark.parametrize("macro", MACROS)
@pytest.mark.parametrize("kind", ["connection", "file"])
def test_macros_of_the_database_are_not_ours(kind, macro, tmp_path, all_items):
    """A macro in the user's database may have the name of a function that we call."""
    connection = duckdb.connect(str(tmp_path / "a.duckdb"))
    connection.execute("CREATE TABLE plays AS SELECT i::DOUBLE AS u, 'p' || i AS t, 'a' AS item FROM range(9) AS r(i)")
    connection.execute("CREATE TABLE counted AS SELECT 5.0::DOUBLE AS u, '5' AS t, 'a' AS item")
    connection.execute(f"CREATE MACRO {macro}")
    database = connection
    if kind == "file":
        connection.close()
        database = tmp_path / "a.duckdb"
    plays, counted = Query(database, "FROM plays"), Query(database, "FROM counted")
    for person in ("u", "t"):
        for options in ({}, {"votes_per_person": 1}):
            assert counts(all_items, plays, ["a", "b"], **options, person=person) == {"a": 9, "b": 0}
        assert counts(all_items, counted, ["a", "b"], person=None, count=person) == {"a": 5, "b": 0}


def test_functions_of_the_server_are_not_ours(postgres, all_items):
    """A function of the user may have the name of one that we call, and better fitting types."""
    with pytest.importorskip("psycopg").connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS shadowed; CREATE TABLE shadowed (u text, item text)")
        connection.execute("INSERT INTO shadowed SELECT 'p' || i, 'a' FROM generate_series(1, 9) AS i")
        body = "(a bigint, b integer) RETURNS SETOF bigint LANGUAGE sql AS 'SELECT 0::bigint'"
        connection.execute(f"CREATE OR REPLACE FUNCTION public.generate_series{body}")
        try:
            for options in ({}, {"votes_per_person": 1}):
                votes = Query(postgres, "SELECT * FROM shadowed")
                assert counts(all_items, votes, ["a", "b"], **options) == {"a": 9, "b": 0}
        finally:
            connection.execute("DROP FUNCTION public.generate_series(bigint, integer); DROP TABLE shadowed")


def test_names_of_columns_choose_no_converter(all_items):
    """A connection of sqlite3 may convert values by what stands in brackets in the name of a column."""
    sqlite3.register_converter("shortlist_upper", lambda data: data.upper())
    connection = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_COLNAMES)
    connection.execute('CREATE TABLE plays (u TEXT, "item [shortlist_upper]" TEXT)')
    connection.execute("INSERT INTO plays VALUES ('p1', 'a'), ('p2', 'a')")
    votes = Query(connection, "SELECT * FROM plays")
    assert counts(all_items, votes, ["a", "A", "item"]) == {"a": 2, "A": 0, "item": 0}
    connection.close()


@pytest.mark.parametrize(
    "database",
    [
        "postgresql://bob:SECRET@SECRET@db/x",
        "postgresql://bob:SECRET/?@db/x?password=SECRET",
        "host=db password=SECRET",
        "postgresql://bob@db/x?password=a@SECRET",
        "POSTGRESQL://bob:SECRET@db/x",
        "postgresql:/bob:SECRET@db/x",
        "postgresql:\\\\bob:SECRET@db/x",
    ],
)
def test_no_part_of_a_password_is_shown(database):
    assert "SECRET" not in repr(Query(database, "SELECT 1"))


@pytest.mark.parametrize("cap", [None, 1])
@pytest.mark.parametrize(
    ("kind", "values", "votes"),
    [
        (pa.decimal32(5, 2), [Decimal("1.5"), Decimal("1.50"), Decimal("2")], 2),
        (pa.month_day_nano_interval(), [None, (1, 2, 3), (1, 2, 3)], 0),
        (pa.decimal256(50, 3), [Decimal(10**40), Decimal(10**40), Decimal(1)], 2),
        (pa.dictionary(pa.int8(), pa.list_(pa.int8())), [None, None, None], 0),
    ],
)
def test_persons_of_rare_arrow_types_in_a_dict(all_items, kind, values, votes, cap):
    """A column of a rare type is read value by value; what is no person is ignored."""
    array = pa.nulls(3, kind) if pa.types.is_dictionary(kind) else pa.array(values, kind)
    counted = tally({"u": array, "t": ["a"] * 3}, person="u", item="t", domain=["a"], votes_per_person=cap)
    assert all_items(counted) == [(votes, "a")]


def test_wide_decimals_are_refused_by_their_type():
    """DuckDB has no numbers of more than 38 digits, so a typed column of them is refused before a vote is read."""
    votes = pa.table({"u": pa.array([1], pa.decimal256(50, 3)), "t": ["a"]})
    with pytest.raises(DataError, match="numbers of more than 38 digits"):
        tally(votes, person="u", item="t", domain=["a"])
