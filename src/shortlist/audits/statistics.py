"""Samples of the real code, and what they prove: tests of hypotheses with proven levels, and telling events.

Relative entropy tests a law, and Clopper-Pearson bounds a probability. Outputs are drawn with the randomness of the
operating system.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits, SystemBits
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.stated import Histogram, Output
from shortlist.votes.array_counts import ArrayTally

_BATCHES = (1, 2, 3, 10, 100, 1000)
"""How many lists each call of `draw_many` draws, in turn."""
_PRECISION = 128
_HALVINGS = 40

LEAST_EXPECTED = 10
"""A cell that is expected less often counts as rare."""
_DEVIATIONS = 6.2
"""How many standard deviations a bound with a failure probability of about 10⁻⁹ is away."""
_LEAST = 20
"""If an event was never seen, its expected number is bounded by about this."""


def draw_outputs(
    mechanism: Mechanism, histogram: Histogram, trials: int, bits: Bits | None = None, *, many: bool = False
) -> list[Output]:
    """Draw `trials` times as `top_k` draws, and return what releases would show. `many` draws by `draw_many`."""
    source = SystemBits() if bits is None else bits
    tally = ArrayTally(np.array(histogram))
    prepared = mechanism.prepare(tally)
    outputs: list[Output] = []
    for size in itertools.cycle(_BATCHES):
        left = trials - len(outputs)
        drawn = prepared.draw_many(min(size, left), source) if many else [prepared.draw(source) for _ in range(left)]
        for picks in drawn:
            rows, noisy = picks.publish(tally.items(picks))
            counts = None if noisy is None else tuple(noisy.tolist())
            outputs.append(Output(tuple(rows.tolist()), counts, picks.chosen))
        if len(outputs) == trials:
            break
    return outputs


def bound_p_value(observed: Sequence[int], law: Sequence[float]) -> float:
    """Bound the p-value of observed frequencies. A true law is rejected at p ≤ x with probability x at most.

    The statistic is s = n·KL(observed frequencies, law). For m + 1 cells, P(s ≥ x) ≤ e^(m − x)·(x/m)^m if x > m, for
    every n and every law (Agrawal, "Finite-sample concentration of the multinomial in relative entropy", 2020). A
    chi-square p-value is an approximation, which is too small by far where cells are rare. Cells that are expected
    fewer than ten times are joined, because more cells need more draws.

    >>> round(bound_p_value([10, 20, 30], [1, 1, 1]), 6)
    0.270089
    """
    counts, expected = np.asarray(observed, dtype=float), np.asarray(law, dtype=float)
    expected = expected / expected.sum() * counts.sum()
    rare = expected < LEAST_EXPECTED
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if (counts[expected == 0] > 0).any():
        return 0.0
    seen = counts > 0
    statistic = float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
    freedom = int((expected > 0).sum()) - 1
    if not freedom or statistic <= freedom:
        return 1.0
    return min(1.0, math.exp(freedom - statistic + freedom * math.log(statistic / freedom)))


def bound_below(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from below (Clopper-Pearson); it fails with probability `failure` at most.

    >>> bound_below(0, 10, 0.05), round(bound_below(8, 10, 0.05), 4)
    (0.0, 0.4931)
    """
    # P(at least so many successes) rises with p. It is an incomplete beta function. Below the bound, it is certainly at
    # most `failure`.
    low, high = 0.0, successes / trials
    with use_precision(_PRECISION):
        for _ in range(_HALVINGS if successes else 0):
            middle = (low + high) / 2
            chance = arb(middle).beta_lower(successes, trials - successes + 1, regularized=1)
            low, high = (middle, high) if chance <= failure else (low, middle)
    return low


def bound_above(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from above (Clopper-Pearson); it fails with probability `failure` at most.

    >>> round(bound_above(0, 10, 0.05), 4), round(bound_above(8, 10, 0.05), 4)
    (0.2589, 0.9632)
    """
    return 1.0 - bound_below(trials - successes, trials, failure)


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
