"""Comparisons of times, round by round, and of errors, list by list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from reproduction.experiment.contenders import Setting, write_beta
from reproduction.experiment.grid import SWEEPS
from reproduction.experiment.results import Results, Times
from reproduction.report.verdict.claim import Comparison
from reproduction.report.verdict.statistics import rank_test, sign_test, smallest_rank_test
from shortlist.array_types import FloatArray

_ENOUGH = 16
"""Neighbouring settings are pooled until they have this many rounds: with fewer, no sign test can decide."""
MEASURES = {"linf": "ℓ∞", "l1": "ℓ1"}
AXES = {"k": "k", "epsilon": "ε", "beta": "β"}

Ratios = list[tuple[Setting, FloatArray]]
"""The ratio of two times in each common round, at each setting of a sweep."""


def compute_ratios(
    results: Results, dataset: str, one: str, other: str, vary: str = "k", *, before_sequence: bool = False
) -> Ratios:
    """Divide the processor's times of two programs in the same rounds; of the first perhaps without its last step.

    One setting is not a sweep, so nothing is returned for it.
    """
    found = []
    for at in SWEEPS[vary]:
        pair = [results.times.get(results.key(dataset, name, at)) for name in (one, other)]
        if pair[0] is not None and pair[1] is not None:
            found.append((at, _divide(pair[0], pair[1], before_sequence=before_sequence)))
    found = [(at, values) for at, values in found if len(values)]
    return found if len(found) > 1 else []


def compare_times(results: Results, dataset: str, found: Ratios, vary: str, least: float) -> Iterator[Comparison]:
    """Compare ratios with the least that a claim allows, by sign tests over rounds."""
    for settings, values in _pool(found):
        above, rounds = int((values > least).sum()), len(values)
        yield Comparison(
            where=f"{results.title(dataset)}, {write_range(settings, vary)}",
            if_false=sign_test(above, rounds),
            if_true=sign_test(rounds - above, rounds),
            smallest=sign_test(rounds, rounds),
        )


def compare_errors(
    results: Results, dataset: str, larger: str, smaller: str, settings: Sequence[Setting], vary: str
) -> Iterator[Comparison]:
    """Compare the errors of two programs by rank tests; the claim is that the first's are larger."""
    for at in settings:
        one, other = (results.errors.get(results.key(dataset, name, at)) for name in (larger, smaller))
        if one is not None and other is not None:
            for measure, symbol in MEASURES.items():
                first, second = getattr(one, measure), getattr(other, measure)
                yield Comparison(
                    where=f"{results.title(dataset)} {symbol}, {write_range([at], vary)}",
                    if_false=rank_test(first, second),
                    if_true=rank_test(second, first),
                    smallest=smallest_rank_test(len(first), len(second)),
                )


def compare_medians(results: Results, dataset: str, one: str, other: str, settings: Sequence[Setting]) -> list[float]:
    """The median ℓ∞ error + 1 of one program over that of another, at each setting."""
    found = []
    for at in settings:
        pair = [results.errors.get(results.key(dataset, name, at)) for name in (one, other)]
        if pair[0] is not None and pair[1] is not None:
            found.append(float((np.median(pair[0].linf) + 1) / (np.median(pair[1].linf) + 1)))
    return found


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


def _divide(one: Times, other: Times, *, before_sequence: bool) -> FloatArray:
    _, first, second = np.intersect1d(one.rounds, other.rounds, return_indices=True)
    above = (one.before_cpu if before_sequence else one.cpu)[first]
    # The processor's clock has steps; a time of 0 is a time below one step.
    return np.asarray(np.maximum(above, 1e-9) / np.maximum(other.cpu[second], 1e-9))


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
