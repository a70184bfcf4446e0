"""The demo makes a log, releases its top 10 and those of three countries, and says true things about it."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from math import exp
from pathlib import Path

import numpy as np
import pytest

from shortlist.cli.demo import _find_program
from shortlist.demo import COUNTRIES, PlayLog, compare, compute_chance
from shortlist.mechanisms import Joint

from .conftest import Call, Run

SIZE = {"plays": 120_000, "people": 10_000}
AGREEMENTS = ("both with this listener", "one with, one without")


def test_demo_ends_with_commands_that_work(run: Run, folder: Path) -> None:
    """The files are there, the records are secure, and the commands at the end run as they are printed.

    No ledger is asked for: the log is invented.
    """
    done = run("demo", "--folder", "demo files", COLUMNS="60", SHORTLIST_LEDGER="absent.db")
    assert done.returncode == 0, done.stderr
    record = json.loads((folder / "demo files" / "top10.json").read_text())
    assert (len(record["items"]), record["secure"], record["mechanism"]) == (10, True, "joint")
    assert all(item in done.stdout for item in record["items"])
    assert "NOT private" in done.stdout
    check_numbers(done.stdout, record["items"])
    charts = json.loads((folder / "demo files" / "charts.json").read_text())
    assert (charts["secure"], charts["mechanism"], charts["by"]) == (True, "joint", ["country"])
    check_charts(done.stdout, {each["group"][0]: each["items"] for each in charts["lists"]})
    *lines, first, second = done.stdout.strip().splitlines()
    assert max(map(len, lines)) <= 60
    for command, name, made in ((first, "mine.json", record), (second, "my-charts.json", charts)):
        again = subprocess.run(shlex.split(command), cwd=folder, capture_output=True)
        assert again.returncode == 0
        mine = json.loads((folder / name).read_text())
        assert "--mechanism" not in command
        assert (mine["mechanism"], mine["guarantee"]["epsilon"]) == ("auto", made["guarantee"]["epsilon"])


def check_numbers(shown: str, items: list[str]) -> None:
    """Every number that is printed is the one that the log and the law have."""
    log = PlayLog.invent(**SIZE)
    best = log.counts.argsort(kind="stable")[::-1][:10]
    for rank, (item, true) in enumerate(zip(items, best, strict=True), start=1):
        row = rf"\W+{rank}\W+{re.escape(item)}\W+{re.escape(log.names[true])}\W+{log.counts[true]:,}\W*"
        assert any(re.fullmatch(row, line) for line in shown.splitlines()), rank
    person = log.find_most_active()
    others = log.count_others(person)
    assert f"An invented log of {len(log.people):,} plays" in shown
    assert f"A public catalogue of {len(log.names):,} tracks" in shown
    assert f"Listener u{person:05d} played {np.sum(log.counts != others)} tracks" in shown
    chosen = np.array([log.names.index(item) for item in items])
    chances = [compute_chance(Joint(k=10, epsilon=1), each, chosen) for each in (log.counts, others)]
    assert "{:.3%} with this listener, and {:.3%} without".format(*chances) in shown
    assert f"The ratio is {max(chances) / min(chances):.3f}. Epsilon 1 promises at most 2.72" in shown
    pair, single = (float(re.search(rf"{words}: +(\d+\.\d) of 10 places agree", shown)[1]) for words in AGREEMENTS)
    assert 0 < pair <= 10
    assert abs(pair - single) < 2


def check_charts(shown: str, charts: dict[str, list[str]]) -> None:
    """The lists stand side by side, and below them how many of their tracks are true."""
    log = PlayLog.invent(**SIZE)
    assert list(charts) == list(COUNTRIES)
    for rank, row in enumerate(zip(*charts.values(), strict=True), start=1):
        assert any(line.split() == f"{rank} {' '.join(row)}".split() for line in shown.splitlines()), rank
    for country, items in charts.items():
        counts = log.count_country(country)
        right = sum(counts[log.names.index(item)] >= np.sort(counts)[-10] for item in items)
        assert f"    {country}: {right} of 10\n" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="programs are found by other rules")
def test_find_program_is_named_as_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name if that leads to it, else by its path; and through Python if it was run so."""
    program = tmp_path / "shortlist"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _find_program() == "shortlist"
    monkeypatch.setenv("PATH", "")
    assert _find_program() == shlex.quote(str(program))
    monkeypatch.setattr(sys, "argv", ["__main__.py", "demo"])
    assert _find_program() == f"{shlex.quote(sys.executable)} -m shortlist"


def test_demo_overwrites_nothing(call: Call, folder: Path) -> None:
    """Files that exist in the demo's folder are left alone without --force."""
    (folder / "demo").mkdir()
    (folder / "demo" / "catalogue.csv").write_text("mine")
    done = call("demo", "--folder", "demo")
    assert done.exit_code == 1
    assert "--force" in done.stderr
    assert (folder / "demo" / "catalogue.csv").read_text() == "mine"


