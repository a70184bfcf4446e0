"""Hostile votes for every engine and type: what one more person may not change.

A chain starts with some votes and adds one person after another. Each two neighbours in the chain are a pair of tables
that differ in one person. `check_chain` counts every table of the chain.
"""

import itertools
import math
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache, reduce
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from shortlist import Query
from shortlist.errors import DataError
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes.domain import number_items
from shortlist.votes.matching import Lookup, can_match, make_key_table
from shortlist.votes.source import VOTES, check_types, read_request
from shortlist.votes.tallies import TallyPlan, open_votes
from shortlist.votes.values import make_arrow_column, read_type

CHECKS = settings(
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,  # the first one that is found says enough
)
NUMBERS, TURNS = itertools.count(), itertools.count()
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
FAMILIES = {name: number_items(make_arrow_column(values, what=name)).family for name, values in DOMAINS.items()}
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
    # Larger floats of 32 bits match nothing, but match in pandas and dicts up to 2⁵³.
    "float32": (pa.float32(), FLOATS.filter(lambda each: not 2**24 < abs(each) < math.inf)),
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
EXTREMES = {
    "any s": (pa.timestamp("s"), integers(64)),
    "any us": (pa.timestamp("us", "UTC"), integers(64)),
    "date64": (pa.date64(), st.sampled_from([0, 1, 86_400_000, 1709164800000, 1709164800001]) | integers(64)),
    "time ns": (pa.time64("ns"), st.sampled_from([0, 1, 45_000 * 10**9, 45_000 * 10**9 + 1])),
}
"""Types with values that few engines and files can hold."""
KINDS |= EXTREMES
COMMON = sorted(set(KINDS) - set(EXTREMES))
SQLITE_KINDS = ["text", "int64", "float64", "bytes"]
POSTGRES_KINDS = [
    *("text", "int16", "int32", "int64", "float32", "float64", "decimal 5,2", "decimal 38,0"),
    *("boolean", "date", "time", "timestamp us", "instant us", "bytes"),
]
SPARK_KINDS = [
    *("text", "int8", "int32", "int64", "float64", "decimal 20,5", "boolean", "date"),
    *("timestamp us", "instant us", "bytes"),
]
BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
"""If it is negative, keys are not sent to all tasks."""
QUICK_SPARK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Compiling many small queries takes longer than running them."""
HUGE = Decimal("1e999999")
ODDITIES = [float("nan"), -0.0, 7.0, Decimal("1.5"), Decimal("sNaN"), [7], {"a": 1}, object(), 7 + 0j, np.int8(7),
            np.datetime64("2024-02-29T12:30"), datetime(1, 1, 1, tzinfo=UTC), "\ud800", 10**400, HUGE,
            bytearray(b"a"), np.float64(1.5), timedelta(1), True, MOMENT, date(2024, 2, 29), UUID(int=7),
            np.bool_(True), np.timedelta64(5, "s"), 1e308, -0.0, Decimal("-0"), time(12, 30, tzinfo=UTC),
            "x" * 300]  # fmt: skip


WHOLE = st.integers(-(2**53), 2**53)
NAMES = st.sampled_from(["p", "P", "\xe4", "\xc4", "a\u0308", "k", "K", "\u212a", "p ", "", "7", "7.0"]) | TEXTS
PERSONS = {
    "whole": (pa.int64(), WHOLE),
    "text": (pa.string(), NAMES),
    "cases": (pa.string(), st.sampled_from("pqrstuvwPQRSTUVW")),
    "float": (pa.float64(), st.floats(allow_nan=False).map(lambda each: each + 0.0)),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "timestamp s": (pa.timestamp("s"), integers(64)),
    "timestamp ns": (pa.timestamp("ns"), integers(64)),
    "duration": (pa.duration("s"), integers(64)),
    "date64": (pa.date64(), integers(64)),
    "time ns": (pa.time64("ns"), st.integers(0, 86_400 * 10**9 - 1)),
    "decimal": (pa.decimal128(20, 5), decimals(20, 5)),
}
EVERYWHERE = ("whole", "text", "cases")
"""The persons that every engine and file can hold as they are."""
USUAL = (*EVERYWHERE, "float", "bytes", "decimal")


@dataclass(frozen=True)
class Case:
    """A domain, the type of the votes' column (None: values of any type), and the persons with their votes."""

    domain: str
    kind: str | None
    named: str | None
    people: list
    cap: int | None = None

    def columns(self, size):
        """The columns of the first people, as Arrow arrays or as Python lists."""
        return self.columns_of(self.people[:size])

    def columns_of(self, people):
        """The columns of some people."""
        rows = [(person, item) for person, items in people for item in items]
        users, items = [person for person, _ in rows], [item for _, item in rows]
        if self.kind is None:
            return {"user": users, "track": items}
        return {"user": make_array(users, PERSONS[self.named][0]), "track": make_array(items, KINDS[self.kind][0])}


