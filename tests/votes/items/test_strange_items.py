"""Strange items go through every file format and come back as they were."""

import csv
import json
import sqlite3
import tempfile
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from tallying import tally

from shortlist import Query

pytestmark = pytest.mark.slow

LOOKALIKES = ["", " ", "7", "007", "7.0", "1e3", "NULL", "null", "NaN", "true", "2024-01-01", "track", "Track", "TRACK"]
AWKWARD = [
    "a" * 10_240,
    "😀" * 2_560,
    "👩\u200d👧",
    "İ",
    "ß",
    '"',
    "'",
    "\\",
    "a,b",
    "a\nb",
    "\r\n",
    "\t",
    "%s",
    "\ufeff",
]
TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12),
        st.sampled_from(LOOKALIKES),
        st.sampled_from(AWKWARD),
    ),
    min_size=1,
    max_size=8,
)
NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8)
TIMES = st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), min_size=1, max_size=8)


def write_csv(rows, folder):
    with open(folder / "votes.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerows([("user", "track"), *rows])
    return {"votes": folder / "votes.csv"}


def write_jsonl(rows, folder):
    lines = [json.dumps({"user": user, "track": item}, ensure_ascii=False, default=str) for user, item in rows]
    (folder / "votes.jsonl").write_bytes("".join(f"{line}\n" for line in lines).encode())
    return {"votes": folder / "votes.jsonl"}


def write_parquet(rows, folder):
    parquet.write_table(table_of(rows), folder / "votes.parquet")
    return {"votes": folder / "votes.parquet"}


def write_duckdb(rows, folder):
    with duckdb.connect(folder / "votes.duckdb") as connection:
        connection.register("source", table_of(rows))
        connection.execute("CREATE TABLE log AS FROM source")
    return {"votes": Query(folder / "votes.duckdb", "FROM log")}


def write_sqlite(rows, folder):
    connection = sqlite3.connect(folder / "votes.sqlite")
    connection.execute("CREATE TABLE log (user, track)")
    connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
    connection.commit()
    connection.close()
    return {"votes": Query(folder / "votes.sqlite", "SELECT * FROM log")}


def table_of(rows):
    users, items = zip(*rows, strict=True)
    return pa.table({"user": users, "track": items})


WRITERS = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "duckdb": write_duckdb,
    "sqlite": write_sqlite,
}


def check(items, writer, all_items):
    """The i-th item has i + 1 voters, each of whom votes twice."""
    different = list(dict.fromkeys(items))
    rows = [(user, item) for rank, item in enumerate(different) for user in [*range(rank + 1)] * 2]
    with tempfile.TemporaryDirectory() as folder:
        counted = tally(**writer(rows, Path(folder)), person="user", item="track", domain=items)
        found = all_items(counted)
    assert found == [(rank + 1, item) for rank, item in reversed(list(enumerate(different)))]


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=25)
@given(items=TEXTS)
def test_text_survives(form, all_items, items):
    """Text is compared and given back character by character."""
    check(items, WRITERS[form], all_items)


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=15)
@given(items=NUMBERS)
def test_numbers_survive(form, all_items, items):
    """Whole numbers keep their value and type."""
    check(items, WRITERS[form], all_items)


@pytest.mark.parametrize("form", [name for name in WRITERS if name != "sqlite"])
@settings(max_examples=15)
@given(items=TIMES)
def test_times_survive(form, all_items, items):
    """Timestamps keep their microseconds."""
    check(items, WRITERS[form], all_items)
