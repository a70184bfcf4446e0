"""A domain that is seen to come from the votes is refused, and no real catalogue is."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from tallying import tally

from shortlist.errors import ParameterError
from shortlist.votes.files import Files

COLUMNS = {"user": [1, 2, 2], "track": ["a", "b", "a long title of a track"]}
NUMBERS = {"user": [1, 2, 2], "track": [7, 8, 9]}


@pytest.mark.parametrize("columns", [COLUMNS, NUMBERS], ids=["text", "numbers"])
def test_refuses_the_memory_of_a_column_of_the_votes(columns):
    """In Polars and Arrow, also through another library; values that are equal or copied are no column of the votes."""
    frame, table = pl.DataFrame(columns), pa.table(columns)
    batch, parts = table.to_batches()[0], pa.concat_tables([table, table])
    taken = [(frame, frame["track"]), (frame, frame.select("track")), (frame, frame.clone()["track"].rename("x"))]
    taken += [(table, table["track"]), (table, table["track"].chunk(0)), (table, table.select(["track"]))]
    taken += [(batch, batch["track"]), (batch, pa.table({"other": batch["track"]})), (parts, parts["track"])]
    taken += [(pl.from_arrow(table), pl.from_arrow(table)["track"])] if columns is NUMBERS else []
    for votes, domain in taken:
        with pytest.raises(ParameterError, match="a column of the votes was given"):
            tally(votes, person="user", item="track", domain=domain)
    made = [frame["track"].unique(), pl.Series(columns["track"]), pa.array(columns["track"])]
    made += [pa.table({"track": columns["track"]})]
    made += [frame["track"].gather([0, 1, 2]), pa.concat_arrays([batch["track"]] * 2)]
    for votes in (frame, table, batch, parts, frame.lazy()):
        for domain in made:
            assert tally(votes, person="user", item="track", domain=domain)[0].d == 3
    # A column of another name is no column of items.
    both = frame.with_columns(pl.Series("catalogue", columns["track"]))
    assert tally(both, person="user", item="track", domain=both, domain_column="catalogue")[0].d == 3


@pytest.mark.parametrize("column", [None, "track"])
def test_refuses_a_copy_of_the_votes(tmp_path, column):
    """A table or file with the columns of items and persons is no catalogue, even if no memory is shared."""
    csv, other, lines, parquet = (
        tmp_path / name for name in ("votes.csv", "other.csv", "other.jsonl", "other.parquet")
    )
    votes = pl.DataFrame(COLUMNS)
    for path in (csv, other):
        votes.write_csv(path)
    votes.write_ndjson(lines)
    votes.write_parquet(parquet)
    copies = [other, lines, parquet, pa.table(COLUMNS), pl.DataFrame(COLUMNS).lazy(), votes.to_pandas(), dict(COLUMNS)]
    for domain in copies:
        with pytest.raises(
            ParameterError, match=r"(?s)public list of all items.* a column 'user', like the votes"
        ) as caught:
            tally(csv, person="user", item="track", domain=domain, domain_column=column)
        assert "its column of items alone" in str(caught.value)


def test_takes_a_catalogue_that_is_no_table_of_votes(tmp_path):
    """Another column of the table may be meant, and positions of columns without a header are no names."""
    votes, catalogue = tmp_path / "votes.csv", tmp_path / "catalogue.csv"
    votes.write_text("a,1\nb,2\n")
    catalogue.write_text("a,first\nb,second\nc,third\n")
    assert (
        tally(
            Files(votes, header=False), person="2", item="1", domain=Files(catalogue, header=False), domain_column="1"
        )[0].d
        == 3
    )
    table = {"user": [1, 2], "track": ["a", "b"]}
    assert (
        tally(table, person="user", item="track", domain={"song": ["a"], "user": [0]}, domain_column="song")[0].d == 1
    )


def test_takes_the_catalogue_that_votes_were_made_from():
    """A table of counts, a join, categories and added rows may share the memory of a real catalogue."""
    catalogue = pl.DataFrame({"track": ["a", "b", "a long title of a track"], "id": [1, 2, 3]})
    counts = catalogue.with_columns(votes=pl.Series([4, 5, 6]))
    assert tally(counts, count="votes", item="track", domain=catalogue["track"])[0].d == 3
    arrow = pa.table({"track": catalogue["track"].to_arrow(), "votes": [4, 5, 6]})
    assert tally(arrow, count="votes", item="track", domain=arrow["track"])[0].d == 3
    plays = pl.DataFrame({"user": [1, 2, 2], "id": [3, 1, 3]}).join(catalogue, on="id")
    assert tally(plays, person="user", item="track", domain=catalogue["track"])[0].d == 3
    longer = pl.concat([plays, catalogue.with_columns(user=None)], how="diagonal_relaxed", rechunk=False)
    assert tally(longer, person="user", item="track", domain=catalogue["track"])[0].d == 3
    titles = pa.array(["a", "b", "c"])
    coded = pa.table({"user": [1, 2, 3], "track": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), titles)})
    assert tally(coded, person="user", item="track", domain=titles)[0].d == 3


def test_refuses_a_relation_made_from_the_votes():
    """Of DuckDB: the same table, or a relation that is made from that of the votes."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE plays AS SELECT i AS user, 'track ' || i AS track FROM range(3) AS r(i)")
    table, asked = connection.table("plays"), connection.sql("SELECT * FROM plays")
    held = connection.from_arrow(pa.table(COLUMNS))
    taken = [(table, connection.table("plays")), (table.filter("user > 1"), table.project("track"))]
    taken += [(table, connection.sql("SELECT DISTINCT track FROM plays")), (table, table.aggregate("track, count(*)"))]
    taken += [(each, each.project("track").distinct()) for each in (table, asked, held)]
    taken += [(asked.filter("user > 0"), asked.project("track").filter("track > 'a'"))]
    for votes, domain in taken:
        with pytest.raises(ParameterError, match="the relation reads the table of the votes"):
            tally(votes, person="user", item="track", domain=domain, domain_column="track")


