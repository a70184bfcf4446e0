"""Items taken one by one: the exponential mechanism over the items that are left, round after round.

A proposal is an item with probability ∝ e^(rate · count) among those that are left. Proposals are drawn in batches:
a sequence of independent draws, from which items taken in the meantime are skipped, is a sequence of independent draws
from what is left, since skipping conditions each draw on nothing but not being taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, quantile
from shortlist.exact.scaled import powers
from shortlist.exact.uniform import Uniform, below, below_each, leading_words
from shortlist.mechanisms.peel.ranges import LevelRange, all_left
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

_OUT_OF_REACH_BITS = 64
OMITTED = 2.0 ** (1 - _OUT_OF_REACH_BITS)
"""More than all items that are out of reach weigh together, if the best one left weighs 1."""
_LARGEST_BATCH = 1 << 10
_LIKELY = 0.5
_CERTAIN = 2.0**-48


class Slope:
    """The levels of a profile with their weights e^(−rate · (largest count − count)).

    A level is out of reach of another that is more than `depth` above it: all items that are out of reach of the best
    one left weigh less than 2^-63 of that one, so a table without them is off by that at most.
    """

    def __init__(self, profile: Profile, rate: Fraction, *, k: int, depth: int) -> None:
        self.profile = profile
        self._k = k
        self.lowest_top = int(profile.ends.searchsorted(k))
        """The lowest level that can be the best one left."""
        lowest = max(0, int(profile.values[self.lowest_top]) - depth)
        values = profile.values[: np.searchsorted(-profile.values, -lowest, side="right")]
        # A wider gap stays out of reach when it is shortened to this; no other weight changes.
        gaps = np.minimum(values[:-1] - values[1:], min(depth + 1, EVERY_LEVEL))
        offsets = np.concatenate([[0], np.cumsum(gaps)])
        self._powers = powers(rate, offsets)
        reaches = offsets.astype(np.uint64) + np.uint64(depth)
        self.ends = offsets.astype(np.uint64).searchsorted(reaches, side="right").tolist()
        """For each level, the first one out of its reach."""

    def within_reach(self, top: int) -> FloatArray:
        """The weights of a level and of those within its reach, up to a common factor."""
        return self.weigh(top, self.ends[top])

    def weigh(self, top: int, end: int) -> FloatArray:
        """The weights of the levels from one up to another, up to a common factor."""
        reach = slice(top, end)
        exponents = self._powers.exponent[reach]
        weights: FloatArray = np.ldexp(self._powers.mantissa[reach], (exponents - exponents[0]).astype(np.int32))
        return weights

    @cached_property
    def totals(self) -> list[float]:
        """For each level that can be the best one left, more than Σ c over all items on it and below, with c = 1 on it.

        From one level to that above, Σ c shrinks by the ratio of their weights and grows by the items of the latter.
        No step is off by more than 2n + 6 roundings, n being those of a weight; what is below 2^-1022 of the best may
        vanish, and is far less than they allow for.
        """
        last = self.lowest_top
        weights = self.within_reach(last)
        total = float((self.profile.sizes[last : last + len(weights)] * weights).sum() / weights[0])
        total = total * (1 + self.error(2 * self.roundings + len(weights) + 6) + OMITTED)
        mantissa, exponent = self._powers.mantissa[: last + 1], self._powers.exponent[: last + 1]
        ratios = np.ldexp(mantissa[1:] / mantissa[:-1], np.diff(exponent).astype(np.int32)).tolist()
        excess = 1 + self.error(2 * self.roundings + 6)
        totals = [total]
        for size, ratio in zip(self.profile.sizes[:last][::-1].tolist(), reversed(ratios), strict=True):
            totals.append((size + ratio * totals[-1]) * excess)
        return totals[::-1]

    def enclose_totals(self) -> tuple[FloatArray, FloatArray]:
        """Bounds for Σ c over the items left when the j-th round begins with the best items left, for every j.

        If i items of the best level are taken, Σ c is that of the whole level and all below, less i. No total in
        `totals` exceeds the truth by more than the roundings of all steps, allowed for twice and taken once more.
        """
        steps = self.lowest_top + 1
        reach = len(self.within_reach(self.lowest_top))
        slack = 3 * (self.error(2 * self.roundings + reach + 6) + OMITTED + steps * self.error(2 * self.roundings + 6))
        sizes = self.profile.sizes[:steps]
        upper: FloatArray = np.repeat(np.array(self.totals), sizes)[: self._k]
        taken = np.arange(self._k) - np.repeat(self.profile.ends[:steps] - sizes, sizes)[: self._k]
        # The best item left counts 1 by itself.
        lower: FloatArray = np.maximum(1.0, upper * (1 - slack) - taken)
        return lower, (upper - taken) * (1 + 2.0**-50)

    @property
    def roundings(self) -> int:
        """How many roundings each weight is off by."""
        return self._powers.roundings

    @staticmethod
    def error(roundings: int) -> float:
        """By how much of itself a number may be off after some roundings."""
        return 1.02 * roundings * 2.0**-53


class Peeling:
    """Levels that are ready to be peeled at a rate."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction) -> None:
        self.rate = rate
        self.k = k
        self._levels = levels
        bits = math.log2(levels.d) + _OUT_OF_REACH_BITS
        self._depth = min(EVERY_LEVEL, int(Fraction(bits * math.log(2)) / rate) + 1)
        self.shown = Slope(levels.above(k, self._depth), rate, k=k, depth=self._depth)

    @cached_property
    def complete(self) -> Slope:
        """All levels, for the rare draws that those within reach cannot decide."""
        if self.shown.profile.complete:
            return self.shown
        return Slope(self._levels.above(self.k, EVERY_LEVEL), self.rate, k=self.k, depth=self._depth)


