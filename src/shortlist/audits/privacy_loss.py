"""How large the privacy loss is: the largest of a stated law, by enumeration, and a lower bound from samples alone.

All neighbours of small histograms are enumerated. The lower bound knows nothing about the mechanism. Its event is
chosen on one half of the samples. On the other half, Clopper-Pearson bounds the probability of the event from below for
one histogram and from above for its neighbour. Both bounds hold with a probability of 1 − 10⁻⁹. The first half is drawn
by `draw_many`, and the second by `draw`: the bounds hold however the event was chosen.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from flint import arb

from shortlist.audits.cases import Case
from shortlist.audits.frequencies import MOST_MORE
from shortlist.audits.report import Finding, Result
from shortlist.audits.statistics import bound_above, bound_below, choose_event, draw_outputs
from shortlist.exact.balls import ball, use_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms.stated import Histogram, Items, Law, Output, collect_law, neighbours, small_histograms
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_exact

_PRECISION = 128
_TRIALS = 2500
_WIDE = (12, 11, 6, 1, 0)
_ORDERS = (Fraction(11, 10), Fraction(2), Fraction(8), Fraction(32))
"""The orders of the Rényi divergences that are compared with rho."""
_POWERS = np.array([[float(order - 1)] for order in _ORDERS])
_DIVISORS = [float(order * (order - 1)) for order in _ORDERS]
_SURE = 1e-6
"""A float that is below its bound by this share needs no ball."""
_LEFT_OUT = arb(1) / 4000
"""The share of delta that noisy counts may have that are not enumerated."""
_NEAR = 24
"""Up to this reach, pairs of noisy counts are few enough to be enumerated."""
FAILURE = 1e-9
"""The probability that a bound is wrong."""
FACTORS = (2, 4, 8)
"""A check has power if its draws would show an epsilon that is too large by one of these factors."""
_REACH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbours, and how many items are chosen."""

    here: Histogram
    there: Histogram
    k: int
    relation: str


def enumerate_losses(case: Case, relation: str, *, largest_d: int = 4) -> tuple[Finding, Pair]:
    """Compare the exact laws on all pairs of neighbours of one relation, with d up to a number.

    Return what was found, and the pair that samples can tell apart best.
    """
    with use_precision(_PRECISION):
        worst = _Worst(case, relation)
        telling = max(list_pairs(case, relation, largest_d), key=worst.compare)
        return worst.describe(), telling


def list_pairs(case: Case, relation: str, largest_d: int) -> Iterator[Pair]:
    """List the pairs: small histograms and some with wide gaps, every k that can be enumerated, every neighbour."""
    for histogram, largest_k in _list_histograms(case, relation, largest_d):
        for k in range(1, min(len(histogram), largest_k, case.largest_k or largest_k) + 1):
            for other in neighbours(histogram, relation, case.cap):
                yield Pair(here=histogram, there=other, k=k, relation=relation)


def _list_histograms(case: Case, relation: str, largest_d: int) -> Iterator[tuple[Histogram, int]]:
    """List histograms, each with the largest k to enumerate."""
    if case.noisy and case.delta is not None:  # the noisy counts are far apart
        largest_k = 2 if not case.needs_domain and _find_reach(case, relation) <= _NEAR else 1
        yield from ((each, largest_k) for each in small_histograms(min(largest_d, 2)))
        return
    costly = case.noisy or len(case.build(1).candidates) > 1 or not case.needs_domain
    small = small_histograms(min(largest_d, 3 if costly else 4))
    if not case.needs_domain:
        # Items with equal counts are told apart by their order, where there is no domain.
        small = [each for histogram in small for each in sorted(set(itertools.permutations(histogram)))]
    yield from ((each, 4) for each in small)
    if not case.noisy:
        for d in (2, 3):
            wide = itertools.combinations_with_replacement(_WIDE, d)
            yield from ((each, 2) for each in wide if each[0] > 1)  # the others are among the small ones


