"""Subset: the exponential mechanism over all sets of k items, without their order.

For a set S of items let out(S) be the largest count outside S (0 if nothing is outside) and in(S) the smallest count
inside. With q = e^(−ε/2Δ), P(S) ∝ q^(out(S) − in(S)). It is drawn by `SetDraws`, a mixture over pairs of losses
(block_mixture.py) of `Sets`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import use_precision
from shortlist.exact.scaled import Scaled, powers
from shortlist.mechanisms.block_mixture import (
    LEFT_OUT_BITS,
    BlockMixture,
    Blocks,
    Core,
    MixtureScore,
    count_bits,
    divide,
    find_core,
    find_reach,
    weigh_spans,
)
from shortlist.mechanisms.mechanism import Mechanism, Prepared, Score, bound_loss, read_sizes
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

if TYPE_CHECKING:
    from shortlist.mechanisms.stated import Histogram, Stated


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset(Mechanism):
    """Choose k items in one draw, a set S with probability proportional to e^(−ε loss(S) / 2Δ).

    The loss is the largest count outside S minus the smallest count inside S: how many people must change their votes
    until S is the top k. It is negative where S leads. With `at_least`, or with a pair as k, sets of every size
    from `at_least` to k are candidates, and sizes where the counts have a gap are preferred.

    Claim  epsilon-DP and (epsilon²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  subset.proof.md; families.proof.md for a family.
    Cost   one pass over the profile, then O(k) for each draw; a table of pairs of levels near the k-th count, for each
           size that matters.

    >>> Subset(k=(5, 10), epsilon="0.5")
    Subset(k=10, epsilon=Fraction(1, 2), neighbours=..., groups_per_person=None, at_least=5)
    """

    name: ClassVar[str] = "subset"
    summary: ClassVar[str] = "one draw among all sets of k items, without their order"
    when: ClassVar[str] = "the order of the items does not matter: fewer votes are needed then"
    rho_in_words: ClassVar[str] = "ε²/8"
    bound_in_words: ClassVar[str] = "an item left out has at most {bound} more than any listed item"

    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int | tuple[int, int],
            epsilon: Real,
            neighbours: str = ...,
            groups_per_person: int | None = ...,
            at_least: int | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        k, at_least = read_sizes(self.k, self.at_least)
        self._read(k=k, at_least=at_least)
        Mechanism.__post_init__(self)

    @property
    def sizes(self) -> range:
        """How many items a set may have."""
        return range(self.k if self.at_least is None else self.at_least, self.k + 1)

    @property
    def unordered(self) -> bool:
        """True: the items have no order."""
        return True

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises: ε and ε²/8c."""
        rho = self.lists_per_person * self.list_epsilon**2 / 8
        return Guarantee(epsilon=self.epsilon, rho=rho, neighbours=self.neighbours)

    def state_law(self, histogram: Histogram, *, reach: int = 6) -> Stated:
        """State the law by brute force: P(S) ∝ q^(out(S) − in(S))."""
        from shortlist.mechanisms.stated import Output, exponential, set_losses, subsets

        rate = self.epsilon / (2 * self.neighbours.sensitivity * self.lists_per_person)
        law = exponential(set_losses(histogram, self.sizes), rate)
        return zip(map(Output, subsets(len(histogram), self.sizes)), law, strict=True)

    def make_score(self, levels: Levels, rate: Fraction) -> Score:
        """Make the score: how spread the law is at a rate, if no set led: Σ_S e^(−rate · max(loss of S, 0))."""
        draws = SetDraws(levels, sizes=self.sizes, rate=rate, leads=False)
        return MixtureScore(draws, draws.profile.top(self.k))

    def find_tail(self) -> tuple[Fraction, int]:
        """Find the tail: P(loss ≥ t) is at most e^(rate (s − t)/2), with s the spread at half of the rate."""
        return self.rate, 1

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(sum(math.comb(d, size) for size in self.sizes), self.rate, failure)

    def _prepare(self, levels: Levels) -> Prepared:
        return SetDraws(levels, sizes=self.sizes, rate=self.rate)


_COARSE = 24
"""How many ranges of each loss a first pass looks at, to find the pairs that carry the weight. Without it, 1,000 of
166,000 items take 12 times as long."""


class SetDraws(BlockMixture):
    """The law P(S) ∝ e^(−rate · loss of S) over the sets of some sizes, on given levels, ready to be drawn from.

    The set of the n largest items *leads* if h_(n) is above h_(n+1). Its loss is −g then, with the gap g between them.
    All other sets of n items have a loss of g or more. So a leading set is a family of its own: it weighs q^g among the
    others, and q^(−g) − q^g by itself. Without `leads`, a negative loss counts as 0. If n = d, there is no other set.
    """

    unordered = True

    def __init__(
        self,
        levels: Levels,
        *,
        sizes: range,
        rate: Fraction,
        leads: bool = True,
        most_pairs: int = 1 << 15,
        doubt: float = 0.0,
    ) -> None:
        """Prepare the draws. For more pairs of one size than `most_pairs`, a block holds several, and may reject."""
        self._levels = levels
        self._sizes = sizes
        self._leads = leads
        all_bits = count_set_bits(levels.d, sizes)
        self._reach = find_reach(all_bits, rate)
        self.profile = self._read_profile(self._reach)
        self._limit = None if self.profile.is_complete else self._reach
        leading, others = self._make_families(self.profile)
        self.leading, self.others = leading, others
        # A reach that is cut off at the largest count holds the sum of two losses as well.
        farthest = math.inf if self._reach == EVERY_LEVEL else self._reach
        step, blocks = np.zeros(1, dtype=np.int64), []
        for each in leading:
            if each.start <= farthest:
                weight = weigh_spans(rate, *each.find_spans(0, step, step))
                blocks.append(Blocks(family=each, firsts=[step], lasts=[step], weights=weight))
        within = [each for each in others if each.offset <= farthest]
        complete = len(blocks) == len(leading) and len(within) == len(others)
        cores = [_find_core(each, rate, self._reach) for each in within]
        offsets = [float(count_bits(rate, each.offset)) for each in within]
        # The best set weighs 1.
        surely = max([0.0, *(core.surely - cost for core, cost in zip(cores, offsets, strict=True))])
        left_out = [np.empty(0)]
        for family, core, cost in zip(within, cores, offsets, strict=True):
            left_out.append(core.left_out - cost)
            if core.at_most - cost < surely - LEFT_OUT_BITS:
                left_out.append(np.array([core.at_most - cost]))
            else:
                blocks.append(_divide(family, rate, core.ranges, most_pairs))
        if not complete or not all(each.is_within(self._reach) for each in within):
            # Pairs with an upper or a lower loss beyond the reach, and the sizes that are not in the table.
            left_out.append(np.array([all_bits + 2 - float(count_bits(rate, self._reach))]))
        super().__init__(blocks, np.concatenate(left_out), rate=rate, k=sizes[-1], doubt=doubt)

    def compute_exact_chance(self) -> float | None:
        """Compute the probability of a set with the true counts, where all sets have one size."""
        if len(self._sizes) > 1:
            return None
        best = 1 if self.leading else self.others[0].number(0, 0)
        with use_precision():
            return float((arb(best) / self.total()).mid())

    def list_families(self) -> list[tuple[Leading | Sets, Blocks | None]]:
        """List the families of all levels."""
        tabulated = {id(each.family): each for each in self._blocks}
        shown = [*self.leading, *self.others]
        return [(whole, tabulated.get(id(each))) for whole, each in zip(self._complete, shown, strict=True)]

    @cached_property
    def _complete(self) -> list[Leading | Sets]:
        leading, others = self._make_families(self._read_profile(EVERY_LEVEL))
        return [*leading, *others]

    def _make_families(self, profile: Profile) -> tuple[list[Leading], list[Sets]]:
        """Make the families of all sizes. Losses are counted from the smallest one of any set, or from 0."""
        gaps = [find_gap(profile, n) for n in self._sizes]
        widest = max(gaps) if self._leads else 0
        leading, others, above = [], [], profile.ends - profile.sizes
        for n, gap in zip(self._sizes, gaps, strict=True):
            lead = gap if self._leads else 0
            if n == profile.d:
                leading.append(Leading(profile=profile, n=n, start=widest - lead, end=-1))
            else:
                others.append(Sets(profile, n, above=above, offset=widest + gap, limit=self._limit))
                if gap:
                    leading.append(Leading(profile=profile, n=n, start=widest - lead, end=widest + gap))
        return leading, others

    def _read_profile(self, depth: int) -> Profile:
        # One item more than the largest set. Its count shows by how much the top set leads.
        return self._levels.above(min(self._sizes[-1] + 1, self._levels.d), depth)


def find_gap(profile: Profile, n: int) -> int:
    """Find h_(n) − h_(n+1). The count after the last is 0.

    >>> [find_gap(Profile.of(np.array([5, 3, 3, 1])), n) for n in (1, 2, 3, 4)]
    [2, 0, 2, 1]
    """
    last, following = np.searchsorted(profile.ends, [n - 1, n], side="right").tolist()
    return int(profile.values[last]) - (int(profile.values[following]) if n < profile.d else 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Leading:
    """The set of the n largest items alone, which losses from `start` to `end` allow."""

    profile: Profile
    n: int
    start: int
    end: int
    """It is −1 for losses without an end."""

    offset: ClassVar[int] = 0
    lengths: ClassVar[tuple[int, ...]] = (1,)

    def find_spans(self, axis: int, firsts: IntArray, lasts: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first loss and the end, which may be beyond 64 bits: a Python integer."""
        return np.full(len(firsts), self.start), np.full(len(lasts), self.end, dtype=object)

    def number(self, *steps: int) -> int:
        """Return 1."""
        return 1

    def count_allowed(self, *steps: IntArray) -> IntArray:
        """Allow each item at its own place only."""
        return np.tile(np.arange(1, self.n + 1), (len(steps[0]), 1))

    def describe(self, positions: IntArray) -> tuple[Picks, list[IntArray]]:
        """Describe the set, which every loss allows."""
        return self.profile.picks(positions), [np.full(len(positions), self.start)]


class Sets:
    """The sets S of n items, grouped by two losses: combinatorics, with no epsilon in it. There are more than n items.

    The upper loss is how many votes the best item outside S has above h_(n). The lower loss is how many votes the worst
    item inside S has below h_(n+1). So

        (largest count outside) − (smallest count inside) = upper loss + lower loss + gap,    gap = h_(n) − h_(n+1).

    Neither is negative, but for the set of the n largest items if it leads. It counts as if both were 0.

    An upper loss of at most x forces all items with more than h_(n) + x votes into S. Let r(x) places be left.
    A lower loss of at most y allows the items with h_(n+1) − y votes or more. Let n + m(y) be their number. So
    C(r(x) + m(y), r(x)) sets have losses of at most x and y. Both r and m grow in steps.

    >>> profile = Profile.of(np.array([5, 3, 3, 0]))
    >>> sets = Sets(profile, n=2, above=profile.ends - profile.sizes, offset=0, limit=None)
    >>> [(steps.find_starts([0, 1]).tolist(), steps.find_sizes([0, 1]).tolist()) for steps in sets.steps]
    [([0, 2], [1, 2]), ([0, 3], [1, 2])]
    """

    def __init__(self, profile: Profile, n: int, *, above: IntArray, offset: int, limit: int | None) -> None:
        """Take a profile that shows all levels down to `limit` below h_(n+1), or all levels without a limit.

        `above` are the numbers of items above each level.

        The lower loss has a step that begins at the limit. A profile that stops early knows only the steps before.
        """
        self.profile = profile
        self.n = n
        self.offset = offset
        last, following = np.searchsorted(profile.ends, [n - 1, n], side="right").tolist()
        self._lowest, self._next = int(profile.values[last]), int(profile.values[following])
        upper = Steps(counts=profile.values[last::-1], items=above[last::-1], base=self._lowest, n=n)
        lower = Steps(counts=profile.values[following:], items=profile.ends[following:], base=self._next, n=n)
        self.steps = upper, lower if limit is None else lower.limit(limit, goes_on=profile.is_complete)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many steps each loss has."""
        return tuple(len(steps.counts) for steps in self.steps)

    def is_within(self, reach: int) -> bool:
        """Whether no loss is beyond the reach."""
        return all(int(steps.find_starts(-1)) <= reach and steps.end < 0 for steps in self.steps)

    def find_spans(self, axis: int, firsts: IntArray, lasts: IntArray) -> tuple[IntArray, IntArray]:
        """Find where losses begin and end. The last step has no end, unless the profile stops early."""
        steps, final = self.steps[axis], self.lengths[axis] - 1
        ends = np.where(lasts < final, steps.find_starts(np.minimum(lasts + 1, final)), steps.end)
        return steps.find_starts(firsts), ends

    def number(self, *steps: int) -> int:
        """Count the sets that a step of r and a step of m allow, exactly."""
        places, spare = (int(each.find_sizes(step)) for each, step in zip(self.steps, steps, strict=True))
        return math.comb(places + spare, places)

    def count_allowed(self, *steps: IntArray) -> IntArray:
        """Count the items allowed at each place: first the forced items in order, then all that are allowed."""
        places, spare = (each.find_sizes(step)[:, None] for each, step in zip(self.steps, steps, strict=True))
        order = np.arange(self.n)
        return np.where(order < self.n - places, order + 1, self.n + spare)

    def describe(self, positions: IntArray) -> tuple[Picks, list[IntArray]]:
        """Describe sets by level and rank, and compute their losses."""
        picks = self.profile.picks(positions)
        gaps = np.sort(positions, axis=1) != np.arange(self.n)
        missing = np.where(gaps.any(axis=1), gaps.argmax(axis=1), self.n)
        outside = self.profile.values[self.profile.find_levels(missing)]
        return picks, [outside - self._lowest, self._next - picks.levels.min(axis=1)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """A number that grows with a loss, in steps. Each step is a level, and the loss is its distance from `base`.

    The number is the distance of `items` from n. There may be very many levels, so both are computed when asked for.
    """

    counts: IntArray
    items: IntArray
    base: int
    n: int
    end: int = -1
    """Where the last step ends, or −1 if it never ends."""

    def find_starts(self, steps: IntArray | int) -> IntArray:
        """Find the losses at which steps begin."""
        return np.abs(self.counts[steps] - self.base)

    def find_sizes(self, steps: IntArray | int) -> IntArray:
        """Find the number on each step."""
        return np.abs(self.items[steps] - self.n)

    def count_within(self, reach: int) -> int:
        """Count the steps that begin at most at a loss."""
        return bisect_right(range(len(self.counts)), reach, key=lambda step: int(self.find_starts(step)))

    def limit(self, loss: int, *, goes_on: bool) -> Steps:
        """Let a step begin at a loss. If the steps do not go on from there, end them."""
        place = self.count_within(loss - 1)
        if not goes_on:
            return replace(self, counts=self.counts[:place], items=self.items[:place], end=loss)
        if place < len(self.counts) and int(self.find_starts(place)) == loss:
            return self
        counts, items = (
            np.insert(each, place, new)
            for each, new in ((self.counts, self.base - loss), (self.items, self.items[place - 1]))
        )
        return replace(self, counts=counts, items=items)


def _find_core(family: Sets, rate: Fraction, reach: int) -> Core:
    """Find the pairs of steps that carry the weight of the sets of one size, and bound it."""
    upper, lower = family.steps
    return find_core(
        [each.count_within(reach) for each in family.steps],
        [
            lambda steps: count_bits(rate, upper.find_starts(steps)),
            lambda steps: count_bits(rate, lower.find_starts(steps)),
        ],
        lambda rows, columns: count_bits_of_sets(upper.find_sizes(rows)[:, None], lower.find_sizes(columns)),
        parts=_COARSE,
        enough=0,
    )


def _divide(family: Sets, rate: Fraction, core: list[tuple[int, int]], most_pairs: int) -> Blocks:
    """Cut the pairs of steps of a core into blocks: single pairs if there are few, or blocks of similar numbers."""
    upper, lower = family.steps
    (top, bottom), (left, right) = core
    most = most_pairs if (bottom - top) * (right - left) <= most_pairs else math.isqrt(most_pairs)
    rows, _ = divide(
        top,
        bottom,
        lambda steps: _count_line(upper.find_sizes(steps), lower.find_sizes(np.array([right - 1]))),
        most=most,
    )
    columns, _ = divide(
        left,
        right,
        lambda steps: _count_line(lower.find_sizes(steps), upper.find_sizes(np.array([bottom - 1]))),
        most=most,
    )
    spans = [
        weigh_spans(rate, *family.find_spans(axis, edges[:-1], edges[1:] - 1))
        for axis, edges in enumerate((rows, columns))
    ]
    areas = _reshape(spans[0], (-1, 1)) * spans[1] * powers(rate, np.array([family.offset]))
    weights = count_sets(upper.find_sizes(rows[1:] - 1), lower.find_sizes(columns[1:] - 1)) * areas
    high, wide = len(rows) - 1, len(columns) - 1

    def find_least() -> Scaled:
        return _reshape(count_sets(upper.find_sizes(rows[:-1]), lower.find_sizes(columns[:-1])) * areas, (-1,))

    return Blocks(
        family=family,
        firsts=[rows[:-1].repeat(wide), np.tile(columns[:-1], high)],
        lasts=[rows[1:].repeat(wide) - 1, np.tile(columns[1:] - 1, high)],
        weights=_reshape(weights, (-1,)),
        find_least=None if high == bottom - top and wide == right - left else find_least,
    )


def _reshape(numbers: Scaled, shape: tuple[int, ...]) -> Scaled:
    mantissa, exponent = numbers.mantissa.reshape(shape), numbers.exponent.reshape(shape)
    return Scaled(mantissa=mantissa, exponent=exponent, roundings=numbers.roundings)


def _count_line(sizes: IntArray, other: IntArray) -> Scaled:
    """Compute the numbers along one line of a grid."""
    return _reshape(count_sets(sizes, other), (-1,))


def count_sets(places: IntArray, spare: IntArray) -> Scaled:
    """Compute C(r + m, r) for all r in a rising array and all m in another, a row for each r, with a proven error.

    C(r + m, r) is the product of (m + t)/t over t ≤ r. Each factor is rounded twice, by its division and by the
    multiplication. The running products are scaled before they leave the range of floats.

    >>> count_sets(np.array([0, 2]), np.array([1, 3])).align(0)
    array([[ 1.,  1.],
           [ 3., 10.]])
    """
    if places[-1] > spare[-1]:
        swapped = count_sets(spare, places)
        return Scaled(mantissa=swapped.mantissa.T, exponent=swapped.exponent.T, roundings=swapped.roundings)
    most = int(places[-1])
    group = 1000 // int(most + spare[-1] + 1).bit_length()
    products = np.ones((len(places), len(spare)))
    exponents = np.zeros((len(places), len(spare)), dtype=np.int64)
    mantissa, exponent = np.ones(len(spare)), np.zeros(len(spare), dtype=np.int64)
    for start in range(0, most, group):
        end = min(start + group, most)
        steps = np.arange(start + 1.0, end + 1.0)[:, None]
        running = np.multiply.accumulate((spare + steps) / steps, axis=0)
        running *= mantissa
        rows = slice(*np.searchsorted(places, [start, end], side="right"))
        products[rows], exponents[rows] = running[places[rows] - start - 1], exponent
        mantissa, shift = np.frexp(running[-1])
        exponent = exponent + shift
    products, shifts = np.frexp(products)
    return Scaled(mantissa=products, exponent=exponents + shifts, roundings=2 * most + most // group + 2)


def count_bits_of_sets(places: IntArray, spare: IntArray) -> FloatArray:
    """Compute log₂ C(r + m, r) for each r and m, off by less than a tenth.

    By Stirling, ln n! is (n + 1/2) ln n − n + ln(2π)/2 + 1/12n for n ≥ 1, off by less than 1/360.
    """
    return _count_factorial_bits(places + spare) - _count_factorial_bits(places) - _count_factorial_bits(spare)


def _count_factorial_bits(numbers: IntArray) -> FloatArray:
    n = np.maximum(numbers, 1).astype(np.float64)
    nats: FloatArray = (n + 0.5) * np.log(n) - n + math.log(2 * math.pi) / 2 + 1 / (12 * n)
    return np.where(numbers > 0, nats * math.log2(math.e), 0.0)


def count_set_bits(d: int, sizes: range) -> float:
    """Bound from above the logarithm, to base 2, of the number of sets of these sizes among d items."""
    nearest = min(max(d // 2, sizes[0]), sizes[-1])
    most = float(count_bits_of_sets(np.array(nearest), np.array(d - nearest)))
    return most * (1 + 2.0**-40) + math.log2(len(sizes)) + 1
