"""How many comparisons of times and errors become one verdict on a claim of the paper.

Times are compared round by round by exact sign tests, errors list by list by rank tests. The comparisons of a claim are
corrected for their number by Holm's method.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import mul
from statistics import NormalDist, median

import numpy as np
from numpy.typing import NDArray

from reproduction.experiment.grid import PAPER_LAWS, SWEEPS, Setting, write_beta
from reproduction.experiment.store import Results, Times, find_pairs
from shortlist.array_types import FloatArray
from shortlist.privacy.numbers import write_count

ALPHA = 1e-3
"""The chance that a true claim is contradicted anywhere, over all comparisons of the claim together."""
AXES = {"k": "k", "epsilon": "ε", "beta": "β"}
"""What is varied, and its symbol."""
_ENOUGH = 16
"""Neighbouring settings are pooled until they have this many rounds: with fewer, no sign test can decide."""
_SHOWN = 4
"""How many of the comparisons that contradict a claim are named."""
_MEASURES = {"linf": "ℓ∞", "l1": "ℓ1"}

Ratios = list[tuple[Setting, FloatArray]]
"""The ratio of two times in each common round, at each setting of a sweep."""


class Holding(StrEnum):
    """What was found about a claim."""

    YES = "holds"
    PART = "holds in part"
    NO = "does not hold"
    OPEN = "not decided"
    """It was measured and not contradicted, but the trials are too few or too equal to confirm it."""
    UNTESTED = "not tested here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Whose programs a claim is judged on: the program of each law, for its times and for its errors."""

    title: str
    times: dict[str, str]
    errors: dict[str, str]