class Peel:
    """One run: which items are left, and proposals among them."""

    def __init__(self, peeling: Peeling, bits: Bits) -> None:
        self._peeling = peeling
        self._bits = bits
        self._slope = peeling.shown
        self._left = self._slope.profile.sizes.copy()
        self._top = 0
        self._weights: FloatArray | None = None
        self._taken: dict[int, None] = {}
        self._batch: Iterator[tuple[int, int]] = iter(())

    def propose(self) -> tuple[int, int]:
        """Draw an item that is left: its level, and its position among all items in falling order of count.

        Rounds  Two at most, as the first item of a new batch is left.
        """
        while True:
            for level, position in self._batch:
                if position not in self._taken:
                    return level, position
            self._batch = self._drawn()

    def take(self, level: int, position: int) -> None:
        """Put an item on the list; it is not proposed again."""
        self._taken[position] = None
        self._left[level] -= 1
        while self._top < len(self._left) - 1 and not self._left[self._top]:
            self._top += 1
            self._weights = None

    def loss(self, level: int) -> int:
        """How far a level is below the best one left."""
        values = self._slope.profile.values
        return int(values[self._top]) - int(values[level])

    def picks(self) -> Picks:
        """The items on the list, first taken first."""
        return self._slope.profile.picks(np.fromiter(self._taken, dtype=np.int64))

    def sums(self) -> tuple[arb, arb]:
        """Enclose Σ c and Σ c² over the items left, where c = e^(−rate · loss).

        Weights w are off by n roundings each, Σ left · w over m levels by n + 1 + m, its quotient by w_0 by 2n + 2 + m;
        likewise the second sum by 4n + 5 + m. Items out of reach add less than 2^-63 to either.
        """
        weights, weighted = self._within_reach()
        first = float(weighted.sum() / weights[0])
        second = float((weighted * weights).sum() / weights[0] ** 2)
        error = Slope.error(4 * self._slope.roundings + len(weights) + 8)
        return arb(first, first * error + OMITTED), arb(second, second * error + OMITTED)

    def left(self) -> LevelRange:
        """All items that are left, with exact weights."""
        if self._slope is not self._peeling.complete:
            seen, self._slope = self._left, self._peeling.complete
            self._left = self._slope.profile.sizes.copy()
            self._left[: len(seen)] = seen
        return all_left(self._slope.profile.values, self._left, self._peeling.rate)

    def _drawn(self) -> Iterator[tuple[int, int]]:
        """Draw a batch of items from what is left now: one item if that is likely on the best level, else many.

        Levels lie along [0, 1) from the best downwards. What has been taken below the best level only makes its share
        larger, so that a number below left / total is on it.
        """
        top, first = self._top, None
        share = self._left[top] / self._slope.totals[top]
        if share > _LIKELY:
            first = Uniform(self._bits)
            if first.approximate() < share - _CERTAIN:
                return iter([self._item_on(top)])
        wanted = self._peeling.k - len(self._taken)
        levels = self._levels(min(wanted + wanted // 2 + 8, _LARGEST_BATCH), first)
        positions = self._positions(levels, below_each(self._left[levels], self._bits))
        return zip(levels.tolist(), positions.tolist(), strict=True)

    def _item_on(self, level: int) -> tuple[int, int]:
        """Draw an item that is left on a level."""
        size, left = int(self._slope.profile.sizes[level]), int(self._left[level])
        rank = below(left, self._bits)
        if left == size:
            return level, int(self._slope.profile.ends[level]) - size + rank
        return level, int(self._positions(np.array([level]), np.array([rank]))[0])

    def _levels(self, count: int, first: Uniform | None) -> IntArray:
        """Draw levels, each with probability ∝ the weight of the items left on it; the first by a given number."""
        weights, weighted = self._within_reach()
        error, omitted = Slope.error(self._slope.roundings + 1), OMITTED * float(weights[0])
        words = leading_words(count, self._bits)
        if first is not None:
            words[0] = first.numerator
        levels = Table(weighted, error=error, omitted=omitted).locate_each(words)
        doubtful = np.flatnonzero(levels < 0)
        levels += self._top
        for index in doubtful.tolist():
            levels[index] = self._exact_level(Uniform(self._bits, int(words[index])))
        return levels

    def _within_reach(self) -> tuple[FloatArray, FloatArray]:
        """The weights of items within reach of the best one left, by level; and of all those left on a level."""
        if self._weights is None:
            self._weights = self._slope.within_reach(self._top)
        return self._weights, self._left[self._top : self._top + len(self._weights)] * self._weights

    def _exact_level(self, number: Uniform) -> int:
        return quantile(number, [self.left()]).level()

    def _positions(self, levels: IntArray, ranks: IntArray) -> IntArray:
        """The positions of items given by their ranks among the items left in their levels.

        If t_0 < t_1 < … are the positions taken, t_i − i items are left before t_i. So the item with q items left
        before it is at position q + #{i : t_i − i ≤ q}.
        """
        profile = self._slope.profile
        starts = profile.ends[levels] - profile.sizes[levels]
        taken = np.sort(np.fromiter(self._taken, dtype=np.int64, count=len(self._taken)))
        before = starts - taken.searchsorted(starts) + ranks
        return before + (taken - np.arange(len(taken))).searchsorted(before, side="right")
