"""A key is released once: a repeated request gives the same release again, and costs nothing."""

import os
import stat
import threading
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from shortlist import ReleaseFamily, prepare, select
from shortlist.errors import BudgetError, DataError, LedgerError, ParameterError
from shortlist.ledger.charging import Ledger
from shortlist.ledger.statement import Statement

VOTES = {"user": list(range(300)), "track": ["a"] * 200 + ["b"] * 100}
ASKED = {"person": "user", "item": "track", "domain": ["a", "b", "c"], "k": 2, "epsilon": "1/2"}
KEY = "top-tracks 2026-W46"


@pytest.fixture
def ledger(place):
    return Ledger.create(place.address, epsilon=1)


class Untouched(dict):
    """Votes that fail when a column is read."""

    def __getitem__(self, key):
        raise AssertionError


def test_a_repeated_request_is_free_and_identical(ledger):
    """The release comes from the ledger: to the letter, without a charge, and without a look at the votes."""
    first = select(VOTES, **ASKED, ledger=ledger, once=KEY, note="weekly")
    select(VOTES, **ASKED, ledger=ledger)
    assert ledger.left.epsilon == 0
    again = select(Untouched(VOTES), **ASKED | {"epsilon": 0.5}, ledger=ledger, once=KEY, note="weekly")
    assert again.to_json() == first.to_json()
    assert ledger.verify(again).once == KEY
    assert [charge.once for charge in ledger.charges] == [KEY, None]
    assert Statement.read(ledger).to_dict()["charges"][0]["once"] == KEY
    with pytest.raises(BudgetError):
        select(VOTES, **ASKED, ledger=ledger, once="top-tracks 2026-W47", note="weekly")


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"epsilon": "1/3"}, "epsilon"),
        ({"k": 1}, "k"),
        ({"domain": ["a", "b"]}, "domain"),
        ({"note": "monthly"}, "note"),
        ({"mechanism": "joint"}, "mechanism"),
        ({"votes_per_person": 3}, "votes_per_person"),
        ({"item": "user", "person": "track"}, "item, person"),
    ],
    ids=str,
)
def test_another_request_with_a_used_key_is_refused(tmp_path, other, named):
    """The error names the parameters that differ. Nothing is charged."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    select(VOTES, **ASKED, ledger=ledger, once=KEY)
    with pytest.raises(ParameterError, match=f"released as charge 1, for another {named}\\b"):
        select(VOTES, **{**ASKED, **other}, ledger=ledger, once=KEY)
    assert len(ledger.charges) == 1


def test_a_count_of_others_is_part_of_the_request(ledger):
    """With it, the same request gives the same release again; without it, the request is another one."""
    asked = {**ASKED, "counts_epsilon": "1/2", "votes_per_person": 2, "others": True}
    first = select(VOTES, **asked, ledger=ledger, once=KEY)
    assert ledger.charges[0].parameters["others"] is True
    assert select(VOTES, **asked, ledger=ledger, once=KEY).counts.others == first.counts.others
    with pytest.raises(ParameterError, match="for another others"):
        select(VOTES, **{**asked, "others": False}, ledger=ledger, once=KEY)


def test_files_are_compared_by_their_names(tmp_path):
    """Other votes are another request. What a file holds is not compared: nothing free may depend on it."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    paths = [tmp_path / f"{week}.parquet" for week in (46, 47)]
    for path in paths:
        parquet.write_table(pa.table(VOTES), path)
    first = select(paths[0], **ASKED, ledger=ledger, once=KEY)
    paths[0].unlink()
    assert select(str(paths[0]), **ASKED, ledger=ledger, once=KEY) == first
    with pytest.raises(ParameterError, match="for another votes"):
        select(paths[1], **ASKED, ledger=ledger, once=KEY)


