"""Streams, compressions and encodings are read through private copies."""

import bz2
import gzip
import lzma
import os
import stat
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest
from pyarrow import parquet
from tallying import tally

from shortlist import Files
from shortlist.errors import DataError, ParameterError

pytestmark = pytest.mark.slow

TEXT = "user,track\n1,café\n2,café\n2,007\n"
COUNTED = [(2, "café"), (1, "007")]
PACK = {
    "gz": gzip.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def count(votes):
    return tally(votes, person="user", item="track", domain=["café", "007"])


@pytest.fixture
def write(tmp_path):
    def write(name, data):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return write


@pytest.mark.parametrize("suffix", PACK)
def test_reads_compressed_files(write, all_items, suffix):
    """CSV and JSON lines may be compressed, also in several frames one after the other."""
    pack = PACK[suffix]
    csv = write(f"votes.csv.{suffix}", pack(TEXT[:20].encode()) + pack(TEXT[20:].encode()))
    assert all_items(count(csv)) == COUNTED
    lines = '{"user": 1, "track": "café"}\n{"user": 2, "track": "café"}\n{"user": 2, "track": "007"}\n'
    assert all_items(count(write(f"votes.jsonl.{suffix}", pack(lines.encode())))) == COUNTED


@pytest.mark.parametrize("suffix", PACK)
def test_sees_the_compression_in_the_file(write, all_items, suffix):
    """The first bytes decide, not the name."""
    assert all_items(count(write("votes.csv", PACK[suffix](TEXT.encode())))) == COUNTED
    assert all_items(count(write(f"plain.csv.{suffix}", TEXT.encode()))) == COUNTED


@pytest.mark.parametrize("suffix", PACK)
def test_refuses_a_file_that_is_cut_off(write, suffix):
    """A compressed file without its end is an error, not a shorter table."""
    text = "user,track\n" + "".join(f"{row},secret {row}\n" for row in range(50_000))
    path = write(f"votes.csv.{suffix}", PACK[suffix](text.encode())[:-9])
    with pytest.raises(DataError, match=r"complete|could not be read") as caught:
        count(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "cp1252", "utf-8-sig"])
@pytest.mark.parametrize("packed", ["", "gz", "zst"])
def test_reads_other_encodings(write, all_items, encoding, packed):
    """Text in another encoding is read as that, compressed or not."""
    data = TEXT.encode(encoding)
    path = write("votes.csv", PACK[packed](data) if packed else data)
    assert all_items(count(Files(path, encoding=encoding))) == COUNTED


@pytest.mark.parametrize("first", ["user", "users"])
def test_recodes_across_chunks(write, all_items, first):
    """A character that is cut by the end of a chunk stays whole: of two files, one byte pair apart, one is cut."""
    item, people = "\U0001f3b5" * 400, range(3_000)
    text = f"{first},track\n" + "".join(f"{person},{item}\n" for person in people)
    votes = Files(write("votes.csv", text.encode("utf-16")), encoding="utf-16")
    assert all_items(tally(votes, person=first, item="track", domain=[item])) == [(len(people), item)]


@pytest.mark.parametrize(("encoding", "bad"), [("cp1252", b"\x81"), ("shift_jis", b"\xff"), ("gbk", b"\x80")])
def test_refuses_text_of_another_encoding_than_stated(write, all_items, encoding, bad):
    """Bytes that the encoding does not have make a row without values, and in a domain an error that quotes nothing."""
    path = write("votes.csv", b"user,track\n1,007\n2,secret" + bad + b"\n3" + bad + b",007\n4,007\n")
    assert all_items(count(Files(path, encoding=encoding)))[0] == (2, "007")
    with pytest.raises(DataError, match=rf"must be text in {encoding}; '.*votes.csv' is not") as caught:
        tally({"u": [1], "track": ["a"]}, person="u", item="track", domain=Files(path, encoding=encoding))
    assert "secret" not in str(caught.value)


