"""Attacks by odd values, types and files: one person decided what others counted, or whether a release failed."""

import gzip
import os
import uuid
from datetime import timedelta
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile import Frame, Series
from pyarrow import dataset, parquet
from tallying import observe, tally

from shortlist import Files, Query
from shortlist.errors import DataError, ParameterError, ShortlistError

ODD = [b"x", 7, 7.5, Decimal("1.5"), uuid.UUID(int=7), [1], {"a": 1}, timedelta(1), object(), 10**400, True, "\ud800"]


def counts(all_items, votes, **options):
    given = {"person": "user", "item": "track", "domain": ["a", "b"], **options}
    return {item: count for count, item in all_items(tally(votes, **given))}


def as_frame(users, tracks):
    return Frame({"user": pd.Series(users, dtype=object), "track": pd.Series(tracks, dtype=object)})


def as_series(users, tracks):
    return {"user": Series(users, dtype=object), "track": Series(tracks, dtype=object)}


def as_extension_arrays(users, tracks):
    frame = as_frame(users, tracks)
    return {"user": frame["user"].array, "track": frame["track"].array}


def as_memtable(users, tracks):
    return pytest.importorskip("ibis").memtable(pd.DataFrame(as_frame(users, tracks)))


def as_index(users, tracks):
    return {"user": pd.Index(users, dtype=object), "track": pd.Index(tracks, dtype=object)}


@pytest.mark.parametrize("hold", [as_frame, as_series, as_extension_arrays, as_memtable, as_index])
def test_one_odd_value_changes_no_other(hold, all_items):
    """Columns without a declared type are read value by value, whatever class holds them."""
    users, tracks = [f"p{number}" for number in range(50)], ["a"] * 30 + ["b"] * 20
    for cap in (None, 1):
        before = counts(all_items, hold(users, tracks), votes_per_person=cap)
        assert before == {"a": 30, "b": 20}
        for odd in ODD:
            if hold is as_memtable and odd == "\ud800":
                continue  # Ibis itself refuses it
            assert counts(all_items, hold([*users, "eve"], [*tracks, odd]), votes_per_person=cap) == before, odd
            person = counts(all_items, hold([*users, odd], [*tracks, "b"]), votes_per_person=cap)
            assert person in ({"a": 30, "b": 20}, {"a": 30, "b": 21}), odd


def test_columns_of_a_subclass_are_no_domain():
    """A column of the votes is refused, whatever class it has."""
    frame = as_frame(["p"], ["a"])
    with pytest.raises(ParameterError, match="a column of the votes was given"):
        tally(frame, person="user", item="track", domain=frame["track"])


def test_subclasses_of_polars(all_items):
    """They are read as what they inherit from, and their columns are no domain either."""

    class Own(pl.DataFrame):
        """A company's own class of frames."""

    frame = Own({"user": [1, 2], "track": ["a", "a"]})
    assert counts(all_items, frame) == {"a": 2, "b": 0}
    for domain in (frame.get_column("track"), Own(frame.select("track"))):
        with pytest.raises(ParameterError, match="a column of the votes was given"):
            tally(frame, person="user", item="track", domain=domain)


def test_a_later_file_of_a_dataset_may_hold_wider_numbers(tmp_path, all_items):
    """The first file of a dataset does not decide which persons fit."""
    for place, (kind, user) in enumerate([(pa.int32(), 7), (pa.int64(), 2**40), (pa.uint64(), 2**64 - 1)]):
        table = pa.table({"user": pa.array([user], kind), "track": ["a"]})
        parquet.write_table(table, tmp_path / f"{place}.parquet")
    assert counts(all_items, dataset.dataset(tmp_path)) == {"a": 3, "b": 0}


STATEFUL = ["iso2022_jp", "iso2022_jp_2", "iso2022_kr", "hz", "utf-7", "unicode_escape", "raw_unicode_escape"]


@pytest.mark.parametrize("encoding", [*STATEFUL, "punycode", "idna", "base64", "rot13", "mbcs", "undefined"])
def test_encodings_in_which_a_row_changes_later_ones_are_refused(encoding):
    """One person's bytes must not decide how the next rows are read."""
    with pytest.raises(ParameterError, match="the name of a text encoding"):
        Files("votes.csv", encoding=encoding)


@pytest.mark.parametrize(
    "encoding", ["cp1252", "shift_jis", "gb18030", "euc_kr", "big5", "utf-16", "utf-32-le", "koi8-r"]
)
def test_other_encodings_are_read(encoding, tmp_path, all_items):
    """Encodings that read each row by itself are allowed."""
    (tmp_path / "votes.csv").write_bytes("user,track\n1,a\n2,a\n".encode(encoding))
    assert counts(all_items, Files(tmp_path / "votes.csv", encoding=encoding)) == {"a": 2, "b": 0}


