"""The domain comes in many forms, and is always one public list."""

from decimal import Decimal
from functools import partial
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tallying import tally

from shortlist import Query
from shortlist.errors import DataError, ParameterError
from shortlist.votes.domain import number_items
from shortlist.votes.matching import make_key_table

ITEMS = ["a", "b", "c", "b"]


@pytest.fixture
def votes():
    import pyarrow as pa

    return pa.table({"user": [1, 2, 2], "track": ["a", "a", "b"]})


def as_series(library):
    return lambda folder: pytest.importorskip(library).Series(ITEMS)


def as_csv(folder):
    (folder / "items.csv").write_text("title;track\nA;a\nB;b\nC;c\nB;b\n;\n")
    return folder / "items.csv"


def as_parquet(folder):
    from pyarrow import parquet

    parquet.write_table(as_arrow_table(folder), folder / "items.parquet")
    return str(folder / "items.parquet")


def as_arrow_table(folder):
    import pyarrow as pa

    return pa.table({"year": [1, 2, 3, 4, 5], "track": [*ITEMS, None]})


def as_duckdb(folder):
    import duckdb

    return duckdb.sql("SELECT unnest(['a', 'b', 'c', 'b', NULL]) AS anything")


def as_lazy(folder):
    import polars as pl

    return pl.LazyFrame({"track": ITEMS, "year": [1, 2, 3, 4]})


def as_arrow_array(folder):
    import pyarrow as pa

    return pa.array(ITEMS)


FORMS = {
    "list": lambda folder: [*ITEMS, None],
    "tuple": lambda folder: tuple(ITEMS),
    "set": lambda folder: set(ITEMS),
    "generator": lambda folder: (item for item in ITEMS),
    "numpy": lambda folder: np.array(ITEMS),
    "pandas": as_series("pandas"),
    "polars": as_series("polars"),
    "polars lazy": as_lazy,
    "pyarrow array": as_arrow_array,
    "pyarrow table": as_arrow_table,
    "duckdb": as_duckdb,
    "csv": as_csv,
    "parquet": as_parquet,
}


@pytest.mark.parametrize("form", FORMS)
def test_takes_any_form(form, votes, tmp_path, all_items):
    """Files, lists, series and frames say the same; duplicates and gaps do not count."""
    counted = tally(votes, person="user", item="track", domain=FORMS[form](tmp_path))
    assert all_items(counted) == [(2, "a"), (1, "b"), (0, "c")]


def test_takes_any_form_in_spark(spark, tmp_path, all_items):
    """Spark takes a domain of its own, and one from elsewhere."""
    frame = spark.createDataFrame([(1, "a"), (2, "a"), (2, "b")], "user int, track string")
    catalogue = spark.createDataFrame([(year, item) for year, item in enumerate(ITEMS)], "year int, track string")
    for domain in (catalogue, as_csv(tmp_path), as_duckdb(tmp_path)):
        counted = tally(frame, person="user", item="track", domain=domain)
        assert all_items(counted) == [(2, "a"), (1, "b"), (0, "c")]


def test_takes_a_spark_domain_elsewhere(spark, votes, all_items):
    """A domain in Spark serves votes that are not."""
    domain = spark.createDataFrame([("a",), ("b",), ("c",)], "track string")
    assert len(all_items(tally(votes, person="user", item="track", domain=domain))) == 3


def test_takes_the_column_that_is_named(votes, all_items):
    """With domain_column, any column can be the list."""
    import polars as pl

    domain = pl.DataFrame({"track": ["x", "y"], "old_name": ["a", "b"]})
    counted = tally(votes, person="user", item="track", domain=domain, domain_column="old_name")
    assert all_items(counted) == [(2, "a"), (1, "b")]


def test_asks_which_column(votes):
    """Of several columns with other names, none is guessed."""
    import polars as pl

    with pytest.raises(DataError, match="domain_column"):
        tally(votes, person="user", item="track", domain=pl.DataFrame({"x": ["a"], "y": ["b"]}))


