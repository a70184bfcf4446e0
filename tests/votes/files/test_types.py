"""Files of one table whose columns have different types, because a writer takes a type from single values."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hostile import KINDS, make_array, read_value
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import dataset, parquet
from tallying import observe, tally

from shortlist import check
from shortlist.errors import DataError
from shortlist.periods import read_span
from shortlist.votes.dialects import Column
from shortlist.votes.duckdb import Workspace, write_item_bytes
from shortlist.votes.tallies import plan_tally
from shortlist.votes.values import Family, read_type, write_exact, write_item

ASKED = {"item": "track", "person": "user"}
READ = pytest.mark.parametrize("read", [list, dataset.dataset], ids=["files", "dataset"])
REVERSE = pytest.mark.parametrize("reverse", [False, True])


def write(folder, *tables, reverse=False):
    """Write each table to a file; the columns are those of Arrow."""
    paths = [str(folder / f"{place}.parquet") for place in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        parquet.write_table(pa.table(table), path)
    return paths[::-1] if reverse else paths


@READ
@REVERSE
def test_a_weight_that_is_no_number_may_make_text_of_its_file(tmp_path, all_items, read, reverse):
    """pandas makes text of a CSV column with one weight that it cannot read."""
    for place, lengths in enumerate(["4", "5", "x\n3,b,7", "\n"]):
        (tmp_path / "one.csv").write_text(f"user,track,length\n{place},a,{lengths}\n")
        pd.read_csv(tmp_path / "one.csv").to_parquet(tmp_path / f"{place}.parquet")
    paths = sorted(map(str, tmp_path.glob("*.parquet")), reverse=reverse)
    assert [str(parquet.read_schema(path).field("length").type) for path in sorted(paths)][1:] != ["int64"] * 3
    found = tally(read(paths), **ASKED, domain=["a", "b"], weight="length", max_weight=60)
    assert all_items(found) == [(9, "a"), (7, "b")]


@READ
@REVERSE
def test_gaps_alone_may_have_any_type(tmp_path, all_items, read, reverse):
    """pandas makes floats of a CSV column without a value, and is not told that the others hold text."""
    gaps = pa.array([None, None], pa.float64())
    for column in ("user", "track", "day"):
        table = {"user": ["p", "q"], "track": ["a", "a"], "day": [date(2026, 8, 31)] * 2}
        votes = read(write(tmp_path, table, {**table, column: gaps}, reverse=reverse))
        asked = {**ASKED, "time": "day", "span": read_span(time="day", period="2026-W36")}
        assert all_items(tally(votes, **asked, domain=["a", "b"])) == [(2, "a"), (0, "b")]
        assert all_items(observe(votes, **asked)) == [(2, "a")]
        # A file of gaps alone is not refused, either.
        alone = read(write(tmp_path, {**table, column: gaps}))
        assert tally(alone, **asked, domain=["a", "b"])[0].above(1, 0).values.tolist() == [0]
        assert observe(alone, **asked)[0].d == 0


@READ
@pytest.mark.parametrize("column", ["user", "track", "country"])
def test_one_value_that_is_bytes_makes_bytes_of_a_column(tmp_path, all_items, column, read):
    """pandas writes text and one value of bytes as bytes. Nobody else's votes change, nor do those that a cap keeps."""
    rows = [(f"u{user}", track, "DE") for user in range(40) for track in "abcdef"]
    odd = {"user": b"z", "track": b"x", "country": b"DE"}[column]
    votes = pd.DataFrame(rows, columns=["user", "track", "country"])
    more = pd.concat([votes, votes[:1].assign(user="z").assign(**{column: odd})])
    for name, frame in (("one", votes), ("two", more), ("first", votes[:120]), ("rest", more[120:])):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    domains = {"user": ["a", "b", "c", "d", "e", "f"], "track": list("abcdefx"), "country": list("abcdef")}
    grown = "x" if column == "track" else "a"
    for cap in (None, 2):
        asked = {**ASKED, "domain": domains[column], "votes_per_person": cap}
        before = {item: count for count, item in all_items(tally(str(tmp_path / "one.parquet"), **asked))}
        for paths in (["two"], ["first", "rest"]):
            found = tally(read([str(tmp_path / f"{path}.parquet") for path in paths]), **asked)
            assert {item: count - before[item] for count, item in all_items(found) if count != before[item]} == {
                grown: 1
            }


