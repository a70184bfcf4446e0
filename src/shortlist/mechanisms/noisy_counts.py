"""Noisy counts: noise on counts that one person can move.

`NoisyCounts` adds noise to all counts, and releases the k largest. It suits people who cast few votes each.
`ListCounts` adds noise to the counts of a list that any mechanism chose. `NoisyDraws` finds the k largest noisy counts
from the profile, with noise for about k items only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Unpack

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.exact.crossings import Crossings
from shortlist.exact.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    SharedGaussian,
    bound_difference,
    bound_noise,
)
from shortlist.exact.uniform import draw_words
from shortlist.mechanisms import stated
from shortlist.mechanisms.accuracy import ReleasedCounts
from shortlist.mechanisms.mechanism import READERS, CommonOptions, Mechanism, Prepared
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, quote, read_fields, read_probability
from shortlist.privacy.zcdp import find_epsilon, find_rho, find_rho_of_pure
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCounts(Mechanism):
    """Choose the k items with the largest noisy counts, and release these counts.

    With m votes per person and c = mΔ, the noise is discrete Laplace of scale c/ε, or with `delta` discrete Gaussian of
    variance c/2ρ, where ρ follows from ε and δ. Equal noisy counts are ordered at random.

    Claim  epsilon-DP and (ε tanh(ε/2c))-zCDP, or with delta (epsilon, delta)-DP and rho-zCDP, when one person casts at
           most m votes, for different items. In a family, m is the number of votes in all groups together.
    Proof  noisy_counts.proof.md, Theorems 1 and 2; families.proof.md for a family.
    Cost   one pass over the profile, then about k noises for each draw, for any d.

    >>> mechanism = NoisyCounts(k=100, epsilon=1, votes_per_person=10)
    >>> mechanism.noise, mechanism.count_bound(10**6)
    (DiscreteLaplace(b=Fraction(10, 1)), 168)
    """

    name = "noisy-counts"
    summary = "the k largest counts after noise on all of them, with the noisy counts"
    when = "people cast few votes each, k is large, or you want counts"
    guarantee_in_words = "ε, or (ε, δ)"
    rho_in_words = "ε·tanh(ε/2m), or ρ"

    audited = ({"votes_per_person": 1}, {"votes_per_person": 1, "delta": Fraction(1, 5)})

    votes_per_person: int
    delta: Fraction | None = None

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int, votes_per_person: int, delta: Real | None = ..., **common: Unpack[CommonOptions]
        ) -> None: ...

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        _ = self.noise  # refuses an epsilon and a delta that allow no noise

    @property
    def moved(self) -> int:
        """How many counts one person moves by 1 at most."""
        return self.votes_per_person * self.neighbours.sensitivity

    @property
    def noise(self) -> Noise:
        """The noise on each count."""
        return choose_noise(self.moved, self.epsilon, self._find_rho())

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        rho = find_rho_of_pure(self.epsilon, self.moved) if self.delta is None else self._find_rho()
        return Guarantee(epsilon=self.epsilon, delta=self.delta or 0, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """One divided by the scale of discrete Laplace noise, or a little less than 2/σ for Gaussian noise.

        Large Gaussian noise is rare. Where a peel at the rate 1/σ gets 0.69 of the items right, these lists get 0.95.
        The score is that of rounds. The error bound and the tail are proven for the noise itself.
        """
        noise = self.noise
        if isinstance(noise, DiscreteLaplace):
            return 1 / noise.b
        # The root of a number of 40 bits or more is off by less than a millionth.
        shift = 20 + max(0, math.floor(noise.variance).bit_length())
        return Fraction(math.isqrt(math.floor(4**shift / noise.variance)), 2 ** (shift - 1))

    def count_bound(self, d: int, confidence: Real = Fraction(19, 20)) -> int:
        """Bound the error of the noisy counts of all d items at once, with a probability of `confidence` or more."""
        return bound_noise(self.noise, d, 1 - read_probability(confidence, name="confidence"))

    def state_counts(self, noisy: IntArray, d: int, confidence: Real = Fraction(19, 20)) -> ReleasedCounts:
        """State noisy counts with intervals that hold for all d counts at once."""
        probability = read_probability(confidence, name="confidence")
        return add_intervals(noisy.tolist(), self.count_bound(d, probability), probability)

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law by brute force: every list of k items with its falling noisy counts."""
        moved, rho = self.votes_per_person * self.neighbours.sensitivity, self.guarantee.rho
        noise = stated.laplace_law(moved / self.epsilon)
        if self.guarantee.delta and rho is not None:
            noise = stated.gaussian_law(moved / (2 * rho))
        values = range(min(histogram) - reach, max(histogram) + reach + 1)
        for items in stated.sequences(len(histogram), self.k):
            for noisy in stated.falling_counts(self.k, values):
                yield stated.Output(items, noisy), stated.output_chance(histogram, items, noisy, noise)

    def find_tail(self) -> tuple[Fraction, int]:
        """Find the tail. E e^(a(Z − Z′)) is at most (16/7)² for a = 3/4b, and e⁴ for a = 2/σ."""
        if isinstance(self.noise, DiscreteLaplace):
            return self.round_rate * Fraction(3, 4), 6 * self.k
        return self.round_rate, 55 * self.k

    def _find_error_bound(self, d: int, failure: Fraction) -> int:
        return bound_difference(self.noise, self.k * d, failure)

    def _prepare(self, levels: Levels) -> Prepared:
        return NoisyDraws(levels, k=self.k, noise=self.noise)

    def _find_rho(self) -> Fraction | None:
        return None if self.delta is None else find_rho(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCounts:
    """A way to release noisy counts of k items that were released already.

    One person moves c of the k counts: the smaller of k and mΔ, or k without a cap of m votes per person. The noise is
    discrete Laplace of scale c/ε. With `rho` and `delta` it is discrete Gaussian: independent, of variance c/2ρ, or
    with a part that all counts of a list share, if that is less noise. With `groups_per_person`, the counts are those
    of a family of lists, one for each of some `groups`. With `others`, the votes for all other items are one more count
    of each list. It needs a cap.

    Claim  epsilon-DP and (ε tanh(ε/2c))-zCDP, or rho-zCDP, on top of the guarantee of the list, or of the family.
           With `others`, the rho of pure noise is larger.
    Proof  noisy_counts.proof.md, Theorems 4 to 6; families.proof.md, Theorem 7.

    >>> counts = ListCounts(k=100, epsilon="0.5", votes_per_person=10)
    >>> counts.moved, str(counts.guarantee)
    (10, '0.5-DP (rho 0.0124973965) for one person, add-remove')
    """

    k: int
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    votes_per_person: int | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    groups_per_person: int | None = None
    groups: int | None = None
    others: bool = False

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            epsilon: Real | None = ...,
            rho: Real | None = ...,
            delta: Real | None = ...,
            votes_per_person: int | None = ...,
            neighbours: str = ...,
            groups_per_person: int | None = ...,
            groups: int | None = ...,
            others: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            raise ParameterError(
                "`counts_epsilon` and `counts_rho` must not both be given", hint="pass `counts_epsilon=0.1` alone"
            )
        if self.epsilon is None and self.rho is None:
            found = "`others` is a count, too" if self.others and self.delta is None else None
            raise ParameterError(
                "either `counts_epsilon` or `counts_rho` must be given", found, hint="pass `counts_epsilon=0.1`"
            )
        if (self.rho is None) != (self.delta is None):
            raise ParameterError(
                "`counts_rho` must go with `counts_delta`", hint="pass both, or `counts_epsilon` alone"
            )
        read_fields(self, READERS, **{name: f"counts_{name}" for name in ("epsilon", "rho", "delta")})
        if not isinstance(self.others, bool):
            raise ParameterError("`others` must be True or False", f"not {quote(self.others)}")
        if self.others and self.votes_per_person is None:
            raise ParameterError(
                "`others` must go with `votes_per_person`",
                "without a limit, one person may have voted for every item that is not listed",
                hint="pass `votes_per_person=20`: so many votes of each person are counted at most; or leave `others` "
                "out",
            )

    @property
    def lists(self) -> int:
        """How many lists change at most if one person does."""
        if self.groups_per_person is None:
            return 1
        changed = self.groups_per_person * self.neighbours.sensitivity
        return min(changed, self.groups or changed)

    @property
    def moved(self) -> int:
        """How many of the counts of all lists one person moves by 1 at most."""
        most = self.lists * self.k
        return most if self.votes_per_person is None else min(most, self.votes_per_person * self.neighbours.sensitivity)

    @property
    def guarantee(self) -> Guarantee:
        """What the counts promise, on top of the list."""
        listed, others = self._weigh()
        moved = Fraction(listed)
        if self.others:
            moved = min(moved, Fraction(others, self.votes_per_person or 1))
        epsilon = self._find_epsilon()
        rho = find_rho_of_pure(epsilon, moved) if self.rho is None else self.rho
        return Guarantee(epsilon=epsilon, delta=self.delta or 0, rho=rho, neighbours=self.neighbours)

    @property
    def noise(self) -> Noise | SharedGaussian:
        """The noise on each count of a listed item."""
        return _choose_noises(self)[0]

    @property
    def others_noise(self) -> Noise:
        """The noise on the count of all other items."""
        return _choose_noises(self)[1]

    def add_noise(self, counts: Sequence[int], bits: Bits) -> list[int]:
        """Draw noisy counts, given the counts of the items of one list."""
        return [count + drawn for count, drawn in zip(counts, self.noise.draw(len(counts), bits).tolist(), strict=True)]

    def add_noise_to_others(self, votes: int, bits: Bits) -> int:
        """Draw a noisy count of the votes for all other items of one list."""
        return votes + int(self.others_noise.draw(1, bits)[0])

    def state_counts(
        self, noisy: Iterable[int], confidence: Real = Fraction(19, 20), *, others: int | None = None
    ) -> ReleasedCounts:
        """State noisy counts with intervals, each of which holds by itself with that confidence."""
        share = read_probability(confidence, name="confidence")
        listed = add_intervals(noisy, bound_noise(self.noise, 1, 1 - share), share)
        if not self.others:
            return listed
        value, bound = others or 0, bound_noise(self.others_noise, 1, 1 - share)
        return replace(listed, others=value, others_low=max(0, value - bound), others_high=max(0, value + bound))

    def _weigh(self) -> tuple[int, int]:
        """Find A and B: if one person moves x listed counts by 1, and others by y votes, x/A + y/B is at most 1."""
        most, cap, step = self.moved, self.votes_per_person or 0, self.neighbours.sensitivity
        if not self.others:
            return most, most
        votes = cap + (step - 1) * min(cap, self.k) if self.groups_per_person is None else cap * step
        rest = votes - most
        return most + min(most, rest), rest + max(most, rest)

    def _find_epsilon(self) -> Fraction:
        if self.epsilon is not None:
            return self.epsilon
        assert self.rho is not None
        assert self.delta is not None
        return find_epsilon(self.rho, self.delta)


@lru_cache(maxsize=256)
def _choose_noises(counts: ListCounts) -> tuple[Noise | SharedGaussian, Noise]:
    """Choose the noise on each listed count, and that on the votes for others, which is used if these are counted.

    Of independent and shared noise, it is the one with the smaller product of variances.
    """
    (listed, others), rho, cap = counts._weigh(), counts.rho, counts.votes_per_person or 1
    if rho is None:
        return choose_noise(listed, counts._find_epsilon(), None), choose_noise(others, counts._find_epsilon(), None)
    independent = DiscreteGaussian(listed / (2 * rho)), DiscreteGaussian(cap * others / (2 * rho))
    if counts.neighbours != Neighbours.ADD_REMOVE:
        return independent
    part = rho / 2 if counts.others else rho
    shared = share_noise(counts.k, part / counts.lists), DiscreteGaussian(cap**2 / (2 * part))

    def measure(noises: tuple[DiscreteGaussian | SharedGaussian, DiscreteGaussian]) -> Fraction:
        return noises[0].variance * (noises[1].variance if counts.others else 1)

    return shared if measure(shared) < measure(independent) else independent


def share_noise(k: int, rho: Fraction) -> SharedGaussian:
    """Find noise for k counts that is rho-zCDP if all of them move to the same side by 0 or 1.

    With r near √k, η has the share 1/(r + 1) of rho, and the k noises Z_i have the rest. Any r gives the whole rho.

    >>> share_noise(4, Fraction(1, 2)), float(share_noise(100, Fraction(1, 2)).variance)
    (SharedGaussian(own=Fraction(6, 1), shared=Fraction(3, 1)), 30.375)
    """
    root = Fraction(math.isqrt(k << 40), 1 << 20)
    return SharedGaussian(own=k * (1 + 1 / root) / (2 * rho), shared=(root + 1) / (2 * rho))


@lru_cache(maxsize=256)
def choose_noise(moved: int, epsilon: Fraction, rho: Fraction | None) -> Noise:
    """Choose the noise on each count, where one person moves `moved` counts by 1: Gaussian with a rho, else Laplace.

    >>> choose_noise(10, Fraction(1), None), choose_noise(10, Fraction(1), Fraction(1, 50))
    (DiscreteLaplace(b=Fraction(10, 1)), DiscreteGaussian(variance=Fraction(250, 1)))
    """
    if rho == 0:
        raise ParameterError("`epsilon` and `delta` must be larger", "their rho is 0", hint="try `delta=1e-6`")
    return DiscreteLaplace(moved / epsilon) if rho is None else DiscreteGaussian(moved / (2 * rho))


def clip_counts(noisy: Sequence[int] | NDArray[np.object_]) -> IntArray:
    """Cut noisy counts off where 64 bits end. This is a function of them alone, so it costs no privacy.

    >>> clip_counts([7, -(2**70)])
    array([                   7, -9223372036854775807])
    """
    clipped: IntArray = np.clip(np.array(noisy, dtype=object), -_LARGEST, _LARGEST).astype(np.int64)
    return clipped


def add_intervals(values: Iterable[int], bound: int, confidence: Fraction) -> ReleasedCounts:
    """Put an interval around each noisy count that is off by `bound` at most. Counts are from 0 to 2^63 − 1.

    >>> counts = add_intervals([7, -2], 3, Fraction(19, 20))
    >>> counts.low, counts.high
    ((4, 0), (10, 1))
    """
    noisy = tuple(values)
    low, high = (tuple(min(max(0, value + side * bound), _LARGEST) for value in noisy) for side in (-1, 1))
    return ReleasedCounts(values=noisy, low=low, high=high, confidence=confidence)


_MISSED = Fraction(1, 2**30)
"""The largest accepted probability that one of the k largest counts falls below the threshold."""
_OUT_OF_REACH = Fraction(1, 2**64)
_FARTHEST = 2**55
"""Noise that reaches farther is drawn for every item."""
_CELLS = 1 << 17
"""How many noisy counts are computed at once."""


class NoisyDraws(Prepared):
    """The law of the k largest noisy counts on given levels. Equal noisy counts are ordered uniformly at random.

    Only items whose noisy count reaches a threshold are drawn. On *near* levels, which are above the threshold or a
    little below, every item gets noise. Of the items on *far* levels, few reach the threshold. `Crossings` draws which
    ones, and `draw_from` draws their noise. The threshold changes the cost and never the law. It is chosen so that very
    likely k items reach it. If fewer do, the others are drawn as well.

    All counts are measured as heights above the k-th largest count: the law depends on differences only.
    """

    def __init__(self, levels: Levels, *, k: int, noise: Noise, near: float = 0.1, height: int | None = None) -> None:
        """Prepare the draws. A level is near if its items reach the threshold with a probability above `near`.

        This is at most 1/2. `height` is the height of the threshold, if it is not to be chosen.
        """
        self._levels = levels
        self._k = k
        self._noise = noise
        # The tails of d items sum to 2^-64 at most beyond the reach. All k items fall deeper with probability _MISSED.
        reach = bound_noise(noise, levels.d, 2 * _OUT_OF_REACH) + 1
        fallen = bound_noise(noise, k, 2 * _MISSED)
        self._shown = levels.above(k, min(EVERY_LEVEL, fallen + reach))
        self._kth = int(self._shown.top(k)[-1])
        wanted = k + 6 * math.isqrt(k) + 30
        self.threshold: int | None = None
        if height is None and (wanted >= levels.d or max(reach, fallen) > _FARTHEST):
            self._shown = self._complete
            near_levels = len(self._shown.values)
        else:
            heights = self._shown.values - self._kth
            self.threshold = self._find_height(wanted, fallen, reach) if height is None else height
            near_levels = self._prepare_far(heights, self.threshold, reach, near)
        self.near_levels = near_levels
        self._near = self._repeat_heights(self._shown, near_levels)

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose the k items n times, with their noisy counts."""
        rows = max(1, _CELLS // (len(self._near) + self._k))
        return [picks for start in range(0, n, rows) for picks in self._draw_rows(min(rows, n - start), bits)]

    def _draw_rows(self, n: int, bits: Bits) -> list[Picks]:
        noisy = self._near + self._noise.draw(n * len(self._near), bits).reshape(n, len(self._near))
        reached = np.ones(noisy.shape, dtype=bool)
        if self.threshold is not None:
            reached = (noisy >= self.threshold).astype(bool)
        rows, places = np.nonzero(reached)
        parts = [(rows, places, noisy[reached])]
        if self.threshold is not None:
            parts.append(far := self._draw_far(n, self.threshold, bits))
            number = np.bincount(np.concatenate([rows, far[0]]), minlength=n)
            for row in np.flatnonzero(number < self._k).tolist():
                parts += self._draw_rest(row, noisy[row], far[1][far[0] == row], self.threshold, bits)
        rows, positions, values = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = _order(rows, values, n, self._k, bits)
        chosen = positions[order]
        profile = self._shown if int(chosen.max()) < int(self._shown.ends[-1]) else self._complete
        picks, counts = profile.picks(chosen), clip_counts(values[order].astype(object) + self._kth)
        return [Picks(levels=picks.levels[i], ranks=picks.ranks[i], counts=counts[i]) for i in range(n)]

    def _draw_far(self, n: int, threshold: int, bits: Bits) -> tuple[IntArray, IntArray, IntArray]:
        """Draw the far items whose noisy counts reach the threshold: rows, positions and noisy heights, by rows."""
        rows, events = self._crossings.draw(n, bits)
        positions = len(self._near) + events
        beyond = bool(len(positions)) and int(positions.max()) >= int(self._shown.ends[-1])
        profile = self._complete if beyond else self._shown
        heights = profile.values[profile.find_levels(positions)] - self._kth
        noises, kept = self._noise.draw_from(threshold - _widen(heights), bits)
        return rows[kept], positions[kept], (heights + noises)[kept]

    def _draw_rest(
        self, row: int, noisy: IntArray, drawn: IntArray, threshold: int, bits: Bits
    ) -> list[tuple[IntArray, IntArray, IntArray]]:
        """Add all items of a row that do not reach the threshold: near ones, and far ones given that they do not.

        Rounds  Noise is at most 0, and a far item is below the threshold then, with a probability of 1/2 or more.
        """
        below = np.flatnonzero(noisy < threshold)
        found = [(np.full(len(below), row), below, noisy[below])]
        missing = np.setdiff1d(np.arange(len(self._near), self._levels.d), drawn)
        heights = self._repeat_heights(self._complete, len(self._complete.values))
        while len(missing):
            values = heights[missing] + self._noise.draw(len(missing), bits)
            kept = (values < threshold).astype(bool)
            found.append((np.full(int(kept.sum()), row), missing[kept], values[kept]))
            missing = missing[~kept]
        return found

    def _repeat_heights(self, profile: Profile, levels: int) -> IntArray:
        """List the heights of all items on the first levels."""
        return _widen(np.repeat(profile.values[:levels] - self._kth, profile.sizes[:levels]))

    @cached_property
    def _complete(self) -> Profile:
        return self._levels.above(self._k, EVERY_LEVEL)

    def _find_height(self, wanted: int, fallen: int, reach: int) -> int:
        """Find about the largest height that as many items reach, on average, as are wanted. Floats are enough.

        The search begins at a height that each of the k largest counts misses with a small probability: if all others
        are far below, no height is reached by more items. A small part of the noise matters little.
        """
        heights, sizes = np.clip(self._shown.values - self._kth, -(2**60), 2**60), self._shown.sizes
        low, high, near = -fallen, reach, max(1, fallen // 32)
        while high - low > near:
            middle = (low + high) // 2
            least = middle - heights
            chances = self._noise.estimate_tails(np.where(least > 0, least, 1 - least))
            # As noise is symmetric, P(noise ≥ a) = 1 − P(noise ≥ 1 − a), and for a ≤ 0 this is at least 1/2.
            chances = np.where(least > 0, chances, np.maximum(1 - 2 * chances, 0.5))
            expected = float((chances * sizes).sum())
            low, high = (middle, high) if expected >= wanted else (low, middle)
        return low

    def _prepare_far(self, heights: IntArray, threshold: int, reach: int, near: float) -> int:
        """Count the near levels, and prepare the draws on all others."""
        falling = -heights
        above = int(falling.searchsorted(-threshold, side="right"))
        last = max(above, int(falling.searchsorted(reach - threshold, side="right")))
        chances = self._noise.tails(threshold - heights[above:last])
        close = int(np.count_nonzero(chances.align(0) * (1 + chances.error) > near))
        first = above + close
        sizes = self._shown.sizes
        self._crossings = Crossings(
            sizes[first:last],
            chances[close:],
            rare=self._levels.d - int(sizes[:last].sum()),
            enclose=partial(self._enclose_chance, threshold, int(sizes[:first].sum())),
        )
        return first

    def _enclose_chance(self, threshold: int, near: int, event: int) -> arb:
        """Enclose the probability that a far item, numbered after the near ones, reaches the threshold."""
        level = self._complete.find_levels(np.array([near + event]))[0]
        return self._noise.enclose_tail(threshold + self._kth - int(self._complete.values[level]))


def _widen(heights: IntArray) -> IntArray:
    """Turn heights into Python integers if noise may take them beyond 64 bits."""
    return heights.astype(object) if len(heights) and int(np.abs(heights).max()) > _LARGEST // 2 else heights


def _order(rows: IntArray, values: IntArray, n: int, k: int, bits: Bits) -> IntArray:
    """Find the places of the k largest values of each of n rows, the largest first, equal ones in uniform order.

    A key has the row, the rank of the value and random bits. Given that no two keys are equal, the order of equal
    values is uniform. So if two are equal, all random bits are drawn again.

    Rounds  There are at most 2^63 keys, and few values, so a second round is rare.
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    groups = rows * len(distinct) + (len(distinct) - 1 - ranks)
    width = 63 - (n * len(distinct)).bit_length()
    while True:
        random = (draw_words(len(values), bits) >> np.uint64(64 - width)).astype(np.int64)
        order = np.argsort(keys := groups << width | random)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            break
    starts = np.searchsorted(rows[order], np.arange(n))
    chosen: IntArray = order[starts[:, None] + np.arange(k)]
    return chosen