def test_explains_why_it_is_needed(votes):
    """Without a domain, three sentences say why, and a hint says what to pass."""
    with pytest.raises(ParameterError, match="only one person voted for") as caught:
        tally(votes, person="user", item="track")
    explanation, hint = str(caught.value).split("\n")
    assert explanation.count(". ") == 2
    assert hint.startswith("Hint: pass domain='catalogue.csv', ")


def test_refuses_the_votes_as_their_own_domain(votes, tmp_path):
    """A domain taken from the votes is refused, in memory and as a file."""
    with pytest.raises(ParameterError, match="the votes themselves"):
        tally(votes, person="user", item="track", domain=votes)
    path = tmp_path / "votes.csv"
    with pytest.raises(ParameterError, match="the votes themselves"):
        tally(path, person="user", item="track", domain=str(path))


def test_refuses_a_column_of_the_votes():
    """A column that pandas takes out of the votes, or that a dict holds, is refused; equal values are not."""
    columns = {"user": [1, 2], "track": ["a", "b"]}
    frame = pd.DataFrame(columns)
    taken = [frame["track"], frame[["track"]], frame.loc[:, "track"], frame["track"].str.lower()]
    for votes, domain in [(columns, columns["track"]), *((frame, each) for each in taken)]:
        with pytest.raises(ParameterError, match="a column of the votes was given"):
            tally(votes, person="user", item="track", domain=domain)
    for domain in (
        pd.DataFrame({"track": ["a", "b"]}),
        pd.Series(["a", "b"], name="track"),
        pd.Index(["a", "b"], name="track"),
    ):
        assert tally(frame, person="user", item="track", domain=domain)[0].d == 2


@pytest.mark.parametrize("spelling", ["plays", "plays/*.csv", "plays/../plays/b.csv", "link.csv", "hard.csv"])
def test_refuses_the_votes_in_another_spelling(tmp_path, spelling):
    """A folder, a glob, a detour or a link to a file of the votes is the votes."""
    (tmp_path / "plays").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "plays" / name).write_text("user,track\n1,a\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "plays" / "b.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "plays" / "b.csv")
    for votes in (tmp_path / "plays", [tmp_path / "plays" / "a.csv", tmp_path / "plays" / "b.csv"]):
        with pytest.raises(ParameterError, match=r"the votes themselves|is also read as votes"):
            tally(votes, person="user", item="track", domain=tmp_path / spelling)


def test_refuses_a_csv_domain_without_a_header(votes, tmp_path):
    """The first line of a CSV file might be an item, so its only column has to be named."""
    path = tmp_path / "items.csv"
    path.write_text("secret\na\nb\n")
    with pytest.raises(
        DataError, match=r"domain_column; if the first line is an item .* Files\(\.\.\., header=False\); or is item"
    ) as caught:
        tally(votes, person="user", item="track", domain=path)
    assert "secret" not in str(caught.value)
    assert tally(votes, person="user", item="track", domain=path, domain_column="secret")[0].d == 2


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_decodes_dictionaries(library, all_items):
    """A dictionary of whole numbers holds whole numbers."""
    import pyarrow as pa

    votes = pa.table({"user": [1, 2, 2], "id": pa.array([7, 7, 12]).dictionary_encode()})
    domain = pa.array([7, 12, 13]).dictionary_encode()
    if library == "pandas":
        votes, domain = votes.to_pandas(), domain.to_pandas()
    assert all_items(tally(votes, person="user", item="id", domain=domain)) == [(2, 7), (1, 12), (0, 13)]


def test_shows_no_values_of_a_type(votes):
    """Types that list categories or fields are named without them."""
    import polars as pl
    import pyarrow as pa

    counts = pl.DataFrame({"track": ["a"], "n": pl.Series(["secret"], dtype=pl.Enum(["secret"]))})
    with pytest.raises(DataError, match="must be whole numbers") as caught:
        tally(counts, count="n", item="track", domain=ITEMS)
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="values of another type") as caught:
        tally(pa.table({"user": [1], "track": [{"secret": 1}]}), person="user", item="track", domain=ITEMS)
    assert "secret" not in str(caught.value)