def test_a_number_of_json_is_one_person_and_one_item(tmp_path, all_items):
    """However a number is written, it is the same one; a text is not a number."""
    spellings = ["0", "0.0", "-0.0", "-0", "0e1", "0E-5"]
    lines = [f'{{"user": {each}, "track": "a"}}\n' for each in spellings]
    lines += [f'{{"user": {each}, "track": "b"}}\n' for each in ("1e20", "100000000000000000000", "1E+20")]
    lines += ['{"user": "0.0", "track": "b"}\n', '{"user": 1e999, "track": "b"}\n']
    lines += [f'{{"user": 5, "track": {each}}}\n' for each in ("7", "7.0", "70e-1", '"7.0"')]
    (tmp_path / "votes.jsonl").write_text("".join(lines))
    found = counts(all_items, tmp_path / "votes.jsonl", domain=["a", "b", "7", "7.0"])
    assert found == {"a": 1, "b": 2, "7": 1, "7.0": 1}


@pytest.mark.parametrize("place", [7_999_800, 7_999_990])
def test_line_ends_in_quotes_at_a_boundary_of_blocks(place, tmp_path, all_items):
    """DuckDB reads blocks of 8 MB in parallel, and fails on prose that is quoted rightly."""
    whole = "user,track\n" + "".join([f"person {number},a\n" for number in range(600_000)])
    cut = whole.rindex("\n", 0, place) + 1
    prose = "eve," + '"' + "\n".join(['He said ""yes"", and left.'] * 20) + '"\n'
    (tmp_path / "votes.csv").write_text(whole[:cut] + prose + whole[cut:])
    assert counts(all_items, tmp_path / "votes.csv") == {"a": 600_000, "b": 0}
    (tmp_path / "votes.csv").write_text(whole[:cut] + 'eve,"a\n' + prose + whole[cut:])
    assert counts(all_items, tmp_path / "votes.csv") == {"a": 600_000, "b": 0}


@pytest.mark.parametrize("first", ['1,"a\nb"', '"a ""quoted"" person",b', f"{'z' * 200_000},b", '"x,y","a"'])
def test_the_first_record_without_a_header_may_hold_anything(first, tmp_path, all_items):
    """It is a vote like any other."""
    (tmp_path / "votes.csv").write_text(f"{first}\n2,a\n3,a\n")
    found = counts(all_items, Files(tmp_path / "votes.csv", header=False), person="1", item="2")
    assert found["a"] in (2, 3)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quoted", ["\r", "\n", "\r\n", '\r,""'])
def test_the_first_line_end_may_be_one_in_quotes(line_end, quoted, tmp_path, all_items):
    """DuckDB would take it for that of all lines, and fail."""
    rows = [f'1,"{quoted}"', "2,a", "3,a", '4,"a']
    for last in (3, 4):
        (tmp_path / "votes.csv").write_text("".join(row + line_end for row in rows[:last]), newline="")
        assert counts(all_items, Files(tmp_path / "votes.csv", header=False), person="1", item="2")["a"] == 2


def test_a_header_in_quotes_may_hold_a_line_end(tmp_path, all_items):
    """A header is a record like any other."""
    (tmp_path / "votes.csv").write_text('user,"the\ntrack"\n1,a\n')
    assert counts(all_items, tmp_path / "votes.csv", item="the\ntrack") == {"a": 1, "b": 0}


def test_errors_of_polars_quote_no_data():
    """Also where a frame is collected because it holds Python objects."""

    def fail(batch):
        raise pl.exceptions.ComputeError("SECRET")

    frame = pl.DataFrame({"user": [1], "track": pl.Series(["a"], dtype=pl.Object)}).lazy().map_batches(fail)
    for lazy in (frame, pl.LazyFrame({"user": [1], "track": ["a"]}).map_batches(fail)):
        with pytest.raises(DataError) as caught:
            tally(lazy, person="user", item="track", domain=["a"])
        assert "SECRET" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("person", ["YWJj==", "a=b", "?", "a?b=c"])
def test_a_folder_may_name_a_person_by_any_signs(form, person, tmp_path, all_items):
    """DuckDB takes a folder whose value has = or ? for one that names no column."""
    votes = pl.DataFrame({"track": ["a"]})
    for user in ("u1", "u2", person):
        path = tmp_path / f"user={user}" / f"votes.{form}"
        path.parent.mkdir()
        if form == "parquet":
            votes.write_parquet(path)
        elif form == "csv.gz":
            path.write_bytes(gzip.compress(votes.write_csv().encode()))
        else:
            path.write_text(votes.write_csv() if form == "csv" else votes.write_ndjson())
    for cap in (None, 1):
        assert counts(all_items, tmp_path, votes_per_person=cap) == {"a": 3, "b": 0}


def test_folders_that_name_persons_are_not_shown(tmp_path):
    """The values of a layout key=value may be persons."""
    for user, form in (("alice", "a"), ("bob", "b")):
        folder = tmp_path / f"user={user}"
        folder.mkdir()
        cut = gzip.compress(b"track\na\n")[:-9]
        (folder / "votes.csv").write_bytes(cut if form == "a" else b"track\na\n")
        parquet.write_table(pa.table({"track": [form]}), folder / "votes.parquet")
    (folder / "votes.parquet").write_bytes((folder / "votes.parquet").read_bytes()[:-9])
    for votes in (f"{tmp_path}/*/votes.csv", f"{tmp_path}/*/votes.parquet", f"{tmp_path}/*/*.csv"):
        for item in ("track", "trak"):
            with pytest.raises(DataError) as caught:
                tally(votes, person="user", item=item, domain=["a"])
            assert "alice" not in str(caught.value)
            assert "bob" not in str(caught.value)


