"""Subset: the exponential mechanism over all sets of k items, without their order.

For a set S of items let out(S) be the largest count outside S (0 if nothing is outside) and in(S) the smallest count
inside. With q = e^(−ε/2Δ), P(S) ∝ q^(out(S) − in(S)). It is drawn by `SetDraws`, a mixture over pairs of losses
(block_mixture.py) of `Sets`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np
from flint import arb, ctx, fmpq

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import round_to_float, use_precision
from shortlist.exact.scaled import Scaled
from shortlist.mechanisms import stated
from shortlist.mechanisms.block_mixture import BlockMixture, find_reach
from shortlist.mechanisms.mechanism import CommonOptions, Mechanism, Prepared, Score, bound_loss, read_sizes
from shortlist.privacy import Guarantee
from shortlist.profile import EVERY_LEVEL, Levels, Picks


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


class SetDraws(BlockMixture["Sets"]):
    """The law P(S) ∝ e^(−rate · loss of S) over the sets of some sizes, on given levels, ready to be drawn from."""

    def __init__(
        self, levels: Levels, *, sizes: range, rate: Fraction, leads: bool = True, most_pairs: int = 1 << 9
    ) -> None:
        """Prepare the draws. For more pairs of losses than `most_pairs`, a block holds several, and may reject.

        Without `leads`, a negative loss counts as 0.
        """
        reach = find_reach(count_set_bits(levels.d, sizes), rate)
        sets = Sets(levels, sizes, reach=reach, leads=leads)
        super().__init__(sets, rate=rate, most=most_pairs, parts=16, choose_losses=sets.choose_losses)


class Sets:
    """The sets S of some sizes n by two losses: the candidates of a mixture.

    The upper loss is how many votes the best item outside S has above h_(n). The lower loss is how many votes the worst
    item inside S has below h_(n+1). So

        (largest count outside) − (smallest count inside) = upper loss + lower loss + gap,    gap = h_(n) − h_(n+1).

    Neither is negative, but for the set of the n largest items if it leads: if the gap g is above 0. It counts as if
    both were 0, so it weighs q^g among the others. By itself it weighs q^(−g) − q^g, or 1 − q^g without `leads`: these
    are the losses in [−g, 0) and in [0, g), in which it is alone. If n = d, there is no other set.

    An upper loss of at most x forces all items with more than h_(n) + x votes into S. Let r(x) places be left.
    A lower loss of at most y allows the items with h_(n+1) − y votes or more. Let n + m(y) be their number. So
    C(r(x) + m(y), r(x)) sets have losses of at most x and y. If a set is alone, r = m = 0.

    >>> from shortlist.profile import Profile
    >>> sets = Sets(Profile.of(np.array([5, 3, 3, 0])), range(2, 3), reach=9)
    >>> [[sets.number(0, x, y) for y in range(4)] for x in range(3)]
    [[2, 2, 2, 3], [2, 2, 2, 3], [3, 3, 3, 6]]
    """

    unordered = True

    def __init__(self, levels: Levels, sizes: range, *, reach: int, leads: bool = True) -> None:
        """Read the levels down to `reach` below the last count that matters."""
        self._levels, self._leads = levels, leads
        self.sizes, self.reach, self.bits = sizes, reach, count_set_bits(levels.d, sizes)
        # One item more than the largest set. Its count shows by how much the top set leads.
        self.profile = profile = levels.above(min(sizes[-1] + 1, levels.d), reach)
        self.top = profile.top(sizes[-1])
        gaps, d, counts = profile.find_gaps(sizes).tolist(), levels.d, profile.top(sizes[-1] + 1)
        widest = max(gaps) if leads else 0
        alone, others = [], []  # for each group: the size, the offset, the last upper loss and whether it has no end
        for n, gap in zip(sizes, gaps, strict=True):
            if n == d:
                alone.append((n, widest - gap if leads else 0, 0, True))
                continue
            if gap:
                alone += [(n, widest + side * gap, gap - 1, False) for side in ((-1, 0) if leads else (0,))]
            others.append((n, widest + gap, int(counts[0] - counts[n - 1]), True))
        numbers, self.offsets, upper, endless = zip(*alone, *others, strict=True)
        self._n = np.array(numbers)
        self._nth, self._next = counts[self._n - 1], counts[np.minimum(self._n, d - 1)]
        self._alone = np.arange(len(numbers)) < len(alone)
        # If the profile stops early, the largest lower loss is unknown and above the reach.
        lower = self._next - profile.values[-1] if profile.is_complete else np.full(len(numbers), EVERY_LEVEL)
        self.lasts = np.stack([np.array(upper), np.where(self._alone, 0, lower)])
        self.endless = np.stack([np.array(endless), np.ones(len(numbers), dtype=np.bool_)])
        self._falling, self._before = -profile.values, np.append(0, profile.ends)

    def narrow(self, reach: int) -> Sets:
        """Return the same sets."""
        return self

    def read_all(self) -> Sets:
        """Return the sets of all levels."""
        return Sets(self._levels, self.sizes, reach=EVERY_LEVEL, leads=self._leads)

    def number(self, group: int, *losses: int) -> int:
        """Count the sets that two losses allow, exactly."""
        places, spare = (int(each[0]) for each in self._count(np.array([group]), *np.array(losses)[:, None]))
        return math.comb(places + spare, places)

    def count_blocks(self, blocks: IntArray) -> Scaled:
        """Compute the number of sets at both ends of blocks as floats with a proven error."""
        groups, firsts, lasts = blocks
        return count_sets(*self._count(groups[0], *np.array([lasts, firsts]).swapaxes(0, 1)))

    def choose_losses(self, blocks: IntArray) -> IntArray:
        """Choose the loss whose first value allows fewer sets, with the last value of the other. Floats are enough."""
        groups, firsts, lasts = blocks
        upper, lower = np.array([firsts[0], lasts[0]]), np.array([lasts[1], firsts[1]])
        places, spare = (each.astype(np.float64) for each in self._count(groups[0], upper, lower))
        # ln C(r + m, r) is about r ln(1 + m/r) + m ln(1 + r/m).
        logs = places * np.log1p(spare / np.maximum(places, 1)) + spare * np.log1p(places / np.maximum(spare, 1))
        chosen: IntArray = np.where(firsts < lasts, logs, np.inf).argmin(axis=0)
        return chosen

    def count_allowed(self, group: int, *losses: IntArray) -> IntArray:
        """Count the items allowed at each place: first the forced items in order, then all that are allowed."""
        places, spare = self._count(np.array([group]), *losses)
        n = int(self._n[group])
        order = np.arange(n)
        return np.where(order < n - places[:, None], order + 1, n + spare[:, None])

    def describe(self, group: int, positions: IntArray) -> tuple[Picks, list[IntArray]]:
        """Describe sets by level and rank, and compute their losses."""
        picks, n = self.profile.picks(positions), positions.shape[1]
        gaps = np.sort(positions, axis=1) != np.arange(n)
        missing = np.where(gaps.any(axis=1), gaps.argmax(axis=1), n)
        # If all items are inside, any count stands for the missing one.
        outside = self.profile.values[np.minimum(self.profile.find_levels(missing), len(self.profile.values) - 1)]
        return picks, [outside - self._nth[group], self._next[group] - picks.levels.min(axis=1)]

    def _count(self, groups: IntArray, *losses: IntArray) -> tuple[IntArray, IntArray]:
        """Find r and m for each group and its two losses."""
        upper, lower = losses
        n, alone = self._n[groups], self._alone[groups]
        forced = self._before[self._falling.searchsorted(-self._nth[groups] - upper)]
        allowed = self._before[self._falling.searchsorted(lower - self._next[groups], side="right")]
        return np.where(alone, 0, n - forced), np.where(alone, 0, allowed - n)


def count_sets(places: IntArray, spare: IntArray) -> Scaled:
    """Compute C(r + m, r) = (r + m)! / (r! m!) for each r and m.

    >>> count_sets(np.array([0, 2, 2]), np.array([1, 1, 3])).align(0).round(6)
    array([ 1.,  3., 10.])
    """
    numbers = factorials(np.array([places + spare, places, spare]))
    return numbers[0] / (numbers[1] * numbers[2])


def factorials(numbers: IntArray) -> Scaled:
    """Compute n! for numbers in an array of any shape, at least one, as floats with a proven error.

    >>> factorials(np.array([0, 5, 20])).align(0).tolist() == [1.0, 120.0, math.factorial(20)]
    True
    """
    first = int(numbers.min()) >> _FACTORIAL_BITS
    numbers = numbers - (first << _FACTORIAL_BITS)
    blocks = numbers >> _FACTORIAL_BITS
    needed = np.bincount(blocks.ravel()) > 0
    tables = [_tabulate_factorials(first + block) for block in np.flatnonzero(needed).tolist()]
    if len(tables) < len(needed):
        numbers = numbers - ((~needed).cumsum() << _FACTORIAL_BITS)[blocks]
    mantissa, exponent = (np.concatenate(each).take(numbers) for each in zip(*tables, strict=True))
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


@lru_cache(maxsize=256)
def count_set_bits(d: int, sizes: range) -> float:
    """Bound from above the logarithm, to base 2, of the number of sets of these sizes among d items."""
    with use_precision():
        return float((enclose_sets(d, sizes).log() / arb.const_log2()).upper()) * (1 + 2.0**-50)
