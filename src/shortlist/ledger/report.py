"""The report of a ledger: one page for a privacy officer to read, complete by hand and sign.

Every number is rounded up. What the ledger does not know, and nobody said, is a gap that is visible on paper, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape as escape_html
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from shortlist.errors import DataError
from shortlist.ledger.charging import Ledger
from shortlist.ledger.rows import Charge
from shortlist.ledger.statement import Bar, Statement, add_at, write_pair
from shortlist.mechanisms import MECHANISMS
from shortlist.periods import Every
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_digits
from shortlist.release import read_clock, read_text
from shortlist.safe_text import escape
from shortlist.terms import check_text
from shortlist.version import __version__

_MOST_LISTS = 6
_MOST_RECORDS = 6
_LONGEST_NAME = 60
_AUDIT = "shortlist.audit/"
_ALL = "All lists together"
_PROOFS = {
    "groups_per_person": "mechanisms/families",
    "assess": "mechanisms/assess",
    "max_weight": "votes/weights",
    "cap_epsilon": "mechanisms/private_cap",
}
"""The proofs about what releases with these parameters have."""
_IN_A_YEAR = {Every.DAY: 366, Every.WEEK: 53, Every.MONTH: 12, Every.QUARTER: 4, Every.YEAR: 1}
"""The most periods of a kind that a year has."""
_PUBLISHER, _LIBRARY = "the publisher", "shortlist"
_SAID = {
    "purpose": "why the lists are published",
    "controller": "who is responsible for the data",
    "contact": "who answers questions",
    "data": "what the votes are, and where they come from",
    "recipients": "who gets the lists",
}
"""What only the publisher can say, and what it is about."""
_NUMBERS = 3
"""In the table of lists, columns from this one on are numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _List:
    """A list that is released again and again: charges with the same mechanism, parameters and guarantee."""

    name: str
    charges: tuple[Charge, ...]

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.charges[0].parameters


def write_report(ledger: Ledger, said: Mapping[str, str | None], audit: str | os.PathLike[str] | None = None) -> str:
    """Write the page. `said` are texts of the publisher by their names, and `audit` is the file of an audit."""
    texts = {name: check_text(said.get(name), name=name) for name in _SAID}
    found = None if audit is None else _read_audit(audit)
    statement = Statement.read(ledger)
    lists = _group_lists(statement.charges)
    table = _add_up_lists(statement, lists)
    return Template((files("shortlist.ledger") / "report.html").read_text(encoding="utf-8")).substitute(
        short=ledger.id[:12],
        ledger=ledger.id,
        made=f"{read_clock():%Y-%m-%d %H:%M}",
        version=escape_html(__version__),
        about=_write_about(statement, texts),
        promise=_write_promise(statement),
        chart=_write_chart(statement.draw(), statement.chart_title),
        columns=_write_heads(table, _NUMBERS),
        lists="\n".join(_write_row(row, _NUMBERS) for row in zip(*table.values(), strict=True)),
        about_lists=_write_about_lists(lists, statement),
        vouched="\n".join(_write_vouched(lists, statement)),
        evidence=_write_evidence(lists, statement, found),
        records=_write_records(statement),
        assessment=_write_assessment(statement, texts),
        signatures="".join(_write_lines(who) for who in ("Prepared by", "Privacy officer")),
    )


def _show(text: object) -> str:
    """Write a text from elsewhere. Nothing in it is read as markup or changes the direction of reading."""
    return escape_html(escape(text))


def _gap(what: str) -> str:
    return f'<span class="gap">to fill in: {what}</span>'


def _fill(text: str | None, what: str) -> str:
    """Write a text, or a gap where nobody said it."""
    return _show(text) if text else _gap(what)


def _write_terms(terms: Mapping[str, str]) -> str:
    return "\n".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in terms.items())


def _write_heads(names: Iterable[str], numbers: int | None = None) -> str:
    return "".join(f'<th scope="col"{_mark(place, numbers)}>{name}</th>' for place, name in enumerate(names))


def _write_row(cells: Sequence[str], numbers: int | None = None) -> str:
    rest = "".join(f"<td{_mark(place, numbers)}>{each}</td>" for place, each in enumerate(cells) if place)
    return f'<tr{" class=total" * (cells[0] == _ALL)}><th scope="row">{cells[0]}</th>{rest}</tr>'


