"""The record of a release keeps every value, and its files are whole or absent."""

import copy
import csv
import json
import os
import pickle
from dataclasses import MISSING, FrozenInstanceError, fields, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import prepare, select
from shortlist.atomic_files import check_target, write_whole
from shortlist.errors import DataError, OutputError, ParameterError
from shortlist.exact.bits import SeededBits, SystemBits, is_secure
from shortlist.mechanisms import MECHANISMS, FastJoint, Joint
from shortlist.mechanisms.accuracy import ErrorBound, ReleasedCounts
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_exact
from shortlist.release import Release
from shortlist.terms import Terms
from shortlist.version import __version__

ITEMS = {
    "text": ("", "é", '<b>&"', "a\nb"),
    "numbers": (1, -(2**63), 2**70),
    "booleans": (True, False),
    "dates": (date(2024, 2, 29),),
    "timestamps": (datetime(2024, 3, 10, 2, 30, 0, 1), datetime(1, 1, 1)),
    "timestamps with time zone": (datetime(2024, 3, 10, 2, 30, tzinfo=UTC),),
    "times": (time(23, 59, 59, 1), time(0)),
    "decimals": (Decimal("1.50"), Decimal("-3"), Decimal("1E+5"), Decimal("0E-30")),
    "bytes": (b"", b"\x00\xff"),
}


def make(items=("a", "b"), *, secure=True):
    terms = Terms.read(FastJoint(k=len(items), epsilon=Fraction(1, 3), beta="0.1"))
    return Release(items=items, secure=secure, **terms.state_promise(None), **terms.state_list(d=9))


@pytest.mark.parametrize("kind", ITEMS)
def test_json_gives_back_what_was_written(tmp_path, kind):
    """Every value, of every type, is equal after the round trip, and so is its type."""
    release = make(ITEMS[kind])
    release.to_json(tmp_path / "top.json")
    read = Release.from_json(tmp_path / "top.json")
    assert (read, read.id, read.made) == (release, release.id, release.made)
    assert [type(item) for item in read.items] == [type(item) for item in release.items]


@given(items=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=5))
def test_any_text_survives(items):
    """JSON keeps any text."""
    release = make(tuple(dict.fromkeys(items)))
    assert Release.from_json(release.to_json()) == release
    assert release.to_json().isprintable() or "\n" in release.to_json()


@given(number=st.fractions())
def test_rationals_are_written_exactly(number):
    """What is read is the very number that was written."""
    assert Fraction(write_exact(number)) == number