def test_a_cut_character_is_a_row_without_values(write, all_items):
    """Also at the end of a file, and where a character takes two bytes."""
    path = write("votes.csv", TEXT.encode("utf-16") + b"3")
    assert all_items(count(Files(path, encoding="utf-16"))) == COUNTED


@pytest.mark.parametrize("encoding", ["klingon", "base64", None])
def test_refuses_what_is_no_encoding(encoding):
    """An unknown encoding is refused before any file is opened."""
    with pytest.raises(ParameterError, match="must be the name of a text encoding"):
        Files("votes.csv", encoding=encoding)


def test_refuses_options_that_a_format_does_not_have(write):
    """An option that would be ignored is an error."""
    for options in ({"encoding": "latin-1"}, {"header": False}, {"delimiter": ";"}):
        with pytest.raises(ParameterError, match="must go with"):
            count(Files(write("votes.parquet", b"PAR1"), **options))


@pytest.mark.parametrize("packed", ["", *PACK])
def test_reads_a_pipe(tmp_path, all_items, packed):
    """A named pipe is read to its end, once; its format has to be stated."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DataError, match=r"state it: Files\(\.\.\., format='csv'\)"):
        count(pipe)
    data = PACK[packed](TEXT.encode()) if packed else TEXT.encode()
    writer = threading.Thread(target=lambda: pipe.write_bytes(data))
    writer.start()
    assert all_items(count(Files(pipe, format="csv"))) == COUNTED
    writer.join()


PROGRAM = """
from shortlist import Files
from shortlist.votes.tallies import plan_tally
counted = plan_tally(Files("-", format={form!r}), person="user", item="track", domain=["café", "007"]).count()
print(counted[0].above(1, 0).values.tolist())
"""


def read_stdin(form, folder, **options):
    environment = {**os.environ, "TMPDIR": str(folder)}
    program = [sys.executable, "-c", PROGRAM.format(form=form)]
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, **options)


@pytest.mark.parametrize("packed", ["", "gz", "zst"])
def test_reads_standard_input(tmp_path, packed):
    """Standard input is copied to a file that only its owner may read, and that is gone at the end."""
    data = PACK[packed](TEXT.encode()) if packed else TEXT.encode()
    with read_stdin("csv", tmp_path, stdin=subprocess.PIPE) as process:
        process.stdin.write(data[:5])
        process.stdin.flush()
        while not (copies := list(tmp_path.glob("shortlist-*/copy-*/data"))) and process.poll() is None:
            time.sleep(0.05)
        assert [stat.S_IMODE(os.stat(copy).st_mode) for copy in copies] == [0o600]
        printed, _ = process.communicate(data[5:])
    assert printed == b"[2, 1]\n"
    assert not list(tmp_path.iterdir())


def test_reads_parquet_from_standard_input(tmp_path):
    """A format that is read in any order is copied as well."""
    parquet.write_table(pa.table({"user": [1, 2], "track": ["café", "café"]}), tmp_path / "votes.parquet")
    with open(tmp_path / "votes.parquet", "rb") as stdin, read_stdin("parquet", tmp_path, stdin=stdin) as process:
        assert process.communicate()[0] == b"[2, 0]\n"


def test_names_standard_input_in_errors(write):
    """An error in a copy names the original, not the copy."""
    path = write("items.csv.zst", PACK["zst"](b"n,track\n1,secret\n2\n"))
    with pytest.raises(DataError, match=r"line 3 of '.*items.csv.zst' has more or fewer fields") as caught:
        tally({"user": [1], "track": ["a"]}, person="user", item="track", domain=path)
    assert "copy" not in str(caught.value)


def test_refuses_standard_input_for_both():
    """Votes and domain cannot both be standard input."""
    with pytest.raises(ParameterError, match="must not both be standard input"):
        tally(Files("-", format="csv"), person="user", item="track", domain=Files("-", format="csv"))
