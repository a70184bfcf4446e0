"""A ledger on a PostgreSQL server: shared by processes, with a server that is killed and connections that are cut."""

import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from postgres_server import postgres_server
from typer.testing import CliRunner

from shortlist import Release, prepare, select
from shortlist.cli.app import app
from shortlist.errors import LedgerError, MissingExtraError, ParameterError, ShortlistError
from shortlist.ledger.charging import Ledger
from shortlist.mechanisms import Joint

from .conftest import ServerPlace

pytestmark = pytest.mark.slow

THIRD = Joint(k=10, epsilon="1/3")
VOTES = {"user": list(range(300)), "track": ["a"] * 200 + ["b"] * 100}
ASKED = {"person": "user", "item": "track", "domain": ["a", "b", "c"], "k": 2, "epsilon": "1/2"}

SPEND = """
import os, sys
from shortlist.mechanisms import Joint
from shortlist.errors import BudgetError
from shortlist.ledger.charging import Ledger
for _ in range(3):
    os.fork()  # eight processes, which begin at the same time
ledger, made = Ledger.open(sys.argv[1], timeout=120), []
for _ in range(250):
    try:
        made.append(ledger.charge(Joint(k=10, epsilon="1/3")).id)
    except BudgetError:
        pass
os.write(1, (" ".join(made) + "\\n").encode())
"""


@pytest.fixture
def place(postgres):
    return ServerPlace(postgres)


def test_no_charge_is_lost_or_made_twice_if_the_server_is_killed():
    """Eight processes try 2,000 charges against a budget for 1,000, while the server is killed twice: 1,000 work."""
    with postgres_server() as server:
        ledger = Ledger.create(server.address, epsilon="1000/3")
        command = [sys.executable, "-c", SPEND, server.address]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as spending:
            for number in (200, 500):
                wait_for(ledger, number)
                server.kill()
                server.start()
            wait_for(ledger, 700)
            ServerPlace(server.address, "shortlist").execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shortlist'"
            )
            said = spending.stdout.read().split()
        charges = ledger.charges
        assert len(said) == 1000
        assert sorted(said) == sorted(charge.id for charge in charges)
        assert [charge.number for charge in charges] == list(range(1, 1001))
        assert ledger.left.epsilon == 0


def wait_for(ledger, number):
    while len(ledger.charges) < number:
        time.sleep(0.05)


def test_a_charge_whose_answer_is_lost_is_made_once(place, postgres):
    """The connection is cut after the commit, before its answer arrives: the charge is found, and not made again."""
    Ledger.create(place.address, epsilon=1)
    with cut_commits(postgres, times=2) as (folder, cut):
        ledger = Ledger.open(f"postgresql://tester@/postgres?host={folder}&schema={place.schema.replace(' ', '%20')}")
        made = ledger.charge(THIRD)
        release = prepare([9, 5, 1], k=2, epsilon="1/3").release()
        ledger.finish(made, release)
    assert len(cut) == 2
    (stored,) = Ledger.open(place.address).charges
    assert (stored.id, stored.release is not None) == (made.id, True)


class cut_commits:  # noqa: N801
    """A way to a server that loses the answers to the first commits of writers."""

    def __init__(self, address, times):
        self._target, self._times = f"{address.partition('host=')[2]}/.s.PGSQL.5432", times

    def __enter__(self):
        self._folder, self._cut = Path(tempfile.mkdtemp(prefix="cut-")), []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self._folder, self._cut

    def __exit__(self, *error):
        self._listener.close()
        shutil.rmtree(self._folder)

    def _accept(self):
        with suppress(OSError):
            while True:
                client, server = self._listener.accept()[0], socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client, server):
        """Pass on what each side says, one after the other, as the protocol does."""
        writes = False
        with closing(client), closing(server):
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
            while heard := client.recv(1 << 16):
                writes = writes or b"READ WRITE" in heard
                if writes and b"COMMIT\0" in heard and len(self._cut) < self._times:
                    self._cut.append(heard)
                    client.shutdown(socket.SHUT_WR)  # no answer can be passed on from here
                    server.sendall(heard)
                    time.sleep(0.2)
                    return
                server.sendall(heard)

    @staticmethod
    def _answer(server, client):
        with suppress(OSError):
            while heard := server.recv(1 << 16):
                client.sendall(heard)


