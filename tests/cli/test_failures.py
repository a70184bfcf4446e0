"""Errors are reported with an exit code. Nothing is written, and no data is quoted."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import typer
from typer.testing import CliRunner

from shortlist.cli import process
from shortlist.cli.app import app
from shortlist.cli.process import write_option
from shortlist.errors import BudgetError, DataError, OutputError, ParameterError
from shortlist.ledger import lift_variable
from shortlist.ledger.charging import Account, Ledger
from shortlist.release import Release
from shortlist.selection import prepare
from shortlist.selection import select as select_from
from shortlist.terms import Terms

from .conftest import Call, Run, Select

pytestmark = pytest.mark.slow

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
        (["--epsilon", "0,5"], "not '0,5'.\nHint: write a decimal point, as in 0.5"),
        (["-k", "three"], "error: -k must be a whole number, or a range such as 5-10, not 'three'"),
        (["-k", "3-2", "--unordered"], "the smaller size first, not 3 and 2.\nHint: try -k 5-10\n"),
        (["-k", "2-3"], "Hint: pass --unordered"),
        (["--counts-rho", "1"], "error: --counts-rho must go with --counts-delta"),
        (["--people", "0"], "error: --people must be a whole number from 1, not 0"),
        (["-k", "0"], "error: -k must be a whole number from 1"),
        (["--epsilon", "-1"], "Hint: try --epsilon 1\n"),
        (["--epsilon", "much"], "error: --epsilon must be a finite number such as 1, 0.5 or 1/3, not 'much'"),
        (["--mechanism", "jiont"], "Hint: did you mean 'joint'?"),
        (["--assess", "--people", "20000"], "--assess must have a value; the option --people follows it"),
        (["--note", "-o"], "--note must have a value; the option -o follows it"),
        (["--label", "title", "--label", "artist"], "Hint: name several columns in one: --label title,artist"),
        (["--neighbours", "near"], "error: --neighbours must be 'add-remove' or 'replace'"),
        (["--input-format", "xml"], "error: --input-format or --domain-format must be one of parquet, csv, json"),
        (["--count", "votes"], "error: --person or --count must be named"),
        (["--sensitivity", "2"], "Hint: leave --sensitivity out"),
        (["--mechanism", "cdp-peel"], "Hint: try --delta 1e-6"),
        (["--mechanism", "cdp-peel", "--delta", "1e-6", "--beta", "0.5"], "--delta, calibration in Python; it"),
        (["--mechanism", "laplace"], "error: --mechanism must be one of auto, joint, "),
        (["--mechanism", "laplace"], "must be installed, and register its name as an entry point"),
        (["--memory-limit", "much"], "error: --memory-limit must be a size"),
        (["--domain-sql", "SELECT 1"], "error: --domain-sql must come with --database"),
        (
            ["--beta", "0.5"],
            "--rho, --delta, --unordered, --votes-per-person; it does not take --beta",
        ),
        (["--database", "plays.db"], "error: --database and --sql must come together"),
        (["--output", "top10.txt"], "error: --output must end in .json, .csv or .parquet, not 'top10.txt'"),
        (["--seed", "7"], "error: --seed and --insecure must go together"),
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
        (["--domain-column", "track", "--item", "trak"], "must have a column 'trak'"),
        (["--domain-column", "trak"], "Hint: did you mean 'track'?"),
        (["--item", "trak"], "Hint: name the column of items with --domain-column track; if"),
        (["--item", "trak"], "pass --domain-no-header and --domain-column 1; or is --item misspelt?"),
        (["-k", "22"], "error: -k must be at most the number of items"),
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


@pytest.mark.parametrize(
    "twice",
    [["--epsilon", "10"], ["-k", "3"], ["--k", "3"], ["--item", "track"], ["--format", "csv", "--format", "json"]],
)
def test_a_repeated_option_is_2(call: Call, folder: Path, twice: str) -> None:
    """One of the two would be lost without a word. Files to write may be several, and a flag says the same twice."""
    given = [
        "plays",
        "--person",
        "user_id",
        "--item",
        "track",
        "--domain",
        "catalogue.csv",
        "-k",
        "3",
        "--epsilon",
        "1",
    ]
    done = call("select", *given, *twice, "--output", "top.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("must be given once; it was given twice.\n")
    assert not (folder / "top.json").exists()
    assert call("select", *given, "--quiet", "--quiet", "--output", "top.json").exit_code == 0


@pytest.mark.parametrize(("options", "code"), [(["-k", "0"], 2), (["-k", "22"], 1)])
def test_exit_codes_reach_the_shell(run: Run, options: list[str], code: int) -> None:
    """A real process ends with the exit code, and prints only the error."""
    votes = ["plays", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "--epsilon", "1"]
    done = run("select", *votes, *options)
    assert (done.returncode, done.stdout, done.stderr[:7]) == (code, "", "error: ")
    assert "Traceback" not in done.stderr


# A library that is loaded may catch everything, as compiled ones do that try to import another one.
CATCHING = """
import os, signal, typer
from contextlib import suppress
from shortlist.cli.display import show_progress
from shortlist.cli.process import report_errors
signal.signal(signal.SIGINT, signal.default_int_handler)
with suppress(typer.Exit), report_errors(), show_progress() as step:
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    print("lost")
    step("Counting the votes")
    print("counted")
