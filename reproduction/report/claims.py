"""The claims of the paper's evaluation in its own words and in its order, each with its rule and its judge.

Stand-ins count where times are compared: time depends on the size of the data and little on its shape. Verdicts on
errors use real data only, because the details of a stand-in are invented. Where a claim is about a computed number, no
chance enters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from reproduction.experiment.contenders import Setting, write_beta
from reproduction.experiment.datasets import DATASETS
from reproduction.experiment.grid import BETAS, DEFAULT, SWEEPS
from reproduction.experiment.store import Results
from reproduction.fastjoint import compute_tau
from reproduction.report.comparisons import (
    SIDES,
    Comparison,
    Holding,
    Judgement,
    Side,
    compare_errors,
    compare_medians,
    compare_times,
    compute_medians,
    compute_ratios,
    judge_comparisons,
    rank_test,
    sign_test,
    smallest_rank_test,
    write_range,
    write_short,
    write_spread,
)

Judge = Callable[[Results, Side], Judgement]
_MODERATE = tuple(at for at in SWEEPS["k"] if at.k >= DEFAULT.k)
_VERY_LARGE = 100_000
_STEADY = 1.25
_JUMP = 1.5
_SLOPE = 1.1
_SLIGHT = 0.05
_NOT_SWEPT = "the sweep over k was not timed"
_NO_ERRORS = "no errors were drawn on real data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper in its own words, the rule by which it is judged, and the judge."""

    place: str
    text: str
    rule: str
    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with its judgement on each side, by the title of the side."""

    claim: Claim
    judgements: dict[str, Judgement]


CLAIMS: list[Claim] = []
"""The claims in the order of this file, which is the paper's."""


def judge_claims(results: Results) -> list[Finding]:
    """Judge every claim on the released programs, where they were run, and on those implemented here."""
    sides = [side for side in SIDES if side.present(results)]
    return [
        Finding(claim=claim, judgements={side.title: claim.judge(results, side) for side in sides}) for claim in CLAIMS
    ]


def list_sides(findings: Sequence[Finding]) -> list[Side]:
    """The sides on which claims were judged."""
    return [side for side in SIDES if findings and side.title in findings[0].judgements]


def count_verdicts(findings: Sequence[Finding], side: Side) -> dict[Holding, int]:
    """How many claims got each verdict on one side."""
    counts = Counter(each.judgements[side.title].holding for each in findings if side.title in each.judgements)
    return {holding: counts[holding] for holding in Holding}


def _claim(place: str, text: str, *, rule: str) -> Callable[[Judge], Judge]:
    """Enter a claim with the function below it as its judge."""

    def enter(judge: Judge) -> Judge:
        CLAIMS.append(Claim(place=place, text=text, rule=rule, judge=judge))
        return judge

    return enter


@_claim(
    "5, varying k",
    "FastJoint consistently outperforms Joint in terms of execution speed, running 10 to 100 times faster across "
    "various datasets.",
    rule="Joint's time over FastJoint's in the same round is at least 10 at every k of every data set",
)
def _faster_than_joint(results: Results, side: Side) -> Judgement:
    return _judge_ratios(results, side, "joint", "fastjoint", 10.0)


@_claim(
    "5, varying k",
    "FastJoint is slower than CDP-Peel; …",
    rule="FastJoint's time over CDP-Peel's in the same round is above 1 at every k of every data set",
)
def _slower_than_cdp_peel(results: Results, side: Side) -> Judgement:
    return _judge_ratios(results, side, "fastjoint", "cdp-peel", 1.0)


