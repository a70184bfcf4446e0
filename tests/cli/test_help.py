"""Help answers at once, and ends with an example that works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shortlist.cli.app import app

from .conftest import Call

COMMANDS = {each.callback.__name__: each.short_help or "" for each in app.registered_commands if each.callback}

MODULES_AFTER = """
import sys
import shortlist
before = set(sys.modules)
sys.argv = ["shortlist", *sys.argv[1:]]
from shortlist.cli import main
try:
    main()
except SystemExit:
    pass
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}), file=sys.stderr)
"""


@pytest.mark.parametrize("command", [[], *([each] for each in COMMANDS)], ids=" ".join)
def test_help_imports_nothing_heavy(command: list[str]) -> None:
    """Help needs no engine, no numbers and no drawing."""
    shown = subprocess.run(
        [sys.executable, "-c", MODULES_AFTER, *command, "--help"], capture_output=True, text=True, check=True
    )
    heavy = {"duckdb", "flint", "matplotlib", "narwhals", "numpy", "pandas", "polars", "pyarrow", "pyspark", "rich"}
    assert shown.stdout.startswith("Usage: shortlist")
    assert not heavy & set(shown.stderr.split())


def test_the_list_of_commands_fits_a_narrow_terminal(call: Call) -> None:
    """Every command is described in one line of 60 columns, and no description is cut."""
    lines = call("--help").output.splitlines()
    for name, summary in COMMANDS.items():
        (shown,) = (line for line in lines if line.split() == [name, *summary.split()])
        assert len(shown) <= 60


def test_the_help_of_a_group_cuts_no_description(call: Call) -> None:
    """So do those of the commands of a ledger."""
    lines = call("ledger", "--help").output.splitlines()
    (start,) = (place for place, line in enumerate(lines) if line == "Commands:")
    for line in lines[start + 1 : start + 5]:
        assert line.endswith("."), line
        assert not line.endswith("..."), line


@pytest.mark.parametrize("command", [["select"], ["show"], ["ledger", "create"]], ids=" ".join)
def test_arguments_are_shown_by_their_names(command: list[str], call: Call) -> None:
    """What type an argument has in Python tells a reader nothing."""
    text = call(*command, "--help").output
    first = text.partition("Arguments:\n")[2].splitlines()[0]
    assert re.match(r"  (FILES|RECORD|LEDGER)  \S", first), first


@pytest.mark.parametrize("command", [[], *([each] for each in COMMANDS)], ids=" ".join)
def test_help_ends_with_an_example_that_works(
    command: list[str], folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last lines of every help can be copied into a shell: it reads them, and the commands work."""
    help_text = call(*command, "--help").output
    head, _, example = help_text.partition("Example:")
    assert head
    assert example.strip().startswith("shortlist")
    (folder / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "temporary"))
    program = "shortlist() { printf '%s\\n' \"$@\" ''; }\n" + example
    words = subprocess.run(["sh", "-c", program], cwd=folder, capture_output=True, text=True, check=True).stdout
    for arguments in words.split("\n\n")[:-1]:
        done = call(*arguments.split("\n"))
        assert (done.exit_code, done.stderr.count("error")) == (0, 0), done.stderr


def test_options_stand_under_headings(call: Call) -> None:
    """What, privacy, accuracy, budget, files and output, in this order, and every option once."""
    text = call("select", "--help").output
    found = [line.rstrip(":") for line in text.splitlines() if re.fullmatch(r"[A-Z]\w+:", line)]
    assert found == ["Arguments", "What", "Privacy", "Accuracy", "Budget", "Files", "Output", "Options"]
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
    assert len(options) == len(set(options)) > 40
    assert text.index("--epsilon") < text.index("--mechanism") < text.index("--ledger") < text.index("--output")


def test_no_arguments_show_help() -> None:
    """The bare name says what can be done."""
    assert "Commands:" in CliRunner().invoke(app, []).output


def test_version_is_printed() -> None:
    """--version prints one line."""
    from shortlist.version import __version__

    assert CliRunner().invoke(app, ["--version"]).output == f"shortlist {__version__}\n"


def test_mechanisms_are_all_listed() -> None:
    """`shortlist mechanisms` knows every mechanism, and can be read on every terminal."""
    from shortlist.mechanisms import MECHANISMS

    output = CliRunner().invoke(app, ["mechanisms"]).output
    firsts = [line.partition(" ")[0] for line in output.splitlines()]
    assert [name for name in firsts if name in MECHANISMS] == [*MECHANISMS]
    assert output.isascii()
    assert "rho rho" not in output
    assert "rho of the choice + the largest rho of a candidate" in " ".join(output.split())


@pytest.mark.parametrize(
    ("option", "name"), [("--mechanism", "fastjoint"), ("--neighbours", "replace"), ("--every", "quarter")]
)
def test_completion_offers_names(option: str, name: str) -> None:
    """A shell completes the names that an option takes."""
    words = {"COMP_WORDS": f"shortlist select {option} ", "COMP_CWORD": "3"}
    shown = subprocess.run(
        [sys.executable, "-m", "shortlist"],
        env={**os.environ, "_SHORTLIST_COMPLETE": "complete_bash", **words},
        capture_output=True,
        text=True,
    )
    assert name in shown.stdout.split()


@pytest.mark.skipif(sys.platform == "win32", reason="bash completes on POSIX systems")
def test_completion_is_installed(tmp_path: Path) -> None:
    """`--install-completion` writes a script for the shell, and `--show-completion` prints it."""
    command = [sys.executable, "-m", "shortlist"]
    home = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run([*command, "--install-completion", "bash"], env=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "_SHORTLIST_COMPLETE" in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    shown = subprocess.run([*command, "--show-completion", "bash"], env=home, capture_output=True, text=True)
    assert "complete" in shown.stdout


def test_missing_extra_is_named() -> None:
    """Without Typer, the command line says what to install."""
    absent = "import sys; sys.modules['typer'] = None; from shortlist.cli import main; main()"
    shown = subprocess.run([sys.executable, "-c", absent], capture_output=True, text=True)
    assert shown.returncode == 1
    assert "pip install 'shortlist[cli]'" in shown.stderr
    assert "Traceback" not in shown.stderr
