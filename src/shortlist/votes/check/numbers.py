"""The numbers of a check, from a table of all rows: `row` in the domain, `written`, `missing` and `person`."""

from __future__ import annotations

from typing import Any

from shortlist.votes.check.join_failures import find_causes, write_readable_test
from shortlist.votes.check.report import Check
from shortlist.votes.columns import CountColumn, PersonColumn
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.workspace import Workspace

NO_COUNT = "no count"
"""What is written for a count that is no whole number."""

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
PLACES = (10, 50, 100)
"""Of these places, the votes are told."""
_MOST = 10
_CUT = 200
_VOTED = "person IS NOT NULL AND NOT missing"
_MATCHED = f'{_VOTED} AND "row" IS NOT NULL'
_FAILED = f'{_VOTED} AND "row" IS NULL'

_WHOLE = r"(number |text )?[0-9]+(\.0)?"
_FEWEST_ITEMS = 20
_LARGEST_SHARE = 0.5
"""Persons look like counts if there are so many items, and at most this share of the persons differ."""


def describe_rows(
    workspace: Workspace,
    table: str,
    domain: Domain,
    family: Family | None,
    voters: PersonColumn | CountColumn,
    *,
    show_values: bool,
) -> Check:
    """Count the rows of the table by what became of them."""
    counted = isinstance(voters, CountColumn)
    return Check(
        **_count_rows(workspace, table, write_readable_test(domain.family, family)),
        **(_sum_counts(workspace, table) if counted else _count_persons(workspace, table)),
        votes_at_places=_rank_votes(workspace, table, domain.d, counted=counted),
        **_find_failures(workspace, table, domain, show_values=show_values),
        domain_size=domain.d,
        domain_type=str(domain.family),
        votes_type=str(family or "values of any type"),
    )


def _count_rows(workspace: Workspace, table: str, readable: str) -> dict[str, Any]:
    return _ask(
        workspace,
        table,
        rows="count(*)",
        without_person="count(*) FILTER (person IS NULL)",
        without_item="count(*) FILTER (person IS NOT NULL AND missing)",
        unreadable=f"count(*) FILTER ({_FAILED} AND NOT {readable})",
        not_in_domain=f"count(*) FILTER ({_FAILED} AND {readable})",
        matched=f"count(*) FILTER ({_MATCHED})",
        items_voted=f'count(DISTINCT "row") FILTER ({_MATCHED})',
    )


def _count_persons(workspace: Workspace, table: str) -> dict[str, Any]:
    """The persons, and their different votes."""
    pairs = f'SELECT DISTINCT person, "row" FROM {table} WHERE {_MATCHED}'
    each = f"SELECT count(*) AS n FROM ({pairs}) GROUP BY person"
    quantiles = _ask(workspace, f"({each})", found=f"quantile_disc(n, {list(QUANTILES)})")["found"]
    return {
        **_ask(workspace, table, persons="count(DISTINCT person)"),
        **_ask(workspace, f"({pairs})", votes="count(*)", persons_matched="count(DISTINCT person)"),
        "votes_per_person": tuple(zip(QUANTILES, quantiles or (), strict=False)),
        "persons_look_like_counts": _look_like_counts(workspace, table),
        "counts_unreadable": 0,
        "items_repeated": 0,
    }


def _look_like_counts(workspace: Workspace, table: str) -> bool:
    """Whether every item has one row, and its person is a whole number that many other rows have, too."""
    found = _ask(
        workspace,
        f"(SELECT * FROM {table} WHERE {_MATCHED})",
        rows="count(*)",
        items='count(DISTINCT "row")',
        persons="count(DISTINCT person)",
        whole=f"coalesce(bool_and(regexp_full_match(person, '{_WHOLE}')), false)",
    )
    rows = found["rows"]
    few = found["persons"] <= _LARGEST_SHARE * rows
    return bool(found["whole"] and rows == found["items"] >= _FEWEST_ITEMS and few)


def _sum_counts(workspace: Workspace, table: str) -> dict[str, Any]:
    """The counts of a table that is counted already, in which no person is known."""
    matched = f"(SELECT * FROM {table} WHERE {_MATCHED})"
    several = f'(SELECT "row" FROM {matched} GROUP BY "row" HAVING count(*) > 1)'
    return {
        **_ask(
            workspace,
            matched,
            votes="CAST(coalesce(sum(TRY_CAST(person AS HUGEINT)), 0) AS HUGEINT)",
            counts_unreadable=f"count(*) FILTER (person = '{NO_COUNT}')",
        ),
        **_ask(workspace, several, items_repeated="count(*)"),
        "persons": 0,
        "persons_matched": 0,
        "votes_per_person": (),
        "persons_look_like_counts": False,
    }


def _rank_votes(workspace: Workspace, table: str, d: int, *, counted: bool) -> tuple[tuple[int, int], ...]:
    """The votes at some places of the true order. Places beyond the items with a vote have 0."""
    votes = "coalesce(sum(TRY_CAST(person AS HUGEINT)), 0)::HUGEINT" if counted else "count(DISTINCT person)"
    found = workspace.connection.execute(
        f'SELECT {votes} AS n FROM {table} WHERE {_MATCHED} GROUP BY "row" ORDER BY n DESC LIMIT {PLACES[-1]}'
    ).fetchall()
    return tuple((place, found[place - 1][0] if place <= len(found) else 0) for place in PLACES if place <= d)


def _find_failures(workspace: Workspace, table: str, domain: Domain, *, show_values: bool) -> dict[str, Any]:
    """The items that did not match, and why."""
    connection, unmatched = workspace.connection, invent_name()
    connection.execute(
        f"CREATE TEMP TABLE {unmatched} AS SELECT written, count(*) AS n FROM {table} WHERE {_FAILED} GROUP BY written"
    )
    most = connection.execute(
        f"SELECT left(written, {_CUT}), n FROM {unmatched} ORDER BY n DESC, written LIMIT {_MOST}"
    ).fetchall()
    return {
        **_ask(workspace, unmatched, items_unmatched="count(*)"),
        "most_unmatched": tuple((value if show_values else None, n) for value, n in most),
        "causes": find_causes(workspace, unmatched, domain),
    }


def _ask(workspace: Workspace, source: str, **measures: str) -> dict[str, Any]:
    """Compute each measure on a table, under its name."""
    row = workspace.connection.execute(f"SELECT {', '.join(measures.values())} FROM {source}").fetchone()
    return dict(zip(measures, row or (), strict=True))
