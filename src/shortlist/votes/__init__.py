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

from shortlist.votes.queries import Query
from shortlist.votes.tallies import Tally, observe, tally

__all__ = ["Query", "Tally", "observe", "tally"]
