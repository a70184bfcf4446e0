"""The tables of the report, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import starmap

import numpy as np

from reproduction.experiment.grid import CONTENDERS, DEFAULT, OTHERS, PAPER_LAWS, TODAY, write_beta
from reproduction.experiment.store import Key, Results
from reproduction.report.claims import Finding, count_verdicts, list_sides
from reproduction.report.comparisons import Holding

Entry = tuple[str, float | str]
"""What a field shows, and what it is sorted by."""


def write_tallies(findings: Sequence[Finding]) -> str:
    """How many claims got each verdict, for each side."""
    sides = list_sides(findings)
    rows = []
    for holding in Holding:
        counts = [count_verdicts(findings, side)[holding] for side in sides]
        if any(counts):
            numbers = "".join(f'<td class="number">{count}</td>' for count in counts)
            rows.append(f"<td>{_badge(holding)}</td>{numbers}")
    heads = ("", *(escape(side.title) for side in sides))
    return _write_table("tally", (f"<th>{head}</th>" for head in heads), rows)


def write_verdict(findings: Sequence[Finding]) -> str:
    """Write the claims, and what was found about them."""
    sides = list_sides(findings)
    heads = ["Claim of the paper", *(side.title.capitalize() for side in sides), "How it is judged"]
    rows = []
    for each in findings:
        fields = [f"“{escape(each.claim.text)}” <small>({escape(each.claim.place)})</small>"]
        for side in sides:
            found = each.judgements[side.title]
            fields.append(f"{_badge(found.holding)} {escape(found.measured)}")
        rows.append([*fields, escape(each.claim.rule)])
    return _write_cards(heads, rows)


def compare_programs(results: Results) -> str:
    """Ours beside the released and the published program of the same law, at the default setting."""
    heads = ("data set", "law", "released, ms", "published, ms", "ours, ms", "ℓ∞ published", "ℓ∞ ours")
    rows: list[list[Entry]] = []
    for dataset in results.datasets:
        for law in (*PAPER_LAWS, *OTHERS):
            names = (f"released-{law}", f"published-{law}", law)
            times = [_find_time(results, dataset, name) for name in names]
            losses = [_find_loss(results, dataset, name) for name in names[1:]]
            if any(time is not None for time in times):
                title = results.title(dataset)
                rows.append([(title, title), (law, law), *map(_number, (*times, *losses))])
    return write_sortable(heads, rows) if rows else "<p>The default setting was not timed.</p>"


def write_today(results: Results) -> str:
    """What this package offers beyond the paper's laws, beside CDP-Peel and Joint. It is empty without results."""
    extra = [name for name in results.contenders if name in TODAY]
    if not extra:
        return ""
    heads = ("data set", "mechanism", "time, ms", "median ℓ∞", "median ℓ1")
    rows: list[list[Entry]] = []
    for dataset in results.datasets:
        for name in ("joint", "cdp-peel", *extra):
            found, time = results.errors.get(results.key(dataset, name, DEFAULT)), _find_time(results, dataset, name)
            if found is not None:
                title = results.title(dataset)
                numbers = (time, float(np.median(found.linf)), float(np.median(found.l1)))
                rows.append([(title, title), (name, name), *map(_number, numbers)])
    return write_sortable(heads, rows)


def write_cells(results: Results, dataset: str) -> str:
    """Write every cell of a data set, in a section that can be opened."""
    heads = ["program", "k", "ε", "β", "lists", "ℓ∞", "quartiles", "ℓ1", "quartiles"]
    heads += ["rounds", "CPU, ms", "quartiles", "wall, ms", "versions"]
    keys = [key for key in dict.fromkeys((*results.errors, *results.times)) if key[0] == dataset]
    rows = [_cell(results, key) for key in keys]
    summary = f"{escape(results.title(dataset))}: {len(rows)} cells"
    return f"<details><summary>{summary}</summary>{write_sortable(heads, rows)}</details>"


def write_failures(results: Results) -> str:
    """The cells that failed, and why."""
    if not results.failures:
        return ""
    rows: list[list[Entry]] = [
        [(results.title(key[0]), key[0]), *_where(key), (failure, failure)] for key, failure in results.failures.items()
    ]
    return f"<h2>Cells that failed</h2>{write_sortable(('data set', 'program', 'k', 'ε', 'β', 'failure'), rows)}"