def test_takes_narwhals_frames(votes):
    """A frame that narwhals wraps already is unwrapped."""
    import narwhals as nw

    frame = nw.from_native(votes)
    assert tally(frame, person="user", item="track", domain=frame.head(1).select("track"))[0].d == 1


def test_takes_bytes_of_a_fixed_size(all_items):
    """A fixed size is a way to store bytes."""
    import pyarrow as pa

    items = pa.array([b"ab", b"cd"], pa.binary(2))
    votes = pa.table({"user": [1, 2], "track": items})
    for domain in (pa.array([b"ab", b"cd"], pa.binary(2)), [b"ab", b"cd"]):
        assert all_items(tally(votes, person="user", item="track", domain=domain)) == [(1, b"ab"), (1, b"cd")]


@pytest.mark.parametrize("library", ["pandas", "pyarrow", "duckdb", "spark"])
def test_refuses_repeated_columns(library, request):
    """Of two columns with one name, none is guessed; of those that are not read, names do not matter."""
    make = {"pandas": repeated_pandas, "pyarrow": repeated_arrow, "duckdb": repeated_duckdb}.get(library)
    make = make or partial(repeated_spark, request.getfixturevalue("spark"))
    with pytest.raises(DataError, match="each column once; 'track' is repeated"):
        tally(make(["user", "track", "track"]), person="user", item="track", domain=ITEMS)
    assert tally(make(["user", "track", "year", "year"]), person="user", item="track", domain=ITEMS)[0].d == 3


def repeated_pandas(names):
    import pandas as pd

    return pd.DataFrame([["x"] * len(names)], columns=names)


def repeated_arrow(names):
    import pyarrow as pa

    return pa.table([["x"]] * len(names), names=names)


def repeated_duckdb(names):
    import duckdb

    return duckdb.sql("SELECT " + ", ".join(f"'x' AS {name}" for name in names))


def repeated_spark(session, names):
    return session.sql("SELECT " + ", ".join(f"'x' AS {name}" for name in names))


def test_takes_columns_whose_names_are_no_text(votes):
    """Columns beside those that are read may have any name."""
    import pandas as pd

    frame = pd.DataFrame({0: [1, 2], "user": [1, 2], "track": ["a", "b"]})
    assert tally(frame, person="user", item="track", domain=ITEMS)[0].d == 3
    with pytest.raises(DataError, match="did you mean 'track'"):
        tally(frame, person="user", item="trak", domain=ITEMS)


@pytest.mark.parametrize(
    "domain", [[], [None], np.array([], dtype=str)], ids=["empty list", "only gaps", "empty array"]
)
def test_refuses_an_empty_domain(votes, domain):
    """A domain without items is refused."""
    with pytest.raises(DataError, match="at least one item"):
        tally(votes, person="user", item="track", domain=domain)


def test_refuses_an_empty_domain_file(votes, tmp_path):
    """A file with a header and nothing below it is refused."""
    path = tmp_path / "items.csv"
    path.write_text("track\n")
    with pytest.raises(DataError, match="at least one item"):
        tally(votes, person="user", item="track", domain=path)


@pytest.mark.parametrize("domain", [["a", 1], [b"a", "b"], [True, 1], [1.5, 1]], ids=repr)
def test_refuses_mixed_types(votes, domain):
    """One domain has items of one type."""
    with pytest.raises(DataError, match="one type"):
        tally(votes, person="user", item="track", domain=domain)


@pytest.mark.parametrize("domain", [7, b"a", {"a": 1}], ids=repr)
def test_refuses_what_is_no_list(votes, domain):
    """A number, bytes or a dictionary is no domain."""
    with pytest.raises(ParameterError, match="a file, a list, a column, a frame"):
        tally(votes, person="user", item="track", domain=domain)


