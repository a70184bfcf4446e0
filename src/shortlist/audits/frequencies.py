"""Whether drawn outputs are those of the stated law, of no law with another epsilon, and independent of each other.

The guarantee of n draws is that of one draw n times. That is true only if the draws are independent: of earlier draws,
and of the draws of a mechanism that was prepared again. A mechanism that repeats its randomness, or that has a seed of
its own, shows it here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from shortlist.audits.cases import Case, Finding, draw_outputs
from shortlist.exact.bits import Bits
from shortlist.mechanisms.stated import Histogram, Output
from shortlist.profile import Profile

ALARM = 1e-9
"""A p-value up to this rejects a law."""
STRETCHES = (Fraction(7, 10), Fraction(13, 10))
"""The test must reject the laws whose epsilon is multiplied by one of these."""
MOST_MORE = 8
"""Where a test needs more draws than `trials`, at most this many times `trials` are made."""

_LEAST_EXPECTED = 10
"""A cell that is expected less often counts as rare."""
_ROUNDING = 1e-12
_DEVIATIONS = 6
"""The expected statistic for a wrong law is this many standard deviations above what rejects it."""
# Every shape has equal counts, so that a mechanism with a preference among equal items is noticed.
_SHAPES = ((5, 3, 3, 0), (6, 6, 2, 0), (4, 0, 0, 0))
_NOISE_SHAPES = ((3, 0, 0), (6, 3, 3), (2, 2, 0))
_SCALES = (Fraction(1, 2), Fraction(1), Fraction(2))
_LARGE_SCALES = (Fraction(4), Fraction(8))
"""Without a domain and with a small delta, items with few votes are never released."""
_LIKELIEST = 3
"""This many of the likeliest outputs are told apart. All others count as one output."""


class Design(NamedTuple):
    """What a test of frequencies draws, and the laws that it compares: the stated one and those that are 30 % off."""

    histogram: Histogram
    k: int
    laws: list[dict[Output, float]]


def check_frequencies(
    case: Case,
    trials: int,
    bits: Bits | None = None,
    *,
    name: str = "frequencies",
    relation: str = "add-remove",
    k: int = 2,
    many: bool = False,
) -> Finding:
    """Draw where the test has the most power, and test the frequencies. `many` draws by `draw_many`."""
    design = choose_design(case, trials, relation=relation, k=k)
    draw = partial(draw_outputs, case.build(design.k, relation), design.histogram, bits=bits, many=many)
    return judge_draws(case, design.laws, trials, draw, name=name, histogram=list(design.histogram), k=design.k)


def judge_draws(
    subject: object,
    laws: Sequence[Mapping[Any, float]],
    trials: int,
    draw: Callable[[int], Sequence[Hashable]],
    *,
    name: str = "frequencies",
    **details: Any,
) -> Finding:
    """Draw as often as the test needs, and compare with the first law, and with others that are wrong.

    That is between `trials` and 8 times as often.
    """
    needed = count_needed(laws, trials)
    drawn = draw(int(min(max(trials, needed), MOST_MORE * trials)))
    p, *others = (find_p_value(drawn, law) for law in laws)
    off, more = max(others), "no number of draws is enough at this epsilon"
    if not math.isinf(needed):
        more = f"pass {max(math.ceil(needed / MOST_MORE), 2 * trials):,} trials"
    said = [
        "as stated",
        "the outputs do not follow the stated law",
        f"too few draws to notice an epsilon that is 30 % off: {more}",
    ]
    details = {"trials": len(drawn), **details, "p": p, "p_30_percent_off": off, "threshold": ALARM}
    seen = f"{len(drawn):,} draws, p = {p:.2g}; {off:.1g} at 30 % off"
    return Finding.judge(subject, name, _reject(p, off), said, seen, **details)


def check_independence(case: Case, trials: int, bits: Bits | None = None) -> Finding:
    """Compare draws with the next, with the next but one, with those half a sample later, and with a second sample."""
    design = choose_design(case, trials)
    mechanism = case.build(design.k)
    first, second = (draw_outputs(mechanism, design.histogram, trials, bits) for _ in range(2))
    many = draw_outputs(mechanism, design.histogram, trials, bits, many=True)
    lags = (1, 2, trials // 2)
    pairs = [list(zip(first, second, strict=True)), *(_pair(each, lag) for each in (first, many) for lag in lags)]
    p = min(1.0, len(pairs) * min(_bound_pairs(each, design.laws[0]) for each in pairs))
    same = [(each, each) for each in first[: len(first) // 2]]
    repeated = min(1.0, len(pairs) * _bound_pairs(same, design.laws[0]))
    said = [
        "draws do not depend on each other",
        "draws depend on each other",
        "too few draws to notice that draws are repeated: pass more trials",
    ]
    seen, details = f"{len(pairs)} tests, p = {p:.2g}; {repeated:.1g} if draws were repeated", {"trials": 3 * trials}
    return Finding.judge(
        case, "independence", _reject(p, repeated), said, seen, **details, p=p, p_repeated=repeated, threshold=ALARM
    )


def _reject(p: float, off: float) -> bool | None:
    """Reject the hypothesis by its p-value. It passes only if what is known to be wrong is rejected."""
    return False if p <= ALARM else True if off <= ALARM else None


def choose_design(case: Case, trials: int, *, relation: str = "add-remove", k: int = 2) -> Design:
    """Choose the counts that need the fewest draws to tell the stated law from those that are 30 % off."""
    size, reach = (1, round(8 * max(Fraction(1), 1 / case.epsilon))) if case.noisy else (case.fit(k), 0)
    designs = [
        Design(each, size, [case.state(each, size, relation, reach=reach, stretch=by) for by in (1, *STRETCHES)])
        for each in _list_histograms(case, relation)
    ]
    return min(designs, key=lambda design: count_needed(design.laws, trials))


def _list_histograms(case: Case, relation: str) -> list[Histogram]:
    """List histograms whose gaps suit epsilon. Noisy counts of observed items are near what a release needs."""
    if case.noisy and not case.needs_domain:
        least = case.build(1, relation).find_need(Profile.of(np.array([1])))
        assert least is not None
        return [(least, least), (least + math.ceil(1 / case.epsilon), least, least)]
    shapes = _NOISE_SHAPES if case.noisy else _SHAPES
    scales = _SCALES if case.needs_domain else (*_SCALES, *_LARGE_SCALES)
    units = [max(Fraction(1), scale / case.epsilon) for scale in scales]
    found = [tuple(round(each * unit) for each in shape) for shape, unit in itertools.product(shapes, units)]
    return list(dict.fromkeys(found))


def count_needed(laws: Sequence[Mapping[Any, float]], trials: int) -> float:
    """Count the draws that tell the first law from the others. What is rare in so many trials is one cell."""
    (right, *wrong), rare = laws, _LEAST_EXPECTED / trials
    entropy = min(_find_entropy(right, law, rare) for law in wrong)
    cells = 1 + sum(p > rare / MOST_MORE for p in right.values())
    return math.ceil(_find_clear_statistic(cells) / entropy) if entropy > 0 else math.inf


def _find_entropy(right: Mapping[Any, float], wrong: Mapping[Any, float], rare: float) -> float:
    """The entropy of the right law relative to a wrong one, for one draw, with rare outputs as one cell."""
    # A law with another epsilon may have another threshold, below which no output is.
    kept = [(p, q) for output, p in right.items() if min(p, q := wrong.get(output, 0.0)) > rare]
    rest = (1 - sum(p for p, _ in kept), 1 - sum(q for _, q in kept))
    return sum(p * math.log(p / q) for p, q in [*kept, rest] if p > 0 and q > 0)


@cache
def _find_clear_statistic(cells: int) -> int:
    """Find which expected statistic x of `bound_p_value` rejects a law clearly. Its deviation is about √(2x).

    >>> _find_clear_statistic(12), _find_clear_statistic(60)
    (153, 260)
    """
    freedom = max(cells - 1, 1)
    return next(
        x for x in itertools.count(freedom) if _bound_tail(x - _DEVIATIONS * math.sqrt(2 * x), freedom) <= ALARM
    )


def find_p_value(seen: Sequence[Hashable], law: Mapping[Any, float]) -> float:
    """Bound the p-value of a sample; outputs that the law leaves out are one cell."""
    counts = Counter(seen)
    found = [counts[output] for output in law]
    rest = 1 - sum(law.values())
    # The law leaves nothing out if all but a rounding error is stated.
    return bound_p_value([*found, len(seen) - sum(found)], [*law.values(), rest if rest > _ROUNDING else 0.0])


def bound_p_value(observed: Sequence[int], law: Sequence[float]) -> float:
    """Bound the p-value of observed frequencies. A true law is rejected at p ≤ x with probability x at most.

    The statistic is s = n·KL(observed frequencies, law). A chi-square p-value is an approximation, which is too small
    by far where cells are rare. Cells that are expected fewer than ten times are joined, because more cells need more
    draws.

    >>> round(bound_p_value([10, 20, 30], [1, 1, 1]), 6)
    0.270089
    """
    counts, expected = np.asarray(observed, dtype=float), np.asarray(law, dtype=float)
    expected = expected / expected.sum() * counts.sum()
    if (counts[expected == 0] > 0).any():
        return 0.0  # an output that cannot be
    rare = expected < _LEAST_EXPECTED
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    seen = counts > 0
    statistic = float((counts[seen] * np.log(counts[seen] / expected[seen])).sum())
    return _bound_tail(statistic, int((expected > 0).sum()) - 1)


def _bound_tail(statistic: float, freedom: int) -> float:
    """Bound P(s ≥ x) for m + 1 cells by e^(m − x)·(x/m)^m if x > m.

    It holds for every number of draws and every law (Agrawal, "Finite-sample concentration of the multinomial in
    relative entropy", 2020).
    """
    if not freedom or statistic <= freedom:
        return 1.0
    return min(1.0, math.exp(freedom - statistic + freedom * math.log(statistic / freedom)))


def _pair(draws: Sequence[Output], lag: int) -> list[tuple[Output, Output]]:
    """Pair each draw with one that is `lag` later. No draw is in two pairs, so that pairs are independent."""
    return [(draws[i], draws[i + lag]) for i in range(len(draws) - lag) if i // lag % 2 == 0]


def _bound_pairs(pairs: Sequence[tuple[Output, Output]], law: Mapping[Output, float]) -> float:
    """Bound the p-value of pairs for the hypothesis that both draws of a pair have this law and are independent."""
    chances: dict[Output | None, float] = dict(sorted(law.items(), key=lambda each: -each[1])[:_LIKELIEST])
    chances[None] = max(0.0, 1 - sum(chances.values()))  # all others
    seen = [(one if one in chances else None, other if other in chances else None) for one, other in pairs]
    return find_p_value(seen, {(one, other): p * q for one, p in chances.items() for other, q in chances.items()})