def make_array(items, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(items, kind.value_type).dictionary_encode()
    whole = pa.types.is_temporal(kind) and kind.bit_width == 64 and kind != pa.time64("us")
    return pa.array(items, pa.int64()).cast(kind, safe=False) if whole else pa.array(items, kind)


def cases(kinds, *, people, fewest=None, mixed=False, named=EVERYWHERE):
    """Draw cases whose column has one of some kinds, or values of all kinds, with `fewest` to `people` people."""

    @st.composite
    def draw_case(draw):
        kind = None if mixed else draw(st.sampled_from(kinds))
        # Most domains are such that the column can match.
        among = None if kind is None else read_type(KINDS[kind][0]).family
        fitting = [name for name in sorted(DOMAINS) if among is None or can_match(FAMILIES[name], among)]
        domain = draw(st.sampled_from(fitting * 4 + sorted(DOMAINS)))
        values = st.sampled_from(EVERYTHING + ODDITIES) if kind is None else KINDS[kind][1]
        matching = list_matching(domain, kind)
        # Half of the votes match.
        votes = st.lists(
            st.none() | values | values | (st.sampled_from(matching) if matching else values), min_size=1, max_size=6
        )
        chosen = draw(st.sampled_from(named))
        # Whole numbers among text and floats, so that one person changes the type of a column without a type.
        several = st.one_of(WHOLE, st.just(5 + 0j), *(PERSONS[each][1] for each in ("text", "float")))
        person = several if mixed else PERSONS[chosen][1]
        pairs = st.tuples(person, votes)
        drawn = draw(st.lists(pairs, min_size=fewest or people, max_size=people, unique_by=lambda pair: pair[0]))
        return Case(domain=domain, kind=kind, named=chosen, people=drawn, cap=draw(st.none() | st.integers(1, 3)))

    return draw_case()


@cache
def list_matching(domain, kind):
    """Values of a kind that match items of a domain."""
    if kind is None:
        return DOMAINS[domain]
    numbered, held = number_items(make_arrow_column(DOMAINS[domain], what=domain)), KINDS[kind][0]
    keys = make_key_table(numbered, read_type(held).exact, read_type(held).family).column("key")
    whole = pa.types.is_temporal(held) and held.bit_width == 64 and held != pa.time64("us")
    factor = {pa.date64(): 86_400_000, pa.time64("ns"): 1000}.get(held, 1)
    if whole and keys.type.bit_width == 32:
        keys = keys.cast(pa.int32())
    return [each * factor for each in keys.cast(pa.int64()).to_pylist()] if whole else keys.to_pylist()


def check_chain(case, hold, workspace, *, first=1, exact=True):
    """Count every table of the chain, and compare neighbours; the number of pairs is returned."""
    domain = number_items(make_arrow_column(DOMAINS[case.domain], what="the domain"))
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
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


def check_cube(case, hold, workspace, *, free=4, exact=True, texts=False):
    """Count the table with each subset of the last `free` people, and compare all neighbours; return their number.

    Each of n people is added to every table without it: 2ⁿ tables are n · 2ⁿ⁻¹ pairs.
    """
    domain = number_items(make_arrow_column(DOMAINS[case.domain], what="the domain"))
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
    always, sometimes = case.people[:-free], case.people[-free:]
    found, pairs = {}, 0
    for chosen in itertools.product([False, True], repeat=free):
        data = case.columns_of(always + list(itertools.compress(sometimes, chosen)))
        found[chosen] = outcome(workspace, hold(data), domain, columns)
        if exact and isinstance(found[chosen], list) and case.cap is None:
            assert [count for _, count in found[chosen]] == expected(domain, data), "the rule of matching"
        for place in itertools.compress(range(free), chosen):
            compare(found[(*chosen[:place], False, *chosen[place + 1 :])], found[chosen], case.cap)
            pairs += 1
    if case.named == "whole" and case.kind is not None:
        for other in retype_persons(data, whole=texts):
            assert outcome(workspace, hold(other), domain, columns) == found[chosen], "a type of persons moves votes"
    return pairs


def retype_persons(data, *, whole=False):
    """The same votes, with persons that are whole numbers in columns of other types: one person may decide the type.

    A text file keeps types as texts, and the texts 5 and 5.0 are two persons. There, numbers stay `whole`.
    """
    users = data["user"]
    numbers = [each for each in users.to_pylist() if each is not None]
    yield {**data, "user": users.cast(pa.string())}
    if all(abs(each) < 2**31 for each in numbers):
        yield {**data, "user": users.cast(pa.int32())}
    if whole:
        return
    if sum(map(abs, numbers)) % 2:  # one of two, to save time
        yield {**data, "user": users.cast(pa.float64())}
    else:
        yield {**data, "user": users.cast(pa.decimal128(38, 0))}


def check_spark_chain(case, session, workspace):
    """Count every table of the chain in one job of Spark; the number of pairs is returned."""
    domain = number_items(make_arrow_column(DOMAINS[case.domain], what="the domain"))
    columns = read_request(item="track", person="user", count=None, votes_per_person=case.cap)
    found = count_spark_chain(case, session, lambda votes: plan_count(workspace, votes, domain, columns))
    # Items without a vote are left out.
    tables = [
        sorted({**dict.fromkeys(range(domain.d), 0), **{row["item"]: row["votes"] for row in rows}}.items())
        for rows in found
    ]
    for before, after in itertools.pairwise(tables):
        compare(before, after, case.cap)
    for size, counted in enumerate(tables, 1):
        if case.cap is None:
            assert [count for _, count in counted] == expected(domain, case.columns(size)), "the rule of matching"
    return len(case.people) - 1


def count_spark_chain(case, session, plan):
    """The counted rows of the first people, then of one more after the other; no tables if all are refused alike.

    Keys are sent to all tasks for every second table, and sorted and merged with the votes for the others.
    """
    from pyspark.sql import functions

    sizes, plans, errors = range(1, len(case.people) + 1), [], []
    data = case.columns_of(case.people)
    data["number"] = pa.array([number for number, (_, votes) in enumerate(case.people) for _ in votes], pa.int64())
    held = hold_spark(data, session)
    for size in sizes:
        try:
            planned = plan(held.where(f"number < {size}"))
            session.conf.set(BROADCAST, "10485760" if size % 2 else "-1")
            counted = planned.source.plan_counts(planned.described, planned.request)
            plans.append(counted.withColumn("size", functions.lit(size)))
        except DataError as error:
            errors.append(str(error))
    session.conf.set(BROADCAST, "10485760")
    assert not errors or errors == errors[:1] * len(sizes), "an error depends on one person"
    found = {size: [] for size in sizes if plans}
    for row in reduce(lambda one, two: one.union(two), plans).toArrow().to_pylist() if plans else ():
        found[row["size"]].append(row)
    return list(found.values())


def outcome(workspace, votes, domain, columns):
    """The items in their order with their counts, or the text of the error."""
    try:
        counted = plan_count(workspace, votes, domain, columns).count()
    except DataError as error:
        return str(error)
    profile = counted[0].above(counted[0].d, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    found = zip(counted.names(counted.rows([Picks(levels=levels, ranks=ranks)]))[0], levels.tolist(), strict=True)
    return sorted(((repr(item), count) for item, count in found), key=lambda pair: order(domain)[pair[0]])


def plan_count(workspace, votes, domain, columns):
    """Describe votes and check them as a release does; the domain is given, or None."""
    source = open_votes(workspace, votes)
    with source.explain_failures():
        described = source.describe(lambda header: header.take(columns.columns, where=VOTES))
    request = replace(columns, domain=domain)
    check_types(described, request)
    return TallyPlan(workspace=workspace, source=source, described=described, request=request)


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
    users, items = data["user"], data["track"]
    if isinstance(users, pa.Array):
        users = (users.cast(pa.int64()) if pa.types.is_temporal(users.type) else users).to_pylist()
        items = [read_value(each) for each in items]
    persons = defaultdict(set)
    for user, row in zip(users, map(Lookup(domain).find, items), strict=True):
        persons[row].add(user)
    return [len(persons[row]) for row in range(domain.d)]


def read_value(scalar):
    """A value of Arrow in Python, None where Python would round it or has none."""
    coarser = {pa.date64(): 86_400_000, pa.time64("ns"): 1000}.get(scalar.type)
    if coarser is not None and scalar.is_valid and scalar.cast(pa.int64()).as_py() % coarser:
        return None
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return None


def hold_arrow(data):
    return pa.table(data)


def hold_pandas(data):
    return (
        pa.table(data).to_pandas(integer_object_nulls=True)
        if isinstance(data["user"], pa.Array)
        else pd.DataFrame({name: pd.Series(data[name], dtype=object if name != "user" else None) for name in data})
    )


class Frame(pd.DataFrame):
    """A company's own class of frames, and of columns."""

    @property
    def _constructor(self):
        return Frame

    @property
    def _constructor_sliced(self):
        return Series


class Series(pd.Series):
    """A column of such a frame."""

    @property
    def _constructor(self):
        return Series


def hold_subclass(data):
    return Frame(hold_pandas(data))


def hold_arrays(data):
    """A dict of columns in classes of pandas, which inherit from series or hold NumPy arrays."""
    frame = hold_subclass(data)
    return {name: frame[name] if name == "user" else frame[name].array for name in data}


def hold_memtable(data):
    """A table of Ibis in memory, or the frame where Ibis itself refuses a value, or writes a million digits of it."""
    import ibis

    columns = {name: pd.Series(values, dtype=object) for name, values in data.items()}
    frame = pd.DataFrame(columns)
    if any(each is HUGE for values in data.values() for each in values):
        return frame
    try:
        return ibis.memtable(frame)
    except Exception:
        return frame


def hold_inferred(data):
    """A frame whose columns get their types from their values: whole numbers, floats, text, objects."""
    # pandas itself rounds larger numbers when a gap or a fraction makes floats of them, and its text is Unicode.
    lost = {int: lambda item: abs(item) > 2**53, str: lambda item: item == "\ud800"}
    columns = {
        name: [None if type(item) in lost and lost[type(item)](item) else item for item in values]
        for name, values in data.items()
        if name != "user"
    }
    return pd.DataFrame({"user": pd.Series(data["user"]), **{name: pd.Series(columns[name]) for name in columns}})


def hold_dict(data):
    return data


def hold_polars(data):
    import polars as pl

    return pl.from_arrow(pa.table(data)).lazy()


def hold_parquet(data, folder):
    """Two files, or a dataset of them. In most tables, the second has types that a writer may take from its rows."""
    from pyarrow import dataset, parquet

    table, paths = pa.table(data), [folder / f"{next(NUMBERS)}.parquet" for _ in range(2)]
    half, turn = len(table) // 2, next(TURNS)
    second = {name: rewrite(name, column, turn) for name, column in zip(data, table[half:].columns, strict=True)}
    parquet.write_table(table[:half], paths[0])
    parquet.write_table(pa.table(second), paths[1])
    return dataset.dataset(paths) if turn % 2 else paths


def rewrite(name, column, turn):
    """A column in another type that holds the same values, or as it is."""
    made = pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)])
    kinds = list_types(made, matched=name not in ("user", "length"))
    kind = kinds[(turn // 2 + len(name)) % len(kinds)]
    return pa.nulls(len(made), kind) if made.null_count == len(made) else made.cast(kind)


def list_types(column, *, matched):
    """The types in which a writer may hold the values of a column: those in which no value is another one.

    Floats and text hold whole numbers with a gap, or beside a value that is none, and a column of gaps has any type.
    Bytes hold text beside a value that is bytes.
    Units and scales are those of single values. Whether a column that is `matched` is refused depends on its family.
    """
    types, kind = pa.types, column.type
    if column.null_count == len(column):
        return [kind, pa.null(), pa.float64(), *([] if matched else [pa.string(), pa.bool_()])]
    if types.is_integer(kind):
        small = all(abs(each) < 2**53 for each in column.drop_null().to_pylist())
        return [
            kind,
            *([pa.float64(), pa.int64()] if small else []),
            *([] if matched else [pa.decimal128(38, 0), pa.string()]),
        ]
    if types.is_decimal(kind):
        wide = pa.decimal128(38, kind.scale)
        return [kind, wide, *([pa.decimal128(38, kind.scale + 1)] if kind.precision < 38 else [])]
    if types.is_timestamp(kind) and kind.unit in ("s", "us"):
        finer = pa.timestamp({"s": "ms", "us": "ns"}[kind.unit], kind.tz)
        return [kind, finer] if fits(column, finer) else [kind]
    if types.is_dictionary(kind) or types.is_string(kind):
        same = [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
        return same if matched or types.is_dictionary(kind) else [*same, pa.binary()]
    return [kind]


def fits(column, kind):
    """Whether a type holds all values."""
    try:
        return bool(column.cast(kind))
    except pa.ArrowInvalid:
        return False


def hold_duckdb(data, connection):
    """A table with a collation, where the column holds text."""
    table, name = pa.table(data), f"t{next(NUMBERS)}"
    kinds = [str(kind) for kind in connection.from_arrow(table).types]
    kinds = [f"{kind} COLLATE NOCASE.NOACCENT" if kind == "VARCHAR" else kind for kind in kinds]
    fields = ", ".join(f"{column} {kind}" for column, kind in zip(data, kinds, strict=True))
    connection.execute(f"CREATE TEMP TABLE {name} ({fields})")
    connection.from_arrow(table).insert_into(name)
    return connection.table(name)


class Connection(sqlite3.Connection):
    """A connection that is closed when nobody holds it. Any thread may be the one that finds it unused."""

    def __del__(self):
        self.close()


def hold_sqlite(data):
    connection = sqlite3.connect(":memory:", factory=Connection, check_same_thread=False)
    kinds = ", ".join(f"{name} {'BLOB' if name == 'user' else 'NUMERIC'} COLLATE NOCASE" for name in data)
    connection.execute(f"CREATE TABLE log ({kinds})")
    if isinstance(data["user"], pa.Array):
        rows = list(zip(*(column.to_pylist() for column in data.values()), strict=True))
        rows = [(int(user) if isinstance(user, Decimal) else user, *values) for user, *values in rows]
    else:
        rows = [
            (user, *values)
            for user, *values in zip(*data.values(), strict=True)
            if not isinstance(user, complex) and all(map(can_store, values))
        ]
    connection.executemany(f"INSERT INTO log VALUES ({', '.join('?' * len(data))})", rows)
    return Query(connection, "SELECT * FROM log")


def can_store(item):
    """Whether SQLite can store a value."""
    huge = type(item) is int and abs(item) >= 1 << 63
    return item is None or (type(item) in (int, float, str, bytes) and not huge and item != "\ud800")


def hold_text_file(data, folder):
    """A CSV file: every value as text."""
    import csv

    path = folder / f"{next(NUMBERS)}.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NOTNULL if hasattr(csv, "QUOTE_NOTNULL") else csv.QUOTE_MINIMAL)
        columns = (column.to_pylist() for column in data.values())
        writer.writerows([tuple(data), *(row for row in zip(*columns, strict=True) if "" not in row[1:])])
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
    columns = {}
    for column, values in data.items():
        kind = kinds.get(str(values.type), "bigint")
        if pa.types.is_decimal(values.type):
            kind = f"numeric({values.type.precision}, {values.type.scale})"
        if pa.types.is_timestamp(values.type) and values.type.tz:
            kind, values = "timestamptz", values.cast(pa.timestamp("us", "UTC"))
        columns[column] = kind, values.to_pylist()
    with psycopg.connect(address) as connection:
        collation = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        connection.execute(f"CREATE COLLATION IF NOT EXISTS case_insensitive ({collation})")
        fields = ", ".join(f'"{column}" {kind}' for column, (kind, _) in columns.items())
        connection.execute(f"CREATE TABLE {name} ({fields})")
        rows = list(zip(*(values for _, values in columns.values()), strict=True))
        connection.cursor().executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(columns))})", rows)
    return Query(address, f"SELECT * FROM {name}")


def hold_spark(data, session):
    from pyspark.sql.types import StructField, StructType, TimestampNTZType

    table, schema = pa.table(data), None
    if pa.timestamp("us") in table.schema.types[1:]:
        inferred = session.createDataFrame(table.slice(0, 0)).schema
        schema = StructType(
            [
                StructField(field.name, TimestampNTZType()) if kind == pa.timestamp("us") else field
                for field, kind in zip(inferred.fields, table.schema.types, strict=True)
            ]
        )
    frame = session.createDataFrame(table, schema)
    if pa.types.is_string(table.schema.field(0).type):
        return frame.selectExpr("user COLLATE UTF8_LCASE AS user", *data.keys() - {"user"})
    return frame
