"""The k largest noisy counts, many times at once.

The procedure is that of largest.py, a row for each draw. Noise on many items at once is cheap, so more levels are near.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace
from shortlist.exact.shuffles import draw_distinct_below
from shortlist.exact.uniform import draw_words
from shortlist.mechanisms.counts.largest import LargestNoisyCounts
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import ManyPicks

_NEAR = {DiscreteLaplace: 0.1, DiscreteGaussian: 0.005}
"""Noise on all items of a level is faster than drawing those that reach the threshold, from these probabilities on."""
_CELLS = 1 << 17
"""How many noisy counts are computed at once."""
_WORD = 62


class NoisyDraws(LargestNoisyCounts):
    """The law of the k largest noisy counts on given levels, ready for one draw or many."""

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose the k items n times, with their noisy counts."""
        if self._ties or not self._fits:
            return ManyPicks.join(Prepared.draw_many(self, n, bits))
        near = self._wide.near_counts
        rows = max(1, _CELLS // (len(near) + self._k))
        parts = [self._wide.draw_rows(min(rows, n - start), bits) for start in range(0, n, rows)]
        positions, noisy = (np.concatenate(each).ravel() for each in zip(*parts, strict=True))
        profile = self._profile if positions.max() < self._profile.ends[-1] else self._complete
        picks = profile.picks(positions)
        return ManyPicks(levels=picks.levels, ranks=picks.ranks, counts=noisy, lengths=np.full(n, self._k))

    @cached_property
    def _wide(self) -> _Rows:
        near = _NEAR[type(self._noise)]
        return _Rows(self._levels, k=self._k, noise=self._noise, spare=self._spare, near=near)


class _Rows(LargestNoisyCounts):
    """Draws in rows, with more levels near."""

    def draw_rows(self, n: int, bits: Bits) -> tuple[IntArray, IntArray]:
        """Draw the positions and the noisy counts of the k items, a row for each draw."""
        near = self.near_counts
        noisy = near + self._noise.draw_array(n * len(near), bits).reshape(n, len(near))
        far_rows, far_positions, far_noisy = self._draw_many_far(n, bits)
        width = max(self._k - len(near), int(np.bincount(far_rows, minlength=n).max()))
        # The far items of each row stand behind the near ones. An empty place has no position.
        positions = np.full((n, len(near) + width), -1)
        positions[:, : len(near)] = np.arange(len(near))
        values = np.zeros((n, len(near) + width), dtype=np.int64)
        values[:, : len(near)] = noisy
        starts = np.searchsorted(far_rows, far_rows)
        places = len(near) + np.arange(len(far_rows)) - starts
        positions[far_rows, places], values[far_rows, places] = far_positions, far_noisy
        reached = positions >= 0
        if self._threshold is not None:
            reached &= values >= self._threshold
        short = np.flatnonzero(reached.sum(axis=1) < self._k)
        order = self._order(values, reached, bits)
        chosen = np.take_along_axis(positions, order, axis=1), np.take_along_axis(values, order, axis=1)
        for row in short.tolist():
            filled = positions[row] >= len(near)
            drawn = self._draw_rest(positions[row, filled].tolist(), values[row, filled].tolist(), bits)
            rest = np.array(drawn, dtype=np.int64)  # empty lists, where every item is near, would become floats
            everything = np.append(positions[row, : len(near)], rest[0]), np.append(noisy[row], rest[1])
            order = self._order(everything[1][None], np.ones((1, len(everything[1])), dtype=bool), bits)
            chosen[0][row], chosen[1][row] = everything[0][order[0]], everything[1][order[0]]
        return chosen

    def _draw_many_far(self, n: int, bits: Bits) -> tuple[IntArray, IntArray, IntArray]:
        """Draw the far items whose noisy counts reach the threshold: rows, positions and noisy counts, by rows."""
        if self._threshold is None or self._crossings is None:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, nothing
        rows, groups, indices = self._crossings.draw_many(n, bits)
        levels = self._near + groups
        inside = not len(levels) or int(levels.max()) < len(self._profile.values)
        profile = self._profile if inside else self._complete
        counts = profile.values[levels]
        noises = self._noise.draw_from((self._threshold - counts).tolist(), bits)
        kept = np.array([noise is not None for noise in noises], dtype=bool)
        noisy = counts + np.array([noise or 0 for noise in noises], dtype=np.int64)
        positions = profile.ends[levels] - profile.sizes[levels] + indices
        return rows[kept], positions[kept], noisy[kept]

    def _order(self, values: IntArray, reached: NDArray[np.bool_], bits: Bits) -> IntArray:
        """Find the places of the k largest values that are reached, the largest first, equal ones in uniform order.

        A value is the upper part of a word, and random bits are the lower part. Items with equal words are put in
        uniform order as well, so the order of equal values is that of uniform real numbers.
        """
        seen = values[reached]
        lowest, highest = (int(seen.min()), int(seen.max())) if len(seen) else (0, 0)
        width = _WORD - (highest - lowest).bit_length()
        words: IntArray = np.full(values.shape, -1, dtype=np.int64)
        random = (draw_words(len(seen), bits) >> np.uint64(64 - width)).astype(np.int64)
        words[reached] = (seen - lowest) << width | random
        length = values.shape[1]
        wanted = min(self._k + 1, length)
        largest = np.argpartition(words, length - wanted, axis=1)[:, length - wanted :]
        found = np.take_along_axis(words, largest, axis=1)
        falling = np.argsort(-found, axis=1)
        order = np.take_along_axis(largest, falling, axis=1)
        sorted_words = np.take_along_axis(found, falling, axis=1)
        equal = (sorted_words[:, 1:] == sorted_words[:, :-1]) & (sorted_words[:, 1:] >= 0)
        for row in np.flatnonzero(equal.any(axis=1)).tolist():
            uniform = draw_distinct_below(np.full(length, length), bits)
            order[row] = uniform[np.argsort(-words[row][uniform], kind="stable")][:wanted]
        return order[:, : self._k]
