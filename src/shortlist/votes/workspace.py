"""The library's own DuckDB: it opens files, and holds the counted items of every engine but Spark."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.votes.border import optional
from shortlist.votes.spilling import own_folder, remove, sweep

if TYPE_CHECKING:
    import duckdb


class Workspace:
    """A DuckDB in memory that spills to a folder of its own; both are gone when the last user of it is.

    >>> workspace = Workspace(memory_limit="1GB")
    >>> workspace.connection.sql("SELECT 6 * 7").fetchall()
    [(42,)]
    """

    def __init__(self, *, memory_limit: str | None = None) -> None:
        engine = optional("duckdb", purpose="opening files and tables")
        sweep()
        folder, lock = own_folder()
        settings: dict[str, Any] = {"temp_directory": str(folder)}
        if memory_limit is not None:
            settings["memory_limit"] = str(memory_limit)
        try:
            self.connection: duckdb.DuckDBPyConnection = engine.connect(":memory:", config=settings)
        except engine.Error:
            remove(folder, lock)
            raise ParameterError(
                f"memory_limit must be a size that DuckDB understands, not {memory_limit!r}.", hint="try '4GB'"
            ) from None
        self.connection.execute("SET TimeZone = 'UTC'")
        weakref.finalize(self, _close, self.connection, folder, lock)


def _close(connection: duckdb.DuckDBPyConnection, folder: Path, lock: int) -> None:
    connection.close()
    remove(folder, lock)


def identifier(name: str) -> str:
    """Quote the name of a column or table.

    >>> print(identifier('my "track"'))
    "my ""track\"""
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