@READ
@REVERSE
@pytest.mark.parametrize("column", ["user", "length", "day"])
def test_one_value_that_is_bytes_changes_no_other_row_of_its_file(tmp_path, all_items, column, read, reverse):
    """Persons, weights and times are the text that their bytes are, also beside a file of text."""
    row = {"user": "é", "track": "a", "length": "3", "day": "2026-08-31"}
    odd = {**row, "user": "z", "track": "b", "length": "1"}
    pd.DataFrame([row]).to_parquet(tmp_path / "one.parquet")
    pd.DataFrame([row, {**odd, column: odd[column].encode()}]).to_parquet(tmp_path / "two.parquet")
    assert parquet.read_schema(tmp_path / "two.parquet").field(column).type == pa.binary()
    asked = {**ASKED, "domain": ["a", "b"], "weight": "length", "max_weight": 5, "time": "day"}
    asked["span"] = read_span(time="day", period="2026-W36")
    for paths, votes in (["two"], 3), (["one", "two"], 5):
        found = read([str(tmp_path / f"{path}.parquet") for path in paths[:: -1 if reverse else 1]])
        assert all_items(tally(found, **asked)) == [(votes, "a"), (1, "b")]
        assert plan_tally(found, **asked).time_kind is None


@READ
@REVERSE
@pytest.mark.parametrize("column", ["user", "track"])
def test_a_number_of_more_than_38_digits_may_make_a_type_of_its_own(tmp_path, column, read, reverse):
    """Whether votes can be read does not depend on one number, also where Arrow reads them for their milliseconds."""
    days = pa.array([datetime(2026, 1, 1)] * 2, pa.timestamp("ms"))
    first = {"user": pa.array([1, 2]), "track": pa.array([7, 7]), "day": days}
    second = {**first, column: pa.array([Decimal(10**39), Decimal(5)], pa.decimal256(40, 0))}
    votes = read(write(tmp_path, first, second, reverse=reverse))
    span = read_span(time="day", period="2026")
    for cap in (None, 1):
        counted = tally(votes, **ASKED, domain=[7], time="day", span=span, votes_per_person=cap)
        assert counted[0].above(1, 0).values.tolist() == [2]


PERSONS = {
    "widths": (pa.array([5], pa.int8()), pa.array([5], pa.uint64())),
    "floats": (pa.array([5, 2**53 + 1]), pa.array([5.0, float(2**53 + 2)])),
    "text": (pa.array([5, -7]), pa.array(["5", "-7"])),
    "float and text": (pa.array([5.0, 0.5, 1e20]), pa.array(["5", "0.5", "100000000000000000000"])),
    "decimals": (pa.array([Decimal("1.50"), Decimal(7)]), pa.array([Decimal("1.5000"), Decimal("7.0000")])),
    "decimals and numbers": (pa.array([Decimal("5.00")]), pa.array([5], pa.int32())),
    "units": (pa.array([10**9], pa.timestamp("us")), pa.array([10**12], pa.timestamp("ns"))),
    "instants": (pa.array([10**9], pa.timestamp("us", "UTC")), pa.array([10**12], pa.timestamp("ns", "UTC"))),
    "milliseconds": (pa.array([10**6], pa.timestamp("ms")), pa.array([10**9], pa.timestamp("us"))),
    "times of day": (pa.array([10**9, 5, -1, 10**14], pa.time64("ns")), pa.array([10**6], pa.time64("us"))),
    "seconds of a day": (pa.array([1, 86_399], pa.time32("s")), pa.array([10**9, 86_399 * 10**9], pa.time64("ns"))),
    "dictionaries": (pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "b"])),
    "bytes": (pa.array(["a", "é"]), pa.array([b"a", "é".encode()])),
    "booleans": (pa.array([True, False]), pa.array(["true", "false"])),
    "floats of 32 bits": (pa.array([0.5], pa.float32()), pa.array([0.5])),
}
"""The same persons in two types. Only 2⁵³ + 1, which no float is, is another one."""


@pytest.mark.parametrize("kinds", PERSONS)
@pytest.mark.parametrize("cap", [None, 1])
@READ
@REVERSE
def test_a_person_in_two_types_is_one(tmp_path, kinds, cap, read, reverse):
    """Persons of files with different types are compared by their texts, which depend on the values alone."""
    first, second = PERSONS[kinds]
    tables = [{"user": users, "track": ["a"] * len(users)} for users in (first, second)]
    votes = read(write(tmp_path, *tables, reverse=reverse))
    expected = len(first) + (kinds == "floats")
    assert tally(votes, **ASKED, domain=["a"], votes_per_person=cap)[0].above(1, 0).values.tolist() == [expected]
    assert check(votes, **ASKED, domain=["a"]).persons == expected