"""


def test_an_interrupt_that_a_library_loses_ends_the_run_at_its_next_step() -> None:
    """Nothing is counted after Ctrl-C, and so nothing is charged."""
    done = subprocess.run([sys.executable, "-c", CATCHING], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("lost\n", "error: interrupted.\n")


EARLY = """
import os, signal, sys
from shortlist.cli import main
class Interrupt:
    def find_spec(self, name, *rest):
        if name == "shortlist.ledger.charging":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
main()
"""


def test_an_interrupt_before_the_ledger_is_opened_says_that_nothing_was_charged(folder: Path) -> None:
    """A release that is stopped while the program starts has no charge, and its message says so."""
    options = ["votes.csv", "--person", "user_id", "--item", "track", "--domain", "catalogue.csv", "-k", "3"]
    options += ["--epsilon", "1", "--ledger", "budget.db"]
    done = subprocess.run(
        [sys.executable, "-c", EARLY, "select", *options], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted. Nothing was charged.\n")


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--vots", ["--votes-per-person"]),
        ("--vote-per-person", ["--votes-per-person"]),
        ("--user", ["--person"]),
        ("--users", ["--people", "--person"]),
        ("--catalogue", ["--domain"]),
        ("--catalog", ["--domain"]),
        ("--items", ["--domain", "--item"]),
        ("--column", ["--item", "--person"]),
        ("--neighbors", ["--neighbours"]),
    ],
)
def test_an_option_by_another_name_is_answered(select: Select, option: str, meant: list[str]) -> None:
    """The options that are meant are proposed, and no others."""
    done = select(option, "x")
    assert done.exit_code == 2
    answer = done.stderr.partition(f"No such option: {option}")[2]
    assert sorted(re.findall(r"--[a-z-]+", answer)) == meant


def test_an_empty_name_is_a_column_that_is_not_there(select: Select) -> None:
    """A variable of a shell may be empty. No other option is blamed."""
    done = select("--person", "")
    assert (done.exit_code, "error: the votes must have a column ''" in done.stderr) == (1, True)


def test_an_option_of_another_command_is_answered(call: Call) -> None:
    """The commands that take it are named, and no option that merely looks like it."""
    done = call("check", "plays", "--votes-per-person", "5")
    assert done.exit_code == 2
    assert "--votes-per-person. Leave it out: it is for select, plan\n" in done.stderr
    done = call("ledger", "show", "budget.db", "--format", "csv")
    assert "Leave it out: it is for shortlist select, shortlist plan, shortlist show\n" in done.stderr


def test_missing_domain_is_explained(call: Call) -> None:
    """Without a domain and a delta, the reason why there must be one of them is given."""
    done = call("select", "plays", "--person", "user_id", "--item", "track", "-k", "3", "--epsilon", "1")
    assert done.exit_code == 2
    assert "public list of all items" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("Hint: pass --domain catalogue.csv, ")


def test_existing_file_stays(select: Select, folder: Path) -> None:
    """A file that exists is left alone without --force, and is replaced with it."""
    (folder / "top.json").write_text("mine")
    done = select("--output", "top.json")
    assert (done.exit_code, done.stdout) == (1, "")
    assert (folder / "top.json").read_text() == "mine"
    assert "another run is a second release and spends epsilon again" in done.stderr
    assert "Choose another name, or pass --force if you want that" in done.stderr
    assert select("--output", "top.json", "--force").exit_code == 0
    assert (folder / "top.json").read_text().startswith("{")


ENDLESS = {
    "duckdb": "SELECT range % 1000 AS user_id, 'track 01' AS track FROM range(1000000000000)",
    "sqlite": "WITH RECURSIVE every(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM every) "
    "SELECT i % 1000 AS user_id, 'track 01' AS track FROM every",
}


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are POSIX signals here")
@pytest.mark.parametrize(
    ("engine", "name", "charged"),
    [
        ("duckdb", "SIGINT", True),
        ("sqlite", "SIGINT", False),
        ("duckdb", "SIGTERM", False),
        ("duckdb", "SIGHUP", False),
    ],
)
def test_interrupted_run_leaves_nothing(folder: Path, engine: str, name: str, charged: bool) -> None:
    """Stopped while votes are counted, and told to hurry: no file, no part of one, and no spilled votes are left.

    If the release was charged, the message says so.
    """
    number = getattr(signal, name)
    connection = {"duckdb": duckdb, "sqlite": sqlite3}[engine].connect(str(folder / "votes.db"))
    connection.execute("CREATE TABLE unused (item TEXT)")
    connection.close()
    temporary = folder / "temporary"
    temporary.mkdir()
    before = set(os.listdir(folder))
    options = ["--database", "votes.db", "--sql", ENDLESS[engine], "--person", "user_id", "--item", "track"]
    options += ["--domain", "catalogue.csv", "-k", "3", "--epsilon", "1", "--output", "top.json"]
    if charged:
        Ledger.create(folder / "budget.db", epsilon=1)
        options += ["--ledger", "budget.db"]
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
        while charged and not Ledger.open(folder / "budget.db").charges and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)  # the folder for spilling is made, and the release is charged, before the counting begins
        process.send_signal(number)
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    said = (
        " Nothing was charged, because there is no ledger. A list may have been drawn: if a part of it was printed or "
        "written, it counts as released."
    )
    if charged:
        said = " The release was charged before: charge 1 is spent, and another run is charged again."
        (folder / "budget.db").unlink()
    assert (process.returncode, output, errors) == (128 + number, "", f"error: interrupted.{said}\n")
    assert set(os.listdir(folder)) == before
    assert os.listdir(temporary) == []


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            ParameterError("`k` must be small", "not '{epsilon}'", hint="try `k=1`"),
            2,
            "error: -k must be small, not '{epsilon}'.\nHint: try -k 1\n",
        ),
        (DataError("`votes` must have a person"), 1, "error: FILES must have a person.\n"),
        (
            OutputError("the file must be new", hint="pass `force=True`"),
            1,
            "error: the file must be new.\nHint: pass --force\n",
        ),
        (BudgetError("the budget is used up"), 4, "error: the budget is used up.\n"),
        (KeyboardInterrupt(), 130, "error: interrupted.\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_are_reported(capsys: pytest.CaptureFixture[str], raised: BaseException, code: int, said: str) -> None:
    """Each member of the family has its exit code, and its text is printed in the words of the command line."""
    with pytest.raises(typer.Exit) as exit_, process.report_errors():
        raise raised
    assert exit_.value.exit_code == code
    assert capsys.readouterr().err == said


def test_an_interrupt_says_whether_a_charge_is_spent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Before the charge nothing is spent; afterwards it is, until the release is finished."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10)

    def interrupt(step: str, when: str) -> None:
        if step.startswith(when):
            raise KeyboardInterrupt

    votes = {"user": [1, 2], "track": ["a", "b"]}
    common = {"person": "user", "item": "track", "domain": ["a", "b"], "k": 1, "epsilon": 1, "ledger": ledger}
    with pytest.raises(typer.Exit), process.report_errors():
        select_from(votes, **common, progress=lambda step: interrupt(step, "Drawing"))
    assert "charge 1 is spent" in capsys.readouterr().err

    def interrupt_after(step: Callable[[], object]) -> None:
        Account.open(Terms.read("joint", 1, 1), ledger=ledger)
        step()
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit), process.report_errors():
        interrupt_after(lambda: None)
    assert capsys.readouterr().err == "error: interrupted. Nothing was charged.\n"
    with pytest.raises(typer.Exit), process.report_errors():
        interrupt_after(ledger.path.unlink)
    assert "It is not known whether the release was charged" in capsys.readouterr().err


def test_an_interrupt_without_a_ledger_says_what_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was charged, and what was seen of a list counts as released. Invented data concern nobody."""

    def interrupt() -> None:
        Account.open(Terms.read("joint", 1, 1), ledger=None)
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit), process.report_errors():
        interrupt()
    assert "Nothing was charged, because there is no ledger. A list may have been drawn" in capsys.readouterr().err
    with pytest.raises(typer.Exit), process.report_errors(), lift_variable():
        interrupt()
    assert capsys.readouterr().err == "error: interrupted.\n"


