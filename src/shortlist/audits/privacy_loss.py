"""The largest privacy loss of a stated law over small histograms and all their neighbours, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from flint import arb

from shortlist.audits.cases import Case
from shortlist.audits.events import choose_event
from shortlist.audits.stated import Law, state_law
from shortlist.exact.balls import ball, use_precision
from shortlist.exact.noise import DiscreteLaplace
from shortlist.mechanisms import Threshold
from shortlist.mechanisms.stated import Histogram, neighbours, small_histograms
from shortlist.privacy import Guarantee

_PRECISION = 128
_TRIALS = 2500
_WIDE = (12, 11, 6, 1, 0)
_ORDERS = (Fraction(11, 10), Fraction(2), Fraction(8), Fraction(32))
"""The orders of the Rényi divergences that are compared with rho."""
_POWERS = np.array([[float(order - 1)] for order in _ORDERS])
_DIVISORS = [float(order * (order - 1)) for order in _ORDERS]
_SURE = 1e-6
"""A float that is below its bound by this share needs no ball."""
_NEAR = 24
"""Up to this reach, pairs of noisy counts are few enough to be enumerated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbours, and how many items are chosen."""

    here: Histogram
    there: Histogram
    k: int
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Enumeration:
    """What all pairs of neighbours show about one relation."""

    pairs: int
    loss: float
    """The largest logarithm of a ratio of two probabilities."""
    divergence: float
    """The largest hockey-stick divergence at epsilon, rounded up; what was not enumerated is counted in full."""
    rho: float
    """The largest Rényi divergence of an order, divided by the order."""
    promise: Guarantee
    """The weakest guarantee that the mechanism states for these pairs."""
    private: bool
    """Whether no probability proves a stated guarantee wrong, and each is at least as strong as what was asked for."""
    telling: Pair
    """The pair that samples can tell apart best."""


def enumerate_losses(case: Case, relation: str, *, largest_d: int = 4) -> Enumeration:
    """Compare the exact laws on all pairs of neighbours of one relation, with d up to a number."""
    with use_precision(_PRECISION):
        worst, telling, best = _Worst(case, relation), None, -math.inf
        for pair in list_pairs(case, relation, largest_d):
            gain = worst.compare(pair)
            if telling is None or gain > best:
                telling, best = pair, gain
        assert telling is not None
        return Enumeration(
            pairs=worst.pairs,
            loss=worst.loss,
            divergence=worst.divergence,
            rho=worst.rho,
            promise=worst.promise,
            private=worst.private,
            telling=telling,
        )


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
    costly = case.noisy or case.kind.name == "auto" or not case.needs_domain
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
        self._case = case
        self._law = lru_cache(maxsize=100_000)(self._state)
        self._promise = cache(self._read_promise)
        self.promise = case.build(1, relation).guarantee
        self.pairs, self.loss, self.divergence, self.rho, self.private = 0, 0.0, 0.0, 0.0, True

    def compare(self, pair: Pair) -> float:
        """Take one pair into account, and estimate which epsilon samples from it would prove."""
        promise = self._promise(pair.k, pair.relation)
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
        asked = (self._case.epsilon, self._case.delta or 0, relation)
        if promise.epsilon > asked[0] or promise.delta > asked[1] or promise.neighbours != asked[2]:
            self.private = False
        if (promise.rho or 0) > (self.promise.rho or 0):
            self.promise = promise
        return promise

    def _check_epsilon(self, shared: list[tuple[arb, arb]], promise: Guarantee) -> None:
        factor = _exp(promise.epsilon)
        if promise.delta:
            self._check_divergence(shared, factor, promise.delta)
        elif any(p > factor * q for p, q in shared):
            self.private = False

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
            if seen > near and self._exceeds(shared, order, promise.rho):
                self.private = False

    def _exceeds(self, shared: list[tuple[arb, arb]], order: Fraction, rho: Fraction) -> bool:
        total = sum((p * (p / q) ** ball(order - 1) for p, q in shared), arb(0))
        return bool(total > _exp(order * (order - 1) * rho))

    def _check_divergence(self, shared: list[tuple[arb, arb]], factor: arb, delta: Fraction) -> None:
        gaps = (p - factor * q for p, q in shared)
        seen = sum((p for p, _ in shared), arb(0))
        bound = sum((gap for gap in gaps if not gap < 0), arb(0)) + arb(1) - seen
        self.divergence = max(self.divergence, float(bound.upper()))
        if bound > ball(delta):
            self.private = False

    def _state(self, histogram: Histogram, k: int, relation: str) -> Law:
        mechanism = self._case.build(k, relation)
        return state_law(mechanism, histogram, reach=_find_reach(self._case, relation))


def _find_reach(case: Case, relation: str) -> int:
    """How far noisy counts are enumerated. Without delta, ratios of Laplace noise repeat themselves."""
    if not case.noisy or case.delta is None:
        return 1
    mechanism = case.build(1, relation)
    if isinstance(mechanism, Threshold):
        noise = mechanism.law
        return math.ceil(6 * noise.b if isinstance(noise, DiscreteLaplace) else 4 * math.sqrt(noise.variance))
    assert mechanism.guarantee.rho is not None
    assert case.cap is not None
    moved = case.cap * mechanism.neighbours.sensitivity
    return math.ceil(4 * math.sqrt(moved / (2 * mechanism.guarantee.rho)))


@cache
def _exp(exponent: Fraction) -> arb:
    """e to a power, at the precision of the enumeration."""
    return ball(exponent).exp()
