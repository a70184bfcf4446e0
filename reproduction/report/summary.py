"""The tables of the report in Markdown: the page shows them, and `summary.md` has them for documents.

Each function returns the lines of one table. Without results it returns none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import CONTENDERS, DEFAULT, OTHERS, PAPER_LAWS, list_today
from reproduction.experiment.store import Results
from reproduction.report.claims import Finding, count_verdicts, list_sides
from reproduction.report.comparisons import Holding, compute_medians, compute_ratios, write_spread
from reproduction.report.figures import SPEED_UPS, name_speed_up
from reproduction.report.related_work import write_subsets
from shortlist.array_types import IntArray


def write_summary(results: Results, histograms: Sequence[Histogram], findings: Sequence[Finding]) -> str:
    """Write all tables below their heads."""
    tables = {
        "Verdicts": tally_verdicts(findings),
        "Claims": list_verdicts(findings),
        "How many times as fast FastJoint is as Joint": compare_speed(results),
        "Median CPU time in milliseconds": compare_times(results),
        "Lists of the released FastJoint that name an item twice": count_repeats(results),
        "Median ℓ∞ error, ℓ1 error, and CPU time in milliseconds": compare_today(results),
        "Subsets of the partitions": [*write_subsets(histograms)],
    }
    return "\n".join(f"## {head}\n\n" + "\n".join(lines) + "\n" for head, lines in tables.items() if lines)


def tally_verdicts(findings: Sequence[Finding]) -> list[str]:
    """How many claims got each verdict, for each side."""
    sides = list_sides(findings)
    counts = {holding: [count_verdicts(findings, side)[holding] for side in sides] for holding in Holding}
    rows = ([str(holding), *map(str, each)] for holding, each in counts.items() if any(each))
    return _write(["verdict"], [side.title for side in sides], rows)


def list_verdicts(findings: Sequence[Finding]) -> list[str]:
    """The verdicts on each claim, without the numbers behind them."""
    sides = list_sides(findings)
    rows = (
        [f"“{each.claim.text}”", each.claim.place, *(f"**{each.judgements[side.title].holding}**" for side in sides)]
        for each in findings
    )
    return _write(["claim of the paper", "place", *(side.title for side in sides)], [], rows)


def compare_speed(results: Results) -> list[str]:
    """Ratios of times in the same round: the median over k, with the smallest and the largest median at one k."""
    rows = []
    for dataset in results.datasets:
        found = [
            compute_ratios(results, dataset, one, other, before_sequence=before) for one, other, before, _ in SPEED_UPS
        ]
        if any(found):
            rows.append(
                [results.title(dataset), *(write_spread(compute_medians(each)) if each else "" for each in found)]
            )
    return _write(["data set"], [name_speed_up(*each[:3]) for each in SPEED_UPS], rows)


def compare_times(results: Results) -> list[str]:
    """Medians at the default setting: of the released programs, of the published algorithms, and of ours."""
    measured = {key[1] for key in results.times}
    laws = (*PAPER_LAWS, *OTHERS)
    names = [each.name for each in CONTENDERS.values() if each.law in laws and each.name in measured]
    rows = (
        [CONTENDERS[name].label, *(_write_time(results, dataset, name) for dataset in results.datasets)]
        for name in names
    )
    return _write(["program"], [*map(results.title, results.datasets)], rows)


def count_repeats(results: Results) -> list[str]:
    """At each data set, k and ε with such lists: those of the released FastJoint that name an item more than once."""
    found: dict[tuple[str, int, float], list[IntArray]] = {}
    for (dataset, contender, at), cell in results.errors.items():
        if contender == "released-fastjoint":
            found.setdefault((dataset, at.k, at.epsilon), []).append(cell.repeats)
    rows = []
    for dataset, k, epsilon in sorted(found, key=lambda key: (results.datasets.index(key[0]), *key[1:])):
        repeats = np.concatenate(found[dataset, k, epsilon])
        lists = np.count_nonzero(repeats)
        if lists:
            share = f"{lists:,} of {len(repeats):,}"
            rows.append([results.title(dataset), str(k), f"{epsilon:g}", share, str(repeats.max())])
    return _write(["data set"], ["k", "ε", "lists with a repeat", "most repeats in one list"], rows)


def compare_today(results: Results) -> list[str]:
    """What this package offers beyond the paper's laws, beside CDP-Peel and Joint, at the default setting."""
    names = [name for name in ("joint", "cdp-peel", *list_today()) if name in results.contenders]
    if not {*list_today()} & {*names}:
        return []
    rows = []
    for dataset in results.datasets:
        cells = [results.errors.get(results.key(dataset, name, DEFAULT)) for name in names]
        if any(cells):
            medians = [
                "" if each is None else f"{np.median(each.linf):,.0f}; {np.median(each.l1):,.0f}" for each in cells
            ]
            times = (_write_time(results, dataset, name) for name in names)
            rows.append([results.title(dataset), *map("; ".join, zip(medians, times, strict=True))])
    return _write(["data set"], names, rows)


def write_number(value: float) -> str:
    """Write a number without an exponent: whole from 100 on, three digits below.

    >>> write_number(1234567.5), write_number(1024.2), write_number(42.69), write_number(0.0988), write_number(0.0)
    ('1,234,568', '1,024', '42.7', '0.0988', '0')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _write_time(results: Results, dataset: str, name: str) -> str:
    found = results.times.get(results.key(dataset, name, DEFAULT))
    return "–" if found is None else write_number(1e3 * float(np.median(found.cpu)))


def _write(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table: columns of words, then columns of numbers, which are aligned to the right."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    heads = f"| {' | '.join((*words, *numbers))} |", "|---" * len(words) + "|--:" * len(numbers) + "|"
    return [*heads, *lines] if lines else []