def test_every_error_has_both_dialects() -> None:
    """One error is written in the words of Python and in those of the command line; values are left alone."""
    error = DataError(
        "`memory_limit` must be a size", "not 'k=1'", hint="raise `memory_limit`, or `bits=SeededBits(7)`"
    )
    assert str(error) == "memory_limit must be a size, not 'k=1'.\nHint: raise memory_limit, or bits=SeededBits(7)"
    assert error.render(write_option) == (
        "--memory-limit must be a size, not 'k=1'.\nHint: raise --memory-limit, or --seed and --insecure"
    )


CLOSED = {
    "stdout": (">&-", "-o top.json", 0, "wrote top.json\n"),
    "stderr": ("2>&-", "-o top.json", 0, ""),
    "both": (">&- 2>&-", "-o top.json", 0, ""),
    "all": ("<&- >&- 2>&-", "-o top.json", 0, ""),
    "stdout, with no file": (
        ">&-",
        "",
        1,
        "error: stdout must be open; it is closed.\nHint: name a file with --output\n",
    ),
    "stderr, with no file": ("2>&-", "", 0, ""),
    "stderr, with an error": ("2>&-", "-k 0", 2, ""),
}


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")
@pytest.mark.parametrize("name", CLOSED)
def test_closed_streams_break_no_release(folder: Path, name: str) -> None:
    """Whatever is closed, a file is written; without one, nothing is released that nobody could read."""
    closed, options, code, said = CLOSED[name]
    command = f'"{sys.executable}" -m shortlist select plays --person user_id --item track --domain catalogue.csv'
    done = subprocess.run(
        ["sh", "-c", f"{command} -k 3 --epsilon 1 {options} {closed}"], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (code, said)
    assert (folder / "top.json").exists() == (options == "-o top.json")
    if (folder / "top.json").exists():
        assert len(Release.from_json(folder / "top.json")) == 3
    assert ("track 00" in done.stdout) == (">&-" not in closed.split() and not code)


@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by a POSIX shell")
def test_output_to_closed_stdout_is_an_error() -> None:
    """What was asked for and cannot be printed ends with exit code 1."""
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m shortlist mechanisms >&-'], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the output could not be written: Bad file descriptor.\n"


def test_quiet_prints_errors_only(select: Select, folder: Path) -> None:
    """With --quiet nothing is printed but errors; a release that would be lost is refused before it is made."""
    done = select("--quiet", "--output", "top.json")
    assert (done.exit_code, done.output) == (0, "")
    assert (folder / "top.json").exists()
    done = select("--quiet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--quiet must go with --output" in done.stderr


def test_a_large_epsilon_gets_a_remark(select: Select) -> None:
    """An epsilon that promises next to nothing is released, with a remark on stderr."""
    done = select("--epsilon", "1000", "--format", "csv")
    assert done.exit_code == 0
    assert done.stderr.startswith("remark: an epsilon above 20")
    assert select("--epsilon", "20", "--format", "csv").stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["mechanisms"], ["--version"], ["--help"]], ids=" ".join)