def _mark(place: int, numbers: int | None) -> str:
    """Put a cell at the right if it is at the first column of numbers, or after it."""
    return " class=number" * (numbers is not None and place >= numbers)


def _write_numbers(guarantee: Guarantee) -> str:
    numbers = {"ε": guarantee.epsilon, **({"δ": guarantee.delta} if guarantee.delta else {})}
    return ", ".join(
        f'<span class="whole-number">{name} {write_digits(each, 4)}</span>' for name, each in numbers.items()
    )


# The parts of the page, from top to bottom.


def _write_about(statement: Statement, texts: Mapping[str, str | None]) -> str:
    about = {name.capitalize(): _fill(texts[name], what) for name, what in _SAID.items()}
    about["People"] = _fill(statement.ledger.population, "whose data it is")
    about["Protected unit"] = _describe_unit(statement.promise[0])
    return _write_terms(about)


def _describe_unit(guarantee: Guarantee) -> str:
    unit = _show(guarantee.unit)
    if guarantee.neighbours is Neighbours.REPLACE:
        return f"one {unit}: all that one {unit} did may change to anything else (neighbours: replace)"
    return f"one {unit}: whether the data of one {unit} are there or not (neighbours: add-remove)"


def _write_promise(statement: Statement) -> str:
    (promised, which), so_far = statement.promise, statement.so_far
    number = len(statement.charges)
    figures = {
        f"budget of {which} together": _write_numbers(promised),
        "spent so far": "nothing" if so_far is None else _write_numbers(so_far),
        "releases charged": f"{number:,}",
    }
    cells = "".join(f"<div><b>{value}</b><small>{name}</small></div>" for name, value in figures.items())
    words = [f"<strong>{which.capitalize()} of this ledger together, also later ones.</strong> {promised.in_words}"]
    if statement.ledger.calendar is not None and statement.ledger.whole is not None:
        calendar, each = statement.ledger.calendar, statement.ledger.budget.guarantee
        words.append(f"<strong>Each {calendar.every} has {_write_numbers(each)}.</strong> {each.in_words}")
    if so_far is not None:
        whom, said = statement.explain_so_far(so_far)
        words.append(f"<strong>The {number:,} so far{',' * bool(whom)}{_show(whom)}.</strong> {said}")
    return f'<div class="figures">{cells}</div>' + "".join(f"<p>{each}</p>" for each in words)


def _write_chart(bars: Sequence[Bar], title: str) -> str:
    """Draw the spent share over time, as columns with their numbers, below a line for the whole budget."""
    if not bars:
        return "<p>Nothing was charged yet.</p>"
    width, drawn = 590 / max(len(bars), 8), []
    for place, each in enumerate(bars):
        share = math.ceil(each.share * 100)
        height, middle = max(1, share * 0.5), (place + 0.5) * width + 20
        drawn.append(
            f'<rect x="{middle - width * 0.3:.1f}" y="{64 - height:.1f}" width="{width * 0.6:.1f}" '
            f'height="{height:.1f}" fill="#0072b2"/><text x="{middle:.1f}" y="{61 - height:.1f}">{share} %</text>'
        )
        if len(bars) <= 8 or place % 2 == (len(bars) - 1) % 2:
            drawn.append(f'<text x="{middle:.1f}" y="76">{each.label}</text>')
    title = f"{title}, rounded up"
    words = ", ".join(f"{each.label} {math.ceil(each.share * 100)} %" for each in bars)
    return (
        f'<div class="wide"><svg viewBox="0 0 640 82" role="img" aria-label="{title}: {words}">{"".join(drawn)}'
        '<path d="M0 64.5H640M0 14.5H605" stroke="#1c1c1c" stroke-width=".8"/><text x="622" y="18">100 %</text>'
        f"</svg></div><p><small>{title}.</small></p>"
    )


def _group_lists(charges: Iterable[Charge]) -> list[_List]:
    """Group charges to lists. Names that differ in words with digits only, such as weeks, belong to one list."""
    groups: dict[tuple[Any, ...], list[Charge]] = {}
    for each in charges:
        words = (each.note or each.once or "").split()
        stem = " ".join(word for word in words if not any(map(str.isdigit, word)))
        groups.setdefault((each.mechanism, json.dumps(dict(each.parameters)), each.guarantee, stem), []).append(each)
    found = []
    for members in groups.values():
        said = [each.note or each.once or "" for each in members]
        common = " ".join(word for word in said[0].split() if all(word in each.split() for each in said))
        name = said[0] if len(set(said)) == 1 else common and f"{common} …"
        found.append(_List(name=name or "list without a note", charges=tuple(members)))
    return sorted(found, key=lambda each: -len(each.charges))


