"""What is measured: the programs, the settings, and the cells of the paper's grid, with their lists and rounds."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.baselines import DELTA
from reproduction.experiment.datasets import DATASETS
from shortlist.errors import ParameterError
from shortlist.mechanisms import Mechanism, find_kind
from shortlist.privacy.numbers import quote

PAPER_LAWS = ("fastjoint", "joint", "pnf-peel", "cdp-peel")
"""The laws that the paper compares, in the order of its legend."""
OTHERS = ("fastjoint-buckets", "truncated-peel")
"""What the paper describes and does not run: appendix B.3, and the peel of Bhaskar et al. in section 6."""

_SPELLING = {
    "fastjoint": "FastJoint",
    "fastjoint-buckets": "FastJoint with buckets",
    "truncated-peel": "Truncated peel",
    "joint": "Joint",
    "pnf-peel": "PNF-Peel",
    "cdp-peel": "CDP-Peel",
    "laplace": "Laplace",
    "gamma": "Gamma",
}


class Maker(StrEnum):
    """Who wrote a program."""

    RELEASED = "released"
    """The program that the paper timed, from its authors or from Google."""
    PUBLISHED = "published"
    """The published algorithm, implemented here with NumPy in floating point."""
    OURS = "ours"
    """An exact mechanism of this package."""
    YOURS = "yours"
    """A mechanism of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parameters of one selection; beta is None for a mechanism without beta."""

    k: int
    epsilon: float
    beta: float | None = None

    def __str__(self) -> str:
        beta = "" if self.beta is None else f", β = {write_beta(self.beta)}"
        return f"k = {self.k}, ε = {self.epsilon:g}{beta}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program in the experiment."""

    law: str
    maker: Maker
    kind: type[Mechanism] | None = None
    """The class of a mechanism of the user."""

    @property
    def name(self) -> str:
        """The name in tables and commands.

        >>> Contender(law="joint", maker=Maker.RELEASED).name, Contender(law="joint", maker=Maker.OURS).name
        ('released-joint', 'joint')
        """
        return self.law if self.is_mechanism else f"{self.maker}-{self.law}"

    @property
    def label(self) -> str:
        """The name in figures and pages.

        >>> Contender(law="joint", maker=Maker.RELEASED).label, Contender(law="joint", maker=Maker.OURS).label
        ('Joint (released)', 'joint (ours)')
        """
        return f"{self.law if self.is_mechanism else self.spelling} ({self.maker})"

    @property
    def is_mechanism(self) -> bool:
        """Whether it is a mechanism, of this package or of the user."""
        return self.maker in (Maker.OURS, Maker.YOURS)

    @property
    def spelling(self) -> str:
        """The law as the paper spells it."""
        return _SPELLING.get(self.law, self.law)

    @property
    def has_beta(self) -> bool:
        """Whether the failure probability of the pruning is a parameter."""
        return self.law in ("fastjoint", "fastjoint-buckets")

    @property
    def is_unordered(self) -> bool:
        """Whether its lists have no order. They are compared as if sorted by their counts."""
        return self.law == "subset" or (self.kind is not None and self.kind(k=1, epsilon=1).unordered)

    @property
    def has_time(self) -> bool:
        """Whether its time is measured. Laplace and Gamma are compared by their errors only."""
        return self.law not in ("laplace", "gamma")

    @property
    def has_errors(self) -> bool:
        """Whether its errors are drawn in batches.

        The laws of the released Joint, PNF-Peel and CDP-Peel are those of the published ones, which are much faster to
        draw. The released FastJoint has errors of its own, because it repeats items. FastJoint with buckets has the law
        of FastJoint.
        """
        return self.law == "fastjoint" or (self.maker is not Maker.RELEASED and self.law != "fastjoint-buckets")

    def parameters(self, setting: Setting) -> dict[str, Any]:
        """The parameters of the program besides k and epsilon."""
        if self.has_beta:
            return {"beta": setting.beta}
        return {"delta": DELTA} if self.law in ("cdp-peel", "auto-delta") else {}

    @property
    def mechanism(self) -> str:
        """The name of our mechanism.

        >>> Contender(law="auto-delta", maker=Maker.OURS).mechanism
        'auto'
        """
        return self.law.removesuffix("-delta")

    def call(self, setting: Setting) -> dict[str, Any]:
        """The parameters of `top_k` and `prepare` that make its lists."""
        if self.kind is not None:
            return {"mechanism": self.kind(k=setting.k, epsilon=setting.epsilon)}
        given = {"k": setting.k, "epsilon": setting.epsilon, "mechanism": self.mechanism}
        return given | self.parameters(setting)

    def own(self, setting: Setting) -> Setting:
        """Return a setting without beta, if the program has no beta.

        >>> Contender(law="joint", maker=Maker.OURS).own(Setting(k=3, epsilon=1.0, beta=0.5))
        Setting(k=3, epsilon=1.0, beta=None)
        """
        return setting if self.has_beta else Setting(k=setting.k, epsilon=setting.epsilon)


