"""The claims about running time. Stand-ins count here: time depends on the size of the data and little on its shape."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reproduction.experiment.grid import DEFAULT, SWEEPS
from reproduction.experiment.results import Results
from reproduction.report.verdict.claim import Comparison, Holding, Judgement, Side, judge_comparisons
from reproduction.report.verdict.compare import (
    compare_times,
    compute_medians,
    compute_ratios,
    write_range,
    write_short,
    write_spread,
)
from reproduction.report.verdict.statistics import rank_test, sign_test, smallest_rank_test

_VERY_LARGE = 100_000
_STEADY = 1.25
_JUMP = 1.5


def faster_than_joint(results: Results, side: Side) -> Judgement:
    """Joint over FastJoint, at least 10 at every k."""
    return _at_least(results, side, "joint", "fastjoint", 10.0)


def slower_than_cdp_peel(results: Results, side: Side) -> Judgement:
    """FastJoint over CDP-Peel, above 1 at every k."""
    return _at_least(results, side, "fastjoint", "cdp-peel", 1.0)


def slower_without_the_step(results: Results, side: Side) -> Judgement:
    """Joint before its sequence step over FastJoint, at least 10 at every k."""
    return _at_least(results, side, "joint", "fastjoint", 10.0, before_sequence=True)


def step_is_no_bottleneck(results: Results, side: Side) -> Judgement:
    """The sequence step takes less than half of Joint's time, at every k."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        cells = results.times_along(name, side.times["joint"], "k")
        # The time before the step is above half of the whole where the step takes less than half.
        found = [(at, cell.before_cpu / np.maximum(cell.cpu, 1e-9)) for at, cell in cells]
        comparisons += compare_times(results, name, found, "k", 0.5)
        shares = [100 * (1 - each) for each in compute_medians(found)]
        if shares:
            said.append(f"{results.title(name)} {min(shares):.0f} to {max(shares):.0f} %")
    if not comparisons:
        return Judgement.untested("the sweep over k was not timed")
    return judge_comparisons(comparisons, "share of the step: " + ", ".join(said))


def jumps_come_from_the_step(results: Results, side: Side) -> Judgement:
    """The largest jump of Joint's time between neighbouring k, with and without the step, on games and food."""
    comparisons: list[Comparison] = []
    said = []
    for name in (each for each in ("games", "food") if each in results.datasets):
        jump = _largest_jump(results, name, side.times["joint"])
        if jump is None:
            continue
        place, factor, without, larger, rounds, share = jump
        said.append(
            f"{results.title(name)}: {write_short(factor)}× at {place}, {write_short(without)}× without the step, "
            f"which takes up to {100 * share:.0f} % of the time"
        )
        if factor >= _JUMP:
            comparisons.append(
                Comparison(
                    where=f"{results.title(name)}, {place}",
                    if_false=sign_test(larger, rounds),
                    if_true=sign_test(rounds - larger, rounds),
                )
            )
    if not comparisons:
        return Judgement.untested("; ".join(said) + "; no jump was seen" if said else "Joint was not swept over k")
    return judge_comparisons(comparisons, "; ".join(said))


def slower_than_pnf_peel_on_small_data_only(results: Results, side: Side) -> Judgement:
    """FastJoint over PNF-Peel: above 1 at some k of the smallest data set, below 1 on very large data."""
    fast, peel = side.times["fastjoint"], side.times["pnf-peel"]
    found = {name: compute_ratios(results, name, fast, peel) for name in results.datasets}
    found = {name: values for name, values in found.items() if values}
    if not found:
        return Judgement.untested("the sweep over k was not timed")
    said = ", ".join(f"{results.title(name)} {write_spread(compute_medians(values))}" for name, values in found.items())
    smallest = next(iter(found))
    slowest = max(found[smallest], key=lambda pair: float(np.median(pair[1])))
    comparisons = list(compare_times(results, smallest, [slowest], "k", 1.0))
    large = [name for name in found if results.d(name) >= _VERY_LARGE]
    for name in large:
        swapped = [(at, 1 / values) for at, values in found[name]]
        comparisons += compare_times(results, name, swapped, "k", 1.0)
    judged = judge_comparisons(comparisons, f"FastJoint over PNF-Peel: {said}")
    if not large and judged.holding is Holding.YES:
        return Judgement(holding=Holding.OPEN, measured=f"{judged.measured}; no data here are as large as food")
    return judged


def order_is_the_same_along_epsilon(results: Results, side: Side) -> Judgement:
    """At every ε, Joint is slower than FastJoint, and FastJoint slower than CDP-Peel."""
    comparisons: list[Comparison] = []
    said = []
    for slow, fast in (("joint", "fastjoint"), ("fastjoint", "cdp-peel")):
        medians = []
        for name in results.datasets:
            for pair in compute_ratios(results, name, side.times[slow], side.times[fast], "epsilon"):
                comparisons += compare_times(results, name, [pair], "epsilon", 1.0)
                medians += compute_medians([pair])
        if medians:
            said.append(f"{slow} over {fast} {write_spread(medians)}")
    if not comparisons:
        return Judgement.untested("the sweep over ε was not timed")
    return judge_comparisons(comparisons, ", ".join(said))


