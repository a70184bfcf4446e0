"""Peeling: rounds of the exponential mechanism, each over the items that earlier rounds have left.

A round proposes an item that is left, with probability ∝ e^(rate · count). Proposals are drawn in batches of
independent draws. A later round skips the items of a batch that have been taken meanwhile. This is rejection sampling:
the draws that are not skipped are independent draws among the items left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, quantile
from shortlist.exact.scaled import powers
from shortlist.exact.uniform import Uniform, draw_below, draw_below_each, draw_words
from shortlist.mechanisms.peel.ranges import LevelRange, cover_all_left
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

_OUT_OF_REACH_BITS = 48
OMITTED = 2.0 ** (1 - _OUT_OF_REACH_BITS)
"""Larger than the weight of all items out of reach together, if the best one left weighs 1."""
_LARGEST_BATCH = 1 << 10
_LIKELY = 0.5
_CERTAIN = 2.0**-48


class LevelWeights:
    """The levels of a profile with their weights e^(−rate · (largest count − count)).

    A level is out of reach of every level that is more than `depth` above it. All items out of reach of the best item
    left weigh less, together, than 2^-47 of that item. So a table without them is off by at most that much.
    """

    def __init__(self, profile: Profile, rate: Fraction, *, k: int, depth: int, spare: int = 0) -> None:
        """Take a profile that shows all levels down to `depth` below the item after the first k and some to spare."""
        self.profile = profile
        self._k = k
        self._depth = depth
        self._rate = rate
        self.lowest_top = int(profile.ends.searchsorted(min(k + spare, profile.d)))
        """The lowest level that can be the best one left, or that of the last item to spare."""
        lowest = max(0, int(profile.values[self.lowest_top]) - depth)
        values = profile.values[: len(profile.values) - int(profile.values[::-1].searchsorted(lowest))]
        # A wider gap is shortened to this. Levels beyond it stay out of reach, and no other weight changes.
        gaps = np.minimum(values[:-1] - values[1:], min(depth + 1, EVERY_LEVEL))
        self.offsets = np.zeros(len(values), dtype=np.int64)
        """How many votes each level is below the best one, if wide gaps are shortened."""
        np.cumsum(gaps, out=self.offsets[1:])
        self._powers = powers(rate, self.offsets)

    def find_end(self, top: int, *, bits: int | None = None) -> int:
        """Find the first level out of the reach of a level, or the first that weighs less than 2^-bits of it."""
        depth = self._depth if bits is None else _find_depth(bits, self._rate)
        return int(self.offsets.searchsorted(min(int(self.offsets[top]) + depth, EVERY_LEVEL), side="right"))

    def weigh_within_reach(self, top: int) -> FloatArray:
        """Return the weights of a level and of those within its reach, up to a common factor."""
        return self.weigh(top, self.find_end(top))

    def relate(self, end: int, level: int) -> tuple[FloatArray, IntArray]:
        """Divide the weight of a level by those of the levels before an end: mantissas and exponents."""
        mantissa, exponent = self._powers.mantissa, self._powers.exponent
        return mantissa[level] / mantissa[:end], exponent[level] - exponent[:end]

    def estimate_weights(self, level: int) -> FloatArray:
        """Estimate all weights up to a common factor, in the range of floats around a level.

        They are cut off at 2^400, and wrong near 2^-500.
        """
        shifts = np.maximum(self._powers.exponent - self._powers.exponent[level], -500)
        # A mantissa is above 2^-100: it is a product of at most 71 numbers from 1/2 on.
        weights: FloatArray = np.ldexp(self._powers.mantissa, np.minimum(shifts, 500).astype(np.int32))
        return np.minimum(weights, 2.0**400)

    def weigh(self, top: int, end: int) -> FloatArray:
        """Return the weights of the levels from one up to another, up to a common factor."""
        reach = slice(top, end)
        exponents = self._powers.exponent[reach]
        weights: FloatArray = np.ldexp(self._powers.mantissa[reach], (exponents - exponents[0]).astype(np.int32))
        return weights

    @cached_property
    def totals(self) -> list[float]:
        """An upper bound of Σ c over the items of a level and below, for each level that can be the best one left.

        The weight c of an item is relative to the level: its own items have c = 1. The sum of a level is its number of
        items, plus the sum of the level below times the ratio of the two weights. If a weight is off by n roundings, a
        step is off by at most 2n + 6. Weights below 2^-1022 of the best may become 0. The bound allows for far more.
        """
        last = self.lowest_top
        weights = self.weigh_within_reach(last)
        total = float((self.profile.sizes[last : last + len(weights)] * weights).sum() / weights[0])
        total = total * (1 + self.error(2 * self.roundings + len(weights) + 6) + OMITTED)
        mantissa, exponent = self._powers.mantissa[last::-1], self._powers.exponent[last::-1]
        excess = 1 + self.error(2 * self.roundings + 6)
        ratios = np.ldexp(mantissa[:-1] / mantissa[1:], (exponent[:-1] - exponent[1:]).astype(np.int32))
        totals = [total]
        for size, ratio in zip(self.profile.sizes[:last][::-1].tolist(), ratios.tolist(), strict=True):
            total = (size + ratio * total) * excess
            totals.append(total)
        return totals[::-1]

    def enclose_totals(self) -> tuple[FloatArray, FloatArray]:
        """Bound Σ c from below and above for every round j, if each earlier round has taken the best item left.

        If i items of the best level are taken, Σ c is i less than the sum of the whole level and those below. A number
        in `totals` exceeds the true sum by at most twice the roundings of all steps. The slack is three times them.
        """
        steps = self.lowest_top + 1
        reach = len(self.weigh_within_reach(self.lowest_top))
        slack = 3 * (self.error(2 * self.roundings + reach + 6) + OMITTED + steps * self.error(2 * self.roundings + 6))
        sizes = self.profile.sizes[:steps]
        upper: FloatArray = np.repeat(np.array(self.totals), sizes)[: self._k]
        taken = np.arange(self._k) - np.repeat(self.profile.ends[:steps] - sizes, sizes)[: self._k]
        # The best item left counts 1 by itself.
        lower: FloatArray = np.maximum(1.0, upper * (1 - slack) - taken)
        return lower, (upper - taken) * (1 + 2.0**-50)

    @property
    def roundings(self) -> int:
        """The number of roundings in each weight."""
        return self._powers.roundings

    @staticmethod
    def error(roundings: int) -> float:
        """Return the largest relative error of a number after some roundings."""
        return 1.02 * roundings * 2.0**-53


class PeelLevels:
    """Levels with their weights at a rate, prepared for many runs."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction, spare: int = 0) -> None:
        """Show all levels within reach of the first k items, and of some to spare."""
        self.rate = rate
        self.k = k
        self._levels = levels
        self._spare = spare
        bits = math.log2(levels.d) + _OUT_OF_REACH_BITS
        self._depth = min(EVERY_LEVEL, _find_depth(bits, rate) + 1)
        profile = levels.above(min(k + spare, levels.d), self._depth)
        self.shown = LevelWeights(profile, rate, k=k, depth=self._depth, spare=spare)

    def picks(self, positions: IntArray) -> Picks:
        """Describe the items at some positions. Items below the levels shown need all levels."""
        inside = not len(positions) or int(positions.max()) < self.shown.profile.ends[-1]
        return (self.shown if inside else self.complete).profile.picks(positions)

    @cached_property
    def complete(self) -> LevelWeights:
        """All levels, for the rare draws that the levels within reach cannot decide."""
        if self.shown.profile.is_complete:
            return self.shown
        profile = self._levels.above(self.k, EVERY_LEVEL)
        return LevelWeights(profile, self.rate, k=self.k, depth=self._depth, spare=self._spare)


