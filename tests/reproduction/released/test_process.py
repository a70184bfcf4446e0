"""The process of the released programs may die: the request that it worked on fails, and no other."""

import os
import signal
import sys

import pytest

from reproduction.experiment.grid import Grid
from reproduction.experiment.run import Run
from reproduction.experiment.store import RunInfo, open_store
from reproduction.released import environment, programs
from reproduction.released.process import Released
from shortlist.errors import DataError

AT = {"k": 3, "epsilon": 1.0, "beta": 0.01, "delta": 1e-6, "seed": 4}


@pytest.fixture
def released(small_programs, tmp_path, monkeypatch):
    """The small programs in a process of their own; their hashes are taken for the released ones."""
    for folder, table in zip(small_programs, ("_AUTHORS_FILES", "_GOOGLE_FILES"), strict=True):
        hashes = {path.name: programs.hash_program(path) for path in folder.glob("*.py")}
        monkeypatch.setattr(programs, table, hashes)
    monkeypatch.setenv(environment.VARIABLE, sys.executable)
    with Released(tmp_path) as running:
        yield running


def test_a_process_that_dies_costs_one_request(released, small):
    """The next request starts a new process, which gets the counts again."""
    before = released.run("time", "pnf-peel", small(), **AT)
    for _ in range(2):
        with pytest.raises(DataError, match="their process ended"):
            released.run("time", "fastjoint", small(), **{**AT, "beta": 2**-8})
        assert released.run("time", "pnf-peel", small(), **AT)["counts"] == before["counts"]
        with pytest.raises(DataError, match="their process ended"):
            released.draw_lists(small(), [1, 2], **{**AT, "beta": 2**-8})
        assert len(released.draw_lists(small(), [1, 2], **AT)["counts"]) == 2


def test_a_process_that_is_killed_between_requests_costs_none(released, small):
    """It is started again before the next request is sent."""
    released.run("time", "joint", small(), **AT)
    os.kill(released._process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, released._process.pid, os.WEXITED | os.WNOWAIT)
    assert released.run("memory", "joint", small(), **AT)["bytes"] > 0


def test_one_crash_costs_one_cell(released, small, tmp_path):
    """All other cells of a run have their trials."""
    grid = Grid(datasets=("games",), vary=("beta",), trials=3, rounds=2)
    info = RunInfo(started="then", command="shortlist", code="one", release="", machine="2 cores", released="")
    with open_store(tmp_path / "results") as store:
        store.begin(info, [small()], grid.seed)
        results = Run(grid, [small()], store, released=released).measure()
    assert {(name, at.beta) for _, name, at in results.tables.failures} == {("released-fastjoint", 2**-8)}
    timed = {(name, at.beta) for _, name, at in results.times if name.startswith("released-")}
    assert {name for name, _ in timed} == {f"released-{law}" for law in ("fastjoint", "joint", "pnf-peel", "cdp-peel")}
    assert ("released-fastjoint", 2**-8) not in timed
