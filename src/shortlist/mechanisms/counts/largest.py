"""The k largest noisy counts, from the profile.

Only items whose noisy count reaches a threshold are drawn. On levels near or above the threshold, every item gets
noise. Of the items far below it, few reach it. `Crossings` draws which ones, and `draw_from` draws their noise. The
threshold changes the cost and never the law. It is chosen so that very likely k items reach it.
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.crossings import Crossings, Groups
from shortlist.exact.noise import Noise
from shortlist.exact.shuffles import draw_distinct_below
from shortlist.mechanisms.counts.calibrated import clip_counts
from shortlist.mechanisms.counts.ties import fill_with_ties
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

_PRECISION = 128
_OUT_OF_REACH_BITS = 64
_MISSED = 2.0**-30
"""The largest accepted probability that one of the k largest counts falls below the threshold."""
_ESTIMATED = 1 << 9
"""How many levels an estimate looks at."""
_PARTS = 12
"""Into how many parts a search cuts a range of thresholds."""
_MANY_TIES = 4
"""If the level at the threshold has this many times as many items as are wanted, most of its items get no noise."""
_SMALL = 1 << 40
"""Up to these counts and noise, a count with noise certainly fits into 64 bits, and leaves some for an order."""
_FARTHEST, _WIDEST = 2**61, 5 * 2**60
"""Noise that reaches farther than the first is drawn for every item. Heights are cut off at the second, which is beyond
the reach of noise. Then a height with a threshold and noise fits into 64 bits."""


class LargestNoisyCounts(Prepared):
    """The law of the k largest noisy counts on given levels. Equal noisy counts are ordered uniformly at random."""

    def __init__(self, levels: Levels, *, k: int, noise: Noise, spare: int | None = None, near: float = 0.49) -> None:
        """Aim at `spare` more items above the threshold than k.

        A level is near if its items reach the threshold with a probability above `near`, which is 0.49 at most.
        """
        self._levels = levels
        self._k = k
        self._noise = noise
        self._spare = spare
        self._reach = _find_reach(noise, levels.d)
        fallen = math.ceil(noise.estimate_reach(k / _MISSED))
        self._profile = levels.above(k, min(EVERY_LEVEL, fallen + self._reach))
        self._fits = max(self._reach, int(self._profile.values[0])) <= _SMALL
        wanted = k + (6 * math.isqrt(k) + 30 if spare is None else spare)
        self._ties = range(0)
        """The positions of the items at the threshold, if they are very many."""
        if wanted >= levels.d or max(self._reach, fallen) > _FARTHEST:
            self._profile = self._complete
            self._threshold, self._near, self._crossings = None, len(self._profile.values), None
        else:
            kth = int(self._profile.top(k)[-1])
            heights = _measure_heights(self._profile, kth)
            height = self._find_threshold(heights, wanted, fallen)
            self._threshold = kth + height
            self._ties = self._find_ties(self._threshold, _MANY_TIES * wanted, near)
            self._near, self._crossings = self._prepare_far(heights, height, near)

    def draw(self, bits: Bits) -> Picks:
        """Choose the k items, with their noisy counts."""
        near = self.near_counts
        small = self._reach <= _SMALL
        noise = (
            self._noise.draw_array(len(near), bits)
            if small
            else np.array(self._noise.draw(len(near), bits), dtype=object)
        )
        noisy = (near if self._fits else near.astype(object)) + noise
        reached = np.arange(len(near)) if self._threshold is None else np.flatnonzero(noisy >= self._threshold)
        far_positions, far_noisy = self._draw_far(bits)
        known = dict(zip([*reached.tolist(), *far_positions], [*noisy[reached].tolist(), *far_noisy], strict=True))
        if self._threshold is not None:
            known = self._complete_list(known, noisy, bits)
        positions, values = list(known), list(known.values())
        # The order is uniform first. Sorting keeps it among equal noisy counts.
        order = draw_distinct_below(np.full(len(values), len(values)), bits).tolist()
        chosen = sorted(order, key=values.__getitem__, reverse=True)[: self._k]
        picked = np.array([positions[i] for i in chosen])
        profile = self._profile if int(picked.max()) < self._profile.ends[-1] else self._complete
        picks = profile.picks(picked)
        return Picks(levels=picks.levels, ranks=picks.ranks, counts=clip_counts([values[i] for i in chosen]))

    def _complete_list(self, known: dict[int, int], noisy: IntArray, bits: Bits) -> dict[int, int]:
        """Add items to those that reach the threshold, if these are fewer than k. `noisy` is for the near items."""
        threshold = self._threshold
        assert threshold is not None
        if self._ties:
            known = fill_with_ties(known, self._ties, k=self._k, threshold=threshold, noise=self._noise, bits=bits)
        if sum(value >= threshold for value in known.values()) >= self._k:
            return known
        far = {position: value for position, value in known.items() if position >= len(noisy)}
        rest = self._draw_rest(list(far), list(far.values()), bits)
        return dict(enumerate(noisy.tolist())) | dict(zip(*rest, strict=True))

    @cached_property
    def near_counts(self) -> IntArray:
        """The counts of all items on the levels that are near."""
        return np.repeat(self._profile.values[: self._near], self._profile.sizes[: self._near])

    def _draw_far(self, bits: Bits) -> tuple[list[int], list[int]]:
        """Draw the items on far levels whose noisy counts reach the threshold."""
        if self._threshold is None or self._crossings is None:
            return [], []
        events = self._crossings.draw(bits)
        if not events:
            return [], []
        groups, indices = np.array(events).T
        levels = self._near + groups
        profile = self._profile if int(levels.max()) < len(self._profile.values) else self._complete
        counts = profile.values[levels].tolist()
        noises = self._noise.draw_from([_find_gap(self._threshold, count) for count in counts], bits)
        places = (profile.ends[levels] - profile.sizes[levels] + indices).tolist()
        drawn = [
            (position, count + noise)
            for position, count, noise in zip(places, counts, noises, strict=True)
            if noise is not None
        ]
        return [position for position, _ in drawn], [noisy for _, noisy in drawn]

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

    def _find_threshold(self, heights: Profile, wanted: int, fallen: int) -> int:
        """Find a threshold that about as many items reach as are wanted, or up to an eighth more. Floats are enough."""
        rough = _merge_levels(heights)
        low, high = -fallen, self._reach
        while high - low > 1:
            step = -(-(high - low) // _PARTS)
            tried = np.arange(low + step, high, step)
            expected = (self._noise.estimate_tails(tried[:, None] - rough.values) * rough.sizes).sum(axis=1)
            enough = int(np.count_nonzero(expected >= wanted))  # fewer items reach a higher threshold
            if enough and expected[enough - 1] <= wanted * 1.125:
                return int(tried[enough - 1])
            low, high = low + enough * step, min(low + (enough + 1) * step, high)
        return low

    def _find_ties(self, threshold: int, most: int, near: float) -> range:
        """Find the items at the threshold, if they are more than `most` and their noise is rarely above 0."""
        values, sizes, ends = self._profile.values, self._profile.sizes, self._profile.ends
        level = int(np.searchsorted(-values, -threshold))
        if not self._fits or level == len(values) or values[level] != threshold or sizes[level] <= most:
            return range(0)
        above = self._noise.tails(np.ones(1, dtype=np.int64))
        if float(above.align(0)[0]) * (1 + above.error) > near:
            return range(0)
        return range(int(ends[level] - sizes[level]), int(ends[level]))

    def _prepare_far(self, heights: Profile, threshold: int, least: float) -> tuple[int, Crossings]:
        """Count the near levels, and prepare the draws on all others.

        A level is near if it is not below the threshold, or if its items reach it with a probability above `least`. If
        very many items are at the threshold, they are far, and those above it are drawn.
        """
        falling = -heights.values
        above = int(falling.searchsorted(-threshold, side="left" if self._ties else "right"))
        last = max(above, int(falling.searchsorted(min(self._reach, _FARTHEST) - threshold, side="right")))
        # Ties at the threshold are far only if they get above it, as in `_find_gap`.
        chances = self._noise.tails(np.maximum(threshold - heights.values[above:last], 1))
        # Ties are far, even if the bound of their chance is larger here by some roundings than it was for `_find_ties`.
        close = 0 if self._ties else int(np.count_nonzero(chances.align(0) * (1 + chances.error) > least))
        # Items out of reach have p below 2^-64 together, and −ln(1 − p) < 2p.
        omitted = 2.0 ** (1 - _OUT_OF_REACH_BITS)
        sizes = heights.sizes[above + close : last]
        far = chances.take(slice(close, None))
        return above + close, Crossings.of_chances(sizes, far, omitted=omitted, all_groups=self._find_groups)

    def _find_groups(self) -> Groups:
        """Return all far levels, with their exact tails."""
        profile, threshold = self._complete, self._threshold
        assert threshold is not None
        values = profile.values[self._near :]
        return Groups(
            sizes=profile.sizes[self._near :],
            hazard=lambda index: -(-self._noise.enclose_tail(_find_gap(threshold, int(values[index])))).log1p(),
        )


def _find_gap(threshold: int, count: int) -> int:
    """Find how much noise a far item needs. Ties at the threshold are far only if they get above it: 1 at least."""
    return max(1, threshold - count)


@lru_cache(maxsize=256)
def _find_reach(noise: Noise, d: int) -> int:
    """Find a depth at which the tails of d items sum to less than 2^-64."""
    depth = math.ceil(noise.estimate_reach(d * 2.0**_OUT_OF_REACH_BITS)) + 1
    with use_precision(_PRECISION):
        while not d * noise.enclose_tail(depth) < arb(2) ** -_OUT_OF_REACH_BITS:
            depth += depth // 8 + 1
    return depth


def _measure_heights(profile: Profile, kth: int) -> Profile:
    """Measure all levels from the k-th largest count: the law depends on differences only."""
    return Profile(values=np.clip(profile.values - kth, -_WIDEST, _WIDEST), sizes=profile.sizes, d=profile.d)


def _merge_levels(profile: Profile) -> Profile:
    """Merge neighbouring levels until few are left, for estimates. An item counts as one of the lowest merged level."""
    step = -(-len(profile.values) // _ESTIMATED)
    if step == 1:
        return profile
    starts = np.arange(0, len(profile.values), step)
    lowest = np.minimum(starts + step - 1, len(profile.values) - 1)
    return Profile(values=profile.values[lowest], sizes=np.add.reduceat(profile.sizes, starts), d=profile.d)
