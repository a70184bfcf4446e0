"""A lower bound on epsilon from samples alone, which knows nothing about the mechanism.

The event is chosen on one half of the samples. On the other half, Clopper-Pearson bounds its probability from below for
one histogram and from above for its neighbour. Both bounds hold with a probability of 1 − 10⁻⁹. The first half is drawn
by `draw_many`, which is faster, and the second by `draw`: the bounds hold however the event was chosen.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

from shortlist.audits.cases import Case
from shortlist.audits.events import choose_event
from shortlist.audits.frequencies import MOST_MORE
from shortlist.audits.privacy_loss import Pair
from shortlist.audits.sampling import draw_outputs
from shortlist.audits.stated import state_law
from shortlist.audits.statistics import bound_above, bound_below
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms.stated import Items, Output

FAILURE = 1e-9
"""The probability that a bound is wrong."""
FACTORS = (2, 4, 8)
"""A check has power if its draws would show an epsilon that is too large by one of these factors."""
_PRECISION = 96
_REACH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """What samples from two neighbours prove about epsilon."""

    pair: Pair
    trials: int
    promised: Fraction
    epsilon: float
    """Epsilon is at least this, given the delta that is promised; −inf if nothing is proven."""
    power: str | None
    """Which error so many draws would have shown, in words. None if they are too few for every error."""

    @property
    def passed(self) -> bool | None:
        """Whether the bound is at most what is promised. None if the draws were too few to show more."""
        return False if self.epsilon > self.promised else None if self.power is None else True


def bound_epsilon(case: Case, pair: Pair, trials: int, bits: Bits | None = None) -> LowerBound:
    """Draw from two neighbours, and bound epsilon from below, in both directions."""
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
    best = -math.inf
    for one, other in ((0, 1), (1, 0)):
        order = sorted(choosing[one], key=lambda output: (choosing[other][output] + 1) / choosing[one][output])
        shares = [(choosing[one][output] / half, choosing[other][output] / half) for output in order]
        event = set(order[: choose_event(shares, half, delta).size])
        best = max(best, _bound(event, bounding[one], bounding[other], half, delta))
    return LowerBound(pair=pair, trials=draws, promised=promise.epsilon, epsilon=best, power=power)


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
        here, there = (state_law(mechanism, each, reach=_REACH) for each in (pair.here, pair.there))
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