ITEMS = {
    "widths": ([7, 300], pa.array([7], pa.int8()), pa.array([7, 300], pa.uint64())),
    "floats": ([7], pa.array([7]), pa.array([7.0, 0.5])),
    "scales": ([Decimal("1.5")], pa.array([Decimal("1.50"), None]), pa.array([Decimal("1.5000"), None])),
    "numbers": ([7], pa.array([7], pa.int32()), pa.array([Decimal("7.00")])),
    "units": ([datetime(1970, 1, 1)], pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("ns"))),
    "milliseconds": (
        [datetime(1970, 1, 1)],
        pa.array([0, 2**62], pa.timestamp("ms")),
        pa.array([0], pa.timestamp("us")),
    ),
    "dictionaries": (["a"], pa.array(["a"]).dictionary_encode(), pa.array(["a"])),
    "bytes": (["a", "é"], pa.array(["a", "é"]), pa.array([b"a", "é".encode()])),
    "nothing": (["a"], pa.array(["a"]), pa.array([[1]])),
}
"""Items in two types: those that both have or one has, and the two columns."""


@pytest.mark.parametrize("kinds", ITEMS)
@pytest.mark.parametrize("cap", [None, 9])
@READ
@REVERSE
def test_an_item_in_two_types_is_one(tmp_path, all_items, kinds, cap, read, reverse):
    """With and without a domain. What can match nothing is ignored."""
    items, *columns = ITEMS[kinds]
    tables = [
        {"user": pa.array(range(10 * place, 10 * place + len(each))), "track": each}
        for place, each in enumerate(columns)
    ]
    votes = read(write(tmp_path, *tables, reverse=reverse))
    common = kinds in ("milliseconds", "bytes")
    expected = {repr(item): 2 if common else sum(item in column.to_pylist() for column in columns) for item in items}
    for found in (observe(votes, **ASKED, votes_per_person=cap), tally(votes, **ASKED, domain=items)):
        assert {repr(item): count for count, item in all_items(found)} == expected


@READ
@REVERSE
def test_text_and_numbers_are_items_of_their_own_without_a_domain(tmp_path, all_items, read, reverse):
    """As in a column with values of several types. A domain has the one or the other, and both match it."""
    votes = read(write(tmp_path, {"user": [1, 2], "track": [7, 7]}, {"user": [3], "track": ["7"]}, reverse=reverse))
    assert all_items(observe(votes, **ASKED)) == [(2, 7), (1, "7")]
    assert all_items(tally(votes, **ASKED, domain=[7, 8])) == [(3, 7), (0, 8)]
    assert all_items(tally(votes, **ASKED, domain=["7", "8"])) == [(3, "7"), (0, "8")]
    assert check(votes, **ASKED, domain=["7"]).votes_type in ("whole numbers and text", "text and whole numbers")


@READ
def test_counts_groups_and_times_may_have_any_type(tmp_path, all_items, read):
    """Each file is read by its own types, for every column that is named."""
    counts = read(write(tmp_path, {"track": ["a"], "n": [2**60]}, {"track": ["b"], "n": ["12"]}))
    assert all_items(tally(counts, item="track", count="n", domain=["a", "b"])) == [(2**60, "a"), (12, "b")]
    with pytest.raises(DataError, match="counts must be whole numbers"):
        tally(pa.table({"track": ["a"], "n": [[1]]}), item="track", count="n", domain=["a", "b"])
    days = [
        {"day": [date(2026, 8, 31)], "place": [7]},
        {"day": ["2026-09-07T12:00"], "place": ["7"]},
        {"day": [datetime(2026, 9, 7, tzinfo=UTC)], "place": [Decimal("7.0")]},
        {"day": [20260831], "place": [b"7"]},
    ]
    tables = [{"user": [place], "track": ["a"], **table} for place, table in enumerate(days)]
    votes = read(write(tmp_path, *tables))
    span = read_span(time="day", every="week", since="2026-W36", until="2026-W37")
    weeks = plan_tally(votes, **ASKED, domain=["a"], time="day", span=span, groups_per_person=1)
    assert [each.above(1, 0).values.tolist() for each in weeks.count()] == [[1], [2]]
    assert weeks.time_kind == "dates and timestamps with time zone"
    places = plan_tally(votes, **ASKED, domain=["a"], by="place", groups=[7, 8], groups_per_person=1)
    assert [each.above(1, 0).values.tolist() for each in places.count()] == [[4], [0]]


