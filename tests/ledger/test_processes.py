"""A ledger shared by real processes, killed at random moments, and on disks that fail."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest

from shortlist import Joint, Release
from shortlist.errors import BudgetError, LedgerError
from shortlist.ledger import Ledger

THIRD = Joint(k=10, epsilon="1/3")

SPEND = """
import sys
from shortlist import Joint
from shortlist.errors import BudgetError
from shortlist.ledger import Ledger
ledger, covered = Ledger.open(sys.argv[1], timeout=120), 0
for _ in range(int(sys.argv[2])):
    try:
        ledger.charge(Joint(k=10, epsilon="1/3"))
        covered += 1
    except BudgetError:
        pass
print(covered)
"""

KILL = """
import json, os, random, signal, sys, time
import duckdb, pandas, pyarrow.compute, typer.main  # here, so that children need not
from shortlist import selection
from shortlist.cli.app import app
from shortlist.ledger import Ledger

typer.main.get_command(app)

runs, moments = int(sys.argv[1]), random.Random(7)
votes = "votes.csv --person user --item track --domain domain.csv -k 2 --epsilon 1/3 --ledger budget.db -q".split()

def fork(number, after):
    child = os.fork()
    if not child:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        app(["select", *votes, "--note", f"run {number}", "--output", f"{number}.json"], standalone_mode=False)
        os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])

start = time.monotonic()
killed = [fork(number, None) for number in range(5)]
usual = (time.monotonic() - start) / 5
charges = []
for number in range(5, runs + 5):
    killed.append(fork(number, moments.uniform(0, 1.3 * usual)))
    charges.append(len(Ledger.open("budget.db").charges))
print(json.dumps([killed, charges]))
"""


def python(program, *arguments, **settings):
    """Run a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=900, **settings
    )


@pytest.fixture
def fast_folder(tmp_path):
    """A folder in memory where there is one: what is tested is who may write, not the disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_processes_never_overspend_together(fast_folder):
    """Eight processes try 2,000 charges against a budget for 1,000, and exactly 1,000 are made."""
    path = fast_folder / "budget.db"
    ledger = Ledger.create(path, epsilon="1000/3")
    command = [sys.executable, "-c", SPEND, str(path), "250"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    made = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert sum(made) == 1000
    assert [charge.number for charge in ledger.charges] == list(range(1, 1001))
    assert (ledger.spent.epsilon, ledger.left.epsilon) == (Fraction(1000, 3), 0)
    with pytest.raises(BudgetError):
        ledger.charge(THIRD)


@pytest.mark.slow
def test_a_kill_loses_no_charge(tmp_path):
    """200 commands are killed at random moments: the file opens every time, and every release has its charge."""
    rows = "".join(f"{user},{'ab'[user % 3 == 0]}\n" for user in range(300))
    (tmp_path / "votes.csv").write_text(f"user,track\n{rows}")
    (tmp_path / "domain.csv").write_text("track\na\nb\nc\n")
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10**6)
    done = python(KILL, 200, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    killed, numbers = json.loads(done.stdout)
    assert not any(killed[:5])
    assert any(killed)
    assert numbers == sorted(numbers)
    charges = {charge.note: charge for charge in ledger.charges}
    assert ledger.spent.epsilon == Fraction(len(charges), 3)
    for number, was_killed in enumerate(killed):
        charge, output = charges.get(f"run {number}"), tmp_path / f"{number}.json"
        assert output.exists() or was_killed
        if output.exists():
            Release.from_json(output)
            assert charge.release == hashlib.sha256(output.read_bytes()).hexdigest()


FILL = """
import resource, sys
from shortlist import Joint
from shortlist.errors import LedgerError
from shortlist.ledger import Ledger
ledger, made = Ledger.open(sys.argv[1]), 0
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    while True:
        ledger.charge(Joint(k=10, epsilon="1/3"), note="x" * 150)
        made += 1
except LedgerError as error:
    print(made, error)
"""


@pytest.mark.parametrize("room", [256, 20_000, 30_000])
def test_a_full_disk_loses_nothing(tmp_path, room):
    """Whether the journal or the file itself does not fit, the error says so and all earlier charges stay."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10**6)
    ledger.charge(THIRD)
    done = python(FILL, ledger.path, room)
    made, _, error = done.stdout.partition(" ")
    assert "no room" in error, done.stderr
    assert str(ledger.path) in error
    assert len(ledger.charges) == 1 + int(made)
    ledger.charge(THIRD)


READ_ONLY = """
import os, sys
from shortlist import Joint
from shortlist.errors import LedgerError
from shortlist.ledger import Ledger
Ledger.open(sys.argv[1]).afford(Joint(k=10, epsilon="1/3"))
if os.getuid() == 0:
    os.setuid(65534)
print(Ledger.open(sys.argv[1]).spent.epsilon)
try:
    Ledger.open(sys.argv[1]).charge(Joint(k=10, epsilon="1/3"))
except LedgerError as error:
    print(error)
"""


@pytest.mark.parametrize("protected", ["file", "folder"])
def test_a_ledger_that_cannot_be_written_charges_nothing(protected):
    """It can still be read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger.create(folder / "budget.db", epsilon=10)
        ledger.charge(THIRD)
        ledger.path.chmod(0o444 if protected == "file" else 0o666)
        folder.chmod(0o777 if protected == "file" else 0o555)
        done = python(READ_ONLY, ledger.path)
        spent, _, error = done.stdout.partition("\n")
        assert spent == "1/3", done.stderr
        assert "must be a file that can be read and written" in error
        assert "written" in error.split(":")[-1] or "writing" in error
        folder.chmod(0o755)
        assert len(ledger.charges) == 1


LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_locked_ledger_says_so(tmp_path):
    """Nothing is charged while another process holds the file, and everything works once it lets go."""
    path = Ledger.create(tmp_path / "budget.db", epsilon=10).path
    ledger = Ledger.open(path, timeout=0.1)
    command = [sys.executable, "-c", LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "locked\n"
        for call in (lambda: ledger.charge(THIRD), lambda: ledger.spent, lambda: Ledger.open(path, timeout=0.1)):
            with pytest.raises(LedgerError, match="another process has locked it"):
                call()
    assert ledger.charge(THIRD).number == 1
