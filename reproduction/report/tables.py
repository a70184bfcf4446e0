"""The tables of the report: in Markdown, which the page shows and `summary.md` has for documents, and as HTML.

Each function that returns lines returns those of one table in Markdown. Without results it returns none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import starmap

import numpy as np

from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import CONTENDERS, DEFAULT, OTHERS, PAPER_LAWS, Cell, list_today, write_beta
from reproduction.experiment.store import Results, find
from reproduction.report.claims import Finding, count_verdicts
from reproduction.report.comparisons import Holding, compute_medians, compute_ratios, write_spread
from reproduction.report.figures import SPEED_UPS, name_speed_up
from reproduction.report.related_work import write_subsets
from shortlist.array_types import IntArray

Entry = tuple[str, float | str]
"""What a field shows, and what it is sorted by."""


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
    counts = count_verdicts(findings)
    rows = ([str(holding), *(str(each[holding]) for each in counts.values())] for holding in Holding)
    return _write(["verdict"], list(counts), (row for row in rows if {*row[1:]} != {"0"}))


def list_verdicts(findings: Sequence[Finding]) -> list[str]:
    """The verdicts on each claim, without the numbers behind them."""
    rows = (
        [f"“{each.claim.text}”", each.claim.place, *(f"**{found.holding}**" for found in each.judgements.values())]
        for each in findings
    )
    return _write(["claim of the paper", "place", *findings[0].judgements], [], rows)


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
    measured = {cell.contender for cell in results.times}
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
        cells = [find(results.errors, dataset, name, DEFAULT) for name in names]
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
    found = find(results.times, dataset, name, DEFAULT)
    return "–" if found is None else write_number(1e3 * float(np.median(found.cpu)))


def _write(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Write a table: columns of words, then columns of numbers, which are aligned to the right."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    heads = f"| {' | '.join((*words, *numbers))} |", "|---" * len(words) + "|--:" * len(numbers) + "|"
    return [*heads, *lines] if lines else []


def write_verdict(findings: Sequence[Finding]) -> str:
    """Write the claims, and what was found about them."""
    heads = ["Claim of the paper", *map(str.capitalize, findings[0].judgements), "How it is judged"]
    rows = (
        [
            f"“{escape(each.claim.text)}” <small>({escape(each.claim.place)})</small>",
            *(
                f'<span class="badge {found.holding.name.lower()}">{found.holding}</span> {escape(found.measured)}'
                for found in each.judgements.values()
            ),
            escape(each.claim.rule),
        ]
        for each in findings
    )
    return _write_cards(heads, rows)


def write_cells(results: Results, dataset: str) -> str:
    """Write every cell of a data set, in a section that can be opened."""
    heads = ["program", "k", "ε", "β", "lists", "ℓ∞", "quartiles", "ℓ1", "quartiles"]
    heads += ["rounds", "CPU, ms", "quartiles", "wall, ms", "versions"]
    cells = dict.fromkeys((*results.errors, *results.times))
    rows = [_write_cell(results, each) for each in cells if each.dataset == dataset]
    summary = f"{escape(results.title(dataset))}: {len(rows)} cells"
    return f"<details><summary>{summary}</summary>{write_sortable(heads, rows)}</details>"


def write_failures(results: Results) -> str:
    """The cells that failed, and why."""
    if not results.failures:
        return ""
    rows: list[list[Entry]] = [
        [(results.title(cell.dataset), cell.dataset), *_where(cell), (failure, failure)]
        for cell, failure in results.failures.items()
    ]
    return f"<h2>Cells that failed</h2>{write_sortable(('data set', 'program', 'k', 'ε', 'β', 'failure'), rows)}"


def convert_table(lines: Sequence[str]) -> str:
    """Convert a table in Markdown. One with columns of numbers scrolls by itself; others are cards on a phone."""
    if not lines:
        return ""
    rows = [[field.strip().replace("\\|", "|") for field in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads, kinds, *body = rows
    if "--:" not in kinds:
        return _write_cards([head.capitalize() for head in heads], [map(escape, row) for row in body])
    classes = [' class="number"' if kind == "--:" else "" for kind in kinds]

    def write_row(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}{kind}>{escape(field)}</{tag}>" for kind, field in zip(classes, row, strict=True))

    table = _write_table("numbers", [write_row("th", heads)], [write_row("td", row) for row in body])
    return f'<div class="wide">{table}</div>'


def write_sortable(heads: Sequence[str], rows: Sequence[Sequence[Entry]]) -> str:
    """Write a table that the script of the page sorts by a touch on a head. A wide table scrolls by itself.

    Columns of numbers are aligned to the right.
    """
    buttons = []
    for place, head in enumerate(heads):
        kind = "" if rows and isinstance(rows[0][place][1], str) else ' class="number"'
        buttons.append(f'<th{kind} aria-sort="none"><button type="button">{escape(head)}</button></th>')
    body = ["".join(starmap(_write_field, row)) for row in rows]
    return f'<div class="wide">{_write_table("sortable", buttons, body)}</div>'


def _write_cards(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table that is one on a wide screen, and cards on a phone. Its fields are HTML."""
    body = [
        "".join(f'<td data-head="{escape(head)}">{field}</td>' for head, field in zip(heads, row, strict=True))
        for row in rows
    ]
    return _write_table("cards", (f"<th>{escape(head)}</th>" for head in heads), body)


def _write_cell(results: Results, cell: Cell) -> list[Entry]:
    entries = _where(cell)
    errors, times = results.errors.get(cell), results.times.get(cell)
    entries.append(_number(None if errors is None else len(errors.linf)))
    for values in (None, None) if errors is None else (errors.linf, errors.l1):
        entries += _quartiles(values)
    entries.append(_number(None if times is None else len(times.cpu)))
    entries += _quartiles(None if times is None else 1e3 * times.cpu)
    entries.append(_number(None if times is None else 1e3 * float(np.median(times.wall))))
    versions = ", ".join(code[:6] for code in results.find_versions(cell))
    entries.append((versions, versions))
    return entries


def _quartiles(values: object) -> list[Entry]:
    if values is None:
        return [_number(None), ("", -1.0)]
    low, middle, high = (float(each) for each in np.quantile(np.asarray(values), [0.25, 0.5, 0.75]))
    return [_number(middle), (f"{write_number(low)}–{write_number(high)}", high - low)]


def _number(value: float | None) -> Entry:
    return ("", -1.0) if value is None else (write_number(value), value)


def _where(cell: Cell) -> list[Entry]:
    _, contender, at = cell
    beta: Entry = ("", -1.0) if at.beta is None else (write_beta(at.beta), at.beta)
    return [(CONTENDERS[contender].label, contender), (str(at.k), at.k), (f"{at.epsilon:g}", at.epsilon), beta]


def _write_field(text: str, value: float | str) -> str:
    kind = "" if isinstance(value, str) else ' class="number"'
    return f'<td{kind} data-value="{escape(str(value))}">{escape(text)}</td>'


def _write_table(kind: str, heads: Iterable[str], rows: Sequence[str]) -> str:
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return f'<table class="{kind}"><thead><tr>{"".join(heads)}</tr></thead><tbody>\n{body}</tbody></table>'
