"""From votes, wherever they are, to a tally of every item of the domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from shortlist.errors import ParameterError
from shortlist.votes.databases import open_query
from shortlist.votes.domain import check_domain, check_domain_query, open_domain, open_domain_query
from shortlist.votes.duck_tally import DuckTally
from shortlist.votes.families import TEXT, check_same
from shortlist.votes.frames import count_persons, is_spark, open_frame, take_counts
from shortlist.votes.headers import Header
from shortlist.votes.matching import check_some_read, item_kind, read_counts_as_numbers, read_domain_as, read_votes_as
from shortlist.votes.source import Source
from shortlist.votes.sources.files import names_files, open_files
from shortlist.votes.spark_tally import SparkTally
from shortlist.votes.tally import Tally
from shortlist.votes.workspace import Workspace

VOTES = "the votes"


def tally(
    votes: Any = None,
    *,
    item: str,
    person: str | None = None,
    count: str | None = None,
    domain: Any = None,
    domain_column: str | None = None,
    database: Any = None,
    sql: str | None = None,
    domain_sql: str | None = None,
    memory_limit: str | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> Tally:
    """Count the persons who voted for each item of the domain, in the engine that holds the votes.

    `votes` is a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, or files (Parquet, CSV, JSON lines; a path,
    a glob, a folder or a list of them); or `database` is a DuckDB or SQLite file and `sql` a query on it. Its columns
    `person` and `item` are read; a person counts once for an item, and rows that lack one of them are ignored. If
    the table is counted already, `count` names the column of counts in place of `person`.

    `domain` is the public list of items: a file, a list, a series or a frame, or `domain_sql` queries it from
    `database`. `domain_column` names its column; else it is called like `item`, or it is the only one (but not of a
    CSV file, which may lack a header). Duplicates and gaps in it are ignored, items without votes count 0, and votes
    for other items are ignored.

    >>> import pyarrow
    >>> votes = pyarrow.table({"user": [1, 1, 2, 3, 3], "track": ["a", "a", "a", "b", "z"]})
    >>> tally(votes, person="user", item="track", domain=["a", "b", "c"]).above(1, 0)
    Profile(values=array([2, 1, 0]), sizes=array([1, 1, 1]), d=3)
    """
    for name, column in (("item", item), ("person", person), ("count", count), ("domain_column", domain_column)):
        if not isinstance(column, str) and (column is not None or name == "item"):
            raise ParameterError(f"{name} must be the name of a column, as text, not {type(column).__name__}.")
    columns = _Columns.checked(item=item, person=person, count=count)
    _check_origin(votes, database=database, sql=sql, domain_sql=domain_sql)
    if domain_sql is None:
        check_domain(domain, votes, domain_column=domain_column, item=item)
    else:
        check_domain_query(domain_sql, sql, domain_column=domain_column, item=item)
    workspace = Workspace(memory_limit=memory_limit)
    opened = _open(workspace, votes, database, sql, columns)
    progress("Reading the domain")
    if domain_sql is None:
        listed = open_domain(workspace, domain, column=domain_column, item=item)
    else:
        listed = open_domain_query(workspace, database, domain_sql, column=domain_column, item=item)
    progress("Counting the votes")
    return _joined(workspace, opened, listed, columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Which columns of the votes are read: the items, and the persons or the counts."""

    item: str
    other: str
    counted: bool

    @classmethod
    def checked(cls, *, item: str, person: str | None, count: str | None) -> _Columns:
        if (person is None) == (count is None):
            raise ParameterError(
                f"person or count must be named, and only one of them; {'none' if person is None else 'both'} was.",
                hint="person= names the column of who voted; count= the counts of a table that is counted already",
            )
        other = str(count if person is None else person)
        if other == item:
            raise ParameterError(f"item and {'person' if count is None else 'count'} must be different columns.")
        return cls(item=item, other=other, counted=person is None)

    def choose(self, header: Header) -> list[str]:
        return header.take([self.item, self.other], where=VOTES)


def _check_origin(votes: Any, *, database: Any, sql: str | None, domain_sql: str | None) -> None:
    if (database is None) != (sql is None):
        raise ParameterError("database and sql must come together: a DuckDB or SQLite file, and a query on it.")
    if (votes is None) == (database is None):
        found = "none" if votes is None else "both"
        raise ParameterError(f"votes or database must be given, and only one of them; {found} was.")
    if domain_sql is not None and database is None:
        raise ParameterError("domain_sql must come with database, the file that it queries.")


def _open(workspace: Workspace, votes: Any, database: Any, sql: str | None, columns: _Columns) -> Source:
    if database is not None:
        return open_query(workspace, database, str(sql), choose=columns.choose, name=VOTES)
    if names_files(votes):
        return open_files(workspace, votes, choose=columns.choose, name=VOTES)
    return open_frame(votes, choose=columns.choose, name=VOTES)


def _joined(workspace: Workspace, votes: Source, domain: Source, columns: _Columns) -> Tally:
    """Give both sides one type, count, and join what was counted to the domain."""
    written = votes
    if not votes.typed:
        if columns.counted:
            votes = read_counts_as_numbers(workspace, votes, count=columns.other)
        if domain.typed:
            votes = read_votes_as(workspace, votes, item_kind(domain), item=columns.item)
    counting = take_counts if columns.counted else count_persons
    counted = replace(votes, frame=counting(votes, columns.other, item=columns.item))
    kind = item_kind(counted)
    if not domain.typed and votes.typed and kind.family != TEXT:
        domain = read_domain_as(workspace, domain, kind)
    kind = check_same(kind, item_kind(domain), column=columns.item)
    if is_spark(counted.frame):
        return SparkTally(votes=counted, domain=domain, kind=kind, given=columns.counted)
    tallied = DuckTally(workspace, votes=counted, domain=domain, kind=kind, given=columns.counted)
    if written is not votes and not tallied.above(1, 0).values[0]:
        check_some_read(workspace, written, votes, kind, item=columns.item)
    return tallied
