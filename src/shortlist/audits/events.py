"""Which outputs tell two neighbours apart best, given about how probable each output is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_DEVIATIONS = 6.2
"""How many standard deviations a bound with a failure probability of about 10⁻⁹ is away."""
_LEAST = 20
"""If an event was never seen, its expected number is bounded by about this."""


@dataclass(frozen=True, slots=True)
class Event:
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
