"""Hostile votes for every engine and type: what one more person may not change.

A chain starts with some votes and adds one person after another. Each two neighbours in the chain are a pair of tables
that differ in one person. `check_chain` counts every table of the chain.
"""

import itertools
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes import Query
from shortlist.votes.columns import read_columns
from shortlist.votes.items.arrow_values import arrow_column
from shortlist.votes.items.domain import number_items
from shortlist.votes.items.item_types import find_family
from shortlist.votes.items.keys import NO_ROW, Lookup
from shortlist.votes.items.matching import can_match
from shortlist.votes.tallies import open_votes

NUMBERS = itertools.count()
MOMENT = datetime(2024, 2, 29, 12, 30)
TICK = timedelta(microseconds=1)
DOMAINS = {
    "text": [
        *("a", "A", "b", "ä", "", "7", "007", "1.5", "1.50", "true", "True", "2024-02-29", "2024-02-29 12:30:00"),
        *("\u212a", "k", "a ", "12:30", "2024-02-29T12:30:00Z"),
    ],
    "whole numbers": [7, 0, -1, 127, 128, 2**31, 2**53, 2**53 + 1, -(2**63), 2**63 - 1],
    "huge numbers": [7, 2**63, 2**64 - 1, 10**37],
    "decimals": [Decimal("1.50"), Decimal("2.00"), Decimal("-0.25"), Decimal("7.00"), Decimal("9999999.99")],
    "booleans": [True, False],
    "dates": [date(2024, 2, 29), date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    "times": [time(12, 30), time(0, 0), time(12, 30, 0, 1), time(23, 59, 59, 999999)],
    "timestamps": [MOMENT, MOMENT + TICK, datetime(1970, 1, 1), datetime(1600, 1, 1), datetime(2024, 2, 29)],
    "instants": [each.replace(tzinfo=UTC) for each in (MOMENT, datetime(1970, 1, 1), datetime(2500, 1, 1) + TICK)],
    "bytes": [b"a", b"", b"\x00\xff", b"7"],
}
FAMILIES = {name: number_items(arrow_column(values, what=name)).family for name, values in DOMAINS.items()}
EVERYTHING = [value for values in DOMAINS.values() for value in values]

STRANGE = ["B", "Ä", "a\u0308", "K", "+7", "7.0", "-0", "NULL", "NaN", "1.500", "TRUE", "2024-02-29T12:30"]
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
TEXTS = st.sampled_from([*map(str, EVERYTHING), *STRANGE]) | st.text(LETTERS, max_size=3)


def integers(bits, signed=True):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    known = [value for value in [*DOMAINS["whole numbers"], *DOMAINS["huge numbers"]] if low <= value <= high]
    return st.sampled_from(known) | st.integers(low, high)


def decimals(precision, scale):
    known = [Decimal("1.5"), Decimal(2), Decimal(7), Decimal("-0.25")]
    fitting = [each for each in known if each == round(each, scale)]
    whole = min(precision, 30)
    drawn = st.integers(-(10**whole) + 1, 10**whole - 1).map(lambda each: Decimal(each).scaleb(-scale))
    return st.sampled_from(fitting) | drawn


def moments(unit):
    """Counts of a unit since 1970, among them all timestamps of the domains that it can hold."""
    factor = {"s": -(10**6), "ms": -(10**3), "us": 1, "ns": 10**3}[unit]
    micros = [(each - datetime(1970, 1, 1)) // timedelta(microseconds=1) for each in DOMAINS["timestamps"]]
    known = [each * factor if factor > 0 else each // -factor for each in micros]
    known += [each + step for each in known for step in (-1, 1)]
    return st.sampled_from([each for each in known if abs(each) < 1 << 62]) | st.integers(-(2**31), 2**31)


FLOATS = st.sampled_from(
    [7.0, 7.5, 1.5, 0.0, -0.0, float("nan"), float("inf"), 2.0**53, 2.0**53 + 2, 127.0, -1.0, 1e300]
)
CLOCKS = st.sampled_from(DOMAINS["times"]) | st.times()
DAYS = st.sampled_from(DOMAINS["dates"]) | st.dates()
KINDS = {
    "text": (pa.string(), TEXTS),
    "large text": (pa.large_string(), TEXTS),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    "int8": (pa.int8(), integers(8)),
    "int16": (pa.int16(), integers(16)),
    "int32": (pa.int32(), integers(32)),
    "int64": (pa.int64(), integers(64)),
    "uint8": (pa.uint8(), integers(8, False)),
    "uint64": (pa.uint64(), integers(64, False)),
    "float32": (pa.float32(), FLOATS.filter(lambda each: each != 1e300)),
    "float64": (pa.float64(), FLOATS),
    "decimal 5,2": (pa.decimal128(5, 2), decimals(5, 2)),
    "decimal 20,5": (pa.decimal128(20, 5), decimals(20, 5)),
    "decimal 38,0": (pa.decimal128(38, 0), decimals(38, 0)),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), DAYS),
    "time": (pa.time64("us"), CLOCKS),
    "timestamp s": (pa.timestamp("s"), moments("s")),
    "timestamp us": (pa.timestamp("us"), moments("us")),
    "timestamp ns": (pa.timestamp("ns"), moments("ns")),
    "instant us": (pa.timestamp("us", "Asia/Tokyo"), moments("us")),
    "instant ns": (pa.timestamp("ns", "UTC"), moments("ns")),
    "bytes": (pa.binary(), st.sampled_from(DOMAINS["bytes"]) | st.binary(max_size=2)),
}
ODDITIES = [float("nan"), -0.0, 7.0, Decimal("1.5"), Decimal("sNaN"), [7], {"a": 1}, object(), 7 + 0j, np.int8(7),
            np.datetime64("2024-02-29T12:30"), datetime(1, 1, 1, tzinfo=UTC), "\ud800", 10**400, Decimal("1e999999"),
            bytearray(b"a"), np.float64(1.5), timedelta(1), True, MOMENT, date(2024, 2, 29)]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A domain, the type of the votes' column (None: values of any type), and the votes of each person."""

    domain: str
    kind: str | None
    people: list
    cap: int | None = None

    def columns(self, size):
        """The columns of the first people, as Arrow arrays or as Python lists."""
        rows = [(number, item) for number, items in enumerate(self.people[:size]) for item in items]
        users, items = [number for number, _ in rows], [item for _, item in rows]
        if self.kind is None:
            return {"user": users, "track": items}
        return {"user": pa.array(users, pa.int64()), "track": make_array(items, KINDS[self.kind][0])}


def make_array(items, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(items, kind.value_type).dictionary_encode()
    whole = pa.types.is_timestamp(kind)
    return pa.array(items, pa.int64()).cast(kind) if whole else pa.array(items, kind)


def cases(kinds, *, people, mixed=False, smallest=2):
    """Draw cases whose column has one of some kinds, or values of all kinds."""

    @st.composite
    def draw_case(draw):
        kind = None if mixed else draw(st.sampled_from(kinds))
        # Most domains are such that the column can match.
        among = None if kind is None else find_family(KINDS[kind][0])
        fitting = [name for name in sorted(DOMAINS) if among is None or can_match(FAMILIES[name], among)]
        domain = draw(st.sampled_from(fitting * 4 + sorted(DOMAINS)))
        values = st.sampled_from(EVERYTHING + ODDITIES) if kind is None else KINDS[kind][1]
        person = st.lists(st.none() | values | values | values, min_size=1, max_size=6)
        drawn = draw(st.lists(person, min_size=smallest, max_size=people))
        return Case(domain=domain, kind=kind, people=drawn, cap=draw(st.none() | st.integers(1, 3)))

    return draw_case()


def check_chain(case, hold, workspace, *, first=1, exact=True):
    """Count every table of the chain, and compare neighbours; the number of pairs is returned."""
    domain = number_items(arrow_column(DOMAINS[case.domain], what="the domain"))
    columns = read_columns(item="track", person="user", count=None, votes_per_person=case.cap)
    before = None
    sizes = range(first, len(case.people) + 1)
    for size in sizes:
        data = case.columns(size)
        after = outcome(workspace, hold(data), domain, columns)
        if before is not None:
            compare(before, after, case.cap)
        if exact and isinstance(after, list) and case.cap is None:
            assert [count for _, count in after] == expected(domain, data), "the rule of matching"
        before = after
    return len(sizes) - 1


def outcome(workspace, votes, domain, columns):
    """The items in their order with their counts, or the text of the error."""
    try:
        counted = open_votes(workspace, votes).count(domain, columns, lambda: None)
    except DataError as error:
        return str(error)
    profile = counted.above(counted.d, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    found = zip(counted.names(counted.rows(Picks(levels=levels, ranks=ranks))), levels.tolist(), strict=True)
    return sorted(((repr(item), count) for item, count in found), key=lambda pair: order(domain)[pair[0]])


def order(domain):
    return {repr(item): row for row, item in enumerate(domain.values())}


def compare(before, after, cap):
    """One person more: the same items, and every count grows by 0 or 1, at most `cap` of them."""
    if isinstance(before, str) or isinstance(after, str):
        assert before == after, "an error depends on one person"
        return
    assert [item for item, _ in before] == [item for item, _ in after]
    growth = [new - old for (_, old), (_, new) in zip(before, after, strict=True)]
    assert set(growth) <= {0, 1}
    assert cap is None or sum(growth) <= cap


def expected(domain, data):
    """The counts by the rule of matching, value by value."""
    users, items = (column.to_pylist() if isinstance(column, pa.Array) else column for column in data.values())
    persons = defaultdict(set)
    for user, row in zip(users, Lookup(domain).rows(items).tolist(), strict=True):
        persons[row].add(user)
    persons.pop(NO_ROW, None)
    return [len(persons[row]) for row in range(domain.d)]


def hold_arrow(data):
    return pa.table(data)


def hold_pandas(data):
    import pandas as pd

    return (
        pa.table(data).to_pandas()
        if isinstance(data["user"], pa.Array)
        else pd.DataFrame({"user": data["user"], "track": pd.Series(data["track"], dtype=object)})
    )


def hold_dict(data):
    return data


def hold_polars(data):
    import polars as pl

    return pl.from_arrow(pa.table(data)).lazy()


def hold_parquet(data, folder):
    from pyarrow import parquet

    path = folder / f"{next(NUMBERS)}.parquet"
    parquet.write_table(pa.table(data), path)
    return path


def hold_duckdb(data, connection):
    """A table with a collation, where the column holds text."""
    table, name = pa.table(data), f"t{next(NUMBERS)}"
    kind = connection.from_arrow(table).types[1]
    written = "VARCHAR COLLATE NOCASE.NOACCENT" if str(kind) == "VARCHAR" or str(kind).startswith("ENUM") else kind
    connection.execute(f"CREATE TEMP TABLE {name} (user BIGINT, track {written})")
    connection.from_arrow(table).insert_into(name)
    return connection.table(name)


def hold_sqlite(data):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE log (user TEXT COLLATE NOCASE, track NUMERIC COLLATE NOCASE)")
    stored = (None, int, float, str, bytes)
    rows = [(user, item) for user, item in zip(*data.values(), strict=True) if type(item) in stored or item is None]
    rows = [row for row in rows if not (type(row[1]) is int and abs(row[1]) >= 1 << 63) and row[1] != "\ud800"]
    connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
    return Query(connection, "SELECT * FROM log")


def hold_text_file(data, folder):
    """A CSV file: every value as text."""
    import csv

    path = folder / f"{next(NUMBERS)}.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NOTNULL if hasattr(csv, "QUOTE_NOTNULL") else csv.QUOTE_MINIMAL)
        columns = (column.to_pylist() for column in data.values())
        writer.writerows(
            [("user", "track"), *((user, item) for user, item in zip(*columns, strict=True) if item != "")]
        )
    return path


def hold_ibis(data, backend):
    name = f"t{next(NUMBERS)}"
    backend.con.from_arrow(pa.table(data)).create(name)
    return backend.table(name)


def hold_postgres(data, address):
    import psycopg

    name, kinds = f"hostile_{next(NUMBERS)}", {"int8": "smallint", "int16": "smallint", "int32": "integer"}
    kinds |= {"string": 'text COLLATE "case_insensitive"', "float": "real", "double": "float8", "bool": "boolean"}
    kinds |= {"date32[day]": "date", "time64[us]": "time", "timestamp[us]": "timestamp", "binary": "bytea"}
    items = data["track"]
    kind = kinds.get(str(items.type), "bigint")
    if pa.types.is_decimal(items.type):
        kind = f"numeric({items.type.precision}, {items.type.scale})"
    if pa.types.is_timestamp(items.type) and items.type.tz:
        kind, items = "timestamptz", items.cast(pa.timestamp("us", "UTC"))
    with psycopg.connect(address) as connection:
        collation = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        connection.execute(f"CREATE COLLATION IF NOT EXISTS case_insensitive ({collation})")
        connection.execute(f'CREATE TABLE {name} ("user" bigint, track {kind})')
        rows = list(zip(data["user"].to_pylist(), items.to_pylist(), strict=True))
        connection.cursor().executemany(f"INSERT INTO {name} VALUES (%s, %s)", rows)
    return Query(address, f"SELECT * FROM {name}")


def hold_spark(data, session):
    from pyspark.sql.types import LongType, StructField, StructType, TimestampNTZType

    table, schema = pa.table(data), None
    if table.schema.field(1).type == pa.timestamp("us"):
        schema = StructType([StructField("user", LongType()), StructField("track", TimestampNTZType())])
    return session.createDataFrame(table, schema)