def test_a_selection_is_charged_to_a_server(place, monkeypatch, tmp_path):
    """By an address in place of a path, in Python, by the environment and on the command line."""
    ledger = Ledger.create(place.address, epsilon=2, population="customers EU")
    release = select(VOTES, **ASKED, ledger=place.address, note="weekly")
    assert (release.population, ledger.verify(release).note) == ("customers EU", "weekly")
    monkeypatch.setenv("SHORTLIST_LEDGER", place.address)
    assert ledger.verify(select(VOTES, **ASKED)).number == 2
    monkeypatch.delenv("SHORTLIST_LEDGER")
    (tmp_path / "plays.csv").write_text("user,track\n" + "".join(f"{user},a\n" for user in range(300)))
    (tmp_path / "domain.csv").write_text("track\na\nb\nc\n")
    record = str(tmp_path / "top.json")
    files = [str(tmp_path / "plays.csv"), "--domain", str(tmp_path / "domain.csv"), "--output", record]
    asked = ["--person", "user", "--item", "track", "-k", "2", "--epsilon", "1/2", "--ledger", place.address]
    for command in (["select", *files, *asked], ["verify", record, "--ledger", place.address]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert "hunter2" not in done.output
    assert ledger.verify(Release.from_json(record)).number == 3
    shown = CliRunner().invoke(app, ["ledger", "show", place.address]).output
    assert "role tester" in shown


def test_the_grants_let_a_role_charge_and_not_change(place, postgres):
    """What `ledger create` prints is enough to charge releases or to read, and for nothing else."""
    done = CliRunner().invoke(app, ["ledger", "create", place.address, "--epsilon", "1"])
    assert "hunter2" not in done.output
    place.execute("DROP ROLE IF EXISTS publisher", "DROP ROLE IF EXISTS auditor")
    place.execute("CREATE ROLE publisher LOGIN", "CREATE ROLE auditor LOGIN", *done.stdout.splitlines())
    try:
        publisher = ServerPlace(postgres.replace("tester:hunter2", "publisher"), place.schema)
        ledger = Ledger.open(publisher.address)
        release = prepare([9, 5, 1], k=2, epsilon="1/3").release(ledger=ledger, once="key")
        assert [charge.role for charge in ledger.charges] == ["publisher"]
        for statement in (
            "DELETE FROM charge",
            "TRUNCATE charge",
            "UPDATE charge SET epsilon = '0'",
            "DROP TABLE charge",
        ):
            with pytest.raises(Exception, match=r"permission denied|must be owner"):
                publisher.execute(statement)
        auditor = Ledger.open(ServerPlace(postgres.replace("tester:hunter2", "auditor"), place.schema).address)
        assert auditor.verify(release).number == 1
        with pytest.raises(LedgerError, match="this user may not do that: see the grants"):
            auditor.charge(THIRD)
    finally:
        place.execute("DROP OWNED BY publisher, auditor", "DROP ROLE publisher", "DROP ROLE auditor")


def test_errors_show_no_password(place, postgres):
    """Neither a server that is away, nor a wrong address, nor an address where a path must be."""
    Ledger.create(place.address, epsilon=1)
    for wrong in (
        "postgresql://bob:hunter2@localhost:1/plays",
        "postgresql://bob:hunter2@/plays?host=/nowhere",
        "postgresql://bob:hunter2@[localhost/plays",
        "postgres://localhost:1/plays?user=bob&password=hunter2",
        "postgresql+psycopg://bob:hunter2@localhost:1/plays?schema=pg_catalog",
        f"{postgres}&schema=nothing",
        f"{postgres.replace('/postgres?', '/absent?')}",
        place.beside().address,
        "host=localhost user=bob password=hunter2",
        Path("postgresql://bob:hunter2@localhost/plays"),
        "mysql://bob:hunter2@localhost/plays",
        Path("https://bob:hunter2@localhost/budget.db"),
    ):
        for call in (Ledger.open, lambda address: select(VOTES, **ASKED, ledger=address)):
            with pytest.raises((LedgerError, ParameterError)) as caught:
                call(wrong)
            assert "hunter2" not in f"{caught.value} {caught.value!r}", wrong
    assert "hunter2" not in repr(Ledger.open(place.address).store)


def test_a_locked_ledger_says_so(place):
    """Nothing is charged while another writes, and everything works once it lets go."""
    Ledger.create(place.address, epsilon=1)
    ledger, other = Ledger.open(place.address, timeout=0.1), Ledger.open(place.address)
    with other.store.open(write=True):
        with pytest.raises(LedgerError, match="another process has locked it"):
            ledger.charge(THIRD)
        assert not ledger.charges
    assert ledger.charge(THIRD).number == 1


def test_a_commit_reaches_the_disk_of_the_server(place, postgres):
    """Also where the server lets commits wait, and where it isolates transactions in another way."""
    Ledger.create(place.address, epsilon=1)
    options = "-c%20synchronous_commit%3Doff%20-c%20default_transaction_isolation%3Dserializable"
    ledger = Ledger.open(f"{place.address}&options={options}")
    with ledger.store.open(write=True) as transaction:
        said = {name: transaction.execute(f"SHOW {name}").fetchone() for name in SETTINGS}
    assert {name: row[name] for name, row in said.items()} == SETTINGS
    assert ledger.charge(THIRD).number == 1


SETTINGS = {"synchronous_commit": "on", "transaction_isolation": "read committed"}


def test_without_its_driver_the_extra_is_named(monkeypatch):
    """A ledger in a file needs no driver."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"a ledger in PostgreSQL needs the optional part 'postgres'"):
        Ledger.open("postgresql://localhost/plays")
    assert issubclass(MissingExtraError, ShortlistError)
