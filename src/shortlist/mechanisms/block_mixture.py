"""Laws in which a candidate has a probability ∝ q^(its loss), drawn exactly in blocks of losses.

Let q = e^(−rate). Candidates are lists or sets of items, in *families*. A family knows how many of its candidates have
losses of at most given ones. A candidate has one loss L, or two of which only the sum counts. As
q^L = (1 − q) Σ_{r ≥ L} q^r, this procedure has the law ∝ q^L: draw a loss r with probability ∝ (1 − q) q^r N_r, where
N_r candidates have a loss of at most r. Then draw one of these uniformly.

Losses are drawn in blocks [a, b). The weight of a block is (q^a − q^b) N_{b−1}: every loss counts as many candidates as
the last one allows. Rejection corrects this: after a candidate is drawn, a loss r of the block is drawn with
probability ∝ q^r, and the candidate is kept if its loss is at most r. A block of one loss rejects nothing. Any division
into blocks gives the same law (joint.proof.md, Theorem 2), so floats may choose it.

Which block is drawn is a function of one uniform number. Floats find it if the number is farther from every border than
the proven error of the borders, and balls find it otherwise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, are_below, enclose_sum, quantile
from shortlist.exact.scaled import Scaled, compute_shortfalls, concatenate, powers
from shortlist.exact.uniform import Uniform, draw_distinct_below, draw_words
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import EVERY_LEVEL, Picks

LEFT_OUT_BITS = 50
"""A block of less than 2^-50 of the whole weight is left out of the table. Balls find it then."""
REACH_BITS = 64
"""Losses beyond the reach have less than 2^-64 of the weight of the best candidate, all together."""
STEEP_BITS = 3
"""Inside a block of several losses, N_r grows by less than 2^4. So a candidate is kept with a probability of at least
1/16 for each loss. Where the weight is greatest, N_r grows as fast as q^r falls, which keeps about 0.4."""

BITS = math.log2(math.e)
"""A vote of loss has the weight 2^(−BITS · rate). With three roundings, a multiple is off by far less than one bit."""
_BATCH = 1 << 14
"""How many items are drawn at once, so that n draws need no memory for all of them."""
_NOTHING = Picks(levels=np.empty(0, dtype=np.int64), ranks=np.empty(0, dtype=np.int64))


Ranges = Sequence[tuple[int, int]]
"""For each loss, a first and a last step."""


class Family(Protocol):
    """Candidates with the same number of items, by their losses.

    Losses are counted in steps. The candidates that some losses allow change only where a step begins.
    """

    @property
    def offset(self) -> int:
        """A number that is added to the losses of all candidates."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many steps each loss has."""

    def find_spans(self, axis: int, firsts: IntArray, lasts: IntArray) -> tuple[IntArray, IntArray]:
        """Find where losses from one step to another begin and end. The end is −1 if the last step never ends."""

    def number(self, *steps: int) -> int:
        """Count the candidates that these steps allow, one step for each loss."""

    def count_allowed(self, *steps: IntArray) -> IntArray:
        """Count the items allowed at each place of a list, a row for each draw. They are a prefix in falling order."""

    def describe(self, positions: IntArray) -> tuple[Picks, Sequence[IntArray]]:
        """Describe candidates by level and rank, and compute their losses. Each row has the positions of its items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCell:
    """The losses on some steps of a family, with their exact weight.

    In the weight of a `padded` cell, all losses count as many candidates as the last ones allow. The weight of any
    other cell is bounded from below by its first losses and from above by its last.
    """

    rate: Fraction
    family: Family
    ranges: Ranges
    padded: bool = False

    def spans(self) -> list[tuple[int, int]]:
        """Where each loss begins and ends. The end is −1 if its last step never ends."""
        spans = (self.family.find_spans(axis, *np.array(steps)[:, None]) for axis, steps in enumerate(self.ranges))
        return [(int(start[0]), int(end[0])) for start, end in spans]

    def most(self) -> int:
        """Count the candidates that the last losses allow."""
        return self.family.number(*(last for _, last in self.ranges))

    def least(self) -> int:
        """Count the candidates that the first losses allow."""
        return self.family.number(*(first for first, _ in self.ranges))

    def weight(self) -> arb:
        """Enclose the weight."""
        weight = arb(self.most()) if self.padded else arb(self.most()).union(arb(self.least()))
        for start, end in self.spans():
            weight *= enclose_span(self.rate, start, end)
        return weight * enclose_exp_minus(self.rate * self.family.offset)

    def split(self) -> tuple[BlockCell, BlockCell] | None:
        """Return two halves, or None if all losses in the cell allow the same candidates."""
        if self.padded or self.least() == self.most():
            return None
        axis = max(range(len(self.ranges)), key=lambda each: self.ranges[each][1] - self.ranges[each][0])
        first, last = self.ranges[axis]
        middle = (first + last) // 2
        halves = ((first, middle), (middle + 1, last))
        low, high = ((*self.ranges[:axis], half, *self.ranges[axis + 1 :]) for half in halves)
        return replace(self, ranges=low), replace(self, ranges=high)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """The blocks that are worth a place in a table."""

    owners: IntArray
    """The number of the family of each block. It rises."""
    firsts: IntArray
    """The first step of each block, a row for each loss."""
    lasts: IntArray
    """The last step of each block, a row for each loss."""
    weights: Scaled
    find_least: Callable[[], Scaled]
    """Computes the weights as if all losses counted as many candidates as the first ones allow."""


class BlockMixture(Prepared, ABC):
    """A law ∝ q^loss on given levels, ready to be drawn from. Subclasses find the blocks."""

    unordered: ClassVar[bool] = False
    """Whether candidates are sets. Then the picks come in random order."""

    def __init__(
        self, families: Sequence[Family], blocks: Blocks, left_out: FloatArray, *, rate: Fraction, top: IntArray
    ) -> None:
        """Take families, their blocks, upper bounds of log₂ of all other weights, and the k largest counts."""
        self.families = families
        self.blocks = blocks
        self._left_out = left_out
        self.rate = rate
        self.top = top

    @abstractmethod
    def list_complete(self) -> Sequence[Family]:
        """List the same families with all levels, for the rare draws that floats cannot decide."""

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose items n times: draw rows until each has a candidate, a batch of them at once.

        Rounds  A candidate is kept with a probability of at least 1/16 for each loss, or 1/128 in very long lists.
        """
        found: list[Picks] = [_NOTHING] * n
        most, missing = max(1, _BATCH // len(self.top)), np.arange(n)
        while len(missing):
            left = np.ones(len(missing), dtype=bool)
            for rows, family, firsts, lasts in self._choose(min(most, len(missing)), bits):
                positions = draw_distinct_below(family.count_allowed(*lasts), bits)
                if self.unordered:
                    order = draw_distinct_below(np.full(positions.shape, positions.shape[1]), bits)
                    positions = np.take_along_axis(positions, order, axis=1)
                picks, losses = family.describe(positions)
                kept = np.ones(len(rows), dtype=bool)
                for axis, loss in enumerate(losses):
                    kept &= draw_reaches(self.rate, *family.find_spans(axis, firsts[axis], lasts[axis]), loss, bits)
                left[rows[kept]] = False
                for i in np.flatnonzero(kept).tolist():
                    found[missing[rows[i]]] = Picks(
                        levels=picks.levels[i], ranks=picks.ranks[i], unordered=self.unordered
                    )
            missing = missing[left]
        return found

    def _choose(self, n: int, bits: Bits) -> Iterator[tuple[IntArray, Family, IntArray, IntArray]]:
        """Choose n blocks. Return the rows that chose a block of the same family, with the steps of their blocks."""
        words = draw_words(n, bits)
        places = self._table.locate_each(words)
        chosen = np.where(places < 0, -1, self.blocks.owners[places])
        for owner in sorted(set(chosen.tolist()) - {-1}):
            rows = np.flatnonzero(chosen == owner)
            yield rows, self.families[owner], self.blocks.firsts[:, places[rows]], self.blocks.lasts[:, places[rows]]
        for row in np.flatnonzero(places < 0).tolist():
            cell = quantile(Uniform(bits, int(words[row])), self.cells())
            firsts, lasts = np.array(cell.ranges).T[..., None]
            yield np.array([row]), cell.family, firsts, lasts

    def cells(self) -> list[BlockCell]:
        """Cover all losses with exact weights: the blocks of the table in its order, and then the rest."""
        listed, rest = [], []
        for owner, family in enumerate(self.list_complete()):
            whole = [(0, length - 1) for length in family.lengths]
            part = slice(*np.searchsorted(self.blocks.owners, [owner, owner + 1]))
            firsts, lasts = self.blocks.firsts[:, part], self.blocks.lasts[:, part]
            for ranges in np.stack([firsts, lasts]).T.tolist():
                listed.append(BlockCell(rate=self.rate, family=family, ranges=ranges, padded=True))
            inner = list(zip(firsts[:, 0].tolist(), lasts[:, -1].tolist(), strict=True)) if firsts.size else None
            for around in [whole] if inner is None else _list_around(whole, inner):
                rest.append(BlockCell(rate=self.rate, family=family, ranges=around))
        return listed + rest

    def total(self, effort: int = 0) -> arb:
        """Enclose the sum of q^loss over all candidates: from floats with a proven error, or exactly with effort."""
        if effort:
            return enclose_sum([replace(cell, padded=False) for cell in self.cells()], effort)
        highest = self._enclose_total(self.blocks.weights)
        if np.array_equal(self.blocks.firsts, self.blocks.lasts):
            return highest
        return highest.union(self._enclose_total(self.blocks.find_least()))

    def enclose(self, effort: int) -> arb:
        """Enclose the mean over j of min(z, h_(j)), where z is the spread of the law.

        It grows with z, so the ends of its ball suffice. A missing end says nothing.
        """
        z, ends = self.enclose_spread(effort), list[arb]()
        for end, unknown in ((z.lower(), -1), (z.upper(), EVERY_LEVEL)):
            whole = end.floor().unique_fmpz()
            point, limit = (arb(0), unknown) if whole is None else (end, min(int(whole), EVERY_LEVEL))
            larger = int(np.searchsorted(-self.top, -limit))  # so many h_(j) are above the limit, and above the point
            ends.append((point * larger + sum(self.top[larger:].tolist())) / len(self.top))
        least, most = ends
        return least.union(most)

    def enclose_spread(self, effort: int) -> arb:
        """Enclose the spread of the law, z = (1/rate) · ln of the sum of all weights."""
        return self.total(effort).log() / ball(self.rate)

    @cached_property
    def _table(self) -> Table:
        # A score of auto needs the sum of the weights, and no table.
        floats, omitted, _ = self._align(self.blocks.weights)
        return Table(floats, error=self.blocks.weights.error + self.doubt, omitted=omitted)

    def _enclose_total(self, weights: Scaled) -> arb:
        """Enclose the sum of all weights, including those left out.

        The sum of n positive floats is off by at most 2^-52 n of itself.
        """
        floats, omitted, unit = self._align(weights)
        computed = float(floats.sum())
        error = computed * (weights.error + 2.0**-52 * len(floats)) * 1.01
        below, above = computed - error, computed + error + omitted * 1.01
        return arb(below).union(arb(above)) * arb(2) ** unit

    def _align(self, weights: Scaled) -> tuple[FloatArray, float, int]:
        """Return weights as floats in units of 2^unit, an upper bound of all others, and the unit.

        Numbers below 2^-1022 of the unit may be lost. They count as left out. A bound beyond the range of floats
        is infinite: then balls decide.
        """
        unit = int(weights.exponent.max())
        with np.errstate(over="ignore"):
            omitted = float(np.exp2(np.maximum(self._left_out - unit, -1000.0)).sum())
        return weights.align(unit), omitted + len(weights.mantissa) * 2.0**-1000, unit


def _list_around(whole: Ranges, inner: Ranges) -> list[tuple[tuple[int, int], ...]]:
    """Cover a rectangle of steps, without an inner one, by rectangles. A whole and an inner line are given alike."""
    if not whole:
        return []
    (first, last), (begin, end) = whole[0], inner[0]
    around = [((start, stop), *whole[1:]) for start, stop in ((first, begin - 1), (end + 1, last)) if start <= stop]
    return around + [((begin, end), *rest) for rest in _list_around(whole[1:], inner[1:])]


def enclose_span(rate: Fraction, start: int, end: int) -> arb:
    """Enclose q^start − q^end. An end of −1 stands for no end."""
    return enclose_exp_minus(rate * start) * (arb(1) if end < 0 else enclose_shortfall(rate * (end - start)))


def weigh_spans(rate: Fraction, starts: IntArray, ends: IntArray) -> Scaled:
    """Compute q^start − q^end for rising starts, at least one. An end of −1 stands for no end."""
    return powers(rate, starts) * compute_shortfalls(rate, np.where(ends < 0, -1, ends - starts))


def find_reach(candidates: float, rate: Fraction) -> int:
    """Find a loss r such that 2^candidates · q^r is below 2^-64."""
    nats = math.ceil((candidates + REACH_BITS) * math.log(2))
    return min(EVERY_LEVEL, nats * rate.denominator // rate.numerator + 1)


def draw_reaches(rate: Fraction, starts: IntArray, ends: IntArray, losses: IntArray, bits: Bits) -> NDArray[np.bool_]:
    """For each span draw a loss r in [start, end) with probability ∝ q^r. Return whether r ≥ loss.

    An end of −1 stands for no end. A uniform number reaches the loss if it is not below the share of [start, loss) in
    the span, (1 − q^(loss − start)) / (1 − q^(end − start)). As a float, the share is off by at most five roundings.
    """
    reached = losses <= starts
    asked = np.flatnonzero(~reached & ((losses < ends) | (ends < 0)))
    if not len(asked):
        return reached
    before = losses[asked] - starts[asked]
    whole = np.where(ends[asked] < 0, -1, ends[asked] - starts[asked])
    quotient = compute_shortfalls(rate, before) / compute_shortfalls(rate, whole)
    shares = quotient.align(0)

    def enclose(i: int, _: int) -> arb:
        share = enclose_shortfall(rate * int(before[i]))
        return share if whole[i] < 0 else share / enclose_shortfall(rate * int(whole[i]))

    below = are_below(
        draw_words(len(asked), bits), enclose, bits, least=shares - quotient.error, most=shares + quotient.error
    )
    reached[asked] = ~below
    return reached


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Core:
    """The steps of each loss that carry the weight of a family, with bounds of weights as base-2 logarithms."""

    firsts: list[int]
    """For each loss, the first step."""
    afters: list[int]
    """For each loss, the step after the last."""
    left_out: FloatArray
    """Upper bounds of the weights of all other steps."""
    surely: float = -math.inf
    """A lower bound of the whole weight."""
    at_most: float = math.inf
    """An upper bound of the weight of the core."""


def find_core(
    family: Family,
    rate: Fraction,
    lengths: Sequence[int],
    count: Callable[..., FloatArray | IntArray],
    *,
    parts: int,
    enough: int,
    worth: float = -math.inf,
) -> Core:
    """Find the steps of each loss that carry the weight of a family, among the first `lengths` of each.

    `count` gives the base-2 logarithm of the number of candidates for all combinations of some steps of each loss, off
    by less than one. With N candidates that the last losses of a block allow and (a, c) its first losses, the block
    weighs at most N q^(a+c). All candidates together weigh at least N q^(a+c) for N and (a, c) of any single step.
    Three bits allow for the errors.

    A pass cuts each loss into `parts`, until `enough` steps are left or a pass leaves more than half of them. No pass
    follows if the family weighs less than `worth`.
    """
    firsts, afters, vote = np.zeros(len(lengths), dtype=np.int64), np.array(lengths), float(rate) * BITS
    outside, surely, at_most = [np.empty(0)], -math.inf, math.inf
    while (area := float(np.prod(afters - firsts, dtype=np.float64))) > enough:
        edges, lasts = [], []
        least_cost = most_cost = np.array(family.offset * vote)
        for axis, (first, after) in enumerate(zip(firsts.tolist(), afters.tolist(), strict=True)):
            edges.append(edge := _cut(first, after, parts))
            lasts.append(last := edge[1:] - 1)
            least_cost = least_cost[..., None] + family.find_spans(axis, edge[:-1], last)[0] * vote
            most_cost = most_cost[..., None] + family.find_spans(axis, last, last)[0] * vote
        number = count(*lasts)
        most = number - least_cost + 3
        surely = max(surely, float((number - most_cost).max()) - 1)
        kept, dropped = [], np.ones(most.shape, dtype=bool)
        for axis, heavy in enumerate(np.nonzero(most > surely - LEFT_OUT_BITS)):
            kept.append(slice(int(heavy.min()), int(heavy.max()) + 1))
            firsts[axis], afters[axis] = edges[axis][kept[-1].start], edges[axis][kept[-1].stop]
        dropped[tuple(kept)] = False
        outside.append(most[dropped])
        at_most = float(most.max()) + math.log2(most.size)
        if 2 * float(np.prod(afters - firsts, dtype=np.float64)) > area or at_most < worth:
            break
    return Core(
        firsts=firsts.tolist(), afters=afters.tolist(), left_out=np.concatenate(outside), surely=surely, at_most=at_most
    )


def _cut(first: int, after: int, most: int) -> IntArray:
    """Cut a range into at most `most` parts of equal length, but for the last. Return where they begin, and its end."""
    stride = -(-(after - first) // most)
    return np.append(first + stride * np.arange(-(-(after - first) // stride)), after)


def divide(
    first: int, after: int, count: Callable[[IntArray], Scaled], *, most: int, steep: int = STEEP_BITS
) -> tuple[IntArray, Scaled]:
    """Cut steps into at most about `most` blocks, and into more where the number of candidates grows fast in a block.

    The last step, which may have no end, is a block of its own. `count` gives this number for rising steps. Return
    where the blocks begin with the end of the last one, and the number for the last step of each block.
    """
    ends = _cut(first, max(first + 1, after - 1), most)[1:]
    lasts = (ends if after == first + 1 else np.append(ends, after)) - 1
    numbers = count(lasts)
    if len(lasts) == after - first:
        return np.append(lasts, after), numbers
    start = count(np.array([first]))
    while True:
        widths = np.diff(lasts, prepend=first - 1)
        growth = np.diff(numbers.exponent, prepend=start.exponent)
        wide = (growth > steep) & (widths > 1)
        if not wide.any():
            return np.append(first, lasts + 1), numbers
        middles = lasts[wide] - widths[wide] // 2
        order = np.argsort(np.append(lasts, middles))
        numbers = concatenate([numbers, count(middles)]).take(order)
        lasts = np.append(lasts, middles)[order]
