"""The released programs: found in a folder, run in an environment of their own, and in a process that may die."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from reproduction.experiment import released as module
from reproduction.experiment.datasets import DATASETS, Histogram
from reproduction.experiment.grid import CONTENDERS, PAPER_LAWS, Grid, Setting
from reproduction.experiment.released import VARIABLE, Released, choose_numpy, find_programs, find_python, hash_program
from reproduction.experiment.run import Run
from reproduction.experiment.store import RunInfo, open_store
from reproduction.experiment.trials import draw_lists, time_list
from shortlist.errors import DataError, OutputError
from shortlist.planning.forecast import measure

COUNTS = np.sort(np.random.default_rng(8).integers(0, 60, 400))[::-1].copy()
AT = Setting(k=5, epsilon=1.0, beta=2.0**-10)
FATAL = Setting(k=5, epsilon=1.0, beta=2.0**-8)
"""The setting at which the small FastJoint ends its process."""


def test_a_missing_program_is_named_with_its_address(tmp_path):
    """The text says what to clone."""
    with pytest.raises(DataError, match=r"has no FastTopk\.py.\nHint: clone https://github.com/wuhao-wu-jiang"):
        find_programs(tmp_path)
    with pytest.raises(DataError, match="released must name a folder"):
        find_programs(tmp_path / "absent")


def test_another_content_is_refused(tmp_path):
    """A changed program is not the one that the paper timed."""
    for place, names in (
        ("authors", ("FastTopk.py", "DP_Parameters.py")),
        ("google-research/dp_topk", ("joint.py", "baseline_mechanisms.py", "differential_privacy.py")),
    ):
        (tmp_path / place).mkdir(parents=True)
        for name in names:
            (tmp_path / place / name).write_text("print('changed')\n")
    with pytest.raises(DataError, match=r"as released; .*FastTopk\.py has another content"):
        find_programs(tmp_path)
    (tmp_path / "authors" / "DP_Parameters.py").unlink()
    with pytest.raises(DataError, match=r"authors has no DP_Parameters\.py"):
        find_programs(tmp_path)


def test_comments_and_line_ends_do_not_change_a_hash(tmp_path):
    """Google's copyright line has another year every year."""
    one, other, third = (tmp_path / name for name in ("one.py", "other.py", "third.py"))
    one.write_bytes(b"# Copyright 2022\nx = 1\n")
    other.write_bytes(b"# Copyright 2026\r\nx = 1\r\n")
    third.write_bytes(b"# Copyright 2026\nx = 2\n")
    assert hash_program(one) == hash_program(other) != hash_program(third)


def test_a_named_interpreter_is_taken(monkeypatch, tmp_path):
    """Nothing is made."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "python"))
    assert find_python() == tmp_path / "python"
    assert list(tmp_path.iterdir()) == []


def test_an_environment_that_cannot_be_made_is_reported(monkeypatch, tmp_path):
    """The text names the variable by which another interpreter can be given."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "shortlist").write_text("a file, where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(OutputError, match=VARIABLE):
        find_python()


def test_an_environment_that_is_ready_is_used_again(monkeypatch, tmp_path):
    """It is made once."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = f"released-numpy-{choose_numpy()}-py{sys.version_info[0]}{sys.version_info[1]}"
    folder = tmp_path / "shortlist" / name
    folder.mkdir(parents=True)
    (folder / "ready").touch()
    assert find_python().parent.parent == folder


@pytest.fixture
def small_released(small_programs, tmp_path, monkeypatch):
    """The small programs in a process of their own; their hashes are taken for the released ones."""
    places = zip(small_programs, (module.AUTHORS, module.GOOGLE), strict=True)
    hashes = {path.name: (address, hash_program(path)) for folder, address in places for path in folder.glob("*.py")}
    monkeypatch.setattr(module, "_FILES", hashes)
    monkeypatch.setenv(VARIABLE, sys.executable)
    with Released(tmp_path) as running:
        yield running


def test_a_process_that_dies_costs_one_request(small_released, small):
    """The next request starts a new process, which gets the counts again."""
    before = small_released.run("time", "pnf-peel", small(), AT, 4)
    for _ in range(2):
        with pytest.raises(DataError, match="their process ended"):
            small_released.run("time", "fastjoint", small(), FATAL, 4)
        assert small_released.run("time", "pnf-peel", small(), AT, 4)["counts"] == before["counts"]
        with pytest.raises(DataError, match="their process ended"):
            small_released.draw_lists(small(), FATAL, [1, 2])
        assert len(small_released.draw_lists(small(), AT, [1, 2])["counts"]) == 2


def test_a_process_that_is_killed_between_requests_costs_none(small_released, small):
    """It is started again before the next request is sent."""
    small_released.run("time", "joint", small(), AT, 4)
    os.kill(small_released._process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, small_released._process.pid, os.WEXITED | os.WNOWAIT)
    assert small_released.run("memory", "joint", small(), AT, 4)["bytes"] > 0


def test_one_crash_costs_one_cell(small_released, small, tmp_path):
    """All other cells of a run have their trials."""
    grid = Grid(datasets=("games",), vary=("beta",), trials=3, rounds=2)
    info = RunInfo(started="then", command="shortlist", code="one", release="", machine="2 cores", released="")
    with open_store(tmp_path / "results") as store:
        store.begin(info, [small()], grid.seed)
        results = Run(grid, [small()], store, released=small_released).measure()
    assert {(name, at.beta) for _, name, at in results.failures} == {("released-fastjoint", 2**-8)}
    timed = {(name, at.beta) for _, name, at in results.times if name.startswith("released-")}
    assert {name for name, _ in timed} == {f"released-{law}" for law in ("fastjoint", "joint", "pnf-peel", "cdp-peel")}
    assert ("released-fastjoint", 2**-8) not in timed


def _histogram(counts):
    return Histogram(dataset=DATASETS["games"], counts=np.array(counts), origin=None)


@pytest.fixture(scope="module")
def released():
    """The programs, running in their environment."""
    folder = os.environ.get("SHORTLIST_RELEASED")
    if not folder:
        pytest.skip("set SHORTLIST_RELEASED to a folder with the released programs")
    with Released(Path(folder)) as programs:
        yield programs


def test_the_released_fastjoint_repeats_items(released):
    """Three items are enough: counts 2, 1, 0 with k = 3. About one list in ten names an item twice."""
    at = Setting(k=3, epsilon=1.0, beta=2.0**-10)
    _, repeats = draw_lists(CONTENDERS["released-fastjoint"], _histogram([2, 1, 0]), at, range(400), released)
    assert 10 < (repeats > 0).sum() < 150
    _, ours = draw_lists(CONTENDERS["published-fastjoint"], _histogram([2, 1, 0]), at, range(400))
    assert not ours.any()


@pytest.mark.parametrize("law", PAPER_LAWS)
def test_released_programs_have_the_published_laws(released, law):
    """Where the counts are not used up, the errors of their lists are those of the published law."""
    contender = CONTENDERS[f"released-{law}"]
    timed = [time_list(contender, _histogram(COUNTS), AT, seed, released) for seed in range(300)]
    found = measure(COUNTS[: AT.k], np.array([each.counts for each in timed])).total
    law_of = CONTENDERS[f"published-{law}"]
    counts, _ = draw_lists(law_of, _histogram(COUNTS), law_of.own(AT), range(2000))
    expected = measure(COUNTS[: AT.k], counts).total
    assert mannwhitneyu(found, expected).pvalue > 1e-9
    assert all(each.cpu > 0 and each.wall > 0 for each in timed)
