"""Draw which of very many independent events happen, exactly. The cost grows with the number that happen.

The hazard of an event of probability p is λ = −ln(1 − p). The event happens if a Poisson process of rate λ has a point.
All events together have a Poisson number of points. Each point is on an event with probability ∝ its hazard. So the
number of points is drawn first, and then an event for each. An event that is drawn twice counts once. Events are in
groups of equal hazard.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import arb, ctx

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, quantile
from shortlist.exact.logarithms import compute_hazards
from shortlist.exact.scaled import Scaled
from shortlist.exact.uniform import Uniform, draw_below_each, draw_words

_HAZARD_ROUNDINGS = 48
_SMALL_TOTAL = 600.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Groups of independent events: group i has `sizes[i]` events of the hazard `hazard(i)`, which falls with i."""

    sizes: IntArray
    hazard: Callable[[int], arb]
    """Encloses the hazard of an event of a group, at the working precision."""


class Crossings:
    """The first groups of independent events, prepared for drawing which of them happen.

    `rates` are the hazards of the first groups, each off by at most `error` of itself. The hazards of all other events
    sum to `omitted` at most. `all_groups` gives all groups, for the draws that floats cannot decide.
    """

    def __init__(
        self, sizes: IntArray, rates: FloatArray, *, error: float, omitted: float, all_groups: Callable[[], Groups]
    ) -> None:
        self._sizes = sizes
        self._find_groups = all_groups
        weights = sizes * rates
        error += 2.0**-53
        self._table = Table(weights, error=error, omitted=omitted) if weights.any() else None
        total = float(weights.sum())
        self._numbers = _tabulate_poisson(total, error + 2.0**-52 * (len(weights) + 2), omitted)

    @classmethod
    def of_chances(
        cls, sizes: IntArray, chances: Scaled, *, omitted: float, all_groups: Callable[[], Groups]
    ) -> Crossings:
        """Take the probabilities of the first groups, none above 1/2, in place of their hazards."""
        # If p is off by e of itself, and p ≤ 1/2, −ln(1 − p) is off by 3e/2 of itself at most.
        error = 1.5 * chances.error + 2.0**-52 * _HAZARD_ROUNDINGS
        omitted += float(sizes.sum()) * 2.0**-1000  # what `align` loses
        return cls(sizes, compute_hazards(chances.align(0)), error=error, omitted=omitted, all_groups=all_groups)

    @property
    def groups(self) -> int:
        """How many groups floats know."""
        return len(self._sizes)

    def draw(self, n: int, bits: Bits) -> tuple[IntArray, IntArray, IntArray]:
        """Draw n times: for each event that happens, in which draw, its group, and its index inside the group."""
        words = draw_words(n, bits)
        counts = self._numbers.locate_each(words)
        for i in np.flatnonzero(counts < 0).tolist():
            counts[i] = quantile(Uniform(bits, int(words[i])), self._list_poisson_cells()).first
        draws = np.repeat(np.arange(n), counts)
        if not len(draws):
            return draws, draws, draws
        points = np.column_stack([draws, *self._draw_points(len(draws), bits)])
        points = points[np.lexsort(points.T[::-1])]
        different = np.append(True, (points[1:] != points[:-1]).any(axis=1))
        draws, groups, indices = points[different].T
        return draws, groups, indices

    def _draw_points(self, count: int, bits: Bits) -> tuple[IntArray, IntArray]:
        """Draw events independently, each with a probability proportional to its hazard."""
        words = draw_words(count, bits)
        groups = self._table.locate_each(words) if self._table else np.full(count, -1)
        for i in np.flatnonzero(groups < 0).tolist():
            cell = GroupCell(groups=self._groups, first=0, last=len(self._groups.sizes) - 1)
            groups[i] = quantile(Uniform(bits, int(words[i])), [cell]).first
        sizes = self._sizes if int(groups.max()) < len(self._sizes) else self._groups.sizes
        return groups, draw_below_each(sizes[groups], bits)

    @cached_property
    def _groups(self) -> Groups:
        return self._find_groups()

    @cached_property
    def _hazards(self) -> dict[int, arb]:
        """The sum of all hazards by working precision."""
        return {}

    def _enclose_total(self) -> arb:
        if ctx.prec not in self._hazards:
            groups = self._groups
            terms = (size * groups.hazard(i) for i, size in enumerate(groups.sizes.tolist()))
            self._hazards[ctx.prec] = sum(terms, arb(0))
        return self._hazards[ctx.prec]

    def _list_poisson_cells(self) -> Sequence[PoissonCell]:
        last = self._numbers.size
        single = [PoissonCell(total=self._enclose_total, first=n, rest=False) for n in range(last)]
        return [*single, PoissonCell(total=self._enclose_total, first=last, rest=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonCell:
    """A number of points, or that number and all larger ones, with the weight Λ^n / n!."""

    total: Callable[[], arb]
    first: int
    rest: bool

    def weight(self) -> arb:
        """Enclose the weight. From n > 2Λ on, weights halve at least, so they sum to less than twice the first."""
        total = self.total()
        weight = total**self.first / arb(math.factorial(self.first))
        if not self.rest:
            return weight
        return weight.union(2 * weight) if 2 * total < self.first else weight.union(total.exp())

    def split(self) -> Sequence[PoissonCell] | None:
        """Split off the first number."""
        return (replace(self, rest=False), replace(self, first=self.first + 1)) if self.rest else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCell:
    """The events of the groups from `first` to `last`, with their hazards as weights."""

    groups: Groups
    first: int
    last: int

    def weight(self) -> arb:
        """Enclose the sum of the hazards of all events."""
        members = int(self.groups.sizes[self.first : self.last + 1].sum())
        return members * self.groups.hazard(self.first).union(self.groups.hazard(self.last))

    def split(self) -> Sequence[GroupCell] | None:
        """Split into two halves, unless there is only one group."""
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        return replace(self, last=middle), replace(self, first=middle + 1)


def _tabulate_poisson(total: float, error: float, omitted: float) -> Table:
    """Tabulate Λ^n / n!, where Λ is off by `error` of itself, and by `omitted` more at most."""
    count = int(total + 12 * math.sqrt(total) + 60)
    weights = _multiply_poisson(total, count)
    # From n = count on, a weight is less than Λ / count times the one before. Adding o to Λ multiplies e^Λ by e^o.
    ratio = total / count
    rest = float(weights[-1]) * ratio / (1 - ratio) + 2 * omitted * float(weights.sum()) + count * 2.0**-1000
    return Table(weights, error=count * (error + 2.0**-51), omitted=rest)


def _multiply_poisson(total: float, count: int) -> FloatArray:
    """Compute Λ^n / n! for n below `count`, up to a common factor. A weight has 2n roundings, or is below 2^-1000."""
    if total < _SMALL_TOTAL:  # no weight is above e^Λ
        return np.concatenate([[1.0], np.multiply.accumulate(total / np.arange(1.0, count))])
    mantissas, exponents = [0.5], [1]
    for n in range(1, count):
        mantissa, shift = math.frexp(mantissas[-1] * total / n)
        mantissas.append(mantissa)
        exponents.append(exponents[-1] + shift)
    powers = np.array(exponents)
    weights: FloatArray = np.ldexp(np.array(mantissas), np.maximum(powers - powers.max(), -2000).astype(np.int32))
    return weights
