"""What goes wrong is told in words, with an exit code; nothing is written, and no data is quoted."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
import typer
from shortlist.cli.wording import in_options
from typer.testing import CliRunner

from shortlist.cli import failures
from shortlist.cli.app import app
from shortlist.errors import DataError, OutputError, ParameterError

from .conftest import Run, Select

# A job in the background of a shell ignores interrupts, and so do its children, unless they say otherwise.
LISTENING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from shortlist.cli import main
main()
"""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--nonsense"], "No such option"),
        (["-k", "three"], "'-k'"),
        (["-k", "0"], "error: k must be at least 1"),
        (["--epsilon", "-1"], "Hint: try --epsilon 1\n"),
        (["--epsilon", "much"], "error: epsilon must be a finite number such as 1, 0.5 or 1/3, not 'much'"),
        (["--mechanism", "jiont"], "Hint: did you mean 'joint'?"),
        (["--neighbours", "near"], "error: neighbours must be 'add-remove' or 'replace'"),
        (["--count", "votes"], "error: --person or --count must be named"),
        (["--sensitivity", "2"], "Hint: leave --sensitivity out"),
        (["--mechanism", "cdp-peel"], "Hint: pass --delta 1e-6, say"),
        (["--mechanism", "laplace"], "pass --seed and --insecure"),
        (["--memory-limit", "much"], "error: --memory-limit must be a size"),
        (["--domain-sql", "SELECT 1"], "error: --domain-sql must come with --database"),
        (["--beta", "0.5"], "has no parameter 'beta'"),
        (["--database", "plays.db"], "error: --database and --sql must come together"),
        (["--output", "top10.txt"], "error: --output must end in .json, .csv, .parquet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_2(select: Select, folder: Path, options: list[str], words: str) -> None:
    """Options that cannot be meant end with exit code 2."""
    done = select("--output", "top.json", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert not re.search(r"[a-z]=|[a-z]_[a-z]|[A-Z]\w+\(", done.stderr), "words of Python"
    assert "Traceback" not in done.stderr
    assert not (folder / "top.json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--person", "user"], "Hint: did you mean 'user_id'?"),
        (["--domain", "absent.csv"], "'absent.csv'"),
        (["-k", "22"], "error: k must be at most the number of items"),
        (["--output", "absent/top.json"], "'absent'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_data_is_1(select: Select, folder: Path, options: list[str], words: str) -> None:
    """Data that cannot be used, and files that cannot be written, end with exit code 1."""
    done = select("--output", "top.json", *options)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "top.json").exists()


@pytest.mark.parametrize(("options", "code"), [(["-k", "0"], 2), (["-k", "22"], 1)])
def test_exit_codes_reach_the_shell(run: Run, options: list[str], code: int) -> None:
    """A real process ends with the exit code, and prints only the error."""
    votes = ["plays", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "--epsilon", "1"]
    done = run("select", *votes, *options)
    assert (done.returncode, done.stdout, done.stderr[:7]) == (code, "", "error: ")
    assert "Traceback" not in done.stderr


def test_missing_domain_is_explained(run: Run) -> None:
    """Without a domain, the reason why there must be one is given."""
    done = run("select", "plays", "--person", "user_id", "--item", "track", "-k", "3", "--epsilon", "1")
    assert done.returncode == 2
    assert "public list of all items" in done.stderr
    assert done.stderr.splitlines()[-1] == "Hint: pass --domain with a file that lists them, say catalogue.csv"


def test_existing_file_stays(select: Select, folder: Path) -> None:
    """A file that exists is left alone without --force, and is replaced with it."""
    (folder / "top.json").write_text("mine")
    done = select("--output", "top.json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (folder / "top.json").read_text() == "mine"
    assert "Hint: pass --force to overwrite it" in done.stderr
    assert select("--output", "top.json", "--force").exit_code == 0
    assert (folder / "top.json").read_text().startswith("{")


ENDLESS = {
    "duckdb": "SELECT range % 1000 AS user_id, 'track 01' AS track FROM range(1000000000000)",
    "sqlite": "WITH RECURSIVE every(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM every) "
    "SELECT i % 1000 AS user_id, 'track 01' AS track FROM every",
}


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are POSIX signals here")
@pytest.mark.parametrize(
    ("engine", "name"), [("duckdb", "SIGINT"), ("sqlite", "SIGINT"), ("duckdb", "SIGTERM"), ("duckdb", "SIGHUP")]
)
def test_interrupted_run_leaves_nothing(folder: Path, engine: str, name: str) -> None:
    """Stopped while votes are counted, and told to hurry: no file, no part of one, and no spilled votes are left."""
    number = getattr(signal, name)
    connection = {"duckdb": duckdb, "sqlite": sqlite3}[engine].connect(str(folder / "votes.db"))
    connection.execute("CREATE TABLE unused (item TEXT)")
    connection.close()
    temporary = folder / "temporary"
    temporary.mkdir()
    before = set(os.listdir(folder))
    options = ["--database", "votes.db", "--sql", ENDLESS[engine], "--person", "user_id", "--item", "track"]
    options += ["--domain", "catalogue.csv", "-k", "3", "--epsilon", "1", "--output", "top.json"]
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, "select", *options],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not os.listdir(temporary) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)  # the folder for spilling is made just before the counting begins
        process.send_signal(number)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, output, errors) == (128 + number, "", "error: interrupted.\n")
    assert set(os.listdir(folder)) == before
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (ParameterError("k must be small.", hint="try k=1"), 2, "error: k must be small.\nHint: try -k 1\n"),
        (DataError("the votes are odd."), 1, "error: the votes are odd.\n"),
        (OutputError("the file is in the way."), 1, "error: the file is in the way.\n"),
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_are_told(capsys: pytest.CaptureFixture[str], raised: BaseException, code: int, said: str) -> None:
    """Each member of the family has its exit code, and its text is printed in the words of the command line."""
    with pytest.raises(typer.Exit) as exit_, failures.told():
        raise raised
    assert exit_.value.exit_code == code
    assert capsys.readouterr().err == said


def test_quoted_words_are_left_alone() -> None:
    """A column or a file that is called like a parameter keeps its name, and apostrophes quote nothing."""
    given = "the voters' file must have a column 'domain_sql'; found \"k=1\".\nHint: raise memory_limit"
    assert in_options(given) == given.replace("memory_limit", "--memory-limit")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["mechanisms"], ["--version"], ["--help"]], ids=" ".join)
def test_full_disk_is_told(arguments: list[str]) -> None:
    """Output that cannot be written is an error, in one line of ours."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "shortlist.cli", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"error: the output could not be written: .*\.\n", done.stderr)


def test_unexpected_errors_quote_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Of an error from elsewhere only the kind is named, since its text may hold data."""
    with pytest.raises(typer.Exit) as exit_, failures.told():
        raise KeyError("Ann's secret track")
    said = capsys.readouterr().err
    assert exit_.value.exit_code == 1
    assert "KeyError" in said
    assert "secret" not in said


def test_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may see the data gets the whole story."""
    monkeypatch.setenv("SHORTLIST_TRACEBACK", "1")
    with pytest.raises(KeyError), failures.told():
        raise KeyError("Ann's secret track")


def test_items_cannot_steer_the_terminal() -> None:
    """Control characters and markup in an item are shown, not obeyed."""
    from shortlist.cli.display import plain

    assert plain("[bold]\x1b[2J\nrow").plain == r"[bold]\x1b[2J\nrow"


def test_unknown_command_is_2() -> None:
    """A command that is not there is wrong usage."""
    assert CliRunner().invoke(app, ["selcet"]).exit_code == 2