class PeelRun:
    """The state of one run: the items left, and proposals among them."""

    def __init__(self, peeling: PeelLevels, bits: Bits, positions: Sequence[int] = ()) -> None:
        """Begin with the items at some positions on the list."""
        self._peeling = peeling
        self._bits = bits
        self._level_weights = peeling.shown
        self._left = self._level_weights.profile.sizes.copy()
        self._top = 0
        self._weights: FloatArray | None = None
        self._taken: dict[int, None] = {}
        self._batch: Iterator[tuple[int, int]] = iter(())
        if positions:
            if max(positions) >= int(self._level_weights.profile.ends[-1]):
                self.left()
            levels = self._level_weights.profile.find_levels(np.array(positions)).tolist()
            for level, position in zip(levels, positions, strict=True):
                self.take(level, position)

    def propose(self) -> tuple[int, int]:
        """Draw an item that is left: its level, and its position among all items in falling order of count.

        Rounds  At most two, because the first item of a new batch is left.
        """
        while True:
            for level, position in self._batch:
                if position not in self._taken:
                    return level, position
            self._batch = self._draw_batch()

    def take(self, level: int, position: int) -> None:
        """Put an item on the list, so that it is not proposed again."""
        self._taken[position] = None
        self._left[level] -= 1
        while self._top < len(self._left) - 1 and not self._left[self._top]:
            self._top += 1
            self._weights = None

    def compute_loss(self, level: int) -> int:
        """Return how many votes a level is below the best one left."""
        values = self._level_weights.profile.values
        return int(values[self._top]) - int(values[level])

    @property
    def positions(self) -> list[int]:
        """The positions of the items on the list, in the order in which they were taken."""
        return list(self._taken)

    def sums(self) -> tuple[arb, arb]:
        """Enclose Σ c and Σ c² over the items left, where c = e^(−rate · loss).

        A weight w is off by n roundings, the sum of left · w over m levels by n + 1 + m, and its quotient by w_0 by
        2n + 2 + m. In the same way the second sum is off by 4n + 5 + m. Items out of reach add less than 2^-47 to each.
        """
        weights, weighted = self._weigh_within_reach()
        first = float(weighted.sum() / weights[0])
        second = float((weighted * weights).sum() / weights[0] ** 2)
        error = LevelWeights.error(4 * self._level_weights.roundings + len(weights) + 8)
        return arb(first, first * error + OMITTED), arb(second, second * error + OMITTED)

    def left(self) -> LevelRange:
        """Return all items that are left, with exact weights."""
        if self._level_weights is not self._peeling.complete:
            seen, self._level_weights = self._left, self._peeling.complete
            self._left = self._level_weights.profile.sizes.copy()
            self._left[: len(seen)] = seen
        return cover_all_left(self._level_weights.profile.values, self._left, self._peeling.rate)

    def _draw_batch(self) -> Iterator[tuple[int, int]]:
        """Draw a batch of independent items among those left: only one, if it is likely to be on the best level.

        The levels divide [0, 1) in order, the best first. The total also counts items that have been
        taken. So the best level covers at least [0, left / total), and a number in that range is on it.
        """
        top, first = self._top, None
        share = self._left[top] / self._level_weights.totals[top]
        if share > _LIKELY:
            first = Uniform(self._bits)
            if first.approximate() < share - _CERTAIN:
                return iter([self._draw_item(top)])
        wanted = self._peeling.k - len(self._taken)
        levels = self._draw_levels(min(wanted + wanted // 2 + 8, _LARGEST_BATCH), first)
        positions = self._find_positions(levels, draw_below_each(self._left[levels], self._bits))
        return zip(levels.tolist(), positions.tolist(), strict=True)

    def _draw_item(self, level: int) -> tuple[int, int]:
        """Draw an item that is left on a level."""
        size, left = int(self._level_weights.profile.sizes[level]), int(self._left[level])
        rank = draw_below(left, self._bits)
        if left == size:
            return level, int(self._level_weights.profile.ends[level]) - size + rank
        return level, int(self._find_positions(np.array([level]), np.array([rank]))[0])

    def _draw_levels(self, count: int, first: Uniform | None) -> IntArray:
        """Draw levels, each with probability ∝ the weight of the items left on it. `first` decides the first one."""
        weights, weighted = self._weigh_within_reach()
        error, omitted = LevelWeights.error(self._level_weights.roundings + 1), OMITTED * float(weights[0])
        words = draw_words(count, self._bits)
        if first is not None:
            words[0] = first.numerator
        levels = Table(weighted, error=error, omitted=omitted).locate_each(words)
        doubtful = np.flatnonzero(levels < 0)
        levels += self._top
        for index in doubtful.tolist():
            levels[index] = self._find_level(Uniform(self._bits, int(words[index])))
        return levels

    def _weigh_within_reach(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of one item, and of all items left, for every level within reach of the best one left."""
        if self._weights is None:
            self._weights = self._level_weights.weigh_within_reach(self._top)
        return self._weights, self._left[self._top : self._top + len(self._weights)] * self._weights

    def _find_level(self, number: Uniform) -> int:
        return quantile(number, [self.left()]).level()

    def _find_positions(self, levels: IntArray, ranks: IntArray) -> IntArray:
        """Find the positions of items, given their ranks among the items left in their levels.

        If t_0 < t_1 < … are the positions taken, t_i − i items are left before t_i. So the item with q items left
        before it is at position q + #{i : t_i − i ≤ q}.
        """
        profile = self._level_weights.profile
        starts = profile.ends[levels] - profile.sizes[levels]
        taken = np.sort(np.fromiter(self._taken, dtype=np.int64, count=len(self._taken)))
        before = starts - taken.searchsorted(starts) + ranks
        return before + (taken - np.arange(len(taken))).searchsorted(before, side="right")


def _find_depth(bits: float, rate: Fraction) -> int:
    """Find how many votes below an item others weigh 2^-bits of it, rounded down."""
    return int(Fraction(bits * math.log(2)) / rate)
