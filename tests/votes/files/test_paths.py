"""Paths, globs, folders and addresses stand for the right files, and errors hold no secret."""

import pyarrow as pa
import pytest
from pyarrow import parquet
from tallying import tally

import shortlist
from shortlist import Files
from shortlist.errors import DataError, ParameterError

SECRETS = ("hunter2", "KEY", "S3CR3T", "token")


def count(votes, **columns):
    return tally(votes, **{"person": "user", "item": "track", "domain": ["a", "b", "007"], **columns})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A home folder with one file of votes."""
    (tmp_path / "votes 1.csv").write_text("user,track\n1,a\n2,a\n2,b\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reads_home_and_file_addresses(folder, all_items):
    """~ is the home folder, and file:// an address on this machine."""
    for votes in ("~/votes 1.csv", "~/v*.csv", (folder / "votes 1.csv").as_uri(), f"file://localhost{folder}/v*.csv"):
        assert all_items(count(votes))[:2] == [(2, "a"), (1, "b")]
    with pytest.raises(DataError, match=r"on this machine.*\n.*three strokes"):
        count("file://votes.csv")


@pytest.mark.parametrize("name", ["votes", "votes.txt", "part-00000", "votes.parquet"])
def test_reads_any_name_with_a_format(folder, all_items, name):
    """A stated format counts more than a name."""
    (folder / "votes 1.csv").rename(folder / name)
    if name != "votes.parquet":
        with pytest.raises(DataError, match=r"format='csv'"):
            count(name)
    assert all_items(count(Files(name, format="csv")))[:2] == [(2, "a"), (1, "b")]
    assert all_items(count(Files(folder, format="csv")))[:2] == [(2, "a"), (1, "b")]


def test_reads_files_without_a_header(folder, all_items):
    """Columns are named by position, the first line is a vote, and nothing is guessed from it."""
    (folder / "bare.csv").write_text("x;1,a\nx;1,b\nx;2,a\n")
    (folder / "items.txt").write_text("a\nb\nc, with a comma\n")
    votes = Files("bare.csv", header=False)
    domain = Files("items.txt", format="csv", header=False, delimiter="\t")
    assert all_items(tally(votes, person="1", item="2", domain=domain)) == [(2, "a"), (1, "b"), (0, "c, with a comma")]
    columns = {"person": "1", "item": "2", "domain": ["x;1", "1,a"]}
    assert all_items(tally(Files("bare.csv", header=False, delimiter=";"), **columns)) == [(1, "1,a"), (0, "x;1")]
    for name in ("user", "0", "01", "1000"):
        with pytest.raises(DataError, match=f"must have a column '{name}'; there is none.*\n.* are called 1, 2 and so"):
            tally(votes, person="1", item=name, domain=domain)


LINES = {
    "1,a": "a",
    "2,a,": "a",
    "3,a,noon": "a",
    "4,b,noon,": "b",
    '5,"b",noon,"sunny, warm\nand dry"': "b",
    "6": None,
    "": None,
    ",a": None,
    '7,"a': None,
    '8,"a"b': None,
    '9,a,"noon': None,
    "10,b" + ",x" * 1200: "b",
}


def test_each_line_without_a_header_is_read_by_itself(folder, all_items):
    """A line counts if it has the columns that are named. No line decides how another one is read, or stops the run."""
    for first in LINES:
        for others in ({}, LINES):
            lines = {first: LINES[first], **others, "98,a,night": "a", "99,a,day": "a"}
            (folder / "bare.csv").write_text("\n".join(lines) + "\n")
            found = all_items(count(Files("bare.csv", header=False), person="1", item="2"))
            expected = [(list(lines.values()).count(item), item) for item in ("a", "b", "007")]
            assert sorted(found) == sorted(expected), (first, others)


def test_columns_without_a_header_are_refused_whatever_the_file_holds(folder):
    """Whether a file is empty, has too few columns or is full changes no error."""
    (folder / "day=1").mkdir()
    for text in ("", "1\n", "1,a\n", "1,a,b,c,d\n"):
        (folder / "day=1" / "bare.csv").write_text(text)
        files = Files("day=1", format="csv", header=False)
        with pytest.raises(DataError, match="must have a column 'user'"):
            count(files, person="user", item="2")
        for item in ("2", "3", "day"):
            assert count(files, person="1", item=item)[0].d == 3


