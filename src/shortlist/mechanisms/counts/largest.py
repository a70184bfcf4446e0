"""The k largest noisy counts, from the profile.

Only items whose noisy count reaches a threshold are drawn. On levels near or above the threshold, every item gets
noise. Of the items far below it, few reach it. `Crossings` draws which ones, and `draw_from` draws their noise. The
threshold changes the cost and never the law. It is chosen so that very likely k items reach it.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from flint import arb

from shortlist.exact.balls import working_precision
from shortlist.exact.bits import Bits
from shortlist.exact.crossings import Crossings, Groups
from shortlist.exact.noise import Noise
from shortlist.exact.scaled import Scaled
from shortlist.exact.shuffles import draw_distinct_below
from shortlist.mechanisms.counts.calibrated import clip_counts
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

_PRECISION = 128
_OUT_OF_REACH_BITS = 64
_MISSED = 2.0**-30
"""The chance that may remain that one of the k largest counts falls below the threshold."""
_ESTIMATED = 1 << 10
"""How many levels an estimate looks at."""
_FARTHEST, _WIDEST = 2**61, 5 * 2**60
"""Noise that reaches farther than the first is drawn for every item. Heights are cut off at the second, which is beyond
the reach of noise. Then a height with a threshold and noise fits into 64 bits."""


class LargestNoisyCounts(Prepared):
    """The law of the k largest noisy counts on given levels. Equal noisy counts are ordered uniformly at random."""

    def __init__(self, levels: Levels, *, k: int, noise: Noise, spare: int | None = None, near: float = 0.49) -> None:
        """Aim at `spare` more items above the threshold than k. Levels are near from a probability on, 0.49 at most."""
        self._levels = levels
        self._k = k
        self._noise = noise
        self._spare = spare
        self._reach = self._find_reach()
        fallen = math.ceil(noise.estimate_reach(k / _MISSED))
        self._profile = levels.above(k, min(EVERY_LEVEL, fallen + self._reach))
        wanted = k + (6 * math.isqrt(k) + 30 if spare is None else spare)
        if wanted >= levels.d or max(self._reach, fallen) > _FARTHEST:
            self._profile = self._complete
            self._threshold, self._near = None, len(self._profile.values)
            self._crossings = self._prepare_crossings(_measure_heights(self._profile, 0), 0)
        else:
            kth = int(self._profile.top(k)[-1])
            heights = _measure_heights(self._profile, kth)
            height = self._find_threshold(heights, wanted, fallen)
            self._threshold, self._near = kth + height, self._count_near(heights, height, near)
            self._crossings = self._prepare_crossings(heights, height)

    def draw(self, bits: Bits) -> Picks:
        """Choose the k items, with their noisy counts."""
        positions, noisy = self._draw_near(bits)
        threshold = self._threshold
        reached = [i for i, value in enumerate(noisy) if threshold is None or value >= threshold]
        far_positions, far_noisy = self._draw_far(bits)
        if len(reached) + len(far_positions) < self._k:
            far_positions, far_noisy = self._draw_rest(far_positions, far_noisy, bits)
            reached = list(range(len(noisy)))
        positions = [*(positions[i] for i in reached), *far_positions]
        noisy = [*(noisy[i] for i in reached), *far_noisy]
        # The order is uniform first. Sorting keeps it among equal noisy counts.
        order = draw_distinct_below(np.full(len(noisy), len(noisy)), bits).tolist()
        chosen = sorted(order, key=lambda i: -noisy[i])[: self._k]
        profile = self._profile if max(positions) < self._profile.ends[-1] else self._complete
        picks = profile.picks(np.array([positions[i] for i in chosen]))
        return Picks(levels=picks.levels, ranks=picks.ranks, counts=clip_counts([noisy[i] for i in chosen]))

    def _draw_near(self, bits: Bits) -> tuple[list[int], list[int]]:
        """Draw the noisy counts of all items on the levels that are near."""
        profile = self._profile
        counts = np.repeat(profile.values[: self._near], profile.sizes[: self._near]).tolist()
        noises = self._noise.draw(len(counts), bits)
        return list(range(len(counts))), [count + noise for count, noise in zip(counts, noises, strict=True)]

    def _draw_far(self, bits: Bits) -> tuple[list[int], list[int]]:
        """Draw the items on far levels whose noisy counts reach the threshold."""
        threshold = self._threshold
        if threshold is None:
            return [], []
        events = [(self._near + group, index) for group, index in self._crossings.draw(bits)]
        last = max((level for level, _ in events), default=0)
        profile = self._profile if last < len(self._profile.values) else self._complete
        counts = [int(profile.values[level]) for level, _ in events]
        noises = self._noise.draw_from([threshold - count for count in counts], bits)
        positions, noisy = [], []
        for (level, index), count, noise in zip(events, counts, noises, strict=True):
            if noise is not None:
                positions.append(int(profile.ends[level] - profile.sizes[level]) + index)
                noisy.append(count + noise)
        return positions, noisy

    def _draw_rest(self, positions: list[int], noisy: list[int], bits: Bits) -> tuple[list[int], list[int]]:
        """Add all other items on far levels, given that their noisy counts are below the threshold.

        Rounds  Noise is at most 0, which is below threshold − count, with probability 1/2 or more.
        """
        profile, reached = self._complete, set(positions)
        counts = np.repeat(profile.values, profile.sizes).tolist()
        first = int(profile.sizes[: self._near].sum())
        missing = [position for position in range(first, profile.d) if position not in reached]
        positions, noisy = list(positions), list(noisy)
        while missing:
            again = []
            for position, noise in zip(missing, self._noise.draw(len(missing), bits), strict=True):
                value = counts[position] + noise
                if self._threshold is not None and value >= self._threshold:
                    again.append(position)
                else:
                    positions.append(position)
                    noisy.append(value)
            missing = again
        return positions, noisy

    @cached_property
    def _complete(self) -> Profile:
        return self._levels.above(self._k, EVERY_LEVEL)

    def _find_reach(self) -> int:
        """Find a depth at which the tails of d items sum to less than 2^-64."""
        depth = math.ceil(self._noise.estimate_reach(self._levels.d * 2.0**_OUT_OF_REACH_BITS)) + 1
        with working_precision(_PRECISION):
            while not self._levels.d * self._noise.enclose_tail(depth) < arb(2) ** -_OUT_OF_REACH_BITS:
                depth += depth // 8 + 1
        return depth

    def _find_threshold(self, heights: Profile, wanted: int, fallen: int) -> int:
        """Find a threshold that about as many items reach as are wanted, or up to an eighth more. Floats are enough."""
        rough = _merge_levels(heights)
        low, high = -fallen, self._reach
        while high - low > 1:
            middle = (low + high) // 2
            expected = self._expect(middle, rough)
            if wanted <= expected <= wanted * 1.125:
                return middle
            low, high = (middle, high) if expected >= wanted else (low, middle)
        return low

    def _expect(self, threshold: int, profile: Profile) -> float:
        """Estimate how many items of a profile reach a threshold."""
        above = int(np.searchsorted(-profile.values, -threshold, side="right"))
        far, chances = self._far(above, threshold, profile)
        under = np.maximum(profile.values[:above] - threshold + 1, 1)[::-1]
        under = under[: np.searchsorted(under, self._reach)]
        lost = self._noise.tails(under).align(0)
        sizes = profile.sizes[:above]
        lost_items = (sizes[::-1][: len(lost)] * lost).sum()
        return float(sizes.sum() - lost_items + (profile.sizes[above:far] * chances.align(0)).sum())

    def _count_near(self, heights: Profile, threshold: int, least: float) -> int:
        """Count the levels that reach the threshold, or whose items do with more than a probability."""
        above = int(np.searchsorted(-heights.values, -threshold, side="right"))
        _, chances = self._far(above, threshold, heights)
        return above + int((chances.align(0) * (1 + chances.error) > least).sum())

    def _far(self, first: int, threshold: int, profile: Profile) -> tuple[int, Scaled]:
        """Return the first level out of reach, and the tails of the levels from `first` to there."""
        values = profile.values
        last = max(first, int(np.searchsorted(-values, min(self._reach, _FARTHEST) - threshold, side="right")))
        return last, self._noise.tails(threshold - values[first:last])

    def _prepare_crossings(self, heights: Profile, threshold: int) -> Crossings:
        last, chances = self._far(self._near, threshold, heights)
        # Items out of reach have p below 2^-64 together, and −ln(1 − p) < 2p.
        omitted = 2.0 ** (1 - _OUT_OF_REACH_BITS)
        sizes = heights.sizes[self._near : last]
        return Crossings.of_chances(sizes, chances, omitted=omitted, all_groups=self._find_groups)

    def _find_groups(self) -> Groups:
        """All far levels, with their exact tails."""
        profile, threshold = self._complete, self._threshold
        assert threshold is not None
        values = profile.values[self._near :]
        return Groups(
            sizes=profile.sizes[self._near :],
            hazard=lambda index: -(-self._noise.enclose_tail(threshold - int(values[index]))).log1p(),
        )


def _measure_heights(profile: Profile, kth: int) -> Profile:
    """Measure all levels from the k-th largest count: the law depends on differences only."""
    return Profile(values=np.clip(profile.values - kth, -_WIDEST, _WIDEST), sizes=profile.sizes, d=profile.d)


def _merge_levels(profile: Profile) -> Profile:
    """Merge neighbouring levels until few are left, for estimates: each item counts as one of the lowest among them."""
    step = -(-len(profile.values) // _ESTIMATED)
    if step == 1:
        return profile
    starts = np.arange(0, len(profile.values), step)
    lowest = np.minimum(starts + step - 1, len(profile.values) - 1)
    return Profile(values=profile.values[lowest], sizes=np.add.reduceat(profile.sizes, starts), d=profile.d)
