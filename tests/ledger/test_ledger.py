"""The ledger: what it charges, what it refuses, and what its store holds, in a file and on a server."""

import contextlib
import hashlib
import inspect
import json
import os
import pwd
import socket
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from shortlist import Guarantee, Release, prepare
from shortlist.errors import BudgetError, LedgerError, OutputError, ParameterError
from shortlist.ledger.charging import Ledger, require_ledger
from shortlist.ledger.file import File
from shortlist.ledger.statement import Statement
from shortlist.mechanisms import Joint, LimitedDomain
from shortlist.testing import SeededBits

TENTH = Joint(k=10, epsilon="0.1")


@pytest.fixture
def ledger(place):
    return Ledger.create(place.address, epsilon=1, population="customers EU")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def file_ledger(path):
    return Ledger.create(path, epsilon=1, population="customers EU")


def release(mechanism=TENTH):
    return Release(
        items=("a", "b"),
        mechanism=mechanism.name,
        parameters=mechanism.parameters,
        guarantee=mechanism.guarantee,
        domain_size=100,
        secure=True,
    )


def test_charges_until_the_budget_is_used_up(ledger):
    """Ten tenths fit into one exactly; the eleventh is refused, and the error says what is left."""
    assert ledger.afford(TENTH) == 10
    for _ in range(10):
        ledger.charge(TENTH)
    assert (ledger.spent.epsilon, ledger.left.epsilon, ledger.afford(TENTH)) == (1, 0, 0)
    with pytest.raises(BudgetError, match="epsilon 0 is left"):
        ledger.charge(TENTH)
    assert len(ledger.charges) == 10


def test_a_refusal_says_what_is_left(ledger):
    """What is left is rounded down, and a release that fits is still possible."""
    ledger.charge(Joint(k=1, epsilon="1/3"))
    with pytest.raises(BudgetError, match=r"the budget is 1-DP .*; epsilon 2/3 is left; this release needs 1-DP .*\."):
        ledger.charge(Joint(k=1, epsilon=1))
    ledger.charge(Joint(k=1, epsilon="2/3"))


def test_a_charge_holds_what_may_be_known(ledger):
    """When, mechanism, public parameters, guarantee, note and version; and the hash once it is finished."""
    made = ledger.charge(TENTH, note="weekly top 10")
    assert (made.number, made.mechanism, made.note, made.guarantee) == (1, "joint", "weekly top 10", TENTH.guarantee)
    assert made.parameters == {"k": 10, "epsilon": "0.1", "neighbours": "add-remove"}
    assert made.release is None
    ledger.finish(made, release())
    (stored,) = ledger.charges
    assert stored.finished >= stored.made
    assert stored.release is not None


def test_a_charge_says_who_made_it(ledger, place):
    """The user and the machine, as the machine says; on a server also the role, which the client cannot choose."""
    made = ledger.charge(TENTH)
    assert (made.user, made.host) == (pwd.getpwuid(os.getuid()).pw_name, socket.gethostname())
    place.execute(
        "INSERT INTO charge (id, identifier, made, version, user_name, host, role, mechanism, parameters, epsilon, "
        "delta) VALUES (2, 'x', '2026-01-01T00:00:00+00:00', '0', 'eve', 'far', 'admin', 'joint', '{}', '0.1', '0')"
    )
    roles = [charge.role for charge in ledger.charges]
    assert roles == ([None, "admin"] if ledger.path else ["tester", "tester"])
    assert [each["user"] for each in Statement.read(ledger).to_dict()["charges"]] == [made.user, "eve"]


def test_the_hash_is_that_of_the_json_file(ledger, tmp_path):
    """Whoever has the record can find its charge."""
    made = release()
    ledger.finish(ledger.charge(TENTH), made)
    made.to_json(tmp_path / "top.json")
    assert ledger.charges[0].release == hashlib.sha256((tmp_path / "top.json").read_bytes()).hexdigest()


def test_a_charge_is_finished_once(ledger):
    """A second release needs a second charge."""
    made = ledger.charge(TENTH)
    ledger.finish(made, release())
    with pytest.raises(ParameterError, match="without a finished release"):
        ledger.finish(made, release())


