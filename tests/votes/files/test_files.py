"""Files are found, read without guessing, and refused with a clear word."""

import csv
import gzip
import inspect
import io
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from tallying import observe, plan_count, tally

from shortlist import Files, check
from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.votes import formats
from shortlist.votes.duckdb import _remove_left_folders
from shortlist.votes.tallies import plan_tally

DOMAIN = ["a", "b", "007", ""]


def count(votes, **options):
    return tally(votes, person="user", item="track", domain=DOMAIN, **options)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def test_reads_globs_folders_and_lists(tmp_path, all_items):
    """Several files are one table, however they are named."""
    one = write(tmp_path, "in [1]/one.csv", "user,track\n1,a\n2,b\n")
    two = write(tmp_path, "in [1]/deep/two.csv.gz", "track,user\na,2\na,1\n")
    write(tmp_path, "in [1]/_SUCCESS.csv", "not a table")
    for votes in ([one, str(two)], tmp_path / "in [1]", str(tmp_path / "*" / "**" / "*[eo].csv*")):
        assert all_items(count(votes))[:2] == [(2, "a"), (1, "b")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"], ids=repr)
def test_finds_the_delimiter(tmp_path, all_items, delimiter):
    """The delimiter is the one that gives the columns asked for."""
    lines = [["when", "user", "track"], ["noon, today; or", "1", "a"]]
    quoted = "\ufeff" + "\r\n".join(delimiter.join(f'"{cell}"' for cell in line) for line in lines) + "\r\n"
    assert all_items(count(write(tmp_path, "votes.csv", quoted)))[0] == (1, "a")


def test_keeps_zeros_and_tells_empty_from_missing(tmp_path, all_items):
    """In a CSV file, 007 is text, a quoted empty field is the empty text, an empty field is missing."""
    path = write(tmp_path, "votes.csv", 'user,track\n1,007\n1,""\n2,""\n3,\n')
    assert all_items(count(path))[:2] == [(2, ""), (1, "007")]


def test_reads_json_values_as_text(tmp_path, all_items):
    """In JSON lines, too, items are text unless the domain says otherwise."""
    path = write(tmp_path, "votes.jsonl.gz", '{"user": 1, "track": "007"}\n{"track": "2024-01-01", "user": "x"}\n')
    assert all_items(count(path))[0] == (1, "007")
    assert all_items(tally(path, person="user", item="track", domain=["2024-01-01"])) == [(1, "2024-01-01")]


LINES = [
    *(r'{"user": "3", "track": "\ud800"}', '{"user": "3", "track": ' + "[" * 2000 + "]" * 2000 + "}", "not JSON", ""),
    *('{"user": "3", "user": "4", "track": "z"}', '{"": 1, "user": "3", "track": "z"}', "7", '{"user": "3'),
    *('{"User": "x", "track": "a"}', '{"user": 007, "track": "a"}', '{"user": "3", "track": "a"} {}', "\xff" * 10),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: ascii(line[:20]))
def test_no_line_of_json_is_an_error(line, tmp_path, all_items):
    """A line that cannot be read is a row without values, and it changes no other line."""
    good = '{"user": "1", "track": "a"}\n{"track": "a", "user": 2}\n'
    path = tmp_path / "votes.jsonl"
    for text in (good + line, f"{line}\n{good}"):
        path.write_bytes(text.encode("latin-1"))
        assert all_items(count(path))[0] == (2, "a")


def test_a_line_of_a_domain_is_an_error(tmp_path):
    """A domain is public: what cannot be read there is said."""
    path = write(tmp_path, "items.jsonl", '{"track": "a"}\n{"track": \n')
    with pytest.raises(DataError, match="could not be read"):
        tally({"user": [1], "track": ["a"]}, person="user", item="track", domain=path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("votes.csv", "", "empty file"),
        ("votes.parquet", "", "empty file"),
        ("votes.parquet", "PAR1 and then nothing PAR1", "could not be read"),
        ("votes.parquet", "PAR1 and then nothing PAR1", r"the file is '.*votes.parquet'"),
        ("votes.csv", "\nuser,track\n1,secret\n", "the first line of '.*votes.csv' is blank"),
        ("votes.csv", "1,secret\n2,secret\n", "is the first line a header"),
        (
            "votes.csv",
            "user1,secret track\n2,b\n",
            r"no header, pass Files\(\.\.\., header=False\): columns are then called",
        ),
        ("votes.csv", "User , secret\n2,b\n", "in case and blanks too"),
        ("votes.csv", "user,track secret\n2,b\n", "is the first line a header"),
        ("votes.json", '[{"user": 1, "track": "secret"}]', "holds an array"),
        ("votes.csv", "user,track,track\n1,secret,b\n", "each column once"),
        ("votes.xlsx", "secret", "must be Parquet"),
        ("votes.XLS", "secret", "Excel files are not read: save the sheet as CSV"),
        ("votes.ods", "secret", "Excel files are not read: save the sheet as CSV"),
        ("votes.csv.gz.csv", "\x00\x01", "must have a column"),
    ],
)
def test_refuses_bad_files(tmp_path, name, text, message):
    """Every kind of bad file has its own error, which holds nothing of the data."""
    with pytest.raises(DataError, match=message) as caught:
        count(write(tmp_path, name, text))
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