def test_full_disk_is_told(arguments: list[str]) -> None:
    """Output that cannot be written is an error, in one line of ours."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "shortlist", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"error: the output could not be written: .*\.\n", done.stderr)


def test_unexpected_errors_quote_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Of an error from elsewhere only the kind is named, since its text may hold data."""
    with pytest.raises(typer.Exit) as exit_, process.report_errors():
        raise KeyError("Ann's secret track")
    said = capsys.readouterr().err
    assert exit_.value.exit_code == 1
    assert "KeyError" in said
    assert "secret" not in said


def test_traceback_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may see the data gets the whole story."""
    monkeypatch.setenv("SHORTLIST_TRACEBACK", "1")
    with pytest.raises(KeyError), process.report_errors():
        raise KeyError("Ann's secret track")


def test_items_cannot_steer_the_terminal() -> None:
    """Control characters, bidirectional characters and markup in an item are shown, not obeyed."""
    from shortlist.cli.display import to_text

    assert to_text("[bold]\x1b[2J\nrow\u202e").plain == r"[bold]\x1b[2J\nrow\u202e"


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_form_steers_the_terminal(folder: Path, form: str) -> None:
    """On a terminal, every form shows such characters as escapes."""
    import pty

    item = "a\x1b[2J\u202eb"
    (folder / "counted.csv").write_text(f"track,votes\n{item},9000\n", encoding="utf-8")
    (folder / "items.csv").write_text(f"track\n{item}\n", encoding="utf-8")
    options = f"counted.csv --count votes --item track --domain items.csv -k 1 --epsilon 1 --format {form}"
    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "shortlist", "select", *options.split()],
        cwd=folder,
        env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
        stdout=theirs,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "u202eb" in shown


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_tables_fit_60_columns(run: Run, folder: Path, encoding: str) -> None:
    """Lines are at most 60 wide, and columns are aligned even where items must be escaped."""
    long = "Żuk " * 30
    (folder / "counted.csv").write_text(f"track,votes\n{long},9000\nb,10\n", encoding="utf-8")
    (folder / "items.csv").write_text(f"track\n{long}\nb\n", encoding="utf-8")
    narrow = {"COLUMNS": "60", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
    options = "counted.csv --count votes --item track --domain items.csv -k 2 --epsilon 1"
    mechanisms, select = run("mechanisms", **narrow), run("select", *options.split(), **narrow)
    for done in (mechanisms, select):
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 60
    table = select.stdout.splitlines()
    if encoding == "ascii":
        assert len({len(line) for line in table if line.startswith(("|", "+"))}) == 1


def test_unknown_command_is_2() -> None:
    """A command that is not there is wrong usage."""
    assert CliRunner().invoke(app, ["selcet"]).exit_code == 2


def test_a_charge_of_an_earlier_run_changes_no_exit_code(tmp_path: Path) -> None:
    """A command that fails says nothing about what the same process charged before."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=10)
    prepare({"apple": 310, "pear": 190}, k=1, epsilon=1).release(ledger=ledger)
    result = CliRunner().invoke(app, ["show", str(tmp_path / "absent.json")])
    assert (result.exit_code, "is spent" in result.stderr) == (1, False)
