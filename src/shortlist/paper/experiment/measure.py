"""One cell measured: its trials, their times and errors, and the row that is kept of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from shortlist.arrays import IntArray
from shortlist.paper.data.datasets import Histogram
from shortlist.paper.experiment.contenders import CONTENDERS
from shortlist.paper.experiment.grid import Cell

MEASURES = ("seconds", "linf", "l1")
QUARTILES = ("lower", "median", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is kept of a cell: one entry of each list for each trial.

    `before_sequence` is the time of the published Joint without its sequence step, and empty for all others.
    A cell that failed has no trials and says why.
    """

    dataset: str
    stand_in: bool
    d: int
    contender: str
    k: int
    epsilon: float
    beta: float | None
    asked: int
    """How many trials the grid asks for; fewer were made where a cap applies."""
    seed: int
    machine: str
    seconds: list[float] = field(default_factory=list)
    before_sequence: list[float] = field(default_factory=list)
    linf: list[int] = field(default_factory=list)
    l1: list[int] = field(default_factory=list)
    failure: str | None = None

    @property
    def trials(self) -> int:
        """How many trials were made."""
        return len(self.seconds)

    def quartiles(self, measure: str) -> tuple[float, float, float]:
        """The lower quartile, the median and the upper quartile of a measure."""
        low, middle, high = np.quantile(getattr(self, measure), [0.25, 0.5, 0.75])
        return float(low), float(middle), float(high)


def measure(cell: Cell, histogram: Histogram, *, run_seed: int, asked: int, machine: str) -> Row:
    """Make the trials of a cell. Each sees the items in another order, as in the published experiments."""
    row = _empty(cell, histogram, cell.seed(run_seed), asked, machine)
    for trial in range(cell.trials):
        # A trial's seed is the cell's with the trial below it: no two trials of a run share one.
        seed = (row.seed << 32) + trial
        counts = np.random.Generator(np.random.PCG64([seed, 1])).permutation(histogram.counts)
        drawn = CONTENDERS[cell.contender].draw(counts, cell.setting, seed)
        linf, l1 = errors(histogram.counts, counts[drawn.items])
        row.seconds.append(drawn.seconds)
        row.linf.append(linf)
        row.l1.append(l1)
        if drawn.before_sequence is not None:
            row.before_sequence.append(drawn.before_sequence)
    return row


def failed(cell: Cell, histogram: Histogram, *, run_seed: int, asked: int, machine: str, failure: str) -> Row:
    """The row of a cell that could not be measured."""
    return _empty(cell, histogram, cell.seed(run_seed), asked, machine, failure)


def errors(falling: IntArray, chosen: Sequence[int] | IntArray) -> tuple[int, int]:
    """The ℓ∞ and the ℓ1 distance between the counts of the chosen items and the largest counts, in order.

    >>> errors(np.array([9, 5, 4, 1]), [5, 9, 1])
    (4, 11)
    """
    distances = np.abs(falling[: len(chosen)] - np.asarray(chosen))
    return int(distances.max()), int(distances.sum())


def _empty(cell: Cell, histogram: Histogram, seed: int, asked: int, machine: str, failure: str | None = None) -> Row:
    return Row(
        dataset=cell.dataset,
        stand_in=histogram.origin is None,
        d=len(histogram.counts),
        contender=cell.contender,
        k=cell.setting.k,
        epsilon=cell.setting.epsilon,
        beta=cell.setting.beta,
        asked=asked,
        seed=seed,
        machine=machine,
        failure=failure,
    )
