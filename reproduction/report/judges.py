"""The judges of the paper's claims, in the order of claims.md, which has the claims and the rules in words.

Stand-ins count where times are compared: time depends on the size of the data and little on its shape. Verdicts on
errors use real data only, because the details of a stand-in are invented. Where a claim is about a computed number, no
chance enters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np

from reproduction.experiment.datasets import DATASETS
from reproduction.experiment.grid import BETAS, CONTENDERS, DEFAULT, SWEEPS, Cell, Setting, write_beta
from reproduction.experiment.store import Results, Times, find
from reproduction.fastjoint import BETA, compute_tau
from reproduction.report.comparisons import (
    Comparison,
    Holding,
    Judgement,
    Side,
    compare_errors,
    compare_medians,
    compare_signs,
    compare_times,
    compute_medians,
    compute_ratios,
    divide,
    judge_comparisons,
    rank_test,
    smallest_rank_test,
    write_range,
    write_short,
    write_spread,
)
from shortlist.array_types import FloatArray

_MODERATE = tuple(at for at in SWEEPS["k"] if at.k >= DEFAULT.k)
_VERY_LARGE = 100_000
_STEADY = 1.25
_JUMP = 1.5
_SLOPE = 1.1
_SLIGHT = 0.05
_NOT_SWEPT = "the sweep over k was not timed"
_NO_ERRORS = "no errors were drawn on real data"


def faster_than_joint(results: Results, side: Side) -> Judgement:
    """Joint over FastJoint, at least 10 at every k."""
    return _judge_ratios(results, side, "joint", "fastjoint", 10.0)


def slower_than_cdp_peel(results: Results, side: Side) -> Judgement:
    """FastJoint over CDP-Peel, above 1 at every k."""
    return _judge_ratios(results, side, "fastjoint", "cdp-peel", 1.0)


def jumps_come_from_the_step(results: Results, side: Side) -> Judgement:
    """The largest jump of Joint's time between neighbouring k, with and without the step, on games and food."""
    comparisons: list[Comparison] = []
    said = []
    for name in (each for each in ("games", "food") if each in results.datasets):
        cells = results.along(results.times, name, side.times["joint"], "k")
        jumps = [(*_find_jump(*pair), pair) for pair in pairwise(cells)]
        if not jumps:
            continue
        with_step, without, ((low, _), (high, _)) = max(jumps, key=lambda jump: float(np.median(jump[0])))
        factor, factor_without = (float(np.exp(np.median(each))) for each in (with_step, without))
        share = max(1 - float(np.median(cell.before_cpu / cell.cpu)) for _, cell in cells)
        place = f"k = {low.k} to {high.k}"
        said.append(
            f"{results.title(name)}: {write_short(factor)}× at {place}, {write_short(factor_without)}× without the "
            f"step, which takes up to {100 * share:.0f} % of the time"
        )
        if factor >= _JUMP:
            comparisons.append(compare_signs(results.title(name), place, with_step > without))
    absent = "; ".join(said) + "; no jump was seen" if said else "Joint was not swept over k"
    return judge_comparisons(comparisons, "; ".join(said), absent)


def _find_jump(one: tuple[Setting, Times], other: tuple[Setting, Times]) -> tuple[FloatArray, FloatArray]:
    """The logs of how much more a time grows than k does, in each round, with and without the step."""
    (low, before), (high, after) = one, other
    with_step, without = divide(after, before), divide(after, before, "before_cpu", "before_cpu")
    return np.abs(np.log(with_step * low.k / high.k)), np.abs(np.log(without * low.k / high.k))