@pytest.mark.parametrize(
    "database",
    ["md:plays?motherduck_token=SECRET", "Driver=x;Pwd=SECRET", "host=db pw=SECRET", "snowflake:a?token=SECRET@x"],
)
def test_no_secret_of_a_database_is_shown(database):
    """A misspelt address is shown without what only its owner may know."""
    assert "SECRET" not in repr(Query(database, "SELECT 1"))
    with pytest.raises(ShortlistError) as caught:
        tally(Query(database, "SELECT user, track FROM plays"), person="user", item="track", domain=["a"])
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "path", ["https:/bob:SECRET@h/x.csv", "s3:/KEY:SECRET@b/x.parquet", "Pwd=SECRET.csv", "https:\\bob:SECRET@h\\x.csv"]
)
def test_no_secret_of_a_path_is_shown(path):
    """A misspelt address is taken for a path."""
    with pytest.raises(DataError) as caught:
        tally(path, person="user", item="track", domain=["a"])
    assert "SECRET" not in str(caught.value)


def test_durations_are_no_items():
    """Without a domain, they are ignored where types come from values, and refused by a declared type."""
    durations = [timedelta(1), timedelta(2)]
    frame = pd.DataFrame({"user": [1, 2], "track": pd.to_timedelta(durations)})
    for votes in (frame, {"user": [1, 2], "track": durations}, {"user": [1, 2], "track": pa.array(durations)}):
        for cap in (None, 1):
            assert observe(votes, person="user", item="track", votes_per_person=cap)[0].d == 0
    for votes in (
        pa.table({"user": [1], "track": pa.array(durations[:1])}),
        pl.DataFrame({"user": [1], "track": durations[:1]}),
    ):
        with pytest.raises(DataError, match="without a domain"):
            observe(votes, person="user", item="track")


@pytest.mark.parametrize("lazy", [True, False])
def test_names_of_columns_are_no_patterns(lazy, all_items):
    """In Polars, `*` and names between ^ and $ stand for several columns."""
    for name in ("*", "^.*$", "^track$"):
        frame = pl.DataFrame({"user": [1, 2], name: ["a", "a"], "other": ["b", "b"]})
        assert counts(all_items, frame.lazy() if lazy else frame, item=name) == {"a": 2, "b": 0}
        swapped = pl.DataFrame({name: [1, 2], "track": ["a", "a"], "other": [3, 3]})
        assert counts(all_items, swapped.lazy() if lazy else swapped, person=name) == {"a": 2, "b": 0}


@pytest.mark.parametrize("cap", [None, 1])
def test_wide_numbers_of_polars(cap, all_items):
    """Arrow has no whole numbers of 128 bits."""
    wide = pl.Series([2**100, 2**100, 5], dtype=pl.Int128)
    persons = pl.DataFrame({"user": wide, "track": ["a", "a", "a"]})
    assert counts(all_items, persons, votes_per_person=cap) == {"a": 2, "b": 0}
    items = pl.DataFrame({"user": [1, 2, 3], "track": wide})
    assert counts(all_items, items, domain=[2**100, 5], votes_per_person=cap) == {2**100: 2, 5: 1}


@pytest.mark.parametrize("cap", [None, 1])
def test_decimals_with_zeros_at_the_end(cap, all_items):
    """Arrow has decimals with a negative scale, which DuckDB has not."""
    short = pa.array([1200, 1200, 500], pa.decimal128(8, 0)).cast(pa.decimal128(5, -2))
    assert counts(all_items, pa.table({"user": short, "track": ["a"] * 3}), votes_per_person=cap) == {"a": 2, "b": 0}
    items = pa.table({"user": [1, 2, 3], "track": short})
    assert counts(all_items, items, domain=[1200, 7], votes_per_person=cap) == {1200: 2, 7: 0}
    assert counts(all_items, {"user": [1, 2, 3], "track": short}, domain=[1200, 7]) == {1200: 2, 7: 0}
    wide = pa.table({"user": pa.array([None], pa.decimal128(38, -2)), "track": ["a"]})
    with pytest.raises(DataError, match="numbers of more than 38 digits"):
        tally(wide, person="user", item="track", domain=["a"])


def test_nothing_is_installed_from_the_network():
    """DuckDB would fetch an extension that a file needs."""
    from shortlist.votes.duckdb import Workspace

    assert Workspace().connection.sql("SELECT current_setting('autoinstall_known_extensions')").fetchall() == [(False,)]


def test_the_workspace_is_opened_only_where_it_is_needed(tmp_path, monkeypatch, all_items):
    """Polars counts by itself, and makes no folder and no connection."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    votes = pl.DataFrame({"user": [1, 2], "track": ["a", "a"]})
    assert counts(all_items, votes, workspace=None) == {"a": 2, "b": 0}
    assert not os.listdir(tmp_path)
