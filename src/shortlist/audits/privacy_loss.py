"""The largest privacy loss of a stated law over small histograms and all their neighbours, by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from shortlist.audits.cases import Case
from shortlist.audits.events import choose_event
from shortlist.audits.laws import Histogram, neighbours, small_histograms
from shortlist.audits.stated import Law, state_law
from shortlist.exact.balls import ball, working_precision

_PRECISION = 128
_TRIALS = 2500
_WIDE = (12, 11, 6, 1, 0)


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
    private: bool
    """Whether no probability proves the guarantee wrong."""
    telling: Pair
    """The pair that samples can tell apart best."""


def enumerate_losses(case: Case, relation: str, *, largest_d: int = 4) -> Enumeration:
    """Compare the exact laws on all pairs of neighbours of one relation, with d up to a number."""
    with working_precision(_PRECISION):
        worst, telling, best = _Worst(case), None, -1.0
        for pair in list_pairs(case, relation, largest_d):
            gain = worst.compare(pair)
            if gain > best:
                telling, best = pair, gain
        assert telling is not None
        return Enumeration(
            pairs=worst.pairs,
            loss=worst.loss,
            divergence=worst.divergence,
            private=worst.private,
            telling=telling,
        )


def list_pairs(case: Case, relation: str, largest_d: int) -> Iterator[Pair]:
    """List the pairs: small histograms and some with wide gaps, every k that can be enumerated, every neighbour."""
    spread = case.delta is not None and case.cap is not None  # Gaussian noise on counts, which are far apart
    costly = case.cap is not None or case.kind.name == "auto"
    largest = min(largest_d, 2 if spread else 3 if costly else 4)
    wide = [h for d in (2, 3) for h in itertools.combinations_with_replacement(_WIDE, d)] if case.cap is None else []
    for histogram in (*small_histograms(largest), *wide):
        for k in range(1, min(len(histogram), 1 if spread else 2 if histogram in wide else 4) + 1):
            for other in neighbours(histogram, relation, case.cap):
                yield Pair(here=histogram, there=other, k=k, relation=relation)


class _Worst:
    """The largest loss and divergence of the pairs that were compared."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._factor = ball(case.epsilon).exp()
        self._law = lru_cache(maxsize=100_000)(self._state)
        self.pairs, self.loss, self.divergence, self.private = 0, 0.0, 0.0, True

    def compare(self, pair: Pair) -> float:
        """Take one pair into account, and estimate which epsilon samples from it would prove."""
        delta = self._case.build(pair.k, pair.relation).guarantee.delta
        here, there = (self._law(h, pair.k, pair.relation) for h in (pair.here, pair.there))
        shown = -math.inf
        for one, other in ((here, there), (there, here)):
            shared = [(p, other[output]) for output, p in one.items() if output in other]
            if delta:
                self._look_at_divergence(shared, delta)
            elif any(p > self._factor * q for p, q in shared):
                self.private = False
            floats = sorted((float(q.mid()) / float(p.mid()), float(p.mid()), float(q.mid())) for p, q in shared)
            self.loss = max(self.loss, -math.log(floats[0][0]))
            event = choose_event([(p, q) for _, p, q in floats], _TRIALS, float(delta))
            shown = max(shown, event.epsilon)
        self.pairs += 1
        return shown

    def _look_at_divergence(self, shared: list[tuple[arb, arb]], delta: Fraction) -> None:
        gaps = (p - self._factor * q for p, q in shared)
        seen = sum((p for p, _ in shared), arb(0))
        bound = sum((gap for gap in gaps if not gap < 0), arb(0)) + arb(1) - seen
        self.divergence = max(self.divergence, float(bound.upper()))
        if bound > ball(delta):
            self.private = False

    def _state(self, histogram: Histogram, k: int, relation: str) -> Law:
        mechanism = self._case.build(k, relation)
        return state_law(mechanism, histogram, reach=_find_reach(self._case, relation))


def _find_reach(case: Case, relation: str) -> int:
    """How far noisy counts are enumerated: Laplace noise repeats itself, Gaussian noise has to be followed."""
    if case.cap is None or case.delta is None:
        return 1
    rho = case.build(1, relation).guarantee.rho
    assert rho is not None
    moved = case.cap * (1 if relation == "add-remove" else 2)
    return math.ceil(4 * math.sqrt(moved / (2 * rho)))
