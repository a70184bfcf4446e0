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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray
from shortlist.audits.cases import Case, Finding, draw_outputs
from shortlist.audits.frequencies import MOST_MORE
from shortlist.exact.balls import ball, use_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.stated import (
    Histogram,
    Items,
    Output,
    collect_law,
    neighbours,
    pair_families,
    small_histograms,
)
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_exact
from shortlist.terms import Terms

_PRECISION = 128
_TRIALS = 2500
_WIDE = (12, 11, 6, 1, 0)
_OF_TWO = list(itertools.product(range(3), repeat=2))
"""The histograms of two items from which families and lists with weights are made."""
_NEAREST = 3
"""How far noisy counts are enumerated there."""
_ORDERS = (Fraction(11, 10), Fraction(2), Fraction(8), Fraction(32))
"""The orders of the Rényi divergences that are compared with rho."""
_POWERS = np.array([[float(1 - order)] for order in _ORDERS])
_SCALES = np.array([float(order * (order - 1)) for order in _ORDERS])
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
_CLOSE = 1 + 1e-12
"""A bound is this close to the best one, as a factor."""
_DEVIATIONS = 6.2
"""How many standard deviations a bound with a failure probability of about 10⁻⁹ is away."""
_LEAST = 20
"""If an event was never seen, its expected number is bounded by about this."""


Laws = tuple[Guarantee, Callable[[Any], Mapping[Any, arb]], Iterable[tuple[Any, Any]]]
"""What is promised, the law of a table, and tables with their neighbours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbours, and how many items are chosen."""

    here: Histogram
    there: Histogram
    k: int
    relation: str


class Loss(NamedTuple):
    """What two laws show in one direction, or the largest values of many such comparisons."""

    loss: float
    """The logarithm of a ratio of two probabilities."""
    divergence: float
    """The hockey-stick divergence at epsilon, rounded up; what was not enumerated is counted in full."""
    rho: float
    """A Rényi divergence, divided by its order."""
    broken: bool
    """Whether probabilities prove the stated guarantee wrong."""
    telling: float
    """Which epsilon samples would prove, about."""


def enumerate_losses(case: Case, relation: str, *, largest_d: int = 4) -> tuple[Finding, Pair]:
    """Compare the exact laws on all pairs of neighbours of one relation, with d up to a number.

    Return what was found, and the pair that samples can tell apart best.
    """
    reach, pairs = _find_reach(case, relation), defaultdict[int, list[Pair]](list)
    for pair in list_pairs(case, relation, largest_d, reach):
        pairs[pair.k].append(pair)

    def list_laws() -> Iterator[Laws]:
        for k, listed in pairs.items():
            mechanism = case.build(k, relation)
            state = partial(collect_law, mechanism, reach=reach)
            yield mechanism.guarantee, state, [(pair.here, pair.there) for pair in listed]

    finding, losses = compare_all(
        case, "privacy loss", relation, list_laws(), **case.budget, needs_domain=case.needs_domain
    )
    listed = (pair for each in pairs.values() for pair in each)
    return finding, max(zip(losses, listed, strict=True), key=lambda each: each[0].telling)[1]


def enumerate_family(case: Case, relation: str) -> Finding:
    """Compare the exact laws of both lists of a family of two groups, with one person in both."""
    mechanism = case.build(1, relation, groups=2)
    pairs = pair_families(_OF_TWO, 2, relation, 2, mechanism.parameters.get("votes_per_person"))  # type: ignore[arg-type]
    laws = mechanism.guarantee, lambda family: dict(mechanism.state_family(family, reach=_NEAREST)), pairs
    return compare_all(case, "privacy loss of a family", relation, [laws], **case.budget)[0]


def enumerate_weights(case: Case, relation: str) -> Finding:
    """Compare the exact laws of a list of weighted votes, of which one person adds up to 2 to an item."""
    given = {"max_weight": 2, "weight_unit": "units", "persons_counted": True, "neighbours": relation}
    terms = Terms.read(case.kind.name, 1, case.epsilon, **given, **case.options)
    cap = case.options.get("votes_per_person")
    pairs = ((here, there) for here in _OF_TWO for there in neighbours(here, relation, cap, weight=2))
    laws = terms.guarantee, partial(collect_law, terms.mechanism, reach=_NEAREST), pairs
    return compare_all(case, "privacy loss with weights", relation, [laws], **case.budget)[0]