def test_the_file_holds_no_item_and_no_path(file_ledger, path):
    """Items of a release never enter the ledger, only its hash does."""
    named = Release(
        items=("Unmistakable Item",),
        mechanism="joint",
        parameters={},
        guarantee=TENTH.guarantee,
        domain_size=1,
        secure=True,
    )
    file_ledger.finish(file_ledger.charge(TENTH), named)
    content = path.read_bytes()
    assert b"Unmistakable" not in content
    assert os.fsencode(path.parent) not in content


def test_opening_gives_the_same_budget(ledger, place):
    """Everything about the budget is in the store."""
    again = Ledger.open(place.address)
    assert (again.budget, again.population) == (ledger.budget, "customers EU")
    other = place.beside().address
    exact = Ledger.create(other, epsilon="1/3", delta="1/1000003", basic_share="1/7")
    assert Ledger.open(other).budget == exact.budget
    assert exact.budget.basic_delta == Fraction(1, 7 * 1000003)


def test_refuses_seeded_randomness(ledger):
    """A release that can be repeated has no guarantee to charge."""
    with pytest.raises(ParameterError, match="secure"):
        ledger.charge(TENTH, bits=SeededBits(7))
    assert not ledger.charges


@pytest.mark.parametrize("note", ["two\nlines", "x" * 201, "\x1b[2J", 7])
def test_refuses_notes_that_are_not_one_line(ledger, note):
    """A note is shown in terminals."""
    with pytest.raises(ParameterError, match="note"):
        ledger.charge(TENTH, note=note)
    assert not ledger.charges


def test_refuses_other_relations_and_units(ledger):
    """They are not added up silently."""
    with pytest.raises(ParameterError, match="do not add up"):
        ledger.charge(Joint(k=1, epsilon="0.1", neighbours="replace"))
    with pytest.raises(ParameterError, match="do not add up"):
        ledger.charge(TENTH, Guarantee(epsilon=Fraction(1, 10), unit="household"))
    assert not ledger.charges


def test_nothing_in_the_store_can_be_removed_or_changed(ledger, place):
    """The database itself refuses, whoever asks."""
    ledger.finish(ledger.charge(TENTH), release())
    ledger.charge(TENTH)
    for statement in (
        "DELETE FROM charge",
        "DELETE FROM budget",
        "UPDATE budget SET epsilon = '100'",
        "UPDATE charge SET epsilon = '0' WHERE id = 2",
        "UPDATE charge SET release = 'other' WHERE id = 1",
        "UPDATE charge SET rho_delta = '1' WHERE id = 2",
        "UPDATE charge SET note = 'other' WHERE id = 2",
        "UPDATE charge SET user_name = 'other' WHERE id = 2",
        "UPDATE charge SET role = 'other' WHERE id = 2",
        *(() if ledger.path else ("TRUNCATE charge CASCADE", "TRUNCATE budget")),
    ):
        with pytest.raises(place.errors, match=r"never|once"):
            place.execute(statement)
    assert ledger.spent.epsilon == Fraction(2, 10)


def add_charge(place, made, epsilon):
    """Add a charge past the library."""
    place.execute(
        "INSERT INTO charge (id, identifier, made, version, user_name, host, mechanism, parameters, epsilon, delta) "
        f"VALUES (1, 'x', '{made}', '0', 'u', 'h', 'joint', '{{}}', '{epsilon}', '0')"
    )


def test_a_clock_set_back_changes_nothing(ledger, place):
    """Charges that seem to lie in the future count like others, and the order is that of their numbers."""
    add_charge(place, "2999-01-01T00:00:00+00:00", "0.25")
    ledger.finish(ledger.charge(TENTH), release())
    assert [charge.number for charge in ledger.charges] == [1, 2]
    assert ledger.charges[0].made > ledger.charges[1].made
    assert ledger.spent.epsilon == Fraction(35, 100)


def test_a_ledger_that_exists_is_not_overwritten(ledger, place):
    """A budget is never started again in the same place."""
    ledger.charge(TENTH)
    with pytest.raises(OutputError, match=r"exists|holds tables of a ledger already"):
        Ledger.create(place.address, epsilon=100)
    assert ledger.spent.epsilon == Fraction(1, 10)


