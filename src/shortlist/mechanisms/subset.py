"""Subset: the exponential mechanism over all sets of k items, without their order.

For a set S of items let out(S) be the largest count outside S (0 if nothing is outside) and in(S) the smallest count
inside. With q = e^(−ε/2Δ), P(S) ∝ q^(out(S) − in(S)). It is drawn by `SetDraws`, a mixture over pairs of losses
(block_mixture.py) of `Sets`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
from flint import arb, ctx, fmpq

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import round_to_float, use_precision
from shortlist.exact.scaled import Scaled, concatenate, powers
from shortlist.mechanisms import stated
from shortlist.mechanisms.block_mixture import (
    BITS,
    LEFT_OUT_BITS,
    BlockMixture,
    Blocks,
    Core,
    divide,
    find_core,
    find_reach,
    weigh_spans,
)
from shortlist.mechanisms.mechanism import CommonOptions, Mechanism, Prepared, Score, bound_loss, read_sizes
from shortlist.privacy import Guarantee
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile


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
    Subset(k=10, epsilon=Fraction(1, 2), neighbours=..., groups_per_person=None, rho=None, at_least=5)
    """

    name = "subset"
    summary = "one draw among all sets of k items, without their order"
    when = "the order of the items does not matter: fewer votes are needed then"
    rho_in_words = "ε²/8"
    bound_in_words = "an item left out has at most {bound} more than any listed item"

    unordered: ClassVar[bool] = True

    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int | tuple[int, int], at_least: int | None = ..., **common: Unpack[CommonOptions]
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
    def guarantee(self) -> Guarantee:
        """What one draw promises: ε and ε²/8c."""
        rho = self.lists_per_person * self.list_epsilon**2 / 8
        return Guarantee(epsilon=self.epsilon, rho=rho, neighbours=self.neighbours)

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law by brute force: P(S) ∝ q^(out(S) − in(S))."""
        rate = self.epsilon / (2 * self.neighbours.sensitivity * self.lists_per_person)
        law = stated.exponential(stated.set_losses(histogram, self.sizes), rate)
        return zip(map(stated.Output, stated.subsets(len(histogram), self.sizes)), law, strict=True)

    def make_score(self, levels: Levels, rate: Fraction) -> Score:
        """Make the score: how spread the law is at a rate, if no set led: Σ_S e^(−rate · max(loss of S, 0))."""
        return SetDraws(levels, sizes=self.sizes, rate=rate, leads=False)

    def find_tail(self) -> tuple[Fraction, int]:
        """Find the tail: P(loss ≥ t) is at most e^(rate (s − t)/2), with s the spread at half of the rate."""
        return self.rate, 1

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(partial(enclose_sets, d, self.sizes), self.rate, failure)

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
        self, levels: Levels, *, sizes: range, rate: Fraction, leads: bool = True, most_pairs: int = 1 << 15
    ) -> None:
        """Prepare the draws. For more pairs of one size than `most_pairs`, a block holds several, and may reject."""
        self._levels = levels
        self._sizes = sizes
        self._leads = leads
        all_bits = count_set_bits(levels.d, sizes)
        self._reach = find_reach(all_bits, rate)
        self.profile = self._read_profile(self._reach)
        self._limit = None if self.profile.is_complete else self._reach
        families = self._make_families(self.profile)
        # A reach that is cut off at the largest count holds the sum of two losses as well.
        farthest = math.inf if self._reach == EVERY_LEVEL else self._reach
        within = [owner for owner, each in enumerate(families) if each.offset <= farthest]
        # The best set weighs 1.
        cores, surely, left_out = dict[int, Core](), 0.0, list[FloatArray]()
        for owner, at_most in _bound_families(families, within, rate):
            if at_most < surely - LEFT_OUT_BITS:
                left_out.append(np.array([at_most]))
            else:
                cores[owner] = core = families[owner].find_core(rate, self._reach, worth=surely - LEFT_OUT_BITS)
                surely = max(surely, core.surely)
        blocks = []
        for owner, core in sorted(cores.items()):
            left_out.append(core.left_out)
            if core.at_most < surely - LEFT_OUT_BITS:
                left_out.append(np.array([core.at_most]))
            else:
                blocks.append(_divide(families[owner], owner, rate, core, most_pairs))
        if len(within) < len(families) or not all(families[owner].is_within(self._reach) for owner in within):
            # Pairs with an upper or a lower loss beyond the reach, and the sizes that are not in the table.
            left_out.append(np.array([all_bits + 2 - self._reach * float(rate) * BITS]))
        joined = Blocks(
            owners=np.concatenate([each.owners for each in blocks]),
            firsts=np.concatenate([each.firsts for each in blocks], axis=1),
            lasts=np.concatenate([each.lasts for each in blocks], axis=1),
            weights=concatenate([each.weights for each in blocks]),
            find_least=partial(_find_least, blocks),
        )
        super().__init__(families, joined, np.concatenate(left_out), rate=rate, top=self.profile.top(sizes[-1]))

    def compute_exact_chance(self) -> float | None:
        """Compute the probability of a set with the true counts, where all sets have one size."""
        if len(self._sizes) > 1:
            return None
        with use_precision():  # the first family has the best sets
            return float((arb(self.families[0].number(0, 0)) / self.total()).mid())

    def list_complete(self) -> list[Sets]:
        """List the families of all levels."""
        return self._complete

    @cached_property
    def _complete(self) -> list[Sets]:
        return self._make_families(self._read_profile(EVERY_LEVEL))

    def _make_families(self, profile: Profile) -> list[Sets]:
        """Make the families of all sizes, leading sets first. Losses are counted from the smallest one of any set."""
        gaps = profile.find_gaps(self._sizes).tolist()
        widest = max(gaps) if self._leads else 0
        leading, others, above = [], [], profile.ends - profile.sizes
        for n, gap in zip(self._sizes, gaps, strict=True):
            last, following = profile.find_levels(np.array([n - 1, n])).tolist()
            lowest, lead = int(profile.values[last]), gap if self._leads else 0
            if n < profile.d:
                upper = Steps(counts=profile.values[last::-1], items=above[last::-1], base=lowest, n=n)
                lower = Steps(counts=profile.values[following:], items=profile.ends[following:], base=lowest - gap, n=n)
                if self._limit is not None:
                    lower = lower.limit(self._limit, goes_on=profile.is_complete)
                others.append(Sets(profile=profile, n=n, offset=widest + gap, steps=(upper, lower)))
            if gap or n == profile.d:
                alone = Steps(counts=profile.values[last : last + 1], items=np.array([n]), base=lowest, n=n)
                ending = replace(alone, end=gap + lead) if n < profile.d else alone
                leading.append(Sets(profile=profile, n=n, offset=widest - lead, steps=(ending, alone)))
        return leading + others

    def _read_profile(self, depth: int) -> Profile:
        # One item more than the largest set. Its count shows by how much the top set leads.
        return self._levels.above(min(self._sizes[-1] + 1, self._levels.d), depth)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sets:
    """The sets S of n items, grouped by two losses: combinatorics, with no epsilon in it.

    The upper loss is how many votes the best item outside S has above h_(n). The lower loss is how many votes the worst
    item inside S has below h_(n+1). So

        (largest count outside) − (smallest count inside) = upper loss + lower loss + gap,    gap = h_(n) − h_(n+1).

    Neither is negative, but for the set of the n largest items if it leads. It counts as if both were 0.

    An upper loss of at most x forces all items with more than h_(n) + x votes into S. Let r(x) places be left.
    A lower loss of at most y allows the items with h_(n+1) − y votes or more. Let n + m(y) be their number. So
    C(r(x) + m(y), r(x)) sets have losses of at most x and y. Both r and m grow in steps. A leading set alone is a
    family with r = m = 0, in one step of each.

    >>> (sets,) = SetDraws(Profile.of(np.array([5, 3, 3, 0])), sizes=range(2, 3), rate=Fraction(1)).families
    >>> [(steps.find_starts([0, 1]).tolist(), steps.find_sizes([0, 1]).tolist()) for steps in sets.steps]
    [([0, 2], [1, 2]), ([0, 3], [1, 2])]
    """

    profile: Profile
    n: int
    offset: int
    steps: tuple[Steps, Steps]
    """The steps of r and of m. If the profile stops early, those of m end at the limit of what it shows."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many steps each loss has."""
        return tuple(len(steps.counts) for steps in self.steps)

    def is_within(self, reach: int) -> bool:
        """Whether no loss is beyond the reach."""
        return all(int(steps.find_starts(-1)) <= reach for steps in self.steps) and self.steps[1].end < 0

    def find_spans(self, axis: int, firsts: IntArray, lasts: IntArray) -> tuple[IntArray, IntArray]:
        """Find where losses begin and end. An end beyond 64 bits is a Python integer."""
        steps, final = self.steps[axis], self.lengths[axis] - 1
        end = np.array(steps.end, dtype=object if steps.end > EVERY_LEVEL else np.int64)
        return steps.find_starts(firsts), np.where(lasts < final, steps.find_starts(np.minimum(lasts + 1, final)), end)

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
        # If all items are inside, any count stands for the missing one.
        outside = self.profile.values[np.minimum(self.profile.find_levels(missing), len(self.profile.values) - 1)]
        upper, lower = self.steps
        return picks, [outside - upper.base, lower.base - picks.levels.min(axis=1)]

    def compute_numbers(self, rows: IntArray, columns: IntArray) -> Scaled:
        """Compute the number of sets for all pairs of some steps of r and of m, as floats with a proven error."""
        upper, lower = self.steps
        return count_sets(upper.find_sizes(rows), lower.find_sizes(columns)).reshape(-1)

    def weigh(self, rows: IntArray, columns: IntArray, areas: Scaled) -> Scaled:
        """Compute the number of sets times the weight of the losses, for all pairs of some steps."""
        return self.compute_numbers(rows, columns) * areas

    def find_core(self, rate: Fraction, reach: int, *, worth: float) -> Core:
        """Find the pairs of steps that carry the weight of the family, and bound it."""
        upper, lower = self.steps
        return find_core(
            self,
            rate,
            [steps.count_within(reach) for steps in self.steps],
            lambda rows, columns: count_bits_of_sets(upper.find_sizes(rows)[:, None], lower.find_sizes(columns)),
            parts=_COARSE,
            enough=0,
            worth=worth,
        )


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


