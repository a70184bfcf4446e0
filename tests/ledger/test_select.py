"""Selections are charged after all checks, before votes are read and before anything is drawn."""

import hashlib
import sqlite3
import warnings
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from shortlist import Query, Release, prepare, select, top_k
from shortlist.errors import BudgetError, DataError, LedgerError, ParameterError
from shortlist.ledger.charging import Ledger
from shortlist.record import compute_hash
from shortlist.testing import SeededBits

VOTES = {"user": list(range(300)), "track": ["a"] * 200 + ["b"] * 100}
ASKED = {"person": "user", "item": "track", "domain": ["a", "b", "c"], "k": 2, "epsilon": "1/2"}

WRONG_TYPE = {"item": "user", "person": "track", "domain": [date(2020, 1, day) for day in (1, 2, 3)]}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "budget.db", epsilon=1, population="customers EU")


def test_a_selection_is_charged_and_finished(ledger, tmp_path):
    """The charge holds the release's hash, and the record names the population."""
    release = select(VOTES, **ASKED, votes_per_person=5, ledger=ledger, note="weekly")
    (charge,) = ledger.charges
    public = {"k": 2, "epsilon": "0.5", "neighbours": "add-remove", "votes_per_person": 5, "ordered": True}
    assert charge.parameters == {**public, "persons_counted": True}
    assert (charge.note, charge.mechanism, charge.guarantee) == ("weekly", release.mechanism, release.guarantee)
    release.to_json(tmp_path / "top.json")
    assert charge.release == hashlib.sha256((tmp_path / "top.json").read_bytes()).hexdigest()
    assert Release.from_json(tmp_path / "top.json").population == "customers EU"


def test_a_path_names_a_ledger(ledger):
    """As on the command line."""
    select(VOTES, **ASKED, ledger=str(ledger.path))
    assert ledger.spent.epsilon == Fraction(1, 2)


class Unread:
    """A column that fails when its values are read."""

    def __iter__(self):
        raise AssertionError


class Undrawn:
    """A guard for the source of randomness of a test: the ledger refuses it, as it is not the system's."""

    secure = True

    def draw(self, count):
        raise AssertionError


def test_an_uncovered_selection_reads_nothing(ledger):
    """If the budget does not cover it, no value of the votes is read."""
    for _ in range(2):
        select(VOTES, **ASKED, ledger=ledger)
    with pytest.raises(BudgetError, match="epsilon 0 is left"):
        select(dict.fromkeys(VOTES, Unread()), **ASKED, ledger=ledger)
    assert len(ledger.charges) == 2


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    """The same votes in files, frames and databases."""
    tmp_path = tmp_path_factory.mktemp("votes")
    table = pa.table(VOTES)
    pl.from_arrow(table).write_parquet(tmp_path / "votes.parquet")
    pd.DataFrame(VOTES).to_csv(tmp_path / "votes.csv", index=False)
    with closing(sqlite3.connect(tmp_path / "votes.db")) as database, database:
        pd.DataFrame(VOTES).to_sql("log", database, index=False)
    database.close()
    return {
        "arrow": table,
        "pandas": pd.DataFrame(VOTES),
        "polars": pl.DataFrame(VOTES),
        "lazy": pl.LazyFrame(VOTES),
        "parquet": tmp_path / "votes.parquet",
        "csv": tmp_path / "votes.csv",
        "sqlite": Query(tmp_path / "votes.db", "SELECT * FROM log"),
    }


def test_every_engine_charges_once(engines, tmp_path):
    """Whoever holds the votes, one selection is one charge."""
    for number, (name, votes) in enumerate(engines.items()):
        ledger = Ledger.create(tmp_path / f"{number}.db", epsilon=1)
        assert select(votes, **ASKED, ledger=ledger).items == ("a", "b"), name
        assert [charge.release is None for charge in ledger.charges] == [False], name


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 4},
        {"item": "trakc"},
        {"person": "track"},
        {"domain": None},
        {"domain": [1.5, 2.5]},
        {"domain": [timedelta(days=1), timedelta(days=2)]},
        {"domain": [("a",), ("b",)]},
        WRONG_TYPE,
        {"epsilon": -1},
        {"unit": "household"},
        {"neighbours": "replace"},
        {"note": "two\nlines"},
        {"bits": SeededBits(7)},
        {"bits": Undrawn()},
        {"memory_limit": "much"},
    ],
    ids=" ".join,
)
def test_what_can_be_checked_first_is_never_charged(engines, ledger, wrong):
    """Parameters, columns, their types and the domain are checked before the charge."""
    for name, votes in engines.items():
        if wrong is WRONG_TYPE and name in ("csv", "pandas", "sqlite"):
            continue  # values there may be of any type, so that no type is refused
        with pytest.raises((ParameterError, DataError)):
            select(votes, **{**ASKED, **wrong}, ledger=ledger)
        assert not ledger.charges, name


