"""Laws in which a candidate has a probability ∝ q^(its loss), drawn exactly in blocks of losses.

Let q = e^(−rate). Candidates are lists or sets of items. A candidate has one loss L, or two of which only the sum
counts. As q^L = (1 − q) Σ_{r ≥ L} q^r, this procedure has the law ∝ q^L: draw a loss r with probability
∝ (1 − q) q^r N_r, where N_r candidates have a loss of at most r. Then draw one of these uniformly.

Losses are drawn in blocks [a, b). The weight of a block is (q^a − q^b) N_{b−1}: every loss counts as many candidates as
the last one allows. Rejection corrects this: after a candidate is drawn, a loss r of the block is drawn with
probability ∝ q^r, and the candidate is kept if its loss is at most r. A block of one loss rejects nothing. Any division
into blocks gives the same law (joint.proof.md, Theorem 2), so floats may choose it.

Which block is drawn is a function of one uniform number. Floats find it if the number is farther from every border than
the proven error of the borders, and balls find it otherwise.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from flint import arb

from shortlist.array_types import BoolArray, FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, are_below, enclose_sum, quantile
from shortlist.exact.scaled import Scaled, compute_shortfalls, power, powers
from shortlist.exact.uniform import Uniform, draw_distinct_below, draw_words
from shortlist.mechanisms.mechanism import Prepared, Score
from shortlist.profile import EVERY_LEVEL, NO_PICKS, Picks

LEFT_OUT_BITS = 50
"""A block of less than 2^-50 of the whole weight is left out of the table. Balls find it then."""
REACH_BITS = 64
"""Losses beyond the reach have less than 2^-64 of the weight of the best candidate, all together."""
STEEP_BITS = 3
"""Inside a block of several losses, N_r grows by less than 2^4. So a candidate is kept with a probability of at least
1/16. Where the weight is greatest, N_r grows as fast as q^r falls, which keeps about 0.4."""
_BITS = math.log2(math.e)
"""A vote of loss has the weight 2^(−_BITS · rate). With three roundings, a multiple is off by far less than one bit."""
_BATCH = 1 << 14
"""How many items are drawn at once, so that n draws need no memory for all of them."""


class Candidates(Protocol):
    """Lists or sets by their losses: combinatorics, with no epsilon in it.

    They are in groups. All candidates of a group have the same number of items. In an array that has a row for each
    loss, a column is a group.

    An array of blocks has three layers: their groups, their first losses and their last losses. Each layer has a row
    for each loss, and a column for each block.
    """

    top: IntArray
    """The k largest counts."""
    unordered: bool
    """Whether candidates are sets. Then the picks come in random order."""
    bits: float
    """At least the base-2 logarithm of the number of all candidates."""
    reach: int
    """Up to this loss, candidates can be counted. The other losses need all levels."""
    sizes: range
    """How many items a candidate may have."""
    offsets: Sequence[int]
    """A number for each group that is added to the losses of its candidates."""
    lasts: IntArray
    """The last loss that counts. It is above the reach if it is unknown."""
    endless: BoolArray
    """Whether the last loss stands for all losses from there on."""

    def number(self, group: int, *losses: int) -> int:
        """Count the candidates of a group that have at most these losses."""

    def count_blocks(self, blocks: IntArray) -> Scaled:
        """Count the candidates that the last losses of blocks allow, and at most as many as the first ones allow.

        They are in two rows, as floats with a proven error. They are equal for a block of single losses.
        """

    def count_allowed(self, group: int, *losses: IntArray) -> IntArray:
        """Count the items allowed at each place of a list, a row for each draw. They are a prefix in falling order."""

    def describe(self, group: int, positions: IntArray) -> tuple[Picks, Sequence[IntArray]]:
        """Describe candidates by level and rank, and compute their losses. Each row has the positions of its items."""

    def narrow(self, reach: int) -> Self:
        """Return the same candidates, prepared for losses up to a smaller reach."""

    def read_all(self) -> Self:
        """Return the same candidates with all levels, which can count those of all losses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCell:
    """The losses of a block, with their exact weight.

    In the weight of a `padded` cell, all losses count as many candidates as the last ones allow. The weight of any
    other cell is bounded from below by its first losses and from above by its last.
    """

    rate: Fraction
    candidates: Candidates
    group: int
    ranges: Sequence[tuple[int, int]]
    """The first and the last loss, for one loss or for two."""
    padded: bool = False

    def spans(self) -> list[tuple[int, int]]:
        """Where each loss begins and ends. The end is −1 if its last step never ends."""
        ends = find_ends(self.candidates, [self.group], np.array(self.ranges)[:, 1:])
        return [(first, end) for (first, _), (end,) in zip(self.ranges, ends.tolist(), strict=True)]

    def most(self) -> int:
        """Count the candidates that the last losses allow."""
        return self.candidates.number(self.group, *(last for _, last in self.ranges))

    def least(self) -> int:
        """Count the candidates that the first losses allow."""
        return self.candidates.number(self.group, *(first for first, _ in self.ranges))

    def weight(self) -> arb:
        """Enclose the weight."""
        weight = arb(self.most()) if self.padded else arb(self.most()).union(arb(self.least()))
        for start, end in self.spans():
            weight *= enclose_span(self.rate, start, end)
        return weight * enclose_exp_minus(self.rate * self.candidates.offsets[self.group])

    def split(self) -> tuple[BlockCell, BlockCell] | None:
        """Return two parts, or None if all losses in the cell allow the same candidates."""
        if self.padded or self.least() == self.most():
            return None
        firsts, lasts = zip(*self.ranges, strict=True)
        fewest = [
            self.candidates.number(self.group, *lasts[:axis], firsts[axis], *lasts[axis + 1 :])
            for axis in range(len(lasts))
        ]
        axis = fewest.index(min(fewest))
        first, last = self.ranges[axis]

        def count(loss: int) -> int:
            return self.candidates.number(self.group, *lasts[:axis], loss, *lasts[axis + 1 :])

        # Near the middle, a loss that allows more candidates than the loss before.
        least, losses = count((first + last) // 2), range(first + 1, last + 1)
        step = first + 1 + (bisect_left if least == count(last) else bisect_right)(losses, least, key=count)
        halves = ((first, step - 1), (step, last))
        low, high = ((*self.ranges[:axis], half, *self.ranges[axis + 1 :]) for half in halves)
        return replace(self, ranges=low), replace(self, ranges=high)


AnyCandidates = TypeVar("AnyCandidates", bound=Candidates)


class BlockMixture(Prepared, Score, Generic[AnyCandidates]):
    """A law ∝ q^loss over some candidates, ready to be drawn from."""

    def __init__(
        self,
        candidates: AnyCandidates,
        *,
        rate: Fraction,
        most: int,
        parts: int,
        choose_losses: Callable[[IntArray], IntArray] | None = None,
    ) -> None:
        """Divide all losses into blocks: single losses where about `most` suffice, else blocks of several.

        Let N candidates be allowed by the last losses of a block, whose sum is b, and let a be the sum of its first
        losses. The block weighs at most N q^a. All candidates together weigh at least N q^b, and at least 1. Three bits
        allow for errors. Blocks that are light beside this are left out. The first cuts make `parts` along each loss.
        Each of the others cuts a block along one loss. If there are two, `choose_losses` chooses it for each block.
        """
        self.rate, self.top = rate, candidates.top
        self._covered, vote = np.minimum(candidates.lasts, candidates.reach), float(rate) * _BITS
        beyond = [candidates.bits + 2 - candidates.reach * vote] if (self._covered < candidates.lasts).any() else []
        costs = np.array(candidates.offsets, dtype=np.float64) * vote
        blocks = make_blocks(self._covered)
        if len(costs) < parts:
            for loss in range(len(self._covered)):
                blocks = cut(blocks, np.full(blocks.shape[2], loss), parts)
        light, bounds, surely, found = list[IntArray](), [np.array(beyond)], 0.0, 0
        heavy, roundings = list[tuple[IntArray, FloatArray, IntArray]](), 0
        while blocks.size:
            numbers = candidates.count_blocks(blocks)
            mantissa, exponent, roundings = numbers.mantissa, numbers.exponent, max(roundings, numbers.roundings)
            if len(costs) == 1 and not (blocks[1] < blocks[2]).any():
                heavy.append((blocks, mantissa, exponent))
                break
            highest, lowest = exponent
            at_most, at_least = highest - costs[blocks[0, 0]] - blocks[1:].sum(axis=1, dtype=np.float64) * vote
            surely = max(surely, float(at_least.max()) - 1)
            is_light = at_most + 3 < surely - LEFT_OUT_BITS
            growth = highest - lowest
            is_open = ~is_light & ((growth > 0) | (mantissa[0] > mantissa[1]))
            room = (most - found) // max(1, int(is_open.sum()))
            needed = np.where(growth > STEEP_BITS, growth // STEEP_BITS + 2, 0)
            pieces = np.minimum(np.maximum(needed, room), parts)
            is_open &= pieces > 1
            is_heavy = ~is_light & ~is_open
            if not heavy:
                candidates = candidates.narrow(int(blocks[2][:, ~is_light].max()))
            light.append(blocks[..., is_light])
            bounds.append(at_most[is_light] + 3)
            heavy.append((blocks[..., is_heavy], mantissa[:, is_heavy], exponent[:, is_heavy]))
            found += int(is_heavy.sum())
            blocks = blocks[..., is_open]
            along = np.zeros_like(blocks[0, 0]) if choose_losses is None else choose_losses(blocks)
            blocks = cut(blocks, along, pieces[is_open])
        self.candidates, self._light, self._bounds = candidates, light, np.concatenate(bounds)
        tables, mantissas, exponents = zip(*heavy, strict=True)
        mantissa, exponent = np.concatenate(mantissas, axis=1), np.concatenate(exponents, axis=1)
        self.blocks = np.concatenate(tables, axis=2)
        numbers = Scaled(mantissa=mantissa, exponent=exponent, roundings=roundings)
        self._table, self._least = self._tabulate(numbers[0]), numbers[1]

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose items n times: draw rows until each has a candidate, a batch of them at once.

        Rounds  A candidate is kept with a probability of at least 1/16.
        """
        found: list[Picks] = [NO_PICKS] * n
        most, missing, unordered = max(1, _BATCH // len(self.top)), np.arange(n), self.candidates.unordered
        while len(missing):
            left = np.ones(len(missing), dtype=bool)
            for rows, candidates, group, firsts, lasts in self._choose(min(most, len(missing)), bits):
                positions = draw_distinct_below(candidates.count_allowed(group, *lasts), bits)
                if unordered:
                    order = draw_distinct_below(np.full(positions.shape, positions.shape[1]), bits)
                    positions = np.take_along_axis(positions, order, axis=1)
                picks, losses = candidates.describe(group, positions)
                kept = np.ones(len(rows), dtype=bool)
                for start, end, loss in zip(firsts, find_ends(candidates, [group], lasts), losses, strict=True):
                    kept &= draw_reaches(self.rate, start, end, loss, bits)
                left[rows[kept]] = False
                for i in np.flatnonzero(kept).tolist():
                    found[missing[rows[i]]] = Picks(levels=picks.levels[i], ranks=picks.ranks[i], unordered=unordered)
            missing = missing[left]
        return found

    def _choose(self, n: int, bits: Bits) -> Iterator[tuple[IntArray, Candidates, int, IntArray, IntArray]]:
        """Choose n blocks. Return rows whose blocks are of the same group, with the first and the last losses."""
        words = draw_words(n, bits)
        places = self._table.locate_each(words, self.doubt)
        groups = np.where(places < 0, -1, self.blocks[0, 0, places])
        for group in sorted(set(groups.tolist()) - {-1}):
            rows = np.flatnonzero(groups == group)
            yield rows, self.candidates, group, *self.blocks[1:, :, places[rows]]
        for row in np.flatnonzero(places < 0).tolist():
            cell = quantile(Uniform(bits, int(words[row])), self.cells())
            firsts, lasts = np.array(cell.ranges).T[..., None]
            yield np.array([row]), cell.candidates, cell.group, firsts, lasts

    def cells(self) -> list[BlockCell]:
        """Cover all losses with exact weights: the blocks of the table in its order, and then the rest."""
        every, covered = self.all_candidates, self._covered
        rest = list(self._light)
        for axis in range(len(covered)):  # beyond what is covered of this loss, within what is covered of those before
            around = make_blocks(every.lasts)
            around[1, axis], around[2, :axis] = covered[axis] + 1, covered[:axis]
            rest.append(around[..., covered[axis] < every.lasts[axis]])
        listed = make_cells(self.rate, every, self.blocks, padded=True)
        return listed + [cell for each in rest for cell in make_cells(self.rate, every, each)]

    @cached_property
    def all_candidates(self) -> AnyCandidates:
        """The candidates of all levels, for the rare draws that floats cannot decide."""
        return self.candidates.read_all()

    def compute_exact_chance(self) -> float | None:
        """Compute the probability of a candidate with the true counts, where all candidates have one size.

        The first group has the best ones.
        """
        if len(self.candidates.sizes) > 1:
            return None
        with use_precision():
            return float((arb(self.candidates.number(0, *[0] * len(self._covered))) / self.total()).mid())

    def total(self, effort: int = 0) -> arb:
        """Enclose the sum of q^loss over all candidates: from floats with a proven error, or exactly with effort."""
        if effort:
            return enclose_sum([replace(cell, padded=False) for cell in self.cells()], effort)
        return self._tabulate(self._least).enclose_total().union(self._table.enclose_total())

    def enclose_spreads(self, effort: int) -> list[arb]:
        """Enclose the spread of the law, z = (1/rate) · ln of the sum of all weights, for each place."""
        return [self.total(effort).log() / ball(self.rate)] * len(self.top)

    def _tabulate(self, numbers: Scaled) -> Table:
        """Tabulate the weights of the blocks if all losses of a block count this many candidates."""
        groups, offsets, starts = self.blocks[0, 0], self.candidates.offsets, self.blocks[1]
        ends = find_ends(self.candidates, groups, self.blocks[2])
        shortfalls = compute_shortfalls(self.rate, np.where(ends < 0, -1, ends - starts))
        numbers *= powers(self.rate, starts.sum(axis=0))
        for loss in range(len(starts)):
            numbers *= shortfalls[loss]
        if any(offsets):
            shifts = {group: power(self.rate, offsets[group]) for group in set(groups.tolist())}
            mantissa, exponent = np.array([shifts[group] for group in groups.tolist()]).T
            numbers *= Scaled(mantissa=mantissa, exponent=exponent.astype(np.int64), roundings=2)
        unit = int(numbers.exponent.max())
        # Numbers below 2^-1022 of the unit may be lost. They count as left out. A bound beyond the range of floats is
        # infinite: then balls decide.
        with np.errstate(over="ignore"):
            omitted = float(np.exp2(np.maximum(self._bounds - unit, -1000.0)).sum()) + len(groups) * 2.0**-1000
        return Table(numbers.align(unit), error=numbers.error, omitted=omitted, unit=unit)


def make_blocks(lasts: IntArray) -> IntArray:
    """Make one block of each group, with all losses up to its last ones."""
    blocks = np.zeros((3, *lasts.shape), dtype=np.int64)
    blocks[0], blocks[2] = np.arange(lasts.shape[1]), lasts
    return blocks


def make_cells(rate: Fraction, candidates: Candidates, blocks: IntArray, *, padded: bool = False) -> list[BlockCell]:
    """Make a cell of each block."""
    ranges = zip(blocks[0, 0].tolist(), blocks[1:].T.tolist(), strict=True)
    return [
        BlockCell(rate=rate, candidates=candidates, group=group, ranges=each, padded=padded) for group, each in ranges
    ]


def cut(blocks: IntArray, along: IntArray, parts: IntArray | int) -> IntArray:
    """Cut each block along one of its losses into at most so many parts. They are of equal length, but for the last."""
    axes = along == np.arange(blocks.shape[1])[:, np.newaxis]
    width = ((blocks[2] - blocks[1]) * axes).sum(axis=0)
    stride = width // parts + 1
    number = width // stride + 1
    owners = np.arange(len(along)).repeat(number)
    strides = stride.take(owners)
    starts = (np.arange(len(owners)) - (number.cumsum() - number).take(owners)) * strides
    ends = starts + np.minimum(strides - 1, width.take(owners) - starts)  # in this order, no sum has more than 64 bits
    found, is_cut = blocks.take(owners, axis=2), axes.take(owners, axis=1)
    found[2] = np.where(is_cut, found[1] + ends, found[2])
    found[1] += starts * is_cut
    return found


def find_ends(candidates: Candidates, groups: IntArray | list[int], lasts: IntArray) -> IntArray:
    """Find where blocks end: after their last losses, or −1 if a last loss never ends."""
    return np.where(candidates.endless[:, groups] & (lasts == candidates.lasts[:, groups]), -1, lasts + 1)


def enclose_span(rate: Fraction, start: int, end: int) -> arb:
    """Enclose q^start − q^end. An end of −1 stands for no end."""
    return enclose_exp_minus(rate * start) * (arb(1) if end < 0 else enclose_shortfall(rate * (end - start)))


def find_reach(candidates: float, rate: Fraction) -> int:
    """Find a loss r such that 2^candidates · q^r is below 2^-64."""
    nats = math.ceil((candidates + REACH_BITS) * math.log(2))
    return min(EVERY_LEVEL, nats * rate.denominator // rate.numerator + 1)


def draw_reaches(rate: Fraction, starts: IntArray, ends: IntArray, losses: IntArray, bits: Bits) -> BoolArray:
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
