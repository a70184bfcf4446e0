"""A run: repeatable, interruptible, growing, and not stopped by one cell that fails."""

from dataclasses import replace

import numpy as np
import pytest

from reproduction.experiment.grid import Grid
from reproduction.experiment.run import Run
from reproduction.experiment.store import RunInfo, count_trials, lock_folder, open_store
from shortlist.errors import OutputError
from shortlist.planning.forecast import measure

pytestmark = pytest.mark.slow

GRID = Grid(datasets=("games",), vary=("beta",), trials=3, rounds=2)
INFO = RunInfo(started="then", command="shortlist", code="one", release="", machine="2 cores", released="")
ERROR_CELLS, TIME_CELLS, TIMES_ONLY = 24, 27, 5  # FastJoint with buckets, at five β


@pytest.fixture
def run(small, tmp_path):
    """Measure a grid into a folder, and return the results."""

    def measure(grid=GRID, *, name="results", info=INFO, histogram=None, remeasure=False, **options):
        histograms = [histogram or small()]
        with open_store(tmp_path / name) as store:
            if remeasure:
                store.forget_other_versions(info.code)
            store.begin(info, histograms, grid.seed)
            return Run(grid, histograms, store, **options).measure()

    return measure


def _errors(results):
    return {key: (found.linf.tolist(), found.l1.tolist()) for key, found in results.errors.items()}


def test_errors_are_the_papers():
    """ℓ∞ and ℓ1 compare the chosen counts with the largest ones, position by position."""
    _, linf, l1 = measure(np.array([50, 40, 30]), np.array([[50, 40, 30], [10, 40, 50]]))
    assert (linf.tolist(), l1.tolist()) == ([0, 40], [0, 60])


def test_every_trial_is_kept(run):
    """Lists for errors, rounds for times with wall and CPU time and load, memory, and the tail probability."""
    results = run()
    assert len(results.errors) == ERROR_CELLS
    assert len(results.times) == TIME_CELLS
    assert {len(found.linf) for found in results.errors.values()} == {3}
    for (_, contender, _), found in results.times.items():
        assert found.trial.tolist() == [0, 1]
        assert (found.wall > 0).all()
        assert np.isfinite(found.load).all()
        assert np.isfinite(found.before_cpu).all() == (contender == "published-joint")
    assert len(results.memory) == 4
    assert {key[1] for key in results.tails} == {"published-fastjoint"}
    assert not results.failures


def test_the_same_command_gives_the_same_errors(run):
    """And another seed gives others."""
    one, other, elsewhere = (
        run(replace(GRID, rounds=0, seed=seed), name=name)
        for seed, name in ((GRID.seed, "a"), (GRID.seed, "b"), (1, "c"))
    )
    assert _errors(one) == _errors(other)
    assert _errors(one) != _errors(elsewhere)


