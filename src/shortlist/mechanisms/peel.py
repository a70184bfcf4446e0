"""Peeling: k rounds, each of which takes one of the items that are left. Two laws of a round, PNF-Peel and CDP-Peel.

A round proposes an item that is left, with probability ∝ e^(rate · count). CDP-Peel takes the first proposal, and
PNF-Peel accepts or rejects proposals (`exact/thinning.py`). Proposals are drawn in batches of independent draws. A
later proposal of a batch may be an item that is taken meanwhile, and is skipped. This is rejection sampling: the
proposals that are not skipped are independent draws among the items left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, enclose_exp_minus
from shortlist.exact.bits import Bits
from shortlist.exact.choice import LossRange, Table, quantile
from shortlist.exact.scaled import FEW_ROUNDINGS, LOG_ERROR, ROUNDING, compute_negative_logs, powers
from shortlist.exact.thinning import Bounds, accept_by_balls, accept_by_floats, bound_logs
from shortlist.exact.uniform import Uniform, draw_below, draw_below_each, draw_words
from shortlist.mechanisms import stated
from shortlist.mechanisms.mechanism import CommonOptions, Mechanism, Prepared, Score
from shortlist.privacy import Guarantee
from shortlist.privacy.bounded_range import Calibration, calibrate
from shortlist.privacy.numbers import Real
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import EVERY_LEVEL, Levels, Picks

_OUT_OF_REACH_BITS = 48
_OMITTED = 2.0 ** (1 - _OUT_OF_REACH_BITS)
"""Larger than the weight of all items out of reach together, if the best one left weighs 1."""
_LIKELY = 0.5
"""A best level with this share of the weight is tried without a table: 15 times as fast where counts lie apart."""
_CERTAIN = 2.0**-48
_BATCH = 16
"""How many proposals are drawn together, in units of the weight of all items left over that of the best one.

Batches that are long enough for all rounds take 3 times as long at k = 1,000, because most of them is skipped.
"""


class PNFPeel(Mechanism):
    """Choose k items one after another, each the one left with the largest count + exponential noise of mean Δk/ε.

    Claim  epsilon-DP and (epsilon tanh(epsilon/2k))-zCDP when one person raises each count by 0 or 1.
    Proof  pnf_peel.proof.md; families.proof.md for a family.
    Cost   one pass over the profile, then for each item one over the levels within reach.

    >>> float(PNFPeel(k=10, epsilon=1).guarantee.rho)
    0.049958375
    """

    __slots__ = ()

    name = "pnf-peel"
    summary = "k rounds of permute-and-flip, one item each"
    when = "counts lie close together and δ must be 0"
    rho_in_words = "ε·tanh(ε/2k)"

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        rho = find_rho_of_pure(self.epsilon, self.rounds)
        return Guarantee(epsilon=self.epsilon, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """The rate of one round: an item that is n votes below the best one left has weight e^(−rate · n)."""
        return self.epsilon / (self.rounds * self.neighbours.sensitivity)

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law: in each round, permute-and-flip with heads of probability e^(−ε · loss / ckΔ)."""
        rate = self.epsilon / (self.lists_per_person * self.k * (1 if self.neighbours == "add-remove" else 2))
        return stated.state_lists(histogram, self.k, stated.peel_law(histogram, self.k, rate, stated.flip_round))

    def _prepare(self, levels: Levels) -> FlipDraws:
        return FlipDraws(PeelLevels(levels, k=self.k, rate=self.round_rate))


