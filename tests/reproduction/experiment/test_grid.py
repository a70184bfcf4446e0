"""Which cells are measured, how often, and from which seeds."""

import pytest

from reproduction.experiment.datasets import DATASETS
from reproduction.experiment.grid import BETAS, CONTENDERS, DEFAULT, EPSILONS, KS, SWEEPS, Grid, Setting, list_programs
from shortlist.errors import ParameterError

SIZES = {name: each.d for name, each in DATASETS.items()}


def test_the_grid_is_the_papers():
    """The parameter ranges of section 5, with the underlined defaults, and its number of trials."""
    assert tuple(range(10, 201, 10)) == KS
    assert EPSILONS == (1 / 4, 1 / 2, 1, 2, 4)
    assert tuple(2.0**-power for power in (6, 8, 10, 12, 14)) == BETAS
    assert Setting(k=100, epsilon=1.0, beta=2.0**-10) == DEFAULT
    assert all(DEFAULT in sweep for sweep in SWEEPS.values())
    assert Grid(datasets=("games",)).trials == 200


def test_a_cell_is_measured_once_for_all_sweeps():
    """Every program at 20 k and 4 further ε; β is varied for those that have it."""
    programs = list_programs(released=False)
    cells = Grid(datasets=("games",)).error_cells(programs)
    assert len(cells) == 24 * sum(each.has_errors for each in programs.values()) + 4 * 2
    assert len(set(cells)) == len(cells)


def test_cells_of_one_k_are_neighbours_for_errors():
    """The subset sizes of Joint are then computed once for each data set and k."""
    cells = Grid(datasets=("games", "books")).error_cells(list_programs(released=False))
    places = [(cell.dataset, cell.setting.k) for cell in cells]
    assert places == sorted(places, key=lambda place: (place[0] != "games", place[1]))


def test_every_program_is_timed_at_every_setting_of_the_paper():
    """On every data set; a coarse grid has Joint at five k only."""
    released = list_programs(released=True)
    for coarse in (False, True):
        cells = Grid(datasets=("games", "food"), coarse=coarse).time_cells(released)
        for name, program in ((name, each) for name in ("games", "food") for each in released.values()):
            timed = {cell.setting.k for cell in cells if (cell.dataset, cell.contender) == (name, program.name)}
            few = coarse and program.law == "joint" and program.maker != "ours"
            assert timed == ({10, 50, 100, 150, 200} if few else set(KS) if program.has_time else set())


def test_a_list_of_more_than_a_minute_is_timed_once():
    """Others are timed in four rounds at least."""
    grid = Grid(datasets=("games",))
    assert grid.count_rounds_left(1, 61.0, 61.0) == 0
    assert grid.count_rounds_left(1, 59.0, 59.0) == 3


def test_memory_is_measured_for_both_algorithms_at_three_k():
    """Not for a released Joint that would take minutes."""
    cells = Grid(datasets=("games", "food")).memory_cells(CONTENDERS, SIZES)
    assert {CONTENDERS[cell.contender].law for cell in cells} == {"joint", "fastjoint"}
    assert {cell.setting.k for cell in cells} == {10, 50, 100}
    assert ("food", "released-joint", 100) not in {(cell.dataset, cell.contender, cell.setting.k) for cell in cells}


def test_every_trial_has_a_seed_of_its_own():
    """Seeds differ between cells, runs and trials, and do not depend on which other cells there are."""
    cells = Grid(datasets=("games", "books")).error_cells(list_programs(released=False))
    assert len({cell.seed(0, trial) for cell in cells for trial in (0, 1)}) == 2 * len(cells)
    assert cells[0].seed(0, 0) != cells[0].seed(1, 0)
    alone = Grid(datasets=("books",), vary=("beta",)).error_cells(list_programs(released=False))[0]
    assert alone.seed(0, 5) == next(cell for cell in cells if cell == alone).seed(0, 5)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"trials": -1}, "trials must be between 0 and 1,000,000, not -1"),
        ({"trials": 10**9}, "trials must be between 0 and 1,000,000, not 1,000,000,000"),
        ({"trials": 0, "rounds": 0}, "trials or rounds must be at least 1; both are 0"),
        ({"rounds": -1}, "rounds must be between 0 and"),
        ({"seconds": -1.0}, "seconds must be a number of at least 0, not -1.0"),
        ({"seconds": float("nan")}, "seconds must be a number of at least 0, not nan"),
        ({"seed": -1}, "seed must be between 0 and"),
        ({"seed": 2**63}, "seed must be between 0 and"),
        ({"vary": ("k", "delta")}, "vary must be some of k, epsilon, beta; 'delta'"),
        ({"vary": ()}, "vary must be some of k, epsilon, beta; none"),
        ({"datasets": ("shoes",)}, "'shoes' is not one of them"),
    ],
)
def test_a_wrong_grid_is_refused_before_any_work(wrong, expected):
    """The text says what is allowed."""
    with pytest.raises(ParameterError, match=expected):
        Grid(**{"datasets": ("games",), **wrong})


@pytest.mark.parametrize("seconds", [0.0, 0.5, 7.0, 1e6, float("inf")])
@pytest.mark.parametrize("rounds", [0, 3, 4, 9, 20])
@pytest.mark.parametrize("mean", [0.25, 1.0, 8.0])
def test_the_rounds_left_are_those_that_will_be_wanted(seconds, rounds, mean):
    """Counting them at once gives what asking round after round gives: at least 4, and 20 within the seconds."""
    grid, asked = Grid(datasets=("games",), rounds=20, seconds=seconds), rounds
    while asked < 20 and (asked < 4 or asked * mean < seconds):
        assert grid.count_rounds_left(asked, asked * mean, 1.0) > 0
        asked += 1
    assert grid.count_rounds_left(rounds, rounds * mean, mean) == asked - rounds