class _Worst:
    """The largest loss and divergences of the pairs that were compared."""

    def __init__(self, case: Case, relation: str) -> None:
        self._case, self._relation = case, relation
        self._law = lru_cache(maxsize=100_000)(self._state)
        self._read = cache(self._read_promise)
        self.promise = case.build(1, relation).guarantee
        """The weakest guarantee that the mechanism states for these pairs."""
        self.pairs = 0
        self.loss = 0.0
        """The largest logarithm of a ratio of two probabilities."""
        self.divergence = 0.0
        """The largest hockey-stick divergence at epsilon, rounded up; what was not enumerated is counted in full."""
        self.rho = 0.0
        """The largest Rényi divergence of an order, divided by the order."""
        self.private = True
        """Whether no probability proves a stated guarantee wrong, and each is at least as strong as was asked for."""

    def describe(self) -> Finding:
        """State what was found."""
        promise = self.promise
        epsilon, delta = write_exact(promise.epsilon), write_exact(promise.delta)
        details: dict[str, Any] = {"epsilon": epsilon, "neighbours": self._relation, "pairs": self.pairs}
        if not promise.delta:
            words = f"loss {self.loss:.4f}, promised epsilon {epsilon}"
            details |= {"loss": self.loss}
        else:
            words = f"divergence {self.divergence:.4f}, promised delta {delta}"
            details |= {"divergence": self.divergence, "delta": delta}
        if promise.rho is not None:
            words += f"; rho {self.rho:.4f}, promised {float(promise.rho):.4f}"
            details |= {"rho": self.rho, "promised_rho": write_exact(promise.rho)}
        return Finding(
            subject=str(self._case),
            check="privacy loss",
            result=Result.read(self.private),
            found=f"largest {words} ({self.pairs:,} pairs, {self._relation})",
            details=details,
        )

    def compare(self, pair: Pair) -> float:
        """Take one pair into account, and estimate which epsilon samples from it would prove."""
        promise = self._read(pair.k, pair.relation)
        here, there = (self._law(h, pair.k, pair.relation) for h in (pair.here, pair.there))
        shown = -math.inf
        for one, other in ((here, there), (there, here)):
            shared = [(p, other[output]) for output, p in one.items() if output in other]
            self._check_epsilon(shared, promise)
            floats = sorted((float(q.mid()) / float(p.mid()), float(p.mid()), float(q.mid())) for p, q in shared)
            self._check_rho(shared, floats, promise)
            self.loss = max(self.loss, -math.log(floats[0][0]))
            impossible = 0.0 if self._case.needs_domain else max(0.0, 1 - sum(p for _, p, _ in floats))
            chances = [(impossible, 0.0), *((p, q) for _, p, q in floats)]
            event = choose_event(chances, _TRIALS, float(promise.delta))
            shown = max(shown, event.epsilon)
        self.pairs += 1
        return shown

    def _read_promise(self, k: int, relation: str) -> Guarantee:
        """Read the guarantee that the mechanism states. It must be at least as strong as the one that was asked for."""
        promise = self._case.build(k, relation).guarantee
        weaker = promise.epsilon > self._case.epsilon or promise.delta > (self._case.delta or 0)
        self.private &= not weaker and promise.neighbours == relation
        if (promise.rho or 0) > (self.promise.rho or 0):
            self.promise = promise
        return promise

    def _check_epsilon(self, shared: list[tuple[arb, arb]], promise: Guarantee) -> None:
        factor = _exp(promise.epsilon)
        if not promise.delta:
            self.private &= not any(p > factor * q for p, q in shared)
            return
        gaps = (p - factor * q for p, q in shared)
        seen = sum((p for p, _ in shared), arb(0))
        bound = sum((gap for gap in gaps if not gap < 0), arb(0)) + arb(1) - seen
        self.divergence = max(self.divergence, float(bound.upper()))
        self.private &= not bound > ball(promise.delta)

    def _check_rho(
        self, shared: list[tuple[arb, arb]], floats: list[tuple[float, float, float]], promise: Guarantee
    ) -> None:
        """Compare Σ p^α·q^(1−α) with e^(α(α−1)ρ). Outputs that are not enumerated would make the sum larger."""
        if promise.rho is None:
            return
        values = np.array(floats)
        moments = (values[:, 0] ** -_POWERS) @ values[:, 1]
        near = float(promise.rho) * (1 - _SURE)
        for order, divisor, moment in zip(_ORDERS, _DIVISORS, moments.tolist(), strict=True):
            seen = math.log(moment) / divisor if moment > 0 else 0.0
            self.rho = max(self.rho, seen)
            if seen > near:
                total = sum((p * (p / q) ** ball(order - 1) for p, q in shared), arb(0))
                self.private &= not total > _exp(order * (order - 1) * promise.rho)

    def _state(self, histogram: Histogram, k: int, relation: str) -> Law:
        mechanism = self._case.build(k, relation)
        return collect_law(mechanism, histogram, reach=_find_reach(self._case, relation))