def write_beta(beta: float) -> str:
    """Write a power of 2 as one.

    >>> write_beta(2.0**-10), write_beta(0.3)
    ('2⁻¹⁰', '0.3')
    """
    mantissa, exponent = math.frexp(beta)
    exponent -= 1
    digits = str(abs(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"2{'⁻' if exponent < 0 else ''}{digits}" if mantissa == 0.5 else f"{beta:g}"


TODAY = ("auto", "auto-delta", "margin-joint", "subset")
"""What this package offers beyond the paper's laws, in a section of their own. `auto-delta` is auto with a delta."""

_OURS = ("joint", "fastjoint", "pnf-joint", "pnf-peel", "cdp-peel", *TODAY)

CONTENDERS = {
    each.name: each
    for each in (
        *(Contender(law=law, maker=Maker.RELEASED) for law in PAPER_LAWS),
        *(Contender(law=law, maker=Maker.PUBLISHED) for law in (*PAPER_LAWS, *OTHERS, "laplace", "gamma")),
        *(Contender(law=law, maker=Maker.OURS) for law in _OURS),
    )
}


def add_mechanism(name: str) -> None:
    """Add a mechanism of the user: one that a package registers, one in a file of its own, or a class of a module."""
    place, colon, chosen = name.partition(":")
    found = _find_classes(place, chosen) if colon or place.endswith(".py") else [find_kind(name)]
    if len(found) != 1:
        raise ParameterError(
            "`mechanism` must name one class that inherits from shortlist.mechanisms.Mechanism",
            f"{place} has {len(found) or 'none'}{f' of the name {chosen}' if chosen else ''}",
            hint="name it after a colon: `mechanism='my_file.py:MyClass'`",
        )
    if found[0].name in CONTENDERS:
        text = f"{found[0].name} is among the programs already"
        raise ParameterError("`mechanism` must have a name of its own", text)
    CONTENDERS[found[0].name] = Contender(law=found[0].name, maker=Maker.YOURS, kind=found[0])


def _find_classes(place: str, chosen: str) -> list[type[Mechanism]]:
    """Import a file or a module, and find the class that is named, or all mechanisms that it defines."""
    path = Path(place)
    if path.suffix == ".py":
        if not path.is_file():
            raise ParameterError("`mechanism` must be a name, a file, or module:Class", f"there is no file {place}")
        sys.path.insert(0, str(path.parent))
        place = path.stem
    try:
        module = import_module(place)
    except Exception as error:  # of the user's own code
        text = f"{path} cannot be imported ({type(error).__name__}: {error})"
        raise ParameterError("`mechanism` must be a name, a file, or module:Class", text) from None
    own = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Mechanism)]
    return [each for each in own if (each.__name__ == chosen if chosen else each.__module__ == module.__name__)]


def list_today() -> tuple[str, ...]:
    """What is compared with the paper's laws: what this package offers beyond them, and mechanisms of the user."""
    return (*TODAY, *(name for name, each in CONTENDERS.items() if each.kind is not None))


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

_FEWER_KS = (10, 50, 100, 150, 200)
FEWEST_ROUNDS = 4
_LONG = 60.0
"""A cell whose list takes more seconds than this is timed once."""
_MOST = 1_000_000
"""The largest number of lists and of rounds. It guards against slips of the keyboard."""
_LARGEST_SEED = 2**63 - 1
"""The largest integer of the results file."""
_WATCHED_PLACES = 4_000_000