def _add_up_lists(statement: Statement, lists: Sequence[_List]) -> dict[str, list[str]]:
    """Add up the releases of each list and of all lists: column by column, with all lists in the last row."""
    delta, calendar, charges = statement.promise[0].delta, statement.ledger.calendar, statement.charges
    shown = [each.charges for each in lists[:_MOST_LISTS]]
    rows: list[tuple[Charge, ...]] = [*shown, charges]

    def add(charges: Sequence[Charge], times: int = 1, delta: Fraction = delta) -> str:
        return _write_numbers(add_at([each.guarantee for each in charges] * times, delta)) if charges else "–"

    table = {
        "List": [*(_show(_shorten(each.name)) for each in lists[:_MOST_LISTS]), _ALL],
        "k": [*(_show(each[0].parameters.get("k")) for each in shown), ""],
        "Mechanism": [*(_show(each[0].mechanism) for each in shown), ""],
        "Releases": [f"{len(each):,}" for each in rows],
        "One release": [*(_write_numbers(each[0].guarantee) for each in shown), ""],
    }
    for year in sorted({_find_year(each) for each in charges})[-2 if calendar is None else -1 :]:
        table[f"In {year}"] = [add([each for each in row if _find_year(each) == year]) for row in rows]
    if calendar is not None and charges:
        name, times = calendar.every, _IN_A_YEAR[calendar.every]
        busiest = [_find_busiest(row) for row in rows]
        table[f"Largest {name}"] = [add(row, 1, statement.ledger.budget.guarantee.delta) for row in busiest]
        table[f"Full year ({times} {name}{'s' * (times > 1)})"] = [add(row, times) for row in busiest]
    return table


def _find_year(charge: Charge) -> str:
    """Find the year of a charge: that of its period, or that in which it was made."""
    return (charge.period or charge.made.isoformat())[:4]


def _find_busiest(charges: Sequence[Charge]) -> list[Charge]:
    """Find the charges of the period that spent most."""
    periods: dict[str | None, list[Charge]] = {}
    for each in charges:
        periods.setdefault(each.period, []).append(each)
    return max(periods.values(), key=lambda each: (sum(one.guarantee.epsilon for one in each), len(each)))


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _write_about_lists(lists: Sequence[_List], statement: Statement) -> str:
    more, unfinished, calendar = len(lists) - _MOST_LISTS, len(statement.unfinished), statement.ledger.calendar
    words = [
        "Numbers are rounded up. Several releases are added up for their year, as if they had been planned before it; "
        "what the budget promises holds in any case.",
        *(["A full year has as many releases in each period as the one that spent most."] if calendar else []),
        *([f"{more:,} more lists are in the last row only; the ledger has them."] if more > 0 else []),
        *([f"Charges without a finished release count as spent: there are {unfinished:,}."] if unfinished else []),
    ]
    return " ".join(words)


