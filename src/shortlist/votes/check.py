"""A check of votes for the data owner: what a release must not say, so that a failed join is noticed.

Nothing here is private. A check is never part of a release, and no privacy budget covers it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from shortlist.errors import Dialect, write_python
from shortlist.periods import read_span
from shortlist.safe_text import escape
from shortlist.votes.dialects import DUCKDB
from shortlist.votes.domain import Domain
from shortlist.votes.duckdb import (
    Views,
    Workspace,
    leave_out_misfits,
    open_stream,
    write_count_reader,
    write_person_text,
    write_shown,
)
from shortlist.votes.failures import register_engine, strip_context, translate_errors
from shortlist.votes.libraries import pa
from shortlist.votes.matching import can_match, make_key_table
from shortlist.votes.queries import invent_name, quote_text
from shortlist.votes.source import VOTES, Description, Request, Table
from shortlist.votes.tallies import plan_tally
from shortlist.votes.values import LARGEST_WEIGHT, Family

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
_NO_WEIGHT = "No matched row weighs anything. Is it the right column of weights, and does it hold numbers?"
_NO_DAY = "No vote is of the days that count. Is it the right column of times, and the right range?"
_NO_GROUP = "No vote is of a group that is listed. Is the list of groups written as the votes are?"
FEWEST_ITEMS = 20
"""A domain of fewer items may well have a vote for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A likely cause of failed matches, and how many rows and different items it explains."""

    name: str
    rows: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What persons add to items, or to cells, before it is cut at `max_weight`, among matched rows."""

    max_weight: int
    rows_without: int
    """Rows that weigh nothing: what is smaller than 1, negative, missing or no number."""
    quantiles: tuple[tuple[float, int], ...]
    """Quantiles of what one person adds to one item: pairs of the share of such pairs and the weight."""
    share_above: float
    """The share of the pairs of a person and an item that are above `max_weight`."""
    share_kept: float
    """The share of all weight that is left after the cut."""

    def write(self, votes: int) -> Iterator[str]:
        """Write what the report says of the weights, given how much is counted."""
        yield _line("weight that counts", votes, f"{_percent(self.share_kept)} of all weight")
        yield _line("  matched rows that weigh nothing", self.rows_without)
        if self.quantiles:
            yield _write_quantiles("weight per person and item", self.quantiles)
            yield _wrap(f"above the limit of {self.max_weight:,}: {_percent(self.share_above)} of these")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheck:
    """How the votes of matched items fit the groups of a family, or the days that count."""

    outside_time: int
    """Rows whose time is not in the range, or cannot be read."""
    not_listed: int
    """Rows of these days whose group is not listed, or not with their item."""
    groups_per_person: tuple[tuple[float, int], ...] = ()
    """Quantiles of the groups of a person, or of a person in a period if that is the unit."""
    groups: tuple[tuple[str, int, int], ...] = ()
    """Each group, in the order of the list, with its persons and its votes."""

    def write(self) -> Iterator[str]:
        """Write what the report says of the groups."""
        yield _line("groups", len(self.groups))
        yield _line("  without a vote", sum(not votes for _, _, votes in self.groups))
        if self.groups_per_person:
            for few in _FEW:
                yield _line(f"  with fewer than {few:,} persons", sum(persons < few for _, persons, _ in self.groups))
            yield _write_quantiles("groups per person", self.groups_per_person)
        yield f"  {'persons':>10}  {'votes':>10}  of the smallest groups"
        for name, persons, votes in sorted(self.groups, key=lambda each: each[1:])[:_MOST]:
            yield f"  {persons:>10,}  {votes:>10,}  {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How the rows of the votes fit the domain. **Not private and not for publication.**

    Every row is one of: without a person, without an item, unreadable in the type of the domain, not in the domain,
    outside the time or the groups that count (`family`), or matched. `votes` counts different pairs of person and item,
    or of person and cell, among the matched rows, as a release does. If the table is counted already, "without a
    person" means without a count, `votes` is the sum of the counts, and no person is known. With weights, votes are
    sums of weights, as a release adds them up without limits on items or groups.
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
    family: GroupCheck | None = None
    """How votes fit the groups and the range of time, if there are any."""
    weights: Weights | None = None

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
        if self.family is not None:
            yield _line("  of other days, or of no day", self.family.outside_time)
            yield _line("  of groups that are not listed", self.family.not_listed)
        yield _line("  matched", self.matched, f"{_percent(self.share_matched)} of those with a person and an item")
        yield _line("items of the domain", self.domain_size)
        yield _line("  with a vote", self.items_voted)
        for place, votes in self.votes_at_places:
            what = "votes" if self.weights is None else "weight"
            yield _line(f"  {what} of the item at place {place:,}", votes)
        yield _line("persons", self.persons)
        yield _line("  with a matched vote", self.persons_matched)
        if self.weights is None:
            yield _line("votes (a person counts once for an item)", self.votes)
        else:
            yield from self.weights.write(self.votes)
        if self.counts_unreadable or self.items_repeated:
            yield _line("rows whose count is no whole number", self.counts_unreadable)
            yield _line("items with several counts", self.items_repeated)
        if self.votes_per_person:
            yield _write_quantiles("votes per person", self.votes_per_person)
            yield _wrap(_NOT_PRIVATE.format(auto=dialect("votes_per_person", "auto")))
        if self.family is not None and self.family.groups:
            yield from self.family.write()
        likely = {
            _NO_VALUE.format(what="a person, or a count"): self.rows == self.without_person > 0,
            _NO_VALUE.format(what="an item"): self.rows - self.without_person == self.without_item > 0,
            _COUNTS.format(count=dialect("count", None), person=dialect("person", None)): self.persons_look_like_counts,
            _NO_DAY: self.family is not None and self.family.outside_time > self.family.not_listed == self.matched,
            _NO_GROUP: self.family is not None and self.family.not_listed > self.matched == 0,
            _NO_WEIGHT: self.weights is not None and self.weights.rows_without == self.matched > 0,
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
    by: Sequence[str] | str = (),
    groups: Any = None,
    time: str | None = None,
    every: str | None = None,
    since: Any = None,
    until: Any = None,
    period: Any = None,
    per: str | None = None,
    time_zone: str | None = None,
    weight: str | None = None,
    max_weight: int | None = None,
    show_values: bool = False,
    memory_limit: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Check:
    """Say how the rows of the votes fit the domain. The answer is **not private and not for publication**.

    The parameters are those of `shortlist.select`. Without `show_values`, the answer holds numbers and public groups
    only; with it, it also holds the items that failed to match most often. With groups, it says how many groups a
    person has and how many persons each group has, before any limit.

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
        by=by,
        groups=groups,
        time=time,
        span=read_span(time=time, every=every, since=since, until=until, period=period, per=per, time_zone=time_zone),
        weight=weight,
        max_weight=max_weight,
        checked=True,
        memory_limit=memory_limit,
        progress=progress,
    )
    workspace, request, votes_table = plan.workspace, plan.request, invent_name()
    progress("Reading the votes")
    with plan.source.explain_failures(), register_engine(workspace.connection.interrupt):
        # Weights are shown as they are, before they are cut.
        read = replace(request, max_weight=LARGEST_WEIGHT)
        families = plan.source.read_rows(plan.described, read, partial(_fill, workspace, votes_table, read))
    # From here on, no macro of a database file that was read can have the name of a function.
    workspace.connection.execute("USE memory")
    progress("Looking for causes")
    with translate_errors(VOTES), register_engine(workspace.connection.interrupt):
        return _describe_rows(workspace, votes_table, request, families, show_values=show_values)


def _fill(workspace: Workspace, table: str, request: Request, connection: Any, rows: Description) -> list[Family]:
    """Match every row and keep it in a new table; return the families of the items, as far as types tell.

    `row` is that of the domain; `written` is the item as text, where it matched no row, and `readable` says whether it
    has the form of the domain; `count` is what the value in the column of persons or counts is as a count; `weight` is
    1 if there are no weights; `period` is 0 if there is no time, and NULL outside the range; `group_number` is NULL for
    a row of no group, and 0 or the period without groups.
    """
    assert request.domain is not None
    if connection is not workspace.connection:
        connection, rows = workspace.connection, workspace.open_table(Table.of(open_stream(rows.handle)))
    kinds = '"row" BIGINT, written VARCHAR, readable BOOLEAN, missing BOOLEAN, person VARCHAR, "count" BIGINT, '
    kinds += "weight BIGINT, period BIGINT, group_number BIGINT"
    # Replaced: a file with bad lines is read a second time.
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} ({kinds})")
    with Views(connection) as views:
        for part in rows.parts:
            item, other = part.columns["item"], part.columns["other"]
            taken = {
                "written": write_shown(item),
                "missing": f"NOT {DUCKDB.is_present(item.value, item.kind)}",
                "person": f"CASE WHEN {DUCKDB.is_present(other.value, other.kind)} THEN {write_person_text(other)} END",
                "count": "v.other_count" if "other_count" in part.columns else write_count_reader(other),
                "weight": "CAST(1 AS BIGINT)",
            }
            if "item_written" in part.columns:
                taken |= {"written": "v.item_written", "missing": "v.item_written IS NULL"}
            matched = views.match(leave_out_misfits(part, request), request, taken=taken)
            written = "CASE WHEN item IS NULL THEN written END"
            readable = _write_readable_test(request.domain.family, item.family)
            columns = f'item, {written}, {readable}, missing, person, "count", weight, period, group_number'
            matched.project(columns).insert_into(table)
    return rows.list_families("item")


# The numbers of a check, from a table of all rows

PLACES = (10, 50, 100)
"""Of these places, the votes are told."""
_MOST = 10
_FEW = (10, 100, 1000)
"""Groups with fewer persons than these are counted."""
_CUT = 200
_VOTED = "person IS NOT NULL AND NOT missing"
_LISTED = f'{_VOTED} AND "row" IS NOT NULL'
_MATCHED = f"{_LISTED} AND group_number IS NOT NULL"
_FAILED = f'{_VOTED} AND "row" IS NULL'

_FEWEST_COUNTED = 20
_LARGEST_SHARE = 0.5
"""Persons look like counts if there are so many items, and at most this share of the persons differ."""


def _describe_rows(
    workspace: Workspace, table: str, request: Request, families: Sequence[Family], *, show_values: bool
) -> Check:
    """Count the rows of the table by what became of them."""
    connection, domain = workspace.connection, request.domain
    pairs, cells, unmatched = (invent_name() for _ in range(3))
    assert domain is not None
    # Without weights, a person gives 1 to a cell, whatever the number of rows.
    votes = "coalesce(sum(counts), 0)" if request.counted else f"sum(least(n, {request.max_weight}))"
    connection.execute(
        f'CREATE TEMP TABLE {pairs} AS SELECT group_number, "row", count(*) AS of_rows, sum(weight) AS n, '
        f'sum("count") AS counts FROM {table} WHERE {_MATCHED} AND weight >= 1 GROUP BY group_number, "row", person'
    )
    connection.execute(
        f'CREATE TEMP TABLE {cells} AS SELECT group_number, "row", sum(of_rows) AS n, '
        f"CAST({votes} AS HUGEINT) AS votes "
        f'FROM {pairs} GROUP BY group_number, "row"'
    )
    connection.execute(
        f"CREATE TEMP TABLE {unmatched} AS SELECT written, count(*) AS n FROM {table} WHERE {_FAILED} GROUP BY written"
    )
    items = f'(SELECT sum(votes) AS votes FROM {cells} GROUP BY "row")'
    falling = connection.execute(f"SELECT votes FROM {items} ORDER BY votes DESC LIMIT {PLACES[-1]}").fetchall()
    # Places beyond the items with a vote have 0. In a family, places are those of groups.
    places = [n for n in PLACES if n <= domain.d and request.groups is None]
    most = connection.execute(
        f"SELECT left(written, {_CUT}), n FROM {unmatched} ORDER BY n DESC, written LIMIT {_MOST}"
    ).fetchall()
    rows = _ask(
        connection,
        table,
        rows="count(*)",
        without_person="count(*) FILTER (person IS NULL)",
        without_item="count(*) FILTER (person IS NOT NULL AND missing)",
        unreadable=f"count(*) FILTER ({_FAILED} AND NOT readable)",
        not_in_domain=f"count(*) FILTER ({_FAILED} AND readable)",
        matched=f"count(*) FILTER ({_MATCHED})",
    )
    voted = _ask(
        connection,
        cells,
        items_voted='count(DISTINCT "row")',
        votes="CAST(coalesce(sum(votes), 0) AS HUGEINT)",
        items_repeated=f"count(*) FILTER (n > 1 AND {request.counted})",
    )
    several = request.groups is not None or request.span is not None
    return Check(
        **rows,
        **voted,
        **_describe_persons(connection, table, voted["items_voted"], counted=request.counted),
        votes_at_places=tuple((n, int(falling[n - 1][0]) if n <= len(falling) else 0) for n in places),
        **_ask(connection, unmatched, items_unmatched="count(*)"),
        most_unmatched=tuple((value if show_values else None, n) for value, n in most),
        causes=_find_causes(connection, unmatched, domain),
        domain_size=domain.d,
        domain_type=str(domain.family),
        votes_type=" and ".join(families) or "values of any type",
        family=_describe_groups(connection, table, request) if several else None,
        weights=None if request.weight is None else _describe_weights(connection, table, pairs, request.max_weight),
    )


def _describe_weights(connection: Any, table: str, pairs: str, largest: int) -> Weights:
    """Describe what each person adds to each cell, which is `n` of the table of pairs."""
    shares = _ask(
        connection,
        pairs,
        share_above=f"coalesce(avg(CAST(n > {largest} AS INTEGER)), 0.0)",
        share_kept=f"coalesce(sum(least(n, {largest})) / sum(n), 0.0)",
    )
    rows = _ask(connection, table, rows_without=f"count(*) FILTER ({_MATCHED} AND weight < 1)")
    return Weights(max_weight=largest, quantiles=_find_quantiles(connection, pairs), **rows, **shares)


def _describe_groups(connection: Any, table: str, request: Request) -> GroupCheck:
    """Count the votes that no group has, and the groups of persons and persons of groups before any limit."""
    rows = _ask(
        connection,
        table,
        outside_time=f"count(*) FILTER ({_LISTED} AND period IS NULL)",
        not_listed=f"count(*) FILTER ({_LISTED} AND period IS NOT NULL AND group_number IS NULL)",
    )
    if request.groups is None:
        return GroupCheck(**rows)
    votes = 'sum("count")' if request.counted else 'count(DISTINCT (person, "row"))'
    measures = f"group_number, count(DISTINCT person), CAST({votes} AS HUGEINT)"
    found = connection.execute(f"SELECT {measures} FROM {table} WHERE {_MATCHED} GROUP BY group_number").fetchall()
    sizes = {number: (0 if request.counted else persons, sums or 0) for number, persons, sums in found}
    names = (escape(", ".join(map(str, group))) for group in request.groups.names)
    units = f"(SELECT person AS other, group_number FROM {table} WHERE {_MATCHED})"
    each = f"(SELECT count(DISTINCT group_number) AS n FROM {units} GROUP BY {DUCKDB.write_unit(request)})"
    return GroupCheck(
        **rows,
        groups_per_person=() if request.counted else _find_quantiles(connection, each),
        groups=tuple((name, *sizes.get(number, (0, 0))) for number, name in enumerate(names)),
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
    each = f'(SELECT count(DISTINCT (group_number, "row")) AS n FROM {matched} GROUP BY person)'
    once, few = found["rows"] == items >= _FEWEST_COUNTED, found["persons"] <= _LARGEST_SHARE * found["rows"]
    return {
        "persons": 0 if counted else _ask(connection, table, n="count(DISTINCT person)")["n"],
        "persons_matched": 0 if counted else found["persons"],
        "votes_per_person": () if counted else _find_quantiles(connection, each),
        # Every item has one row, and its person is a whole number that many other rows have, too.
        "persons_look_like_counts": not (counted or found["unreadable"]) and once and few,
        "counts_unreadable": found["unreadable"] if counted else 0,
    }


def _find_quantiles(connection: Any, numbers: str) -> tuple[tuple[float, int], ...]:
    found = _ask(connection, numbers, found=f"quantile_disc(n, {list(_QUANTILES)})")["found"]
    return tuple(zip(_QUANTILES, found or (), strict=False))


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
    keys = invent_name()
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


def _write_quantiles(name: str, quantiles: tuple[tuple[float, int], ...]) -> str:
    return _wrap(f"{name}: " + ", ".join(f"{_QUANTILES[share]} {n:,}" for share, n in quantiles))


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="    ")


def _percent(share: float) -> str:
    # Rounded down: 100 % means all rows.
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{int(share * 1000) / 10:g} %"