@dataclass(frozen=True, slots=True, kw_only=True)
class CDPPeel(Mechanism):
    """Choose k items one after another, each with probability proportional to e^(ε′ h / Δ) among those left.

    Claim  (epsilon, delta)-DP and (k ε′²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  cdp_peel.proof.md, Theorems 1 and 2; families.proof.md for a family.
    Cost   one pass over the profile, then O(k) for each draw if counts are close. If they are far apart, a pass
           over the levels within reach for some of the items.

    >>> mechanism = CDPPeel(k=100, epsilon=1, delta="1e-6")
    >>> float(mechanism.round_epsilon), float(mechanism.guarantee.rho)
    (0.047..., 0.028...)
    """

    name = "cdp-peel"
    summary = "k rounds of the exponential mechanism, one item each"
    when = "counts lie close together and a small δ is acceptable"
    guarantee_in_words = "(ε, δ)"
    rho_in_words = "kε′²/8"
    # A delta this large, because a small one makes no difference for the few items that can be enumerated.
    audited = ({"delta": Fraction(1, 5)},)

    delta: Fraction
    calibration: Calibration = None  # type: ignore[assignment]  # it is chosen when the object is built

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int, delta: Real, calibration: str | None = ..., **common: Unpack[CommonOptions]
        ) -> None: ...

    def __post_init__(self) -> None:
        usual = Calibration.OPTIMAL if self.rho is None else Calibration.TIGHT
        self._read(calibration=usual if self.calibration is None else Calibration.read(self.calibration))
        if self.rho is not None and self.calibration is not usual:
            raise ParameterError("`calibration` must be left out where `rho` is given")
        Mechanism.__post_init__(self)

    @property
    def round_epsilon(self) -> Fraction:
        """ε′, the epsilon of one round: rounded down, and never less than ε/ck."""
        return calibrate(self.rounds, self.epsilon, self.delta, self.calibration)

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises. It has no delta if ε′ is ε/ck."""
        delta = self.delta if self.round_epsilon > self.epsilon / self.rounds else Fraction(0)
        rho = self.rounds * self.round_epsilon**2 / 8
        return Guarantee(epsilon=self.epsilon, delta=delta, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """The rate of one round: an item that is n votes below the best one left has weight e^(−rate · n)."""
        return self.round_epsilon / self.neighbours.sensitivity

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law: in each round, an item that is left with probability ∝ e^(ε′ · count / Δ)."""
        rate = self.round_epsilon / (1 if self.neighbours == "add-remove" else 2)
        return stated.state_lists(histogram, self.k, stated.peel_law(histogram, self.k, rate, stated.exponential_round))

    def _prepare(self, levels: Levels) -> SuccessiveDraws:
        return SuccessiveDraws(PeelLevels(levels, k=self.k, rate=self.round_rate))


@dataclass(frozen=True)
class SuccessiveDraws(Prepared):
    """CDP-Peel's law on given levels: each round takes the first item that it proposes."""

    peeling: PeelLevels

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        run = PeelRun(self.peeling, bits)
        for _ in range(self.peeling.k):
            run.take(*run.propose())
        return run.picks()

    def compute_exact_chance(self) -> float:
        """Compute the probability of the exact list: the product over rounds of the share of the best items."""
        levels, taken = self.peeling.list_best_rounds()
        below, above = self.peeling.enclose_totals()
        return math.prod(map(float, (self.peeling.profile.sizes[levels] - taken) / ((below + above) / 2)))


@dataclass(frozen=True)
class FlipDraws(Prepared):
    """PNF-Peel's law on given levels: a round is rejection sampling from the exponential mechanism."""

    peeling: PeelLevels

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        run = PeelRun(self.peeling, bits)
        words = draw_words(self.peeling.k, bits)
        for word, target in zip(words.tolist(), bound_logs(words), strict=True):
            run.take(*self._choose(run, Uniform(bits, word), target, bits))
        return run.picks()

    def _choose(self, run: PeelRun, height: Uniform, target: Bounds, bits: Bits) -> tuple[int, int]:
        """Propose items until one is accepted. `height` is the number U of the round, and `target` bounds −ln U."""
        while True:
            level, number = run.propose()
            if level == run.top:  # the best items left are always accepted
                return level, number
            coin = Uniform(bits)
            accepted = run.accepts(level, target, coin.numerator)
            if accepted is None:
                loss = run.compute_loss(level)
                accepted = accept_by_balls(height, coin, self.peeling.rate * loss, [run.left()])
            if accepted:
                return level, number


