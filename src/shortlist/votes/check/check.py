"""A check of votes for the data owner: what a release must not say, so that a failed join is noticed.

Nothing here is private. A check is never part of a release, and no privacy budget covers it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.near_names import suggest_names
from shortlist.votes.check.numbers import NO_COUNT, describe_rows
from shortlist.votes.check.report import Cause, Check
from shortlist.votes.columns import VOTES, CountColumn, PersonColumn, read_columns
from shortlist.votes.engines.counting import write_count_reader
from shortlist.votes.engines.table import Rows, TypedRows
from shortlist.votes.files.source import translate_errors_of
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.keys import NO_ROW, Lookup, make_key_table
from shortlist.votes.items.matching import can_match
from shortlist.votes.items.python_values import is_missing, read_count
from shortlist.votes.libraries import import_optional
from shortlist.votes.persons import write_person
from shortlist.votes.sql import invent_name
from shortlist.votes.tallies import open_tables
from shortlist.votes.workspace.failures import strip_context, translate_errors
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace

__all__ = ["Cause", "Check", "check"]


@suggest_names
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
    columns = read_columns(item=item, person=person, count=count, votes_per_person=None)
    workspace, opened, numbered = open_tables(
        votes, columns, domain, domain_column=domain_column, memory_limit=memory_limit, progress=progress
    )
    progress("Reading the votes")
    table = invent_name()
    # `row` is that of the domain; `written` is the item as text, where it matched no row; `person` may be a count.
    workspace.connection.execute(
        f'CREATE TEMP TABLE {table} ("row" BIGINT, written VARCHAR, missing BOOLEAN, person VARCHAR)'
    )
    with opened.explain_failures(), register_engine(workspace.connection.interrupt):
        family = _fill(workspace, table, opened.read_rows(columns.choose), numbered, columns.voters)
    # From here on, no macro of a database file that was read can have the name of a function.
    workspace.connection.execute("USE memory")
    progress("Looking for causes")
    with translate_errors(VOTES), register_engine(workspace.connection.interrupt):
        return describe_rows(workspace, table, numbered, family, columns.voters, show_values=show_values)


def _fill(
    workspace: Workspace, table: str, votes: Rows, domain: Domain, voters: PersonColumn | CountColumn
) -> Family | None:
    """Match every row and keep it in the table; return the family of the items if they have one."""
    if not isinstance(votes, TypedRows):
        lookup = Lookup(domain)
        for items, others in votes:
            write = _write_count if isinstance(voters, CountColumn) else write_person
            persons = [None if is_missing(other) else write(other) for other in others]
            _insert(workspace, table, lookup.rows(items).tolist(), items, persons)
        return None
    with translate_errors_of(votes.source):
        plain = votes.source.relation
        fits = can_match(domain.family, votes.family)
        keys = workspace.connection.from_arrow(make_key_table(domain, votes.kept, votes.family)).set_alias("k")
        missing = " OR system.main.isnan(other)" if str(plain.types[1]) in ("FLOAT", "DOUBLE") else ""
        nothing = " OR system.main.isnan(item)" if votes.family == Family.FLOAT else ""
        person = "CAST(other AS VARCHAR)"
        if isinstance(voters, CountColumn):
            person = f"coalesce(CAST({write_count_reader(str(plain.types[1]))} AS VARCHAR), '{NO_COUNT}')"
        matched = plain.set_alias("v").join(keys, "v.item = k.key" if fits else "false", how="left")
        matched.project(
            f'"row", CASE WHEN "row" IS NULL THEN CAST(item AS VARCHAR) END, item IS NULL{nothing}, '
            f"CASE WHEN other IS NULL{missing} THEN NULL ELSE {person} END"
        ).insert_into(table)
    votes.source.check_unchanged()
    return votes.family


def _insert(workspace: Workspace, table: str, rows: list[int], items: Any, persons: list[bytes | None]) -> None:
    pa = import_optional("pyarrow")
    missing = [is_missing(item) for item in items]
    written = [
        _write(item) if row == NO_ROW and not gap else None for row, item, gap in zip(rows, items, missing, strict=True)
    ]
    columns = {
        "row": pa.array([None if row == NO_ROW else row for row in rows], pa.int64()),
        "written": pa.array(written, pa.string()),
        "missing": pa.array(missing, pa.bool_()),
        "person": pa.array([None if each is None else each.decode("latin-1") for each in persons], pa.string()),
    }
    workspace.connection.from_arrow(pa.table(columns)).insert_into(table)


def _write(value: Any) -> str:
    try:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return str(value).encode("utf-8", "backslashreplace").decode()
    except Exception:  # values may have any type, and their methods may fail in any way
        return f"a {type(value).__name__}"


def _write_count(value: Any) -> bytes:
    count = read_count(value)
    return (NO_COUNT if count is None else str(count)).encode()
