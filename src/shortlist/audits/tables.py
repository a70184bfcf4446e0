"""The path of tables: on every engine that is installed, one hostile person changes each count by 1 at most.

Tables are counted for a domain, without one, and by group. Without a domain, the person may also bring new items. By
group, the person changes no more groups and cells than the limits allow. With weights and by week, the limit is one on
the cells of each week, and the person adds to each at most the largest weight. The tables are random, and made to be
miscounted: with values that an engine may round, fold, convert or take for equal.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shortlist.audits.cases import Finding, Result
from shortlist.errors import DataError
from shortlist.exact.bits import Bits, SeededBits, SystemBits
from shortlist.periods import Every, Span
from shortlist.privacy.numbers import write_count
from shortlist.profile import EVERY_LEVEL, Levels, Picks
from shortlist.votes.duckdb import Workspace
from shortlist.votes.queries import Query
from shortlist.votes.tallies import plan_tally
from shortlist.votes.values import write_item

if TYPE_CHECKING:
    import pyarrow

Counts = dict[tuple[int, bytes | None], int] | str
"""The count of each cell, which is the number of a group and an item, or the text of the error."""

WITH_DOMAIN, WITHOUT_DOMAIN, BY_GROUP, BY_WEEK = CHECKS = (
    "tables",
    "tables without a domain",
    "tables by group",
    "tables with weights by week",
)
_PAIRS = 30
"""How many pairs of tables each check counts."""
_MOST_IDLE = 10
"""After this many pairs in which no count moved, a check ends."""
_COLUMNS = {"person": "user", "item": "track"}
_PLACES = ["de", "DE", "at"]
"""The groups; votes have others, too."""
_HEAVIEST = 3
_WEIGHTS = [1.0, 2.0, 2.9, 3.0, 3.0, 3.0, 1e300, float("inf"), 0.5, -1.0, float("nan"), None]
_WEEKS = Span(since=date(2024, 2, 26), until=date(2024, 3, 10), every=Every.WEEK, per=Every.WEEK)
_DAYS = [*[date(2024, 2, 26), date(2024, 3, 3)] * 3, date(2024, 3, 4), date(2024, 3, 10), date(2024, 3, 11), None]
"""The first and the last day of each week, and days outside. Most votes are in one week, so that its limit matters."""
_Value = TypeVar("_Value")

DOMAINS: dict[str, list[Any]] = {
    "text": ["a", "A", "b", "ä", "7", "007", "1.5", "true", "2024-02-29", "k"],
    "whole numbers": [7, 0, -1, 127, 2**31, 2**53, 2**53 + 1, 2**63 - 1],
    "decimals": [Decimal("1.50"), Decimal("2.00"), Decimal("-0.25"), Decimal("7.00")],
    "dates": [date(2024, 2, 29), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamps": [datetime(2024, 2, 29, 12, 30), datetime(1970, 1, 1), datetime(1970, 1, 1, 0, 0, 0, 1)],
}
"""Public lists of items, by what they hold."""

_VOTES: dict[str, tuple[str, str, list[Any]]] = {
    "text": (
        "text",
        "string",
        [*DOMAINS["text"], "", "a ", "Ä", "a\u0308", "\u212a", "+7", "7.0", "NULL", "NaN", "TRUE"],
    ),
    "int64": ("whole numbers", "int64", [*DOMAINS["whole numbers"], -(2**63), 2**53 + 2, 128]),
    "float64": (
        "whole numbers",
        "float64",
        [7.0, 0.0, 127.0, 7.5, 1.5, -0.0, float("nan"), float("inf"), 2.0**53, 1e300],
    ),
    "decimal": ("decimals", "decimal128(20, 5)", [Decimal("1.5"), Decimal("2"), Decimal("7"), Decimal("1.50001")]),
    "date": ("dates", "date32", [*DOMAINS["dates"], date(1, 1, 1)]),
    "timestamp": ("timestamps", "timestamp[us]", [*DOMAINS["timestamps"], datetime(2024, 2, 29), datetime(1600, 1, 1)]),
}
"""Kinds of votes: the domain that fits, the type in Arrow, and values."""
_FEW, _MANY = range(1, 7), range(3, 11)
"""How many votes people have, and how many the hostile person has."""
_ORDINARY = 3
"""The first values of each type are items of the domain that fits the type."""
Hold = Callable[["pyarrow.Table", Path], Any]
"""Put a table where an engine holds it; files go into a folder."""


def check_tables(
    progress: Callable[[str], None] = lambda step: None,
    *,
    seed: int | None = None,
    engines: Sequence[Engine] | None = None,
    pairs: int = _PAIRS,
) -> Iterator[Finding]:
    """Count random tables with and without one hostile person, on every engine that is installed."""
    used = int.from_bytes(SystemBits().draw(8)) if seed is None else seed
    for engine in ENGINES if engines is None else engines:
        subject, missing = f"votes in {engine.name}", find_missing(engine)
        if missing is not None:
            found = f"{missing} is not installed"
            yield Finding(subject=subject, check=WITH_DOMAIN, result=Result.NOT_RUN, found=found)
            continue
        progress(f"{subject}: counting with and without one hostile person")
        for check in CHECKS:
            try:
                yield _check_engine(engine, subject, check, seed=used, pairs=pairs)
            except Exception as error:  # of an engine: its text may quote the tables
                found = f"the engine failed ({type(error).__name__}; seed {used})"
                yield Finding(subject=subject, check=check, result=Result.FAIL, found=found)
    found = "it needs a server: the tests of the library start one"
    yield Finding(subject="votes in PostgreSQL", check=WITH_DOMAIN, result=Result.NOT_RUN, found=found)


def _check_engine(engine: Engine, subject: str, check: str, *, seed: int, pairs: int) -> Finding:
    """Count pairs of tables until one is wrong, or enough were counted."""
    bits, least = SeededBits(seed), 1 if engine.slow else pairs
    seen, workspace = Counter[str](), Workspace()
    weekly = check == BY_WEEK
    most = _HEAVIEST if weekly else 1
    with tempfile.TemporaryDirectory(prefix="shortlist-audit-") as folder:
        # Tables that are refused, or in which no count moves, show little. So at least one pair moves a count. One pair
        # that is wrong decides.
        while not seen["wrong"] and (seen["pairs"] < least or (not seen["moved"] and seen["pairs"] < _MOST_IDLE)):
            pair = invent_neighbours(bits)
            place = Path(folder) / str(seen["pairs"])
            place.mkdir()
            tables = (engine.hold(pair.table(last=last), place) for last in (False, True))
            before, after = (count(pair, table, check, workspace) for table in tables)
            refused = isinstance(after, str)
            listed, groups = check != WITHOUT_DOMAIN, pair.groups if check == BY_GROUP else 1
            wrong = not may_differ(before, after, pair.cap, groups=groups, listed=listed, most=most, weekly=weekly)
            seen.update(pairs=1, refused=int(refused), moved=int(not refused and before != after), wrong=int(wrong))
    said = [
        f"no count moved by more than {most}, and in {write_count(seen['moved'], 'pairs')} one moved",
        "in the last pair one person changed too much",
        "no count moved in any pair, so nothing is shown",
    ]
    words = f"{write_count(seen['pairs'], 'pairs')} of tables; {seen['refused']} refused alike"
    passed = False if seen["wrong"] else True if seen["moved"] else None
    return Finding.judge(subject, check, passed, said, words, **seen, seed=str(seed))


def count(pair: Neighbours, votes: Any, check: str = WITH_DOMAIN, workspace: Workspace | None = None) -> Counts:
    """Count votes, for the domain, without one or by group, cell by cell; or give the error."""
    asked: dict[str, Any] = {**_COLUMNS, "votes_per_person": pair.cap, "observed": check == WITHOUT_DOMAIN}
    if check != WITHOUT_DOMAIN:
        asked["domain"] = pair.items
    if check == BY_GROUP:
        asked |= {"by": "place", "groups": _PLACES, "groups_per_person": pair.groups}
    if check == BY_WEEK:
        # One person in one week is in one group.
        asked |= {"time": "day", "span": _WEEKS, "groups_per_person": 1, "weight": "weight", "max_weight": _HEAVIEST}
    found: dict[tuple[int, bytes | None], int] = {}
    try:
        plan = plan_tally(votes, workspace=workspace, **asked)
        counted = plan.count()
        picked = [_pick_all(levels, plan.d) for levels in counted]
        names = counted.names(counted.rows(picked))
    except DataError as error:
        return str(error)
    for group, (items, picks) in enumerate(zip(names, picked, strict=True)):
        cells = [(group, write_item(item)) for item in items]
        found |= dict(zip(cells, picks.levels.tolist(), strict=True))
    if len(found) < sum(map(len, names)):
        raise AssertionError("an item is in two groups")
    return found


def _pick_all(levels: Levels, d: int) -> Picks:
    """Pick every item."""
    profile = levels.above(d or 1, EVERY_LEVEL)
    ranks = [np.arange(size) for size in profile.sizes]
    return Picks(levels=np.repeat(profile.values, profile.sizes), ranks=np.concatenate([*ranks, np.arange(0)]))


def may_differ(
    before: Counts,
    after: Counts,
    cap: int | None,
    *,
    groups: int = 1,
    listed: bool = True,
    most: int = 1,
    weekly: bool = False,
) -> bool:
    """Whether one person more can have made this difference. Items stay the same if a domain lists them.

    A person adds at most `most` to a cell. If the limit is `weekly`, each group has it, and there is none on groups.

    >>> may_differ({(0, b"a"): 1, (0, b"b"): 0}, {(0, b"a"): 2, (0, b"b"): 1}, None)
    True
    >>> may_differ({(0, b"a"): 1}, {(0, b"a"): 3}, None), may_differ({}, {(0, b"b"): 1}, None, listed=False)
    (False, True)
    >>> may_differ({(0, b"a"): 1, (1, b"a"): 1}, {(0, b"a"): 2, (1, b"a"): 2}, None, groups=1)
    False
    """
    if isinstance(before, str) or isinstance(after, str):
        return before == after  # an error must not depend on one person
    fits = before.keys() == after.keys() if listed else before.keys() <= after.keys()
    growth = {cell: votes - before.get(cell, 0) for cell, votes in after.items()}
    grown = Counter(group for (group, _), votes in growth.items() if votes)
    cells = max(grown.values(), default=0) if weekly else grown.total()
    within = (weekly or len(grown) <= groups) and cells <= (cap or len(after))
    return fits and within and all(0 <= votes <= most for votes in growth.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """A domain, the votes of some people, and those of one person more.

    A vote is an item and a place, and perhaps a weight and a day.
    """

    items: list[Any]
    kind: str
    people: list[list[tuple[Any, ...]]]
    cap: int | None
    groups: int = 1
    """In how many groups a person counts."""
    first: bool = False
    """Whether the rows of the last person come before all others. An engine may trust what it reads first."""

    def table(self, *, last: bool) -> pyarrow.Table:
        """The votes as a table, with or without the last person."""
        import pyarrow as pa

        usual = (1.0, _DAYS[0])
        people = [
            [(person, *vote, *usual[len(vote) - 2 :]) for vote in votes] for person, votes in enumerate(self.people)
        ]
        *others, own = people
        rows = [row for each in others for row in each]
        if last:
            rows = [*own, *rows] if self.first else [*rows, *own]
        kind = pa.decimal128(20, 5) if self.kind == "decimal" else _VOTES[self.kind][1]
        types = {"user": pa.int64(), "track": kind, "place": pa.string(), "weight": pa.float64(), "day": pa.date32()}
        return pa.table(
            {name: pa.array([row[n] for row in rows], each) for n, (name, each) in enumerate(types.items())}
        )


def invent_neighbours(bits: Bits) -> Neighbours:
    """Invent two tables that differ in one person, whose votes are among those that are hardest to count."""
    kind = choose(sorted(_VOTES), bits)
    same, _, values = _VOTES[kind]
    values = [*values, None]
    # Mostly a domain of the same kind, and text, which any engine is tempted to convert.
    domain = choose([same, same, same, "text", *DOMAINS], bits)
    # If all others are ordinary, the last person alone has what may be an error, or decide how a column is read.
    usual = choose([values, values[:_ORDINARY]], bits)
    places = [*_PLACES, *_PLACES, "At", "dé", "de ", "xx", None]

    def vote(among: Sequence[Any], number: range) -> list[tuple[Any, ...]]:
        columns = (among, places, _WEIGHTS, _DAYS)
        return [tuple(choose(each, bits) for each in columns) for _ in range(choose(number, bits))]

    people = [vote(usual, _FEW) for _ in range(choose(_FEW[:5], bits))]
    people.append(vote(choose([values, values[:_ORDINARY]], bits), _MANY))
    cap, groups, first = choose([None, 1, 2, 4], bits), choose([1, 2], bits), choose([False, True], bits)
    return Neighbours(items=DOMAINS[domain], kind=kind, people=people, cap=cap, groups=groups, first=first)


def choose(values: Sequence[_Value], bits: Bits) -> _Value:
    """Choose one of a few values. It needs no exact law: these votes are inventions."""
    return values[int.from_bytes(bits.draw(8)) % len(values)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A place where votes can be."""

    name: str
    hold: Hold
    packages: tuple[str, ...] = ()
    """What must be installed, beside DuckDB and PyArrow."""
    slow: bool = False
    """Whether only few tables are counted there."""


