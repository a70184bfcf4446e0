"""Which cells are measured, how often, and from which seeds."""

import pytest

from shortlist.errors import ParameterError
from shortlist.paper.data.datasets import DATASETS
from shortlist.paper.experiment.contenders import Setting
from shortlist.paper.experiment.grid import BETAS, DEFAULT, EPSILONS, KS, SWEEPS, Grid

SIZES = {name: each.d for name, each in DATASETS.items()}


def test_the_grid_is_the_papers():
    """The parameter ranges of section 5, with the underlined defaults."""
    assert tuple(range(10, 201, 10)) == KS
    assert EPSILONS == (1 / 4, 1 / 2, 1, 2, 4)
    assert tuple(2.0**-power for power in (6, 8, 10, 12, 14)) == BETAS
    assert Setting(k=100, epsilon=1.0, beta=2.0**-10) == DEFAULT
    assert all(DEFAULT in sweep for sweep in SWEEPS.values())


def test_a_cell_is_measured_once_for_all_sweeps():
    """Nine mechanisms at 20 k and 4 further ε; β is varied for the two that have it."""
    cells = Grid(datasets=("games",)).cells(SIZES)
    assert len(cells) == 20 * 9 + 4 * 9 + 4 * 2
    assert len({(cell.contender, cell.setting) for cell in cells}) == len(cells)


def test_cells_of_one_setting_are_neighbours():
    """Times are compared within a setting, so they are measured close together."""
    cells = Grid(datasets=("games",), vary=("k",)).cells(SIZES)
    assert [cell.setting.k for cell in cells] == [k for k in KS for _ in range(9)]


def test_every_cell_has_a_seed_of_its_own():
    """Seeds differ between cells and runs, and do not depend on which other cells there are."""
    cells = Grid(datasets=("games", "books")).cells(SIZES)
    assert len({cell.seed(0) for cell in cells}) == len(cells)
    assert cells[0].seed(0) != cells[0].seed(1)
    [alone] = [cell for cell in Grid(datasets=("books",), vary=("beta",)).cells(SIZES) if cell in cells][:1]
    assert alone.seed(0) == next(cell for cell in cells if cell == alone).seed(0)


def test_only_the_published_joint_is_capped():
    """A large one gets fewer trials, but five at least; a small one gets all."""
    grid = Grid(datasets=("games", "food"), vary=("k",))
    for cell in grid.cells(SIZES):
        capped = cell.contender == "published-joint" and cell.dataset == "food" and cell.setting.k >= 20
        assert (cell.trials < 200) == capped
        assert cell.trials >= 5


def test_the_cap_can_be_lowered():
    """`joint_trials` is a further cap, and trials the last."""
    for trials, joint_trials, expected in ((200, 7, 7), (3, 7, 3)):
        cells = Grid(datasets=("games",), vary=("beta",), trials=trials, joint_trials=joint_trials).cells(SIZES)
        assert {cell.trials for cell in cells if cell.contender == "published-joint"} == {expected}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"trials": 0}, "trials must be at least 1, not 0"),
        ({"joint_trials": 0}, "joint-trials must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"vary": ("k", "delta")}, "vary must be some of k, epsilon, beta; 'delta'"),
        ({"vary": ()}, "vary must be some of k, epsilon, beta; none"),
        ({"datasets": ("shoes",)}, "'shoes' is not one of them"),
    ],
)
def test_a_wrong_grid_is_refused_before_any_work(wrong, expected):
    """The text says what is allowed."""
    with pytest.raises(ParameterError, match=expected):
        Grid(**{"datasets": ("games",), **wrong})