def foreign_files(folder):
    """Files that are no ledgers of this version."""
    (folder / "empty.db").write_bytes(b"")
    (folder / "text.db").write_text("nothing of the kind " * 100)
    with closing(sqlite3.connect(folder / "other.db")) as other, other:
        other.execute("CREATE TABLE charge (id)")
    other.close()
    os.mkfifo(folder / "pipe.db")
    (folder / "folder.db").mkdir()
    return sorted(folder.iterdir())


def test_foreign_files_are_refused(tmp_path):
    """Also empty ones, pipes, folders, and files that are not there; none is made."""
    for each in [*foreign_files(tmp_path), tmp_path / "absent.db", tmp_path / "absent" / "x.db"]:
        with pytest.raises(LedgerError, match="must be a file"):
            Ledger.open(each)
    assert not (tmp_path / "absent.db").exists()
    for wrong in (7, None, "a\0b", "\ud800", b"x"):
        for call in (Ledger.open, lambda path: Ledger.create(path, epsilon=1)):
            with pytest.raises(ParameterError, match="path of a file"):
                call(wrong)


def test_a_charge_cannot_name_another_charge():
    """Who charges by hand says what is released, and never under which identifier or key: that could be paid before."""
    assert [*inspect.signature(Ledger.charge).parameters][1:] == ["mechanism", "guarantee", "bits", "note", "period"]


def test_wrong_arguments_are_refused(ledger, place):
    """With errors of this library, and without a charge."""
    made = ledger.charge(TENTH)
    for call in (
        lambda: Ledger.open(place.address, timeout="long"),
        lambda: Ledger.open(place.address, timeout=float("nan")),
        lambda: ledger.charge("joint"),
        lambda: ledger.charge(TENTH, "1"),
        lambda: ledger.afford("joint"),
        lambda: ledger.finish(1, release()),
        lambda: ledger.finish(made, "release"),
        lambda: ledger.report("report.html", audit=5),
    ):
        with pytest.raises(ParameterError):
            call()
    assert len(ledger.charges) == 1


def test_other_schemas_are_refused(ledger, place):
    """A version of the library does not write to a ledger of another one."""
    for version in (4, 6):
        place.set_version(version)
        for call in (lambda: Ledger.open(place.address), lambda: ledger.charge(TENTH), lambda: ledger.spent):
            with pytest.raises(LedgerError, match=f"must be of schema 5; .* is of schema {version}"):
                call()


def test_a_foreign_row_is_reported(ledger, place):
    """A row that was written by something else is not added up."""
    add_charge(place, "today", "-5")
    for call in (lambda: ledger.spent, lambda: ledger.charges, lambda: ledger.charge(TENTH)):
        with pytest.raises(LedgerError, match="changed by something else"):
            call()


@pytest.mark.usefixtures("file_ledger")
def test_damage_is_reported(path):
    """Bytes that are no page."""
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(path)


def test_write_ahead_logs_are_turned_off(file_ledger, path):
    """A ledger that was switched to a write-ahead log is switched back, so that the file alone is complete."""
    with closing(sqlite3.connect(path)) as direct, direct:
        direct.execute("PRAGMA journal_mode = WAL")
    direct.close()
    file_ledger.charge(TENTH)
    assert sorted(each.name for each in path.parent.iterdir()) == ["budget.db"]


def test_a_commit_reaches_the_disk(file_ledger):
    """Charges are written with a rollback journal, and also its removal is synchronised."""
    with File.locate(file_ledger.path, 1).open(write=True) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == 3
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
        assert connection.in_transaction


def test_threads_share_a_ledger(ledger):
    """Eight threads charge forty times, and ten are covered."""
    done = []

    def spend():
        for _ in range(5):
            with contextlib.suppress(BudgetError):
                done.append(ledger.charge(TENTH))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(charge.number for charge in done) == list(range(1, 11))


def test_numbers_stay_exact(ledger):
    """Fractions without a decimal form are kept, and those with thousands of digits are refused."""
    for odd in (3, 7, 11, 13):
        ledger.charge(Joint(k=1, epsilon=Fraction(1, odd)))
    assert ledger.spent.epsilon == sum(Fraction(1, odd) for odd in (3, 7, 11, 13))
    with pytest.raises(ParameterError, match="fewer digits"):
        ledger.charge(Joint(k=1, epsilon=Fraction(10**4000, 10**4001 + 1)))