def test_items_keep_the_domains_type(tmp_path, all_items):
    """A catalogue in CSV is text, also for votes whose items are numbers."""
    import pyarrow as pa

    path = tmp_path / "items.csv"
    path.write_text("id,title\n7,x\n12,y\n7.5,z\n")
    votes = pa.table({"user": [1, 2], "id": [12, 99]})
    assert all_items(tally(votes, person="user", item="id", domain=path)) == [(1, "12"), (0, "7"), (0, "7.5")]


def test_no_votes_and_one_vote_give_the_same_domain(tmp_path):
    """d and the items are those of the domain, whether there are votes or none."""
    import pyarrow as pa

    path = tmp_path / "items.csv"
    path.write_text("id\n1\n01\n2\n")
    for users in ([], [1]):
        votes = pa.table({"user": pa.array(users, pa.int64()), "id": pa.array(users, pa.int64())})
        assert tally(votes, person="user", item="id", domain=path)[0].d == 3


def test_text_votes_match_numbers_that_they_write(tmp_path, all_items):
    """Votes in CSV are text; what writes no item is outside the domain, and never an error."""
    path = tmp_path / "votes.csv"
    path.write_text("user,id\n1,007\n1,7\n2,7\n3,7.5\n4,eight\n5,8\n")
    assert all_items(tally(path, person="user", item="id", domain=[7, 8])) == [(2, 7), (1, 8)]
    path.write_text("n,id\n1,secret\n,\n2,7.5\n")
    assert all_items(tally(path, person="n", item="id", domain=[7, 8])) == [(0, 7), (0, 8)]


def test_text_votes_match_decimals(tmp_path, all_items):
    """Decimals in CSV may lack zeros at the end, and are never rounded."""
    path = tmp_path / "votes.csv"
    path.write_text("user,price\n1,1.5\n2,1.50\n3,1.504\n4,-2\n")
    counted = tally(path, person="user", item="price", domain=[Decimal("1.50"), Decimal("-2.00")])
    assert all_items(counted) == [(2, Decimal("1.50")), (1, Decimal("-2.00"))]


def test_reads_the_domain_from_the_database(tmp_path, all_items):
    """The catalogue may be a table of the same file."""
    import duckdb

    path = tmp_path / "log.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE plays AS SELECT 1 AS user, 'a' AS track")
        connection.execute("CREATE TABLE tracks AS SELECT unnest(['a', 'b']) AS track, 2020 AS year")
    votes, domain = Query(path, "FROM plays"), Query(path, "SELECT track FROM tracks")
    counted = tally(votes, person="user", item="track", domain=domain)
    assert all_items(counted) == [(1, "a"), (0, "b")]


def test_a_large_domain_with_few_votes(all_items, tmp_path):
    """A catalogue much larger than the votes is handled by the engine."""
    import duckdb

    path = Path(tmp_path / "items.parquet")
    duckdb.sql("SELECT 'track ' || i AS track FROM range(300000) AS numbers(i)").write_parquet(str(path))
    import pyarrow as pa

    counted = tally(pa.table({"user": [1], "track": ["track 5"]}), person="user", item="track", domain=path)
    assert counted[0].d == 300_000
    assert [item for _, item in all_items(counted)[1:]] == sorted(f"track {i}" for i in range(300_000) if i != 5)


def test_keys_of_many_digits_are_not_rounded():
    """Python's decimals would be rounded to 28 digits where an item is compared with the scale of a column."""
    item = Decimal("1234567890123456789012345678.123456789")
    keys = make_key_table(number_items(pa.array([item])), pa.decimal128(38, 9)).to_pylist()
    assert keys == [{"key": item, "row": 0}]
    assert make_key_table(number_items(pa.array([item])), pa.decimal128(38, 8)).to_pylist() == []


def test_uuids_are_text(all_items):
    numbers = [UUID(int=2), UUID(int=1)]
    votes = {"user": [1, 2, 3], "track": [numbers[0], str(numbers[0]), numbers[1]]}
    counted = tally(votes, person="user", item="track", domain=numbers)
    assert all_items(counted) == [(2, str(numbers[0])), (1, str(numbers[1]))]
