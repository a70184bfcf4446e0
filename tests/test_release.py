"""The record of a release keeps every value, and its files are whole or absent."""

import copy
import csv
import json
import os
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist import record
from shortlist.errors import DataError, OutputError, ParameterError
from shortlist.exact.bits import SeededBits, SystemBits
from shortlist.mechanisms import Joint
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_exact
from shortlist.release import Release, check_may_release
from shortlist.writing import check_target, write_whole

ITEMS = {
    "text": ("", "é", '<b>&"', "a\nb"),
    "numbers": (1, -(2**63), 2**70),
    "booleans": (True, False),
    "dates": (date(2024, 2, 29),),
    "timestamps": (datetime(2024, 3, 10, 2, 30, 0, 1), datetime(1, 1, 1)),
    "timestamps with time zone": (datetime(2024, 3, 10, 2, 30, tzinfo=UTC),),
    "decimals": (Decimal("1.50"), Decimal("-3")),
    "bytes": (b"", b"\x00\xff"),
}


def make(items=("a", "b"), *, secure=True):
    third = Fraction(1, 3)
    return Release(
        items=items,
        mechanism="fastjoint",
        parameters={"k": len(items), "epsilon": third, "neighbours": Neighbours.ADD_REMOVE, "beta": Fraction("0.1")},
        guarantee=Guarantee(epsilon=third, delta=Fraction(1, 10**6), rho=Fraction(1, 72)),
        d=9,
        secure=secure,
    )


@pytest.mark.parametrize("kind", ITEMS)
def test_json_gives_back_what_was_written(tmp_path, kind):
    """Every value, of every type, is equal after the round trip, and so is its type."""
    release = make(ITEMS[kind])
    release.to_json(tmp_path / "top.json")
    read = Release.from_json(tmp_path / "top.json")
    assert read == release
    assert [type(item) for item in read.items] == [type(item) for item in release.items]


@given(items=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=5))
def test_any_text_survives(items):
    """JSON keeps any text."""
    assert record.loads(record.dumps(make(tuple(items))))["items"] == tuple(items)


@given(number=st.fractions())
def test_rationals_are_written_exactly(number):
    """What is read is the very number that was written."""
    assert Fraction(write_exact(number)) == number


def test_json_names_its_schema(tmp_path):
    """The file says what it is, with rationals as exact texts."""
    make().to_json(tmp_path / "top.json")
    stored = json.loads((tmp_path / "top.json").read_text())
    assert stored["schema"] == "shortlist.release/1"
    assert stored["guarantee"]["epsilon"] == "1/3"
    assert stored["guarantee"]["delta"] == "0.000001"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "shortlist.release/2"}', '{"schema": "shortlist.release/1"}']
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
        ("items", [{"rational": "1/3"}]),
        ("items", [{"integer": True}]),
        ("items", [{"float": "1.5"}]),
        ("d", 1),
        ("d", 9.0),
        ("d", True),
        ("mechanism", None),
        ("parameters", []),
        ("parameters", {"k": [2]}),
        ("version", 1),
        ("guarantee", None),
        ("epsilon", "0"),
        ("epsilon", "-1"),
        ("epsilon", 0.1),
        ("epsilon", "much"),
        ("delta", "1"),
        ("delta", "-0.1"),
        ("rho", "0"),
        ("neighbours", "next door"),
        ("unit", ""),
        ("unit", 7),
    ],
    ids=repr,
)
def test_refuses_values_that_no_release_has(tmp_path, field, value):
    """A record that was changed by hand is not believed."""
    stored = json.loads(record.dumps(make()))
    (stored if field in stored else stored["guarantee"])[field] = value
    (tmp_path / "top.json").write_text(json.dumps(stored))
    with pytest.raises(DataError, match="schema"):
        Release.from_json(tmp_path / "top.json")


def test_refuses_what_is_no_path():
    """A path is text or a Path."""
    for write in (make().to_json, make().to_csv, make().to_parquet):
        with pytest.raises(OutputError, match="the output must be a path, as text or a Path, not NoneType"):
            write(None)
    with pytest.raises(ParameterError, match="path must be"):
        Release.from_json(None)


def test_equal_releases_have_one_hash():
    """A release can be a key."""
    assert {make(): 1}[make()] == 1


def test_refuses_a_missing_record(tmp_path):
    """A file that is not there is refused."""
    with pytest.raises(DataError, match="could not be read"):
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
    assert Release(**record.loads(table.schema.metadata[b"shortlist.release"].decode())) == release


def test_shows_itself():
    """As text and as HTML, the items stand in order, the guarantee is named, and nothing is taken for markup."""
    release = make(("<script>", "b"))
    assert str(release).splitlines()[0] == "1  <script>"
    assert "fastjoint" in str(release)
    assert "<script>" not in release._repr_html_()
    assert "&lt;script&gt;" in release._repr_html_()


def test_says_when_it_is_not_secure():
    """A release from repeatable randomness says so everywhere."""
    release = make(secure=False)
    assert "NOT SECURE" in str(release)
    assert "NOT SECURE" in release._repr_html_()
    assert not record.loads(record.dumps(release))["secure"]


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


class Floating(Joint):
    name = "floating"
    research = True


def test_floating_point_makes_no_secure_release():
    """A mechanism in floating point works with a seed, and not without."""
    mechanism = Floating(k=1, epsilon=1)
    check_may_release(mechanism, SeededBits(1))
    check_may_release(Joint(k=1, epsilon=1), SystemBits())
    with pytest.raises(ParameterError, match="secure release"):
        check_may_release(mechanism, SystemBits())


def test_sensitivity_scales_the_guarantee():
    """N votes of one person cost N times epsilon and N² times rho."""
    guarantee = Joint(k=1, epsilon=Fraction(1, 3)).guarantee
    tripled = guarantee.scale(3, unit="household")
    assert tripled == replace(Joint(k=1, epsilon=1).guarantee, unit="household")


@pytest.mark.parametrize("unit", ["", " ", "per\nson", "\x1b[2J", None, 7], ids=repr)
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
