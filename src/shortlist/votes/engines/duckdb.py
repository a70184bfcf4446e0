"""Votes in DuckDB: files, database files, queries on a connection, and relations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from shortlist.votes.columns import VoteColumns
from shortlist.votes.engines.arrow import StreamTable, read_typed_rows
from shortlist.votes.engines.counted import LocalTally, ObservedTally
from shortlist.votes.engines.counting import count_groups, count_matches
from shortlist.votes.engines.duckdb_columns import has_plain_persons, take_plain_columns
from shortlist.votes.engines.observed import keep_groups
from shortlist.votes.engines.table import Rows, Start, Table, Tally, TypedRows, check_comparable, check_persons
from shortlist.votes.files.files import open_files
from shortlist.votes.files.source import Source, translate_errors_of
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import find_family
from shortlist.votes.items.keys import make_key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import READABLE, Query, refuse_sql
from shortlist.votes.sql import invent_name, quote_text, strip_query
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace

_COMPLETE = "is every file complete, and are all its rows alike?"


class DuckDBTable(Table):
    """A relation of the workspace or of a connection of the user."""

    def __init__(
        self, workspace: Workspace, connection: Any, name: str, open_source: Callable[[Choose], Source]
    ) -> None:
        super().__init__(workspace, connection, name)
        self._open = open_source

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column, as an Arrow array."""
        with self._read(choose, hint=None) as source:
            # A table may repeat an item often. A file of items hardly does, and duplicates are dropped later anyway.
            plain = source.relation if source.files else source.relation.distinct()
            return plain.to_arrow_table().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count where the relation is."""
        with self._read(columns.choose) as source:
            kept = _find_item_type(source.relation)
            check_comparable(find_family(kept), domain, columns)
            check_persons(has_plain_persons(source.relation), columns)
            start()
            keys = make_key_table(domain, kept)
            return LocalTally(domain, count_matches(self._given, source.relation, keys, columns.voters, d=domain.d))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group where the relation is; the workspace keeps the groups."""
        with self._read(columns.choose) as source:
            family = find_family(_find_item_type(source.relation))
            check_observable(family, columns)
            check_persons(has_plain_persons(source.relation), columns)
            start()
            counted, ours = count_groups(source.relation, columns.voters), self._workspace.connection
            here = counted if self._given is ours else ours.from_arrow(_open_stream(counted))
            return keep_groups(self._workspace, here, family)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns, in the workspace."""
        with self._read(choose, hint=None) as source:
            if self._given is not self._workspace.connection:
                return read_typed_rows(self._workspace, _open_stream(source.relation))
            kept = _find_item_type(source.relation)
            return TypedRows(source=source, kept=kept, family=find_family(kept))

    @contextmanager
    def _read(self, choose: Choose, *, hint: str | None = _COMPLETE) -> Iterator[Source]:
        """Open the chosen columns as `item` and `other`. Afterwards, refuse files that changed while they were read."""
        source = self._open(choose)
        with translate_errors_of(source, hint=hint), register_engine(self._given.interrupt):
            yield replace(source, relation=take_plain_columns(source.relation))
        source.check_unchanged()


class RelationTable(StreamTable):
    """A relation of the user, whose connection is unknown."""

    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns."""
        source = _take_columns(self._given, choose, name=self._name, origin=Origin.FRAME)
        return _open_stream(take_plain_columns(source.relation))


def open_file_table(workspace: Workspace, files: Any, name: str) -> DuckDBTable:
    """Files of one table."""
    return DuckDBTable(workspace, workspace.connection, name, partial(open_files, workspace, files, name=name))


def open_duckdb_query(workspace: Workspace, query: Query, name: str, *, origin: Origin = Origin.ANSWER) -> DuckDBTable:
    """The answer to a query on a file, which the workspace opens, or on a connection of the user."""
    connection = query.database
    if isinstance(query.database, str | os.PathLike):
        connection, path = workspace.connection, query.path
        with translate_errors(f"database {str(path)!r}", hint="is it open elsewhere, for writing?"):
            attached = invent_name()
            connection.execute(f"ATTACH {quote_text(str(path))} AS {attached} (READ_ONLY)")
            connection.execute(f"USE {attached}")
    relation = _ask(connection, query.sql)
    return DuckDBTable(workspace, connection, name, partial(_take_columns, relation, name=name, origin=origin))


def _open_stream(relation: Any) -> Any:
    """Read a relation of any DuckDB batch by batch."""
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # its name in DuckDB 1
    return reader()


def _ask(connection: Any, sql: str) -> Any:
    """The relation of one SELECT."""
    engine = import_optional("duckdb")
    with translate_errors("the query", hint=READABLE):
        try:
            statements = connection.extract_statements(sql)
            if len(statements) == 1 and statements[0].type == engine.StatementType.SELECT:
                return connection.sql(strip_query(sql))
            said = "it is not one SELECT"
        except (engine.ParserException, engine.CatalogException, engine.BinderException) as error:
            said = str(error)
    raise refuse_sql(said, sql)


def _take_columns(relation: Any, choose: Choose, *, name: str, origin: Origin) -> Source:
    """The chosen columns by position, because DuckDB takes two names that differ in case for one."""
    found = list(relation.columns)
    chosen = choose(Header(columns=found, origin=origin))
    with translate_errors(name):
        taken = relation.project(", ".join(f"#{found.index(column) + 1}" for column in chosen))
    return Source(relation=taken, name=name)


def _find_item_type(plain: Any) -> Any:
    """The Arrow type of the items."""
    return plain.project("item").limit(0).to_arrow_table().schema.field(0).type
