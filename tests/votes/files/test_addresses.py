"""Files at an address are read by DuckDB's extension, where it is installed."""

import gzip
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import range_server
from pyarrow import parquet
from tallying import tally

from shortlist import Files
from shortlist.errors import DataError, ParameterError
from shortlist.votes.files import find_files

TEXT = "user,track\n1,a\n2,a\n2,b\n"


@pytest.fixture
def address(tmp_path):
    """The address of a web server in another process; DuckDB holds Python's lock while it waits."""
    try:
        duckdb.connect().execute("LOAD httpfs")
    except duckdb.Error:
        pytest.skip("DuckDB's extension httpfs is not installed here")
    (tmp_path / "votes.csv").write_text("\ufeff" + TEXT)
    (tmp_path / "bare.csv").write_text(TEXT.partition("\n")[2])
    (tmp_path / "bad.csv").write_text("user,track\n1,diagnosis\n2\n")
    (tmp_path / "votes.csv.gz").write_bytes(gzip.compress(TEXT.replace(",", ";").encode()))
    (tmp_path / "votes.jsonl").write_text("".join(f'{{"user": {u}, "track": "{t}"}}\n' for u, t in ("1a", "2a", "2b")))
    parquet.write_table(pa.table({"user": [1, 2, 2], "track": ["a", "a", "b"]}), tmp_path / "votes.parquet")
    program = [sys.executable, str(Path(range_server.__file__))]
    with subprocess.Popen(program, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


@pytest.mark.parametrize("name", ["votes.csv", "votes.csv?token=1", "votes.csv.gz", "votes.jsonl", "votes.parquet"])
def test_reads_files_at_an_address(address, all_items, name):
    """An address is read like a path; a query string is no part of the name."""
    counted = tally(f"{address}/{name}", person="user", item="track", domain=["a", "b"])
    assert all_items(counted) == [(2, "a"), (1, "b")]


def test_reads_described_files_at_an_address(address, all_items):
    """Files without a header may be at an address, and so may the domain."""
    votes = Files(f"{address}/bare.csv", header=False)
    counted = tally(votes, person="1", item="2", domain=f"{address}/votes.csv?token=1", domain_column="track")
    assert all_items(counted) == [(2, "a"), (1, "b")]


@pytest.mark.parametrize(
    ("name", "message"), [("none.csv", "first line"), ("none.parquet", "none.parquet"), ("bad.csv", "line 3 of")]
)
def test_errors_hide_the_query_string(address, name, message):
    """What cannot be read is named without what may be a secret."""
    with pytest.raises(DataError, match=message) as caught:
        tally(f"{address}/{name}?token=hunter2", person="user", item="track", domain=["a"])
    assert "hunter2" not in str(caught.value)
    assert "diagnosis" not in str(caught.value)


def test_a_container_of_azure_is_no_user():
    """abfss:// has a container before the @, and a password only after a colon."""
    address = "abfss://plays@account.dfs.core.windows.net/votes.parquet"
    (place,) = find_files([address], any_format=False, name="the votes")
    assert place.target == address
    with pytest.raises(ParameterError, match="no user and no password") as caught:
        find_files([address.replace("plays", "bob:hunter2")], any_format=False, name="the votes")
    assert "hunter2" not in str(caught.value)