def _write_vouched(lists: Sequence[_List], statement: Statement) -> Iterable[str]:
    """Say what must be true, and who vouches for it."""
    kinds = [MECHANISMS.get(each.charges[0].mechanism) for each in lists]
    parameters = [each.parameters for each in lists]
    rows: dict[str, str] = {}
    if any(kind is None or kind.needs_domain for kind in kinds):
        rows["The list of all items that may appear is public. It was not made from these data."] = _PUBLISHER
    if any(kind is not None and not kind.needs_domain for kind in kinds):
        rows["Lists without a public list of items show an item of one person with a probability of at most δ."] = (
            f"{_LIBRARY}, by proof"
        )
    if any(each.get("persons_counted") for each in parameters):
        weighed = any("max_weight" in each for each in parameters)
        weight = ", or adds at most the weight that the record states," if weighed else ""
        rows[f"Each person counts once for an item{weight} and only within the limits that the record states."] = (
            f"{_LIBRARY}, which counted"
        )
        rows["One value of the column of persons is one person. Somebody with two accounts is two persons."] = (
            _PUBLISHER
        )
    declared = [_read_limit(each, "sensitivity") for each in parameters if not each.get("persons_counted")]
    if declared:
        rows[f"Counts were made elsewhere. One person adds at most {max(declared)} to a count, as was declared."] = (
            f"{_PUBLISHER}; not checked by {_LIBRARY}"
        )
    if any("groups_per_person" in each for each in parameters):
        most = max(_read_limit(each, "groups_per_person") for each in parameters)
        rows[f"The list of groups is public. One person is counted in at most {most} of them."] = (
            f"{_PUBLISHER} for the list; {_LIBRARY} for the limit, where it counted persons"
        )
    if statement.ledger.calendar is not None:
        columns = ", ".join(sorted({each.time for each in statement.charges if each.time is not None}))
        counted = f"{_LIBRARY}, by the column {_show(columns)}; " if columns else ""
        rows["Every vote has one time, and a release counts the votes of its own period only."] = (
            f"{counted}{_PUBLISHER}, where counts were made elsewhere"
        )
    rows["Every release about these people is charged to this ledger, and never to a copy of it."] = _PUBLISHER
    rows["Lists are drawn with exactly the stated probabilities, from the randomness of the operating system."] = (
        f"{_LIBRARY}, by proof and audit (section 5)" + "; their authors, for mechanisms of others" * (None in kinds)
    )
    box = '<span class="box" role="img" aria-label="box to tick"></span>'
    return [_write_row([statement, who, box]) for statement, who in rows.items()]


def _read_limit(parameters: Mapping[str, Any], name: str) -> int:
    """Read a limit of a charge. A very large one is written as a text."""
    value = parameters.get(name, 1)
    return int(value["integer"] if isinstance(value, dict) else value)


def _write_evidence(lists: Sequence[_List], statement: Statement, audit: Mapping[str, Any] | None) -> str:
    names = sorted({each.charges[0].mechanism for each in lists})
    whole = len(names) <= _MOST_LISTS
    evidence = {f"<code>{_show(name)}</code>": _describe_mechanism(name) for name in names if whole}
    if not whole:
        evidence["Mechanisms"] = f"{', '.join(map(_show, names))}. Proofs: <code>mechanisms/*.proof.md</code>, by name"
    used = {name for each in lists for name in each.parameters}
    proofs = [*(proof for name, proof in _PROOFS.items() if name in used), "ledger/budget"]
    further = [f"<code>{proof}.proof.md</code>" for proof in proofs]
    evidence["Further proofs"] = f"{', '.join(further)}. All are files of the package <code>shortlist</code>."
    versions = ", ".join(sorted({each.version for each in statement.charges}))
    evidence["Version"] = f"shortlist {_show(versions)}" if versions else "no release was made yet"
    evidence["Audit"] = _describe_audit(audit, names, {each.version for each in statement.charges})
    return _write_terms(evidence)


def _describe_mechanism(name: str) -> str:
    kind = MECHANISMS.get(name)
    if kind is None:
        return f"no mechanism of shortlist: its author vouches for it. {_gap('its proof')}"
    proof = f"mechanisms/{name.replace('-', '_')}.proof.md"
    return f"{_show(kind.summary)}. Proof: <code>{proof}</code>"


def _describe_audit(audit: Mapping[str, Any] | None, names: Sequence[str], versions: set[str]) -> str:
    if audit is None:
        how = "<code>shortlist audit --output audit.json</code>, then <code>--audit audit.json</code>"
        return f"{_gap('result, date, by whom')} Not given. {how}"
    checked = {str(each.get("subject", "")).partition(",")[0] for each in audit["findings"]}
    missing = [name for name in names if name not in checked]
    remarks = [
        *([f"Not checked: {', '.join(missing)}."] if missing else []),
        *(["It is of another version than releases of this ledger."] if versions - {audit["version"]} else []),
    ]
    where = f"shortlist {audit['version']} on {audit['system']} {audit['machine']}"
    text = f"{audit['verdict']}, on {str(audit['made'])[:10]}, {where}. {' '.join(remarks)}"
    return f"<strong>{_show(text)}</strong> SHA-256 of the file: <code>{audit['hash']}</code>"