def test_a_failure_after_the_charge_is_not_free(place, tmp_path):
    """The votes turn out to be unreadable: the key is charged again, because the failure may depend on the data."""
    ledger, path = Ledger.create(place.address, epsilon=1), tmp_path / "votes.parquet"
    users = list(range(10**5))
    parquet.write_table(pa.table({"user": users, "track": ["abc"[user % 3] for user in users]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(len(whole) // 2 - 4) + whole[len(whole) // 2 :])
    with pytest.raises(DataError):
        select(path, **ASKED, ledger=ledger, once=KEY)
    assert [charge.release for charge in ledger.charges] == [None]
    path.write_bytes(whole)
    made = select(path, **ASKED, ledger=ledger, once=KEY)
    assert (made.charge, ledger.spent.epsilon) == (2, 1)
    assert select(path, **ASKED, ledger=ledger, once=KEY).to_json() == made.to_json()


def test_runs_that_race_make_one_release(place):
    """All of them return the release that was stored first."""
    Ledger.create(place.address, epsilon=10)
    together, made = threading.Barrier(4), []

    def run():
        waited = []

        def wait(step):
            if step == "Drawing the items" and not waited:
                waited.append(together.wait(60))

        made.append(select(VOTES, **ASKED, ledger=place.address, once=KEY, progress=wait).to_json())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger = Ledger.open(place.address)
    assert (len(made), len(set(made))) == (4, 1)
    assert [charge.release is not None for charge in ledger.charges].count(True) == 1
    assert ledger.spent.epsilon == Fraction(4, 2)


def test_a_run_that_is_overtaken_before_its_charge_is_not_charged(ledger):
    """The key is looked for again when the charge is made."""
    first = []

    def overtake(step):
        if not first:
            first.append(select(VOTES, **ASKED, ledger=ledger, once=KEY))

    made = select(VOTES, **ASKED, ledger=ledger, once=KEY, progress=overtake)
    assert (made.to_json(), len(ledger.charges)) == (first[0].to_json(), 1)


def test_a_release_that_cannot_be_stored_is_not_handed_out(tmp_path):
    """Otherwise the next run would make a second one."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)

    def remove(step):
        if step == "Drawing the items":
            ledger.path.unlink()

    with pytest.raises(LedgerError, match="No such file"):
        select(VOTES, **ASKED, ledger=ledger, once=KEY, progress=remove)


def test_families_and_counts_have_keys(ledger):
    """A family is one release, and so is a release from counts."""
    votes = {**VOTES, "country": ["DE", "FR"] * 150}
    asked = {**ASKED, "by": "country", "groups": ["DE", "FR"], "groups_per_person": 1}
    family = select(votes, **asked, ledger=ledger, once="a")
    again = select(votes, **asked, ledger=ledger, once="a")
    assert isinstance(again, ReleaseFamily)
    assert again.to_json() == family.to_json()
    selector = prepare({"a": 9, "b": 5}, k=1, epsilon="1/2")
    assert selector.release(ledger=ledger, once="b").to_json() == selector.release(ledger=ledger, once="b").to_json()
    with pytest.raises(ParameterError, match="for another"):
        selector.release(ledger=ledger, once="a")
    assert ledger.left.epsilon == 0


def test_what_is_stored_stays(ledger, place):
    """The database refuses to change or to remove it."""
    select(VOTES, **ASKED, ledger=ledger, once=KEY)
    for statement in ("DELETE FROM stored", "UPDATE stored SET record = '{}'", "UPDATE charge SET once_key = NULL"):
        with pytest.raises(place.errors, match=r"never|once"):
            place.execute(statement)


def test_only_its_owner_may_read_a_ledger(tmp_path):
    """It may hold a release before it is published."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    assert stat.S_IMODE(os.stat(ledger.path).st_mode) == 0o600


@pytest.mark.parametrize("key", ["two\nlines", "x" * 201, 7])
def test_a_key_is_one_line(tmp_path, key):
    """It is shown in terminals. A key without a ledger is refused, and so is an empty one, as of an unset variable."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(ParameterError, match="once must be a key; it is empty"):
        select(VOTES, **ASKED, ledger=ledger, once="")
    with pytest.raises(ParameterError, match="once must be one line"):
        select(VOTES, **ASKED, ledger=ledger, once=key)
    with pytest.raises(ParameterError, match="once must go with ledger"):
        select(VOTES, **ASKED, once=KEY)
    assert not ledger.charges
    assert Path(ledger.path).exists()