def _bound_families(families: Sequence[Sets], owners: Sequence[int], rate: Fraction) -> list[tuple[int, float]]:
    """Bound the weights of some families from above, as base-2 logarithms, as if no set had a loss. The largest first.

    A tenth of a bit and the roundings are less than one bit.
    """
    most = np.array([[steps.find_sizes(-1) for steps in families[owner].steps] for owner in owners])
    offsets = np.array([float(families[owner].offset) for owner in owners])
    bounds = count_bits_of_sets(most[:, 0], most[:, 1]) * (1 + 2.0**-40) - offsets * float(rate) * BITS + 1
    return [(owners[place], float(bounds[place])) for place in np.argsort(-bounds).tolist()]


def _divide(family: Sets, owner: int, rate: Fraction, core: Core, most_pairs: int) -> Blocks:
    """Cut the pairs of steps of a core into blocks: single pairs if there are few, or blocks of similar numbers."""
    (top, left), (bottom, right) = core.firsts, core.afters
    most = most_pairs if (bottom - top) * (right - left) <= most_pairs else math.isqrt(most_pairs)
    rows, _ = divide(top, bottom, lambda steps: family.compute_numbers(steps, np.array([right - 1])), most=most)
    columns, _ = divide(left, right, lambda steps: family.compute_numbers(np.array([bottom - 1]), steps), most=most)
    upper, lower = (
        weigh_spans(rate, *family.find_spans(axis, edges[:-1], edges[1:] - 1))
        for axis, edges in enumerate((rows, columns))
    )
    areas = (upper.reshape(-1, 1) * lower * powers(rate, np.array([family.offset]))).reshape(-1)
    high, wide = len(rows) - 1, len(columns) - 1
    return Blocks(
        owners=np.full(high * wide, owner),
        firsts=np.stack([rows[:-1].repeat(wide), np.tile(columns[:-1], high)]),
        lasts=np.stack([rows[1:].repeat(wide) - 1, np.tile(columns[1:] - 1, high)]),
        weights=family.weigh(rows[1:] - 1, columns[1:] - 1, areas),
        find_least=partial(family.weigh, rows[:-1], columns[:-1], areas),
    )