def test_a_failure_after_the_charge_has_spent_it(ledger, tmp_path):
    """The votes turn out to be unreadable: the charge stays, without a release."""
    path = tmp_path / "votes.parquet"
    users = list(range(10**5))
    parquet.write_table(pa.table({"user": users, "track": ["abc"[user % 3] for user in users]}), path)
    stored = bytearray(path.read_bytes())
    stored[4 : len(stored) // 2] = bytes(len(stored) // 2 - 4)  # the schema at the end stays whole
    path.write_bytes(stored)
    with pytest.raises(DataError):
        select(path, **ASKED, ledger=ledger)
    assert [charge.release for charge in ledger.charges] == [None]


def test_the_environment_makes_a_ledger_mandatory(ledger, monkeypatch, tmp_path):
    """Every selection is charged, also those that name no ledger; without the file there is no release."""
    monkeypatch.setenv("SHORTLIST_LEDGER", str(ledger.path))
    select(VOTES, **ASKED)
    assert ledger.spent.epsilon == Fraction(1, 2)
    with pytest.raises(ParameterError, match="secure"):
        select(VOTES, **ASKED, bits=SeededBits(7))
    with pytest.raises(LedgerError, match="names"):
        select(VOTES, **ASKED, ledger=Ledger.create(tmp_path / "other.db", epsilon=9))
    monkeypatch.setenv("SHORTLIST_LEDGER", str(tmp_path / "absent.db"))
    with pytest.raises(LedgerError, match="No such file"):
        select(VOTES, **ASKED)


def test_the_record_names_its_charge(ledger):
    """The ledger, the number and the time of the charge, with the note and the period."""
    release = select(VOTES, **ASKED, ledger=ledger, note="weekly", period="2026-W03")
    (charge,) = ledger.charges
    assert (release.ledger, release.charge, release.made) == (ledger.id, charge.number, charge.made)
    assert (release.note, release.period, charge.note) == ("weekly", "2026-W03", "weekly")
    assert ledger.verify(release) == charge
    assert f"charge 1 of ledger {ledger.id[:12]} for customers EU" in str(release)
    assert select(VOTES, **ASKED, note="weekly").note == "weekly"


def test_a_release_that_was_paid_for_is_not_lost(ledger):
    """If the ledger disappears while the votes are counted, the release is returned with a warning."""

    def remove(step):
        if step == "Drawing the items":
            ledger.path.unlink()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert select(VOTES, **ASKED, ledger=ledger, progress=remove).items == ("a", "b")
    assert any("is charged, but" in str(each.message) for each in seen)


def test_times_are_charged_and_finished(ledger):
    """A time of day is an item like others, also in the record whose hash the ledger keeps."""
    hours = [time(hour) for hour in (7, 8, 9)]
    votes = {"user": VOTES["user"], "track": [hours[0]] * 200 + [hours[1]] * 100}
    release = select(votes, **{**ASKED, "domain": hours}, ledger=ledger)
    assert Release.from_json(release.to_json()).items == release.items == tuple(hours[:2])
    assert ledger.charges[0].release == hashlib.sha256(release.to_json().encode()).hexdigest()


@pytest.mark.parametrize("action", ["always", "error"])
def test_no_failure_after_the_draw_loses_the_release(ledger, action):
    """If something else finishes the charge, there is a warning, also where warnings are errors."""
    other = select(VOTES, **ASKED)

    def finish_first(step):
        if step == "Naming the items":
            ledger.finish(ledger.charges[0], other)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action, RuntimeWarning)
        assert select(VOTES, **ASKED, ledger=ledger, progress=finish_first).items == ("a", "b")
    (text,) = [str(each.message) for each in seen if each.category is RuntimeWarning]
    assert "is charged, but" in text
    assert "without a finished release" in text