BAD = {
    "a quote that is not closed": b'3,"a',
    "a quote in the first field": b'"3,a',
    "text behind a closing quote": b'3,"a"b',
    "a quote in quotes": b'3,"a"b"',
    "another line end": b"3,a\r",
    "a carriage return": b"3,a\rb",
    "only a carriage return": b"\r",
    "fewer fields": b"3",
    "more fields": b"3,a,a",
    "no UTF-8": b"3,\xff",
    "a long line": b"3," + b"a" * 2_000_000,
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_bad_line_of_csv_changes_no_other_line(line, tmp_path, all_items):
    """It is a row without values, or one vote, wherever it stands and whichever line ends and quotes there are."""
    path = tmp_path / "votes.csv"
    for end, rows in ((b"\n", [b"1,a", b"2,a", b"2,b"]), (b"\r\n", [b'1,"a"', b'"2","a"', b'2,"b"', b'4,"x,\n""y"""'])):
        for place in range(len(rows) + 1):
            path.write_bytes(end.join([b"user,track", *rows[:place], line, *rows[place:]]) + end)
            found = {item: votes for votes, item in all_items(count(path))}
            assert (found["a"] in (2, 3), found["b"], found["007"]) == (True, 1, 0), (end, place)


@pytest.mark.parametrize("name", ["a quote that is not closed", "fewer fields", "more fields", "no UTF-8"])
def test_a_bad_line_of_a_public_table_is_an_error(name, tmp_path):
    """A domain is public, so its owner is told which line cannot be read, and nothing that stands there."""
    path = tmp_path / "items.csv"
    path.write_bytes(b'n,track\n1,secret\n2,"b\nsecret"\n' + BAD[name] + b"\n")
    told = {"fewer": "has more or fewer", "more": "has more or fewer", "no": "is not text in UTF-8"}
    message = told.get(name.partition(" ")[0], "opens a quote that is not closed")
    with pytest.raises(DataError, match=rf"line \d of '.*items.csv' {message}") as caught:
        tally({"user": [1], "track": ["a"]}, person="user", item="track", domain=path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("sign", [";", "→"])
def test_bad_lines_are_left_out_of_packed_and_other_files(pack, sign, tmp_path, all_items):
    """Also beside a byte order mark, and in files that are read together."""
    for number, line in enumerate([b'3;"a', b"", b'3;"a"b']):
        text = b"\xef\xbb\xbf" + b'"user";track;"x;y"\n1;a;\n%d;b;\n' % number + line + b"\n2;a;\n"
        (tmp_path / f"{number}.csv").write_bytes(pack(text.replace(b";", sign.encode()).replace(b"x\xe2", b"x;\xe2")))
    assert all_items(count(Files(tmp_path, delimiter=sign)))[:2] == [(3, "b"), (2, "a")]


@pytest.mark.parametrize("seed", range(3))
def test_right_files_are_split_into_their_records(seed):
    """What a program writes by the rules of CSV is left as it is, whatever the fields hold."""
    random = Random(seed)
    for _ in range(300):
        width, text = random.randint(2, 4), io.StringIO(newline="")
        writer = csv.writer(text, quoting=random.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), lineterminator="\r\n")
        rows = [["".join(random.choices('ab",\r\n é', k=random.randint(0, 6))) for _ in range(width)] for _ in range(9)]
        writer.writerows([[field.lstrip(" ") for field in row] for row in rows])
        records = list(formats._split_records(text.getvalue().encode(), ",", width))
        assert len(records) == len(rows)
        assert b"\r\n".join(records) + b"\r\n" == text.getvalue().encode()


def test_instants_in_nanoseconds_are_limited_as_in_any_table(tmp_path, all_items):
    """A limit keeps the same votes of a person in a Parquet file and in Arrow, also where persons are instants."""
    numbers = [0, 1, 999, -1, -1001, 10**18, -(10**18), 2**63 - 1, -(2**63) + 1, None]
    persons = pa.array(numbers * 4, pa.int64()).cast(pa.timestamp("ns", "Asia/Tokyo"))
    votes = pa.table({"user": persons, "track": [item for item in DOMAIN for _ in numbers]})
    parquet.write_table(votes, tmp_path / "votes.parquet")
    found = all_items(count(tmp_path / "votes.parquet", votes_per_person=1))
    assert found == all_items(count(votes, votes_per_person=1))
    assert sum(number for number, _ in found) == len(numbers) - 1


@pytest.mark.parametrize(("name", "meant"), [("delimter", "delimiter"), ("sep", "delimiter"), ("Format", "format")])
def test_an_unknown_option_is_answered_with_the_one_that_was_meant(name, meant):
    """As in every other call of the library."""
    with pytest.raises(ParameterError, match=f"Files takes .* no parameter '{name}'.\nHint: did you mean {meant}\\?"):
        Files("votes.csv", **{name: ";"})
    assert list(inspect.signature(Files).parameters) == ["paths", "format", "encoding", "header", "delimiter"]


@pytest.mark.parametrize("path", ["nothing.csv", "no/*.parquet"])
def test_refuses_what_is_not_there(tmp_path, path):
    """A path or glob without files is named."""
    with pytest.raises(DataError, match="nothing was found at"):
        count(tmp_path / path)


def test_refuses_files_of_two_formats(tmp_path):
    """One table has one format."""
    write(tmp_path, "a.csv", "user,track\n1,a\n")
    write(tmp_path, "b.jsonl", '{"user": 1, "track": "a"}\n')
    with pytest.raises(DataError, match="one format"):
        count(tmp_path)


GAPS = {
    "whole": [([1, 2], [7, 8], [5, 5]), ([1, 2], [8, 8], [2**60, 5])],
    "gaps": [([1, 2, None], [7, 8, 8], [5, 5, 5]), ([1, 2, 3], [8, 8, None], [2**60, 5, None])],
    "gaps alone": [([1, 2], [7, 8], [5, 5]), ([1, 2], [8, 8], [2**60, 5]), ([None], [None], [None])],
}
"""The same votes, where a gap may change the types that pandas writes: an int64 becomes a double or has no type."""


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("read", [list, dataset.dataset], ids=["files", "dataset"])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_gap_in_one_file_changes_no_vote_of_the_others(tmp_path, all_items, gaps, read, reverse):
    """Persons, items, groups, counts and weights mean the same in a file whose writer made floats of whole numbers."""
    paths = []
    for place, (users, items, lengths) in enumerate(GAPS[gaps]):
        paths.append(str(tmp_path / f"{place}.parquet"))
        pd.DataFrame({"user": users, "track": items, "length": lengths}).to_parquet(paths[-1])
    votes = read(paths[::-1] if reverse else paths)
    asked = {"item": "track", "person": "user"}
    assert all_items(tally(votes, **asked, domain=[7, 8])) == [(2, 8), (1, 7)]
    assert all_items(tally(votes, **asked, domain=[7, 8], votes_per_person=1)) == [(1, 7), (1, 8)]
    assert all_items(tally(votes, **asked, domain=[7, 8], weight="length", max_weight=9)) == [(18, 8), (5, 7)]
    assert check(votes, **asked, domain=[7, 8]).persons_matched == 2
    # Without a domain, and as a family of groups.
    assert all_items(observe(votes, **asked, votes_per_person=2)) == [(2, 8), (1, 7)]
    family = plan_tally(votes, item="length", person="user", domain=[5], by="track", groups=[7, 8], groups_per_person=2)
    assert [tally.above(1, 0).values.tolist() for tally in family.count()] == [[1], [1]]


def test_counts_of_several_files_may_be_floats_in_one(tmp_path, all_items):
    """A gap makes floats of the counts of one file."""
    pd.DataFrame({"track": ["a"], "plays": [2**60]}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"track": ["b", "c"], "plays": [5, None]}).to_parquet(tmp_path / "1.parquet")
    assert all_items(tally(tmp_path, item="track", count="plays", domain=["a", "b"])) == [(2**60, "a"), (5, "b")]
    pd.DataFrame({"track": ["c"], "plays": [0.5]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match="counts must be whole numbers"):
        tally(tmp_path, item="track", count="plays", domain=["a", "b", "c"])


@pytest.mark.parametrize("further", [[], [7.0]], ids=["one value", "two values"])
def test_nan_is_a_gap_in_parquet_whatever_the_statistics_of_the_file_say(tmp_path, all_items, further):
    """The least and the greatest value of a Parquet column leave NaN out. Still, NaN is neither counted nor read."""
    path, values = tmp_path / "votes.parquet", [float("nan")] * 3 + [8.0, *further]
    texts = pa.array(["a", "b", "c", "a", "b"][: len(values)])
    parquet.write_table(pa.table({"number": pa.array(values), "other": range(len(values)), "text": texts}), path)
    whole = {"number": pa.array([9]), "other": pa.array([90]), "text": pa.array(["d"])}
    parquet.write_table(pa.table(whole), tmp_path / "whole.parquet")
    counted = [(1, "a"), (1, "b")][: len(values) - 3]
    for votes in (path, [path, tmp_path / "whole.parquet"]):
        assert all_items(tally(votes, item="text", person="number", domain=["a", "b", "c"]))[: len(counted)] == counted
        weighted = tally(votes, item="text", person="other", domain=["a", "b", "c"], weight="number", max_weight=60)
        assert [pair for pair in all_items(weighted) if pair[0]] == [(8, "a"), (7, "b")][: len(counted)]
        named = all_items(observe(votes, item="number", person="other", votes_per_person=1))
        assert {item for _, item in named} <= {7, 8, 9}
        assert check(votes, item="text", person="number", domain=["a", "b", "c"]).persons_matched == len(counted)
    counts = all_items(tally(path, item="text", count="number", domain=["a", "b", "c"]))
    assert [pair for pair in counts if pair[0]] == [(8, "a"), (7, "b")][: len(counted)]


def test_takes_parquet_files_of_several_widths(tmp_path, all_items):
    """Whole numbers are whole numbers, however wide they are stored."""
    for name, kind in [("one", pa.int8()), ("two", pa.int64()), ("three", pa.uint64())]:
        items = pa.array([7, 2**63 if name == "three" else 8], kind)
        parquet.write_table(
            pa.table({"user": pa.array([1, 2], pa.int32()), "track": items}), tmp_path / f"{name}.parquet"
        )
    counted = tally(tmp_path, person="user", item="track", domain=[7, 8, 2**63])
    assert all_items(counted) == [(1, 7), (1, 8), (1, 2**63)]


def test_notices_a_file_that_is_removed(tmp_path):
    """A file that is gone before it was read has changed."""
    path = write(tmp_path, "votes.csv", "user,track\n1,a\n")
    plan = plan_count(path, person="user", item="track", domain=DOMAIN)
    path.unlink()
    with pytest.raises(ChangedError, match="changed while it was read"):
        plan.count()


def test_notices_a_file_that_changes(tmp_path):
    """A file that is written to while it is read gives an error, not a wrong item."""
    path = write(tmp_path, "votes.csv", "user,track\n1,a\n")
    plan = plan_count(path, person="user", item="track", domain=DOMAIN)
    before = path.stat().st_mtime_ns
    path.write_text("user,track\n1,b\n")
    os.utime(path, ns=(0, before + 1))
    with pytest.raises(ChangedError, match="changed while it was read"):
        plan.count()


def test_leaves_no_temporary_folder(tmp_path, monkeypatch):
    """What spilled to disk is gone when the votes are counted."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    counted = count(write(tmp_path, "votes.csv", "user,track\n1,a\n"), memory_limit="200MB")
    assert counted[0].d == 4
    assert not list((tmp_path / "temporary").iterdir())


def test_removes_what_a_killed_process_left(tmp_path, monkeypatch):
    """A folder whose owner is gone is removed by the next process; one whose owner lives, or a stranger's, stays."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = "from shortlist.votes.duckdb import make_own_folder; print(make_own_folder()[0]); input()"
    ran = {"env": {**os.environ, "TMPDIR": str(tmp_path)}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **ran) as process:
        left = Path(process.stdout.readline().strip())
        other = tmp_path / "shortlist-other"
        other.mkdir(mode=0o700)
        assert left.stat().st_mode & 0o777 == 0o700
        _remove_left_folders()
        assert left.exists()
        process.kill()
    _remove_left_folders()
    assert os.listdir(tmp_path) == ["shortlist-other"]