class Cell(NamedTuple):
    """One program at one setting on one data set."""

    dataset: str
    contender: str
    setting: Setting

    def seed(self, run: int, trial: int) -> int:
        """Return a seed for each trial. It follows from the seed of the run and the cell."""
        at = self.setting
        text = f"{run} {self.dataset} {self.contender} k={at.k} epsilon={at.epsilon!r} beta={at.beta!r}"
        return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:6]) << 32) + trial

    @property
    def label(self) -> str:
        """The program and the setting, as progress and reports show them."""
        return f"{CONTENDERS[self.contender].label}, {self.setting}"

    @property
    def is_slow(self) -> bool:
        """Whether it is Joint with all its subsets."""
        contender = CONTENDERS[self.contender]
        return contender.law == "joint" and contender.maker is not Maker.OURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which data sets and sweeps, how many lists for each error, and how many interleaved rounds for each time.

    A cell is timed in `rounds` rounds. One that takes long stops earlier: after `seconds` seconds, but not before 4
    rounds, unless a list takes more than a minute.
    """

    datasets: tuple[str, ...]
    vary: tuple[str, ...] = ("k", "epsilon", "beta")
    trials: int = 200
    rounds: int = 20
    seconds: float = 12.0
    seed: int = 0
    coarse: bool = False
    """Whether Joint is timed at five k only."""

    def __post_init__(self) -> None:
        _check_names("datasets", self.datasets, DATASETS)
        _check_names("vary", self.vary, SWEEPS)
        limits = (("trials", self.trials, _MOST), ("rounds", self.rounds, _MOST), ("seed", self.seed, _LARGEST_SEED))
        for name, number, most in limits:
            if not 0 <= number <= most:
                raise ParameterError(f"`{name}` must be between 0 and {most:,}", f"not {number:,}")
        if not self.trials and not self.rounds:
            raise ParameterError("`trials` or `rounds` must be at least 1", "both are 0, so nothing would be measured")
        if not self.seconds >= 0:  # This is also true of NaN.
            raise ParameterError("`seconds` must be a number of at least 0", f"not {self.seconds}")

    def error_cells(self, contenders: Mapping[str, Contender]) -> list[Cell]:
        """The cells whose errors are drawn, those of one k beside each other, so that Joint's sizes are found once."""
        cells = self._cells({name: each for name, each in contenders.items() if each.has_errors})
        return sorted(cells, key=lambda cell: (self.datasets.index(cell.dataset), cell.setting.k))

    def time_cells(self, contenders: Mapping[str, Contender]) -> list[Cell]:
        """The cells that are timed in every round, those of one setting beside each other."""
        cells = self._cells({name: each for name, each in contenders.items() if each.has_time})
        return [cell for cell in cells if not (self.coarse and cell.is_slow and cell.setting.k not in _FEWER_KS)]

    def memory_cells(self, contenders: Mapping[str, Contender], sizes: Mapping[str, int]) -> list[Cell]:
        """The cells whose memory is measured once: FastJoint and Joint at three k at which one list is fast enough."""
        settings = [Setting(k=k, epsilon=DEFAULT.epsilon, beta=DEFAULT.beta) for k in MEMORY_KS]
        watched = {name: each for name, each in contenders.items() if each.law in ("fastjoint", "joint")}
        return [
            cell
            for cell in self.time_cells(watched)
            if cell.setting in map(watched[cell.contender].own, settings)
            # Watching the memory of a program slows it down several times.
            and not (cell.is_slow and sizes[cell.dataset] * cell.setting.k > _WATCHED_PLACES)
        ]

    def count_rounds_left(self, rounds: int, spent: float, mean: float) -> int:
        """Count the rounds that a cell still gets after this many rounds and seconds, if each takes `mean` seconds.

        >>> grid = Grid(datasets=("games",), rounds=20, seconds=30)
        >>> [grid.count_rounds_left(rounds, spent, 2.0) for rounds, spent in ((0, 0), (5, 25), (3, 90), (4, 90))]
        [15, 3, 1, 0]
        """
        if spent > _LONG * rounds > 0:
            return 0
        affordable = (self.seconds - spent) / mean if mean > 0 else math.inf
        within = self.rounds if affordable >= self.rounds else rounds + max(0, math.ceil(affordable))
        return max(0, min(self.rounds, max(within, FEWEST_ROUNDS)) - rounds)

    def _cells(self, contenders: Mapping[str, Contender]) -> list[Cell]:
        # The default is in each sweep, so it may be there more than once.
        settings = [setting for name in SWEEPS if name in self.vary for setting in SWEEPS[name]]
        found = (
            Cell(dataset, contender.name, contender.own(setting))
            for dataset in self.datasets
            for setting in settings
            for contender in contenders.values()
        )
        return list(dict.fromkeys(found))


def list_programs(*, released: bool) -> dict[str, Contender]:
    """List the programs that can run. The released ones need their folder."""
    return {name: each for name, each in CONTENDERS.items() if released or each.maker is not Maker.RELEASED}


def _check_names(option: str, names: Collection[str], known: Collection[str]) -> None:
    wrong = [quote(name) for name in names if name not in known]
    if wrong or not names:
        found = f"{wrong[0]} is not one of them" if wrong else "none was given"
        raise ParameterError(f"`{option}` must be some of {', '.join(known)}", found)
