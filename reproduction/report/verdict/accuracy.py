"""The claims about errors. Only real data count here: the details of a stand-in are invented."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reproduction.data.datasets import DATASETS
from reproduction.experiment.contenders import Setting
from reproduction.experiment.grid import DEFAULT, SWEEPS
from reproduction.experiment.results import Results
from reproduction.report.verdict.claim import Comparison, Judgement, Side, judge_comparisons
from reproduction.report.verdict.compare import compare_errors, compare_medians, write_spread

_NO_DATA = "no errors were drawn on real data"
_MODERATE = tuple(at for at in SWEEPS["k"] if at.k >= DEFAULT.k)


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
    if not comparisons:
        return Judgement.untested(_NO_DATA)
    return judge_comparisons(comparisons, "median ℓ∞ + 1 over Joint's: " + ", ".join(said), absence=True)


def better_than_pnf_peel(results: Results, side: Side) -> Judgement:
    """PNF-Peel's errors are larger at every k."""
    return _larger(results, results.real, side.errors["pnf-peel"], side.errors["fastjoint"], SWEEPS["k"])


def better_than_cdp_peel(results: Results, side: Side) -> Judgement:
    """CDP-Peel's errors are larger at every k from 100 on."""
    return _larger(results, results.real, side.errors["cdp-peel"], side.errors["fastjoint"], _MODERATE)


def good_where_gaps_are_large(results: Results, side: Side) -> Judgement:
    """The errors of both peels are larger at every k from 100 on, on real data with large gaps."""
    fast = side.errors["fastjoint"]
    comparisons: list[Comparison] = []
    said = []
    for name in (each for each in results.real if DATASETS[each].wide_gaps):
        for law in ("pnf-peel", "cdp-peel"):
            comparisons += compare_errors(results, name, side.errors[law], fast, _MODERATE, "k")
            values = compare_medians(results, name, fast, side.errors[law], _MODERATE)
            if values:
                said.append(f"{name}: median ℓ∞ + 1 over {law}'s {write_spread(values)}")
    if not comparisons:
        return Judgement.untested(_NO_DATA)
    return judge_comparisons(comparisons, "; ".join(said))


def good_on_news_and_not_on_games(results: Results, side: Side) -> Judgement:
    """On news better than both peels at every ε; on games better than PNF-Peel and worse than CDP-Peel."""
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


def others_are_dominated(results: Results, side: Side) -> Judgement:
    """Gamma's errors are larger than PNF-Peel's, and Laplace's larger than CDP-Peel's, at every k."""
    comparisons: list[Comparison] = []
    said = []
    for weak, strong in (("gamma", "pnf-peel"), ("laplace", "cdp-peel")):
        values = []
        for name in results.real:
            comparisons += compare_errors(results, name, side.errors[weak], side.errors[strong], SWEEPS["k"], "k")
            values += compare_medians(results, name, side.errors[weak], side.errors[strong], SWEEPS["k"])
        if values:
            said.append(f"median ℓ∞ + 1 of {weak} over {strong}'s {write_spread(values)}")
    if not comparisons:
        return Judgement.untested(_NO_DATA)
    return judge_comparisons(comparisons, "; ".join(said))


def _larger(
    results: Results, datasets: Sequence[str], larger: str, smaller: str, settings: Sequence[Setting]
) -> Judgement:
    comparisons: list[Comparison] = []
    said = []
    for name in datasets:
        comparisons += compare_errors(results, name, larger, smaller, settings, "k")
        values = compare_medians(results, name, smaller, larger, settings)
        if values:
            said.append(f"{name} {write_spread(values)}")
    if not comparisons:
        return Judgement.untested(_NO_DATA)
    return judge_comparisons(comparisons, "FastJoint's median ℓ∞ + 1 over the other's: " + ", ".join(said))
