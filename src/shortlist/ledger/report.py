"""The report of a ledger: one page for a privacy officer to read, complete by hand and sign.

The page is report.html. Every number in it is rounded up. What the ledger does not know, and nobody said, is a gap that
is visible on paper, too.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape as escape_html
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from shortlist.atomic_files import PathLike
from shortlist.errors import DataError, ParameterError
from shortlist.ledger.charging import Ledger
from shortlist.ledger.rows import Charge
from shortlist.ledger.statement import Bar, Statement, add_at, write_pair
from shortlist.mechanisms import MECHANISMS
from shortlist.periods import Every
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_count, write_digits
from shortlist.release import read_clock, read_text
from shortlist.safe_text import escape
from shortlist.terms import check_text
from shortlist.version import __version__

_MOST_LISTS = 6
_MOST_RECORDS = 6
_LONGEST_NAME = 60
_AUDIT = "shortlist.audit/"
_PROOFS = {
    "groups_per_person": "mechanisms/families",
    "assess": "mechanisms/assess",
    "max_weight": "votes/weights",
    "cap_epsilon": "mechanisms/private_cap",
}
"""The proofs about what releases with these parameters have."""
_PUBLISHER, _LIBRARY = "the publisher", "shortlist"
_SAID = {
    "purpose": "why the lists are published",
    "controller": "who is responsible for the data",
    "contact": "who answers questions",
    "data": "what the votes are, and where they come from",
    "recipients": "who gets the lists",
}
"""What only the publisher can say, and what it is about."""
_UNITS = {
    Neighbours.REPLACE: ("all that one {} did may change to anything else (neighbours: replace)", "with other"),
    Neighbours.ADD_REMOVE: ("whether the data of one {} are there or not (neighbours: add-remove)", "without the"),
}
"""What neighbours differ in, and how the data of one of them are called beside those of the other."""
_BOX = '<span class="box" role="img" aria-label="box to tick"></span>'

_List = tuple[str, tuple[Charge, ...]]
"""A list that is released again and again: its name, and its charges, which have the same mechanism, parameters and
guarantee."""


def write_report(ledger: Ledger, said: Mapping[str, str | None], audit: PathLike | None = None) -> str:
    """Write the page. `said` are texts of the publisher by their names, and `audit` is the file of an audit."""
    texts = {name: _fill(check_text(said.get(name), name=name), what) for name, what in _SAID.items()}
    audited = None if audit is None else _read_audit(audit)
    statement = Statement.read(ledger)
    (promised, which), so_far = statement.promise, statement.so_far
    unit, (neighbours, other) = _show(promised.unit), _UNITS[promised.neighbours]
    lists = _group_lists(statement.charges)
    table = _add_up_lists(statement, lists)
    names = sorted({each.mechanism for each in statement.charges})
    versions = sorted({each.version for each in statement.charges})
    finished = [each for each in statement.charges if each.release is not None]
    return Template((files("shortlist.ledger") / "report.html").read_text(encoding="utf-8")).substitute(
        **texts,
        short=ledger.id[:12],
        ledger=ledger.id,
        made=f"{read_clock():%Y-%m-%d %H:%M}",
        version=escape_html(__version__),
        people=_fill(ledger.population, "whose data it is"),
        unit=unit,
        neighbours=neighbours.format(unit),
        budget=_write_numbers(promised),
        which=which,
        spent="nothing" if so_far is None else _write_numbers(so_far),
        number=f"{len(statement.charges):,}",
        promises="".join(f"<p><strong>{about}.</strong> {words}</p>" for about, words in _list_promises(statement)),
        chart=_write_chart(statement.draw(), statement.chart_title),
        columns="".join(f'<th scope="col">{name}</th>' for name in table),
        lists=_write_rows(zip(*table.values(), strict=True)),
        about_lists=" ".join(_say_about_lists(lists, statement)),
        vouched=_write_rows((true, who, _BOX) for true, who in _list_vouched(lists, statement)),
        mechanisms=_write_mechanisms(names),
        proofs=", ".join(f"<code>{each}.proof.md</code>" for each in _list_proofs(statement.charges)),
        versions=f"shortlist {_show(', '.join(versions))}" if versions else "no release was made yet",
        audit=_describe_audit(audited, names, versions),
        records=_write_rows(map(_list_record, finished[-_MOST_RECORDS:])),
        about_records=_say_about_records(finished, statement.name_people()),
        pair=_show(write_pair(promised)),
        in_words=promised.in_words,
        other=other,
        raised=_raise(promised),
        raised_so_far=_say_raised(so_far, promised.unit),
    )


def _show(text: object) -> str:
    """Write a text from elsewhere. Nothing in it is read as markup or changes the direction of reading."""
    return escape_html(escape(text))


def _fill(text: str | None, what: str) -> str:
    """Write a text, or a gap where nobody said it."""
    return _show(text) if text else f'<span class="gap">to fill in: {what}</span>'


def _write_rows(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{each}</td>" for each in rest)}</tr>' for first, *rest in rows
    )


def _write_numbers(guarantee: Guarantee) -> str:
    numbers = {"ε": guarantee.epsilon, **({"δ": guarantee.delta} if guarantee.delta else {})}
    return ", ".join(
        f'<span class="whole-number">{name} {write_digits(each, 4)}</span>' for name, each in numbers.items()
    )


# The parts of the page, from top to bottom.


def _list_promises(statement: Statement) -> Iterator[tuple[str, str]]:
    """Say in words what is promised: about which releases, and what."""
    (promised, which), ledger, so_far = statement.promise, statement.ledger, statement.so_far
    yield f"{which.capitalize()} of this ledger together, also later ones", promised.in_words
    if ledger.calendar is not None and ledger.whole is not None:
        each = ledger.budget.guarantee
        yield f"Each {ledger.calendar.every} has {_write_numbers(each)}", each.in_words
    if so_far is not None:
        whom, words = statement.explain_so_far(so_far)
        yield f"The {write_count(len(statement.charges), 'releases')} so far{',' * bool(whom)}{_show(whom)}", words


def _write_chart(bars: Sequence[Bar], title: str) -> str:
    """Draw the spent share over time, as columns with their numbers, below a line for the whole budget."""
    if not bars:
        return "<p>Nothing was charged yet.</p>"
    width, drawn, words = 590 / max(len(bars), 8), [], []
    for place, each in enumerate(bars):
        share = math.ceil(each.share * 100)
        height, middle = max(1, share * 0.5), (place + 0.5) * width + 20
        words.append(f"{each.label} {share} %")
        drawn.append(
            f'<rect x="{middle - width * 0.3:.1f}" y="{64 - height:.1f}" width="{width * 0.6:.1f}" '
            f'height="{height:.1f}" fill="#0072b2"/><text x="{middle:.1f}" y="{61 - height:.1f}">{share} %</text>'
        )
        if len(bars) <= 8 or place % 2 == (len(bars) - 1) % 2:
            drawn.append(f'<text x="{middle:.1f}" y="76">{each.label}</text>')
    return (
        f'<div class="wide"><svg viewBox="0 0 640 82" role="img" aria-label="{title}, rounded up: {", ".join(words)}">'
        f'{"".join(drawn)}<path d="M0 64.5H640M0 14.5H605" stroke="#1c1c1c" stroke-width=".8"/>'
        f'<text x="622" y="18">100 %</text></svg></div><p><small>{title}, rounded up.</small></p>'
    )


def _group_lists(charges: Iterable[Charge]) -> list[_List]:
    """Group charges to lists. Names that differ in words with digits only, such as weeks, belong to one list."""
    groups: dict[tuple[Any, ...], list[Charge]] = {}
    for each in charges:
        words = [word for word in _name(each).split() if not any(map(str.isdigit, word))]
        groups.setdefault((each.mechanism, repr(each.parameters), each.guarantee, *words), []).append(each)
    found = []
    for members in groups.values():
        name, *others = (_name(each) for each in members)
        if set(others) - {name}:
            common = [word for word in name.split() if all(word in other.split() for other in others)]
            name = " ".join([*common, "…"]) if common else ""
        found.append((name or "list without a note", tuple(members)))
    return sorted(found, key=lambda each: -len(each[1]))


def _name(charge: Charge) -> str:
    return charge.note or charge.once or ""


def _add_up_lists(statement: Statement, lists: Sequence[_List]) -> dict[str, list[str]]:
    """Add up the releases of each list and of all lists: column by column, with all lists in the last row."""
    delta, calendar, charges = statement.promise[0].delta, statement.ledger.calendar, statement.charges
    shown = [each for _, each in lists[:_MOST_LISTS]]
    rows = [*shown, charges]

    def add(charges: Sequence[Charge], times: int = 1, delta: Fraction = delta) -> str:
        return _write_numbers(add_at([each.guarantee for each in charges] * times, delta)) if charges else "–"

    table = {
        "List": [*(_show(_shorten(name)) for name, _ in lists[:_MOST_LISTS]), "All lists together"],
        "k": [*(_show(each[0].parameters.get("k")) for each in shown), ""],
        "Mechanism": [*(_show(each[0].mechanism) for each in shown), ""],
        "Releases": [f"{len(each):,}" for each in rows],
        "One release": [*(_write_numbers(each[0].guarantee) for each in shown), ""],
    }
    for year in sorted(set(map(_find_year, charges)))[-2 if calendar is None else -1 :]:
        table[f"In {year}"] = [add([each for each in row if _find_year(each) == year]) for row in rows]
    if calendar is not None and charges:
        # The most periods that a year has.
        name, times = calendar.every, math.ceil(Every.YEAR.days / calendar.every.days)
        busiest = [_find_busiest(row) for row in rows]
        table[f"Largest {name}"] = [add(row, 1, statement.ledger.budget.guarantee.delta) for row in busiest]
        table[f"Full year ({times} {name}{'s' * (times > 1)})"] = [add(row, times) for row in busiest]
    return table


def _find_year(charge: Charge) -> str:
    """Find the year of a charge: that of its period, or that in which it was made."""
    return (charge.period or charge.made.isoformat())[:4]


def _find_busiest(charges: Sequence[Charge]) -> list[Charge]:
    """Find the charges of the period that spent most, and among those the most charges."""
    periods: dict[str | None, list[Charge]] = {}
    for each in charges:
        periods.setdefault(each.period, []).append(each)
    return max(periods.values(), key=lambda each: (sum(one.guarantee.epsilon for one in each), len(each)))


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _say_about_lists(lists: Sequence[_List], statement: Statement) -> Iterator[str]:
    more, unfinished = len(lists) - _MOST_LISTS, len(statement.unfinished)
    if statement.ledger.calendar is not None:
        yield "A full year has as many releases in each period as the one that spent most."
    if more > 0:
        yield f"{more:,} more lists are in the last row only; the ledger has them."
    if unfinished:
        yield f"Charges without a finished release count as spent: there are {unfinished:,}."


def _list_vouched(lists: Sequence[_List], statement: Statement) -> Iterator[tuple[str, str]]:
    """Say what must be true, and who vouches for it."""
    kinds = [MECHANISMS.get(each[0].mechanism) for _, each in lists]
    parameters = [each[0].parameters for _, each in lists]
    if any(kind is None or kind.needs_domain for kind in kinds):
        yield "The list of all items that may appear is public. It was not made from these data.", _PUBLISHER
    if any(kind is not None and not kind.needs_domain for kind in kinds):
        true = "Lists without a public list of items show an item of one person with a probability of at most δ."
        yield true, f"{_LIBRARY}, by proof"
    if any(each.get("persons_counted") for each in parameters):
        weighed = any("max_weight" in each for each in parameters)
        weight = ", or adds at most the weight that the record states," * weighed
        true = f"Each person counts once for an item{weight} and only within the limits that the record states."
        yield true, f"{_LIBRARY}, which counted"
        yield "One value of the column of persons is one person. Somebody with two accounts is two persons.", _PUBLISHER
    declared = [_read_limit(each, "sensitivity") for each in parameters if not each.get("persons_counted")]
    if declared:
        true = f"Counts were made elsewhere. One person adds at most {max(declared)} to a count, as was declared."
        yield true, f"{_PUBLISHER}; not checked by {_LIBRARY}"
    if any("groups_per_person" in each for each in parameters):
        most = max(_read_limit(each, "groups_per_person") for each in parameters)
        who = f"{_PUBLISHER} for the list; {_LIBRARY} for the limit, where it counted persons"
        yield f"The list of groups is public. One person is counted in at most {most} of them.", who
    if statement.ledger.calendar is not None:
        columns = ", ".join(sorted({each.time for each in statement.charges if each.time is not None}))
        counted = f"{_LIBRARY}, by the column {_show(columns)}; " if columns else ""
        true = "Every vote has one time, and a release counts the votes of its own period only."
        yield true, f"{counted}{_PUBLISHER}, where counts were made elsewhere"
    yield "Every release about these people is charged to this ledger, and never to a copy of it.", _PUBLISHER
    others = "; their authors, for mechanisms of others" * (None in kinds)
    true = "Lists are drawn with exactly the stated probabilities, from the randomness of the operating system."
    yield true, f"{_LIBRARY}, by proof and audit (section 5){others}"


def _read_limit(parameters: Mapping[str, Any], name: str) -> int:
    """Read a limit of a charge. A very large one is written as a text."""
    value = parameters.get(name, 1)
    return int(value["integer"] if isinstance(value, dict) else value)


def _write_mechanisms(names: Sequence[str]) -> str:
    """Describe each mechanism, unless there are too many for the page."""
    described = {f"<code>{_show(name)}</code>": _describe_mechanism(name) for name in names}
    if len(names) > _MOST_LISTS:
        listed = ", ".join(map(_show, names))
        described = {"Mechanisms": f"{listed}. Proofs: <code>mechanisms/*.proof.md</code>, by name"}
    return "\n".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in described.items())


def _describe_mechanism(name: str) -> str:
    kind = MECHANISMS.get(name)
    if kind is None:
        return f"no mechanism of shortlist: its author vouches for it. {_fill(None, 'its proof')}"
    proof = f"mechanisms/{name.replace('-', '_')}.proof.md"
    return f"{_show(kind.summary)}. Proof: <code>{proof}</code>"


def _list_proofs(charges: Sequence[Charge]) -> list[str]:
    used = {name for each in charges for name in each.parameters}
    return [*(proof for name, proof in _PROOFS.items() if name in used), "ledger/budget"]


def _describe_audit(audit: Mapping[str, Any] | None, names: Sequence[str], versions: Sequence[str]) -> str:
    if audit is None:
        how = "<code>shortlist audit --output audit.json</code>, then <code>--audit audit.json</code>"
        return f"{_fill(None, 'result, date, by whom')} Not given. {how}"
    checked = {each["subject"].partition(",")[0] for each in audit["findings"]}
    missing = [name for name in names if name not in checked]
    where = f"shortlist {audit['version']} on {audit['system']} {audit['machine']}"
    text = f"{audit['verdict']}, on {audit['made'][:10]}, {where}."
    if missing:
        text += f" Not checked: {', '.join(missing)}."
    if {*versions} - {audit["version"]}:
        text += " It is of another version than releases of this ledger."
    return f"<strong>{_show(text)}</strong> SHA-256 of the file: <code>{audit['hash']}</code>"


def _read_audit(path: PathLike) -> dict[str, Any]:
    """Read the file of an audit, and its hash."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterError("`audit` must be the path of a file", f"not {type(path).__name__}")
    raw = read_text(Path(path), "`audit`")
    try:
        found = json.loads(raw)
        texts = [found[name] for name in ("schema", "verdict", "version", "made", "system", "machine")]
        texts += [each["subject"] for each in found["findings"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        texts = [None]
    if not all(isinstance(each, str) for each in texts) or not texts[0].startswith(_AUDIT):
        raise DataError("`audit` must be a file that `shortlist audit --output audit.json` wrote", "it is another one")
    return {**found, "hash": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def _list_record(charge: Charge) -> list[str]:
    return [
        f"{charge.number:,}",
        f"{charge.made:%Y-%m-%d}",
        _show(charge.user),
        f"<code>{_show(charge.release)}</code>",
    ]


def _say_about_records(finished: Sequence[Charge], people: str) -> str:
    """Say which records are listed, and write one hash for all of them."""
    if not finished:
        return "No release was finished yet."
    number = f"{len(finished):,}"
    shown = f"The last {_MOST_RECORDS} of {number}" if len(finished) > _MOST_RECORDS else f"All {number}"
    together = hashlib.sha256("".join(f"{each.release}\n" for each in finished).encode()).hexdigest()
    return (
        f"{shown}. <code>sha256sum</code> of a record prints its hash. All hashes, one a line, have the SHA-256 "
        f"<code>{together}</code>. Charged by: {_show(people)}."
    )


def _say_raised(so_far: Guarantee | None, unit: str) -> str:
    """Say what the promise of the releases so far makes of a conclusion that has a probability of 1 %."""
    if so_far is None:
        return ""
    whole = "" if so_far.unit == unit else f" of all data of one {_show(so_far.unit)}"
    return f", and at most {_raise(so_far)}&nbsp;% by what is spent so far{whole}"


def _raise(guarantee: Guarantee) -> str:
    """Find the largest probability, in percent, that 1 % can become. It is rounded up.

    >>> _raise(Guarantee(epsilon=1)), _raise(Guarantee(epsilon=6))
    ('2.72', '100')
    """
    # The float of e^epsilon may be below it, so it is made a little larger.
    most = math.exp(min(float(guarantee.epsilon), 50.0)) * (1 + 1e-9) + float(guarantee.delta) * 100
    return f"{min(100, math.ceil(most * 100) / 100):g}"
