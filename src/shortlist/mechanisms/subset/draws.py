"""The sampler behind Subset: a mixture over pairs of losses, evaluated only where its weight is.

With q = e^(−rate) and a set S of n items with upper loss x, lower loss y and gap g (see `Sets`), the law is
P(S) ∝ q^(x + y − g). It is the law of this procedure: draw a size n and two losses (X, Y) with probability ∝
q^(−g) (1 − q)² q^(X + Y) C(r(X) + m(Y), r(X)), then draw S uniformly among the sets of n items with losses of at most X
and Y. The proof is in subset.proof.md.

Pairs are drawn in blocks, as losses are in Joint. In the weight of a block, every pair counts as many sets as the last
one allows. Rejection sampling corrects this.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, quantile
from shortlist.exact.scaled import concatenate
from shortlist.exact.shuffles import draw_distinct_below, draw_distinct_below_each, permute_each
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.spans import count_bits, draw_reaches, draw_reaches_each
from shortlist.mechanisms.subset.grid import Grid, SetCell
from shortlist.mechanisms.subset.sets import Sets
from shortlist.mechanisms.weights import Weights
from shortlist.profile import EVERY_LEVEL, Levels, ManyPicks, Picks, Profile, cut_batches

_REACH_BITS = 64

Mask = NDArray[np.bool_]


class SetMixture(Prepared):
    """The law of Subset on given levels, ready to be drawn from."""

    def __init__(self, levels: Levels, *, sizes: range, rate: Fraction) -> None:
        """Prepare P(S) ∝ e^(−rate · loss of S) over the sets of these sizes."""
        self._levels = levels
        self._sizes = sizes
        self._rate = rate
        self._all_bits = count_set_bits(levels.d, sizes)
        self._reach = find_reach(self._all_bits, rate)
        self._shown = self._read_profile(self._reach)
        families = [Sets(self._shown, n, self._reach) for n in sizes]
        self._widest = max(sets.gap for sets in families)
        self._grids = [
            Grid(sets, rate, offset=self._widest - sets.gap, reach=self._reach)
            for sets in families
            if self._widest - sets.gap <= self._reach
        ]
        self._table, self._ends = self._tabulate()

    def draw(self, bits: Bits) -> Picks:
        """Choose a set of items, in random order."""
        while True:
            cell = self._choose(Uniform(bits))
            positions = _draw_positions(cell, bits)
            if self._accept(cell, np.sort(positions), bits):
                shuffled = positions[draw_distinct_below(np.full(len(positions), len(positions)), bits)]
                return replace(cell.sets.profile.picks(shuffled), unordered=True)

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose n sets of items. Where sets may have several sizes, one draw follows the other."""
        if len(self._sizes) > 1:
            return ManyPicks.join(Prepared.draw_many(self, n, bits))
        k = self._sizes[0]
        parts = [
            self._choose_profile(positions).picks(positions)
            for size in cut_batches(n, k)
            if (positions := self._draw_many_positions(size, bits).ravel()) is not None
        ]
        return replace(ManyPicks.join(parts).reshape(k), unordered=True)

    def _draw_many_positions(self, n: int, bits: Bits) -> IntArray:
        """Draw n sets of one size by positions, a row for each. Draws that floats cannot decide are made one by one.

        The first positions of a row are forced, and need no bits. The others are distinct, as in a shuffle.
        """
        grid, k = self._grids[0], self._sizes[0]
        positions = np.empty((n, k), dtype=np.int64)
        missing = np.arange(n)
        while len(missing):
            words = draw_words(len(missing), bits)
            cells = self._table.locate_each(words)
            known = np.flatnonzero(cells >= 0)
            rows, columns = np.divmod(cells[known], len(grid.columns) - 1)
            places = grid.sets.upper.sizes[grid.rows[rows + 1] - 1]
            allowed = k + grid.sets.lower.sizes[grid.columns[columns + 1] - 1]
            steps = np.arange(k)
            bounds = np.where(steps < (k - places)[:, None], steps + 1, allowed[:, None])
            drawn = draw_distinct_below_each(bounds, bits)
            kept = np.ones(len(known), dtype=bool)
            if not grid.single:
                kept = self._accept_each(grid, rows, columns, np.sort(drawn, axis=1), bits)
            positions[missing[known[kept]]] = drawn[kept]
            left = [known[~kept]]
            for i in np.flatnonzero(cells < 0).tolist():
                exact = quantile(Uniform(bits, int(words[i])), self.cells())
                single = _draw_positions(exact, bits)
                if self._accept(exact, np.sort(single), bits):
                    positions[missing[i]] = single
                else:
                    left.append(np.array([i]))
            missing = missing[np.concatenate(left)]
        return np.take_along_axis(positions, permute_each(n, k, bits), axis=1)

    def _choose_profile(self, positions: IntArray) -> Profile:
        return self._shown if positions.max() < self._shown.ends[-1] else self.complete_profile

    def cells(self) -> list[SetCell]:
        """Cover all pairs of losses of all sizes with exact weights: the blocks of the table, and then the rest."""
        complete = [Sets(self.complete_profile, n, EVERY_LEVEL) for n in self._sizes]
        tabulated = {grid.sets.n: grid for grid in self._grids}
        pairs = [(sets, tabulated[sets.n]) for sets in complete if sets.n in tabulated]
        listed = [cell for sets, grid in pairs for cell in grid.cells(sets)]
        rest = [cell for sets, grid in pairs for cell in grid.rest(sets)]
        others = [
            SetCell(
                rate=self._rate,
                sets=sets,
                offset=self._widest - sets.gap,
                rows=(0, len(sets.upper)),
                columns=(0, len(sets.lower)),
            )
            for sets in complete
            if sets.n not in tabulated
        ]
        return [*listed, *rest, *others]

    @property
    def best_number(self) -> int:
        """How many sets have the smallest loss, where all sets have one size."""
        return self._grids[0].sets.number(0, 0)

    def total(self) -> arb:
        """Enclose the sum of e^(−rate · (loss − smallest loss)) over all sets, from floats with a proven error."""
        highest, lowest = (
            Weights(concatenate([grid.weights(lowest=each) for grid in self._grids]), self._bound_left_out()).total()
            for each in (False, True)
        )
        return highest.union(lowest)

    @property
    def escalation_bound(self) -> float:
        """An upper bound of the probability that floats cannot choose a block."""
        return self._table.escalation_bound

    @cached_property
    def complete_profile(self) -> Profile:
        """All levels, for the rare draws that the table cannot decide."""
        return self._read_profile(EVERY_LEVEL)

    def _read_profile(self, depth: int) -> Profile:
        # One item more than the largest set. Its count shows by how much the top set leads.
        return self._levels.above(min(self._sizes[-1] + 1, self._levels.d), depth)

    def _tabulate(self) -> tuple[Table, IntArray]:
        """Tabulate all blocks, and return where the blocks of each size end in the table."""
        parts = [grid.weights() for grid in self._grids]
        return Weights(concatenate(parts), self._bound_left_out()).table(), np.cumsum(
            [len(part.mantissa) for part in parts]
        )

    def _bound_left_out(self) -> FloatArray:
        """Bound from above, in bits, the weights of all pairs without a place in the table."""
        left_out = np.concatenate([grid.bound_left_out() for grid in self._grids])
        if len(self._grids) < len(self._sizes) or not all(grid.whole for grid in self._grids):
            # Pairs with an upper or a lower loss beyond the reach, and the sizes that are not in the table.
            left_out = np.append(left_out, self._all_bits + 2 - count_bits(self._rate, self._reach))
        return left_out

    def _choose(self, number: Uniform) -> SetCell:
        """Find the block that a number hits."""
        index = self._table.locate(number)
        return quantile(number, self.cells()) if index is None else self._find_cell(index)

    def _find_cell(self, index: int) -> SetCell:
        """Return the block at a place in the table."""
        table = int(np.searchsorted(self._ends, index, side="right"))
        grid = self._grids[table]
        row, column = divmod(index - (int(self._ends[table - 1]) if table else 0), len(grid.columns) - 1)
        return SetCell(
            rate=self._rate,
            sets=grid.sets,
            offset=grid.offset,
            rows=(int(grid.rows[row]), int(grid.rows[row + 1])),
            columns=(int(grid.columns[column]), int(grid.columns[column + 1])),
            padded=True,
        )

    def _accept(self, cell: SetCell, positions: IntArray, bits: Bits) -> bool:
        """Draw a pair of losses of a block, and return whether it allows the set at these positions."""
        if cell.rows[1] - cell.rows[0] == cell.columns[1] - cell.columns[0] == 1:
            return True
        pairs = zip(cell.spans(), cell.sets.compute_losses(positions), strict=True)
        return all(draw_reaches(span, loss, bits) for span, loss in pairs)

    def _accept_each(self, grid: Grid, rows: IntArray, columns: IntArray, sets: IntArray, bits: Bits) -> Mask:
        """Do what `_accept` does for many sets, whose blocks are in some rows and columns of the grid."""
        kept = np.ones(len(sets), dtype=bool)
        several = (np.diff(grid.rows)[rows] > 1) | (np.diff(grid.columns)[columns] > 1)
        places = np.flatnonzero(several)
        if len(places):
            steps = (grid.sets.upper, grid.rows, rows[places]), (grid.sets.lower, grid.columns, columns[places])
            for (axis, edges, index), losses in zip(steps, grid.sets.compute_losses_each(sets[places]), strict=True):
                starts, ends = axis.find_bounds_each(edges[index], edges[index + 1])
                kept[places] &= draw_reaches_each(self._rate, starts, ends, losses, bits)
        return kept


