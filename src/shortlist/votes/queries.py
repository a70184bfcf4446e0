"""A query on a database as a source of votes or items."""

from __future__ import annotations

import os
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.near_names import suggest_names
from shortlist.votes.libraries import find_library
from shortlist.votes.sql import list_tables, list_words

READABLE = "is the database complete, and every table or file that the query reads?"
_ADDRESS = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:")
_SECRET = re.compile(r"pass\w*\s*=", re.IGNORECASE)
_TYPES = {"BIGINT", "BLOB", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INTEGER", "TIME", "TIMESTAMP", "VARCHAR"}
_QUOTED = re.compile(r"""(["'`]).*?\1|[“«„].*?[”»“]""")


@suggest_names
@dataclass(frozen=True, slots=True)
class Query:
    """A query on a database, where votes or a domain may be given.

    `database` is the path of a DuckDB or SQLite file, an open connection of DuckDB or sqlite3, an engine of SQLAlchemy,
    or a PostgreSQL address (`postgresql://...`). Files are opened for reading only. A password in an address is never
    shown.

    >>> Query("postgresql://bob:secret@db/plays", "SELECT * FROM log")
    Query('postgresql://...@db/plays', 'SELECT * FROM log')
    """

    database: Any
    sql: str

    def __post_init__(self) -> None:
        if not isinstance(self.sql, str):
            raise ParameterError("{sql} must be a query, as text", "not {kind}", kind=type(self.sql).__name__)
        words = len(list_words(self.sql))
        if words < 2:
            raise ParameterError(
                "{sql} must be a query",
                "not a single word" if words else "it is empty",
                hint="a query looks like this: SELECT user, track FROM plays",
            )
        known = isinstance(self.database, str | os.PathLike | sqlite3.Connection)
        if not known and find_library(self.database) not in ("duckdb", "sqlalchemy"):
            raise ParameterError(
                "{database} must be a DuckDB or SQLite file, a connection of DuckDB or sqlite3, an engine of "
                "SQLAlchemy, or a PostgreSQL address",
                "not {kind}",
                kind=type(self.database).__name__,
            )

    def __repr__(self) -> str:
        return f"Query({hide_password(self.database)}, {self.sql!r})"

    @property
    def path(self) -> Path:
        """The path of a database file."""
        return Path(self.database).expanduser()

    @property
    def address(self) -> str | None:
        """The PostgreSQL address, if the database is one."""
        text = self.database if isinstance(self.database, str) else ""
        return text if _ADDRESS.match(text) else None


def hide_password(database: Any) -> str:
    """Write a database without what only its owner may know.

    >>> hide_password("postgresql://bob:a@b/c?d@db/plays?x=1"), hide_password("host=db password=x")
    ("'postgresql://...@db/plays'", "'...'")
    >>> hide_password("postgresql:/bob:secret@db/plays"), hide_password("a@b.db")
    ("'postgresql:...@db/plays'", "'a@b.db'")
    """
    if not isinstance(database, str | os.PathLike):
        return f"<{type(database).__name__}>"
    text = os.fsdecode(database)
    scheme, mark, rest = text.partition("://")
    if _SECRET.search(text):
        return repr(f"{scheme}://..." if mark else "...")
    # A password may hold any character, so the last @ ends it.
    _, at, place = (rest if mark else text).rpartition("@")
    if not mark:
        misspelt = _SCHEME.match(text) if at else None
        return repr(f"{misspelt[0]}...@{place}" if misspelt else text)
    return repr(f"{scheme}://{'...@' if at else ''}{place.partition('?')[0]}")


def reads_from(domain: Query, votes: Query) -> bool:
    """Whether the domain is asked from the table that the votes are asked from, as far as the queries show it.

    >>> reads_from(Query("a.db", "SELECT DISTINCT track FROM log"), Query("a.db", "SELECT * FROM main.Log, tracks"))
    True
    """
    same = domain.database is votes.database or domain.database == votes.database
    first = list_tables(votes.sql)[:1]
    return same and (
        list_words(domain.sql) == list_words(votes.sql) or (first != [] and first[0] in list_tables(domain.sql))
    )


def find_file_kind(query: Query) -> str:
    """Tell a DuckDB file from an SQLite file."""
    path = query.path
    if not os.path.isfile(path):  # unlike `Path.is_file`, it answers for a name that is too long
        raise DataError(
            "{database} must be a file that exists, or a PostgreSQL address",
            "nothing was found at {path}",
            path=hide_password(query.database),
        )
    with path.open("rb") as file:
        start = file.read(18)
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:16] == b"SQLite format 3\0":
        _check_pages(path, start)
        return "sqlite"
    raise DataError("{database} must be a DuckDB or SQLite file", "{path} is neither", path=repr(str(path)))


def refuse_sql(said: str, sql: str) -> ParameterError:
    """Repeat the first line of what an engine says of a query, without names that the query does not have.

    The names of columns may be values of votes: a CSV file without a header has them in its first line.

    >>> print(refuse_sql('no column "usr", but "SECRET"', "SELECT usr FROM log"))
    sql must be one SELECT that the database can answer; it says: no column "usr", but ....
    """
    known = {word.strip("\"'").casefold() for word in list_words(sql)}

    def hide(quoted: re.Match[str]) -> str:
        words = re.findall(r"\w+", quoted[0])
        return quoted[0] if all(word.casefold() in known or word in _TYPES for word in words) else "..."

    # PostgreSQL counts characters of a statement of ours.
    line = re.sub(r" at character \d+$", "", said.partition("\n")[0]).rstrip("!")
    shown = _QUOTED.sub(hide, line)
    return ParameterError("{sql} must be one SELECT that the database can answer", "it says: {said}", said=shown)


def _check_pages(path: Path, start: bytes) -> None:
    """Refuse a file that ends inside a page: SQLite would read what is missing as zeros."""
    # https://www.sqlite.org/fileformat.html#page_size
    size = int.from_bytes(start[16:18], "big")
    if path.stat().st_size % (1 << 16 if size == 1 else max(size, 1)):
        raise DataError(
            "{database} must be complete", "{path} could not be read to its end", hint=READABLE, path=repr(str(path))
        )
