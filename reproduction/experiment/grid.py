"""The cells of the paper's grid, the number of lists for errors, and the number of rounds for times."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reproduction.data.datasets import choose_datasets
from reproduction.experiment.contenders import CONTENDERS, Contender, Maker, Setting
from shortlist.errors import ParameterError
from shortlist.privacy.numbers import quote

KS = tuple(range(10, 201, 10))
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
BETAS = (2.0**-6, 2.0**-8, 2.0**-10, 2.0**-12, 2.0**-14)
DEFAULT = Setting(k=100, epsilon=1.0, beta=2.0**-10)
SWEEPS = {
    "k": tuple(Setting(k=k, epsilon=DEFAULT.epsilon, beta=DEFAULT.beta) for k in KS),
    "epsilon": tuple(Setting(k=DEFAULT.k, epsilon=epsilon, beta=DEFAULT.beta) for epsilon in EPSILONS),
    "beta": tuple(Setting(k=DEFAULT.k, epsilon=DEFAULT.epsilon, beta=beta) for beta in BETAS),
}
MEMORY_KS = (10, 50, 100)

# Joint takes seconds to minutes on large data, so it is timed at fewer settings there; the report says so.
_FEWER_KS = (10, 50, 100, 150, 200)
_LARGE, _VERY_LARGE = 30_000, 100_000
FEWEST_ROUNDS = 4
_MOST = 1_000_000
"""The largest number of lists and of rounds. It guards against slips of the keyboard."""
_LARGEST_SEED = 2**63 - 1
"""The largest integer of the results file."""
_WATCHED_PLACES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One program at one setting on one data set."""

    dataset: str
    contender: str
    setting: Setting

    def seed(self, run: int, trial: int) -> int:
        """Return a seed for each trial. It follows from the seed of the run and the cell."""
        at = self.setting
        text = f"{run} {self.dataset} {self.contender} k={at.k} epsilon={at.epsilon!r} beta={at.beta!r}"
        return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) << 32) + trial

    def __str__(self) -> str:
        return f"{self.dataset}: {CONTENDERS[self.contender].label}, {self.setting}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which data sets and sweeps, how many lists for each error, and how many interleaved rounds for each time.

    A cell is timed in `rounds` rounds. One that takes long stops earlier: after `seconds` seconds, but not before 4
    rounds.
    """

    datasets: tuple[str, ...]
    vary: tuple[str, ...] = ("k", "epsilon", "beta")
    trials: int = 200
    rounds: int = 20
    seconds: float = 40.0
    seed: int = 0
    coarse: bool = False
    """Whether Joint is timed at five k only on all data, not only on large data."""

    def __post_init__(self) -> None:
        choose_datasets(self.datasets)
        for name in self.vary:
            if name not in SWEEPS:
                raise ParameterError(
                    "{vary} must be some of {known}",
                    "{name} is not one of them",
                    known=", ".join(SWEEPS),
                    name=quote(name),
                )
        if not self.vary:
            raise ParameterError("{vary} must be some of {known}", "none was given", known=", ".join(SWEEPS))
        limits = (("trials", self.trials, _MOST), ("rounds", self.rounds, _MOST), ("seed", self.seed, _LARGEST_SEED))
        for name, number, most in limits:
            if not 0 <= number <= most:
                raise ParameterError(
                    f"{{{name}}} must be between 0 and {{most:,}}", "not {number:,}", most=most, number=number
                )
        if not self.trials and not self.rounds:
            raise ParameterError("{trials} or {rounds} must be at least 1", "both are 0, so nothing would be measured")
        if not self.seconds >= 0:  # This is also true of NaN.
            raise ParameterError("{seconds} must be a number of at least 0", "not {number}", number=self.seconds)

    def error_cells(self, contenders: Mapping[str, Contender]) -> list[Cell]:
        """The cells whose errors are drawn, those of one k beside each other, so that Joint's sizes are found once."""
        cells = self._cells({name: each for name, each in contenders.items() if each.has_errors})
        return sorted(cells, key=lambda cell: (self.datasets.index(cell.dataset), cell.setting.k))

    def time_cells(self, contenders: Mapping[str, Contender], sizes: Mapping[str, int]) -> list[Cell]:
        """The cells that are timed in every round, those of one setting beside each other."""
        cells = self._cells({name: each for name, each in contenders.items() if each.has_time})
        return [cell for cell in cells if self._is_timed(CONTENDERS[cell.contender], cell.setting, sizes[cell.dataset])]

    def memory_cells(self, contenders: Mapping[str, Contender], sizes: Mapping[str, int]) -> list[Cell]:
        """The cells whose memory is measured once: FastJoint and Joint at three k at which one list is fast enough."""
        cells = self.time_cells(contenders, sizes)
        return [cell for cell in cells if _has_memory(CONTENDERS[cell.contender], cell.setting, sizes[cell.dataset])]

    def wants_round(self, rounds: int, spent: float) -> bool:
        """Return whether a cell is timed once more after this many rounds and seconds.

        >>> grid = Grid(datasets=("games",), rounds=20, seconds=30)
        >>> [grid.wants_round(rounds, spent) for rounds, spent in ((19, 5), (20, 5), (3, 90), (4, 90))]
        [True, False, True, False]
        """
        return rounds < self.rounds and (rounds < FEWEST_ROUNDS or spent < self.seconds)

    def count_rounds_left(self, rounds: int, spent: float, mean: float) -> int:
        """Count the rounds that a cell still gets if each takes `mean` seconds.

        >>> grid = Grid(datasets=("games",), rounds=20, seconds=30)
        >>> [grid.count_rounds_left(rounds, spent, 2.0) for rounds, spent in ((0, 0), (5, 25), (3, 90), (4, 90))]
        [15, 3, 1, 0]
        """
        affordable = (self.seconds - spent) / mean if mean > 0 else math.inf
        within = self.rounds if affordable >= self.rounds else rounds + max(0, math.ceil(affordable))
        return max(0, min(self.rounds, max(within, FEWEST_ROUNDS)) - rounds)

    def settings(self) -> Iterator[Setting]:
        """List every setting of the sweeps. The default is in each sweep, so it may be there more than once."""
        return (setting for name in SWEEPS if name in self.vary for setting in SWEEPS[name])

    def _cells(self, contenders: Mapping[str, Contender]) -> list[Cell]:
        found = (
            Cell(dataset=dataset, contender=contender.name, setting=contender.own(setting))
            for dataset in self.datasets
            for setting in self.settings()
            for contender in contenders.values()
        )
        return list(dict.fromkeys(found))

    def _is_timed(self, contender: Contender, setting: Setting, d: int) -> bool:
        if contender.law != "joint" or contender.maker is Maker.OURS or (d < _LARGE and not self.coarse):
            return True
        if setting.epsilon != DEFAULT.epsilon:
            return d < _VERY_LARGE
        return setting.k in _FEWER_KS


def list_programs(*, released: bool) -> dict[str, Contender]:
    """List the programs that can run. The released ones need their folder."""
    return {name: each for name, each in CONTENDERS.items() if released or each.maker is not Maker.RELEASED}


def _has_memory(contender: Contender, setting: Setting, d: int) -> bool:
    if contender.law not in ("fastjoint", "joint") or setting.k not in MEMORY_KS:
        return False
    at_default = setting == contender.own(Setting(k=setting.k, epsilon=DEFAULT.epsilon, beta=DEFAULT.beta))
    # Watching the memory of a program slows it down several times.
    slow = contender.law == "joint" and contender.maker is not Maker.OURS and d * setting.k > _WATCHED_PLACES
    return at_default and not slow
