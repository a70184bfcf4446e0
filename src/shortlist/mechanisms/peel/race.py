"""A peel as a race: every item arrives at the points of a Poisson process, at a rate that is its weight.

After any time, the next arrival is that of item i with probability ∝ its weight, independently of the past. So the
arrivals in the order of time are independent proposals of the exponential mechanism, and a peel skips the items that it
has taken (cdp_peel.proof.md, Theorem 4). All arrivals before a time t are drawn together. After t, the process begins
anew, so a run that needs more proposals draws them in another way.

Let v be the count of a *pivot* level, and let an item with count h have the weight e^(rate · (h − v)). Then t is 1 at
most. Items above the pivot arrive at least once before t on average. The time of their first arrival is exponential.
Of all others, few arrive before t. They have a Poisson number of arrivals, at independent uniform times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.crossings import Crossings, Groups
from shortlist.exact.logarithms import compute_exponentials
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.peel.peeling import OMITTED, LevelWeights, PeelLevels

_KEY_ERROR, _ROUNDED = 2.0**-39, 2.0**-51
"""The key of a time has an error below `_KEY_ERROR` + `_ROUNDED` · |key|, besides that of bits that are not drawn."""
_SMALLEST = 2.0**-36
_MOST_TURNS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Arrivals before t, in the order of time: their levels, and their positions in falling order of count."""

    levels: IntArray
    positions: IntArray
    last: NDArray[np.bool_]
    """Whether the next arrival of the same item is not drawn, though it may be before t."""