def test_columns_are_refused_if_no_file_fits(tmp_path):
    """By their types alone. One file that fits is enough."""
    days = [pa.array([date(2024, 2, 29)]), pa.array([True])]
    paths = write(tmp_path, *({"user": [1], "track": each} for each in days))
    with pytest.raises(DataError, match="it holds dates and booleans"):
        tally(paths, **ASKED, domain=[7])
    paths = write(tmp_path, *({"user": [1], "track": each} for each in (*days, pa.array(["7"]))))
    assert tally(paths, **ASKED, domain=[7])[0].above(1, 0).values.tolist() == [1]
    paths = write(
        tmp_path, *({"user": each, "track": [7]} for each in (pa.array([[1]]), pa.array([1]), pa.array([[1]])))
    )
    assert tally(paths, **ASKED, domain=[7])[0].above(1, 0).values.tolist() == [1]
    with pytest.raises(DataError, match="persons as plain values"):
        tally([paths[0], paths[2]], **ASKED, domain=[7])


def test_a_public_list_has_one_kind_of_values_in_all_files(tmp_path):
    """Its files may differ in widths, scales and units. Other differences are an error that names the files."""
    votes = {"user": [1], "track": [Decimal("7.50")]}
    for folder in ("same", "other"):
        (tmp_path / folder).mkdir()
    columns = [pa.array([Decimal("7.5")]), pa.array([Decimal("8.00")])]
    write(tmp_path / "same", *({"track": each} for each in columns))
    assert tally(votes, **ASKED, domain=tmp_path / "same").names([np.array([0, 1])]) == [
        [Decimal("7.50"), Decimal("8.00")]
    ]
    write(tmp_path / "other", {"track": [7]}, {"track": ["7"]})
    with pytest.raises(DataError, match="column 'track' of the domain must have one type in all files") as caught:
        tally(votes, **ASKED, domain=tmp_path / "other")
    assert "0.parquet" in str(caught.value)
    assert "1.parquet" in str(caught.value)


TIMES = [
    pa.array([-1, 86_401, 5], pa.int32()).cast(pa.time32("s")),
    pa.array([2**62, 5, 6]).cast(pa.timestamp("ms")),
    pa.array([2**62, 5, 6]).cast(pa.timestamp("ms", "UTC")),
]


@pytest.mark.parametrize("times", TIMES, ids=lambda times: str(times.type))
@READ
def test_times_that_no_calendar_has_are_values_like_others(tmp_path, all_items, times, read):
    """DuckDB cannot read them in a Parquet file."""
    path = tmp_path / "day=2024-01-31" / "votes.parquet"
    path.parent.mkdir()
    parquet.write_table(pa.table({"user": times, "track": ["a"] * 3, "time": times, "other": [1, 2, 3]}), path)
    votes = read([str(path)])
    for limit in (None, 1):
        assert all_items(tally(votes, **ASKED, domain=["a"], votes_per_person=limit)) == [(3, "a")]
    assert sum(count for count, _ in all_items(observe(votes, item="time", person="other"))) == 2 - (times == TIMES[0])
    assert check(votes, **ASKED, domain=["a"]).persons == 3
    if read is list:
        assert all_items(tally(votes, person="user", item="day", domain=["2024-01-31"])) == [(3, "2024-01-31")]


def test_columns_that_folders_name_in_a_dataset(tmp_path, all_items):
    """They have the types and the values that PyArrow reads there, and only if it is told to read them."""
    for place, folder in enumerate(
        ["year=2024/name=a b", "year=2025/name=x%2Fy[1]", "year=2025/name=__HIVE_DEFAULT_PARTITION__"]
    ):
        (tmp_path / folder).mkdir(parents=True)
        users = pa.array([1, 2]) if place else pa.array(["1", "2"])
        parquet.write_table(pa.table({"user": users, "track": ["a", "b"]}), tmp_path / folder / "votes.parquet")
    votes = dataset.dataset(tmp_path, partitioning="hive")
    assert all_items(observe(votes, item="year", person="user")) == [(2, 2024), (2, 2025)]
    assert all_items(observe(votes, item="name", person="user")) == [(2, "a b"), (2, "x/y[1]")]
    assert all_items(tally(votes, item="track", person="name", domain=["a", "b"])) == [(2, "a"), (2, "b")]
    with pytest.raises(DataError, match="there is none"):
        observe(dataset.dataset(tmp_path), item="year", person="user")


def test_a_union_of_datasets_is_read_as_its_files_are(tmp_path, all_items):
    """Each by its own types. PyArrow itself would fail on the text."""
    tables = [{"user": [1, 2], "track": ["a", "b"]}, {"user": ["2", "x"], "track": ["b", "b"]}]
    first = dataset.dataset(write(tmp_path, *tables))
    (tmp_path / "more").mkdir()
    second = dataset.dataset(write(tmp_path / "more", {"user": [3], "track": ["a"], "minutes": [5]}))
    votes = dataset.dataset([first, second])
    assert all_items(tally(votes, **ASKED, domain=["a", "b"])) == [(2, "a"), (2, "b")]
    twice = dataset.dataset([second, second])
    assert all_items(tally(twice, **ASKED, domain=["a"], weight="minutes", max_weight=60)) == [(10, "a")]