def compare_all(
    subject: object,
    check: str,
    relation: str,
    laws: Iterable[Laws],
    *,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    rho: Fraction | None = None,
    needs_domain: bool = True,
) -> tuple[Finding, list[Loss]]:
    """Compare the laws of all pairs with what is promised, which must be at least what was asked for."""
    promises, losses = [], []
    with use_precision(_PRECISION):
        for promise, state, pairs in laws:
            known = cache(state)
            for pair in pairs:
                one, other = map(known, pair)
                both = (_compare_with(*each, promise, listed=needs_domain) for each in ((one, other), (other, one)))
                losses.append(Loss(*map(max, *both)))
            promises.append(promise)
    worst = Loss(*map(max, zip(*losses, strict=True)))
    weaker = any(
        (each.epsilon > epsilon if rho is None else not each.rho or each.rho > rho)
        or each.delta > delta
        or each.neighbours != relation
        for each in promises
    )
    promise = max(promises, key=lambda each: (each.epsilon, each.rho or 0))
    details: dict[str, Any] = {"epsilon": write_exact(promise.epsilon), "neighbours": relation, "pairs": len(losses)}
    if not promise.delta:
        words = f"loss {worst.loss:.4f}, promised epsilon {details['epsilon']}"
        details |= {"loss": worst.loss}
    else:
        details |= {"divergence": worst.divergence, "delta": write_exact(promise.delta)}
        words = f"divergence {worst.divergence:.4f}, promised delta {details['delta']}"
    if _has_rho(promise):
        words += f"; rho {worst.rho:.4f}, promised {float(promise.rho or 0):.4f}"
        details |= {"rho": worst.rho, "promised_rho": write_exact(promise.rho or Fraction(0))}
    said, seen = f"largest {words}", f"{len(losses):,} pairs, {relation}"
    return Finding.judge(subject, check, not worst.broken and not weaker, [said, said], seen, **details), losses


def _has_rho(promise: Guarantee) -> bool:
    """Whether a rho is checked. One that needs a delta is about a part of the law that only the proof names."""
    return promise.rho is not None and not promise.rho_delta


def list_pairs(case: Case, relation: str, largest_d: int, reach: int) -> Iterator[Pair]:
    """List the pairs: small histograms and some with wide gaps, every k that can be enumerated, every neighbour.

    A pair is listed once, in one direction. With a domain, the order of items changes no law.
    """
    order, seen = sorted if case.needs_domain else tuple, set()
    for histogram, largest_k in _list_histograms(case, largest_d, reach):
        others = list(neighbours(histogram, relation, case.options.get("votes_per_person")))
        for k in range(1, case.fit(min(len(histogram), largest_k)) + 1):
            for other in others:
                pair, reverse = (
                    tuple(order(zip(*each, strict=True))) for each in ((histogram, other), (other, histogram))
                )
                if (k, pair) not in seen and (k, reverse) not in seen:
                    seen.add((k, pair))
                    yield Pair(here=histogram, there=other, k=k, relation=relation)


def _list_histograms(case: Case, largest_d: int, reach: int) -> Iterator[tuple[Histogram, int]]:
    """List histograms, each with the largest k to enumerate."""
    if case.noisy and case.delta:  # the noisy counts are far apart
        largest_k = 2 if not case.needs_domain and reach <= _NEAR else 1
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


