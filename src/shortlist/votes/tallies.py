"""From votes, wherever they are, to the count of every item of the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.profile import Picks, Profile
from shortlist.votes.counting import VOTES, Columns, CountedDomain
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import strip_context
from shortlist.votes.engines.duckdb import count_relation
from shortlist.votes.engines.spark import tally_spark
from shortlist.votes.sources.domains import check_domain, open_domain
from shortlist.votes.sources.files import is_path, open_files
from shortlist.votes.sources.frames import count_frame, library_of, unwrap
from shortlist.votes.sources.queries import Query
from shortlist.votes.sources.query_votes import tally_query
from shortlist.votes.workspace import Workspace


class Tally(Protocol):
    """The votes of every item of a domain, counted and fixed: nothing is read a second time.

    A tally satisfies `Levels`. Items on one level are ranked in ascending order, which is the same on every engine:
    numbers and times by value, false before true, text and bytes by their (UTF-8) bytes.
    """

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick in the domain."""

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows, as the domain wrote them."""


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
    columns = Columns.check(item=item, person=person, count=count, votes_per_person=votes_per_person)
    if domain_column is not None and not isinstance(domain_column, str):
        kind = type(domain_column).__name__
        raise ParameterError("{domain_column} must be the name of a column, as text", "not {kind}", kind=kind)
    if votes is None:
        raise ParameterError("{votes} must be given")
    votes, domain = unwrap(votes), unwrap(domain)
    check_domain(domain, votes, domain_column=domain_column, item=item)
    workspace = Workspace(memory_limit=memory_limit)
    progress("Reading the domain")
    numbered = open_domain(workspace, domain, column=domain_column, item=item)
    progress("Counting the votes")
    begin = cache(lambda: start(numbered.d))
    counted = count_votes(workspace, votes, numbered, replace(columns, start=begin))
    begin()  # for votes that an engine did not have to read
    return counted


def count_votes(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> Tally:
    """Count votes for the rows of a domain that was read."""
    if isinstance(votes, Query):
        return tally_query(workspace, votes, domain, columns)
    if is_path(votes):
        source = open_files(workspace, votes, choose=lambda header: header.take(columns.names, where=VOTES), name=VOTES)
        return CountedDomain(domain, count_relation(workspace.connection, source, domain, columns))
    if library_of(votes) == "pyspark":
        return tally_spark(workspace, votes, domain, columns)
    return CountedDomain(domain, count_frame(workspace, votes, domain, columns))
