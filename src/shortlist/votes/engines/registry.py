"""Which engine holds a table: the one place where kinds of tables are told apart."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from shortlist.votes.engines.arrow import ArrowTable, exports_arrow
from shortlist.votes.engines.columns import ColumnsTable
from shortlist.votes.engines.duckdb import RelationTable, open_duckdb_query, open_file_table
from shortlist.votes.engines.ibis import open_ibis
from shortlist.votes.engines.polars import open_polars
from shortlist.votes.engines.postgres import PostgresTable
from shortlist.votes.engines.spark import SparkTable
from shortlist.votes.engines.sqlalchemy import SqlalchemyTable
from shortlist.votes.engines.sqlite import SqliteTable
from shortlist.votes.engines.table import Table
from shortlist.votes.files.files import is_path
from shortlist.votes.libraries import find_library, has_columns
from shortlist.votes.queries import Query, find_file_kind
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

ACCEPTED = (
    "a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, a dict of columns, paths of files, "
    "shortlist.Files or shortlist.Query"
)

_FRAMES: dict[str, Callable[[Workspace, Any, str], Table]] = {
    "pandas": ColumnsTable,
    "polars": open_polars,
    "duckdb": RelationTable,
    "ibis": open_ibis,
    "pyspark": SparkTable,
}
_DATABASES: dict[str, Callable[[Workspace, Query, str], Table]] = {
    "duckdb": open_duckdb_query,
    "sqlite": SqliteTable,
    "postgresql": PostgresTable,
}


def open_table(workspace: Workspace, given: Any, *, name: str) -> Table | None:
    """Open a table by the library that it comes from; None if it is no table. Errors call it by its name."""
    if isinstance(given, Query):
        kind, query = _find_database(given)
        return _DATABASES.get(kind, SqlalchemyTable)(workspace, query, name)
    if is_path(given):
        return open_file_table(workspace, given, name)
    open_frame = _FRAMES.get(find_library(given))
    if open_frame is not None:
        return open_frame(workspace, given, name) if has_columns(given) else None
    if isinstance(given, Mapping) and given and all(isinstance(each, Iterable) for each in given.values()):
        return ColumnsTable(workspace, given, name)
    return ArrowTable(workspace, given, name) if exports_arrow(given) else None


def _find_database(query: Query) -> tuple[str, Query]:
    """Tell the kind of a query's database; an engine of SQLAlchemy is replaced by its driver where we know it."""
    database = query.database
    if isinstance(database, sqlite3.Connection):
        return "sqlite", query
    if query.address is not None:
        return "postgresql", query
    if isinstance(database, str | os.PathLike):
        return find_file_kind(query), query
    if find_library(database) != "sqlalchemy":
        return find_library(database), query
    kind = database.dialect.name
    if kind != "sqlite":
        return kind if kind == "postgresql" else "any other", query
    with translate_errors("the database"):
        return kind, Query(database.raw_connection().driver_connection, query.sql)
