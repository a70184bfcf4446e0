"""The library's own DuckDB: it opens files, and counts the votes of every source that is not another engine."""

from __future__ import annotations

import re
import weakref
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.privacy.numbers import quote
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.spill_folders import make_own_folder, remove, remove_left_folders

if TYPE_CHECKING:
    import duckdb

_SIZE = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*[KMGT]i?B\s*", re.IGNORECASE)


class Workspace:
    """A DuckDB in memory that spills to a folder of its own; both are gone when the last user of it is.

    >>> workspace = Workspace(memory_limit="1GB")
    >>> workspace.connection.sql("SELECT 6 * 7").fetchall()
    [(42,)]
    """

    def __init__(self, *, memory_limit: str | None = None) -> None:
        engine = import_optional("duckdb", purpose="opening files and tables")
        # A name in a query means a table of the database, never a variable of this program.
        settings: dict[str, Any] = {"python_enable_replacements": "false"}
        if memory_limit is not None:
            settings["memory_limit"] = _read_size(memory_limit)
        remove_left_folders()
        self.folder, lock = make_own_folder()
        weakref.finalize(self, remove, self.folder, lock)
        self.connection: duckdb.DuckDBPyConnection = engine.connect(
            ":memory:", config={"temp_directory": str(self.folder), **settings}
        )
        # The last one made is called first: the connection is closed before its folder is removed.
        weakref.finalize(self, self.connection.close)
        self.connection.execute("SET TimeZone = 'UTC'")


def _read_size(size: Any) -> str:
    """Read an amount of memory. DuckDB by itself takes a negative one for no limit.

    >>> _read_size("1.5 GB")
    '1.5 GB'
    """
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or not float(found[1]):
        raise ParameterError(
            "{memory_limit} must be a size: a number above 0 and a unit (KB, MB, GB, TB, KiB, MiB, GiB or TiB)",
            "not {value}",
            hint="try {memory_limit=4GB}",
            value=quote(size),
        )
    return found[0]
