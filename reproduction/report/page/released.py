"""Differences between the released programs and the paper, and a test of their lists against the published laws."""

from __future__ import annotations

from html import escape

import numpy as np

from reproduction.experiment.contenders import CONTENDERS, Maker
from reproduction.experiment.results import Results
from reproduction.report.page.tables import Entry, write_number, write_sortable
from reproduction.report.verdict.statistics import ALPHA, rank_test, reject

ABSENT = (
    "<p>The programs that the paper timed were not run: no folder was given with <code>--released</code>. So the "
    "columns and lines of the released programs are absent, and every verdict is on the programs that were written "
    "anew here. These are faster than the released ones, so ratios of times differ.</p>"
)
_REPEATS = (
    "<p>The authors’ FastJoint may name an item more than once. When all groups of equal counts are used up, its "
    "function <code>expand_candidates</code> returns the last index and not the next one. The last group is then added "
    "again at every later position. Such a list does not have k distinct items, so Theorem 4.1 does not describe it. "
    "The programs written anew here never repeat an item. Three items are enough to see it: counts 2, 1, 0 with k = 3."
    "</p>"
)


def describe_released(results: Results) -> str:
    """The section on the released programs."""
    if not results.has_released:
        return ABSENT
    return _REPEATS + _repeats(results) + _compare_errors(results)


def count_repeats(results: Results) -> dict[tuple[str, int, float], tuple[int, int, int]]:
    """At each data set, k and ε: lists of the released FastJoint with a repeat, all lists, and most repeats in one."""
    found: dict[tuple[str, int, float], tuple[int, int, int]] = {}
    for (dataset, contender, at), cell in results.errors.items():
        if contender == "released-fastjoint" and cell.repeats.any():
            key = dataset, at.k, at.epsilon
            lists, total, most = found.get(key, (0, 0, 0))
            repeats = int((cell.repeats > 0).sum())
            found[key] = (lists + repeats, total + len(cell.repeats), max(most, int(cell.repeats.max())))
    return found


def _repeats(results: Results) -> str:
    found = count_repeats(results)
    clean = [results.title(name) for name in results.datasets if name not in {key[0] for key in found}]
    said = f"<p>No list with a repeat was drawn on {escape(', '.join(clean))}.</p>" if clean else ""
    if not found:
        return said
    rows: list[list[Entry]] = []
    for (dataset, k, epsilon), (lists, total, most) in sorted(
        found.items(), key=lambda entry: (results.datasets.index(entry[0][0]), *entry[0][1:])
    ):
        title = results.title(dataset)
        share = (f"{lists:,} of {total:,}", lists / total)
        rows.append([(title, title), (str(k), k), (f"{epsilon:g}", epsilon), share, (str(most), most)])
    heads = ("data set", "k", "ε", "lists with a repeat", "most repeats in one list")
    return said + write_sortable(heads, rows)


def _compare_errors(results: Results) -> str:
    """Compare the errors of the timed lists of released programs with those of the published law."""
    chances, cells = [], []
    for (dataset, contender, at), times in results.times.items():
        program = CONTENDERS[contender]
        if program.maker is Maker.RELEASED and program.law != "fastjoint":
            drawn = results.errors.get((dataset, f"published-{program.law}", at))
            if drawn is not None:
                both = min(rank_test(times.l1, drawn.l1), rank_test(drawn.l1, times.l1))
                chances.append(min(1.0, 2 * both))
                cells.append(f"{results.title(dataset)}, {program.label}, {at}")
    if not chances:
        return ""
    differing = [cell for cell, rejected in zip(cells, reject(chances), strict=True) if rejected]
    smallest = float(np.min(chances))
    found = f"differ at {len(differing)} ({escape('; '.join(differing[:5]))})" if differing else "differ at none"
    return (
        f"<p>The lists of the released Joint, PNF-Peel and CDP-Peel that were timed have errors as well. Compared with "
        f"those drawn from the same laws at {len(chances)} settings by rank tests of ℓ1, at a chance of {ALPHA:g} of "
        f"any false alarm, they {found}; the smallest chance of one comparison is {write_number(smallest)}.</p>"
    )