def test_an_interrupted_run_continues(run):
    """The outcome is that of an uninterrupted run, and what was there is not measured again."""

    def stop(progress):
        if progress.step == "times" and progress.current.startswith("round 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(watch=stop)
    seen = []
    results = run(watch=seen.append)
    assert {progress.step for progress in seen if progress.current} == {"times"}
    assert all(progress.current.startswith("round 2") for progress in seen if progress.current)
    assert _errors(results) == _errors(run(name="whole"))
    assert {len(found.cpu) for found in results.times.values()} == {2}


def test_a_finished_run_grows(run):
    """More trials add to those that are there; the result is that of one larger run."""
    first = run()
    grown = run(replace(GRID, trials=5, rounds=3))
    assert _errors(grown) == _errors(run(replace(GRID, trials=5, rounds=3), name="at once"))
    key = next(iter(first.times))
    assert grown.times[key].cpu[:2].tolist() == first.times[key].cpu.tolist()


def test_another_version_of_the_code_is_marked_or_measured_again(run):
    """Trials know who made them; a cell with trials of two versions is named, and can be measured again."""
    run()
    newer = replace(INFO, code="two")
    mixed = run(replace(GRID, trials=4), info=newer)
    assert len(mixed.mixed_cells) == ERROR_CELLS
    again = run(replace(GRID, trials=4), info=newer, remeasure=True)
    assert again.mixed_cells == ()
    assert {len(found.linf) for found in again.errors.values()} == {4}
    assert _errors(again) == _errors(mixed)


def test_versions_are_named_where_no_cell_is_mixed(run):
    """A run that went on after a change of the code has cells of either version."""
    run(replace(GRID, rounds=0))
    assert run().versions == {"one": ERROR_CELLS + TIMES_ONLY}
    later = run(replace(GRID, vary=("epsilon",), rounds=0), info=replace(INFO, code="two"))
    assert later.mixed_cells == ()
    assert later.versions["one"] == ERROR_CELLS + TIMES_ONLY
    assert {later.find_versions(key) for key in later.errors} == {("one",), ("two",)}


def test_many_lists_are_drawn_and_kept_in_batches(run, tmp_path):
    """An interrupt within a cell keeps its first batches. Its lists are the same wherever a run ended before."""

    def stop(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    def find_longest(name):
        with open_store(tmp_path / name) as store:
            return max(_errors(store.read()).items(), key=lambda each: len(each[1][0]))

    many = replace(GRID, trials=4_100, rounds=0)
    run(replace(many, trials=5), name="grown")
    for name in ("results", "grown"):
        with pytest.raises(KeyboardInterrupt):
            run(many, name=name, watch=stop)
    assert 5 < count_trials(tmp_path / "results") < many.trials
    with pytest.raises(KeyboardInterrupt):
        run(many, watch=stop)
    assert count_trials(tmp_path / "results") == many.trials
    assert find_longest("results") == find_longest("grown")


def test_all_programs_and_settings_take_turns(run):
    """A round goes over all cells before the next begins."""
    seen = []
    run(watch=lambda progress: seen.append(progress.current) if progress.step == "times" else None)
    rounds = [current.split(",")[0] for current in seen if current]
    assert rounds == ["round 1"] * TIME_CELLS + ["round 2"] * TIME_CELLS


def test_a_cell_that_fails_does_not_stop_the_others(run, small):
    """Counts too far apart for the published Joint: its cells say so, and are tried again next time."""
    wide = small(stand_in=False)
    wide = replace(wide, counts=np.concatenate(([2**61], wide.counts[1:])))
    results = run(histogram=wide)
    assert {key[1] for key in results.failures} == {"published-joint"}
    assert "must differ by less than" in next(iter(results.failures.values()))
    assert len(results.errors) == ERROR_CELLS - 1
    assert run(histogram=wide).failures.keys() == results.failures.keys()


def test_other_data_and_other_seeds_are_refused(run, small):
    """What is there stays as it is."""
    run()
    with pytest.raises(OutputError, match="holds those of another games"):
        run(histogram=small(d=260))
    with pytest.raises(OutputError, match="holds those of another seed"):
        run(replace(GRID, seed=3))


def test_results_can_be_read_while_a_run_goes_on(run, tmp_path):
    """What has reached the disk is seen."""
    run()
    with open_store(tmp_path / "results") as store, open_store(tmp_path / "results", new=False) as reader:
        store.begin(INFO, [], 0)
        assert len(reader.read().errors) == ERROR_CELLS
    assert count_trials(tmp_path / "results") == 3 * ERROR_CELLS + 2 * TIME_CELLS
    assert count_trials(tmp_path / "nothing") == 0


def test_a_folder_has_one_run_at_a_time(tmp_path):
    """The second is refused at once."""
    with lock_folder(tmp_path), pytest.raises(OutputError, match="another run uses"), lock_folder(tmp_path):
        pass


def test_a_foreign_file_is_refused(tmp_path):
    """It is not overwritten."""
    (tmp_path / "results.sqlite").write_bytes(b"not a database, but long enough to look at" * 9)
    with pytest.raises(OutputError, match="cannot be used"), open_store(tmp_path):
        pass
    with pytest.raises(OutputError, match="must be a folder with results"), open_store(tmp_path / "no", new=False):
        pass


def test_a_damaged_file_is_reported_and_stays(run, tmp_path):
    """Damage in the middle is seen when the trials are read."""
    run(replace(GRID, trials=64, rounds=0))
    path = tmp_path / "results" / "results.sqlite"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3 :] = bytes(len(damaged) - len(damaged) // 3)
    path.write_bytes(damaged)
    with pytest.raises(OutputError, match=r"cannot be used \("), open_store(tmp_path / "results", new=False) as store:
        store.read()
    assert path.read_bytes() == damaged


def test_a_folder_that_cannot_be_locked_is_refused(tmp_path):
    """As one that cannot be written to."""
    (tmp_path / ".lock").mkdir()
    with pytest.raises(OutputError, match="that can be written to"), lock_folder(tmp_path):
        pass


def test_progress_says_how_long_the_rest_takes(run):
    """From the second round on, each step of the times has the seconds that are left, and a share of the whole."""
    seen = []
    run(replace(GRID, trials=0, rounds=3), watch=seen.append)
    times = [each for each in seen if each.step == "times"]
    first = [each for each in times if each.current.startswith("round 1,")]
    later = [each for each in times if each.current.startswith(("round 2,", "round 3,"))]
    assert {each.left for each in first} == {None}
    assert all(each.left >= 0 and 0 < each.done <= each.total for each in later)
    assert len(later) == 2 * len(first) == 2 * TIME_CELLS
    assert times[-1].done == times[-1].total