def _read_audit(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the file of an audit, and its hash."""
    raw = read_text(Path(path), "`audit`")
    try:
        found = json.loads(raw)
        texts = [found[name] for name in ("schema", "verdict", "version", "made", "system", "machine")]
        subjects = [each["subject"] for each in found["findings"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        texts, subjects = [None], []
    if not all(isinstance(each, str) for each in [*texts, *subjects]) or not str(texts[0]).startswith(_AUDIT):
        raise DataError("`audit` must be a file that `shortlist audit --output audit.json` wrote", "it is another one")
    return {**found, "hash": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def _write_records(statement: Statement) -> str:
    """List the hashes of the last records, and one hash for all of them."""
    finished = [each for each in statement.charges if each.release is not None]
    if not finished:
        return "<p>No release was finished yet.</p>"
    rows = [
        _write_row(
            [f"{each.number:,}", f"{each.made:%Y-%m-%d}", _show(each.user), f"<code>{_show(each.release)}</code>"]
        )
        for each in finished[-_MOST_RECORDS:]
    ]
    heads = _write_heads(("Charge", "Date", "By", "SHA-256 of the record"))
    together = hashlib.sha256("".join(f"{each.release}\n" for each in finished).encode()).hexdigest()
    last = f"The last {len(rows)} of {len(finished):,}" if len(finished) > len(rows) else f"All {len(finished):,}"
    return (
        f'<div class="wide" tabindex="0" role="region" aria-labelledby="records"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f"<p><small>{last}. <code>sha256sum</code> of a record prints its hash. All hashes, one a line, have the "
        f" SHA-256 <code>{together}</code>. Charged by: {_show(statement.name_people())}.</small></p>"
    )


def _write_assessment(statement: Statement, texts: Mapping[str, str | None]) -> str:
    """Write what an assessment can take over, about the measure and about what it leaves."""
    (guarantee, which), people = statement.promise, statement.ledger.population
    who, data, why = (_fill(texts[name], f"the {name}") for name in ("controller", "data", "purpose"))
    whose = _fill(people, "whose data it is")
    paragraphs = {
        "Processing.": f"{who} publishes lists of the most frequent items in {data} about {whose}. Purpose: {why}. "
        "Only the lists leave, with public parameters. No row, no count without noise and no identity is published.",
        "Measure.": f"Every list is drawn at random under differential privacy, {_show(write_pair(guarantee))} for "
        f"{which} together. {guarantee.in_words} This holds whatever a reader knows already, and whatever computing "
        "power a reader has. A ledger refuses a release that would exceed it, before any data are read.",
        "Remaining risk.": f"{_write_example(statement)} A list may still show what is true of many people, and a "
        f"reader may apply that to one {_show(guarantee.unit)}. The measure protects what is published. It does not "
        "protect the stored data, and it relies on section 4.",
        "Conclusion.": _gap("whether the remaining risk is acceptable, and why"),
    }
    return "\n".join(f"<p><strong>{name}</strong> {text}</p>" for name, text in paragraphs.items())


def _write_example(statement: Statement) -> str:
    """Say what the promise makes of a conclusion that has a probability of 1 %."""
    budget, so_far = statement.promise[0], statement.so_far
    other = "with other" if budget.neighbours is Neighbours.REPLACE else "without the"
    whole = "" if so_far is None or so_far.unit == budget.unit else f" of all data of one {_show(so_far.unit)}"
    spent = "" if so_far is None else f", and at most {_raise(so_far)}&nbsp;% by what is spent so far{whole}"
    return (
        f"A conclusion that has a probability of 1&nbsp;% {other} data of one {_show(budget.unit)} has at most "
        f"{_raise(budget)}&nbsp;% with them if the whole budget is spent{spent}."
    )


def _raise(guarantee: Guarantee) -> str:
    """Find the largest probability, in percent, that 1 % can become. It is rounded up.

    >>> _raise(Guarantee(epsilon=1)), _raise(Guarantee(epsilon=6))
    ('2.72', '100')
    """
    # The float of e^epsilon may be below it, so it is made a little larger.
    most = math.exp(min(float(guarantee.epsilon), 50.0)) * (1 + 1e-9) + float(guarantee.delta) * 100
    return f"{min(100, math.ceil(most * 100) / 100):g}"


def _write_lines(who: str) -> str:
    lines = "".join(f"<p>{name}<i></i></p>" for name in ("Name", "Date", "Signature"))
    return f"<div><strong>{who}</strong>{lines}</div>"