@_claim(
    "5, varying k",
    "We observe “jumps” in running time of Joint on the games and food datasets. … the current Python "
    "implementation of the Sequence Sampling step of Joint … introduces instability in the running time.",
    rule="at the largest jump between neighbouring k, beyond growth in proportion to k, the factor is smaller "
    "without the step in the same round",
)
def _jumps_come_from_the_step(results: Results, side: Side) -> Judgement:
    comparisons: list[Comparison] = []
    said = []
    for name in (each for each in ("games", "food") if each in results.datasets):
        jump = _find_largest_jump(results, name, side.times["joint"])
        if jump is None:
            continue
        said.append(
            f"{results.title(name)}: {write_short(jump.factor)}× at {jump.place}, {write_short(jump.without)}× without "
            f"the step, which takes up to {100 * jump.share:.0f} % of the time"
        )
        if jump.factor >= _JUMP:
            comparisons.append(
                Comparison(
                    where=f"{results.title(name)}, {jump.place}",
                    if_false=sign_test(jump.larger, jump.rounds),
                    if_true=sign_test(jump.rounds - jump.larger, jump.rounds),
                )
            )
    absent = "; ".join(said) + "; no jump was seen" if said else "Joint was not swept over k"
    return judge_comparisons(comparisons, "; ".join(said), absent)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Jump:
    """The largest jump of Joint's time between neighbouring k, beyond growth in proportion to k."""

    place: str
    factor: float
    without: float
    """The same factor without the sequence step."""
    larger: int
    """In how many rounds the factor is larger with the step."""
    rounds: int
    share: float
    """The largest share of the step in the time, over all k."""


def _find_largest_jump(results: Results, dataset: str, joint: str) -> _Jump | None:
    cells = results.times_along(dataset, joint, "k")
    best: _Jump | None = None
    share = max((1 - float(np.median(cell.before_cpu / cell.cpu)) for _, cell in cells), default=0.0)
    for (low, before), (high, after) in pairwise(cells):
        _, first, second = np.intersect1d(before.rounds, after.rounds, return_indices=True)
        growth = high.k / low.k
        factors = np.abs(np.log(after.cpu[second] / before.cpu[first] / growth))
        without = np.abs(np.log(after.before_cpu[second] / before.before_cpu[first] / growth))
        size = float(np.exp(np.median(factors)))
        if best is None or size > best.factor:
            best = _Jump(
                place=f"k = {low.k} to {high.k}",
                factor=size,
                without=float(np.exp(np.median(without))),
                larger=int((factors > without).sum()),
                rounds=len(first),
                share=share,
            )
    return best


@_claim(
    "5, varying k",
    "… this step does not constitute a bottleneck in their code and accounts for a constant fraction of the total "
    "running time …",
    rule="Joint's sequence step takes less than half of its time in the same round, at every k of every data set",
)
def _step_is_no_bottleneck(results: Results, side: Side) -> Judgement:
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
    return judge_comparisons(comparisons, "share of the step: " + ", ".join(said), _NOT_SWEPT)


@_claim(
    "5, varying k; appendix C",
    "Even with this adjustment [Joint without its sequence step], Joint remains order of magnitude slower.",
    rule="Joint's time before its sequence step over FastJoint's whole time in the same round is at least 10 at "
    "every k of every data set",
)
def _slower_without_the_step(results: Results, side: Side) -> Judgement:
    return _judge_ratios(results, side, "joint", "fastjoint", 10.0, before_sequence=True)


@_claim(
    "5, varying k",
    "For small datasets, FastJoint can be slower than PNF-Peel … as the dataset size increases (e.g., the food "
    "dataset), FastJoint outperforms PNF-Peel in terms of speed.",
    rule="FastJoint's time over PNF-Peel's in the same round is above 1 at some k of the smallest data set, and "
    "below 1 at every k of data with 100,000 items or more",
)
def _slower_than_pnf_peel_on_small_data_only(results: Results, side: Side) -> Judgement:
    fast, peel = side.times["fastjoint"], side.times["pnf-peel"]
    found = {name: compute_ratios(results, name, fast, peel) for name in results.datasets}
    found = {name: values for name, values in found.items() if values}
    if not found:
        return Judgement.untested(_NOT_SWEPT)
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


@_claim(
    "5, varying k",
    "Even with the pruning strategy, FastJoint does not experience quality degradation compared to Joint.",
    rule="at no k or ε of real data are FastJoint's ℓ∞ or ℓ1 errors larger by a rank test; with 200 lists each, a "
    "law that gives the larger error with probability 0.7 is noticed with probability 0.99",
)
def _no_worse_than_joint(results: Results, side: Side) -> Judgement:
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


