"""From votes, wherever they are, to the count of every item of the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from shortlist.errors import ParameterError
from shortlist.votes.columns import VOTES, VoteColumns, read_columns
from shortlist.votes.domains import check_domain, open_domain
from shortlist.votes.engines.counted import ObservedTally
from shortlist.votes.engines.registry import ACCEPTED, open_table
from shortlist.votes.engines.table import Table, Tally
from shortlist.votes.items.domain import Domain
from shortlist.votes.libraries import find_library, unwrap
from shortlist.votes.workspace.failures import strip_context
from shortlist.votes.workspace.workspace import Workspace

__all__ = ["ObservedTally", "Tally", "observe", "tally"]


@strip_context
def tally(
    votes: Any,
    *,
    item: str,
    person: str | None = None,
    count: str | None = None,
    votes_per_person: int | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    memory_limit: str | None = None,
    start: Callable[[int], None] = lambda d: None,
    progress: Callable[[str], None] = lambda step: None,
) -> Tally:
    """Count the persons who voted for each item of the domain, in the engine that holds the votes.

    `votes` is a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, a dict of columns, files (Parquet, CSV, JSON
    lines; a path, a glob, a folder, a list or `Files`) or a `Query`. Its columns `person` and `item` are read. A person
    counts once for an item. Rows that lack a person or an item are ignored. With `votes_per_person`, at most so many
    items of each person count. If the table is counted already, `count` names the column of counts, not `person`.

    `domain` is the public list of items: a file, a list, a series, a frame or a `Query`. `domain_column` names its
    column; else it is called like `item`, or it is the only one (but not of a CSV file, which may lack a header).
    Duplicates and gaps in it are ignored, items without votes count 0, and votes for other items are ignored.

    `start` is called once with the number of items, when all checks are done and before the votes are read.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": [1, 1, 2, 3, 3], "track": ["a", "a", "a", "b", "z"]})
    >>> tally(votes, person="user", item="track", domain=["a", "b", "c"]).above(1, 0)
    Profile(values=array([2, 1, 0]), sizes=array([1, 1, 1]), d=3)
    """
    columns = read_columns(item=item, person=person, count=count, votes_per_person=votes_per_person)
    _, table, numbered = open_tables(
        votes, columns, domain, domain_column=domain_column, memory_limit=memory_limit, progress=progress
    )
    progress("Counting the votes")
    begin = cache(lambda: start(numbered.d))
    with table.explain_failures():
        counted = table.count(numbered, columns, begin)
    begin()  # for votes that an engine did not have to read
    return counted


@strip_context
def observe(
    votes: Any,
    *,
    item: str,
    person: str | None = None,
    count: str | None = None,
    votes_per_person: int | None = None,
    memory_limit: str | None = None,
    start: Callable[[int], None] = lambda d: None,
    progress: Callable[[str], None] = lambda step: None,
) -> ObservedTally:
    """Count the persons who voted for each observed item, without a domain, in the engine that holds the votes.

    Items are what the votes say, by their exact value: text by its bytes, numbers by value. Which items there are, and
    how many, is data: only a mechanism that needs no domain may see it. All else is as `tally` describes it.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": [1, 1, 2, 3, 3], "query": ["a", "a", "a", "b", "z"]})
    >>> observe(votes, person="user", item="query").above(1, 0)
    Profile(values=array([2, 1]), sizes=array([1, 2]), d=3)
    """
    columns = read_columns(item=item, person=person, count=count, votes_per_person=votes_per_person)
    if votes is None:
        raise ParameterError("{votes} must be given")
    table = open_votes(Workspace(memory_limit=memory_limit), unwrap(votes))
    progress("Counting the votes")
    begin = cache(lambda: start(0))
    with table.explain_failures():
        counted = table.count_observed(columns, begin)
    begin()  # for votes that an engine did not have to read
    return counted


def open_tables(
    votes: Any,
    columns: VoteColumns,
    domain: Any,
    *,
    domain_column: str | None,
    memory_limit: str | None,
    progress: Callable[[str], None],
) -> tuple[Workspace, Table, Domain]:
    """Open votes, and read their domain. Of the votes, nothing is read."""
    if domain_column is not None and not isinstance(domain_column, str):
        kind = type(domain_column).__name__
        raise ParameterError("{domain_column} must be the name of a column, as text", "not {kind}", kind=kind)
    if votes is None:
        raise ParameterError("{votes} must be given")
    votes, domain = unwrap(votes), unwrap(domain)
    check_domain(domain, votes, domain_column=domain_column, columns=columns)
    workspace = Workspace(memory_limit=memory_limit)
    progress("Reading the domain")
    numbered = open_domain(workspace, domain, column=domain_column, columns=columns)
    return workspace, open_votes(workspace, votes), numbered


def open_votes(workspace: Workspace, votes: Any) -> Table:
    """Open a table of votes in the engine that holds it."""
    table = open_table(workspace, votes, name=VOTES)
    if table is None:
        values = {"accepted": ACCEPTED, "kind": type(votes).__name__, "advice": _find_advice(votes)}
        raise ParameterError("{votes} must be {accepted}", "not {kind}", hint="{advice}", **values)
    return table


def _find_advice(votes: Any) -> str:
    """What to pass in place of something that is no table."""
    if hasattr(votes, "cursor") or find_library(votes) == "sqlalchemy":
        return "ask it a query: shortlist.Query(connection, 'SELECT user, track FROM plays')"
    if isinstance(votes, Mapping) or hasattr(votes, "dtype") or find_library(votes) == "pyarrow":
        return "a table has a column of items and one of persons; if these are counts, pass them to shortlist.top_k"
    first = votes[0] if isinstance(votes, list | tuple) and votes else None
    if isinstance(first, Mapping):
        return "make a table of a list of rows: pandas.DataFrame(rows) or pyarrow.Table.from_pylist(rows)"
    if isinstance(first, list | tuple):
        return "make a table of a list of rows: pandas.DataFrame(rows, columns=['user', 'track'])"
    return "make a dict of two columns, say: {'user': [...], 'track': [...]}"
