"""How the votes of a query are counted, and how the domain of a query is read: each database by its own engine."""

from __future__ import annotations

import sqlite3
from typing import Any

from shortlist.votes.counting import VOTES, Columns, CountedDomain
from shortlist.votes.domain import NAME, Domain
from shortlist.votes.engine_errors import reading
from shortlist.votes.engines import sqlite
from shortlist.votes.engines.duckdb import count_relation, plain_columns
from shortlist.votes.engines.rows import count_rows
from shortlist.votes.sources.frames import count_foreign_relation, library_of
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.sources.queries import Query, kind_of_file, open_duckdb_query
from shortlist.votes.sources.source import Source
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace


def tally_query(workspace: Workspace, votes: Query, domain: Domain, columns: Columns) -> CountedDomain:
    """Count the votes of a query in the database that answers it."""
    choose: Choose = lambda header: header.take(columns.names, where=VOTES)  # noqa: E731
    kind = _kind(votes)
    if kind == "duckdb":
        relation = take_positions(open_duckdb_query(workspace, votes), choose)
        if library_of(votes.database) == "duckdb":
            return CountedDomain(domain, count_foreign_relation(workspace, relation, domain, columns))
        return CountedDomain(domain, count_relation(workspace, Source(relation=relation, name=VOTES), domain, columns))
    if kind == "sqlite":
        with sqlite.answer(votes, choose, name=VOTES) as batches:
            return CountedDomain(domain, count_rows(workspace, batches, domain, columns))
    raise NotImplementedError


def read_domain_query(workspace: Workspace, domain: Query, choose: Choose) -> Any:
    """The Arrow column of items that a query answers with."""
    kind = _kind(domain)
    if kind == "duckdb":
        relation = take_positions(open_duckdb_query(workspace, domain), choose)
        with reading(NAME):
            return plain_columns(relation).distinct().to_arrow_table().column(0)
    if kind == "sqlite":
        with sqlite.answer(domain, choose, name=NAME) as batches:
            return arrow_column((item for (items,) in batches for item in items), what=NAME)
    raise NotImplementedError


def take_positions(relation: Any, choose: Choose) -> Any:
    """The chosen columns of a relation."""
    found = list(relation.columns)
    chosen = choose(Header(columns=found, origin=Origin.ANSWER))
    return relation.project(", ".join(f"#{found.index(name) + 1}" for name in chosen))


def _kind(query: Query) -> str:
    if isinstance(query.database, sqlite3.Connection):
        return "sqlite"
    if query.address is not None:
        return "postgresql"
    library = library_of(query.database)
    return library if library in ("duckdb", "sqlalchemy") else kind_of_file(query.database)