def step_is_no_bottleneck(results: Results, side: Side) -> Judgement:
    """The sequence step takes less than half of Joint's time, at every k."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        cells = results.along(results.times, name, side.times["joint"], "k")
        # The time before the step is above half of the whole where the step takes less than half.
        found = [(at, divide(cell, cell, "before_cpu")) for at, cell in cells]
        comparisons += compare_times(results, name, found, "k", 0.5)
        shares = [100 * (1 - each) for each in compute_medians(found)]
        if shares:
            said.append(f"{results.title(name)} {min(shares):.0f} to {max(shares):.0f} %")
    return judge_comparisons(comparisons, "share of the step: " + ", ".join(said), _NOT_SWEPT)


def slower_without_the_step(results: Results, side: Side) -> Judgement:
    """Joint before its sequence step over FastJoint, at least 10 at every k."""
    return _judge_ratios(results, side, "joint", "fastjoint", 10.0, before_sequence=True)


def slower_than_pnf_peel_on_small_data_only(results: Results, side: Side) -> Judgement:
    """FastJoint over PNF-Peel: above 1 at some k of the smallest data set, below 1 on very large data."""
    fast, peel = side.times["fastjoint"], side.times["pnf-peel"]
    found = {name: compute_ratios(results, name, fast, peel) for name in results.datasets}
    found = {name: values for name, values in found.items() if values}
    if not found:
        return Judgement.untested(_NOT_SWEPT)
    said = ", ".join(f"{results.title(name)} {write_spread(compute_medians(values))}" for name, values in found.items())
    smallest = next(iter(found))
    slowest = max(found[smallest], key=lambda pair: float(np.median(pair[1])))
    comparisons = list(compare_times(results, smallest, [slowest], "k", 1.0))
    large = [name for name in found if results.data[name].d >= _VERY_LARGE]
    for name in large:
        swapped = [(at, 1 / values) for at, values in found[name]]
        comparisons += compare_times(results, name, swapped, "k", 1.0)
    judged = judge_comparisons(comparisons, f"FastJoint over PNF-Peel: {said}")
    if not large and judged.holding is Holding.YES:
        return Judgement(holding=Holding.OPEN, measured=f"{judged.measured}; no data here are as large as food")
    return judged


def no_worse_than_joint(results: Results, side: Side) -> Judgement:
    """FastJoint's errors are not larger than Joint's."""
    fast, joint = side.errors["fastjoint"], side.errors["joint"]
    comparisons: list[Comparison] = []
    said = []
    for name in results.real:
        for vary in ("k", "epsilon"):
            # The claim is that nothing is larger, so only the other half of each comparison counts.
            found = compare_errors(results, name, joint, fast, SWEEPS[vary], vary)
            comparisons += [replace(each, if_false=1.0) for each in found]
        values = compare_medians(results, name, fast, joint, SWEEPS["k"])
        if values:
            said.append(f"{name} {write_spread(values)}")
    measured = "median ℓ∞ + 1 over Joint's: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, _NO_ERRORS, no_difference=True)


def good_where_gaps_are_large(results: Results, side: Side) -> Judgement:
    """The errors of both peels are larger at every k from 100 on, on real data with large gaps."""
    peels, fast = (side.errors["pnf-peel"], side.errors["cdp-peel"]), side.errors["fastjoint"]
    wide = (name for name in results.real if DATASETS[name].wide_gaps)
    return _judge_errors(results, [(name, peel, fast) for name, peel in product(wide, peels)], _MODERATE)


def better_than_pnf_peel(results: Results, side: Side) -> Judgement:
    """PNF-Peel's errors are larger at every k."""
    peel, fast = side.errors["pnf-peel"], side.errors["fastjoint"]
    return _judge_errors(results, [(name, peel, fast) for name in results.real], SWEEPS["k"])


def better_than_cdp_peel(results: Results, side: Side) -> Judgement:
    """CDP-Peel's errors are larger at every k from 100 on."""
    peel, fast = side.errors["cdp-peel"], side.errors["fastjoint"]
    return _judge_errors(results, [(name, peel, fast) for name in results.real], _MODERATE)


def good_on_news_and_not_on_games(results: Results, side: Side) -> Judgement:
    """On news better than both peels at every ε; on games better than PNF-Peel and worse than CDP-Peel."""
    fast, pnf, cdp = (side.errors[law] for law in ("fastjoint", "pnf-peel", "cdp-peel"))
    swept = [name for name in results.real if len(results.along(results.errors, name, fast, "epsilon")) > 1]
    if not {"news", "games"} <= {*swept}:
        return Judgement.untested("errors were not drawn along ε on both news and games as real data")
    pairs = [("news", pnf, fast), ("news", cdp, fast), ("games", pnf, fast), ("games", fast, cdp)]
    return _judge_errors(results, pairs, SWEEPS["epsilon"], "epsilon")


