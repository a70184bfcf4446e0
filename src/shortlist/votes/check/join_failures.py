"""Why items of votes match no item of the domain: each likely cause is tried on the items that failed."""

from __future__ import annotations

from shortlist.votes.check.report import Cause
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.keys import make_key_table
from shortlist.votes.items.matching import can_match
from shortlist.votes.libraries import import_optional
from shortlist.votes.sql import invent_name, quote_text
from shortlist.votes.workspace.workspace import Workspace

_BLANKS = r"[\s\p{Z}]+"
_MARKS = r"""["'`“”„‘’«»]+"""
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"

# Each takes away what may differ; two texts that become equal differ in that only.
_NEUTRAL = {
    "upper and lower case": "lower({text})",
    "leading, trailing or other spaces": f"trim(regexp_replace({{text}}, {quote_text(_BLANKS)}, ' ', 'g'))",
    "quotation marks": f"regexp_replace({{text}}, {quote_text(f'^{_MARKS}|{_MARKS}$')}, '', 'g')",
    "leading zeros": r"regexp_replace({text}, '^([+-]?)0+([0-9])', '\1\2')",
    "a type: numbers with a decimal point or a plus sign": r"regexp_replace({text}, '^\+?(-?[0-9]+)(\.0*)?$', '\1')",
    "a type: dates with a time of day": f"regexp_replace({{text}}, {quote_text(f'^({_DAY})[ T].*$')}, '\\1')",
    "accents as letters of their own (Unicode forms)": "nfc_normalize({text})",
}
_SEVERAL = "several of these at once"

_NUMBER = r"[+-]?[0-9]+"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_READABLE = {
    Family.INTEGER: _NUMBER,
    Family.DECIMAL: _NUMBER + r"(\.[0-9]+)?",
    Family.BOOLEAN: "true|false|True|False|TRUE|FALSE",
    Family.DATE: _DAY,
    Family.TIME: _CLOCK,
    Family.NAIVE: f"{_DAY}[ T]{_CLOCK}",
    Family.AWARE: f"{_DAY}[ T]{_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)",
}


def write_readable_test(domain: Family, votes: Family | None) -> str:
    """The SQL that says whether `written` can be read in the type of the domain.

    >>> write_readable_test(Family.TEXT, Family.INTEGER)
    'true'
    """
    if votes is not None and not can_match(domain, votes):
        return "false"
    if domain not in _READABLE or domain == votes:
        return "true"
    # A column of floats writes the whole number 7 as 7.0.
    zeros = r"(\.0+)?" if domain == Family.INTEGER and votes in (Family.FLOAT, Family.DECIMAL) else ""
    return f"regexp_full_match(written, {quote_text(_READABLE[domain] + zeros)})"


def find_causes(workspace: Workspace, unmatched: str, domain: Domain) -> tuple[Cause, ...]:
    """Find the causes that explain items of the table `unmatched` (`written`, `n` rows), the most rows first."""
    pa, connection, keys = import_optional("pyarrow"), workspace.connection, invent_name()
    connection.execute(f"CREATE TEMP TABLE {keys} (key VARCHAR)")
    connection.from_arrow(make_key_table(domain, pa.string(), Family.TEXT).select(["key"])).insert_into(keys)
    everything = "{text}"
    for neutral in _NEUTRAL.values():
        everything = neutral.replace("{text}", everything)
    trials = [*_NEUTRAL.values(), everything]
    explained = ", ".join(
        f"{_fill(trial, 'written')} IN (SELECT {_fill(trial, 'key')} FROM {keys}) AS cause_{number}"
        for number, trial in enumerate(trials)
    )
    alone = [f"cause_{number}" for number in range(len(_NEUTRAL))]
    conditions = [*alone, f"cause_{len(_NEUTRAL)} AND NOT ({' OR '.join(alone)})"]
    sums = ", ".join(f"coalesce(sum(n) FILTER ({each}), 0)::BIGINT, count(*) FILTER ({each})" for each in conditions)
    row = connection.execute(f"SELECT {sums} FROM (SELECT n, {explained} FROM {unmatched})").fetchone()
    numbers = iter(row or ())
    causes = [Cause(name=name, rows=next(numbers), items=next(numbers)) for name in (*_NEUTRAL, _SEVERAL)]
    return tuple(sorted((cause for cause in causes if cause.items), key=lambda cause: -cause.rows))


def _fill(trial: str, column: str) -> str:
    return trial.replace("{text}", column)
