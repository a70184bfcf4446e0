"""Votes, wherever they are held, and their tally. Each file imports from those above it in this list.

`libraries`, `failures`          optional libraries; errors in our words
`values`, `matching`             which values are items and persons, how they are written, and which match
`queries`, `dialects`, `places`  queries as text, SQL that several engines answer, and where files are
`array_counts`, `source`         counts as an array; what every source of votes offers
`files`, `domain`, `groups`      files as one table; the public lists of items and of groups
`duckdb`                         the library's own DuckDB, which counts files, Arrow and rows
`rows`, `frames`, `postgres`     columns and rows in Python; Polars, Spark and Ibis; a server
`tallies`, `check`               the way in; the check of a data owner
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.votes.queries import Query
    from shortlist.votes.source import FamilyTally, Tally
    from shortlist.votes.tallies import observe, plan_tally, tally

__all__ = ["FamilyTally", "Query", "Tally", "observe", "plan_tally", "tally"]


def __getattr__(name: str) -> Any:
    """Import a name on first use: counts in memory need no engine."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = {"Query": "queries", "Tally": "source", "FamilyTally": "source"}.get(name, "tallies")
    return globals().setdefault(name, getattr(import_module(f"shortlist.votes.{home}"), name))