def write_repeats(results: Results) -> str:
    """At each data set, k and ε: the lists of the released FastJoint that name an item more than once."""
    found: dict[tuple[str, int, float], tuple[int, int, int]] = {}
    for (dataset, contender, at), cell in results.errors.items():
        if contender == "released-fastjoint" and cell.repeats.any():
            key = dataset, at.k, at.epsilon
            lists, total, most = found.get(key, (0, 0, 0))
            repeats = int((cell.repeats > 0).sum())
            found[key] = (lists + repeats, total + len(cell.repeats), max(most, int(cell.repeats.max())))
    clean = [results.title(name) for name in results.datasets if name not in {key[0] for key in found}]
    said = f"<p>No list with a repeat was drawn on {escape(', '.join(clean))}.</p>" if clean else ""
    rows: list[list[Entry]] = []
    for dataset, k, epsilon in sorted(found, key=lambda key: (results.datasets.index(key[0]), *key[1:])):
        lists, total, most = found[dataset, k, epsilon]
        title, share = results.title(dataset), (f"{lists:,} of {total:,}", lists / total)
        rows.append([(title, title), (str(k), k), (f"{epsilon:g}", epsilon), share, (str(most), most)])
    heads = ("data set", "k", "ε", "lists with a repeat", "most repeats in one list")
    return said + (write_sortable(heads, rows) if rows else "")


def convert_table(markdown: str) -> str:
    """Convert a table in Markdown."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in markdown.splitlines()]
    heads, _, *body = [[field.strip().replace("\\|", "|") for field in row] for row in rows]
    return _write_cards([head.capitalize() for head in heads], [map(escape, row) for row in body])


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


def write_number(value: float) -> str:
    """Write a number without an exponent: whole from 100 on, three digits below.

    >>> write_number(1234567.5), write_number(1024.2), write_number(42.69), write_number(0.0988), write_number(0.0)
    ('1,234,568', '1,024', '42.7', '0.0988', '0')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _badge(holding: Holding) -> str:
    return f'<span class="badge {holding.name.lower()}">{holding}</span>'


def _write_cards(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table that is one on a wide screen, and cards on a phone. Its fields are HTML."""
    body = [
        "".join(f'<td data-head="{escape(head)}">{field}</td>' for head, field in zip(heads, row, strict=True))
        for row in rows
    ]
    return _write_table("cards", (f"<th>{escape(head)}</th>" for head in heads), body)


def _find_time(results: Results, dataset: str, name: str) -> float | None:
    """The median time at the default setting, in milliseconds; None without one, or if there is no such program."""
    found = results.times.get(results.key(dataset, name, DEFAULT)) if name in CONTENDERS else None
    return None if found is None else 1e3 * float(np.median(found.cpu))


def _find_loss(results: Results, dataset: str, name: str) -> float | None:
    found = results.errors.get(results.key(dataset, name, DEFAULT)) if name in CONTENDERS else None
    return None if found is None else float(np.median(found.linf))


def _cell(results: Results, key: Key) -> list[Entry]:
    entries = _where(key)
    errors, times = results.errors.get(key), results.times.get(key)
    entries.append(_number(None if errors is None else len(errors.linf)))
    for values in (None, None) if errors is None else (errors.linf, errors.l1):
        entries += _quartiles(values)
    entries.append(_number(None if times is None else len(times.cpu)))
    entries += _quartiles(None if times is None else 1e3 * times.cpu)
    entries.append(_number(None if times is None else 1e3 * float(np.median(times.wall))))
    versions = ", ".join(code[:6] for code in results.find_versions(key))
    entries.append((versions, versions))
    return entries


def _quartiles(values: object) -> list[Entry]:
    if values is None:
        return [_number(None), ("", -1.0)]
    low, middle, high = (float(each) for each in np.quantile(np.asarray(values), [0.25, 0.5, 0.75]))
    return [_number(middle), (f"{write_number(low)}–{write_number(high)}", high - low)]


def _number(value: float | None) -> Entry:
    return ("", -1.0) if value is None else (write_number(value), value)


def _where(key: Key) -> list[Entry]:
    _, contender, at = key
    beta: Entry = ("", -1.0) if at.beta is None else (write_beta(at.beta), at.beta)
    return [(CONTENDERS[contender].label, contender), (str(at.k), at.k), (f"{at.epsilon:g}", at.epsilon), beta]


def _write_field(text: str, value: float | str) -> str:
    kind = "" if isinstance(value, str) else ' class="number"'
    return f'<td{kind} data-value="{escape(str(value))}">{escape(text)}</td>'


def _write_table(kind: str, heads: Iterable[str], rows: Sequence[str]) -> str:
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return f'<table class="{kind}"><thead><tr>{"".join(heads)}</tr></thead><tbody>\n{body}</tbody></table>'
