"""A check of votes for the data owner: what a release must not say, so that a failed join is noticed.

Nothing here is private. A check is never part of a release, and no privacy budget covers it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from shortlist.errors import Dialect, write_python
from shortlist.safe_text import escape_surrogates
from shortlist.votes.dialects import DUCKDB
from shortlist.votes.domain import Domain
from shortlist.votes.duckdb import Workspace, write_count_reader
from shortlist.votes.failures import register_engine, strip_context, translate_errors
from shortlist.votes.libraries import import_optional
from shortlist.votes.matching import NO_ROW, Lookup, can_match, make_key_table
from shortlist.votes.queries import invent_name, quote_text
from shortlist.votes.source import VOTES, Rows, TypedRows
from shortlist.votes.tallies import plan_tally
from shortlist.votes.values import Family, is_missing, read_count, write_person

NOTICE = "NOT PRIVATE, NOT FOR PUBLICATION: for the data owner only."

_WIDTH = 60
_QUANTILES = {
    0.0: "min",
    0.25: "25th percentile",
    0.5: "median",
    0.75: "75th percentile",
    0.9: "90th percentile",
    0.99: "99th percentile",
    1.0: "max",
}

_COUNTS = (
    "Are the persons counts? Every item has one row, and many rows have the same whole number. If so, name that column "
    "with {count} in place of {person}."
)
_NOT_PRIVATE = "A limit that you take from these numbers is not private. {auto} chooses one privately."
_FROM_LOG = (
    "Every item of the domain has a vote: was the domain made from the log? Then the guarantee does not hold. Take a "
    "list of all items that exist, with or without votes."
)
_NO_VALUE = (
    "No row has {what}. Is the column named as in the data, in case and blanks too? In JSON lines, a name that no line "
    "has is no error."
)
FEWEST_ITEMS = 20
"""A domain of fewer items may well have a vote for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A likely cause of failed matches, and how many rows and different items it explains."""

    name: str
    rows: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How the rows of the votes fit the domain. **Not private and not for publication.**

    Every row is one of: without a person, without an item, unreadable in the type of the domain, not in the domain, or
    matched. `votes` counts different pairs of person and item among the matched rows, as a release does. If the
    table is counted already, "without a person" means without a count, `votes` is the sum of the counts, and no person
    is known.
    """

    rows: int
    without_person: int
    without_item: int
    unreadable: int
    not_in_domain: int
    matched: int
    domain_size: int
    domain_type: str
    votes_type: str
    items_voted: int
    """How many items of the domain have a vote."""
    persons: int
    persons_matched: int
    """How many persons have a matched vote."""
    votes: int
    votes_per_person: tuple[tuple[float, int], ...]
    """Quantiles of the matched votes of a person: pairs of the share of persons and the number of votes."""
    persons_look_like_counts: bool
    """Whether every item has one row, and half of the persons or more repeat another one, a whole number."""
    counts_unreadable: int
    """Matched rows whose count is not a whole number; a release refuses them."""
    items_repeated: int
    """Items with several rows of counts; a release refuses them."""
    votes_at_places: tuple[tuple[int, int], ...]
    """Pairs of a place and the votes of the item there, to compare with the bound of a release."""
    items_unmatched: int
    most_unmatched: tuple[tuple[str | None, int], ...]
    """The items that failed to match most often, with their rows; None for an item that is not shown."""
    causes: tuple[Cause, ...]

    @property
    def share_matched(self) -> float:
        """The share of the rows with a person and an item that matched; 0 if there are none."""
        complete = self.rows - self.without_person - self.without_item
        return self.matched / complete if complete else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All numbers under their names; the notice is the first and the last entry."""
        return {
            "not_private": NOTICE,
            **asdict(self),
            "share_matched": self.share_matched,
            "not_for_publication": NOTICE,
        }

    def __str__(self) -> str:
        return self.write()

    def write(self, dialect: Dialect = write_python) -> str:
        """Write the report as text, with parameters in the words of Python or of the command line."""
        return "\n".join([NOTICE, "", *self._lines(dialect), "", NOTICE])

    def _lines(self, dialect: Dialect) -> Iterator[str]:
        yield _line("rows read", self.rows)
        yield _line("  without a person", self.without_person)
        yield _line("  without an item", self.without_item)
        yield _line(f"  unreadable as {self.domain_type}", self.unreadable, f"the column holds {self.votes_type}")
        yield _line("  not in the domain", self.not_in_domain)
        yield _line("  matched", self.matched, f"{_percent(self.share_matched)} of those with a person and an item")
        yield _line("items of the domain", self.domain_size)
        yield _line("  with a vote", self.items_voted)
        for place, votes in self.votes_at_places:
            yield _line(f"  votes of the item at place {place:,}", votes)
        yield _line("persons", self.persons)
        yield _line("  with a matched vote", self.persons_matched)
        yield _line("votes (a person counts once for an item)", self.votes)
        if self.counts_unreadable or self.items_repeated:
            yield _line("rows whose count is no whole number", self.counts_unreadable)
            yield _line("items with several counts", self.items_repeated)
        if self.votes_per_person:
            yield _wrap("votes per person: " + ", ".join(f"{_QUANTILES[q]} {n:,}" for q, n in self.votes_per_person))
            yield _wrap(_NOT_PRIVATE.format(auto=dialect("votes_per_person", "auto")))
        likely = {
            _NO_VALUE.format(what="a person, or a count"): self.rows == self.without_person > 0,
            _NO_VALUE.format(what="an item"): self.rows - self.without_person == self.without_item > 0,
            _COUNTS.format(count=dialect("count", None), person=dialect("person", None)): self.persons_look_like_counts,
            _FROM_LOG: self.domain_size == self.items_voted >= FEWEST_ITEMS,
        }
        yield from (f"\n{_wrap(text)}" for text, true in likely.items() if true)
        if self.items_unmatched:
            yield ""
            yield from self._failures()

    def _failures(self) -> Iterator[str]:
        yield _line("different items that did not match", self.items_unmatched)
        if any(value is not None for value, _ in self.most_unmatched):
            yield "  most often:"
            yield from (f"  {n:>12,}  {value!r}" for value, n in self.most_unmatched)
        else:
            yield _wrap("  rows of the most frequent: " + ", ".join(f"{n:,}" for _, n in self.most_unmatched))
        if not self.causes:
            yield "  none of the usual causes explains them:"
            yield "  is it the right column, and the right catalogue?"
            return
        yield "  likely causes, and what would match without them:"
        yield f"  {'rows':>12}  {'items':>8}"
        yield from (f"  {cause.rows:>12,}  {cause.items:>8,}  {cause.name}" for cause in self.causes)


@strip_context
def check(
    votes: Any,
    *,
    item: str,
    person: str | None = None,
    count: str | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    show_values: bool = False,
    memory_limit: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Check:
    """Say how the rows of the votes fit the domain. The answer is **not private and not for publication**.

    `votes`, `item`, `person` (or `count`), `domain` and `domain_column` are those of `shortlist.select`. Without
    `show_values`, the answer holds numbers only; with it, it also holds the items that failed to match most often.

    >>> votes = {"user": [1, 1, 2, 3], "track": ["a", "A ", "b", None]}
    >>> found = check(votes, item="track", person="user", domain=["a", "b", "c"])
    >>> found.rows, found.matched, found.without_item, found.not_in_domain
    (4, 2, 1, 1)
    """
    plan = plan_tally(
        votes,
        item=item,
        person=person,
        count=count,
        domain=domain,
        domain_column=domain_column,
        any_type=True,
        memory_limit=memory_limit,
        progress=progress,
    )
    assert plan.request.domain is not None
    workspace, numbered, counted = plan.workspace, plan.request.domain, plan.request.counted
    progress("Reading the votes")
    table = invent_name()
    # `row` is that of the domain; `written` is the item as text, where it matched no row; `count` is what the value in
    # the column of persons or counts is as a count.
    workspace.connection.execute(
        f'CREATE TEMP TABLE {table} ("row" BIGINT, written VARCHAR, missing BOOLEAN, person VARCHAR, "count" BIGINT)'
    )
    with plan.source.explain_failures(), register_engine(workspace.connection.interrupt):
        family = plan.source.read_rows(
            plan.described, lambda rows: _fill(workspace, table, rows, numbered, counted=counted)
        )
    # From here on, no macro of a database file that was read can have the name of a function.
    workspace.connection.execute("USE memory")
    progress("Looking for causes")
    with translate_errors(VOTES), register_engine(workspace.connection.interrupt):
        return _describe_rows(workspace, table, numbered, family, counted=counted, show_values=show_values)


def _fill(workspace: Workspace, table: str, votes: Rows, domain: Domain, *, counted: bool) -> Family | None:
    """Match every row and keep it in the table; return the family of the items if they have one."""
    pa, connection, lookup = import_optional("pyarrow"), workspace.connection, Lookup(domain)
    if isinstance(votes, TypedRows):
        plain = votes.relation
        fits = votes.family is not None and can_match(domain.family, votes.family)
        keys = connection.from_arrow(make_key_table(domain, votes.item_type, votes.family)).set_alias("k")
        has_item, has_person = (DUCKDB.is_present(*each) for each in zip(("item", "other"), plain.types, strict=True))
        plain.set_alias("v").join(keys, "v.item = k.key" if fits else "false", how="left").project(
            f'"row", CASE WHEN "row" IS NULL THEN CAST(item AS VARCHAR) END, NOT {has_item}, '
            f"CASE WHEN {has_person} THEN CAST(other AS VARCHAR) END, {write_count_reader(str(plain.types[1]))}"
        ).insert_into(table)
        return votes.family
    for items, others in votes:
        rows, missing = lookup.rows(items).tolist(), [is_missing(item) for item in items]
        columns = {
            "row": [None if row == NO_ROW else row for row in rows],
            "written": [
                _write(item) if row == NO_ROW and not gap else None
                for row, item, gap in zip(rows, items, missing, strict=True)
            ],
            "missing": missing,
            "person": [_write_person(other, counted=counted) for other in others],
            "count": [read_count(other) for other in others],
        }
        kinds = [("row", pa.int64()), ("written", pa.string()), ("missing", pa.bool_()), ("person", pa.string())]
        schema = pa.schema([*kinds, ("count", pa.int64())])
        connection.from_arrow(pa.table(columns, schema=schema)).insert_into(table)
    return None


def _write(value: Any) -> str:
    try:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return escape_surrogates(str(value))
    except Exception:  # values may have any type, and their methods may fail in any way
        return f"a {type(value).__name__}"


def _write_person(value: Any, *, counted: bool) -> str | None:
    """Write a person as text, so that different persons are written differently. A count may be of any type."""
    written = None if is_missing(value) else b"" if counted else write_person(value)
    return None if written is None else written.hex()


# The numbers of a check, from a table of all rows

PLACES = (10, 50, 100)
"""Of these places, the votes are told."""
_MOST = 10
_CUT = 200
_VOTED = "person IS NOT NULL AND NOT missing"
_MATCHED = f'{_VOTED} AND "row" IS NOT NULL'
_FAILED = f'{_VOTED} AND "row" IS NULL'

_FEWEST_COUNTED = 20
_LARGEST_SHARE = 0.5
"""Persons look like counts if there are so many items, and at most this share of the persons differ."""


def _describe_rows(
    workspace: Workspace,
    table: str,
    domain: Domain,
    family: Family | None,
    *,
    counted: bool,
    show_values: bool,
) -> Check:
    """Count the rows of the table by what became of them."""
    connection, items, unmatched = workspace.connection, invent_name(), invent_name()
    readable = _write_readable_test(domain.family, family)
    votes = 'coalesce(sum("count"), 0)' if counted else "count(DISTINCT person)"
    connection.execute(
        f"CREATE TEMP TABLE {items} AS SELECT count(*) AS n, CAST({votes} AS HUGEINT) AS votes "
        f'FROM {table} WHERE {_MATCHED} GROUP BY "row"'
    )
    connection.execute(
        f"CREATE TEMP TABLE {unmatched} AS SELECT written, count(*) AS n FROM {table} WHERE {_FAILED} GROUP BY written"
    )
    falling = connection.execute(f"SELECT votes FROM {items} ORDER BY votes DESC LIMIT {PLACES[-1]}").fetchall()
    most = connection.execute(
        f"SELECT left(written, {_CUT}), n FROM {unmatched} ORDER BY n DESC, written LIMIT {_MOST}"
    ).fetchall()
    rows = _ask(
        connection,
        table,
        rows="count(*)",
        without_person="count(*) FILTER (person IS NULL)",
        without_item="count(*) FILTER (person IS NOT NULL AND missing)",
        unreadable=f"count(*) FILTER ({_FAILED} AND NOT {readable})",
        not_in_domain=f"count(*) FILTER ({_FAILED} AND {readable})",
        matched=f"count(*) FILTER ({_MATCHED})",
    )
    voted = _ask(
        connection,
        items,
        items_voted="count(*)",
        votes="CAST(coalesce(sum(votes), 0) AS HUGEINT)",
        items_repeated=f"count(*) FILTER (n > 1 AND {counted})",
    )
    return Check(
        **rows,
        **voted,
        **_describe_persons(connection, table, voted["items_voted"], counted=counted),
        # Places beyond the items with a vote have 0.
        votes_at_places=tuple((n, falling[n - 1][0] if n <= len(falling) else 0) for n in PLACES if n <= domain.d),
        **_ask(connection, unmatched, items_unmatched="count(*)"),
        most_unmatched=tuple((value if show_values else None, n) for value, n in most),
        causes=_find_causes(connection, unmatched, domain),
        domain_size=domain.d,
        domain_type=str(domain.family),
        votes_type=str(family or "values of any type"),
    )


def _describe_persons(connection: Any, table: str, items: int, *, counted: bool) -> dict[str, Any]:
    """Count the persons, and their different votes. In a table that is counted already, no person is known."""
    matched = f"(SELECT * FROM {table} WHERE {_MATCHED})"
    found = _ask(
        connection,
        matched,
        rows="count(*)",
        persons="count(DISTINCT person)",
        unreadable='count(*) FILTER ("count" IS NULL)',
    )
    each = f'(SELECT count(DISTINCT "row") AS n FROM {matched} GROUP BY person)'
    quantiles = _ask(connection, each, found=f"quantile_disc(n, {list(_QUANTILES)})")["found"]
    once, few = found["rows"] == items >= _FEWEST_COUNTED, found["persons"] <= _LARGEST_SHARE * found["rows"]
    return {
        "persons": 0 if counted else _ask(connection, table, n="count(DISTINCT person)")["n"],
        "persons_matched": 0 if counted else found["persons"],
        "votes_per_person": () if counted else tuple(zip(_QUANTILES, quantiles or (), strict=False)),
        # Every item has one row, and its person is a whole number that many other rows have, too.
        "persons_look_like_counts": not (counted or found["unreadable"]) and once and few,
        "counts_unreadable": found["unreadable"] if counted else 0,
    }


def _ask(connection: Any, source: str, **measures: str) -> dict[str, Any]:
    """Compute each measure on a table, under its name."""
    row = connection.execute(f"SELECT {', '.join(measures.values())} FROM {source}").fetchone()
    return dict(zip(measures, row or (), strict=True))


# Why items match nothing: each likely cause is tried on the items that failed

_BLANKS = r"[\s\p{Z}]+"
_MARKS = r"""["'`“”„‘’«»]+"""
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"

_TEXT = "{text}"
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


def _write_readable_test(domain: Family, votes: Family | None) -> str:
    """The SQL that says whether `written` can be read in the type of the domain.

    >>> _write_readable_test(Family.TEXT, Family.INTEGER)
    'true'
    """
    if votes is not None and not can_match(domain, votes):
        return "false"
    if domain not in _READABLE or domain == votes:
        return "true"
    # A column of floats writes the whole number 7 as 7.0.
    zeros = r"(\.0+)?" if domain == Family.INTEGER and votes in (Family.FLOAT, Family.DECIMAL) else ""
    return f"regexp_full_match(written, {quote_text(_READABLE[domain] + zeros)})"


def _find_causes(connection: Any, unmatched: str, domain: Domain) -> tuple[Cause, ...]:
    """Find the causes that explain items of the table `unmatched` (`written`, `n` rows), the most rows first."""
    pa, keys = import_optional("pyarrow"), invent_name()
    connection.execute(f"CREATE TEMP TABLE {keys} (key VARCHAR)")
    connection.from_arrow(make_key_table(domain, pa.string(), Family.TEXT).select(["key"])).insert_into(keys)
    everything = _TEXT
    for neutral in _NEUTRAL.values():
        everything = neutral.replace(_TEXT, everything)
    trials = [*_NEUTRAL.values(), everything]
    explained = ", ".join(
        f"{trial.replace(_TEXT, 'written')} IN (SELECT {trial.replace(_TEXT, 'key')} FROM {keys}) AS cause_{number}"
        for number, trial in enumerate(trials)
    )
    alone = [f"cause_{number}" for number in range(len(_NEUTRAL))]
    conditions = [*alone, f"cause_{len(_NEUTRAL)} AND NOT ({' OR '.join(alone)})"]
    sums = ", ".join(f"coalesce(sum(n) FILTER ({each}), 0)::BIGINT, count(*) FILTER ({each})" for each in conditions)
    row = connection.execute(f"SELECT {sums} FROM (SELECT n, {explained} FROM {unmatched})").fetchone()
    numbers = iter(row or ())
    causes = [Cause(name=name, rows=next(numbers), items=next(numbers)) for name in (*_NEUTRAL, _SEVERAL)]
    return tuple(sorted((cause for cause in causes if cause.items), key=lambda cause: -cause.rows))


# The report as text


def _line(name: str, number: int, remark: str = "") -> str:
    return f"{name:<42}{number:>14,}" + (f"\n    ({remark})" if remark else "")


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="    ")


def _percent(share: float) -> str:
    # Rounded down: 100 % means all rows.
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{int(share * 1000) / 10:g} %"
