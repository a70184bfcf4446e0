"""Many peels side by side: the rounds of `PeelRun`, for all runs at once.

A run proposes an item of the level that is its best one left, or of a level below, as if nothing were taken there.
Proposals of items that it has taken are skipped. A proposal that is not skipped has the law of a proposal among the
items that are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import quantile
from shortlist.exact.many_thinning import Mask
from shortlist.exact.uniform import Uniform, draw_below_each, draw_words
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.peel.peeling import PeelLevels
from shortlist.mechanisms.peel.ranges import LevelRange, cover_all_left
from shortlist.mechanisms.peel.single import SuccessiveDraws
from shortlist.mechanisms.peel.stretches import Stretch, find_stretches
from shortlist.profile import ManyPicks

MOST_ROUNDS = 1 << 10
"""For more rounds, skipping proposals takes longer than single runs."""


class Accept(Protocol):
    """Whether proposals are accepted."""

    def __call__(self, runs: IntArray, levels: IntArray) -> Mask:
        """Decide for each run whether its proposal, an item of a level, is accepted."""


class PeelDraws(SuccessiveDraws, Prepared):
    """The law of a peel on given levels, ready for one draw or many. A subclass may reject proposals."""

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose k items n times."""
        peeling = self.peeling
        if peeling.k > MOST_ROUNDS:
            return ManyPicks.join(Prepared.draw_many(self, n, bits))
        positions = self._draw_many_positions(n, bits).ravel()
        return ManyPicks.join([peeling.picks(positions)]).reshape(peeling.k)

    def list_best_rounds(self) -> tuple[IntArray, FloatArray]:
        """For each round that begins with the best items left: how many items are best, and Σ c over all items left."""
        shown, k = self.peeling.shown, self.peeling.k
        below, above = shown.enclose_totals()
        ends = np.repeat(shown.profile.ends[: shown.lowest_top + 1], shown.profile.sizes[: shown.lowest_top + 1])[:k]
        return ends - np.arange(k), (below + above) / 2

    def _draw_many_positions(self, n: int, bits: Bits, stops: range | None = None) -> IntArray:
        """Draw the positions of the items, a row for each draw."""
        runs = ManyPeels(self.peeling, self._stretches, n, bits)
        return runs.run(self._accept_many(runs, bits), stops)

    def _accept_many(self, runs: ManyPeels, bits: Bits) -> Accept | None:
        """Return what decides on proposals; None accepts all of them."""
        return None

    @cached_property
    def _stretches(self) -> tuple[list[Stretch], IntArray]:
        return find_stretches(self.peeling.shown)


class ManyPeels:
    """Runs of one peel: what each has taken, and proposals for all of them."""

    def __init__(self, peeling: PeelLevels, stretches: tuple[list[Stretch], IntArray], n: int, bits: Bits) -> None:
        self.peeling = peeling
        self.tops = np.zeros(n, dtype=np.int64)
        """The best level that each run has items of."""
        self.levels = np.full((n, peeling.k), -1, dtype=np.int64)
        """The levels of the items that each run has taken; −1 for rounds to come."""
        self.rounds = np.zeros(n, dtype=np.int64)
        self._positions = np.full((n, peeling.k), -1, dtype=np.int64)
        self._bits = bits
        self._stretches, self._places = stretches
        slope = peeling.shown
        # One level more than can be the best one left stands for all others.
        self._left = np.tile(np.append(slope.profile.sizes[: slope.lowest_top + 1], np.iinfo(np.int64).max), (n, 1))

    def run(self, accept: Accept | None, stops: range | None = None) -> IntArray:
        """Run all rounds, and return the positions of the items in falling order of count, a row for each run.

        A run that takes an item at one of the positions `stops` ends there. Its other rounds have the position −1.

        Rounds  In a round with j items taken a proposal is left with a probability of 1/(j + 1) or more, as the best
                item left weighs no less than any of them.
        """
        active = np.arange(len(self.tops))
        while len(active):
            levels, positions = self._propose(active)
            width = int(self.rounds[active].max())
            accepted = ~(self._positions[active, :width] == positions[:, None]).any(axis=1)
            if accept is not None and accepted.any():
                accepted[accepted] = accept(active[accepted], levels[accepted])
            self._take(active[accepted], levels[accepted], positions[accepted])
            unfinished = self.rounds[active] < self.peeling.k
            if stops is not None:
                unfinished &= ~(accepted & (stops.start <= positions) & (positions < stops.stop))
            active = active[unfinished]
        return self._positions

    def cut(self, runs: IntArray) -> Iterator[tuple[Stretch, IntArray]]:
        """Part runs by the stretch of their best level: each stretch, and the places of its runs."""
        places = self._places[self.tops[runs]]
        for place in np.flatnonzero(np.bincount(places)).tolist():
            yield self._stretches[place], np.flatnonzero(places == place)

    def find_left(self, run: int) -> LevelRange:
        """Find all items that a run has not taken, with exact weights."""
        profile = self.peeling.complete.profile
        left = profile.sizes.copy()
        np.subtract.at(left, self.levels[run, : self.rounds[run]], 1)
        return cover_all_left(profile.values, left, self.peeling.rate)

    def _propose(self, runs: IntArray) -> tuple[IntArray, IntArray]:
        """Draw an item for each run: its level, and its position among all items in falling order of count."""
        words = draw_words(len(runs), self._bits)
        levels = np.empty(len(runs), dtype=np.int64)
        for stretch, asked in self.cut(runs):
            found = stretch.table.locate_each_after(words[asked], self.tops[runs[asked]] - stretch.first)
            levels[asked] = found + stretch.first
            for i in asked[found < 0].tolist():
                levels[i] = self._decide_exactly(int(self.tops[runs[i]]), Uniform(self._bits, int(words[i])))
        profile = self.peeling.shown.profile
        if int(levels.max()) >= len(profile.sizes):
            profile = self.peeling.complete.profile
        sizes = profile.sizes[levels]
        return levels, profile.ends[levels] - sizes + draw_below_each(sizes, self._bits)

    def _take(self, runs: IntArray, levels: IntArray, positions: IntArray) -> None:
        rounds = self.rounds[runs]
        self._positions[runs, rounds] = positions
        self.levels[runs, rounds] = levels
        self.rounds[runs] = rounds + 1
        self._left[runs, np.minimum(levels, self._left.shape[1] - 1)] -= 1
        while len(runs := runs[self._left[runs, self.tops[runs]] == 0]):
            self.tops[runs] += 1

    def _decide_exactly(self, top: int, number: Uniform) -> int:
        profile = self.peeling.complete.profile
        sizes = np.where(np.arange(len(profile.sizes)) < top, 0, profile.sizes)
        return quantile(number, [cover_all_left(profile.values, sizes, self.peeling.rate)]).level()
