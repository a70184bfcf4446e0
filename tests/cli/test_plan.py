"""`shortlist plan`: from a file of counts, or from nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from shortlist.cli.app import app

from .conftest import complete


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Call `shortlist plan` in a folder with counts.csv, on few draws."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    rows = [f"track {i},{900 // (i + 1)}" for i in range(60)]
    (tmp_path / "counts.csv").write_text("\n".join(["track,plays", *rows]) + "\n")

    def call(*arguments, files=("counts.csv", "--item", "track", "--count", "plays")):
        usual = {"-k": "5", "--epsilon": "1", "--draws": "50"}
        return CliRunner().invoke(app, ["plan", *files, *complete(usual, arguments)])

    return call


def test_a_plan_is_printed(plan):
    """The table, the advice, the rule of collapse and the command, in 60 columns, with a warning beside it."""
    done = plan()
    assert done.exit_code == 0
    for said in ("pnf-peel", "recall", "Take ", "joint is proven", "you have 180", "To make the release"):
        assert said in done.stdout
    assert all(len(line) <= 60 for line in done.stdout.splitlines() if "shortlist select" not in line)
    assert "NOT PRIVATE" in done.stderr


def test_no_number_is_cut_off(plan):
    """A table that is wider than 60 columns keeps its width. Between the quantiles of ℓ∞ is an ellipsis anyway."""
    done = plan("--delta", "1e-6", "--no-domain", "--votes-per-person", "3", "--unordered")
    head, _, *rows = done.stdout.partition(" mechanism ")[2].split("\n\n")[0].splitlines()
    assert head.split() == ["items", "recall", "exact", "ℓ∞", "releases"]
    assert {row.split()[0] for row in rows} == {"limited-domain", "threshold", "stable"}
    assert all(row.count("…") == 2 and "… " not in row for row in rows)


def test_the_command_runs_as_it_is(plan, tmp_path):
    """Pasted into a shell, in a folder with votes.csv and catalogue.csv, it makes the release."""
    command = plan("--delta", "1e-6", "--unordered", "--votes-per-person", "3").stdout.splitlines()[-1].strip()
    votes = [f"u{person},track {item}" for item in range(9) for person in range(300 // (item + 1))]
    (tmp_path / "votes.csv").write_text("\n".join(["person,track", *votes]) + "\n")
    (tmp_path / "catalogue.csv").write_text("\n".join(["track", *(f"track {i}" for i in range(60))]) + "\n")
    words = shlex.split(command)
    assert words[0] == "shortlist"
    done = subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "top5.json").read_text())["items"]) == 5


def test_a_wish_has_a_command_of_its_own(plan):
    """The last line is the command for the wish, and a limit is explained."""
    text = plan("--want", "recall 0.9", "--votes-per-person", "3").stdout
    assert "This counts at most 3 votes of each person." in " ".join(text.split())
    heading, command = text.splitlines()[-2:]
    assert heading == "To make the release that you want:"
    epsilon = shlex.split(command)[shlex.split(command).index("--epsilon") + 1]
    assert f"What you want needs ε = {epsilon}" in " ".join(text.split())


def test_a_command_without_a_catalogue_runs_as_it_is(plan, tmp_path):
    """With --no-domain, the command reads votes only."""
    votes = [f"u{person},track {item}" for item in range(9) for person in range(900 // (item + 1))]
    (tmp_path / "votes.csv").write_text("\n".join(["person,track", *votes]) + "\n")
    done = plan("--delta", "1e-6", "--no-domain", "--votes-per-person", "3")
    assert "no public list of items" in done.stdout.replace("\n", " ")
    _, *words = shlex.split(done.stdout.splitlines()[-1].strip())
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.stderr
    assert len(json.loads((tmp_path / "top5.json").read_text())["items"]) <= 5


def test_a_wide_terminal_shows_every_column(plan, monkeypatch):
    """A narrow one says which columns are left out."""
    assert "110 columns also shows" in plan().stdout.replace("\n", " ")
    monkeypatch.setenv("COLUMNS", "120")
    wide = plan().stdout
    assert all(name in wide for name in ("ℓ1", "bound", "guarantee", "1-DP"))
    assert "110 columns" not in wide


def test_other_formats_are_the_same_plan(plan, tmp_path):
    """JSON and CSV on stdout, and JSON in a file; quiet prints nothing."""
    printed = json.loads(plan("--format", "json").stdout)
    assert plan("--format", "csv").stdout.count("\n") == len(printed["table"]) + 1
    done = plan("--output", "plan.json", "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert json.loads((tmp_path / "plan.json").read_text()) == printed


def test_invented_counts_need_no_file(plan):
    """Numbers may be written as 1e5. A wish is answered for each mechanism. No warning is needed."""
    like = ("--like", "zipf", "--exponent", "1.1", "--items", "1e3", "--people", "1e5")
    done = plan("--want", "error 1e9", files=like)
    assert done.exit_code == 0
    assert "margin-joint: ε = 0.01 or less" in done.stdout
    assert "NOT PRIVATE" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "files", "code", "said"),
    [
        ((), (), 2, "FILES or --like must be given, and only one of them; neither was"),
        ((), ("counts.csv",), 2, "--item must name a column of FILES"),
        ((), ("counts.csv", "--item", "track"), 2, "a table of votes must be counted first"),
        ((), ("counts.csv", "--item", "plays", "--count", "track"), 1, "some counts are missing or no whole numbers"),
        ((), ("counts.csv", "--item", "track", "--count", "played"), 1, "must have a column 'played'"),
        (
            (),
            ("votes.csv", "--item", "track", "--count", "n"),
            1,
            "some items have several rows, as in a table of votes",
        ),
        ((), ("negative.csv", "--item", "track", "--count", "n"), 1, "some are negative"),
        ((), ("--like", "zipf"), 2, "--like must go with --items and --people"),
        (("-k", "5-10"), None, 2, "-k must be one number in a plan, not a range of sizes"),
        (("-k", "ten"), None, 2, "-k must be a whole number"),
        (("--draws", "many"), None, 2, "--draws must be a whole number"),
        (("--votes-per-person", "few"), None, 2, "--votes-per-person must be a whole number"),
        (("--people", "100"), None, 2, "--people must go with --like"),
        (("--person", "user"), None, 2, "plan reads no votes, so it has no --person"),
        (("--budget-epsilon", "-3"), None, 2, "--budget-epsilon must be above 0"),
        (("--no-domain",), None, 2, "--no-domain must go with --delta"),
        (("--count", "n"), ("--like", "zipf"), 2, "--count must go with FILES"),
        (("-k", "61"), None, 1, "k is 61, and there are 60"),
        (("--want", "fame 3"), None, 2, "--want must be a measure and a value"),
        (("--output", "plan.txt"), None, 2, "--output must end in .html or .json"),
        (("--quiet",), None, 2, "--quiet must go with --output"),
    ],
)
def test_bad_input_is_told_in_words(plan, tmp_path, arguments, files, code, said):
    """One sentence in the words of the command line, and no count in it."""
    (tmp_path / "votes.csv").write_text("track,n\na,5\na,7\n")
    (tmp_path / "negative.csv").write_text("track,n\na,5\nb,-7\n")
    done = plan(*arguments) if files is None else plan(*arguments, files=files)
    assert done.exit_code == code, done.output
    assert said in done.stderr.replace("\n", " ")


def test_a_family_is_planned(plan, tmp_path):
    """From nothing, with the recall by size and the limits that were tried; or from a file with a column of groups."""
    invented = ("--like", "zipf", "--items", "500", "--people", "20000", "--group-count", "27", "--votes-cast", "10")
    done = plan("--delta", "1e-6", files=invented)
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "The top 5 of 500 items in each of 27 groups at ε = 1" in text
    assert "groups votes kept recall large middle small releases" in text
    assert "A budget of (10, 1e-6)-DP covers" in text
    assert "exact: the probability" not in text  # the column is shown in a wider terminal
    assert "Recall by the limits that were tried with" in text
    assert "--by group --groups groups.csv" in done.stdout
    rows = [f"{land},track {i},{size // (i + 1)}" for land, size in (("DE", 900), ("IS", 40)) for i in range(30)]
    (tmp_path / "charts.csv").write_text("\n".join(["country,track,plays", *rows]) + "\n")
    files = ("charts.csv", "--item", "track", "--count", "plays", "--by", "country")
    done = plan("--groups-per-person", "1", "--format", "json", files=files)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["groups"], found["groups_per_person"], found["items"]) == (2, 1, 30)
    assert "--by country --groups groups.csv" in found["command"]
    assert "groups_per_person or" in plan(files=files).stderr.replace("--groups-per-person", "groups_per_person")


def test_a_file_of_counts_that_does_not_fit_is_answered_by_options_of_plan(plan, tmp_path):
    """A column that is missing, and counts of several groups that are not named as such."""
    done = plan(files=("counts.csv", "--item", "song", "--count", "plays"))
    assert done.exit_code == 1
    assert "--no-header" in done.stderr
    assert "--delimiter" in done.stderr
    assert "Files." not in done.stderr
    assert "did you mean 'plays'?" in plan(files=("counts.csv", "--item", "track", "--count", "play")).stderr
    (tmp_path / "groups.csv").write_text("track,plays,country\na,9,DE\nb,5,DE\na,4,AT\nb,8,AT\n")
    done = plan("-k", "1", files=("groups.csv", "--item", "track", "--count", "plays"))
    assert done.exit_code == 1
    assert "--by" in done.stderr
    found = ("groups.csv", "--item", "track", "--count", "plays", "--by", "country")
    assert plan("-k", "1", "--groups-per-person", "1", files=found).exit_code == 0
