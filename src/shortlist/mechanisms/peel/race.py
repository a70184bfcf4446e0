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
from shortlist.mechanisms.peel.arrivals import Arrivals
from shortlist.mechanisms.peel.peeling import OMITTED, LevelWeights, PeelLevels

_KEY_ERROR, _ROUNDED = 2.0**-39, 2.0**-51
"""The key of a time has an error below `_KEY_ERROR` + `_ROUNDED` · |key|, besides what `Race._find_keys` states."""
_SMALLEST = 2.0**-36
_SMALL_WORD, _LARGE_WORD, _LARGE_KEY = 2**36, 2**64 - 2**46, 2.0**16
"""If words and keys are between these, one bound serves for the errors of all keys: see `Race._find_unsure`."""
_MOST_TURNS = 6


class Race:
    """The arrivals before a time that about as many items reach as are wanted, ready to be drawn."""

    def __init__(self, peeling: PeelLevels, *, turns: int = 1) -> None:
        """Draw up to `turns` arrivals of each item above the pivot, six at most."""
        assert turns <= _MOST_TURNS  # `_find_keys` relies on it
        self._peeling = peeling
        self._turns = turns
        place = _choose_time(peeling.shown, peeling.k)
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
        levels, positions = self._draw_far(bits)
        far = len(levels)
        words = draw_words(far + self._turns * self._near, bits)
        waits = compute_exponentials(words[far:]).reshape(self._turns, self._near)
        keys = self._find_keys(words[:far], waits)
        order = np.argsort(keys)
        unsure = self._find_unsure(keys, order, words, waits)
        if unsure is not None:
            self._sort_exactly(order, unsure, words, far, bits)
        if self._time is not None:  # t itself is at the end of the array
            order = order[: int((order == len(words)).argmax())]
        return Arrivals(
            order,
            np.concatenate([levels, self._levels]),
            np.concatenate([positions, np.arange(self._near)]),
            near=self._near,
            turns=self._turns,
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

    def _find_keys(self, far: NDArray[np.uint64], waits: FloatArray) -> FloatArray:
        """Compute a key for each time, and for t: those below the pivot, each turn above it, then t.

        Proof   The key of m · 2^e is e + 2m. With 1/2 ≤ m < 1, it grows with the time. If a time is off by some share,
                its key is off by at most twice that. The n-th arrival of an item above the pivot is at
                (E_1 + … + E_n) c, where c is a quotient of two weights. Each E is off by 2^-46 of itself and by
                2^-51 + 2^-64 / u (`compute_exponentials`). The sum adds one rounding for each term. A weight has fewer
                than 2^8 roundings, so c adds less than 2^-43. An arrival below is at U t. It is off by a share of
                2^-64 / u and a few roundings. The sum e + 2m is rounded at last.
                In c, wide gaps are shortened to depth + 1 votes, so c is less than 2^-48 / d of that below the gap. So
                an arrival above such a gap may be earlier than its key says. By its key, it is before all arrivals
                below the gap, and so it is in truth. For if 1 is the time of an item at the end of the gap with E = 1,
                the arrival is at most at 2^6 · 6 · 2^-48 / d, which is below 2^-39 / d. Arrivals below the gap are at E
                or U t, or later. E and U are 2^-36 or more, and t is 1/d or more, up to a rounding. Smaller E and U
                count as unknown. There are six turns at most.
        """
        times = np.cumsum(waits, axis=0) if self._turns > 1 else waits
        end = np.array([] if self._time is None else [self._time])
        parts = [far * (2.0**-64 * (self._time or 1.0)), (times * self._mantissas).ravel(), end]
        mantissa, exponent = np.frexp(np.concatenate(parts))
        keys: FloatArray = exponent + 2 * mantissa
        keys[len(far) : len(far) + waits.size].reshape(waits.shape)[:] += self._exponents
        return keys

    def _find_unsure(
        self, keys: FloatArray, order: IntArray, words: NDArray[np.uint64], waits: FloatArray
    ) -> NDArray[np.bool_] | None:
        """Find the neighbours whose order is not sure; None if all are sure. One bound for all errors is mostly enough.

        Proof   If no word is small or large, u ≥ 2^-28 and E > 2^-18. Then E is off by less than 2^-46 + 2^-33 + 2^-35
                of itself, and U by 2^-36. With keys below 2^16, no key is off by more than 2^-31.
        """
        ordered, one_bound = keys[order], 2**8 * _KEY_ERROR
        if len(keys) < 2 or (
            float((ordered[1:] - ordered[:-1]).min()) > 2 * one_bound
            and max(-ordered[0], ordered[-1]) < _LARGE_KEY
            and int(words.min()) >= _SMALL_WORD
            and int(words.max()) <= _LARGE_WORD
        ):
            return None
        errors = self._bound_errors(keys, words, waits)[order]
        latest = np.maximum.accumulate(ordered + errors)
        earliest = np.minimum.accumulate((ordered - errors)[::-1])[::-1]
        unsure: NDArray[np.bool_] = latest[:-1] >= earliest[1:]
        return unsure if unsure.any() else None

    def _bound_errors(self, keys: FloatArray, words: NDArray[np.uint64], waits: FloatArray) -> FloatArray:
        """Bound how far each key may be off, as `_find_keys` states."""
        errors = np.abs(keys) * _ROUNDED + _KEY_ERROR
        far = len(words) - waits.size
        numbers = words * 2.0**-64
        missing = np.where(numbers < _SMALLEST, np.inf, 2.0**-64 / np.maximum(numbers, _SMALLEST))
        errors[:far] += 2 * missing[:far]
        doubts = np.where(waits < _SMALLEST, np.inf, missing[far:].reshape(waits.shape) + 2.0**-51)
        shares = np.cumsum(doubts, axis=0) / np.maximum(np.cumsum(waits, axis=0), _SMALLEST)
        errors[far : len(words)] += 2 * shares.ravel()
        return errors

    def _sort_exactly(
        self, order: IntArray, unsure: NDArray[np.bool_], words: NDArray[np.uint64], far: int, bits: Bits
    ) -> None:
        """Sort the runs of arrivals that floats cannot tell apart."""
        drawn: dict[int, Uniform] = {}

        def number(index: int) -> Uniform:
            if index not in drawn:
                drawn[index] = Uniform(bits, int(words[index]))
            return drawn[index]

        def find_time(index: int) -> _Time:
            if index < far or index == len(words):
                return _Time(share=Fraction(self._time or 1), numbers=[number(index)] if index < far else [])
            turn, item = divmod(index - far, self._near)
            votes = int(self._profile.values[self._levels[item]]) - self._pivot_count
            return _Time(
                lead=self._peeling.rate * votes,
                numbers=[number(far + each * self._near + item) for each in range(turn + 1)],
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
        rates = weights * (time / float(weights[0]))
        return Crossings(sizes, rates, error=error, omitted=OMITTED * time, all_groups=find_groups)


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
        waits = (-each.ball().log() for each in self.numbers)
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


def _choose_time(shown: LevelWeights, k: int) -> tuple[int, float] | None:
    """Choose the pivot and t: very likely k items arrive, and not many more. Floats are enough. None stands for no t.

    Let a level be at its own time 1. Before that time, every item above arrives at least once on average, and the items
    of the level and below arrive `totals` times on average. Earlier, the latter number falls in proportion. Some of
    these items do not arrive, and others arrive twice. As many more are wanted as are missing for that reason.
    """
    profile, wanted = shown.profile, k + 3 * math.isqrt(k) + 8
    weights = shown.estimate_weights(int(profile.ends.searchsorted(min(wanted, profile.d))))
    sizes, stop = profile.sizes[: len(weights)], shown.lowest_top + 1
    masses = sizes * weights
    totals = (np.cumsum(masses[:stop][::-1])[::-1] + masses[stop:].sum()) / weights[:stop]
    before = profile.ends[:stop] - sizes[:stop]
    expected = before + totals
    pivot, time = _find_time(expected, before, wanted)
    if time is not None:
        absent = np.exp(weights * (-time / weights[pivot]))
        arriving = float((sizes * (1 - absent)).sum())
        pivot, time = _find_time(expected, before, wanted + max(0, math.ceil(wanted - arriving)))
    if time is not None:
        return pivot, time
    return None if int(profile.ends[pivot]) == profile.d else (pivot, 1.0)


def _find_time(expected: FloatArray, before: IntArray, wanted: int) -> tuple[int, float | None]:
    """Find the pivot, and the time at which so many items are expected. The time is None if they never are."""
    pivot = int(expected.searchsorted(wanted))
    if pivot == len(expected):
        return pivot - 1, None
    first = int(before[pivot])
    return pivot, min(1.0, max(1, wanted - first) / float(expected[pivot] - first))


def _find_runs(unsure: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Find the ranges of neighbours whose order is not sure."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], unsure, [False]])))
    for first, after in edges.reshape(-1, 2).tolist():
        yield first, after + 1
