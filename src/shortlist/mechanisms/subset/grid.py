"""Pairs of losses in blocks: which of them carry the weight of all sets of one size, and how much."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.scaled import Scaled, concatenate, power, powers
from shortlist.mechanisms.spans import Span, compute_lengths, count_bits
from shortlist.mechanisms.subset.sets import Sets, Steps, count_sets

# These constants never change a probability. They trade the time of preparing for the time of drawing.
_LEFT_OUT_BITS = 56
"""A block of less than 2^-56 of the whole is left out of the table."""
_COARSE = 24
"""The number of ranges of each loss in a coarse first pass, which finds the blocks that carry the weight."""
_FEW_PAIRS = 1 << 11
"""Below this many pairs, computing all of them is faster than a coarse first pass."""
_MOST_PAIRS = 1 << 15
"""For more pairs than this, a block holds several, and a draw from it may be rejected."""
_STEEP_BITS = 2
"""In a block of several steps, the number of sets grows by less than 2^4 along either loss."""


class Grid:
    """The blocks of pairs (upper loss, lower loss) that are worth a place in a table, for sets of one size.

    Rows are ranges of upper losses, columns are ranges of lower losses. The block of a row and a column has the
    weight q^offset · (q^a − q^b)(q^c − q^d) · (number of sets that its largest losses allow).
    """

    def __init__(self, sets: Sets, rate: Fraction, *, offset: int, reach: int) -> None:
        self.sets = sets
        self.offset = offset
        self._rate = rate
        self._upper, self._lower = sets.upper.cut(reach), sets.lower.cut(reach)
        core, self._left_out = _find_core(self._upper, self._lower, rate)
        self.rows, self.columns = _divide(self._upper, self._lower, core)

    @property
    def single(self) -> bool:
        """Whether every block consists of one step of either loss."""
        return int(np.diff(self.rows).max()) == int(np.diff(self.columns).max()) == 1

    def weights(self, *, lowest: bool = False) -> Scaled:
        """Compute the weights of all blocks, row after row. With `lowest`, a pair counts the sets of the first one."""
        rows, columns = (_weigh(self._rate, *axis) for axis in ((self._upper, self.rows), (self._lower, self.columns)))
        high, wide = (edges[:-1] if lowest else edges[1:] - 1 for edges in (self.rows, self.columns))
        numbers = count_sets(self._upper.sizes[high], self._lower.sizes[wide])
        whole = numbers * _reshape(rows, (-1, 1)) * _reshape(columns, (1, -1))
        mantissa, exponent = power(self._rate, self.offset)
        shifted = Scaled(mantissa=np.array([mantissa]), exponent=np.array([exponent]), roundings=2)
        return _reshape(whole, (-1,)) * shifted

    @property
    def whole(self) -> bool:
        """Whether no loss lies beyond the reach."""
        return self._upper.end is None and self._lower.end is None

    def bound_left_out(self) -> FloatArray:
        """Bound from above, in bits, the weights of the pairs below the reach that have no place in the table."""
        return self._left_out - count_bits(self._rate, self.offset)

    def cells(self, complete: Sets) -> list[SetCell]:
        """The blocks in the order of `weights`, with exact weights."""
        return [
            SetCell(rate=self._rate, sets=complete, offset=self.offset, rows=rows, columns=columns, padded=True)
            for rows in pairwise(self.rows.tolist())
            for columns in pairwise(self.columns.tolist())
        ]

    def rest(self, complete: Sets) -> list[SetCell]:
        """Cover all other pairs, with exact weights."""
        top, bottom = int(self.rows[0]), int(self.rows[-1])
        left, right = int(self.columns[0]), int(self.columns[-1])
        high, wide = len(complete.upper), len(complete.lower)
        pieces = [
            ((0, top), (0, wide)),
            ((bottom, high), (0, wide)),
            ((top, bottom), (0, left)),
            ((top, bottom), (right, wide)),
        ]
        return [
            SetCell(rate=self._rate, sets=complete, offset=self.offset, rows=rows, columns=columns)
            for rows, columns in pieces
            if rows[0] < rows[1] and columns[0] < columns[1]
        ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetCell:
    """The pairs of losses on some steps of r and m, with their exact weight.

    In the weight of a `padded` cell, every pair counts as many sets as the last one allows. The weight of any other
    cell is bounded from below by its first pair and from above by its last.
    """

    rate: Fraction
    sets: Sets
    offset: int
    rows: tuple[int, int]
    columns: tuple[int, int]
    padded: bool = False

    def spans(self) -> tuple[Span, Span]:
        """The ranges of the upper and of the lower loss."""
        (first, after), (left, right) = self.rows, self.columns
        start, end = self.sets.upper.find_bounds(first, after)
        begin, stop = self.sets.lower.find_bounds(left, right)
        return Span(rate=self.rate, start=start, end=end), Span(rate=self.rate, start=begin, end=stop)

    def most(self) -> int:
        """Count the sets that the last pair allows."""
        return self.sets.number(self.rows[1] - 1, self.columns[1] - 1)

    def least(self) -> int:
        """Count the sets that the first pair allows."""
        return self.sets.number(self.rows[0], self.columns[0])

    def weight(self) -> arb:
        """Enclose the weight."""
        upper, lower = self.spans()
        number = arb(self.most())
        if not self.padded:
            number = number.union(arb(self.least()))
        return enclose_exp_minus(self.rate * self.offset) * upper.weight() * lower.weight() * number

    def split(self) -> tuple[SetCell, SetCell] | None:
        """Return two halves, or None if all pairs in the cell allow the same sets."""
        if self.padded or self.least() == self.most():
            return None
        (first, after), (left, right) = self.rows, self.columns
        if after - first >= right - left:
            middle = (first + after) // 2
            return replace(self, rows=(first, middle)), replace(self, rows=(middle, after))
        middle = (left + right) // 2
        return replace(self, columns=(left, middle)), replace(self, columns=(middle, right))


def _find_core(upper: Steps, lower: Steps, rate: Fraction) -> tuple[tuple[int, int, int, int], FloatArray]:
    """Find the rows and columns that carry the weight, and bound what lies outside, in bits.

    With N sets allowed by the last pair of a block and (a, c) its first pair, the block weighs at most N q^(a+c). All
    sets together weigh at least N q^(a+c) for N and (a, c) of any single pair. Exponents of two are enough to
    compare them. Three bits allow for this, and for the error of `count_bits`.
    """
    top, bottom, left, right = 0, len(upper), 0, len(lower)
    outside: list[FloatArray] = [np.empty(0)]
    costs = count_bits(rate, upper.starts), count_bits(rate, lower.starts)
    while (area := (bottom - top) * (right - left)) > _FEW_PAIRS:
        rows, columns = _cut(top, bottom), _cut(left, right)
        exponents = count_sets(upper.sizes[rows[1:] - 1], lower.sizes[columns[1:] - 1]).exponent
        most = exponents - costs[0][rows[:-1], None] - costs[1][columns[:-1]] + 3
        sure = exponents - costs[0][rows[1:] - 1, None] - costs[1][columns[1:] - 1]
        heavy = most > sure.max() - _LEFT_OUT_BITS
        high, wide = np.flatnonzero(heavy.any(axis=1)), np.flatnonzero(heavy.any(axis=0))
        core = np.ix_(range(high[0], high[-1] + 1), range(wide[0], wide[-1] + 1))
        dropped = np.ones(most.shape, dtype=bool)
        dropped[core] = False
        outside.append(most[dropped])
        top, bottom = int(rows[high[0]]), int(rows[high[-1] + 1])
        left, right = int(columns[wide[0]]), int(columns[wide[-1] + 1])
        if 2 * (bottom - top) * (right - left) > area:
            break
    return (top, bottom, left, right), np.concatenate(outside)


def _cut(first: int, after: int) -> IntArray:
    """Cut a range of steps into at most `_COARSE` parts."""
    return np.append(np.arange(first, after, -(-(after - first) // _COARSE)), after)


def _divide(upper: Steps, lower: Steps, core: tuple[int, int, int, int]) -> tuple[IntArray, IntArray]:
    """Cut rows and columns into blocks: single steps if there are few, else blocks with similar numbers of sets."""
    top, bottom, left, right = core
    rows, columns = np.arange(top, bottom + 1), np.arange(left, right + 1)
    if (bottom - top) * (right - left) <= _MOST_PAIRS:
        return rows, columns
    places, spare = upper.sizes[top:bottom], lower.sizes[left:right]
    some = _thin_out(places, int(spare[-1])), _thin_out(spare, int(places[-1]))
    down = count_sets(places[some[0]], spare[-1:]).exponent[:, 0]
    across = count_sets(places[-1:], spare[some[1]]).exponent[0]
    return (
        np.append(rows[some[0][_find_edges(down)]], bottom),
        np.append(columns[some[1][_find_edges(across)]], right),
    )


def _thin_out(sizes: IntArray, others: int) -> IntArray:
    """Choose steps between which C(size + others, others) grows by one bit at most, unless it does in one step.

    C(m′ + n, n) / C(m + n, n) is at most (m′ / m)^n.
    """
    marks = np.floor(np.log2(np.maximum(sizes, 1)) * others)
    return np.flatnonzero(np.concatenate([[True], marks[1:] > marks[:-1]]))


def _find_edges(exponents: IntArray) -> IntArray:
    """Find where blocks begin, such that exponents inside a block differ by at most `_STEEP_BITS`."""
    return np.array(list(_find_starts(exponents.tolist())))


def _find_starts(exponents: list[int]) -> Iterator[int]:
    limit = -math.inf
    for index, exponent in enumerate(exponents):
        if exponent > limit:
            limit = exponent + _STEEP_BITS
            yield index


def _weigh(rate: Fraction, steps: Steps, edges: IntArray) -> Scaled:
    """Compute q^a − q^b for consecutive ranges of steps, and q^a for a last range without an end."""
    starts = steps.starts[edges[:-1]]
    ends = steps.starts[edges[1:-1]]
    last = steps.find_bounds(int(edges[-2]), int(edges[-1]))[1]
    decays = powers(rate, starts)
    if last is not None:
        return decays * compute_lengths(rate, np.append(ends, last) - starts)
    one = Scaled(mantissa=np.ones(1), exponent=np.zeros(1, dtype=np.int64), roundings=0)
    return decays * (concatenate([compute_lengths(rate, ends - starts[:-1]), one]) if len(ends) else one)


def _reshape(numbers: Scaled, shape: tuple[int, ...]) -> Scaled:
    return Scaled(
        mantissa=numbers.mantissa.reshape(shape),
        exponent=numbers.exponent.reshape(shape),
        roundings=numbers.roundings,
    )
