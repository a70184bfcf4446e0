"""What is measured: every cell of the paper's grid, in an order, each with its trials and its seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from shortlist.errors import ParameterError
from shortlist.paper.data.datasets import chosen
from shortlist.paper.experiment.contenders import CONTENDERS, DELTA, Contender, Setting

KS = tuple(range(10, 201, 10))
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
BETAS = (2.0**-6, 2.0**-8, 2.0**-10, 2.0**-12, 2.0**-14)
DEFAULT = Setting(k=100, epsilon=1.0, beta=2.0**-10)
SWEEPS = {
    "k": tuple(Setting(k=k, epsilon=DEFAULT.epsilon, beta=DEFAULT.beta) for k in KS),
    "epsilon": tuple(Setting(k=DEFAULT.k, epsilon=epsilon, beta=DEFAULT.beta) for epsilon in EPSILONS),
    "beta": tuple(Setting(k=DEFAULT.k, epsilon=DEFAULT.epsilon, beta=beta) for beta in BETAS),
}

# The published Joint holds k·d places in memory and sorts them: some minutes for so many places over all trials.
_JOINT_PLACES = 4 * 10**8
_FEWEST_JOINT_TRIALS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One mechanism at one setting on one data set."""

    dataset: str
    contender: str
    setting: Setting
    trials: int

    def seed(self, run: int) -> int:
        """A seed of its own, from the seed of the run; adding or leaving out other cells does not change it."""
        at = self.setting
        text = f"{run} {self.dataset} {self.contender} k={at.k} epsilon={at.epsilon!r} beta={at.beta!r}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])

    def __str__(self) -> str:
        beta = "" if self.setting.beta is None else f", β = {self.setting.beta:g}"
        label = CONTENDERS[self.contender].label
        return f"{self.dataset}: {label}, k = {self.setting.k}, ε = {self.setting.epsilon:g}{beta}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which data sets, which sweeps, how many trials.

    >>> len(Grid(datasets=("games",), vary=("beta",)).cells({"games": 5155}))
    17
    """

    datasets: tuple[str, ...]
    vary: tuple[str, ...] = ("k", "epsilon", "beta")
    trials: int = 200
    joint_trials: int | None = None
    """At most this many trials for the published Joint, besides the cap that its size asks for."""
    seed: int = 0

    def __post_init__(self) -> None:
        chosen(self.datasets)
        for name in self.vary:
            if name not in SWEEPS:
                raise ParameterError(f"vary must be some of {', '.join(SWEEPS)}; {name!r} is not one of them.")
        if not self.vary:
            raise ParameterError(f"vary must be some of {', '.join(SWEEPS)}; none was given.")
        for name, number, least in (("trials", self.trials, 1), ("seed", self.seed, 0)):
            if number < least:
                raise ParameterError(f"{name} must be at least {least}, not {number}.")
        if self.joint_trials is not None and self.joint_trials < 1:
            raise ParameterError(f"joint-trials must be at least 1, not {self.joint_trials}.")

    def cells(self, sizes: Mapping[str, int]) -> list[Cell]:
        """Every cell once, those of one setting beside each other, so that their times can be compared."""
        found = (
            Cell(
                dataset=dataset,
                contender=contender.name,
                setting=own_setting(contender, setting),
                trials=self._trials(contender, sizes[dataset] * setting.k),
            )
            for dataset in self.datasets
            for setting in self._settings()
            for contender in CONTENDERS.values()
        )
        return list(dict.fromkeys(found))

    def describe(self) -> str:
        """The grid as text, by which two grids are told apart."""
        return json.dumps({**asdict(self), "delta": DELTA}, sort_keys=True)

    def _settings(self) -> Iterator[Setting]:
        # The default is in every sweep and measured once: best among its nearest neighbours, for a machine drifts.
        return (setting for name in reversed(SWEEPS) if name in self.vary for setting in SWEEPS[name])

    def _trials(self, contender: Contender, places: int) -> int:
        if contender.name != "published-joint":
            return self.trials
        affordable = max(_FEWEST_JOINT_TRIALS, _JOINT_PLACES // places)
        return min(self.trials, affordable, self.joint_trials or self.trials)


def own_setting(contender: Contender, setting: Setting) -> Setting:
    """A setting as a mechanism sees it: beta is dropped where there is none, so such a cell is measured once.

    >>> own_setting(CONTENDERS["joint"], DEFAULT)
    Setting(k=100, epsilon=1.0, beta=None)
    """
    return setting if contender.has_beta else Setting(k=setting.k, epsilon=setting.epsilon)
