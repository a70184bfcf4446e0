"""The command: what it writes, what it says, how it stops, and what it refuses."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from reproduction.__main__ import QUICK, app
from reproduction.experiment.datasets import DATASETS, load
from reproduction.experiment.grid import Grid
from reproduction.experiment.store import count_trials, open_store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = ("--datasets", "games", "--vary", "beta", "--trials", "5", "--rounds", "1")


def run_command(*words):
    """Run the command in this process; return its code, stdout and stderr. Its data are public: it needs no ledger."""
    environment = {"SHORTLIST_DATA": None, "SHORTLIST_LEDGER": "absent.db"}
    result = CliRunner(env=environment).invoke(app, [*map(str, words)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def answer():
    """The command as a function."""
    return run_command


@pytest.fixture(scope="module")
def stand_in_results(tmp_path_factory):
    """The results of a run without data, and what it said."""
    output = tmp_path_factory.mktemp("run") / "results"
    code, out, err = run_command(*SMALL, "--output", output)
    assert code == 0
    return output, out, err


@pytest.fixture
def folder(tmp_path):
    """A folder with the vector of one data set."""
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "games.counts.npy", load(DATASETS["games"], None).counts)
    return data


def _results(output):
    with open_store(output, new=False) as store:
        return store.read()


def test_a_run_leaves_trials_figures_verdict_and_report(answer, folder, tmp_path):
    """And the same command again measures nothing; more trials add to those that are there."""
    output = tmp_path / "results"
    words = ("--data", folder, *SMALL, "--output", output)
    code, out, err = answer(*words)
    assert code == 0
    assert "concerning" in out
    assert "not tested here" in out
    assert str(output / "report.html") in out
    assert err.splitlines()[0] == "reading the data"
    assert "errors: 0 %" in err
    assert err.splitlines()[-1] == "report: 0 %; drawing the figures and writing the page"
    before = count_trials(output)
    drawn = {path.name for path in (output / "figures").iterdir()}
    stems = ("against-beta", "against-beta-ours", "without-sequence-step", "gaps", "one-list", "speed-ups")
    assert drawn == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    assert "\n## Claim 1 (" in (output / "verdict.md").read_text()
    assert '<h2 id="verdict">Verdict</h2>' in (output / "report.html").read_text()
    assert answer(*words, "--report-only")[:2] == (code, out)
    assert count_trials(output) == before
    assert answer(*words, "--rounds", "2")[0] == 0
    assert {len(found.cpu) for found in _results(output).times.values()} == {2}
    assert {len(found.linf) for found in _results(output).errors.values()} == {5}


def test_a_report_takes_no_other_data_than_those_measured(answer, folder, tmp_path):
    """Without the files, the stand-ins of the same names say nothing about the gaps of what was measured."""
    output = tmp_path / "results"
    counts = np.load(folder / "games.counts.npy")
    np.save(folder / "games.counts.npy", counts + 1)
    words = (*SMALL, "--rounds", "0", "--output", output)
    assert answer("--data", folder, *words)[0] == 0
    assert (output / "figures" / "gaps.png").exists()
    (output / "figures" / "gaps.png").unlink()
    assert answer(*words, "--report-only")[0] == 0
    assert not (output / "figures" / "gaps.png").exists()


@pytest.mark.slow
def test_data_that_is_absent_is_a_stand_in_everywhere(stand_in_results):
    """In the report, in the results and on the terminal; and without released programs the report says so."""
    output, out, err = stand_in_results
    assert "Data: games (stand-in)." in out
    assert "games (stand-in): " in err
    page = (output / "report.html").read_text()
    assert "games (stand-in)" in page
    assert "no folder was given with <code>--released</code>" in page
    assert _results(output).real == ()


def test_a_report_needs_results(answer, tmp_path):
    """There is nothing to report in an empty folder."""
    code, _, err = answer("--report-only", "--output", tmp_path)
    assert code == 1
    assert "must be a folder with results" in err


def test_the_data_are_listed(answer, folder):
    """What was found, and where to get the rest."""
    code, out, _ = answer("--list-data", "--data", folder)
    assert code == 0
    lines = out.splitlines()
    assert f"found: {folder / 'games.counts.npy'}" in lines[0]
    assert "stand-in; get ratings.csv from https://grouplens.org/" in lines[4]
    assert all(f"{each.d:,} items" in line for each, line in zip(DATASETS.values(), lines, strict=False))


def test_an_empty_folder_can_be_listed(answer, tmp_path):
    """Whoever has nothing yet wants to know where to get it."""
    code, out, _ = answer("--list-data", "--data", tmp_path)
    assert code == 0
    assert out.count("stand-in") == 6


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--datasets", "games,shoes"), 2, "'shoes' is not one of them"),
        (("--datasets", ""), 2, "none was given"),
        (("--vary", "delta"), 2, "vary must be some of k, epsilon, beta"),
        (("--trials", "-1"), 2, "trials must be between 0 and"),
        (("--rounds", "-1"), 2, "rounds must be between 0 and"),
        (("--seconds", "nan"), 2, "seconds must be a number of at least 0"),
        (("--seed", "-1"), 2, "seed must be between 0 and"),
        (("--report-only", "--remeasure"), 2, "remeasure must not be given with --report-only"),
        (("--data", "no/such"), 1, "data must name a folder"),
        (("--released", "no/such"), 1, "released must name a folder"),
    ],
)
def test_wrong_words_are_reported_before_any_work(answer, tmp_path, words, code, expected):
    """In one sentence on stderr, and nothing is written."""
    found = answer(*words, "--output", tmp_path / "results")
    assert found[0] == code
    assert found[2].splitlines()[-1].startswith("error: ")
    assert expected in found[2]
    assert not (tmp_path / "results").exists()


def test_a_file_is_no_folder_for_results(answer, tmp_path):
    """It stays as it is."""
    (tmp_path / "results").write_text("mine")
    code, _, err = answer(*SMALL, "--output", tmp_path / "results")
    assert code == 1
    assert "output must name a folder" in err
    assert (tmp_path / "results").read_text() == "mine"


def test_a_folder_without_data_is_told(answer, tmp_path):
    """It was named by mistake."""
    code, _, err = answer("--data", tmp_path, *SMALL, "--output", tmp_path / "results")
    assert code == 1
    assert "has none" in err


@pytest.mark.slow
def test_results_of_another_seed_stay(answer, stand_in_results):
    """The folder is refused, and loses nothing."""
    output, _, _ = stand_in_results
    before = {path.name: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    code, _, err = answer(*SMALL, "--seed", "4", "--output", output)
    assert code == 1
    assert "another seed" in err
    assert {path.name: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before


def test_without_matplotlib_it_is_told_at_once(answer, tmp_path, monkeypatch):
    """Not after hours of measuring."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = answer(*SMALL, "--output", tmp_path / "results")
    assert code == 1
    assert "pip install 'shortlist[reproduction]'" in err
    assert not (tmp_path / "results").exists()


