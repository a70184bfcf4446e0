"""Whether the frequencies of drawn outputs are those of the stated law, and of no law with another epsilon."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from shortlist.audits.cases import Case
from shortlist.audits.laws import Histogram
from shortlist.audits.sampling import draw_outputs
from shortlist.audits.stated import Law, Output, state_law
from shortlist.audits.statistics import p_value
from shortlist.exact.balls import working_precision
from shortlist.exact.bits import Bits

ALARM = 1e-9
"""A smaller p-value rejects a law."""
STRETCHES = (Fraction(7, 10), Fraction(13, 10))
"""The test must reject the laws whose epsilon is multiplied by one of these."""
_CLEAR = 300
"""A chi-square statistic of this size rejects a law clearly, for the numbers of outputs here."""
_LEAST_EXPECTED = 10
"""An output that is expected less often counts as rare."""
_MOST_MORE = 8
"""Where the test needs more draws than `trials`, at most this many times `trials` are made."""
_PRECISION = 96
_SHAPES = ((3, 2, 1, 0), (5, 3, 3, 0), (6, 6, 2, 0), (4, 0, 0, 0))
_NOISE_SHAPES = ((3, 0), (6, 3), (2, 1, 0))
_SCALES = (Fraction(1, 2), Fraction(1), Fraction(2))
_LARGE_SCALES = (Fraction(4), Fraction(8))
"""Without a domain and with a small delta, items with few votes are never released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """The p-values of one sample."""

    histogram: Histogram
    k: int
    trials: int
    right: float
    """The p-value for the stated law."""
    wrong: float
    """The larger of the p-values for the two laws with an epsilon that is 30 % off."""

    @property
    def passed(self) -> bool:
        """Whether the stated law is accepted and the others are rejected."""
        return self.right > ALARM > self.wrong


def check_frequencies(case: Case, trials: int, bits: Bits | None = None) -> Frequencies:
    """Draw from the histogram where the test has the most power, and test the frequencies."""
    rare = _LEAST_EXPECTED / trials
    with working_precision(_PRECISION):
        histogram, k, right, wrong = max(_candidates(case), key=lambda each: _power(each[2], each[3], rare))
        power = _power(right, wrong, rare)
    needed = math.ceil(_CLEAR / power) if power else math.inf
    draws = int(min(max(trials, needed), _MOST_MORE * trials))
    seen = draw_outputs(case.build(k), histogram, draws, bits)
    return Frequencies(
        histogram=histogram,
        k=k,
        trials=draws,
        right=_test(seen, right, draws),
        wrong=max(_test(seen, law, draws) for law in wrong),
    )


def _candidates(case: Case) -> list[tuple[Histogram, int, Law, list[Law]]]:
    """Histograms whose gaps suit epsilon, with the laws for it and for 30 % less and more."""
    found = []
    shapes = _NOISE_SHAPES if case.noisy else _SHAPES
    k = 1 if case.noisy else min(2, case.largest_k or 2)
    scales = _SCALES if case.needs_domain else (*_SCALES, *_LARGE_SCALES)
    for shape, scale in itertools.product(shapes, scales):
        unit = max(Fraction(1), scale / case.epsilon)
        histogram = tuple(round(each * unit) for each in shape)
        reach = round(8 * unit) if case.noisy else 0
        laws = [
            state_law(case.build(k, stretch=stretch), histogram, reach=reach) for stretch in (Fraction(1), *STRETCHES)
        ]
        found.append((histogram, k, laws[0], laws[1:]))
    return found


def _power(right: Law, wrong: list[Law], rare: float) -> float:
    """How far the wrong laws are from the right one: chi-square for one draw, with rare outputs as one cell."""
    divergences = []
    for law in wrong:
        # A law with another epsilon may have another threshold, below which no output is.
        cells = [(float(p.mid()), float(law.get(output, arb(0)).mid())) for output, p in right.items()]
        kept = [(p, q) for p, q in cells if min(p, q) > rare]
        kept.sort(key=lambda cell: cell[1], reverse=True)
        rest = (1 - sum(p for p, _ in kept), 1 - sum(q for _, q in kept))
        if rest[1] < rare and kept:  # the test joins it to the smallest other cell
            p, q = kept.pop()
            rest = (rest[0] + p, rest[1] + q)
        divergences.append(sum((p - q) ** 2 / q for p, q in [*kept, rest] if q > 0))
    return min(divergences)


def _test(seen: Counter[Output], law: Law, trials: int) -> float:
    """The p-value of a sample; outputs that the law leaves out are one cell."""
    chances = [float(p.mid()) for p in law.values()]
    counts = [seen[output] for output in law]
    rest, others = 1 - sum(chances), trials - sum(counts)
    if rest < 1e-12 and others:
        return 0.0  # an output that cannot be
    return p_value([*counts, others], [*chances, max(rest, 0.0)])