def test_json_names_its_schema(tmp_path):
    """The file says what it is, with rationals as exact texts."""
    make().to_json(tmp_path / "top.json")
    stored = json.loads((tmp_path / "top.json").read_text())
    assert stored["schema"] == "shortlist.release/3"
    assert stored["guarantee"]["epsilon"] == stored["parameters"]["epsilon"] == "1/3"
    assert (stored["domain_size"], "d" in stored, "counts" in stored) == (9, False, False)
    assert stored["guarantee"]["delta"] == "0"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "{", '{"schema": "shortlist.release/3"}', '{"schema": "shortlist.release/1"}', "\xff"]
)
def test_refuses_other_json(tmp_path, text):
    """A file that is no record is refused."""
    (tmp_path / "top.json").write_text(text)
    with pytest.raises(DataError, match="schema"):
        Release.from_json(tmp_path / "top.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("secure", "false"),
        ("secure", 1),
        ("items", "ab"),
        ("items", []),
        ("items", [None]),
        ("items", [["a"]]),
        ("items", [1.5]),
        ("items", [{"decimal": "NaN"}]),
        ("items", [{"decimal": "1e30000000"}]),
        ("items", [{"decimal": "1" * 20_000}]),
        ("items", [{"decimal": " 1"}]),
        ("items", [{"rational": "1/3"}]),
        ("items", [{"rational": "1e30000000"}]),
        ("items", [{"integer": "9" * 5_000}]),
        ("items", [{"integer": "9_007_199_254_740_993"}]),
        ("items", [{"integer": "5"}]),
        ("items", [{"time": "25:00:00"}]),
        ("items", [{"time": "0100"}]),
        ("items", [{"date": "20240229"}]),
        ("items", [{"integer": True}]),
        ("items", [{"float": "1.5"}]),
        ("domain_size", 1),
        ("domain_size", 9.0),
        ("domain_size", True),
        ("ordered", 1),
        ("counts", {"values": [1], "low": [1], "high": [1], "confidence": "0.95"}),
        ("counts", {"values": [1, 2.5], "low": [1, 2], "high": [1, 2], "confidence": "0.95"}),
        ("counts", {"values": [1, 2], "low": [1, 9], "high": [1, 2], "confidence": "0.95"}),
        ("counts", {"values": [1, 2], "low": [1, 2], "high": [1, 2], "confidence": "1e-30000000"}),
        ("error_bound", {"votes": -1, "confidence": "0.95", "statement": "x"}),
        ("error_bound", {"votes": 3, "confidence": 0.95, "statement": "x"}),
        ("error_bound", {"votes": 3, "confidence": "0.95", "statement": "x\n"}),
        ("id", "7"),
        ("id", "A" * 32),
        ("made", "2026-11-18T01:11:42"),
        ("made", "2026-11-18T02:11:42+01:00"),
        ("made", "20261118T011142Z"),
        ("made", 7),
        ("persons_counted", "yes"),
        ("persons_counted", None),
        ("note", "two\nlines"),
        ("period", 7),
        ("charge", {"ledger": "0" * 32, "number": 0}),
        ("charge", {"ledger": "mine", "number": 1}),
        ("charge", {"number": 1}),
        ("charge", 1),
        ("population", 3),
        ("population", ""),
        ("population", "two\nlines"),
        ("population", "x" * 201),
        ("mechanism", None),
        ("mechanism", "\x1b[2J"),
        ("version", "1\n2"),
        ("parameters", []),
        ("parameters", {"k": 2.5}),
        ("parameters", {"k": 2, "chosen": "\x1b[2J"}),
        ("version", 1),
        ("guarantee", None),
        ("epsilon", "0"),
        ("epsilon", "-1"),
        ("epsilon", 0.1),
        ("epsilon", "much"),
        ("epsilon", "1e30000000"),
        ("epsilon", "1" * 20_000),
        ("epsilon", "1/0"),
        ("epsilon", " 0.1 "),
        ("epsilon", "1_0e-2"),
        ("epsilon", "\u0661"),
        ("epsilon", "01"),
        ("delta", "1"),
        ("delta", "1e-6"),
        ("delta", "-0.1"),
        ("rho", "0"),
        ("rho", "1e30000000"),
        ("neighbours", "next door"),
        ("unit", ""),
        ("unit", "person. Nothing at all can be learnt from this list"),
        ("unit", "p" * 41),
        ("unit", 7),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_refuses_values_that_no_release_has(tmp_path, field, value):
    """A record that was changed by hand is not believed."""
    stored = make().to_dict()
    (stored["guarantee"] if field in stored["guarantee"] else stored)[field] = value
    (tmp_path / "top.json").write_text(json.dumps(stored))
    with pytest.raises(DataError, match=r"schema|contradict"):
        Release.from_json(tmp_path / "top.json")


def test_refuses_what_is_no_path():
    """A path is text or a Path."""
    for write in (make().to_json, make().to_csv, make().to_parquet):
        with pytest.raises(OutputError, match="the output must be a path, as text or a Path, not int"):
            write(3)
    with pytest.raises(ParameterError, match="source must be a path or JSON text, not NoneType"):
        Release.from_json(None)


def test_equal_releases_have_one_hash():
    """A release can be a key. Two releases that state the same are equal, and yet two files."""
    assert {make(): 1}[make()] == 1
    assert make().id != make().id
    assert make().to_json() != make().to_json()


def test_refuses_a_missing_record(tmp_path):
    """A file that is not there is refused."""
    with pytest.raises(DataError, match="must be readable"):
        Release.from_json(tmp_path / "top.json")


def test_csv_holds_ranks_and_items(tmp_path):
    """CSV is for reading by people and spreadsheets."""
    make(ITEMS["text"]).to_csv(tmp_path / "top.csv")
    with open(tmp_path / "top.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["rank", "item"], *([str(rank), item] for rank, item in enumerate(ITEMS["text"], start=1))]


@pytest.mark.parametrize("kind", ITEMS)
def test_parquet_holds_items_and_record(tmp_path, kind):
    """Parquet keeps the types of the items, and the whole record beside them."""
    from pyarrow import parquet

    release = make(ITEMS[kind])
    release.to_parquet(tmp_path / "top.parquet")
    table = parquet.read_table(tmp_path / "top.parquet")
    assert table["item"].to_pylist() == list(release.items)
    assert Release.from_json(table.schema.metadata[b"shortlist.release"].decode()) == release


def test_parquet_gives_back_what_was_written(tmp_path):
    """The record in the metadata is the release; other files and readers are refused with what to do."""
    path, release = tmp_path / "a.parquet", make()
    release.to_parquet(path)
    assert Release.from_parquet(path) == release
    with pytest.raises(DataError, match=r"Hint: Release\.from_parquet reads Parquet files"):
        Release.from_json(path)
    (tmp_path / "text.parquet").write_text("rank,item")
    with pytest.raises(DataError, match="must be a Parquet file that can be read"):
        Release.from_parquet(tmp_path / "text.parquet")
    pq.write_table(release.to_arrow().replace_schema_metadata(None), tmp_path / "bare.parquet")
    with pytest.raises(DataError, match="its metadata has none"):
        Release.from_parquet(tmp_path / "bare.parquet")
    for read in (Release.from_json, Release.from_parquet):
        for scheme in ("http", "hf", "s3x"):
            with pytest.raises(DataError) as caught:
                read(f"{scheme}://bob:hunter2@localhost:1/top.parquet")
            assert "hunter2" not in str(caught.value)


def test_explains_itself_to_readers():
    """The paragraph has the factor, the bound and the limit, and says when a release is not secure."""
    counts = {"a": 900, "b": 400, "c": 1}
    text = prepare(counts, k=2, epsilon=1, delta="1e-6", mechanism="cdp-peel").release().explain()
    assert text.startswith("This list of 2 of 3 items, most popular first, was made with differential privacy.")
    assert "factor of 2.72, plus 1e-6." in text
    assert "Accuracy: with probability 0.95, " in text
    insecure = prepare(counts, k=2, epsilon=1, neighbours="replace", ordered=False).release(SeededBits(1)).explain()
    assert insecure.startswith("NOT SECURE")
    assert "The odds between any two choices of votes of one person" in insecure


def test_shows_itself():
    """As text and as HTML, the items stand in order, the guarantee is named, and nothing is taken for markup."""
    release = make(("<script>", "b"))
    assert str(release).splitlines()[0] == "1  <script>"
    assert "fastjoint" in str(release)
    assert "<script>" not in release._repr_html_()
    assert "&lt;script&gt;" in release._repr_html_()


def test_items_cannot_steer_a_terminal():
    """Control and bidirectional characters are shown as escapes, as text, as HTML and as JSON."""
    release = make(("\x1b[2Ja\nb", "c\u202ed\U000e0001", "e\u3000f"))
    for shown in (str(release), release._repr_html_()):
        assert r"\x1b[2Ja\nb" in shown
        assert r"c\u202ed\U000e0001" in shown
        assert "e\u3000f" in shown
    assert not {"\x1b", "\u202e", "\U000e0001"} & set(str(release) + release._repr_html_() + release.to_json())
    assert Release.from_json(release.to_json()) == release


def test_says_when_it_is_not_secure(tmp_path):
    """A release from repeatable randomness says so in every format; a secure one has no such column."""
    for release in (make(), make(secure=False)):
        release.to_csv(tmp_path / "top.csv", force=True)
        release.to_parquet(tmp_path / "top.parquet", force=True)
        rows = list(csv.DictReader((tmp_path / "top.csv").read_text().splitlines()))
        frames = [release.to_pandas(), release.to_polars().to_pandas(), pd.read_parquet(tmp_path / "top.parquet")]
        assert [row.get("secure", "true") for row in rows] == [str(release.secure).lower()] * 2
        assert all(("secure" in frame.columns) == (not release.secure) for frame in frames)
        assert all(list(frame.get("secure", [True, True])) == [release.secure] * 2 for frame in frames)
        assert release.to_dict()["secure"] == release.secure
        for shown in (repr(release), str(release), release._repr_html_(), release.explain()):
            assert ("NOT SECURE" in shown) == (not release.secure)
            assert release.secure or shown.index("NOT SECURE") < shown.index("-DP")  # before what it promises


class Claiming:
    secure = True

    def draw(self, count):
        return bytes(count)


class Inherited(SystemBits):
    def draw(self, count):
        return bytes(count)


def test_only_the_operating_system_is_secure():
    """A class cannot claim to be secure, by a flag or by inheritance."""
    selector = prepare([9, 3, 1], k=1, epsilon=1)
    assert selector.release().secure
    for bits in (Claiming(), Inherited(), SeededBits(3)):
        assert not is_secure(bits)
        assert not selector.release(bits).secure


def test_is_a_sequence_of_its_items():
    """Length, order, places, slices and membership are those of the items."""
    release = make(("a", "b", "c"))
    assert (len(release), list(release), release[0], release[-1], release[1:]) == (
        3,
        ["a", "b", "c"],
        "a",
        "c",
        ("b", "c"),
    )
    assert "b" in release
    assert "z" not in release
    assert release.index("c") == 2
    assert dict(enumerate(release, start=1)) == {1: "a", 2: "b", 3: "c"}


@pytest.mark.parametrize("kind", ITEMS)
def test_frames_hold_ranks_and_items(kind):
    """pandas, Polars and Arrow have the same rows, and Arrow and pandas carry the record."""
    release = make(ITEMS[kind])
    table = release.to_arrow()
    ranks = list(range(1, len(release) + 1))
    assert release.to_pandas()["rank"].tolist() == release.to_polars()["rank"].to_list() == ranks
    assert table.to_pydict() == {"rank": ranks, "item": list(release)}
    assert release.to_polars()["item"].to_list() == list(release)
    assert Release.from_json(release.to_pandas().attrs["shortlist.release"]) == release
    assert Release.from_json(table.schema.metadata[b"shortlist.release"].decode()) == release


def make_full():
    return replace(
        make(("a", "b")),
        mechanism="of my own",
        ordered=False,
        counts=ReleasedCounts(values=(310, -2), low=(300, 0), high=(320, 8), confidence="0.95"),
        error_bound=ErrorBound(
            votes=12,
            confidence="0.95",
            statement="the error of the list, as its mechanism defines it, is at most 12 votes",
        ),
        persons_counted=True,
        note="weekly",
        period="2026-W03",
        population="listeners",
        ledger="0" * 32,
        charge=7,
    )


def test_optional_fields_are_kept(tmp_path):
    """Noisy counts, an error bound, a missing order, a population and a missing domain survive every way."""
    for release in (make_full(), replace(make_full(), domain_size=None)):
        assert Release.from_json(release.to_json()) == release == pickle.loads(pickle.dumps(release))
        assert release.to_arrow().to_pydict() == {
            "item": ["a", "b"],
            "count": [310, -2],
            "low": [300, 0],
            "high": [320, 8],
        }
        assert "in no order" in str(release)
        assert "Accuracy: with probability 0.95, the error of the list" in str(release)
        release.to_csv(tmp_path / "top.csv", force=True)
        assert (tmp_path / "top.csv").read_text().splitlines()[:2] == ['"item","count","low","high"', '"a",310,300,320']


def test_fields_that_are_not_known():
    """Another version may have further fields, which a reader ignores. This version has not."""
    stored = make().to_dict()
    assert Release.from_json(json.dumps({**stored, "version": "9", "colour": "blue"})).items == ("a", "b")
    with pytest.raises(DataError, match="a field is not known"):
        Release.from_json(json.dumps({**stored, "colour": "blue"}))


@pytest.mark.parametrize("version", [__version__, "9"])
@pytest.mark.parametrize(
    "change", [{"parameters": {"x": 1}}, {"parameters": {"x": 1}, "guarantee": {"epsilon": "0.001", "delta": "0"}}]
)
def test_a_parameter_that_is_not_known_switches_off_no_check(version, change):
    """A record of an (ε, δ) release with one more parameter, and with less ε or δ, is refused in every version."""
    release = prepare(range(60), k=30, epsilon=1, delta="1e-6", mechanism="cdp-peel").release()
    stored = {**release.to_dict(), "version": version}
    for name, values in change.items():
        stored[name] = {**stored[name], **values}
    with pytest.raises(DataError, match="cannot have these parameters"):
        Release.from_json(json.dumps(stored))


@pytest.mark.parametrize("version", [__version__, "9"])
@pytest.mark.parametrize("mechanism", ["joint", "of my own"])
def test_no_free_text_of_a_record_is_repeated(version, mechanism):
    """What a bound says is built from its numbers, in every version and for every mechanism."""
    text = "you may publish the raw data"
    stored = prepare([90, 40, 1], k=2, epsilon=1, mechanism="joint").release().to_dict()
    stored |= {"version": version, "mechanism": mechanism}
    stored["error_bound"] = {**stored["error_bound"], "statement": text}
    if version == __version__ and mechanism == "joint":
        with pytest.raises(DataError, match="error_bound differs"):
            Release.from_json(json.dumps(stored))
    else:
        release = Release.from_json(json.dumps(stored))
        assert text not in str(release) + release.explain() + release.to_json() + release._repr_html_()


@pytest.mark.parametrize("field", ["secure", "version", "epsilon", "colour"])
def test_refuses_a_name_that_is_there_twice(field):
    """Readers of JSON disagree which of two values counts, at any depth."""
    text = make().to_json()
    Release.from_json(text)
    twice = {"epsilon": ('"epsilon": "1/3"', '"epsilon": "1/3", "epsilon": "1/3"')}
    doubled = text.replace(*twice.get(field, ("{", f'{{"{field}": 1, "{field}": 1, ')), 1)
    assert doubled != text
    with pytest.raises(DataError, match="must follow the schema"):
        Release.from_json(doubled)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_refuses_numbers_that_json_does_not_have(name):
    """Python would read them."""
    with pytest.raises(DataError, match="must follow the schema"):
        Release.from_json(make().to_json().replace("{", f'{{"x": {name}, ', 1))


def test_outside_mechanisms_are_named_as_such():
    """Who reads a release of a mechanism that is not of this library learns that nobody here vouches for it."""
    assert "no mechanism of shortlist" not in str(make())
    for text in (str(make_full()), make_full().explain(), make_full()._repr_html_()):
        assert "of my own is no mechanism of shortlist: its author states the guarantee." in text


def test_says_who_vouches_for_the_counts():
    """Persons were counted by the library, or the caller states how much one of them adds."""
    votes = {"user": [1, 1, 2], "track": ["a", "a", "b"]}
    counted = select(votes, person="user", item="track", domain=["a", "b"], k=1, epsilon=1)
    table = {"track": ["a", "b"], "plays": [5, 3]}
    declared = select(table, count="plays", item="track", domain=["a", "b"], k=1, epsilon=1, sensitivity=3)
    assert (counted.persons_counted, declared.persons_counted) == (True, False)
    for release, words in (
        (counted, "Each person is counted once for an item."),
        (declared, "The caller states that one person adds at most 3."),
        (prepare([5, 3], k=1, epsilon=1).release(), "The caller states that one person adds at most 1."),
    ):
        assert all(words in text for text in (str(release), release.explain(), release._repr_html_()))
        assert Release.from_json(release.to_json()).persons_counted == release.persons_counted


def test_the_record_says_what_for_and_of_when():
    """A note and a period need no ledger. The time is that of the request, in UTC."""
    before = datetime.now(UTC).replace(microsecond=0)
    release = prepare([5, 3], k=1, epsilon=1).release(note="weekly top 1", period="2026-W03")
    assert (release.note, release.period, release.charge) == ("weekly top 1", "2026-W03", None)
    assert before <= release.made <= datetime.now(UTC)
    assert "Period: 2026-W03. Note: weekly top 1." in str(release)
    for name in ("note", "period"):
        for wrong in ("two\nlines", 7, "x" * 201):
            with pytest.raises(ParameterError, match=f"{name} must be one line"):
                prepare([5, 3], k=1, epsilon=1).release(**{name: wrong})


def test_a_lone_surrogate_fits_every_format(tmp_path):
    """UTF-8 cannot hold it, so CSV, Parquet and frames have an escape. The record keeps it. Nothing fails."""
    release = make(("a\ud800", "b"))
    release.to_csv(tmp_path / "top.csv")
    release.to_parquet(tmp_path / "top.parquet")
    assert (tmp_path / "top.csv").read_text(encoding="utf-8").splitlines()[1] == r'1,"a\ud800"'
    for column in (
        release.to_arrow()["item"].to_pylist(),
        release.to_polars()["item"].to_list(),
        release.to_pandas()["item"].tolist(),
    ):
        assert column == [r"a\ud800", "b"]
    assert Release.from_json(release.to_json()).items == Release.from_parquet(tmp_path / "top.parquet").items
    assert Release.from_json(release.to_json()).items == ("a\ud800", "b")
    assert all(text.encode() for text in (str(release), repr(release), release._repr_html_(), release.to_json()))


def test_repr_is_short():
    """A console shows the list and a line about it, and of a long list the first items."""
    shown = repr(prepare(range(300), k=100, epsilon=1, mechanism="joint").release()).splitlines()
    assert len(shown) == 22
    assert shown[20] == "… and 80 more"
    assert shown[21].startswith("The top 100 of 300 items, by joint: 1-DP")
    assert "Fraction" not in "".join(shown)


def test_numbers_have_a_heading():
    """A table in text says what its columns are, if they are more than ranks and items."""
    plain, counted = (
        repr(prepare({"a": 90, "b": 40}, k=1, epsilon=9, mechanism="joint", **extra).release()).splitlines()
        for extra in ({}, {"counts_epsilon": 1})
    )
    assert plain[0].split() == ["1", "a"]
    assert counted[0].split() == ["rank", "item", "count", "low", "high"]
    assert counted[1].split()[:2] == ["1", "a"]


@pytest.fixture(scope="module")
def schema():
    path = Path(__file__).parents[2] / "docs" / "release.schema.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(stored)
    return jsonschema.Draft202012Validator(stored)


def test_records_follow_the_published_schema(schema):
    """Every record that is written is valid: every type of item, every mechanism, every optional field."""
    releases = [make(items, secure=secure) for items in ITEMS.values() for secure in (True, False)]
    releases += [make_full(), replace(make_full(), domain_size=None)]
    for name, kind in MECHANISMS.items():
        needed = {field.name for field in fields(kind) if field.default is MISSING} - {"k", "epsilon"}
        examples = {"delta": "1e-6", "votes_per_person": 3}
        parameters = {"k": 2, "epsilon": "1/3", **{name: examples[name] for name in needed}}
        releases.append(prepare([9, 3, 1], mechanism=name, **parameters).release(SeededBits(1)))
    for release in releases:
        schema.validate(release.to_dict())
        assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "shortlist.release/2"},
        {"id": "7"},
        {"made": "today"},
        {"persons_counted": 1},
        {"charge": {"number": 1}},
        {"items": [1.5]},
        {"items": [{"float": "1"}]},
        {"secure": "yes"},
        {"domain_size": 0},
        {"parameters": {"k": 2, "epsilon": 1}},
        {"guarantee": {"epsilon": "1"}},
    ],
    ids=repr,
)
def test_the_published_schema_refuses_other_records(schema, change):
    """The schema is no empty form."""
    with pytest.raises(jsonschema.ValidationError):
        schema.validate({**make().to_dict(), **change})