@_claim(
    "5, varying k",
    "[FastJoint] performs particularly well on the books, news, tweets, and movies datasets, where there are large "
    "gaps between the top-k scores.",
    rule="on those of them that are real, the ℓ∞ and ℓ1 errors of both peels are larger at every k of at least 100, "
    "by rank tests",
)
def _good_where_gaps_are_large(results: Results, side: Side) -> Judgement:
    fast = side.errors["fastjoint"]
    comparisons: list[Comparison] = []
    said = []
    for name in (each for each in results.real if DATASETS[each].wide_gaps):
        for law in ("pnf-peel", "cdp-peel"):
            comparisons += compare_errors(results, name, side.errors[law], fast, _MODERATE, "k")
            values = compare_medians(results, name, fast, side.errors[law], _MODERATE)
            if values:
                said.append(f"{name}: median ℓ∞ + 1 over {law}'s {write_spread(values)}")
    return judge_comparisons(comparisons, "; ".join(said), _NO_ERRORS)


@_claim(
    "5, varying k",
    "FastJoint consistently outperforms the pure differentially private PNF-Peel for all values of k …",
    rule="PNF-Peel's ℓ∞ and ℓ1 errors are larger at every k of real data, by rank tests",
)
def _better_than_pnf_peel(results: Results, side: Side) -> Judgement:
    return _judge_errors(results, side.errors["pnf-peel"], side.errors["fastjoint"], SWEEPS["k"])


@_claim(
    "5, varying k",
    "… and the approximate differentially private CDP-Peel for at least moderately large k.",
    rule="CDP-Peel's ℓ∞ and ℓ1 errors are larger at every k of at least 100 of real data, by rank tests",
)
def _better_than_cdp_peel(results: Results, side: Side) -> Judgement:
    return _judge_errors(results, side.errors["cdp-peel"], side.errors["fastjoint"], _MODERATE)


@_claim(
    "5, varying ε",
    "FastJoint and Joint perform particularly well on the news dataset and are only slightly better than PNF-Peel and "
    "inferior to CDP-Peel on the games dataset.",
    rule="at every ε, by rank tests: on news FastJoint's errors are smaller than those of both peels; on games "
    "smaller than PNF-Peel's and larger than CDP-Peel's",
)
def _good_on_news_and_not_on_games(results: Results, side: Side) -> Judgement:
    fast, pnf, cdp = (side.errors[law] for law in ("fastjoint", "pnf-peel", "cdp-peel"))
    swept = [name for name in results.real if len(results.errors_along(name, fast, "epsilon")) > 1]
    if not {"news", "games"} <= {*swept}:
        return Judgement.untested("errors were not drawn along ε on both news and games as real data")
    pairs = {"news": ((pnf, fast), (cdp, fast)), "games": ((pnf, fast), (fast, cdp))}
    comparisons: list[Comparison] = []
    said = []
    for name, claims in pairs.items():
        for larger, smaller in claims:
            comparisons += compare_errors(results, name, larger, smaller, SWEEPS["epsilon"], "epsilon")
        for law, other in (("PNF-Peel", pnf), ("CDP-Peel", cdp)):
            values = compare_medians(results, name, fast, other, SWEEPS["epsilon"])
            if values:
                said.append(f"{name}: median ℓ∞ + 1 over {law}'s {write_spread(values)}")
    return judge_comparisons(comparisons, "; ".join(said))


@_claim(
    "5, varying ε; appendix C",
    "… the gaps between the large scores in the former dataset [news] are significantly larger than in the latter "
    "[games].",
    rule="the median gap between neighbours of the top 300 scores is at least 10 times as large; it is computed, so no "
    "chance enters",
)
def _gaps_are_larger_on_news(results: Results, side: Side) -> Judgement:
    gaps = {name: results.gaps[name] for name in ("news", "games") if name in results.gaps and name in results.real}
    if len(gaps) < 2:
        return Judgement.untested("news and games were not both there as real data")
    measured = f"median gap: news {gaps['news']:,.0f}, games {gaps['games']:,.0f}"
    return Judgement(holding=Holding.YES if gaps["news"] >= 10 * gaps["games"] else Holding.NO, measured=measured)


@_claim(
    "5, varying ε",
    "The running time comparison resembles that of the varying-k plots …",
    rule="at every ε of every data set, Joint's time is above FastJoint's and FastJoint's above CDP-Peel's, in the "
    "same round",
)
def _order_is_the_same_along_epsilon(results: Results, side: Side) -> Judgement:
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