def _find_reach(case: Case, relation: str) -> int:
    """How far noisy counts are enumerated: until little of delta is left. Without delta, ratios repeat themselves."""
    if not case.noisy or not case.delta:
        return 1
    mechanism, reach = case.build(1, relation), 4
    with use_precision(_PRECISION):
        while sum((p for _, p in mechanism.state_law((3,), reach=reach)), arb(0)) < 1 - ball(case.delta) * _LEFT_OUT:
            reach += max(1, reach // 4)
    return reach


def _compare_with(one: Mapping[Any, arb], other: Mapping[Any, arb], promise: Guarantee, *, listed: bool) -> Loss:
    """Compare the first law with the second. Without a list of items, outputs may be impossible in the second."""
    shared = [(p, other[output]) for output, p in one.items() if output in other]
    floats = sorted((float(q.mid()) / float(p.mid()), float(p.mid()), float(q.mid())) for p, q in shared)
    factor, divergence = ball(promise.epsilon).exp(), 0.0
    if not promise.delta:
        broken = any(p > factor * q for p, q in shared)
    else:
        gaps = (p - factor * q for p, q in shared)
        missing = 1 - sum((p for p, _ in shared), arb(0))
        bound = sum((gap for gap in gaps if not gap < 0), missing)
        broken, divergence = bound > ball(promise.delta), float(bound.upper())
    rho, exceeded = 0.0, False
    if promise.rho is not None and _has_rho(promise):
        rho, exceeded = _compare_rho(shared, np.array(floats), promise.rho)
    impossible = 0.0 if listed else max(0.0, 1 - sum(p for _, p, _ in floats))
    chances = [(impossible, 0.0), *((p, q) for _, p, q in floats)]
    return Loss(
        loss=-math.log(floats[0][0]),
        divergence=divergence,
        rho=rho,
        broken=broken or exceeded,
        telling=choose_event(chances, _TRIALS, float(promise.delta)).epsilon,
    )


def _compare_rho(shared: list[tuple[arb, arb]], floats: FloatArray, promised: Fraction) -> tuple[float, bool]:
    """Compare Σ p^α·q^(1−α) with e^(α(α−1)ρ). Outputs that are not enumerated would make the sum larger."""
    largest, exceeded, allowed = 0.0, False, float(promised) * (1 - _SURE)
    logs = np.log(floats)
    found = np.logaddexp.reduce(_POWERS * logs[:, 0] + logs[:, 1], axis=1) / _SCALES
    for order, seen in zip(_ORDERS, found.tolist(), strict=True):
        if seen > allowed:
            total = sum((p * (p / q) ** ball(order - 1) for p, q in shared), arb(0))
            exceeded |= total > ball(order * (order - 1) * promised).exp()
        largest = max(largest, seen)
    return largest, exceeded


def bound_epsilon(case: Case, pair: Pair, trials: int, bits: Bits | None = None) -> Finding:
    """Draw from two neighbours, and bound epsilon from below, in both directions, given the delta that is promised."""
    mechanism = case.build(pair.k, pair.relation)
    promise = mechanism.guarantee
    draws, power = next(
        (
            (draws, power)
            for draws in (trials, MOST_MORE * trials)
            if (power := _find_power(case, pair, draws // 2, bits))
        ),
        (trials, None),
    )
    best = _prove_epsilon(mechanism, pair, draws // 2, float(promise.delta), bits)
    shows = f"they would show {power}" if power else "too few draws to show more: pass more trials"
    here, there = (", ".join(map(str, histogram)) for histogram in (pair.here, pair.there))
    return Finding.judge(
        case,
        "lower bound",
        False if best > promise.epsilon else True if power else None,
        [f"samples prove epsilon ≥ {best:.4f}, promised {write_exact(promise.epsilon)}; {shows}"] * 3,
        f"{draws:,} draws, {here} against {there}, {pair.relation}",
        bound=best,
        epsilon=write_exact(promise.epsilon),
        confidence=f"1 - {FAILURE}",
        would_show=power,
        trials=draws,
        here=list(pair.here),
        there=list(pair.there),
        k=pair.k,
        neighbours=pair.relation,
    )


def _prove_epsilon(mechanism: Mechanism, pair: Pair, half: int, delta: float, bits: Bits | None) -> float:
    """Prove a lower bound of epsilon by draws alone. An event is chosen by one half, and bounded by the other."""
    choosing, bounding = (
        [Counter(draw_outputs(mechanism, histogram, half, bits, many=many)) for histogram in (pair.here, pair.there)]
        for many in (True, False)
    )
    best = 0.0
    for one, other in ((0, 1), (1, 0)):
        order = sorted(choosing[one], key=lambda output: (choosing[other][output] + 1) / choosing[one][output])
        shares = [(choosing[one][output] / half, choosing[other][output] / half) for output in order]
        event = order[: choose_event(shares, half, delta).size]
        p, q = (sum(bounding[side][output] for output in event) for side in (one, other))
        # Half of the failure for each of the two bounds, and of these for each of the two directions.
        low, high = bound_below(p, half, FAILURE / 4) - delta, bound_above(q, half, FAILURE / 4)
        best = max(best, math.log(low / high) if low > 0 else 0.0)
    return best


def _find_power(case: Case, pair: Pair, half: int, bits: Bits | None = None) -> str | None:
    """Say which error so many draws would show: too large an epsilon, or a list that one neighbour rules out.

    Without a law, the mechanism is drawn from with larger epsilons.
    """
    promise = case.build(pair.k, pair.relation).guarantee
    delta, epsilon = float(promise.delta), float(promise.epsilon)
    if not case.states_law:
        for factor in FACTORS:
            stretched = case.build(pair.k, pair.relation, stretch=factor)
            if _prove_epsilon(stretched, pair, half, delta, bits) > epsilon:
                return f"{factor} times this epsilon"
        return None

    def state(histogram: Histogram, factor: int) -> dict[Output, float]:
        return case.state(histogram, pair.k, pair.relation, reach=_REACH, stretch=factor)

    for factor in FACTORS if case.needs_domain else ():
        here, there = state(pair.here, factor), state(pair.there, factor)
        for one, other in ((here, there), (there, here)):
            chances = sorted(((p, other.get(each, 0.0)) for each, p in one.items() if p > 0), key=lambda x: x[1] / x[0])
            if choose_event(chances, half, delta).epsilon > epsilon:
                return f"{factor} times this epsilon"
    lists: defaultdict[Items, float] = defaultdict(float)
    for output, p in state(pair.there, 1).items():
        lists[output.items] += p
    # Every list must be possible if there is a domain. Without one, a list of new items must be rare.
    chance = min(lists.values()) if case.needs_domain else max(lists.values())
    shows = choose_event([(chance, 0.0)], half, delta).epsilon > epsilon
    return "a list that only one of the two allows" if shows else None


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


def bound_below(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from below (Clopper-Pearson); it fails with probability `failure` at most.

    >>> bound_below(0, 10, 0.05), round(bound_below(8, 10, 0.05), 4)
    (0.0, 0.4931)
    """
    # P(at least so many successes) is an incomplete beta function of p. Its logarithm is a concave function of log p,
    # because its slope p^a·(1 − p)^(b − 1) / ∫₀ᵖ t^(a − 1)·(1 − t)^(b − 1) dt falls. So every step of Newton's method
    # ends below the bound, and all but the first go up. There, P is certainly at most `failure`.
    if not successes:
        return 0.0
    a, b, point = successes, trials - successes + 1, successes / trials
    with use_precision(_PRECISION):
        scale = arb(a).gamma() * arb(b).gamma() / arb(a + b).gamma()
        while True:
            p = arb(point)
            chance = p.beta_lower(a, b, regularized=1)
            slope = p**a * (1 - p) ** (b - 1) / (scale * chance)
            step = math.exp(float(((failure / chance).log() / slope).mid()))
            if chance <= failure and step <= _CLOSE**2:
                return point
            point *= step / _CLOSE


def bound_above(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from above (Clopper-Pearson); it fails with probability `failure` at most.

    >>> round(bound_above(0, 10, 0.05), 4), round(bound_above(8, 10, 0.05), 4)
    (0.2589, 0.9632)
    """
    return 1.0 - bound_below(trials - successes, trials, failure)


class Event(NamedTuple):
    """An event: the first `size` outputs. Samples prove about this epsilon with it."""

    size: int
    epsilon: float


def choose_event(chances: Iterable[tuple[float, float]], trials: int, delta: float) -> Event:
    """Choose the best event among the first outputs, given their probabilities here and there, best ratios first.

    >>> choose_event([(0.5, 0.1), (0.5, 0.9)], 10_000, 0.0)
    Event(size=1, epsilon=1.3...)
    """
    p = q = 0.0
    best = Event(0, -math.inf)
    for size, (here, there) in enumerate(chances, start=1):
        p, q = min(p + here, 1.0), min(q + there, 1.0)
        low = p - _DEVIATIONS * math.sqrt(p * (1 - p) / trials) - delta
        high = q + _DEVIATIONS * math.sqrt(q * (1 - q) / trials) + _LEAST / trials
        if low > 0 and (epsilon := math.log(low / high)) > best.epsilon:
            best = Event(size, epsilon)
    return best
