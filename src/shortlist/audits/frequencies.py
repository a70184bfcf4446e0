"""Whether drawn outputs are those of the stated law, of no law with another epsilon, and independent of each other.

The guarantee of n draws is that of one draw n times. That is true only if the draws are independent: of earlier draws,
and of the draws of a mechanism that was prepared again. A mechanism that repeats its randomness, or that has a seed of
its own, shows it here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import arb

from shortlist.audits.cases import Case
from shortlist.audits.stated import Law, state_law
from shortlist.audits.statistics import LEAST_EXPECTED, bound_p_value, draw_outputs
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms import Threshold
from shortlist.mechanisms.stated import Histogram, Output

ALARM = 1e-9
"""A p-value up to this rejects a law."""
STRETCHES = (Fraction(7, 10), Fraction(13, 10))
"""The test must reject the laws whose epsilon is multiplied by one of these."""
MOST_MORE = 8
"""Where a test needs more draws than `trials`, at most this many times `trials` are made."""

_DEVIATIONS = 6
"""The expected statistic for a wrong law is this many standard deviations above what rejects it."""
_PRECISION = 96
# Every shape has equal counts, so that a mechanism with a preference among equal items is noticed.
_SHAPES = ((5, 3, 3, 0), (6, 6, 2, 0), (4, 0, 0, 0))
_NOISE_SHAPES = ((3, 0, 0), (6, 3, 3), (2, 2, 0))
_SCALES = (Fraction(1, 2), Fraction(1), Fraction(2))
_LARGE_SCALES = (Fraction(4), Fraction(8))
"""Without a domain and with a small delta, items with few votes are never released."""
_LIKELIEST = 3
"""This many of the likeliest outputs are told apart. All others count as one output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What a test of frequencies draws, and the laws that it compares: the stated one and those that are 30 % off."""

    histogram: Histogram
    k: int
    right: Law
    wrong: list[Law]
    needed: float
    """How many draws the test needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """The p-values of one sample."""

    histogram: Histogram
    k: int
    trials: int
    needed: float
    right: float
    """The p-value for the stated law."""
    wrong: float
    """The larger of the p-values for the two laws with an epsilon that is 30 % off."""

    @property
    def passed(self) -> bool | None:
        """Whether the stated law is accepted. None if a wrong law is accepted, too: the draws were too few."""
        return False if self.right <= ALARM else True if self.wrong <= ALARM else None


def check_frequencies(
    case: Case,
    trials: int,
    bits: Bits | None = None,
    *,
    relation: str = "add-remove",
    k: int = 2,
    many: bool = False,
) -> Frequencies:
    """Draw where the test has the most power, and test the frequencies. `many` draws by `draw_many`."""
    design = choose_design(case, trials, relation=relation, k=k)
    draws = int(min(max(trials, design.needed), MOST_MORE * trials))
    seen = draw_outputs(case.build(design.k, relation), design.histogram, draws, bits, many=many)
    return Frequencies(
        histogram=design.histogram,
        k=design.k,
        trials=draws,
        needed=design.needed,
        right=find_p_value(seen, design.right),
        wrong=max(find_p_value(seen, law) for law in design.wrong),
    )


def choose_design(case: Case, trials: int, *, relation: str = "add-remove", k: int = 2) -> Design:
    """Choose the counts that need the fewest draws to tell the stated law from those that are 30 % off."""
    fitting = 1 if case.noisy else min(k, case.largest_k or k)
    with use_precision(_PRECISION):
        designs = [_make_design(case, each, fitting, relation, trials) for each in _list_histograms(case, relation)]
    return min(designs, key=lambda design: design.needed)


def find_p_value(seen: Sequence[Output], law: Law) -> float:
    """Bound the p-value of a sample; outputs that the law leaves out are one cell."""
    counts = Counter(seen)
    chances = [float(p.mid()) for p in law.values()]
    found = [counts[output] for output in law]
    rest, others = 1 - sum(chances), len(seen) - sum(found)
    if rest < 1e-12 and others:
        return 0.0  # an output that cannot be
    return bound_p_value([*found, others], [*chances, max(rest, 0.0)])


def _list_histograms(case: Case, relation: str) -> list[Histogram]:
    """List histograms whose gaps suit epsilon. For `threshold`, counts are near the threshold: others show nothing."""
    mechanism = case.build(1, relation)
    if isinstance(mechanism, Threshold):
        least = mechanism.threshold
        return [(least, least), (least + math.ceil(1 / case.epsilon), least, least)]
    shapes = _NOISE_SHAPES if case.noisy else _SHAPES
    scales = _SCALES if case.needs_domain else (*_SCALES, *_LARGE_SCALES)
    units = [max(Fraction(1), scale / case.epsilon) for scale in scales]
    found = [tuple(round(each * unit) for each in shape) for shape, unit in itertools.product(shapes, units)]
    return list(dict.fromkeys(found))