@_claim(
    "5, varying ε",
    "The running time of FastJoint exhibits a clear decrease as ε increases.",
    rule="at every ε but the largest, FastJoint's time over that at the next ε in the same round is above 1",
)
def _time_falls_with_epsilon(results: Results, side: Side) -> Judgement:
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
    measured = "time at ε = ¼ over time at ε = 4: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, "the sweep over ε was not timed")


@_claim(
    "5, varying β",
    "Joint, PNF-Peel and CDP-Peel do not exhibit significant performance variation concerning β. … it is somewhat "
    "surprising that FastJoint does not neither.",
    rule="at every β, FastJoint's time is within 25 % of that at the default in the same round, and no rank test tells "
    "its errors from those at the default",
)
def _beta_hardly_matters(results: Results, side: Side) -> Judgement:
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
        comparisons += _compare_errors_with_default(results, name, side.errors["fastjoint"])
        if default is not None:
            said.append(f"{results.title(name)} {worst:.2f}×")
    measured = "largest factor between the median time at any β and at the default: " + ", ".join(said)
    return judge_comparisons(comparisons, measured, "the sweep over β was not run", no_difference=True)


def _compare_errors_with_default(results: Results, dataset: str, program: str) -> list[Comparison]:
    default = results.errors.get(results.key(dataset, program, DEFAULT))
    found = []
    for at, cell in results.errors_along(dataset, program, "beta"):
        if default is not None and at != DEFAULT:
            both = min(rank_test(cell.linf, default.linf), rank_test(default.linf, cell.linf))
            where = f"{results.title(dataset)} ℓ∞, {write_range([at], 'beta')}"
            least = 2 * smallest_rank_test(len(cell.linf), len(default.linf))
            found.append(Comparison(where=where, if_false=1.0, if_true=min(1.0, 2 * both), smallest=least))
    return found


