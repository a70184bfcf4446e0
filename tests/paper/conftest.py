"""Histograms for the experiments: real ones where the machine has them, small ones, and rows that are made up."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from real_data import find_real_data

from shortlist.paper.data.datasets import DATASETS, Histogram
from shortlist.paper.experiment.contenders import CONTENDERS, Contender, Setting
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.measure import Row
from shortlist.paper.experiment.results import Results

Curve = Callable[[Contender, int, Setting], float]


@pytest.fixture(scope="session")
def real_counts() -> Callable[[str], np.ndarray]:
    """Load a real histogram by name."""
    return lambda name: np.load(find_real_data(f"{name}.counts.npy"))


@pytest.fixture(scope="session")
def small() -> Callable[..., Histogram]:
    """Make a small histogram under the name of a data set."""

    def make(name: str = "games", *, d: int = 150, stand_in: bool = True) -> Histogram:
        counts = np.sort(np.random.default_rng(5).integers(0, 400, d))[::-1].copy()
        return Histogram(dataset=DATASETS[name], counts=counts, origin=None if stand_in else Path(f"{name}.counts.npy"))

    return make


@pytest.fixture(scope="session")
def invented() -> Callable[..., Results]:
    """Make up the results of a whole grid from curves of time, of error and of the part before the sequence step."""

    def make(
        *names: str,
        seconds: Curve = lambda contender, d, at: 1e-3,
        error: Curve = lambda contender, d, at: 10.0,
        part: Curve = lambda contender, d, at: 0.99,
        trials: int = 5,
        stand_ins: tuple[str, ...] = (),
        vary: tuple[str, ...] = ("k", "epsilon", "beta"),
    ) -> Results:
        sizes = {name: DATASETS[name].d for name in names}
        cells = Grid(datasets=names, vary=vary, trials=trials).cells(sizes)
        rows = []
        for cell in cells:
            contender, at = CONTENDERS[cell.contender], cell.setting
            time = seconds(contender, sizes[cell.dataset], at)
            loss = int(error(contender, sizes[cell.dataset], at))
            share = part(contender, sizes[cell.dataset], at)
            wobble = [time * (1 + trial / 100) for trial in range(cell.trials)]
            row = Row(
                dataset=cell.dataset,
                stand_in=cell.dataset in stand_ins,
                d=sizes[cell.dataset],
                contender=cell.contender,
                k=at.k,
                epsilon=at.epsilon,
                beta=at.beta,
                asked=trials,
                seed=cell.seed(0),
                machine="2 cores",
                seconds=wobble,
                before_sequence=[share * each for each in wobble] if cell.contender == "published-joint" else [],
                linf=[loss] * cell.trials,
                l1=[at.k * loss] * cell.trials,
            )
            rows.append(row)
        return Results(rows)

    return make