class PeelRun:
    """The state of one run: the items left, and proposals among them."""

    def __init__(self, peeling: PeelLevels, bits: Bits) -> None:
        self._peeling = peeling
        self._bits = bits
        self._left = peeling.profile.sizes.copy()
        self._decays: FloatArray | None = None
        self._moved: dict[tuple[int, int], int] = {}
        self._batch: Iterator[tuple[int, int]] = iter(())
        self.taken: list[tuple[int, int]] = []
        """The items on the list: the level of each, and its rank among all items of the level."""
        self.top = 0
        """The best level that has items left."""

    def propose(self) -> tuple[int, int]:
        """Draw an item that is left: its level, and its number among those left on the level.

        Rounds  At most two, because the first item of a new batch is left.
        """
        while True:
            for level, number in self._batch:
                if number < self._left.item(level):
                    return level, number
            self._batch = self._draw_batch()

    def take(self, level: int, number: int) -> None:
        """Put an item on the list, so that it is not proposed again.

        The items of a level are numbered as in a Fisher–Yates shuffle: the last one left takes the number of the one
        that is taken.
        """
        last = self._left.item(level) - 1
        self.taken.append((level, self._moved.get((level, number), number)))
        self._moved[level, number] = self._moved.pop((level, last), last)
        self._left[level] = last
        while not last and self.top < len(self._left) - 1 and not self._left.item(self.top):
            self.top += 1
            self._decays = None

    def picks(self) -> Picks:
        """Describe the items on the list, in the order in which they were taken."""
        levels, ranks = np.array(self.taken, dtype=np.int64).reshape(-1, 2).T
        return Picks(levels=self._peeling.profile.values[levels], ranks=ranks)

    def compute_loss(self, level: int) -> int:
        """Return how many votes a level is below the best one left."""
        values = self._peeling.profile.values
        return int(values[self.top]) - int(values[level])

    def find_level(self, loss: int) -> int:
        """Return the level that is this many votes below the best one left."""
        values = self._peeling.profile.values
        return len(values) - 1 - int(values[::-1].searchsorted(values[self.top] - loss))

    def accepts(self, level: int, target: Bounds, coin: int) -> bool | None:
        """Decide by floats whether a proposal of permute-and-flip is accepted. None means that they cannot tell."""
        decays, place = self._find_decays(), level - self.top
        if place >= len(decays):
            return None
        left, error = self._left[self.top : self.top + len(decays)], self._peeling.roundings * ROUNDING
        return accept_by_floats(target, coin, place, decays, left, error + self._peeling.doubt, _OMITTED)

    def left(self) -> LossRange:
        """Return all items that are left, with exact weights."""
        if self._peeling is not self._peeling.complete:
            seen, self._peeling = self._left, self._peeling.complete
            self._left = self._peeling.profile.sizes.copy()
            self._left[: len(seen)] = seen
            self._decays = None
        present = np.flatnonzero(self._left)
        losses = self._peeling.profile.values[self.top] - self._peeling.profile.values[present]
        ends = np.append(0, np.cumsum(self._left[present]))

        def count(loss: int) -> int:
            return int(ends[losses.searchsorted(loss, side="right")])

        return LossRange(rate=self._peeling.rate, count=count, first=0, last=int(losses[-1]))

    def _draw_batch(self) -> Iterator[tuple[int, int]]:
        """Draw a batch of independent items among those left: only one, if it is likely to be on the best level.

        The levels divide [0, 1) in order, the best first. The total also counts items that have been
        taken. So the best level covers at least [0, left / total), and a number in that range is on it.
        """
        top, left, first = self.top, self._left.item(self.top), None
        share = left / self._peeling.totals[top]
        if share > _LIKELY:
            first = Uniform(self._bits)
            if first.numerator * 2.0**-64 < share - _CERTAIN:
                return iter([(top, draw_below(left, self._bits))])
        wanted = self._peeling.k - len(self.taken)
        levels = self._draw_levels(min(wanted + wanted // 2 + 8, int(_BATCH / share) + 8), first)
        return zip(levels.tolist(), draw_below_each(self._left[levels], self._bits).tolist(), strict=True)

    def _draw_levels(self, count: int, first: Uniform | None) -> IntArray:
        """Draw levels, each with probability ∝ the weight of the items left on it. `first` decides the first one."""
        decays = self._find_decays()
        weights = self._left[self.top : self.top + len(decays)] * decays
        error = (self._peeling.roundings + 1) * ROUNDING
        words = draw_words(count, self._bits)
        if first is not None:
            words[0] = first.numerator
        levels = Table(weights, error=error, omitted=_OMITTED).locate_each(words, self._peeling.doubt)
        undecided = np.flatnonzero(levels < 0)
        levels += self.top
        for index in undecided.tolist():
            levels[index] = self.find_level(quantile(Uniform(self._bits, int(words[index])), [self.left()]).first)
        return levels

    def _find_decays(self) -> FloatArray:
        """Find c of one item of each level within reach of the best one left."""
        if self._decays is None:
            self._decays = self._peeling.compute_decays(self.top)
        return self._decays


class PeelLevels(Score):
    """The levels of a profile with their weights e^(−rate · (largest count − count)), prepared for many runs.

    A level is out of reach of every level that is more than `depth` above it. All items out of reach of the best item
    left weigh less, together, than 2^-47 of that item. So a table without them is off by at most that much.
    """

    def __init__(self, levels: Levels, *, k: int, rate: Fraction, doubt: float = 0.0, whole: bool = False) -> None:
        """Show all levels within reach of the first k items, or all levels.

        `doubt` is added to the errors of floats. It leaves more decisions to balls, and changes no list.
        """
        self.k = k
        self.rate = rate
        self._levels = levels
        self.doubt = doubt
        bits = math.log2(levels.d) + _OUT_OF_REACH_BITS
        self._depth = min(EVERY_LEVEL, int(Fraction(bits * math.log(2)) / rate) + 1)
        self.profile = profile = levels.above(k, EVERY_LEVEL if whole else self._depth)
        self.lowest_top = int(profile.ends.searchsorted(min(k, profile.d)))
        """The lowest level that can be the best one left."""
        lowest = max(0, int(profile.values[self.lowest_top]) - self._depth)
        values = profile.values[: len(profile.values) - int(profile.values[::-1].searchsorted(lowest))]
        # A wider gap is shortened to this. Levels beyond it stay out of reach, and no other weight changes.
        gaps = np.minimum(values[:-1] - values[1:], min(self._depth + 1, EVERY_LEVEL))
        self._offsets = np.zeros(len(values), dtype=np.int64)
        np.cumsum(gaps, out=self._offsets[1:])
        self._powers = powers(rate, self._offsets)
        self.roundings = 2 * self._powers.roundings + 1
        """The number of roundings in the quotient of two weights."""

    @cached_property
    def top(self) -> IntArray:  # type: ignore[override]
        """The k largest counts."""
        return self.profile.top(self.k)

    @cached_property
    def complete(self) -> PeelLevels:
        """All levels, for the rare draws that the levels within reach cannot decide."""
        if self.profile.is_complete:
            return self
        return PeelLevels(self._levels, k=self.k, rate=self.rate, doubt=self.doubt, whole=True)

    def compute_decays(self, top: int) -> FloatArray:
        """Compute c = e^(−rate · loss) of a level and of those within its reach. Each is off by some `roundings`."""
        end = self._offsets.searchsorted(min(int(self._offsets[top]) + self._depth, EVERY_LEVEL), side="right")
        mantissas, exponents = self._powers.mantissa[top:end], self._powers.exponent[top:end]
        decays: FloatArray = np.ldexp(mantissas / mantissas[0], (exponents - exponents[0]).astype(np.int32))
        return decays

    @cached_property
    def totals(self) -> list[float]:
        """An upper bound of Σ c over the items of a level and below, for each level that can be the best one left.

        The weight c of an item is relative to the level: its own items have c = 1. The sum of a level is its number of
        items, plus the sum of the level below times the ratio of the two weights. If a ratio is off by n roundings, a
        step is off by at most n + 5. Weights below 2^-1022 of the best may become 0. The bound allows for far more.
        """
        last, sizes = self.lowest_top, self.profile.sizes
        decays = self.compute_decays(last)
        total = float((sizes[last : last + len(decays)] * decays).sum())
        total = total * (1 + (self.roundings + len(decays) + 5) * ROUNDING + _OMITTED)
        mantissa, exponent = self._powers.mantissa[last::-1], self._powers.exponent[last::-1]
        excess = 1 + (self.roundings + 5) * ROUNDING
        ratios = np.ldexp(mantissa[:-1] / mantissa[1:], (exponent[:-1] - exponent[1:]).astype(np.int32))
        totals = [total]
        for size, ratio in zip(sizes[:last][::-1].tolist(), ratios.tolist(), strict=True):
            total = (size + ratio * total) * excess
            totals.append(total)
        return totals[::-1]

    def enclose_totals(self) -> tuple[FloatArray, FloatArray]:
        """Bound Σ c from below and above for every round j, if each earlier round has taken the best item left.

        If i items of the best level are taken, Σ c is i less than the sum of the whole level and those below. A number
        in `totals` exceeds the true sum by at most twice the roundings of all steps. The slack is three times them.
        """
        steps, reach = self.lowest_top + 1, len(self.compute_decays(self.lowest_top))
        slack = 3 * (((self.roundings + 5) * (steps + 1) + reach) * ROUNDING + _OMITTED)
        levels, taken = self.list_best_rounds()
        upper: FloatArray = np.array(self.totals)[levels]
        # The best item left counts 1 by itself.
        lower: FloatArray = np.maximum(1.0, upper * (1 - slack) - taken)
        return lower, (upper - taken) * (1 + FEW_ROUNDINGS)

    def list_best_rounds(self) -> tuple[IntArray, IntArray]:
        """For each round, if every round takes a best item: the best level, and how many of its items are taken."""
        sizes = self.profile.sizes[: self.lowest_top + 1]
        levels = np.repeat(np.arange(len(sizes)), np.minimum(sizes, self.k))[: self.k]
        return levels, np.arange(self.k) - (self.profile.ends[levels] - sizes[levels])

    def bound_spreads(self) -> FloatArray:
        """Bound the spread of each round j by floats, z_j = (1/rate) · ln Σ_{i ≥ j} e^(−rate · (h_(j) − h_(i))).

        The reciprocal of a sum and its logarithm are off by less than 2 `LOG_ERROR`. The rate is rounded, and so is the
        quotient. A rate below the range of floats may be off by more. Then a bound other than 0 is above all counts, as
        z_j is.
        """
        rate = float(self.rate)
        logs = compute_negative_logs(1 / np.array(self.enclose_totals()))
        with np.errstate(over="ignore"):
            below = np.maximum(logs[0] - 2 * LOG_ERROR, 0.0) / rate * (1 - FEW_ROUNDINGS)
            return np.array([below, (logs[1] + 2 * LOG_ERROR) / rate * (1 + FEW_ROUNDINGS)])

    def enclose_spreads(self, effort: int) -> list[arb]:
        """Enclose each z_j at the working precision. The sum of a level follows from that of the next one."""
        if not effort:
            return [arb(low).union(arb(high)) for low, high in self.bound_spreads().T.tolist()]
        profile, k, rate = self.complete.profile, self.k, ball(self.rate)
        total, levels = arb(0), []
        for index in reversed(range(len(profile.values))):
            if index + 1 < len(profile.values):
                total *= enclose_exp_minus(self.rate * int(profile.values[index] - profile.values[index + 1]))
            size = int(profile.sizes[index])
            total += size
            if profile.ends[index] - size < k:
                levels.append([(total - taken).log() / rate for taken in range(min(size, k))])
        return [each for level in reversed(levels) for each in level][:k]