def _find_least(blocks: Sequence[Blocks]) -> Scaled:
    return concatenate([each.find_least() for each in blocks])


def count_sets(places: IntArray, spare: IntArray) -> Scaled:
    """Compute C(r + m, r) = (r + m)! / (r! m!) for all r in an array and all m in another, a row for each r.

    >>> count_sets(np.array([0, 2]), np.array([1, 3])).align(0).round(6)
    array([[ 1.,  1.],
           [ 3., 10.]])
    """
    return factorials(places[:, None] + spare) / (factorials(places).reshape(-1, 1) * factorials(spare))


def factorials(numbers: IntArray) -> Scaled:
    """Compute n! for numbers in an array of any shape, at least one, as floats with a proven error.

    >>> factorials(np.array([0, 5, 20])).align(0).tolist() == [1.0, 120.0, math.factorial(20)]
    True
    """
    blocks = numbers >> _FACTORIAL_BITS
    first = int(blocks.min())
    needed = np.bincount((blocks - first).ravel()) > 0
    tables = [_tabulate_factorials(first + block) for block in np.flatnonzero(needed).tolist()]
    rows, columns = (np.cumsum(needed) - 1)[blocks - first], numbers & (1 << _FACTORIAL_BITS) - 1
    mantissa, exponent = (np.stack(each)[rows, columns] for each in zip(*tables, strict=True))
    return Scaled(mantissa=mantissa, exponent=exponent, roundings=_FACTORIAL_ROUNDINGS)


