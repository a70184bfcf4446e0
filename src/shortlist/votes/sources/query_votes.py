"""How the votes of a query are counted, and how the domain of a query is read: each database by its own engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from shortlist.votes.counting import VOTES, Columns, CountedDomain
from shortlist.votes.domain import NAME, Domain
from shortlist.votes.engine_errors import reading
from shortlist.votes.engines import sqlite
from shortlist.votes.engines.duckdb import count_relation, plain_columns
from shortlist.votes.engines.postgres import read_items, tally_postgres
from shortlist.votes.engines.rows import count_rows
from shortlist.votes.remote import RemoteTally
from shortlist.votes.sources.frames import library_of
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.sources.queries import READABLE, Query, bare_query, kind_of_file, open_duckdb_query
from shortlist.votes.sources.source import Source
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace

_BATCH = 1 << 14


def tally_query(workspace: Workspace, votes: Query, domain: Domain, columns: Columns) -> CountedDomain | RemoteTally:
    """Count the votes of a query in the database that answers it."""
    choose: Choose = lambda header: header.take(columns.names, where=VOTES)  # noqa: E731

    def choose_and_start(header: Header) -> list[str]:
        chosen = choose(header)
        columns.start()
        return chosen

    kind, votes = resolve(votes)
    if kind == "duckdb":
        relation = take_positions(open_duckdb_query(workspace, votes), choose)
        connection = votes.database if library_of(votes.database) == "duckdb" else workspace.connection
        return CountedDomain(domain, count_relation(connection, Source(relation=relation, name=VOTES), domain, columns))
    if kind == "sqlite":
        with sqlite.answer(votes, choose_and_start, name=VOTES) as batches:
            return CountedDomain(domain, count_rows(workspace, batches, domain, columns))
    if kind == "postgresql":
        return tally_postgres(workspace, votes, domain, columns)
    with read_any(votes, choose_and_start, name=VOTES) as batches:
        return CountedDomain(domain, count_rows(workspace, batches, domain, columns))


def read_domain_query(workspace: Workspace, domain: Query, choose: Choose) -> Any:
    """The Arrow column of items that a query answers with."""
    kind, domain = resolve(domain)
    if kind == "duckdb":
        relation = take_positions(open_duckdb_query(workspace, domain), choose)
        with reading(NAME):
            return plain_columns(relation).distinct().to_arrow_table().column(0)
    if kind == "sqlite":
        with sqlite.answer(domain, choose, name=NAME) as batches:
            return arrow_column((item for (items,) in batches for item in items), what=NAME)
    if kind == "postgresql":
        return arrow_column(read_items(domain, choose, name=NAME), what=NAME)
    with read_any(domain, choose, name=NAME) as batches:
        return arrow_column((item for (items,) in batches for item in items), what=NAME)


def take_positions(relation: Any, choose: Choose) -> Any:
    """The chosen columns of a relation."""
    found = list(relation.columns)
    chosen = choose(Header(columns=found, origin=Origin.ANSWER))
    return relation.project(", ".join(f"#{found.index(name) + 1}" for name in chosen))


@contextmanager
def read_any(query: Query, choose: Choose, *, name: str) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Give the chosen columns of an answer in batches, from any database that SQLAlchemy knows."""
    with reading(name, hint=READABLE), query.database.connect() as connection:
        result = connection.execution_options(stream_results=True).exec_driver_sql(bare_query(query.sql))
        names = list(result.keys())
        places = [names.index(each) for each in choose(Header(columns=names, origin=Origin.ANSWER))]
        yield (tuple([row[place] for row in rows] for place in places) for rows in result.partitions(_BATCH))


def resolve(query: Query) -> tuple[str, Query]:
    """Tell the kind of a query's database; an engine of SQLAlchemy is replaced by its driver where we know it."""
    if isinstance(query.database, sqlite3.Connection):
        return "sqlite", query
    if query.address is not None:
        return "postgresql", query
    library = library_of(query.database)
    if library != "sqlalchemy":
        return (library if library == "duckdb" else kind_of_file(query.database)), query
    kind = query.database.dialect.name
    if kind == "sqlite":
        with reading("the database"):
            connection = query.database.raw_connection().driver_connection
        return kind, Query(connection, query.sql)
    return (kind if kind == "postgresql" else "other"), query
