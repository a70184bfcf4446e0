"""Votes, wherever they are held, and their tally. Each file imports from those above it in this list.

`columns`, `header`, `sql`, `queries`   what is asked for: columns, queries, and SQL as text
`workspace/`                            the library's own DuckDB, and errors in our words
`items/`                                the domain, which values match an item (`matching`), items as bytes
`persons`, `memory/`                    persons as bytes; counts as an array
`files/`                                files, opened by DuckDB
`engines/`                              one class for each engine; votes are counted there (`counting`, `observed`)
`domains`, `tallies`                    reading a domain; the way in
`check/`                                the check of a data owner
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.votes.queries import Query
    from shortlist.votes.tallies import Tally, observe, plan_tally, tally

__all__ = ["Query", "Tally", "observe", "plan_tally", "tally"]


def __getattr__(name: str) -> Any:
    """Import a name on first use: counts in memory need no engine."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "queries" if name == "Query" else "tallies"
    return globals().setdefault(name, getattr(import_module(f"shortlist.votes.{home}"), name))