@cache
def _find_reach(case: Case, relation: str) -> int:
    """How far noisy counts are enumerated: until little of delta is left. Without delta, ratios repeat themselves."""
    if not case.noisy or case.delta is None:
        return 1
    mechanism, reach = case.build(1, relation), 4
    with use_precision(_PRECISION):
        while sum((p for _, p in mechanism.state_law((3,), reach=reach)), arb(0)) < 1 - ball(case.delta) * _LEFT_OUT:
            reach += max(1, reach // 4)
    return reach


@cache
def _exp(exponent: Fraction) -> arb:
    """e to a power, at the precision of the enumeration."""
    return ball(exponent).exp()


def bound_epsilon(case: Case, pair: Pair, trials: int, bits: Bits | None = None) -> Finding:
    """Draw from two neighbours, and bound epsilon from below, in both directions, given the delta that is promised."""
    mechanism = case.build(pair.k, pair.relation)
    promise = mechanism.guarantee
    draws, power = next(
        ((draws, power) for draws in (trials, MOST_MORE * trials) if (power := _find_power(case, pair, draws // 2))),
        (trials, None),
    )
    half = draws // 2
    choosing, bounding = (
        [Counter(draw_outputs(mechanism, histogram, half, bits, many=many)) for histogram in (pair.here, pair.there)]
        for many in (True, False)
    )
    delta = float(promise.delta)
    best = 0.0
    for one, other in ((0, 1), (1, 0)):
        order = sorted(choosing[one], key=lambda output: (choosing[other][output] + 1) / choosing[one][output])
        shares = [(choosing[one][output] / half, choosing[other][output] / half) for output in order]
        event = set(order[: choose_event(shares, half, delta).size])
        best = max(best, _bound(event, bounding[one], bounding[other], half, delta))
    passed = False if best > promise.epsilon else None if power is None else True
    shows = f"they would show {power}" if power else "too few draws to show more: pass more trials"
    here, there = (", ".join(map(str, histogram)) for histogram in (pair.here, pair.there))
    return Finding(
        subject=str(case),
        check="lower bound",
        result=Result.read(passed),
        found=f"samples prove epsilon ≥ {best:.4f}, promised {write_exact(promise.epsilon)}; {shows} "
        f"({draws:,} draws, {here} against {there}, {pair.relation})",
        details={
            "bound": best,
            "epsilon": write_exact(promise.epsilon),
            "confidence": f"1 - {FAILURE}",
            "would_show": power,
            "trials": draws,
            "here": list(pair.here),
            "there": list(pair.there),
            "k": pair.k,
            "neighbours": pair.relation,
        },
    )


def _find_power(case: Case, pair: Pair, half: int) -> str | None:
    """Say which error so many draws would show: too large an epsilon, or a list that one neighbour rules out."""
    promise = case.build(pair.k, pair.relation).guarantee
    delta, epsilon = float(promise.delta), float(promise.epsilon)
    for factor in FACTORS if case.needs_domain else ():
        here, there = _state_both(case, pair, Fraction(factor))
        for one, other in ((here, there), (there, here)):
            chances = sorted(((p, other.get(each, 0.0)) for each, p in one.items() if p > 0), key=lambda x: x[1] / x[0])
            if choose_event(chances, half, delta).epsilon > epsilon:
                return f"{factor} times this epsilon"
    lists: defaultdict[Items, float] = defaultdict(float)
    for output, p in _state_both(case, pair, Fraction(1))[1].items():
        lists[output.items] += p
    # Every list must be possible if there is a domain. Without one, a list of new items must be rare.
    chance = min(lists.values()) if case.needs_domain else max(lists.values())
    shows = choose_event([(chance, 0.0)], half, delta).epsilon > epsilon
    return "a list that only one of the two allows" if shows else None


def _state_both(case: Case, pair: Pair, stretch: Fraction) -> tuple[dict[Output, float], dict[Output, float]]:
    """The probability of each output here, and there."""
    mechanism = case.build(pair.k, pair.relation, stretch=stretch)
    with use_precision(_PRECISION):
        here, there = (collect_law(mechanism, each, reach=_REACH) for each in (pair.here, pair.there))
        return {each: float(p.mid()) for each, p in here.items()}, {each: float(p.mid()) for each, p in there.items()}


def find_far_pair(case: Case, trials: int) -> Pair:
    """Find a pair in which one person votes for an item that is far behind, as far as so many draws can see it.

    A mechanism that gives up too early on such items, or on items without votes, shows it here. Without a domain, the
    pair is nobody against one person: a mechanism that hides items of one person too rarely shows it.
    """
    if not case.needs_domain:
        return Pair(here=(0,), there=(1,), k=1, relation="add-remove")
    farthest = max(1, round(4 / case.epsilon))
    pairs = [Pair(here=(gap, 0), there=(gap, 1), k=1, relation="add-remove") for gap in range(farthest, 0, -1)]
    return next((pair for pair in pairs if _find_power(case, pair, MOST_MORE * trials // 2)), pairs[0])


def _bound(event: set[Output], here: Counter[Output], there: Counter[Output], trials: int, delta: float) -> float:
    p, q = (sum(seen[output] for output in event) for seen in (here, there))
    # Half of the failure for each of the two bounds, and of these for each of the two directions.
    low = bound_below(p, trials, FAILURE / 4) - delta
    high = bound_above(q, trials, FAILURE / 4)
    return math.log(low / high) if low > 0 else -math.inf
