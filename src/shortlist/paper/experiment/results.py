"""The rows of a run, found by data set, mechanism and sweep."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from shortlist.paper.data.datasets import titled
from shortlist.paper.experiment.contenders import CONTENDERS, Setting
from shortlist.paper.experiment.grid import SWEEPS, own_setting
from shortlist.paper.experiment.measure import Row

Key = tuple[str, str, Setting]


def key(row: Row) -> Key:
    """What names a row: there is one for each cell."""
    return row.dataset, row.contender, Setting(k=row.k, epsilon=row.epsilon, beta=row.beta)


class Results:
    """Rows of a run, those of cells that failed among them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)

    @cached_property
    def measured(self) -> dict[Key, Row]:
        """The rows of cells that did not fail."""
        return {key(row): row for row in self.rows if row.failure is None}

    @cached_property
    def failures(self) -> tuple[Row, ...]:
        """The rows of cells that failed."""
        return tuple(row for row in self.rows if row.failure is not None)

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with a measured row, smallest first."""
        sizes = {row.dataset: row.d for row in self.measured.values()}
        return tuple(sorted(sizes, key=lambda name: sizes[name]))

    @cached_property
    def real(self) -> tuple[str, ...]:
        """Those of them that are no stand-ins."""
        absent = {row.dataset for row in self.rows if row.stand_in}
        return tuple(name for name in self.datasets if name not in absent)

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """The mechanisms with a measured row, in the order of the experiment."""
        found = {row.contender for row in self.measured.values()}
        return tuple(name for name in CONTENDERS if name in found)

    def title(self, dataset: str) -> str:
        """The name of a data set, and beside it whether it is a stand-in."""
        return titled(dataset, stand_in=dataset not in self.real)

    def at(self, dataset: str, contender: str, setting: Setting) -> Row | None:
        """The row of a mechanism at a setting of a sweep; for one without beta, whatever beta is."""
        return self.measured.get((dataset, contender, own_setting(CONTENDERS[contender], setting)))

    def sweep(self, dataset: str, contender: str, vary: str) -> list[tuple[float, Row]]:
        """The measured rows along a sweep, each with the value that varies."""
        pairs = ((getattr(setting, vary), self.at(dataset, contender, setting)) for setting in SWEEPS[vary])
        return [(value, row) for value, row in pairs if row is not None]

    def swept(self, vary: str) -> bool:
        """Whether the published FastJoint was measured at more than one value of a sweep."""
        return any(len(self.sweep(name, "published-fastjoint", vary)) > 1 for name in self.datasets)