CONTRADICTIONS = {
    "epsilon of the guarantee": (["guarantee", "epsilon"], "0.001", "epsilon differs"),
    "epsilon of the parameters": (["parameters", "epsilon"], "0.001", "epsilon differs"),
    "rho": (["guarantee", "rho"], "0.00001", "promises more"),
    "neighbours": (["guarantee", "neighbours"], "replace", "neighbours differs"),
    "fewer items": (["items"], ["a"], "number of items"),
    "more items": (["items"], ["a", "b", "c"], "number of items"),
    "k": (["parameters", "k"], 5, "number of items"),
    "an item twice": (["items"], ["a", "a"], "named twice"),
    "an item twice without order": ([], {"items": ["a", "a"], "ordered": False}, "named twice"),
    "an unknown parameter": (["parameters", "x"], 1, "cannot have these parameters"),
    "a wrong parameter": (["parameters", "beta"], "7", "cannot have these parameters"),
    "no epsilon": (["parameters"], {"k": 2}, "cannot have these parameters"),
    "a least number that is none": (["parameters", "at_least"], "few", "cannot have these parameters"),
    "no sensitivity": (["parameters", "sensitivity"], 0, "whole number from 1"),
    "a sensitivity below 1": (["parameters", "sensitivity"], "1/7", "whole number from 1"),
    "votes that are none": (["parameters", "votes_per_person"], 0, "whole number from 1"),
    "a choice where there is none": (["parameters", "chosen"], "joint", "parameters differ"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_refuses_records_that_contradict_themselves(name):
    """A record that was changed in one place only is refused, and the error names no item."""
    path, value, words = CONTRADICTIONS[name]
    stored = make().to_dict()
    place = stored
    for step in path[:-1]:
        place = place[step]
    place.update({path[-1]: value} if path else value)
    with pytest.raises(DataError, match="must not contradict itself; in the text, .*" + words):
        Release.from_json(json.dumps(stored))


@pytest.mark.parametrize(
    "change",
    [
        {"chosen": "zzz"},
        {"chosen": 7},
        {"chosen": "pnf-joint"},
        {"chosen_epsilon": "100"},
        {"chosen_epsilon": "0.05", "choice_epsilon": "0.95"},
        {"chosen_epsilon": "-1", "choice_epsilon": "2"},
        {"chosen_epsilon": None},
    ],
    ids=repr,
)
def test_refuses_a_choice_that_differs(change):
    """What was chosen is a candidate, and the choice and the chosen mechanism spend epsilon together."""
    release = prepare([900, 400, 1], k=2, epsilon=1).release()
    stored = release.to_dict()
    assert Release.from_json(json.dumps(stored)) == release
    stored["parameters"].update(change)
    with pytest.raises(DataError, match=r"parameters differ|cannot have these"):
        Release.from_json(json.dumps(stored))


@pytest.mark.parametrize("version", [__version__, "9"])
def test_refuses_a_choice_that_is_missing(version):
    """An assessment is of the mechanism that was chosen, in every version."""
    stored = prepare([900, 400, 1], k=2, epsilon=1, assess="0.1").release().to_dict()
    del stored["parameters"]["chosen"]
    with pytest.raises(DataError, match="must not contradict itself"):
        Release.from_json(json.dumps({**stored, "version": version}))


def test_refuses_a_delta_that_differs():
    """The delta of the parameters is that of the guarantee."""
    release = prepare(range(60), k=30, epsilon=1, delta="1e-6", mechanism="cdp-peel").release()
    stored = release.to_dict()
    assert Release.from_json(release.to_json()) == release
    for delta, words in (("0.0000001", "promises more than the mechanism"), ("0.5", "guarantee differs")):
        stored["guarantee"]["delta"] = delta
        with pytest.raises(DataError, match=words):
            Release.from_json(json.dumps(stored))


def test_a_weaker_guarantee_of_another_version_is_believed():
    """This version may prove more about a mechanism: then other records promise less than the mechanism gives."""
    stored = make().to_dict()
    stored["guarantee"]["rho"] = None
    assert Release.from_json(json.dumps({**stored, "version": "9"})).guarantee.rho is None
    with pytest.raises(DataError, match="guarantee differs"):
        Release.from_json(json.dumps(stored))


def test_unknown_mechanisms_are_read():
    """A record of a mechanism that this version does not know is checked as far as possible."""
    stored = {**make().to_dict(), "mechanism": "of my own"}
    assert Release.from_json(json.dumps(stored)).mechanism == "of my own"


def test_selectors_make_releases():
    """Counts in memory yield the whole record, with the labels that were given."""
    selector = prepare({"a": 900, "b": 400, "c": 1}, k=2, epsilon="0.5", neighbours="replace")
    release = selector.release()
    assert release.items == ("a", "b")
    assert (release.d, release.secure, release.mechanism) == (3, True, selector.mechanism.name)
    assert release.guarantee == selector.guarantee == selector.mechanism.guarantee
    assert Release.from_json(release.to_json()) == release
    assert prepare([900, 400, 1], k=2, epsilon=1).release().items == (0, 1)
    assert "900" not in repr(selector)


def test_releases_state_their_error():
    """A bound that depends on public numbers only is part of the release, in every form."""
    mechanism = Joint(k=2, epsilon=1)
    release = prepare([900, 400, 1], mechanism=mechanism).release()
    votes = mechanism.error_bound(3)
    assert (release.error_bound.votes, release.error_bound.confidence) == (votes, Fraction(19, 20))
    assert f"at most {votes} votes" in str(release)
    assert release.to_dict()["error_bound"]["votes"] == votes


def test_sets_have_no_order():
    """A release of a set says so, and lists it in the order of its labels."""
    release = prepare({"a": 1, "c": 900, "b": 400}, k=2, epsilon=9, mechanism="subset").release()
    assert (release.items, release.ordered) == (("b", "c"), False)
    ranged = prepare([900, 400, 1], k=(1, 2), epsilon=9, mechanism="subset").release()
    assert Release.from_json(ranged.to_json()) == ranged


def test_cannot_be_changed():
    """A release is a value."""
    release = make()
    with pytest.raises(FrozenInstanceError):
        release.items = ()
    with pytest.raises(TypeError):
        release.parameters["k"] = 3
    assert pickle.loads(pickle.dumps(release)) == release == copy.deepcopy(release)


def test_takes_numpy_items_as_python_values():
    """Items are plain Python values."""
    assert [type(item) for item in make(tuple(np.array([3, 1]))).items] == [int, int]


def test_a_file_in_the_way_stays(tmp_path):
    """Without force, an existing file is neither replaced nor touched."""
    (tmp_path / "top.json").write_text("mine")
    with pytest.raises(OutputError, match="exists"):
        make().to_json(tmp_path / "top.json")
    assert (tmp_path / "top.json").read_text() == "mine"
    make().to_json(tmp_path / "top.json", force=True)
    assert Release.from_json(tmp_path / "top.json") == make()


def test_a_file_that_appears_meanwhile_stays(tmp_path):
    """A file that somebody makes while we write is not replaced."""
    target = tmp_path / "top.json"
    with pytest.raises(OutputError, match="exists"):
        write_whole(target, lambda file: target.write_text("theirs"))
    assert target.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["top.json"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("length", [200, 240, 255])
def test_a_long_name_is_written(tmp_path, length, force):
    """Every name that the file system allows; the temporary name is as long for each."""
    target, seen = tmp_path / "top".ljust(length, "k"), []

    def write(file):
        seen.append(Path(file.name))
        file.write(b"all")

    write_whole(target, write, force=force)
    assert target.read_bytes() == b"all"
    assert seen[0].parent == tmp_path
    assert len(seen[0].name) == len(".shortlist-.tmp") + 24
    assert os.listdir(tmp_path) == [target.name]


def test_temporary_names_differ(tmp_path):
    """No name tells the next one, not even in one process and for one target."""
    seen = []
    for _ in range(20):
        write_whole(tmp_path / "top.json", lambda file: seen.append(file.name), force=True)
    assert len(set(seen)) == 20


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("force", [False, True])
def test_an_interrupted_write_leaves_nothing(tmp_path, failure, force):
    """Ctrl-C or a full disk leaves no partial file."""

    def write(file):
        file.write(b"half")
        raise failure

    with pytest.raises((KeyboardInterrupt, OutputError)):
        write_whole(tmp_path / "top.json", write, force=force)
    assert not os.listdir(tmp_path)


def test_a_file_system_without_links_will_do(tmp_path, monkeypatch):
    """Where files cannot be linked, they are renamed."""

    def refuse(*paths):
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    make().to_json(tmp_path / "top.json")
    assert os.listdir(tmp_path) == ["top.json"]


def test_refuses_places_that_cannot_be_written(tmp_path):
    """A folder that is not there, is a file, or is the target itself is refused, and nothing is written."""
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "none" / "top.json", tmp_path / "file" / "top.json", tmp_path):
        with pytest.raises(OutputError):
            make().to_json(place)
    assert os.listdir(tmp_path) == ["file"]


def test_refuses_a_folder_without_permission(tmp_path, monkeypatch):
    """A folder that may not be written to is refused before anything is done."""
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    with pytest.raises(OutputError, match="cannot"):
        check_target(tmp_path / "top.json")


def test_new_files_follow_the_umask(tmp_path):
    """A published file has the rights of any other new file."""
    make().to_json(tmp_path / "top.json")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "top.json").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_sensitivity_scales_the_guarantee():
    """N votes of one person cost N times epsilon and N² times rho."""
    guarantee = Joint(k=1, epsilon=Fraction(1, 3)).guarantee
    tripled = guarantee.scale(3, unit="household")
    assert tripled == replace(Joint(k=1, epsilon=1).guarantee, unit="household")


@pytest.mark.parametrize("unit", ["", " ", "per\nson", "\x1b[2J", None, 7, "a. b", "x" * 41], ids=repr)
def test_the_unit_is_a_word(unit):
    """Whom a guarantee protects is said in printable text."""
    with pytest.raises(ParameterError, match="unit must be a word"):
        Joint(k=1, epsilon=1).guarantee.scale(1, unit=unit)


def test_sensitivity_needs_a_pure_guarantee():
    """With a delta, N votes of one person cost more than N times epsilon."""
    approximate = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert approximate.scale(1, unit="person") == approximate
    with pytest.raises(ParameterError, match="no delta"):
        approximate.scale(2, unit="person")


def test_a_label_that_is_no_unicode_can_be_written(tmp_path):
    """A lone surrogate is written as an escape, wherever a release goes."""
    from shortlist import prepare

    release = prepare({"\ud800": 500, "b": 0}, k=1, epsilon=9).release()
    release.to_csv(tmp_path / "list.csv")
    assert "\\ud800" in (tmp_path / "list.csv").read_text(encoding="utf-8")
    assert release.to_arrow()["item"].to_pylist() == ["\\ud800"]
    assert release.to_pandas()["item"].tolist() == ["\\ud800"]