def test_the_delta_of_a_rho_is_stored(place):
    """A charge keeps it, also that of a family, and the limit for the sum is part of the budget."""
    ledger = Ledger.create(place.address, epsilon=10, delta="1e-6", accounting="zcdp")
    for groups in (None, 8):
        unlisted = LimitedDomain(k=10, epsilon=1, delta="1e-8", groups_per_person=groups)
        assert ledger.charge(unlisted).guarantee.rho_delta == unlisted.hidden_delta > 0
    again = Ledger.open(place.address)
    assert [each.guarantee for each in again.charges] == [each.guarantee for each in ledger.charges]
    assert again.left.rho_delta == Fraction(1, 10**7) - again.spent.rho_delta == ledger.left.rho_delta


def test_the_statement_names_what_was_not_finished(ledger):
    """A run that died after its charge has spent it, and the statement says so."""
    ledger.finish(ledger.charge(TENTH, note="first"), release())
    ledger.charge(TENTH, note="died")
    statement = Statement.read(ledger)
    assert statement.unfinished == (2,)
    assert any("without a finished release" in line and line.endswith(": 2") for line in statement.summary())
    stored = json.loads(json.dumps(statement.to_dict()))
    assert stored["spent"] == {"epsilon": "0.2", "delta": "0", "rho": "0.0025", "rho_delta": "0"}
    assert stored["left"]["epsilon"] == "0.8"
    assert [each["note"] for each in stored["charges"]] == ["first", "died"]


def test_the_environment_makes_a_ledger_mandatory(ledger, place, monkeypatch, tmp_path):
    """With SHORTLIST_LEDGER, that ledger is used; another one, and an empty name, are refused."""
    monkeypatch.delenv("SHORTLIST_LEDGER", raising=False)
    assert require_ledger(None) is None
    assert require_ledger(place.address).id == ledger.id
    monkeypatch.setenv("SHORTLIST_LEDGER", place.address)
    assert require_ledger(None).id == ledger.id
    assert require_ledger(ledger) is ledger
    other = Ledger.create(place.beside().address, epsilon=1000)
    with pytest.raises(LedgerError, match="SHORTLIST_LEDGER names"):
        require_ledger(other)
    monkeypatch.setenv("SHORTLIST_LEDGER", "")
    with pytest.raises(LedgerError, match="it is empty"):
        require_ledger(None)
    monkeypatch.setenv("SHORTLIST_LEDGER", str(tmp_path / "absent.db"))
    with pytest.raises(LedgerError):
        require_ledger(None)
    with pytest.raises(LedgerError):
        require_ledger(ledger)


@pytest.mark.parametrize("name", ["a b.db", "a?b#c.db", "quo'te\".db", "per%20cent;mode=ro.db", "ünï.db", "-x.db"])
def test_any_file_name_will_do(tmp_path, name):
    """Characters that mean something in an address of SQLite, in SQL or in a shell mean nothing in a path."""
    made = Ledger.create(tmp_path / name, epsilon=1)
    made.charge(TENTH)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert len(Ledger.open(tmp_path / name).charges) == 1


def test_a_link_is_the_ledger_that_it_points_to(file_ledger, path, monkeypatch):
    """Charges through a symbolic link are charges to the file, and the environment may name either."""
    link = path.with_name("link.db")
    link.symlink_to(path)
    Ledger.open(link).charge(TENTH)
    assert len(file_ledger.charges) == 1
    monkeypatch.setenv("SHORTLIST_LEDGER", str(path))
    assert require_ledger(str(link)).spent == file_ledger.spent
    with pytest.raises(OutputError, match="exists"):
        Ledger.create(link, epsilon=9)


def test_a_constructor_is_answered_with_the_right_call(path):
    """`Ledger("budget.db")` does not say whether the file is to be made."""
    with pytest.raises(ParameterError, match=r"Ledger.open\('budget.db'\) .* or Ledger.create\('budget.db', epsilon="):
        Ledger(path)
    with pytest.raises(ParameterError, match="must be opened or created"):
        Ledger(path, epsilon=1)


def test_a_ledger_without_an_epsilon_is_refused(path):
    """And nothing is created."""
    with pytest.raises(ParameterError, match="epsilon must be given"):
        Ledger.create(path)
    assert not path.exists()


