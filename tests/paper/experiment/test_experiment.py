"""A run: repeatable, interruptible, and not stopped by one cell that fails."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from shortlist.errors import OutputError
from shortlist.paper.experiment.contenders import CONTENDERS
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.measure import errors
from shortlist.paper.experiment.run import run
from shortlist.paper.experiment.store import held

GRID = Grid(datasets=("games",), vary=("beta",), trials=3, joint_trials=2)
CELLS = 17


def _errors(results):
    return {key: (row.linf, row.l1, row.seed) for key, row in results.measured.items()}


def test_errors_are_the_papers():
    """ℓ∞ and ℓ1 compare the chosen counts with the largest ones, position by position."""
    falling = np.array([50, 40, 30, 20, 10])
    assert errors(falling, [50, 40, 30]) == (0, 0)
    assert errors(falling, [10, 40, 50]) == (40, 60)


def test_every_cell_is_a_row_with_its_trials(small, tmp_path):
    """The file holds trials, medians and quartiles, and says where a cap applied."""
    results = run(GRID, [small()], tmp_path)
    table = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert len(table) == len(results.rows) == CELLS
    for row in table:
        expected = 2 if row["contender"] == "published-joint" else 3
        assert row["asked"] == 3
        assert len(row["seconds"]) == len(row["linf"]) == len(row["l1"]) == expected
        assert row["linf_lower"] <= row["linf_median"] <= row["linf_upper"]
        assert row["l1_median"] == np.median(row["l1"])
        assert row["stand_in"]
        assert row["failure"] is None


def test_the_same_command_gives_the_same_errors(small, tmp_path):
    """And another seed gives others."""
    one, other, elsewhere = (
        _errors(run(grid, [small()], tmp_path / name))
        for grid, name in ((GRID, "a"), (GRID, "b"), (replace(GRID, seed=1), "c"))
    )
    assert one == other
    assert one != elsewhere


def test_an_interrupted_run_goes_on_where_it_stopped(small, tmp_path):
    """Nothing is measured twice, and the outcome is that of an uninterrupted run."""

    def stop(progress):
        if progress.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(GRID, [small()], tmp_path, stop)
    assert pq.read_metadata(tmp_path / "results.parquet").num_rows == 5
    seen = []
    results = run(GRID, [small()], tmp_path, seen.append)
    assert [progress.done for progress in seen] == list(range(5, CELLS + 1))
    assert _errors(results) == _errors(run(GRID, [small()], tmp_path / "whole"))


def test_progress_tells_cells_time_and_the_current_cell(small, tmp_path):
    """The share rises to 1; after the first cell there is a forecast."""
    seen = []
    run(GRID, [small()], tmp_path, seen.append)
    shares = [progress.share for progress in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert all(progress.seconds_left is not None for progress in seen[1:])
    assert str(seen[0].current) == "games: FastJoint, k = 100, ε = 1, β = 0.015625"
    assert seen[-1].current is None


def test_a_failed_cell_is_recorded_and_tried_again(small, tmp_path, monkeypatch):
    """The rest goes on; the next run measures only what failed."""

    def fail(counts, setting, seed):
        raise MemoryError("too large")

    with monkeypatch.context() as broken:
        broken.setitem(CONTENDERS, "published-joint", replace(CONTENDERS["published-joint"], draw=fail))
        results = run(GRID, [small()], tmp_path)
    assert [(row.contender, row.failure) for row in results.failures] == [("published-joint", "MemoryError: too large")]
    assert len(results.measured) == CELLS - 1
    seen = []
    assert not run(GRID, [small()], tmp_path, seen.append).failures
    assert [str(progress.current) for progress in seen[:-1]] == ["games: Joint, k = 100, ε = 1"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"trials": 4}, r"another grid \(differing in trials\)"),
        ({"vary": ("epsilon",)}, r"another grid \(differing in vary\)"),
        ({"seed": 9}, r"another grid \(differing in seed\)"),
    ],
)
def test_results_of_another_grid_are_left_alone(small, tmp_path, change, expected):
    """The folder is refused, and what it holds stays as it is."""
    run(GRID, [small()], tmp_path)
    before = (tmp_path / "results.parquet").read_bytes()
    with pytest.raises(OutputError, match=expected):
        run(replace(GRID, **change), [small()], tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == before


def test_results_of_other_data_are_left_alone(small, tmp_path):
    """A stand-in and the data that it stood for do not mix."""
    run(GRID, [small()], tmp_path)
    with pytest.raises(OutputError, match="holds those of other data"):
        run(GRID, [small(stand_in=False)], tmp_path)


def test_a_file_of_something_else_is_left_alone(small, tmp_path):
    """A file by the name of the results that is none is refused."""
    (tmp_path / "results.parquet").write_text("mine")
    with pytest.raises(OutputError, match="must be results of this command"):
        run(GRID, [small()], tmp_path)
    assert (tmp_path / "results.parquet").read_text() == "mine"


def test_an_output_that_is_no_folder_is_refused(small, tmp_path):
    """Before anything is measured."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match="output must name a folder"):
        run(GRID, [small()], tmp_path / "taken")


def test_two_runs_do_not_share_a_folder(small, tmp_path):
    """The second is told so; it would overwrite rows of the first."""
    pytest.importorskip("fcntl")
    with held(tmp_path), pytest.raises(OutputError, match="in use by another run"):
        run(GRID, [small()], tmp_path)