def test_without_the_extra_it_is_named():
    """Who has only the package is told what to install."""
    program = "import runpy, sys; sys.modules['typer'] = None; runpy.run_module('reproduction', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert "pip install 'shortlist[reproduction]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_package_does_not_import_it():
    """It is beside the package, which works without it."""
    for module in (ROOT / "src").rglob("*.py"):
        assert not re.search(r"^\s*(import|from) reproduction\b", module.read_text(encoding="utf-8"), re.MULTILINE), (
            module
        )


def test_quick_is_the_same_grid_on_small_data():
    """All sweeps, the two small data sets, and fewer trials."""
    assert QUICK.vary == Grid(datasets=("games",)).vary
    assert QUICK.datasets == ("games", "books")
    assert QUICK.trials < 200


def test_ctrl_c_keeps_what_is_done(tmp_path):
    """A signal ends the run with code 130; all trials so far stay, and it is said how to continue."""
    output = tmp_path / "results"
    # So many trials take hours, so the signal comes before the end. Background jobs of a shell ignore the signal, and
    # their children inherit that.
    words = ["--datasets", "books", "--vary", "k", "--trials", "2000", "--output", str(output)]
    environment = {name: value for name, value in os.environ.items() if name != "SHORTLIST_DATA"}
    with (tmp_path / "said.txt").open("w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "reproduction", *words],
            stderr=errors,
            env=environment,
            cwd=ROOT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        while not count_trials(output) and process.poll() is None:
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.wait()
        errors.seek(0)
        said = errors.read()
    kept = count_trials(output)
    assert process.returncode == 130
    assert kept > 0
    assert f"{kept:,} trials are kept in {output}; the same command continues from there." in said
    assert (output / "results.sqlite").is_file()


def test_help_shows_the_options(answer):
    """Every option is there, and an example."""
    text = answer("--help")[1]
    for option in (
        "--quick",
        "--data",
        "--released",
        "--trials",
        "--rounds",
        "--output",
        "--report-only",
        "--list-data",
    ):
        assert option in text
    assert "python -m reproduction --quick" in text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.py", None, "there is no file"),
        ("syntax.py", "def (:", "cannot be imported (SyntaxError"),
        ("crashing.py", "raise ValueError('too early')", "cannot be imported (ValueError: too early)"),
        ("nothing.py", "class Peel: pass", "nothing.py has none"),
        ("nothing_else.py:Peel", "class Peel: pass", "has none of the name Peel"),
        ("known.py", "from shortlist.mechanisms import Joint\nclass Mine(Joint): pass", "joint is among the programs"),
        ("two.py", "from shortlist.mechanisms import Joint\nclass A(Joint): pass\nclass B(Joint): pass", "has 2"),
    ],
)
def test_a_wrong_file_of_a_mechanism_is_refused(answer, tmp_path, name, text, said):
    """Before anything is measured, with the reason."""
    if text is not None:
        (tmp_path / name.partition(":")[0]).write_text(text)
    code, _, stderr = answer(*SMALL, "--output", tmp_path / "results", "--mechanism", tmp_path / name)
    assert code == 2
    assert said in " ".join(stderr.split())
    assert not (tmp_path / "results").exists()
