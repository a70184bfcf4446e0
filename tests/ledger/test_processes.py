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

from shortlist import Release
from shortlist.errors import BudgetError, LedgerError
from shortlist.ledger.charging import Ledger
from shortlist.mechanisms import Joint

pytestmark = pytest.mark.slow

THIRD = Joint(k=10, epsilon="1/3")

SPEND = """
import os, sys
from shortlist.mechanisms import Joint
from shortlist.errors import BudgetError
from shortlist.ledger.charging import Ledger
for _ in range(3):
    os.fork()  # eight processes, which begin at the same time
ledger, covered = Ledger.open(sys.argv[1], timeout=120), 0
for _ in range(int(sys.argv[2])):
    try:
        ledger.charge(Joint(k=10, epsilon="1/3"))
        covered += 1
    except BudgetError:
        pass
os.write(1, f"{covered}\\n".encode())
"""

KILL = """
import json, os, random, signal, sys, time
import duckdb, narwhals, pandas, pyarrow.compute, pyarrow.parquet  # here, so that children need not
from shortlist import select
from shortlist.ledger.charging import Ledger
from shortlist.cli import app, main  # every second selection goes through the command line

COMMAND = ["select", "votes.parquet", "--person", "user", "--item", "track", "--domain", "domain.csv"]
COMMAND += ["-k", "2", "--epsilon", "1/3", "--ledger", "budget.db", "--quiet"]
runs, at_once, moments = int(sys.argv[1]), 8, random.Random(7)
votes = pyarrow.table({"user": range(300), "track": ["ab"[user % 3 == 0] for user in range(300)]})
pyarrow.parquet.write_table(votes, "votes.parquet")
open("domain.csv", "w").write("track\\na\\nb\\nc\\n")
asked = {"person": "user", "item": "track", "domain": ["a", "b", "c"], "k": 2, "epsilon": "1/3"}

def fork(number):
    child = os.fork()
    if not child:
        try:
            if number % 2:
                sys.argv = ["shortlist", *COMMAND, "--note", f"run {number}", "--output", f"{number}.json"]
                main()
            ledger = Ledger.open("budget.db", timeout=120)
            select(votes, **asked, ledger=ledger, note=f"run {number}").to_json(f"{number}.json")
        finally:
            os._exit(0)
    return child

def run(numbers, longest):
    "Start some children, kill each after a random time if there is a longest one, and say which were killed."
    children = [(fork(number), 0 if longest is None else moments.uniform(0, longest)) for number in numbers]
    start = time.monotonic()
    for child, after in sorted(children, key=lambda each: each[1]):
        if longest is not None:
            time.sleep(max(0, start + after - time.monotonic()))
            os.kill(child, signal.SIGKILL)
    return [os.WIFSIGNALED(os.waitpid(child, 0)[1]) for child, _ in children]

killed, charges = run(range(at_once), None), []  # the first children are slower than later ones
start = time.monotonic()
killed += run(range(at_once, 2 * at_once), None)
usual = time.monotonic() - start
for first in range(2 * at_once, 2 * at_once + runs, at_once):
    killed += run(range(first, first + at_once), usual)
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
    done = python(SPEND, path, 250)
    made = [int(number) for number in done.stdout.split()]
    assert len(made) == 8, done.stderr
    assert sum(made) == 1000
    assert [charge.number for charge in ledger.charges] == list(range(1, 1001))
    assert (ledger.spent.epsilon, ledger.left.epsilon) == (Fraction(1000, 3), 0)
    with pytest.raises(BudgetError):
        ledger.charge(THIRD)


@pytest.mark.slow
def test_a_kill_loses_no_charge(tmp_path):
    """200 selections are killed at random moments: the file opens every time, and every release has its charge.

    Every second one goes through the command line.
    """
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10**6)
    done = python(KILL, 200, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    killed, numbers = json.loads(done.stdout)
    assert (len(killed), any(killed[:16])) == (216, False)
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
from shortlist.mechanisms import Joint
from shortlist.errors import LedgerError
from shortlist.ledger.charging import Ledger
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
from shortlist.mechanisms import Joint
from shortlist.errors import LedgerError
from shortlist.ledger.charging import Ledger
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