def find_missing(engine: Engine) -> str | None:
    """Find a package, or Java, that the engine needs and that is not installed."""
    needed = ("duckdb", "pyarrow", *engine.packages)
    return next((each for each in needed if (shutil.which if each == "java" else find_spec)(each) is None), None)


def _hold_duckdb(table: pyarrow.Table, folder: Path) -> Any:
    """A table whose texts are compared without case and accents."""
    import duckdb

    connection = duckdb.connect()
    relation = connection.from_arrow(table)
    kind = "VARCHAR COLLATE NOCASE.NOACCENT" if str(relation.types[1]) == "VARCHAR" else relation.types[1]
    connection.execute(
        f"CREATE TABLE votes (user BIGINT, track {kind}, place VARCHAR COLLATE NOCASE.NOACCENT, "
        "weight DOUBLE, day DATE)"
    )
    relation.insert_into("votes")
    return connection.table("votes")


def _hold_file(table: pyarrow.Table, folder: Path, kind: str) -> Path:
    from pyarrow import csv, parquet

    path = folder / f"{len(table)}.{kind}"
    (parquet.write_table if kind == "parquet" else csv.write_csv)(table, path)
    return path


def _hold_sqlite(table: pyarrow.Table, folder: Path) -> Any:
    """Columns that compare without case, and one that converts what it stores."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    plain = (None, int, float, str)
    stored = [[value if type(value) in plain else str(value) for value in row] for row in rows]
    path = folder / f"{len(table)}.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE votes (user INTEGER, track NUMERIC COLLATE NOCASE, place TEXT COLLATE NOCASE, "
            "weight REAL, day TEXT)"
        )
        connection.executemany("INSERT INTO votes VALUES (?, ?, ?, ?, ?)", stored)
    return Query(path, "SELECT * FROM votes")


def _hold_ibis(table: pyarrow.Table, folder: Path) -> Any:
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.from_arrow(table).create("votes")
    return backend.table("votes")


def _hold_spark(table: pyarrow.Table, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF")
    return builder.getOrCreate().createDataFrame(table)


ENGINES = (
    Engine(name="PyArrow", hold=lambda table, folder: table),
    # By default, a conversion to pandas makes floats of whole numbers beside a gap.
    Engine(name="pandas", packages=("pandas",), hold=lambda table, folder: table.to_pandas(integer_object_nulls=True)),
    Engine(name="Polars", packages=("polars",), hold=lambda table, folder: import_module("polars").from_arrow(table)),
    Engine(name="DuckDB", hold=_hold_duckdb),
    Engine(name="Parquet files", hold=partial(_hold_file, kind="parquet")),
    Engine(name="CSV files", hold=partial(_hold_file, kind="csv")),
    Engine(name="SQLite", hold=_hold_sqlite),
    Engine(name="Ibis", packages=("ibis",), hold=_hold_ibis),
    Engine(name="Spark", packages=("pyspark", "java"), hold=_hold_spark, slow=True),
)
