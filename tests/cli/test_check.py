"""`shortlist check` shows its result to the owner of the data, and to nobody else."""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time

import pytest

from shortlist.votes.check import NOTICE

pytestmark = pytest.mark.slow

ARGUMENTS = ["check", "plays", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv"]
PROGRAM = [sys.executable, "-m", "shortlist"]


def on_terminal(folder, *arguments, stderr=subprocess.PIPE):
    """Run a command whose standard output is a real terminal; return what it shows and the exit code."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, *arguments], cwd=folder, stdout=theirs, stderr=stderr) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:  # the other end is closed
            pass
        process.wait()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n"), process.returncode


def test_shows_the_result_on_a_terminal(folder):
    """On a terminal the result is shown, between two notices."""
    shown, code = on_terminal(folder, *ARGUMENTS)
    assert code == 0
    assert shown.startswith(NOTICE)
    assert shown.rstrip().endswith(NOTICE)
    assert "8,401" in shown  # 8,400 votes, and one row that is repeated
    assert "100 %" in shown


def test_shows_values_only_on_request(folder):
    """Items that did not match are named with --show-values only."""
    (folder / "votes.csv").write_text("user_id,track\n1,TRACK 01\n2,track 01\n")
    arguments = ["check", "votes.csv", *ARGUMENTS[2:]]
    shown, _ = on_terminal(folder, *arguments)
    assert "upper and lower case" in shown
    assert "TRACK 01" not in shown
    assert "'TRACK 01'" in on_terminal(folder, *arguments, "--show-values")[0]


def test_checks_a_table_that_is_counted_already(call, folder):
    """--count takes the place of --person."""
    (folder / "counted.csv").write_text("track,plays\ntrack 01,5\ntrack 01,x\n")
    options = ["--item", "track", "--count", "plays", "--domain", "catalogue.csv", "--output", "counted.json"]
    assert call("check", "counted.csv", *options).exit_code == 0
    found = json.loads((folder / "counted.json").read_text())
    assert (found["rows"], found["matched"], found["counts_unreadable"], found["items_repeated"]) == (2, 2, 1, 1)


def test_names_options_and_not_parameters(call, folder):
    """The report is in the words of the command line."""
    rows = "".join(f"track {item:02d},{item // 2}\n" for item in range(20))
    (folder / "counted.csv").write_text(f"track,user_id\n{rows}")
    options = ["--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "--output", "check.txt"]
    assert call("check", "counted.csv", *options).exit_code == 0
    assert "column with --count in place of --person." in " ".join((folder / "check.txt").read_text().split())


def test_refuses_a_pipe_and_a_file(call, folder):
    """Redirected output is refused with exit code 2, before anything is read."""
    piped = call("check", "no-such-file.csv", *ARGUMENTS[2:])
    assert piped.exit_code == 2
    assert "terminal" in piped.stderr
    assert not piped.stdout
    with open(folder / "result.txt", "wb") as file:
        done = subprocess.run([*PROGRAM, *ARGUMENTS], cwd=folder, stdout=file, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert not (folder / "result.txt").read_bytes()


def test_refuses_a_device_as_a_file(call, folder):
    """A pipe with a name is a pipe."""
    os.mkfifo(folder / "pipe.txt")
    done = call(*ARGUMENTS, "--output", "pipe.txt", "--force")
    assert done.exit_code == 2
    assert "a pipe or a device" in done.stderr


@pytest.mark.parametrize("name", ["check.txt", "check.json"])
def test_writes_a_file_that_only_its_owner_may_read(call, folder, name):
    """With --output, the file has mode 600 whatever the umask, also over another file."""
    before = os.umask(0)
    try:
        done = call(*ARGUMENTS, "--output", name)
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.stderr
    assert not done.stdout
    assert "not private" in done.stderr
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    text = (folder / name).read_text()
    assert text.count(NOTICE) == 2
    if name.endswith(".json"):
        assert json.loads(text)["rows"] == 8401
    (folder / name).chmod(0o644)
    assert call(*ARGUMENTS, "--output", name).exit_code == 1
    assert call(*ARGUMENTS, "--output", name, "--force").exit_code == 0
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600


def test_needs_a_domain(folder):
    """Without a domain there is nothing to check."""
    arguments = ["check", "plays", "--person", "user_id", "--item", "track"]
    shown, code = on_terminal(folder, *arguments)
    assert code == 2
    assert not shown


def test_reads_described_files(call, folder):
    """The options for files describe votes and domain apart, and standard input is read."""
    votes = "1;track 01\n2;caf\xe9\n".encode("latin-1")
    (folder / "items").write_text("track 01\ncafé\n", encoding="utf-16")
    described = ["--input-format", "csv", "--no-header", "--delimiter", ";", "--encoding", "latin-1"]
    listed = ["--domain-format", "csv", "--domain-no-header", "--domain-encoding", "utf-16", "--domain", "items"]
    columns = ["--person", "1", "--item", "2", "--domain-column", "1"]
    done = subprocess.run(
        [*PROGRAM, "check", "-", *columns, *described, *listed, "-o", "check.json"],
        cwd=folder,
        input=votes,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "check.json").read_text())["matched"] == 2
    (folder / "votes.txt").write_bytes(votes)
    released = call(
        "select", "votes.txt", *columns, *described, *listed, "-k", "1", "--epsilon", "1", "--format", "json"
    )
    assert released.exit_code == 0, released.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_leaves_no_copy_after_a_signal(folder, number):
    """Standard input that was copied is removed when the process is stopped."""
    (folder / "temporary").mkdir()
    arguments = ["check", "-", "--input-format", "csv", *ARGUMENTS[2:], "-o", "check.txt"]
    environment = {**os.environ, "TMPDIR": str(folder / "temporary")}
    with subprocess.Popen([*PROGRAM, *arguments], cwd=folder, env=environment, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"user_id,track\n1,secret\n")
        process.stdin.flush()
        while not list(folder.glob("temporary/*/copy-*/data")) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert not list((folder / "temporary").iterdir())
    assert not (folder / "check.txt").exists()