def test_a_ledger_that_was_replaced_is_refused(ledger, place):
    """The budget that was read when the ledger was opened does not decide about another one in its place."""
    made = ledger.charge(TENTH)
    for other in (
        {"epsilon": "0.1"},
        {"epsilon": 1, "neighbours": "replace"},
        {"epsilon": 1, "population": "US"},
        {"epsilon": 1, "population": "customers EU"},
    ):
        place.remove()
        new = Ledger.create(place.address, **other)
        for call in (
            lambda: ledger.charge(Joint(k=1, epsilon=1)),
            lambda: ledger.check(TENTH),
            lambda: ledger.finish(made, release()),
            lambda: ledger.afford(TENTH),
            lambda: ledger.charges,
        ):
            with pytest.raises(LedgerError, match="must be the one that was opened"):
                call()
        assert not new.charges, other


def test_an_earlier_copy_is_refused(ledger, place):
    """A store that was put back as it was before a charge would pay for another release."""
    ledger.charge(TENTH)
    place.roll_back(lambda: ledger.charge(TENTH))
    for call in (lambda: ledger.charge(TENTH), lambda: ledger.spent):
        with pytest.raises(LedgerError, match=r"must be the one that was opened; .* an earlier copy"):
            call()


def test_every_ledger_has_its_own_identifier(ledger, place):
    """It is random, and stays in the store."""
    again = Ledger.create(place.beside().address, epsilon=1, population="customers EU")
    assert Ledger.open(place.address).id == ledger.id != again.id
    assert len(ledger.id) == 32
    assert Statement.read(ledger).to_dict()["ledger"] == ledger.id


def test_a_record_is_verified(ledger, place):
    """The charge that paid for a record is found, and any other record is refused."""
    selector = prepare([9, 5, 1], k=2, epsilon="0.1")
    made = selector.release(ledger=ledger, note="weekly")
    assert ledger.verify(Release.from_json(made.to_json())) == ledger.charges[0]
    other = Ledger.create(place.beside().address, epsilon=1, population="customers EU")
    second = selector.release(ledger=ledger)
    for record, words in (
        (selector.release(), "charged to no ledger"),
        (selector.release(ledger=other), "it names another one"),
        (replace(made, charge=9), "there is none of its number"),
        (replace(made, charge=2**63), "there is none of its number"),
        (replace(made, note="monthly"), "it was changed, or is another one"),
        (replace(second, charge=1), "its charge paid for another release"),
    ):
        with pytest.raises(LedgerError, match=words):
            ledger.verify(record)
    number = ledger.charge(TENTH).number
    with pytest.raises(LedgerError, match="must have a finished release"):
        ledger.verify(replace(made, charge=number, id=ledger.charges[-1].id))
    with pytest.raises(ParameterError, match="release must be a release, not str"):
        ledger.verify(made.to_json())


def test_a_copy_is_noticed_by_its_records(place):
    """Two ledgers with one identifier that were charged for different releases: one of them is a copy."""
    ledger, selector = Ledger.create(place.address, epsilon=1), prepare([9, 5, 1], k=2, epsilon="0.1")
    made = []
    place.roll_back(lambda: made.append(selector.release(ledger=ledger)))
    copy = Ledger.open(place.address)
    with pytest.raises(LedgerError, match="this ledger is an earlier copy, or the record was charged to a copy"):
        copy.verify(made[0])
    selector.release(ledger=copy)
    with pytest.raises(LedgerError, match="it was charged to a copy of this ledger, or this ledger is a copy"):
        copy.verify(made[0])


def test_no_ledger_is_made_beside_a_stray_journal(tmp_path):
    """SQLite would take the journal for that of the new file, and could undo charges with it."""
    (tmp_path / "budget.db-journal").write_bytes(b"left over")
    with pytest.raises(OutputError, match=r"no journal of another one beside it; .*\nHint: .* choose another name"):
        Ledger.create(tmp_path / "budget.db", epsilon=1)
    assert [each.name for each in tmp_path.iterdir()] == ["budget.db-journal"]
    with pytest.raises(OutputError, match="the ledger must be in a folder that exists"):
        Ledger.create(tmp_path / "nowhere" / "budget.db", epsilon=1)