def test_reads_empty_files_as_tables_without_rows(folder):
    """Where a file needs no header, a file without a line is a table without votes, as one with other votes is."""
    (folder / "none.csv").touch()
    (folder / "none.jsonl").touch()
    (folder / "some.jsonl").write_text('{"user": 1, "track": "a"}\n')
    counted = tally(Files("none.csv", header=False), person="1", item="2", domain=["a", "b"])
    assert (counted[0].d, counted[0].above(1, 0).values.tolist()) == (2, [0])
    assert count("none.jsonl")[0].above(1, 0).values.tolist() == [0]
    assert count(["none.jsonl", "some.jsonl"])[0].above(1, 0).values.tolist() == [1, 0]


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("votes", ["hive", "hive/*", "hive/track=*", "hive/**/*.*"])
def test_reads_folders_that_name_a_column(folder, all_items, form, votes):
    """In the layout key=value, the key is a column of text."""
    for track, users in {"a": [1, 2], "007": [1], "__HIVE_DEFAULT_PARTITION__": [9], "b%2F": [7]}.items():
        place = folder / "hive" / f"track={track}" / f"part-0.{form}"
        place.parent.mkdir(parents=True)
        if form == "parquet":
            parquet.write_table(pa.table({"user": users}), place)
        elif form == "csv":
            place.write_text("user\n" + "".join(f"{user}\n" for user in users))
        else:
            place.write_text("".join(f'{{"user": {user}}}\n' for user in users))
    assert all_items(count(votes, domain=["a", "b/", "007"])) == [(2, "a"), (1, "007"), (1, "b/")]


def test_copies_keep_the_columns_of_folders(folder, all_items):
    """A compressed file in key=value/ has the column of its folder, beside files that are read in place."""
    for track, suffix, text in [("a", ".csv.zst", "user\n1\n2\n"), ("b", ".csv", "user\n1\n")]:
        place = folder / "hive" / f"track={track}" / f"part{suffix}"
        place.parent.mkdir(parents=True)
        place.write_bytes(pa.compress(text.encode(), codec="zstd", asbytes=True) if suffix != ".csv" else text.encode())
    assert all_items(count("hive"))[:2] == [(2, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("s3://KEY:S3CR3T@bucket/x.parquet", "must hold no user and no password"),
        ("https://bob:hunter2@host/x.csv?token=1", "must hold no user and no password"),
        ("https://host/x.csv?token=S3CR3T", "extension 'httpfs'"),
        ("s3://bucket/x.parquet", "extension 'httpfs'"),
        ("az://box/x.parquet", "extension 'azure'"),
        ("postgresql://bob:hunter2@db/x", r"pass shortlist.Query\(database, sql\)"),
        ("https://host/x.csv.zst", "copy the file to this machine"),
        ("https://bob:hun/ter2@host/x.csv.bz2?token", "copy the file to this machine"),
    ],
)
def test_addresses_are_refused_without_their_secrets(address, message, monkeypatch, tmp_path):
    """An address that cannot be read is named without a password or a query, and nothing is installed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(shortlist.ShortlistError, match=message) as caught:
        count(address)
    assert not any(secret in str(caught.value) for secret in (*SECRETS, "ter2"))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_refuses_devices(path):
    """A device is not called an empty file."""
    with pytest.raises(DataError, match="is a device or a socket"):
        count(Files(path, format="csv"))


def test_explains_a_domain_among_the_votes(folder):
    """A catalogue in the folder of the votes is told from votes that are their own domain."""
    (folder / "catalogue.csv").write_text("track\na\n")
    with pytest.raises(ParameterError, match=r"'.*catalogue.csv' is also read as votes.\nHint: .*move it away"):
        count(folder, domain=folder / "catalogue.csv")


@pytest.mark.parametrize("limit", ["-5", "0GB", "5", "much", "80%", 4])
def test_refuses_a_memory_limit_without_size(folder, limit):
    """DuckDB would take a negative size for no limit."""
    with pytest.raises(ParameterError, match="must be a size: a number above 0"):
        count("votes 1.csv", memory_limit=limit)
