"""Values that no caller should pass, some that they should, and a folder of files that cannot be read."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

SECRET = "Xq7Secret"
"""Stands in data only, so that an error that contains it quotes data."""
SECRET_COUNT = 918273645546
"""The same, as a count."""


class Unruly:
    """An object with no attribute but a text that must not be quoted."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(SECRET)

    def __str__(self) -> str:
        return SECRET

    def __repr__(self) -> str:
        return "Unruly()"


class Index:
    """A whole number that is no int."""

    def __index__(self) -> int:
        return 2


NUMBERS: list[Any] = [
    *(1, 2, 3, 1.0, "1", "0.5", "1/3", Fraction(1, 7), Decimal("0.25"), np.float64(0.5), np.int64(2), Index()),
    *(0, -0.0, 0.0, -1, "-1", 1e-300, 1e300, "1e-300", "1e300", "1e-400", "1e999999999", 2**63, 2**64, -(2**63)),
    *(
        float("nan"),
        float("inf"),
        float("-inf"),
        "nan",
        "inf",
        "NaN",
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
    ),
    *(
        None,
        True,
        False,
        "",
        " ",
        "one",
        "1 ",
        "1_0",
        "٣",
        "1e",
        "0x10",
        "1/0",
        "/",
        "1//2",
        "\0",
        "9" * 5000,
        10**5000,
    ),
    *(Fraction(1, 10**400), 1j, b"1", [], [1], (1, 2), {}, object(), Unruly(), np.array([1.0]), np.nan, pd.NA, pd.NaT),
    *(
        "1'; DROP TABLE votes; --",
        "{0}",
        "{epsilon}",
        "%s",
        "\x1b[31m",
        "\ud800",
        5e-324,
        1.7976931348623157e308,
        date.max,
    ),
]
SIZES: list[Any] = [
    *(1, 2, 3, 1, 2, 3, np.int64(2), Index(), 4, 5),
    *(
        0,
        -1,
        10**6,
        2**31,
        2**63,
        10**30,
        1.0,
        2.5,
        "2",
        None,
        True,
        (1, 2),
        (2, 1),
        (1, 3),
        [1, 2],
        (0, 2),
        (1, 2, 3),
        "12",
    ),
    *(float("nan"), float("inf"), Unruly(), b"2", np.array([2]), np.array(2), {}, "x" * 10000),
]
TEXTS: list[Any] = [
    *(
        "person",
        "user",
        "track",
        "",
        " ",
        "\0",
        "a\nb",
        "x" * 100_000,
        'tr"ack',
        "tr'ack",
        "track; DROP TABLE x",
        "TRACK",
    ),
    *(
        "replace",
        "add-remove",
        "joint",
        "{k}",
        "{",
        "}",
        "%(x)s",
        "é",
        "\ud800",
        "\u202e",
        None,
        1,
        2.5,
        b"x",
        Unruly(),
        [],
    ),
    *("../../etc/passwd", "-", "--", "*", "[a-", "1GB", "-1GB", "1e9999 GB", "../x", "a b", ";".join("ab" * 50)),
]
COUNTS: list[Any] = [
    [5, 3, 3, 0],
    [9, 4, 4, 1, 0],
    {SECRET: 5, "b": 3, "c": 1},
    {"a": SECRET_COUNT, "b": 3, SECRET: 0},
    [SECRET_COUNT, 1, 2],
    [SECRET_COUNT, -1, 2],
    [SECRET_COUNT, 1.5],
    {SECRET: -1, "b": 2},
    {SECRET: "many", "b": 2},
    {SECRET: float("nan"), "b": SECRET_COUNT},
    [2**63 - 1, 2**63 - 2, 0],
    [2**63, 1],
    [2**64, 1],
    [10**30, 1, 2],
    [-0.0, 0.0, 1.0],
    [float("nan"), 1, 2],
    [float("inf"), 1],
    [None, 1],
    [True, False],
    ["1", "2"],
    [b"1"],
    [[1, 2], [3, 4]],
    [[1], [2, 3]],
    [1j, 2],
    [],
    {},
    (),
    None,
    "",
    SECRET,
    b"abc",
    7,
    {1, 2},
    Unruly(),
    [Unruly(), 1],
    {Unruly(): 1, "b": 2},
    [Decimal("3"), Decimal("NaN")],
    [Fraction(1, 2), 3],
    [date.today(), 1],
    np.array([4, 2, 1], dtype=np.uint64),
    np.array([2**64 - 1, 1], dtype=np.uint64),
    np.array([3.0, 2.0, SECRET_COUNT + 0.5]),
    np.array([3, 2, 1], dtype=np.float16),
    np.array([1, 2], dtype=object),
    np.array([[1, 2]]),
    np.array(5),
    np.array([], dtype=int),
    np.array(["a"]),
    np.array([1, 2], dtype="datetime64[s]"),
    np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]),
    np.zeros(2000, dtype=np.int8),
    pd.Series([3, 1, 2], index=[SECRET, "b", "b"]),
    pd.Series([3, None, 2]),
    pd.Series([3, None, 2], dtype="Int64"),
    pd.DataFrame({"a": [1, 2]}),
    pa.array([3, 2, 1]),
    iter([1, 2, 3]),
    range(5),
    memoryview(b"abc"),
]