def gaps_are_larger_on_news(results: Results, side: Side) -> Judgement:
    """The median gap between neighbours of the top scores is at least 10 times as large on news as on games."""
    gaps = {name: results.gaps[name] for name in ("news", "games") if name in results.gaps and name in results.real}
    if len(gaps) < 2:
        return Judgement.untested("news and games were not both there as real data")
    measured = f"median gap: news {gaps['news']:,.0f}, games {gaps['games']:,.0f}"
    return Judgement.computed([gaps["news"] >= 10 * gaps["games"]], measured)


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
    return judge_comparisons(comparisons, ", ".join(said), "the sweep over ε was not timed")


def time_falls_with_epsilon(results: Results, side: Side) -> Judgement:
    """FastJoint at each ε over FastJoint at the next larger one, above 1."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        cells = results.along(results.times, name, side.times["fastjoint"], "epsilon")
        for (at, slow), (_, fast) in pairwise(cells):
            comparisons += compare_times(results, name, [(at, divide(slow, fast))], "epsilon", 1.0)
        if len(cells) > 1:
            fall = float(np.median(cells[0][1].cpu) / np.median(cells[-1][1].cpu))
            said.append(f"{results.title(name)} {write_short(fall)}×")
    measured = "time at ε = ¼ over time at ε = 4: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, "the sweep over ε was not timed")


def beta_hardly_matters(results: Results, side: Side) -> Judgement:
    """FastJoint at each β beside its default: times within 25 %, and errors that no rank test tells apart."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        default = find(results.times, name, side.times["fastjoint"], DEFAULT)
        worst = 1.0
        for at, cell in results.along(results.times, name, side.times["fastjoint"], "beta"):
            if default is None or at == DEFAULT:
                continue
            factor = np.exp(np.abs(np.log(divide(cell, default))))
            # The claim is that the factor is small, so its inverse is compared with the inverse of the limit.
            comparisons += compare_times(results, name, [(at, 1 / factor)], "beta", 1 / _STEADY)
            ratio = float(np.median(cell.cpu) / np.median(default.cpu))
            worst = max(worst, ratio, 1 / ratio)
        comparisons += _compare_errors_with_default(results, name, side.errors["fastjoint"])
        if default is not None:
            said.append(f"{results.title(name)} {worst:.2f}×")
    measured = "largest factor between the median time at any β and at the default: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, "the sweep over β was not run", no_difference=True)


def _compare_errors_with_default(results: Results, dataset: str, program: str) -> list[Comparison]:
    default = find(results.errors, dataset, program, DEFAULT)
    found = []
    for at, cell in results.along(results.errors, dataset, program, "beta"):
        if default is not None and at != DEFAULT:
            both = min(rank_test(cell.linf, default.linf), rank_test(default.linf, cell.linf))
            place = {"data": results.title(dataset), "at": write_range([at], "beta"), "error": "ℓ∞"}
            least = 2 * smallest_rank_test(len(cell.linf), len(default.linf))
            found.append(Comparison(**place, if_false=1.0, if_true=min(1.0, 2 * both), smallest=least))
    return found


def threshold_hardly_changes(results: Results, side: Side) -> Judgement:
    """τ at every β is within 5 % of τ at the default."""
    changes = {}
    for name, beta in product(results.datasets, BETAS):
        at_beta, at_default = (
            compute_tau(results.data[name].d, DEFAULT.k, DEFAULT.epsilon, each) for each in (beta, BETA)
        )
        changes[name, beta] = abs(at_beta / at_default - 1)
    if not changes:
        return Judgement.untested("nothing was measured")
    (name, beta), largest = max(changes.items(), key=lambda pair: pair[1])
    measured = f"the largest change is {100 * largest:.1f} % ({name}, β = {write_beta(beta)})"
    return Judgement.computed([largest <= _SLIGHT], measured)


def others_are_dominated(results: Results, side: Side) -> Judgement:
    """Gamma's errors are larger than PNF-Peel's, and Laplace's larger than CDP-Peel's, at every k."""
    pairs = [
        (name, side.errors[weak], side.errors[strong])
        for weak, strong in (("gamma", "pnf-peel"), ("laplace", "cdp-peel"))
        for name in results.real
    ]
    return _judge_errors(results, pairs, SWEEPS["k"])