def _draw_positions(cell: SetCell, bits: Bits) -> IntArray:
    """Draw a uniform set among those that the last pair of a block allows, by positions in falling order of count."""
    places = int(cell.sets.upper.sizes[cell.rows[1] - 1])
    allowed = places + int(cell.sets.lower.sizes[cell.columns[1] - 1])
    forced = cell.sets.n - places
    if not places:
        return np.arange(forced)
    return np.concatenate([np.arange(forced), forced + draw_distinct_below(np.full(places, allowed), bits)])


def count_set_bits(d: int, sizes: range) -> float:
    """Bound from above the logarithm, to base 2, of the number of sets of these sizes among d items.

    C(d, n) = C(d, m) ≤ (e d / m)^m with m = min(n, d − n), which grows with m.
    """
    nearest = min(max(d // 2, sizes[0]), sizes[-1])
    m = min(nearest, d - nearest)
    most = m * (math.log2(math.e) + math.log2(d / m)) if m else 0.0
    return most * (1 + 2.0**-40) + math.log2(len(sizes)) + 1


def find_reach(all_bits: float, rate: Fraction) -> int:
    """Find a loss such that the number of all sets times q^loss is below 2^-64, the best set having weight 1."""
    nats = math.ceil((all_bits + _REACH_BITS) * math.log(2))
    return min(EVERY_LEVEL, nats * rate.denominator // rate.numerator + 1)
