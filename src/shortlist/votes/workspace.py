"""The library's own DuckDB: it opens files, and counts the votes of every source that is not another engine."""

from __future__ import annotations

import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import SystemBits
from shortlist.privacy.numbers import quote
from shortlist.votes.engine_errors import optional
from shortlist.votes.spill_folders import own_folder, remove, sweep

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
        # A name in a query means a table of the database, never a variable of this program.
        settings: dict[str, Any] = {"temp_directory": str(folder), "python_enable_replacements": "false"}
        if memory_limit is not None:
            settings["memory_limit"] = str(memory_limit)
        connection: duckdb.DuckDBPyConnection | None = None
        if not str(memory_limit).strip().startswith("-"):
            with suppress(engine.Error):
                connection = engine.connect(":memory:", config=settings)
        if connection is None:
            remove(folder, lock)
            raise ParameterError(
                "{memory_limit} must be a size that DuckDB understands",
                "not {value}",
                hint="try {memory_limit=4GB}",
                value=quote(memory_limit),
            )
        self.connection = connection
        self.connection.execute("SET TimeZone = 'UTC'")
        weakref.finalize(self, _close, self.connection, folder, lock)


def _close(connection: duckdb.DuckDBPyConnection, folder: Path, lock: int) -> None:
    connection.close()
    remove(folder, lock)


def invent_name() -> str:
    """Make a name for a table that no query can guess."""
    return f"shortlist_{SystemBits().draw(12).hex()}"


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