def pruning_is_improbable(results: Results, side: Side) -> Judgement:
    """Pr[loss ≥ τ] ≤ β, computed from the subset sizes; beside it, how many drawn lists have such an ℓ∞ error."""
    tails = results.tails
    if not tails:
        return Judgement.untested("no subset sizes were computed")
    shares = {cell: math.exp(log_chance) / (cell.setting.beta or 1.0) for cell, (_, log_chance) in tails.items()}
    cell, largest = max(shares.items(), key=lambda pair: pair[1])
    reached = drawn = 0
    for (dataset, contender, at), found in results.errors.items():
        tail = tails.get(Cell(dataset, "published-fastjoint", at))
        if contender == side.errors["fastjoint"] and tail is not None:
            reached, drawn = reached + int((found.linf >= tail[0]).sum()), drawn + len(found.linf)
    measured = (
        f"the largest probability at {len(tails)} settings is {write_short(largest)} of β "
        f"({results.title(cell.dataset)}, {cell.setting}); "
        f"the ℓ∞ error also counts a large item at a low place, so it may exceed the loss: it is τ or more in "
        f"{reached:,} of {drawn:,} drawn lists"
    )
    return Judgement.computed([largest <= 1], measured)


def time_grows_as_stated(results: Results, side: Side) -> Judgement:
    """The slope of log time against the log of the bound, over all data sets and settings, is at most 1.1."""
    slopes = {}
    bounds: dict[str, Callable[[int, Setting], float]] = {
        "fastjoint": lambda d, at: d + at.k * compute_tau(d, at.k, at.epsilon, at.beta or BETA),
        "joint": lambda d, at: d * at.k * math.log(at.k) + d * math.log(d),
    }
    for law, bound in bounds.items():
        points = [
            (bound(results.data[dataset].d, at), float(np.median(cell.cpu)))
            for (dataset, contender, at), cell in results.times.items()
            if contender == side.times[law]
        ]
        if len(points) > 5:
            x, y = np.log(np.array(points)).T
            slopes[law] = float(np.polyfit(x, y, 1)[0])
    if len(slopes) < 2:
        return Judgement.untested("too few settings were timed")
    measured = (
        f"time grows as the bound to the power {slopes['fastjoint']:.2f} for FastJoint, {slopes['joint']:.2f} for Joint"
    )
    return Judgement.computed([slope <= _SLOPE for slope in slopes.values()], measured)


def memory_is_smaller(results: Results, side: Side) -> Judgement:
    """FastJoint's largest memory is below Joint's at every measured data set and k."""
    factors = {}
    for (dataset, contender, at), held in results.memory.items():
        if contender == side.times["fastjoint"]:
            joint = find(results.memory, dataset, side.times["joint"], at)
            if joint is not None:
                factors[dataset, at.k] = joint / held
    if not factors:
        return Judgement.untested("memory was not measured")
    said = ", ".join(f"{results.title(name)} k = {k}: {write_short(factor)}×" for (name, k), factor in factors.items())
    return Judgement.computed([factor > 1 for factor in factors.values()], f"Joint's memory over FastJoint's: {said}")


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
    return Judgement.computed([share >= 0.9, share >= 0.5], measured)


def _judge_ratios(
    results: Results, side: Side, slow: str, fast: str, least: float, *, before_sequence: bool = False
) -> Judgement:
    """The time of one law over that of another is at least so large, at every k of every data set."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.datasets:
        found = compute_ratios(results, name, side.times[slow], side.times[fast], before_sequence=before_sequence)
        if found:
            comparisons += compare_times(results, name, found, "k", least)
            said.append(f"{results.title(name)} {write_spread(compute_medians(found))}")
    return judge_comparisons(comparisons, ", ".join(said), _NOT_SWEPT)


def _judge_errors(
    results: Results, pairs: Iterable[tuple[str, str, str]], settings: Sequence[Setting], vary: str = "k"
) -> Judgement:
    """On each data set, the errors of the first program are larger than those of the second, at every setting."""
    comparisons: list[Comparison] = []
    said = []
    for name, larger, smaller in pairs:
        comparisons += compare_errors(results, name, larger, smaller, settings, vary)
        values = compare_medians(results, name, smaller, larger, settings)
        if values:
            one, other = (CONTENDERS[program].spelling for program in (smaller, larger))
            said.append(f"{name}: {one} over {other} {write_spread(values)}")
    return judge_comparisons(comparisons, "median ℓ∞ + 1: " + ", ".join(said), _NO_ERRORS)
