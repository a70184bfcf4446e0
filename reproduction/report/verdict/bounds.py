"""The claims of the theorems: the pruning probability, the growth of time, and memory. No chance enters here."""

from __future__ import annotations

import math

import numpy as np

from reproduction.experiment.contenders import Setting, write_beta
from reproduction.experiment.grid import BETAS, DEFAULT
from reproduction.experiment.results import Results
from reproduction.published.fastjoint import compute_truncation
from reproduction.report.verdict.claim import Holding, Judgement, Side
from reproduction.report.verdict.compare import write_short

_SLOPE = 1.1
_SLIGHT = 0.05


def pruning_is_improbable(results: Results, side: Side) -> Judgement:
    """Pr[loss ≥ τ] ≤ β, computed from the subset sizes; beside it, how many drawn lists have such an ℓ∞ error."""
    tails = results.tables.tails
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


def threshold_hardly_changes(results: Results, side: Side) -> Judgement:
    """τ at every β is within 5 % of τ at the default."""
    changes = {}
    for name in results.datasets:
        at_default = compute_truncation(results.d(name), DEFAULT.k, DEFAULT.epsilon, BETAS[len(BETAS) // 2])
        for beta in BETAS:
            tau = compute_truncation(results.d(name), DEFAULT.k, DEFAULT.epsilon, beta)
            changes[name, beta] = abs(tau / at_default - 1)
    if not changes:
        return Judgement.untested("nothing was measured")
    (name, beta), largest = max(changes.items(), key=lambda pair: pair[1])
    measured = f"the largest change is {100 * largest:.1f} % ({name}, β = {write_beta(beta)})"
    return Judgement(holding=Holding.YES if largest <= _SLIGHT else Holding.NO, measured=measured)


def gaps_are_larger_on_news(results: Results, side: Side) -> Judgement:
    """The median gap between neighbours of the top scores is at least 10 times as large on news as on games."""
    gaps = {name: results.gaps[name] for name in ("news", "games") if name in results.gaps and name in results.real}
    if len(gaps) < 2:
        return Judgement.untested("news and games were not both there as real data")
    measured = f"median gap: news {gaps['news']:,.0f}, games {gaps['games']:,.0f}"
    return Judgement(holding=Holding.YES if gaps["news"] >= 10 * gaps["games"] else Holding.NO, measured=measured)


def time_grows_as_stated(results: Results, side: Side) -> Judgement:
    """The slope of log time against the log of the bound, over all data sets and settings, is at most 1.1."""
    slopes = {}
    for law, bound in (("fastjoint", _fastjoint_bound), ("joint", _joint_bound)):
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


def memory_is_smaller(results: Results, side: Side) -> Judgement:
    """FastJoint's largest memory is below Joint's at every measured data set and k."""
    factors = {}
    for (dataset, contender, at), held in results.tables.memory.items():
        if contender == side.times["fastjoint"]:
            joint = results.tables.memory.get(results.key(dataset, side.times["joint"], at))
            if joint is not None:
                factors[dataset, at.k] = joint / held
    if not factors:
        return Judgement.untested("memory was not measured")
    smaller = sum(factor > 1 for factor in factors.values())
    said = ", ".join(f"{results.title(name)} k = {k}: {write_short(factor)}×" for (name, k), factor in factors.items())
    holding = Holding.YES if smaller == len(factors) else Holding.PART if smaller else Holding.NO
    return Judgement(holding=holding, measured=f"Joint's memory over FastJoint's: {said}")


def _fastjoint_bound(d: int, at: Setting) -> float:
    return d + at.k * compute_truncation(d, at.k, at.epsilon, at.beta or 2.0**-10)


def _joint_bound(d: int, at: Setting) -> float:
    return d * at.k * math.log(at.k) + d * math.log(d)