@_claim(
    "5, varying β",
    "Consequently, τ changes only slightly as β varies.",
    rule="τ at every β is within 5 % of τ at the default, at k = 100 and ε = 1; it is computed, so no chance enters",
)
def _threshold_hardly_changes(results: Results, side: Side) -> Judgement:
    changes = {}
    for name in results.datasets:
        at_default = compute_tau(results.d(name), DEFAULT.k, DEFAULT.epsilon, BETAS[len(BETAS) // 2])
        for beta in BETAS:
            changes[name, beta] = abs(compute_tau(results.d(name), DEFAULT.k, DEFAULT.epsilon, beta) / at_default - 1)
    if not changes:
        return Judgement.untested("nothing was measured")
    (name, beta), largest = max(changes.items(), key=lambda pair: pair[1])
    measured = f"the largest change is {100 * largest:.1f} % ({name}, β = {write_beta(beta)})"
    return Judgement(holding=Holding.YES if largest <= _SLIGHT else Holding.NO, measured=measured)


@_claim(
    "5, baselines",
    "… the Gamma mechanism and the Laplace mechanism, which are empirically dominated by PNF-Peel and CDP-Peel "
    "respectively.",
    rule="at every k of real data, Gamma's errors are larger than PNF-Peel's and Laplace's larger than CDP-Peel's, by "
    "rank tests",
)
def _others_are_dominated(results: Results, side: Side) -> Judgement:
    comparisons: list[Comparison] = []
    said = []
    for weak, strong in (("gamma", "pnf-peel"), ("laplace", "cdp-peel")):
        values = []
        for name in results.real:
            comparisons += compare_errors(results, name, side.errors[weak], side.errors[strong], SWEEPS["k"], "k")
            values += compare_medians(results, name, side.errors[weak], side.errors[strong], SWEEPS["k"])
        if values:
            said.append(f"median ℓ∞ + 1 of {weak} over {strong}'s {write_spread(values)}")
    return judge_comparisons(comparisons, "; ".join(said), _NO_ERRORS)


@_claim(
    "4, Theorem 4.1 and Lemma 4.6",
    "The probability of [FastJoint] sampling an s with [loss] ≥ τ is at most β.",
    rule="the probability, computed from the subset sizes at every data set and setting, is at most β; no chance "
    "enters",
)
def _pruning_is_improbable(results: Results, side: Side) -> Judgement:
    tails = results.tails
    if not tails:
        return Judgement.untested("no subset sizes were computed")
    shares = {key: math.exp(log_probability) / (key[2].beta or 1.0) for key, (_, log_probability) in tails.items()}
    key, largest = max(shares.items(), key=lambda pair: pair[1])
    reached = drawn = 0
    for (dataset, contender, at), found in results.errors.items():
        tail = tails.get((dataset, "published-fastjoint", at))
        if contender == side.errors["fastjoint"] and tail is not None:
            reached, drawn = reached + int((found.linf >= tail[0]).sum()), drawn + len(found.linf)
    measured = (
        f"the largest probability at {len(tails)} settings is {write_short(largest)} of β "
        f"({results.title(key[0])}, {key[2]}); "
        f"the ℓ∞ error also counts a large item at a low place, so it may exceed the loss: it is τ or more in "
        f"{reached:,} of {drawn:,} drawn lists"
    )
    return Judgement(holding=Holding.YES if largest <= 1 else Holding.NO, measured=measured)


@_claim(
    "3 and 4, Theorem 4.1",
    "[FastJoint] has an implementation with time … complexity O(d + k·τ). … [Joint] with time O(dk log k + d log d).",
    rule="over all data sets and settings, the slope of log median time against the log of the bound is at most 1.1; a "
    "comparison, not a test",
)
def _time_grows_as_stated(results: Results, side: Side) -> Judgement:
    slopes = {}
    for law, bound in (("fastjoint", _bound_fastjoint), ("joint", _bound_joint)):
        points = [
            (bound(results.d(dataset), at), float(np.median(cell.cpu)))
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
    met = [slope <= _SLOPE for slope in slopes.values()]
    holding = Holding.YES if all(met) else Holding.PART if any(met) else Holding.NO
    return Judgement(holding=holding, measured=measured)


def _bound_fastjoint(d: int, at: Setting) -> float:
    return d + at.k * compute_tau(d, at.k, at.epsilon, at.beta or 2.0**-10)


def _bound_joint(d: int, at: Setting) -> float:
    return d * at.k * math.log(at.k) + d * math.log(d)


@_claim(
    "3 and 4, Theorem 4.1",
    "[FastJoint] reduces the time and space complexity to O(d + k·τ). … [Joint] with … space O(dk).",
    rule="the most memory that one list takes is smaller for FastJoint at every measured data set and k; no chance "
    "enters",
)
def _memory_is_smaller(results: Results, side: Side) -> Judgement:
    factors = {}
    for (dataset, contender, at), held in results.memory.items():
        if contender == side.times["fastjoint"]:
            joint = results.memory.get(results.key(dataset, side.times["joint"], at))
            if joint is not None:
                factors[dataset, at.k] = joint / held
    if not factors:
        return Judgement.untested("memory was not measured")
    smaller = sum(factor > 1 for factor in factors.values())
    said = ", ".join(f"{results.title(name)} k = {k}: {write_short(factor)}×" for (name, k), factor in factors.items())
    holding = Holding.YES if smaller == len(factors) else Holding.PART if smaller else Holding.NO
    return Judgement(holding=holding, measured=f"Joint's memory over FastJoint's: {said}")


@_claim(
    "appendix C",
    "The running time of the algorithms is quite stable.",
    rule="at nine cells of ten that take over 1 ms, the quartiles of the time lie within a quarter of the median; a "
    "comparison, not a test",
)
def _times_are_stable(results: Results, side: Side) -> Judgement:
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


def _judge_errors(results: Results, larger: str, smaller: str, settings: Sequence[Setting]) -> Judgement:
    """The errors of one program are larger than those of another, at every setting of real data."""
    comparisons: list[Comparison] = []
    said = []
    for name in results.real:
        comparisons += compare_errors(results, name, larger, smaller, settings, "k")
        values = compare_medians(results, name, smaller, larger, settings)
        if values:
            said.append(f"{name} {write_spread(values)}")
    return judge_comparisons(comparisons, "FastJoint's median ℓ∞ + 1 over the other's: " + ", ".join(said), _NO_ERRORS)