_PUBLISHED = {law: f"published-{law}" for law in (*PAPER_LAWS, "laplace", "gamma")}
SIDES = (
    Side(
        title="programs as released",
        times={law: f"released-{law}" for law in PAPER_LAWS},
        errors={**_PUBLISHED, "fastjoint": "released-fastjoint"},
    ),
    Side(title="implemented here", times=_PUBLISHED, errors=_PUBLISHED),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was found about a claim on one side, and the numbers."""

    holding: Holding
    measured: str

    @classmethod
    def untested(cls, why: str) -> Judgement:
        """Return the judgement on a claim that these results cannot test."""
        return cls(holding=Holding.UNTESTED, measured=why)

    @classmethod
    def computed(cls, met: Sequence[bool], measured: str) -> Judgement:
        """Return the judgement on a claim about numbers in which no chance enters: whether each of its parts is met."""
        return cls(holding=Holding.YES if all(met) else Holding.PART if any(met) else Holding.NO, measured=measured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of a claim: how likely what was seen is if the claim fails here, and if it is true here."""

    data: str
    """The data set as tables show it."""
    at: str
    """The settings."""
    if_false: float
    """Small where the claim is confirmed."""
    if_true: float
    """Small where the claim is contradicted."""
    smallest: float = 0.0
    """The smallest chance that so many trials can give. It is large where the trials are too few to say anything."""
    error: str = ""
    """The symbol of the error, where errors are compared."""


def judge_comparisons(
    comparisons: Sequence[Comparison], measured: str, absent: str = "", *, no_difference: bool = False
) -> Judgement:
    """Turn comparisons into a verdict. The rule was fixed before the full run, and is in docs/reproduction.

    A claim that is true at every comparison gets the verdict "holds in part" or "does not hold" with a chance of at
    most 1 in 1,000. With `no_difference`, this is the claim. No test can confirm it, so to see no difference is enough,
    where the trials are enough to see one. Without comparisons, `absent` says why there are none.
    """
    if not comparisons:
        return Judgement.untested(absent or "nothing that bears on it was measured")
    total = len(comparisons)
    against = reject([each.if_true for each in comparisons])
    if no_difference:
        decided = (each.smallest <= ALPHA / total for each in comparisons)
        supported = [enough - contradicts for enough, contradicts in zip(decided, against, strict=True)]
    else:
        supported = [int(each) for each in reject([each.if_false for each in comparisons])]
    contradicted, confirmed = sum(against), sum(supported)
    holding = _decide(contradicted, confirmed, total)
    where = [
        f"{each.data} {each.error}".strip() + f", {each.at}"
        for each, contradicts in zip(comparisons, against, strict=True)
        if contradicts
    ]
    where[_SHOWN:] = [f"and {len(where) - _SHOWN} more"] if len(where) > _SHOWN else []
    measured += f"; contradicted in {contradicted or 'none'} of {write_count(total, 'comparisons')}"
    measured += f" ({'; '.join(where)})" if where else ""
    measured += "" if no_difference else f", confirmed in {confirmed}"
    return Judgement(holding=holding, measured=measured + _count_data_once(comparisons, against, supported))


def _decide(contradicted: Fraction | int, confirmed: Fraction | int, total: int) -> Holding:
    if contradicted:
        return Holding.PART if contradicted <= confirmed else Holding.NO
    return Holding.YES if 2 * confirmed >= total else Holding.OPEN


def _count_data_once(comparisons: Sequence[Comparison], against: Sequence[int], supported: Sequence[int]) -> str:
    """Say what the verdict would be if each data set counted once, however many comparisons it has.

    A comparison then counts as one divided by the number of comparisons on its data set.
    """
    sizes = Counter(each.data for each in comparisons)
    if len(set(sizes.values())) == 1:
        return ""
    shares = [Fraction(1, sizes[each.data]) for each in comparisons]
    contradicted, confirmed = (sum(map(mul, shares, counted), Fraction()) for counted in (against, supported))
    counts = f"contradicted in {float(contradicted):.1f} of {len(sizes)}, confirmed in {float(confirmed):.1f}"
    return f"; each data set counted once: {_decide(contradicted, confirmed, len(sizes))} ({counts})"


def compute_ratios(
    results: Results, dataset: str, one: str, other: str, vary: str = "k", *, before_sequence: bool = False
) -> Ratios:
    """Divide the processor's times of two programs in the same rounds; of the first perhaps without its last step.

    One setting is not a sweep, so nothing is returned for it.
    """
    above = "before_cpu" if before_sequence else "cpu"
    pairs = find_pairs(results.times, dataset, one, other, SWEEPS[vary])
    found = [(at, values) for at, first, second in pairs if len(values := divide(first, second, above))]
    return found if len(found) > 1 else []


def divide(one: Times, other: Times, above: str = "cpu", below: str = "cpu") -> FloatArray:
    """Divide times of two cells, round by round."""
    _, first, second = np.intersect1d(one.trial, other.trial, return_indices=True)
    # The processor's clock has steps; a time of 0 is a time below one step.
    ratios: FloatArray = np.maximum(getattr(one, above)[first], 1e-9) / np.maximum(getattr(other, below)[second], 1e-9)
    return ratios


def compare_times(results: Results, dataset: str, found: Ratios, vary: str, least: float) -> Iterator[Comparison]:
    """Compare ratios with the least that a claim allows, by sign tests over rounds."""
    for settings, values in _pool(found):
        yield compare_signs(results.title(dataset), write_range(settings, vary), values > least)


def compare_signs(data: str, at: str, above: NDArray[np.bool_]) -> Comparison:
    """Compare in how many rounds a claim is true with in how many it is not, by a sign test."""
    rounds, count = len(above), int(above.sum())
    return Comparison(
        data=data,
        at=at,
        if_false=sign_test(count, rounds),
        if_true=sign_test(rounds - count, rounds),
        smallest=sign_test(rounds, rounds),
    )


def compare_errors(
    results: Results, dataset: str, larger: str, smaller: str, settings: Sequence[Setting], vary: str
) -> Iterator[Comparison]:
    """Compare the errors of two programs by rank tests; the claim is that the first's are larger."""
    for at, one, other in find_pairs(results.errors, dataset, larger, smaller, settings):
        for measure, symbol in _MEASURES.items():
            first, second = getattr(one, measure), getattr(other, measure)
            yield Comparison(
                data=results.title(dataset),
                at=write_range([at], vary),
                error=symbol,
                if_false=rank_test(first, second),
                if_true=rank_test(second, first),
                smallest=smallest_rank_test(len(first), len(second)),
            )


def compare_medians(results: Results, dataset: str, one: str, other: str, settings: Sequence[Setting]) -> list[float]:
    """The median ℓ∞ error + 1 of one program over that of another, at each setting."""
    pairs = find_pairs(results.errors, dataset, one, other, settings)
    return [float((np.median(first.linf) + 1) / (np.median(second.linf) + 1)) for _, first, second in pairs]


def write_spread(values: Sequence[float]) -> str:
    """Write ratios as their median and range.

    >>> write_spread([1.5, 30.0, 3.0])
    '3.0× (1.5–30)'
    """
    return f"{write_short(median(values))}× ({write_short(min(values))}–{write_short(max(values))})"


def write_short(value: float) -> str:
    """Write a ratio with two digits.

    >>> write_short(0.0123), write_short(4.56), write_short(45.6), write_short(456.0)
    ('0.012', '4.6', '46', '456')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def write_range(settings: Sequence[Setting], vary: str) -> str:
    """Write the first and the last of some neighbouring settings.

    >>> write_range(SWEEPS["k"], "k"), write_range(SWEEPS["beta"][:1], "beta")
    ('k = 10 … 200', 'β = 2⁻⁶')
    """
    values = [getattr(at, vary) for at in settings]
    written = [write_beta(value) if vary == "beta" else f"{value:g}" for value in (values[0], values[-1])]
    return f"{AXES[vary]} = " + (written[0] if len(values) == 1 else " … ".join(written))


def compute_medians(found: Ratios) -> list[float]:
    """The median over rounds at each setting."""
    return [float(np.median(values)) for _, values in found]


def _pool(found: Ratios) -> Iterator[tuple[list[Setting], FloatArray]]:
    """Merge neighbouring settings until each group has enough rounds. The rest at the end joins the last group."""
    pools: list[tuple[list[Setting], list[FloatArray]]] = []
    for at, values in found:
        if not pools or sum(map(len, pools[-1][1])) >= _ENOUGH:
            pools.append(([], []))
        pools[-1][0].append(at)
        pools[-1][1].append(values)
    if len(pools) > 1 and sum(map(len, pools[-1][1])) < _ENOUGH:
        settings, values_left = pools.pop()
        pools[-1][0].extend(settings)
        pools[-1][1].extend(values_left)
    return ((settings, np.concatenate(values)) for settings, values in pools)


def sign_test(above: int, rounds: int) -> float:
    """The chance of so many rounds or more above a threshold, if each is above it with probability at most one half.

    >>> sign_test(3, 3), sign_test(0, 3)
    (0.125, 1.0)
    """
    return float(sum(math.comb(rounds, count) for count in range(above, rounds + 1)) / 2**rounds)


def rank_test(one: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    """The chance of ranks like these if `one` is not larger than `other`: Mann and Whitney, corrected for ties.

    >>> round(rank_test(np.arange(50), np.arange(50)), 2), rank_test(np.arange(50) + 100, np.arange(50)) < 1e-15
    (0.5, True)
    """
    n, m = len(one), len(other)
    if not n or not m:
        return 1.0
    _, places, sizes = np.unique(np.concatenate((one, other)), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[places]
    larger = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float((sizes.astype(np.float64) ** 3 - sizes).sum()) / (total * (total - 1)) if total > 1 else 0.0
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0
    # Half a rank is taken off: the sum of ranks is discrete.
    return NormalDist().cdf(-(larger - n * m / 2 - 0.5) / math.sqrt(variance))


def smallest_rank_test(lists: int, others: int) -> float:
    """The smallest chance that `rank_test` can give for so many lists: all of one are larger than all of the other.

    >>> smallest_rank_test(200, 200) < 1e-60, smallest_rank_test(5, 5) > 1e-3
    (True, True)
    """
    return rank_test(np.arange(lists) + others, np.arange(others))


def reject(chances: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Which of many hypotheses to reject, so that any true one is rejected with chance at most alpha: Holm.

    >>> reject([0.0001, 0.9, 0.0004], alpha=1e-3)
    [True, False, True]
    """
    rejected = [False] * len(chances)
    for rank, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[index] > alpha / (len(chances) - rank):
            break
        rejected[index] = True
    return rejected