def test_a_selector_charges_each_release(tmp_path):
    """Releases of one selector are charges of their own, made before anything is drawn."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=2, population="customers EU")
    selector = prepare({"a": 5, "b": 3, "c": 0}, k=2, epsilon=1, mechanism="joint")
    releases = [selector.release(ledger=ledger, note=f"week {week}") for week in (1, 2)]
    assert [each.population for each in releases] == ["customers EU"] * 2
    assert [(each.note, each.release) for each in ledger.charges] == [
        (f"week {week}", compute_hash(release)) for week, release in enumerate(releases, start=1)
    ]
    with pytest.raises(BudgetError, match="epsilon 0 is left"):
        selector.release(ledger=ledger.path)
    with pytest.raises(ParameterError, match="secure randomness"):
        selector.release(SeededBits(1), ledger=ledger)
    assert len(ledger.charges) == 2
    assert selector.release().population is None


def test_a_charged_release_tells_its_readers_that_others_add_to_it(ledger):
    """A weekly list has the factor of one week, and its readers see every week."""
    said = "This holds for this list alone: what other releases reveal adds to it."
    selector = prepare({"a": 5, "b": 3, "c": 0}, k=2, epsilon="1/2", mechanism="joint")
    charged = selector.release(ledger=ledger)
    assert said in charged.explain()
    assert said in Release.from_json(charged.to_json()).explain()
    assert said not in selector.release().explain()


@pytest.mark.parametrize(
    "label",
    [1.5, (1, 2), None, Decimal("NaN"), Decimal("1E-20000"), pd.Timestamp("2026-01-01T00:00:00.000000001")],
    ids=str,
)
def test_labels_that_no_record_can_hold_are_refused_before_the_charge(ledger, label):
    """Whether a record could be written would depend on which items were drawn."""
    selector = prepare({label: 300, "b": 200, "c": 1}, k=1, epsilon="1/2")
    for once in (None, "2026-W01"):
        with pytest.raises(DataError, match="items must be"):
            selector.release(ledger=ledger, once=once)
    assert ledger.charges == ()
    kept = [2**70, True, b"x", date(2026, 1, 1), time(1, 2), Decimal("1.50"), datetime(2026, 1, 1, tzinfo=UTC), "é"]
    release = prepare(dict.fromkeys(kept, 9), k=8, epsilon="1/2").release(ledger=ledger)
    assert Release.from_json(release.to_json()).items == release.items


def test_the_environment_makes_a_ledger_mandatory_for_counts(ledger, monkeypatch):
    """A release from counts is a release: it is charged to the ledger that the environment names, or not made."""
    selector = prepare({"a": 5, "b": 3, "c": 0}, k=2, epsilon=1, mechanism="joint")
    monkeypatch.setenv("SHORTLIST_LEDGER", str(ledger.path))
    made = selector.release()
    assert made.population == "customers EU"
    assert [each.release for each in ledger.charges] == [compute_hash(made)]
    with pytest.raises(BudgetError):
        selector.release()
    monkeypatch.setenv("SHORTLIST_LEDGER", "")
    with pytest.raises(LedgerError, match="it is empty"):
        selector.release()


DRAWS = {
    "top_k": lambda selector: top_k({"a": 5, "b": 3}, k=1, epsilon=1),
    "top_k with a seed": lambda selector: top_k({"a": 5, "b": 3}, k=1, epsilon=1, bits=SeededBits(1)),
    "draw": lambda selector: selector.draw(),
    "draw with a seed": lambda selector: selector.draw(SeededBits(1)),
    "draw_many": lambda selector: selector.draw_many(3),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("named", ["budget.db", "absent.db", ""])
def test_draws_that_charge_nothing_are_refused_where_a_ledger_is_mandatory(ledger, draw, named, monkeypatch, tmp_path):
    """They show items of the counts, so they are releases; the hint names the way that is charged."""
    selector = prepare({"a": 5, "b": 3}, k=1, epsilon=1, mechanism="joint")
    draw(selector)
    monkeypatch.setenv("SHORTLIST_LEDGER", named and str(tmp_path / named))
    with pytest.raises(LedgerError, match=r"charges nothing.\nHint: use prepare\(...\).release\(\), which is charged"):
        draw(selector)
    assert not ledger.charges


def test_counts_have_a_unit(tmp_path):
    """A ledger of households takes releases from counts that are stated for households."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1, unit="household")
    counts = {"a": 5, "b": 3}
    with pytest.raises(ParameterError, match="pass the unit of the ledger"):
        prepare(counts, k=1, epsilon=1).release(ledger=ledger)
    release = prepare(counts, k=1, epsilon=1, unit="household").release(ledger=ledger)
    assert release.guarantee.unit == "household"
    assert ledger.charges[0].release == compute_hash(release)
    with pytest.raises(ParameterError, match="unit must be a word"):
        prepare(counts, k=1, epsilon=1, unit=7)
    with pytest.raises(ParameterError, match="unit must go with a whole release"):
        top_k(counts, k=1, epsilon=1, unit="household")


def test_a_delta_that_is_kept_for_zcdp_is_explained(tmp_path):
    """A ledger of δ = 10⁻⁶ refuses a release whose rho needs δ = 10⁻⁶, and says that half of δ is for zCDP."""
    asked = {**ASKED, "domain": None, "delta": "1e-6"}
    shared = Ledger.create(tmp_path / "both.db", epsilon=1, delta="1e-6")
    with pytest.raises(BudgetError, match=r"may spend 5e-7 .* ask for a smaller delta, or .*accounting='basic'"):
        select(VOTES, **asked, ledger=shared)
    select(VOTES, **{**asked, "delta": "5e-7"}, ledger=shared)
    whole = Ledger.create(tmp_path / "basic.db", epsilon=1, delta="1e-6", accounting="basic")
    select(VOTES, **asked, ledger=whole)
    with pytest.raises(BudgetError, match=r"ask for a smaller epsilon or delta"):
        select(VOTES, **asked, ledger=whole)