def test_takes_relations_of_a_catalogue():
    """Another table, another connection, a variable of the same name, a name that the query defines, a view."""
    connection, other = duckdb.connect(), duckdb.connect()
    for each, columns in ((connection, "i AS user, 'track ' || i AS track"), (other, "'track ' || i AS track")):
        each.execute(f"CREATE TABLE plays AS SELECT {columns} FROM range(3) AS r(i)")
    for made in ("SCHEMA old", "TABLE old.plays AS", "TABLE tracks AS", "VIEW catalogue AS"):
        connection.execute(f"CREATE {made}" + (" SELECT track FROM plays" if made.endswith("AS") else ""))
    rows = pa.table(COLUMNS)
    votes, asked = connection.table("plays"), connection.sql("SELECT * FROM rows")
    rows = pa.table({"track": ["a", "b", "c"]})
    defined = "WITH plays AS (SELECT 'a' AS track UNION SELECT 'b' UNION SELECT 'c') SELECT track FROM plays"
    domains = [other.table("plays"), connection.table("old.plays"), connection.table("tracks"), connection.sql(defined)]
    domains += [connection.table("catalogue"), connection.sql("SELECT track FROM rows"), connection.from_arrow(rows)]
    for domain in domains:
        for each in (votes, asked, votes.join(connection.table("tracks"), "track").project("plays.user, track")):
            assert tally(each, person="user", item="track", domain=domain, domain_column="track")[0].d == 3


def test_refuses_a_column_of_an_ibis_table():
    """The column itself, as a table too, and its different values; not another table of equal values."""
    ibis = pytest.importorskip("ibis")
    plays, tracks = ibis.memtable(pa.table(COLUMNS)), ibis.memtable(pa.table(COLUMNS))
    for domain in (plays["track"], plays.select("track"), plays.select("track").distinct()):
        with pytest.raises(ParameterError, match="a column of the votes was given"):
            tally(plays, person="user", item="track", domain=domain)
    assert tally(plays, person="user", item="track", domain=tracks["track"])[0].d == 3


def test_refuses_a_column_of_a_spark_frame(spark):
    """The column and its different values; not another frame of equal values."""
    rows = list(zip(*COLUMNS.values(), strict=True))
    plays, tracks = (spark.createDataFrame(rows, list(COLUMNS)) for _ in range(2))
    for domain in (plays.select("track"), plays[["track"]], plays.select("track").distinct()):
        with pytest.raises(ParameterError, match="a column of the votes was given"):
            tally(plays, person="user", item="track", domain=domain)
    assert tally(plays, person="user", item="track", domain=tracks.select("track"))[0].d == 3