def test_a_column_that_a_file_of_a_dataset_lacks_holds_gaps_there(tmp_path, all_items):
    """As PyArrow reads it, if the first file has the column."""
    paths = write(tmp_path, {"user": [1], "track": ["a"]}, {"user": ["2"]})
    assert all_items(tally(dataset.dataset(paths), **ASKED, domain=["a"])) == [(1, "a")]


def test_a_dataset_with_a_filter_or_a_schema_is_read_as_it_says(tmp_path, all_items):
    """Whoever states types, rows or parts of files gets these."""
    paths = write(tmp_path, {"user": [1, 2], "track": [7, 8]})
    filtered = dataset.dataset(paths).filter(dataset.field("user") > 1)
    assert all_items(observe(filtered, **ASKED)) == [(1, 8)]
    stated = dataset.dataset(paths, schema=pa.schema([("user", pa.int64()), ("track", pa.string())]))
    assert all_items(observe(stated, **ASKED)) == [(1, "7"), (1, "8")]
    parquet.write_table(pa.table({"user": [1, 2], "Track": [9, 9], "track": [7, 8]}), paths[0])
    assert all_items(observe(dataset.dataset(paths), **ASKED)) == [(1, 7), (1, 8)]
    parquet.write_table(pa.table({"user": [1, 2], "track": [7, 8]}), paths[0], row_group_size=1)
    whole = dataset.dataset(paths)
    (fragment,) = whole.get_fragments()
    part = dataset.FileSystemDataset(
        [fragment.subset(row_group_ids=[1])], whole.schema, whole.format, whole.filesystem, whole.partition_expression
    )
    assert all_items(observe(part, **ASKED)) == [(1, 8)]


FIRST_MOMENT = -9_223_372_022_400_000_000
"""The first microsecond of DuckDB's calendar."""


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["us", "ms"])
@READ
def test_moments_before_all_calendars_are_persons_like_others(tmp_path, all_items, unit, zone, read):
    """DuckDB holds them and cannot write them as text, which persons are where files have different types."""
    step = {"us": 1, "ms": 1000}[unit]
    ticks = [0, 2**63 - 1, -(2**63) + 1, *(FIRST_MOMENT // step - each for each in range(-2, 3)), -(2**63)]
    times = pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone))
    votes = read(write(tmp_path, {"user": times, "track": ["a"] * len(ticks)}, {"user": ["p"], "track": ["a"]}))
    for limit in (None, 1):
        assert all_items(tally(votes, **ASKED, domain=["a"], votes_per_person=limit)) == [(len(ticks) + 1, "a")]
    assert check(votes, **ASKED, domain=["a"]).persons == len(ticks) + 1


DECIMALS = [
    Decimal(f"{sign}{digits}") for sign in "-+" for digits in ("0.5", "2.25", "3", "0", f"{'9' * 28}.{'9' * 10}")
]


@settings(max_examples=50)
@given(data=st.data(), name=st.sampled_from(sorted(KINDS)))
def test_sql_writes_items_as_python_does(data, name):
    """So items of files with different types are equal, and in the same order, as values of several types are."""
    kind, values = KINDS[name]
    items = make_array([None, *data.draw(st.lists(values, max_size=8))], kind)
    if read_type(kind).family != Family.FLOAT and name not in ("date64", "time ns"):
        check_written(items)


@pytest.mark.parametrize("kind", [pa.decimal128(38, 10), pa.decimal128(38, 38), pa.decimal128(38, 0)], ids=str)
def test_sql_writes_decimals_as_python_does(kind):
    """Also those with as many digits as there may be."""
    limit = Decimal(10) ** (38 - kind.scale)
    check_written(
        pa.array([each for each in DECIMALS if abs(each) < limit and -each.as_tuple().exponent <= kind.scale], kind)
    )


def check_written(items):
    """Compare what SQL writes with what Python writes, item by item."""
    workspace = Workspace()
    relation = workspace.connection.from_arrow(pa.table({"item": write_exact(items, safe=False)}))
    column = Column(value="item", kind=str(relation.types[0]), family=read_type(items.type).family)
    written = [row[0] for row in relation.project(write_item_bytes(column)).fetchall()]
    assert written == [write_item(read_value(each)) for each in items]
