"""The two columns of votes as they are, brought into the workspace from every source.

A release counts votes where they are. Here every row is handed over, for the check that a data owner makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from shortlist.errors import ParameterError
from shortlist.votes.counting import VOTES, Columns
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines import sqlite
from shortlist.votes.engines.duckdb import exact_batches, plain_columns
from shortlist.votes.engines.postgres import read_rows
from shortlist.votes.engines.rows import Batch
from shortlist.votes.engines.spark import read_arrow
from shortlist.votes.item_types import Family, exact_type, family_of
from shortlist.votes.sources.files import is_path, open_files
from shortlist.votes.sources.frames import ACCEPTED, library_of, open_arrow, open_columns
from shortlist.votes.sources.header import Choose, Header
from shortlist.votes.sources.queries import Query, open_duckdb_query
from shortlist.votes.sources.query_votes import read_any, resolve, take_positions
from shortlist.votes.sources.source import Source, reading_from
from shortlist.votes.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedVotes:
    """A relation of the workspace with the columns `item` and `other`, and the type and family of its items."""

    source: Source
    kept: Any
    family: Family


RawVotes = TypedVotes | Iterable[Batch]
"""Votes with types, or batches of Python values."""


@contextmanager
def open_raw_votes(workspace: Workspace, votes: Any, columns: Columns) -> Iterator[RawVotes]:
    """Open the columns of items and persons of any votes that `select` accepts."""

    def choose(header: Header) -> list[str]:
        return header.take(columns.names, where=VOTES)

    if isinstance(votes, Query):
        with _open_query(workspace, votes, choose) as opened:
            yield opened
    elif is_path(votes):
        yield _from_source(open_files(workspace, votes, choose=choose, name=VOTES))
    else:
        with reading(VOTES):
            found = _open_frame(votes, columns, choose)
        if found is None:
            raise ParameterError(
                "{votes} must be {accepted}", "not {kind}", accepted=ACCEPTED, kind=type(votes).__name__
            )
        yield _from_reader(workspace, found) if hasattr(found, "schema") else found


@contextmanager
def _open_query(workspace: Workspace, votes: Query, choose: Choose) -> Iterator[RawVotes]:
    kind, votes = resolve(votes)
    if kind == "duckdb":
        relation = take_positions(open_duckdb_query(workspace, votes), choose)
        if library_of(votes.database) == "duckdb":
            yield _from_reader(workspace, plain_columns(relation).to_arrow_reader())
        else:
            yield _from_source(Source(relation=relation, name=VOTES))
    elif kind == "sqlite":
        with sqlite.answer(votes, choose, name=VOTES) as batches:
            yield batches
    elif kind == "postgresql":
        yield read_rows(votes, choose)
    else:
        with read_any(votes, choose, name=VOTES) as batches:
            yield batches


def _open_frame(votes: Any, columns: Columns, choose: Choose) -> Any:
    """A reader of Arrow batches, batches of Python values, or None for what is no table."""
    library = library_of(votes)
    if library == "pyspark":
        return read_arrow(votes, columns)
    if library == "ibis":
        return votes.select(*choose(Header(columns=list(votes.columns)))).to_pyarrow().to_reader()
    if library == "duckdb":
        found = list(votes.columns)
        places = ", ".join(f"#{found.index(name) + 1}" for name in choose(Header(columns=found)))
        return plain_columns(votes.project(places)).to_arrow_reader()
    if library == "polars":
        names = choose(Header(columns=votes.lazy().collect_schema().names()))
        frame = votes.lazy().select(*names).collect()
        if optional("polars").Object in frame.dtypes:
            return [tuple(frame[name].to_list() for name in names)]
        return frame.to_arrow().to_reader()
    if isinstance(votes, Mapping) or (library == "pandas" and hasattr(votes, "columns")):
        names = list(votes) if isinstance(votes, Mapping) else list(votes.columns)
        return open_columns(votes, choose(Header(columns=names)))
    return open_arrow(votes, choose)


def _from_source(source: Source) -> TypedVotes:
    with reading_from(source):
        plain = plain_columns(source.relation)
        kept = plain.project("item").limit(0).to_arrow_table().schema.field(0).type
    return TypedVotes(source=replace(source, relation=plain), kept=kept, family=family_of(kept))


def _from_reader(workspace: Workspace, reader: Any) -> TypedVotes:
    declared = reader.schema.field(0).type
    relation = plain_columns(workspace.connection.from_arrow(exact_batches(reader)))
    source = Source(relation=relation, name=VOTES)
    return TypedVotes(source=source, kept=exact_type(declared), family=family_of(declared))