_FACTORIAL_BITS = 8
"""Factorials are tabulated in blocks of 2^8: the first of a block from balls, the others by running products."""
_FACTORIAL_ROUNDINGS = 2 + 2**_FACTORIAL_BITS
"""Two roundings of the first, and at most one for each factor of the products. A shift by a power of two is exact."""
_FACTORS = 15
"""A product of so many factors below 2^64, and of a mantissa, is within the range of floats."""


@lru_cache(maxsize=1 << 14)
def _tabulate_factorials(block: int) -> tuple[FloatArray, IntArray]:
    """Tabulate n! of a block of numbers, as mantissas and exponents."""
    first, size = block << _FACTORIAL_BITS, 1 << _FACTORIAL_BITS
    mantissa, exponent = round_to_float(lambda: arb.fac_ui(first))
    mantissas, exponents = np.empty(size), np.empty(size, dtype=np.int64)
    for start in range(0, size, _FACTORS):
        factors = np.arange(first + start, first + min(start + _FACTORS, size), dtype=np.float64)
        factors[0] = mantissa if start == 0 else mantissa * factors[0]
        products, shifts = np.frexp(np.multiply.accumulate(factors))
        mantissas[start : start + _FACTORS], exponents[start : start + _FACTORS] = products, exponent + shifts
        mantissa, exponent = float(products[-1]), exponent + int(shifts[-1])
    return mantissas, exponents


def count_bits_of_sets(places: IntArray, spare: IntArray) -> FloatArray:
    """Compute log₂ C(r + m, r) for each r and m, off by less than a tenth.

    By Stirling, ln n! is (n + 1/2) ln n − n + ln(2π)/2 + 1/12n for n ≥ 1, off by less than 1/360.
    """
    return _count_factorial_bits(places + spare) - _count_factorial_bits(places) - _count_factorial_bits(spare)


def _count_factorial_bits(numbers: IntArray) -> FloatArray:
    n = np.maximum(numbers, 1).astype(np.float64)
    nats: FloatArray = (n + 0.5) * np.log(n) - n + math.log(2 * math.pi) / 2 + 1 / (12 * n)
    return np.where(numbers > 0, nats * math.log2(math.e), 0.0)


def enclose_sets(d: int, sizes: range) -> arb:
    """Enclose the number of sets of these sizes among d items, at the working precision.

    C(d, n) falls on both sides of its largest term. So terms are added from there outwards, each from the one before,
    and the terms beyond a small one are bounded by it.

    >>> enclose_sets(5, range(1, 4)).unique_fmpz()
    25
    """
    most = min(max(d // 2, sizes[0]), sizes[-1])
    peak = arb.bin_uiui(d, most)
    total, small = peak, peak * arb(2) ** -ctx.prec
    for outwards in (range(most, sizes[0], -1), range(most + 1, sizes[-1] + 1)):
        term, falling = peak, outwards.step < 0
        for place, n in enumerate(outwards):
            term *= fmpq(n, d - n + 1) if falling else fmpq(d - n + 1, n)  # C(d, n − 1) from C(d, n), or C(d, n)
            total += term
            if term < small:
                total += (term * (len(outwards) - place - 1)).union(arb(0))
                break
    return total


def count_set_bits(d: int, sizes: range) -> float:
    """Bound from above the logarithm, to base 2, of the number of sets of these sizes among d items."""
    nearest = min(max(d // 2, sizes[0]), sizes[-1])
    most = float(count_bits_of_sets(np.array(nearest), np.array(d - nearest)))
    return most * (1 + 2.0**-40) + math.log2(len(sizes)) + 1