@pytest.fixture(scope="module")
def log() -> PlayLog:
    return PlayLog.invent(plays=20_000, people=500)


def test_log_is_the_same_everywhere(log: PlayLog) -> None:
    """The log is made up from a seed, so that the demo tells one story."""
    again = PlayLog.invent(plays=20_000, people=500)
    assert np.array_equal(log.people, again.people)
    assert np.array_equal(log.tracks, again.tracks)
    assert np.array_equal(log.homes, again.homes)
    assert log.names == again.names


def test_log_has_what_logs_have(log: PlayLog) -> None:
    """Repeats, rows without a track, tracks outside the catalogue, and tracks that nobody played."""
    table = log.to_arrow()
    assert table["track"].null_count > 0
    assert "untitled recording" in table["track"].to_pylist()
    assert len(log.pairs) < 0.95 * len(log.people)
    assert np.sum(log.counts == 0) > 0
    assert len(set(log.names)) == len(log.names) == len(log.counts)


def test_one_person_changes_each_count_by_one(log: PlayLog) -> None:
    """Without a person, every count is the same or one less: the neighbours of the guarantee."""
    person = log.find_most_active()
    others = log.people != person
    without = replace(log, people=log.people[others], tracks=log.tracks[others])
    assert np.array_equal(without.counts, log.count_others(person))
    change = log.counts - without.counts
    assert set(change.tolist()) == {0, 1}
    assert change.sum() == np.bincount(log.pairs // len(log.names)).max()


def test_every_listener_is_in_one_country(log: PlayLog) -> None:
    """So the people of the countries add up, and the favourites of two countries differ."""
    table = log.to_arrow()
    homes = set(zip(table["user_id"].to_pylist(), table["country"].to_pylist(), strict=True))
    assert len(homes) == len({user for user, _ in homes})
    counts = [log.count_country(country) for country in COUNTRIES]
    assert np.array_equal(sum(counts), log.counts)
    tops = [set(np.argsort(each)[-10:].tolist()) for each in counts]
    assert not tops[0] <= tops[1]


def test_comparison_shows_what_one_person_changes(log: PlayLog) -> None:
    """Two lists with the person agree about as often as one with and one without; the ratio keeps its limit."""
    best = log.counts.argsort(kind="stable")[::-1][:5]
    comparison = compare(log, [log.names[each] for each in best], epsilon=1, draws=50)
    assert comparison.person == log.find_most_active()
    assert 1 <= comparison.ratio <= comparison.limit == pytest.approx(exp(1))
    assert 0 <= comparison.agreement_without <= 5
    assert abs(comparison.agreement_with - comparison.agreement_without) < 2.5


def test_agreement_shows_a_person_who_matters(log: PlayLog) -> None:
    """With one listener the second track is certain. Without, two tracks share its place."""
    people, tracks = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 2, 0, 1, 0, 3])
    tiny = replace(log, people=people, tracks=tracks)
    comparison = compare(tiny, log.names[:2], epsilon=200, draws=400)
    assert (comparison.person, comparison.tracks) == (0, 3)
    assert tiny.counts[:4].tolist() == [3, 2, 1, 1]
    assert tiny.count_others(0)[:4].tolist() == [2, 1, 0, 1]
    assert comparison.agreement_with == 2
    # Without the listener, the second place is one of two tracks with equal counts: 1.5 places agree on average.
    assert abs(comparison.agreement_without - 1.5) < 0.2


def test_quiet_demo_prints_nothing(call: Call, folder: Path) -> None:
    """The files are written all the same."""
    done = call("demo", "--folder", "demo", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "demo" / "top10.json").exists()


def test_quiet_demo_needs_a_folder(call: Call) -> None:
    """Nobody would know where the files are."""
    done = call("demo", "--quiet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--quiet must go with --folder" in done.stderr


def test_chances_are_those_of_the_law() -> None:
    """The chance of a list is q^L over the sum of q^L, by enumeration; and not that of an epsilon 30 % off."""
    counts = np.array([5, 4, 4, 1, 0])
    top = np.sort(counts)[::-1][:2]
    sequences = [np.array(each) for each in permutations(range(5), 2)]
    weights = np.array([exp(-0.5 * np.max(top - counts[each])) for each in sequences])
    for chosen, chance in zip(sequences, weights / weights.sum(), strict=True):
        assert compute_chance(Joint(k=2, epsilon=1), counts, chosen) == pytest.approx(chance)
    other = compute_chance(Joint(k=2, epsilon="1.3"), counts, sequences[0])
    assert other != pytest.approx(weights[0] / weights.sum(), rel=0.05)
