"""The command: what it writes, what it says, how it stops, and what it refuses."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from shortlist.cli.app import app
from shortlist.paper.data.datasets import DATASETS, load
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.reproduce import QUICK

SMALL = ("--datasets", "games", "--vary", "beta", "--trials", "5", "--joint-trials", "1")


@pytest.fixture
def answer(monkeypatch):
    """Run the command in this process; answer with the exit code, stdout and stderr."""
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)

    def run(*words):
        result = CliRunner().invoke(app, ["reproduce", *map(str, words)])
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder with the vector of one data set."""
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "games.counts.npy", load(DATASETS["games"], None).counts)
    return data


def test_a_run_leaves_rows_figures_verdict_and_report(answer, folder, tmp_path):
    """And the same command again measures nothing, and says the same."""
    output = tmp_path / "results"
    words = ("--data", folder, *SMALL, "--output", output)
    code, out, _ = answer(*words)
    assert code == 0
    assert "β hardly matters" in out
    assert "not tested here" in out
    assert str(output / "report.html") in out
    assert pq.read_metadata(output / "results.parquet").num_rows == 17
    drawn = {path.name for path in (output / "figures").iterdir()}
    stems = ("games-against-beta", "games-without-sequence-step", "gaps")
    assert drawn == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}
    assert (output / "verdict.md").read_text().count("\n") == 12
    assert "<h2>Verdict</h2>" in (output / "report.html").read_text()
    rows = (output / "results.parquet").read_bytes()
    assert answer(*words)[:2] == (code, out)
    assert (output / "results.parquet").read_bytes() == rows


def test_data_that_is_absent_is_a_stand_in_everywhere(answer, tmp_path):
    """In the verdict, in the report and in the rows."""
    output = tmp_path / "results"
    code, out, _ = answer(*SMALL, "--output", output)
    assert code == 0
    assert "(stand-in)" in out
    assert "games (stand-in)" in (output / "report.html").read_text()
    assert pq.read_table(output / "results.parquet")["stand_in"].to_pylist() == [True] * 17


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
        (("--trials", "0"), 2, "trials must be at least 1"),
        (("--joint-trials", "0"), 2, "joint-trials must be at least 1"),
        (("--data", "no/such"), 1, "--data must name a folder"),
    ],
)
def test_wrong_words_are_told_before_any_work(answer, tmp_path, words, code, expected):
    """In one sentence on stderr, and nothing is written."""
    found = answer(*words, "--output", tmp_path / "results")
    assert found[0] == code
    assert found[2].startswith("error: ")
    assert expected in found[2]
    assert not (tmp_path / "results").exists()


def test_a_folder_without_data_is_told(answer, tmp_path):
    """It was named by mistake."""
    code, _, err = answer("--data", tmp_path, *SMALL, "--output", tmp_path / "results")
    assert code == 1
    assert "has none" in err


def test_results_of_another_grid_stay(answer, tmp_path):
    """The folder is refused, and loses nothing."""
    output = tmp_path / "results"
    answer(*SMALL, "--output", output)
    before = {path.name: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    code, _, err = answer(*SMALL, "--seed", "4", "--output", output)
    assert code == 1
    assert "another grid (differing in seed)" in err
    assert {path.name: path.read_bytes() for path in output.rglob("*") if path.is_file()} == before


def test_without_matplotlib_it_is_told_at_once(answer, tmp_path, monkeypatch):
    """Not after hours of measuring."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, _, err = answer(*SMALL, "--output", tmp_path / "results")
    assert code == 1
    assert "shortlist[paper]" in err
    assert not (tmp_path / "results").exists()


def test_quick_is_the_same_grid_on_small_data():
    """All sweeps, the two small data sets, and just enough trials for a verdict."""
    assert QUICK.vary == Grid(datasets=("games",)).vary
    assert QUICK.datasets == ("games", "books")
    assert QUICK.trials == 5


def test_ctrl_c_keeps_what_is_done(tmp_path):
    """A signal ends the run with code 130; finished cells stay, and it is said how to go on."""
    output = tmp_path / "results"
    words = ["reproduce", "--datasets", "books", "--vary", "k", "--trials", "3", "--output", str(output)]
    environment = {name: value for name, value in os.environ.items() if name != "SHORTLIST_DATA"}
    process = subprocess.Popen(
        [sys.executable, "-m", "shortlist.cli", *words], stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + 60
    while not (output / "results.parquet").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    kept = pq.read_metadata(output / "results.parquet").num_rows
    assert process.returncode == 130
    assert 0 < kept < 180
    assert f"{kept} cells are kept in {output}; the same command goes on from there." in said
    assert [path.name for path in output.iterdir() if path.name.endswith(".tmp")] == []


def test_help_shows_the_options(answer):
    """Every option of the issue is there, and an example."""
    text = answer("--help")[1]
    for option in ("--quick", "--data", "--datasets", "--vary", "--trials", "--output", "--list-data", "--seed"):
        assert option in text
    assert "shortlist reproduce --quick" in text
