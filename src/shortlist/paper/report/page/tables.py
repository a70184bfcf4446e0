"""The tables of the report, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from shortlist.paper.experiment.contenders import CONTENDERS
from shortlist.paper.experiment.grid import DEFAULT
from shortlist.paper.experiment.measure import Row
from shortlist.paper.experiment.results import Results
from shortlist.paper.report.verdict import Finding, Holding

Entry = tuple[str, float | str]
"""What a field shows, and what it is sorted by."""

_BADGES = {Holding.YES: "yes", Holding.NO: "no", Holding.UNTESTED: "untested"}


def verdict(findings: Sequence[Finding]) -> str:
    """The claims: a table on a desk, cards on a phone."""
    heads = ("Claim of the paper", "Verdict", "Measured here", "How it is judged")
    rows = []
    for each in findings:
        badge = f'<span class="badge {_BADGES[each.holding]}">{each.holding}</span>'
        fields = (escape(each.claim), badge, escape(each.measured), escape(each.test))
        rows.append("".join(f'<td data-head="{head}">{text}</td>' for head, text in zip(heads, fields, strict=True)))
    return _table("cards", (f"<th>{head}</th>" for head in heads), rows)


def beside(results: Results) -> str:
    """Ours beside the published mechanism of the same law, at the default setting."""
    heads = ("data set", "law", "published, ms", "ours, ms", "times as fast", "ℓ∞ published", "ℓ∞ ours")
    laws = dict.fromkeys(CONTENDERS[name].law for name in results.contenders)
    rows = []
    for dataset in results.datasets:
        for law in laws:
            published = results.at(dataset, f"published-{law}", DEFAULT) if law != "pnf-joint" else None
            ours = results.at(dataset, law, DEFAULT)
            if published and ours:
                rows.append(_fields(_comparison(results.title(dataset), law, published, ours)))
    return sortable(heads, rows) if rows else "<p>The default setting was not measured.</p>"


def cells(results: Results, dataset: str) -> str:
    """Every cell of a data set, folded away until it is asked for."""
    heads = ("mechanism", "k", "ε", "β", "trials", "time, ms", "quartiles", "ℓ∞", "quartiles", "ℓ1", "quartiles")
    rows = [_fields(_cell(row)) for row in results.measured.values() if row.dataset == dataset]
    summary = f"{escape(results.title(dataset))}: {len(rows)} cells"
    return f"<details><summary>{summary}</summary>{sortable(heads, rows)}</details>"


def failures(results: Results) -> str:
    """The cells that failed, and why."""
    if not results.failures:
        return ""
    rows = [
        _fields([(results.title(row.dataset), row.dataset), *_where(row), (row.failure or "", row.failure or "")])
        for row in results.failures
    ]
    heads = ("data set", "mechanism", "k", "ε", "β", "failure")
    return f"<h2>Cells that failed</h2>{sortable(heads, rows)}"


def sortable(heads: Sequence[str], rows: Sequence[str]) -> str:
    """A table that the script of the page sorts by a touch on a head; it scrolls by itself where it is too wide."""
    buttons = (f'<th aria-sort="none"><button type="button">{escape(head)}</button></th>' for head in heads)
    return f'<div class="wide">{_table("sortable", buttons, rows)}</div>'


def plain(value: float) -> str:
    """Write a number without an exponent: whole from 100 on, three digits below.

    >>> plain(1234567.5), plain(1024.2), plain(42.69), plain(0.0988), plain(0.0)
    ('1,234,568', '1,024', '42.7', '0.0988', '0')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _comparison(title: str, law: str, published: Row, ours: Row) -> list[Entry]:
    before, after = published.quartiles("seconds")[1], ours.quartiles("seconds")[1]
    losses = (row.quartiles("linf")[1] for row in (published, ours))
    return [
        (title, title),
        (law, law),
        *((plain(1e3 * seconds), seconds) for seconds in (before, after)),
        (plain(before / after), before / after),
        *((plain(loss), loss) for loss in losses),
    ]


def _cell(row: Row) -> list[Entry]:
    trials = str(row.trials) if row.trials == row.asked else f"{row.trials} (capped, of {row.asked})"
    entries: list[Entry] = [*_where(row), (trials, row.trials)]
    for measure, scale in (("seconds", 1e3), ("linf", 1), ("l1", 1)):
        low, middle, high = (scale * value for value in row.quartiles(measure))
        entries += [(plain(middle), middle), (f"{plain(low)}–{plain(high)}", high - low)]
    return entries


def _where(row: Row) -> list[Entry]:
    label = CONTENDERS[row.contender].label
    beta: Entry = ("", -1.0) if row.beta is None else (f"{row.beta:.3g}", row.beta)
    return [(label, label), (str(row.k), row.k), (f"{row.epsilon:g}", row.epsilon), beta]


def _fields(entries: Iterable[Entry]) -> str:
    return "".join(f'<td data-value="{escape(str(value))}">{escape(text)}</td>' for text, value in entries)


def _table(kind: str, heads: Iterable[str], rows: Sequence[str]) -> str:
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return f'<table class="{kind}"><thead><tr>{"".join(heads)}</tr></thead><tbody>\n{body}</tbody></table>'