class Race:
    """The arrivals before a time that about as many items reach as are wanted, ready to be drawn."""

    def __init__(self, peeling: PeelLevels, *, turns: int = 1) -> None:
        """Draw up to `turns` arrivals of each item above the pivot, six at most."""
        assert turns <= _MOST_TURNS  # `_find_keys` relies on it
        self._peeling = peeling
        self._turns = turns
        place = _choose_time(peeling.shown, peeling.k, float(peeling.rate))
        weights = peeling.complete if place is None else peeling.shown
        self._profile = weights.profile
        self._pivot = len(self._profile.values) if place is None else place[0]
        self._time = None if place is None else place[1]
        last = min(self._pivot, len(self._profile.values) - 1)
        self._pivot_count = int(self._profile.values[last])
        self._levels = np.repeat(np.arange(self._pivot), self._profile.sizes[: self._pivot])
        self._near = len(self._levels)
        mantissas, exponents = weights.relate(self._pivot, last)
        self._mantissas, self._exponents = mantissas[self._levels], exponents[self._levels]
        self._crossings = None if self._time is None else self._prepare_crossings(self._time)

    def draw(self, bits: Bits) -> Arrivals:
        """Draw all arrivals before t. Without a t, every item has its first arrivals."""
        words = draw_words(self._turns * self._near, bits).reshape(self._turns, self._near)
        levels, positions = self._draw_far(bits)
        far = draw_words(len(levels), bits)
        keys, errors = self._find_keys(words, far)
        order = np.argsort(keys)
        unsure = _find_unsure(keys[order], errors[order])
        if unsure is not None:
            self._sort_exactly(order, unsure, words, far, bits)
        if self._time is not None:  # t itself is at the end of the array
            order = order[: int(np.flatnonzero(order == len(keys) - 1)[0])]
        near = order < words.size
        places = order
        if self._turns > 1:
            places = np.where(near, order % max(1, self._near), order + (self._near - words.size))
        return Arrivals(
            levels=np.concatenate([self._levels, levels])[places],
            positions=np.concatenate([np.arange(self._near), positions])[places],
            last=near & (order >= words.size - self._near),
        )

    def _draw_far(self, bits: Bits) -> tuple[IntArray, IntArray]:
        """Draw the arrivals before t of items on the pivot or below, without their times."""
        if self._crossings is None:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        groups, indices = self._crossings.draw_points(bits)
        levels = groups + self._pivot
        profile = self._profile
        if len(levels) and int(levels.max()) >= len(profile.values):
            profile = self._peeling.complete.profile
        return levels, profile.ends[levels] - profile.sizes[levels] + indices

    def _find_keys(self, words: NDArray[np.uint64], far: NDArray[np.uint64]) -> tuple[FloatArray, FloatArray]:
        """Compute a key for each time, and for t, and how far each may be off. The key of m · 2^e is e + 2m.

        Proof   With 1/2 ≤ m < 1, the key grows with the time. If a time is off by some share, its key is off by at most
                twice that. The n-th arrival of an item above the pivot is at (E_1 + … + E_n) c, where c is a quotient
                of two weights. Each E is off by 2^-41 of itself, and by what bits that are not drawn add. The sum adds
                one rounding for each term. A weight has fewer than 2^8 roundings, so c adds less than 2^-43. An arrival
                below is at U t. The sum e + 2m is rounded at last.
                In c, wide gaps are shortened to depth + 1 votes, so c is less than 2^-48 / d of that below the gap. So
                an arrival above such a gap may be earlier than its key says. By its key, it is before all arrivals
                below the gap, and so it is in truth. For if 1 is the time of an item at the end of the gap with E = 1,
                the arrival is at most at 2^6 · 6 · 2^-48 / d, which is below 2^-39 / d. Arrivals below the gap are at E
                or U t, or later. E and U are 2^-36 or more, and t is 1/d or more, up to a rounding. Smaller E and U
                count as unknown. There are six turns at most.
        """
        waits, unknown = compute_exponentials(words)
        times = np.cumsum(waits, axis=0)
        uniform = far.astype(np.float64) * 2.0**-64
        end = np.array([] if self._time is None else [self._time])
        scaled = np.concatenate([(times * self._mantissas).ravel(), uniform * (self._time or 1.0), end])
        mantissa, exponent = np.frexp(scaled)
        keys = exponent + 2 * mantissa
        count = times.size
        keys[:count].reshape(times.shape)[:] += self._exponents
        errors = np.abs(keys) * _ROUNDED + _KEY_ERROR
        errors[:count] += 2 * np.maximum.accumulate(unknown, axis=0).ravel()
        errors[:count][times.ravel() < _SMALLEST] = np.inf
        after = count + len(uniform)
        errors[count:after] += np.where(uniform < _SMALLEST, np.inf, 2.0**-62 / np.maximum(uniform, _SMALLEST))
        return keys, errors

    def _sort_exactly(
        self, order: IntArray, unsure: NDArray[np.bool_], words: NDArray[np.uint64], far: NDArray[np.uint64], bits: Bits
    ) -> None:
        """Sort the runs of arrivals that floats cannot tell apart."""
        drawn: dict[int, Uniform] = {}
        flat = np.concatenate([words.ravel(), far])
        end = len(flat)

        def number(index: int) -> Uniform:
            if index not in drawn:
                drawn[index] = Uniform(bits, int(flat[index]))
            return drawn[index]

        def find_time(index: int) -> _Time:
            if index >= words.size:
                return _Time(share=Fraction(self._time or 1), numbers=[] if index == end else [number(index)])
            turn, item = divmod(index, self._near)
            votes = int(self._profile.values[self._levels[item]]) - self._pivot_count
            return _Time(
                lead=self._peeling.rate * votes,
                numbers=[number(each * self._near + item) for each in range(turn + 1)],
            )

        for first, after in _find_runs(unsure):
            times = {index: find_time(index) for index in order[first:after].tolist()}
            order[first:after] = sorted(times, key=cmp_to_key(lambda a, b: _compare(times[a], times[b])))  # noqa: B023

    def _prepare_crossings(self, time: float) -> Crossings:
        shown, rate = self._peeling.shown, self._peeling.rate
        weights = shown.weigh_within_reach(self._pivot)
        sizes = shown.profile.sizes[self._pivot : self._pivot + len(weights)]

        def find_groups() -> Groups:
            profile = self._peeling.complete.profile
            values = profile.values[self._pivot :]
            return Groups(
                sizes=profile.sizes[self._pivot :],
                hazard=lambda index: arb(time) * enclose_exp_minus(rate * (int(values[0]) - int(values[index]))),
            )

        error = LevelWeights.error(2 * shown.roundings + 3)
        return Crossings(
            sizes, weights / weights[0] * time, error=error, omitted=OMITTED * time, all_groups=find_groups
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """The time of an arrival, exactly: a sum of exponential numbers times e^(−lead), or a share of a uniform number."""

    numbers: list[Uniform]
    lead: Fraction | None = None
    share: Fraction = Fraction(1)

    def enclose_log(self) -> arb:
        """Enclose the logarithm of the time at the working precision. It may be no number, where bits are missing."""
        if self.lead is None:
            return sum((each.ball().log() for each in self.numbers), ball(self.share).log())
        waits = (-(-each.ball()).log1p() for each in self.numbers)
        return sum(waits, arb(0)).log() - ball(self.lead)


def _compare(one: _Time, other: _Time) -> int:
    """Decide with certainty which time is earlier: −1 for the first, else 1.

    Rounds  After n draws of 64 bits, a logarithm is known to R 2^(−64 n), and the density of the difference of two is
            bounded. So the n-th draw is undecided with probability O(2^(−64 n)).
    """
    numbers = {id(each): each for each in [*one.numbers, *other.numbers]}
    while True:
        with use_precision(max(each.known for each in numbers.values()) + 64):
            first, second = one.enclose_log(), other.enclose_log()
            if first < second:
                return -1
            if second < first:
                return 1
        for each in numbers.values():
            each.extend()


def _choose_time(shown: LevelWeights, k: int, rate: float) -> tuple[int, float] | None:
    """Choose the pivot and t: very likely k items arrive, and not many more. Floats are enough. None stands for no t.

    Let a level be at its own time 1. Before that time, every item above arrives at least once on average, and the items
    of the level and below arrive `totals` times on average. Earlier, the latter number falls in proportion.
    """
    totals, profile = np.array(shown.totals), shown.profile
    before = profile.ends[: len(totals)] - profile.sizes[: len(totals)]
    expected = before + totals
    wanted = k + 3 * math.isqrt(k) + 8
    pivot, time = _find_time(expected, before, wanted)
    missing = 0 if time is None else math.ceil(_estimate_missing(shown, pivot, time, rate))
    pivot, time = _find_time(expected, before, wanted + missing)
    if time is not None:
        return pivot, time
    return None if int(profile.ends[pivot]) == profile.d else (pivot, 1.0)


def _find_time(expected: FloatArray, before: IntArray, wanted: int) -> tuple[int, float | None]:
    """Find the pivot, and the time when so many items are expected. They may be more than are ever expected."""
    pivot = int(expected.searchsorted(wanted))
    if pivot == len(expected):
        return pivot - 1, None
    first = int(before[pivot])
    return pivot, min(1.0, (wanted - first) / float(expected[pivot] - first))


def _estimate_missing(shown: LevelWeights, pivot: int, time: float, rate: float) -> float:
    """Estimate how many fewer items arrive than `_choose_time` counts: some do not arrive, and others arrive again."""
    profile = shown.profile
    above = np.exp(np.minimum((profile.values[:pivot] - profile.values[pivot]) * rate, 50.0)) * time
    far = shown.weigh_within_reach(pivot)
    below = far / far[0] * time
    late = (profile.sizes[:pivot] * np.exp(-above)).sum()
    again = below * below * (0.5 - below / 6)  # about below − (1 − e^(−below))
    return float(late + (profile.sizes[pivot : pivot + len(below)] * again).sum())


def _find_unsure(keys: FloatArray, errors: FloatArray) -> NDArray[np.bool_] | None:
    """For sorted keys, find the neighbours whose order is not sure, given how far each key may be off, if there are."""
    if len(keys) < 2 or float((keys[1:] - keys[:-1]).min()) > 2 * float(errors.max()):
        return None
    latest = np.maximum.accumulate(keys + errors)
    earliest = np.minimum.accumulate((keys - errors)[::-1])[::-1]
    unsure: NDArray[np.bool_] = latest[:-1] >= earliest[1:]
    return unsure if unsure.any() else None


def _find_runs(unsure: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Find the ranges of neighbours whose order is not sure."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], unsure, [False]])))
    for first, after in edges.reshape(-1, 2).tolist():
        yield first, after + 1
