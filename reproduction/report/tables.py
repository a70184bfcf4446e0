"""The tables of the report, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import starmap

import numpy as np

from reproduction.experiment.grid import CONTENDERS, write_beta
from reproduction.experiment.store import Key, Results
from reproduction.report.claims import Finding, list_sides
from reproduction.report.comparisons import Holding
from reproduction.report.summary import write_number

Entry = tuple[str, float | str]
"""What a field shows, and what it is sorted by."""


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


def _badge(holding: Holding) -> str:
    return f'<span class="badge {holding.name.lower()}">{holding}</span>'


def _write_cards(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table that is one on a wide screen, and cards on a phone. Its fields are HTML."""
    body = [
        "".join(f'<td data-head="{escape(head)}">{field}</td>' for head, field in zip(heads, row, strict=True))
        for row in rows
    ]
    return _write_table("cards", (f"<th>{escape(head)}</th>" for head in heads), body)


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
