"""Whether draws are independent: of earlier draws, and of the draws of a mechanism that was prepared again.

The guarantee of n draws is that of one draw n times. That is true only if the draws are independent. A mechanism that
repeats its randomness, or that has a seed of its own, shows it here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.audits.cases import Case
from shortlist.audits.frequencies import ALARM, choose_design
from shortlist.audits.sampling import draw_outputs
from shortlist.audits.stated import Law
from shortlist.audits.statistics import bound_p_value
from shortlist.exact.bits import Bits
from shortlist.mechanisms.stated import Output

_LIKELIEST = 3
"""This many of the likeliest outputs are told apart. All others count as one output."""


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