def time_falls_with_epsilon(results: Results, side: Side) -> Judgement:
    """FastJoint at each ε over FastJoint at the next larger one, above 1."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        cells = results.times_along(name, side.times["fastjoint"], "epsilon")
        for (at, slow), (_, fast) in pairwise(cells):
            _, first, second = np.intersect1d(slow.rounds, fast.rounds, return_indices=True)
            comparisons += compare_times(results, name, [(at, slow.cpu[first] / fast.cpu[second])], "epsilon", 1.0)
        if len(cells) > 1:
            fall = float(np.median(cells[0][1].cpu) / np.median(cells[-1][1].cpu))
            said.append(f"{results.title(name)} {write_short(fall)}×")
    if not comparisons:
        return Judgement.untested("the sweep over ε was not timed")
    return judge_comparisons(comparisons, "time at ε = ¼ over time at ε = 4: " + ", ".join(said))


def beta_hardly_matters(results: Results, side: Side) -> Judgement:
    """FastJoint at each β beside its default: times within 25 %, and errors that no rank test tells apart."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        default = results.times.get(results.key(name, side.times["fastjoint"], DEFAULT))
        worst = 1.0
        for at, cell in results.times_along(name, side.times["fastjoint"], "beta"):
            if default is None or at == DEFAULT:
                continue
            _, first, second = np.intersect1d(cell.rounds, default.rounds, return_indices=True)
            factor = np.exp(np.abs(np.log(cell.cpu[first] / default.cpu[second])))
            # The claim is that the factor is small, so its inverse is compared with the inverse of the limit.
            comparisons += compare_times(results, name, [(at, 1 / factor)], "beta", 1 / _STEADY)
            ratio = float(np.median(cell.cpu) / np.median(default.cpu))
            worst = max(worst, ratio, 1 / ratio)
        comparisons += _different_errors(results, name, side.errors["fastjoint"])
        if default is not None:
            said.append(f"{results.title(name)} {worst:.2f}×")
    if not comparisons:
        return Judgement.untested("the sweep over β was not run")
    measured = "largest factor between the median time at any β and at the default: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, absence=True)


def times_are_stable(results: Results, side: Side) -> Judgement:
    """The range between the quartiles of the time, at most a quarter of the median at nine cells of ten."""
    widths = []
    for (_, contender, _), cell in results.times.items():
        if contender in side.times.values() and len(cell.cpu) >= 4 and np.median(cell.cpu) > 1e-3:
            low, middle, high = np.quantile(cell.cpu, [0.25, 0.5, 0.75])
            widths.append(float((high - low) / middle))
    if not widths:
        return Judgement.untested("too few rounds were timed")
    share = float(np.mean(np.array(widths) <= 0.25))
    measured = f"so at {100 * share:.0f} % of {len(widths)} cells; median range {100 * float(np.median(widths)):.0f} %"
    holding = Holding.YES if share >= 0.9 else Holding.PART if share >= 0.5 else Holding.NO
    return Judgement(holding=holding, measured=measured)


def _at_least(
    results: Results, side: Side, slow: str, fast: str, least: float, *, before_sequence: bool = False
) -> Judgement:
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        found = compute_ratios(results, name, side.times[slow], side.times[fast], before_sequence=before_sequence)
        if found:
            comparisons += compare_times(results, name, found, "k", least)
            said.append(f"{results.title(name)} {write_spread(compute_medians(found))}")
    if not comparisons:
        return Judgement.untested("the sweep over k was not timed")
    return judge_comparisons(comparisons, ", ".join(said))


def _largest_jump(results: Results, dataset: str, joint: str) -> tuple[str, float, float, int, int, float] | None:
    """The place and size of the largest jump, beyond growth in proportion to k, and its size without the step."""
    cells = results.times_along(dataset, joint, "k")
    best: tuple[str, float, float, int, int, float] | None = None
    share = max((1 - float(np.median(cell.before_cpu / cell.cpu)) for _, cell in cells), default=0.0)
    for (low, before), (high, after) in pairwise(cells):
        _, first, second = np.intersect1d(before.rounds, after.rounds, return_indices=True)
        growth = high.k / low.k
        factors = np.abs(np.log(after.cpu[second] / before.cpu[first] / growth))
        without = np.abs(np.log(after.before_cpu[second] / before.before_cpu[first] / growth))
        size = float(np.exp(np.median(factors)))
        if best is None or size > best[1]:
            larger = int((factors > without).sum())
            place = f"k = {low.k} to {high.k}"
            best = (place, size, float(np.exp(np.median(without))), larger, len(first), share)
    return best


def _different_errors(results: Results, dataset: str, program: str) -> list[Comparison]:
    default = results.errors.get(results.key(dataset, program, DEFAULT))
    found = []
    for at in SWEEPS["beta"]:
        cell = results.errors.get(results.key(dataset, program, at))
        if cell is not None and default is not None and at != DEFAULT:
            both = min(rank_test(cell.linf, default.linf), rank_test(default.linf, cell.linf))
            where = f"{results.title(dataset)} ℓ∞, {write_range([at], 'beta')}"
            least = 2 * smallest_rank_test(len(cell.linf), len(default.linf))
            found.append(Comparison(where=where, if_false=1.0, if_true=min(1.0, 2 * both), smallest=least))
    return found