def _make_design(case: Case, histogram: Histogram, k: int, relation: str, trials: int) -> Design:
    reach = round(8 * max(Fraction(1), 1 / case.epsilon)) if case.noisy else 0
    right, *wrong = (
        state_law(case.build(k, relation, stretch=stretch), histogram, reach=reach)
        for stretch in (Fraction(1), *STRETCHES)
    )
    rare = LEAST_EXPECTED / trials
    entropy = min(_find_entropy(right, law, rare) for law in wrong)
    cells = 1 + sum(float(p.mid()) > rare / MOST_MORE for p in right.values())
    needed = math.ceil(_find_clear_statistic(cells) / entropy) if entropy > 0 else math.inf
    return Design(histogram=histogram, k=k, right=right, wrong=wrong, needed=needed)


def _find_entropy(right: Law, wrong: Law, rare: float) -> float:
    """The entropy of the right law relative to a wrong one, for one draw, with rare outputs as one cell."""
    # A law with another epsilon may have another threshold, below which no output is.
    cells = [(float(p.mid()), float(wrong.get(output, arb(0)).mid())) for output, p in right.items()]
    kept = [(p, q) for p, q in cells if min(p, q) > rare]
    rest = (1 - sum(p for p, _ in kept), 1 - sum(q for _, q in kept))
    return sum(p * math.log(p / q) for p, q in [*kept, rest] if p > 0 and q > 0)


@cache
def _find_clear_statistic(cells: int) -> int:
    """Find which expected statistic x of `bound_p_value` rejects a law clearly. Its deviation is about √(2x).

    >>> _find_clear_statistic(12), _find_clear_statistic(60)
    (153, 260)
    """
    freedom = max(cells - 1, 1)

    def rejects(x: float) -> bool:
        return x > freedom and x - freedom - freedom * math.log(x / freedom) >= -math.log(ALARM)

    return next(x for x in itertools.count(freedom) if rejects(x - _DEVIATIONS * math.sqrt(2 * x)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Independence:
    """The smallest p-value of all tests of pairs of draws, times the number of tests."""

    trials: int
    tests: int
    p: float
    repeated: float
    """The same p-value for pairs of equal draws. The tests must reject these."""

    @property
    def passed(self) -> bool | None:
        """Whether no pair of draws is dependent. None if the draws were too few to show it."""
        return False if self.p <= ALARM else True if self.repeated <= ALARM else None


def check_independence(case: Case, trials: int, bits: Bits | None = None) -> Independence:
    """Compare draws with the next, with the next but one, with those half a sample later, and with a second sample."""
    design = choose_design(case, trials)
    mechanism = case.build(design.k)
    first, second = (draw_outputs(mechanism, design.histogram, trials, bits) for _ in range(2))
    many = draw_outputs(mechanism, design.histogram, trials, bits, many=True)
    lags = (1, 2, trials // 2)
    pairs = [list(zip(first, second, strict=True)), *(_pair(each, lag) for each in (first, many) for lag in lags)]
    repeated = [(each, each) for each in first[: len(first) // 2]]
    return Independence(
        trials=3 * trials,
        tests=len(pairs),
        p=min(1.0, len(pairs) * min(_test(each, design.right) for each in pairs)),
        repeated=min(1.0, len(pairs) * _test(repeated, design.right)),
    )


def _pair(draws: Sequence[Output], lag: int) -> list[tuple[Output, Output]]:
    """Pair each draw with one that is `lag` later. No draw is in two pairs, so that pairs are independent."""
    return [(draws[i], draws[i + lag]) for i in range(len(draws) - lag) if i // lag % 2 == 0]


def _test(pairs: Sequence[tuple[Output, Output]], law: Law) -> float:
    """Bound the p-value of pairs for the hypothesis that both draws of a pair have this law and are independent."""
    likely = sorted(((float(p.mid()), output) for output, p in law.items()), key=lambda each: -each[0])[:_LIKELIEST]
    chances: dict[Output | None, float] = {output: p for p, output in likely}
    chances[None] = max(0.0, 1 - sum(chances.values()))  # all others
    seen = Counter((one if one in chances else None, other if other in chances else None) for one, other in pairs)
    cells = list(itertools.product(chances, chances))
    return bound_p_value([seen[cell] for cell in cells], [chances[one] * chances[other] for one, other in cells])
