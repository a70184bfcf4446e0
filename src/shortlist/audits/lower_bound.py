"""A lower bound on epsilon from samples alone, which knows nothing about the mechanism.

The event is chosen on one half of the samples. On the other half, Clopper-Pearson bounds its probability from below for
one histogram and from above for its neighbour. Both bounds hold with a probability of 1 − 10⁻⁹.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from shortlist.audits.cases import Case
from shortlist.audits.events import choose_event
from shortlist.audits.privacy_loss import Pair
from shortlist.audits.sampling import draw_outputs
from shortlist.audits.stated import Output
from shortlist.audits.statistics import bound_above, bound_below
from shortlist.exact.bits import Bits

FAILURE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """What samples from two neighbours prove about epsilon."""

    pair: Pair
    trials: int
    epsilon: float
    """Epsilon is at least this, given the delta that is promised; −inf if nothing is proven."""


def bound_epsilon(case: Case, pair: Pair, trials: int, bits: Bits | None = None) -> LowerBound:
    """Draw from two neighbours, and bound epsilon from below, in both directions."""
    mechanism = case.build(pair.k, pair.relation)
    choosing, bounding = (
        [draw_outputs(mechanism, histogram, trials // 2, bits) for histogram in (pair.here, pair.there)]
        for _ in range(2)
    )
    delta, half = float(mechanism.guarantee.delta), trials // 2
    best = -math.inf
    for one, other in ((0, 1), (1, 0)):
        order = sorted(choosing[one], key=lambda output: (choosing[other][output] + 1) / choosing[one][output])
        shares = [(choosing[one][output] / half, choosing[other][output] / half) for output in order]
        event = set(order[: choose_event(shares, half, delta).size])
        best = max(best, _bound(event, bounding[one], bounding[other], half, delta))
    return LowerBound(pair=pair, trials=trials, epsilon=best)


def find_far_pair(case: Case) -> Pair:
    """Find a pair in which one person votes for an item that is far behind.

    A mechanism that gives up too early on such items, or on items without votes, shows it here. Without a domain, the
    pair is nobody against one person: a mechanism that hides items of one person too rarely shows it.
    """
    if not case.needs_domain:
        return Pair(here=(0,), there=(1,), k=1, relation="add-remove")
    gap = max(1, round(4 / case.epsilon))
    return Pair(here=(gap, 0), there=(gap, 1), k=1, relation="add-remove")


def _bound(event: set[Output], here: Counter[Output], there: Counter[Output], trials: int, delta: float) -> float:
    p, q = (sum(seen[output] for output in event) for seen in (here, there))
    # Half of the failure for each of the two bounds, and of these for each of the two directions.
    low = bound_below(p, trials, FAILURE / 4) - delta
    high = bound_above(q, trials, FAILURE / 4)
    return math.log(low / high) if low > 0 else -math.inf
