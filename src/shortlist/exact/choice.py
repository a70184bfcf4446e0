"""The first primitive: choose one of many cells with probability proportional to its weight, exactly.

This is inversion sampling. The cells lie end to end along [0, 1), each as long as its share of the weight. One
uniform real number is drawn, and the cell that contains it is chosen. Two ways of finding that cell give the same
answer. A `Table` finds it with floats when the number is farther from every border than the proven error of the
borders. Otherwise `quantile` finds it with ball arithmetic, at rising precision and with more bits of the same number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import methodcaller
from typing import Protocol, Self, TypeVar

import numpy as np
from flint import arb

from shortlist.array_types import BoolArray, FloatArray, IntArray, WordArray
from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.uniform import Uniform, draw_below


class Cell(Protocol):
    """An interval whose length can be enclosed. It may consist of smaller cells."""

    def weight(self) -> arb:
        """Enclose the weight. As precision rises, the ball of a cell that cannot be split shrinks to a point."""

    def split(self) -> Sequence[Self] | None:
        """Return the smaller cells in order, or None for a cell that is chosen as a whole."""


_BITS_PER_EFFORT = 24
_FLOAT_ERROR = 2.0**-50
"""Larger than the errors of a number and of a chance together, after both are rounded to floats."""

AnyCell = TypeVar("AnyCell", bound=Cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRange:
    """The candidates with a loss from `first` to `last`, each of the weight c = e^(−rate · loss), as a cell."""

    rate: Fraction
    count: Callable[[int], int]
    """Counts the candidates with a loss of at most a given one."""
    first: int
    last: int

    @property
    def members(self) -> int:
        """The number of candidates."""
        return self.count(self.last) - self.count(self.first - 1)

    def decay(self) -> arb:
        """Enclose the c of every candidate."""
        highest = enclose_exp_minus(self.rate * self.first)
        return highest if self.first == self.last else highest.union(enclose_exp_minus(self.rate * self.last))

    def weight(self) -> arb:
        """Enclose the sum of c over all candidates."""
        return self.members * self.decay()

    def split(self) -> list[LossRange] | None:
        """Return two halves, or the one half that has members, or None for a single loss."""
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        halves = replace(self, last=middle), replace(self, first=middle + 1)
        return [half for half in halves if half.members]


class Table:
    """Borders between cells as floats, with a bound on their error as a share of the whole."""

    __slots__ = ("_borders", "_unit", "slack")

    def __init__(self, weights: FloatArray, *, error: float, omitted: float, unit: int = 0) -> None:
        """Take weights with a relative error of at most `error`. Cells that are not listed weigh at most `omitted`.

        Both are in units of 2^unit.

        Claim   The error of a border, as a share of all weight, is at most `slack`, or `slack` is above 1.
        Proof   Let S be the true weight before a border, W that of all m cells listed, and e = error + 2^-52 m, as a
                running sum rounds m times at most. Then the computed sums are S(1 ± e) and W(1 ± e), and for e ≤ 1/4
                their quotient is within 8e/3 of S/W ≤ 1. Counting cells not listed, of weight o ≤ O before the border
                and O in all, the border lies at (S + o)/(W + O), within O/W of S/W; and W is at least 3/4 of what was
                computed. For e > 1/4, slack is above 1.
        """
        self._unit = unit
        self._borders = np.concatenate([[0.0], np.cumsum(weights)])
        # 2^-50 covers the float of the number itself, and the arithmetic of this line and of `locate_each`.
        summed = error + 2.0**-52 * len(weights)
        self.slack = float(4 * summed + 2 * omitted / self._borders[-1] + 2.0**-50)

    def enclose_total(self) -> arb:
        """Enclose the weight of all cells, listed or not. For e ≤ 1/4, the sum is off by 4e/3 + O/W, below `slack`."""
        return float(self._borders[-1]) * (1 + arb(0, self.slack)) * arb(2) ** self._unit

    def locate_each(self, words: WordArray, doubt: float = 0.0) -> IntArray:
        """Locate many numbers, given by their leading 64 bits. The index is −1 where floats cannot decide.

        `doubt` is added to the slack.
        """
        total = self._borders[-1]
        targets = words * 2.0**-64 * total
        # A number that rounds to 1 falls on the last border, where `certain` is false.
        index = np.minimum(self._borders.searchsorted(targets, side="right"), len(self._borders) - 1) - 1
        margin = (self.slack + doubt) * total
        certain = (self._borders[index] + margin < targets) & (targets < self._borders[index + 1] - margin)
        return np.where(certain, index, -1)


def quantile(number: Uniform, cells: Sequence[AnyCell]) -> AnyCell:
    """Find the cell that contains the number, with certainty.

    Rounds  A round that does not return splits a cell or draws 64 bits. There are finitely many cells to split, m in
            the end. After n draws every border is known to m 2^(−64 n) of the whole, up to a factor, so the n-th
            draw leaves the number within reach of one of m borders with probability O(m² 2^(−64 n)). The sum over
            n is finite, and so is the expected number of rounds.
    """
    while True:
        with use_precision(number.known + 64):
            cells, weights, total = refine(cells, methodcaller("weight"), lambda total: _is_known(total, number.known))
            target, end, hits = number.ball() * total, arb(0), []
            for index, weight in enumerate(weights):
                start, end = end, end + weight
                if not target < start and not target >= end:
                    hits.append(index)
            parts = cells[hits[0]].split()
        if len(hits) > 1:
            number.extend()
        elif parts is None:
            return cells[hits[0]]
        else:
            cells = [*cells[: hits[0]], *parts, *cells[hits[0] + 1 :]]


def choose_by_loss(losses: Sequence[int] | IntArray, rate: Fraction, bits: Bits) -> int:
    """Choose one of some losses, in any order, with probability proportional to e^(−rate · loss). Return its place.

    >>> from shortlist.exact.bits import SeededBits
    >>> choose_by_loss([2000, 0, 1000], Fraction(1), SeededBits(1))
    1
    """
    beyond = np.asarray(losses) - np.min(losses)
    rising = np.sort(beyond).tolist()
    everything = LossRange(rate=rate, count=partial(bisect_right, rising), first=0, last=rising[-1])
    chosen = quantile(Uniform(bits), [everything])  # all that have one loss
    return int(np.flatnonzero(beyond == chosen.first)[draw_below(chosen.members, bits)])


def refine(
    cells: Sequence[AnyCell], enclose: Callable[[AnyCell], arb], is_enough: Callable[[arb], bool]
) -> tuple[Sequence[AnyCell], list[arb], arb]:
    """Split cells until the sum of their enclosed numbers is narrow enough, or nothing wide can be split.

    Return the cells in order, their balls and the sum. A round splits the cells that add most to the radius of the
    sum: more than half of the average.

    Rounds  Every round but the last splits a cell, and there are finitely many.
    """
    balls, changed = [enclose(cell) for cell in cells], True
    while not is_enough(total := sum(balls, arb(0))) and changed:
        tolerance, wider, changed = total.rad() / (2 * len(cells)), zip(cells, balls, strict=True), False
        cells, balls = [], []
        for cell, enclosed in wider:
            parts = None if enclosed.rad() < tolerance else cell.split()
            changed |= parts is not None
            cells.extend([cell] if parts is None else parts)
            balls.extend([enclosed] if parts is None else map(enclose, parts))
    return cells, balls, total


def _is_known(number: arb, bits: int) -> bool:
    return bool(number.rad() < number.lower() * arb(2) ** -bits)


def is_below(number: Uniform, enclose: Callable[[int], arb]) -> bool:
    """Decide with certainty whether a number is below a chance, which is enclosed more narrowly with more effort.

    Rounds  More effort and more bits shrink the chance and the number to points, which are equal with probability zero.
    """
    effort = 0
    while True:
        with use_precision(number.known + 64):
            chance, shown = enclose(effort), number.ball()
            if shown < chance:
                return True
            if shown >= chance:
                return False
        effort += 1
        number.extend()


def are_below(
    words: WordArray,
    enclose: Callable[[int, int], arb],
    bits: Bits,
    *,
    least: FloatArray | float,
    most: FloatArray | float,
) -> BoolArray:
    """Decide whether numbers are below chances, each given by its leading 64 bits and with its own chance.

    A chance rounds to a float from `least` to `most`. Floats decide if the number is not near them.
    `enclose(i, effort)` encloses the i-th chance, as for `is_below`.
    """
    numbers = words * 2.0**-64
    below: BoolArray = numbers < least - _FLOAT_ERROR
    for i in np.flatnonzero(~below & (numbers <= most + _FLOAT_ERROR)).tolist():
        below[i] = is_below(Uniform(bits, int(words[i])), lambda effort, i=i: enclose(i, effort))  # type: ignore[misc]
    return below


def enclose_sum(cells: Sequence[AnyCell], effort: int) -> arb:
    """Enclose the sum of the weights of some cells to 24 bits for each effort."""
    return refine(cells, methodcaller("weight"), lambda total: _is_known(total, _BITS_PER_EFFORT * effort))[2]