def make_folder(folder: Path) -> list[str]:
    """Write files that can be read, and files that cannot; return their paths, and some that do not exist."""
    table = pa.table({"user": list(range(40)), "track": ["a", "b", SECRET, None] * 10})
    pq.write_table(table, folder / "votes.parquet")
    whole = (folder / "votes.parquet").read_bytes()
    rows = "user,track\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(40)) + f"41,{SECRET}\n"
    contents: dict[str, bytes] = {
        "cut.parquet": whole[: len(whole) // 2],
        "swapped.parquet": whole[::-1],
        "flipped.parquet": whole[:60] + bytes(255 - each for each in whole[60:90]) + whole[90:],
        "empty.parquet": b"",
        "votes.csv": rows.encode(),
        "with space.csv": rows.encode(),
        "quo'te\".csv": rows.encode(),
        "nul.csv": rows.encode() + b"42,\0\0\n",
        "latin.csv": rows.encode() + b"42,\xff\xfe\n",
        "utf16.csv": rows.encode("utf-16"),
        "ragged.csv": rows.encode() + b'42,a,b,c\n43\n"44,a\n',
        "bare.csv": rows.partition("\n")[2].encode(),
        "wide.csv": b"," * 3000 + b"\n",
        "long.csv": b"user,track\n1," + b"z" * 300_000 + b"\n",
        "empty.csv": b"",
        "newline.csv": b"\n",
        "votes.json": b"".join(b'{"user": %d, "track": "a"}\n' % n for n in range(20)),
        "deep.json": b'{"user": ' + b"[" * 3000 + b"\n",
        "cut.json": b'{"user": 1, "track": "a"}\n{"user": 2, "tr',
        "domain.csv": b"track\na\nb\nc\n",
        "budget.db": b"SQLite format 3\0" + b"\0" * 200,
        "text.db": SECRET.encode() * 100,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    with closing(sqlite3.connect(folder / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE votes (user, track)")
        connection.executemany("INSERT INTO votes VALUES (?, ?)", [(n, "ab"[n % 2]) for n in range(30)])
    connection.close()
    os.mkfifo(folder / "pipe.csv")
    threading.Thread(target=_feed, args=(folder / "pipe.csv", rows.encode()), daemon=True).start()
    (folder / "folder.csv").mkdir()
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "link.csv").symlink_to(folder / "votes.csv")
    (folder / "locked.csv").write_bytes(rows.encode())
    (folder / "locked.csv").chmod(0)
    names = [*contents, "other.db", "pipe.csv", "folder.csv", "loop.csv", "link.csv", "locked.csv", "absent.csv"]
    paths = [str(folder / name) for name in names]
    paths += [
        f"{folder}/folder.csv/../votes.csv",
        f"{folder}/*.csv",
        f"{folder}/[",
        str(folder),
        "/dev/null",
        "/dev/zero",
    ]
    return [*paths, "", "\0", "x" * 5000, f"{folder}/votes.csv\n", "~nobody/x.csv", "http://localhost:1/x.csv"]


def _feed(pipe: Path, content: bytes) -> None:
    """Write to a pipe for each of its readers. A pipe that nobody writes to would be waited for."""
    while pipe.exists():
        with suppress(BrokenPipeError), open(pipe, "wb") as file:
            file.write(content)


def write(value: Any) -> str:
    """Write a value, shortened; some values cannot be written."""
    try:
        return repr(value)[:400]
    except Exception as error:
        return f"<{type(error).__name__}>"
