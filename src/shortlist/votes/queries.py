"""A query on a database as a source of votes or items, and SQL as text."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import SystemBits
from shortlist.votes.failures import hide_secrets
from shortlist.votes.libraries import find_library

READABLE = "is the database complete, and every table or file that the query reads?"
_ADDRESS = re.compile(r"postgres(ql)?(\+\w+)?://", re.IGNORECASE)
_TYPES = {"BIGINT", "BLOB", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INTEGER", "TIME", "TIMESTAMP", "VARCHAR"}
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")*"|\w+)|(?P<nothing>--[^\n]*|/\*.*?\*/|\s+)|.""", re.DOTALL
)
_QUOTED = re.compile(r"""(["'`]).*?\1|[“«„].*?[”»“]""")


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
            raise ParameterError("`sql` must be a query, as text", f"not {type(self.sql).__name__}")
        words = len(list_words(self.sql))
        if words < 2:
            raise ParameterError(
                "`sql` must be a query",
                "not a single word" if words else "it is empty",
                hint="a query looks like this: SELECT user, track FROM plays",
            )
        known = isinstance(self.database, str | os.PathLike | sqlite3.Connection)
        if not known and find_library(self.database) not in ("duckdb", "sqlalchemy"):
            raise ParameterError(
                "`database` must be a DuckDB or SQLite file, a connection of DuckDB or sqlite3, an engine of "
                "SQLAlchemy, or a PostgreSQL address",
                f"not {type(self.database).__name__}",
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
    """
    if not isinstance(database, str | os.PathLike):
        return f"<{type(database).__name__}>"
    return repr(hide_secrets(os.fsdecode(database)))


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
            "`database` must be a file that exists, or a PostgreSQL address",
            f"nothing was found at {hide_password(query.database)}",
        )
    with path.open("rb") as file:
        start = file.read(18)
    if start[8:12] == b"DUCK":
        return "duckdb"
    if start[:16] == b"SQLite format 3\0":
        _check_pages(path, start)
        return "sqlite"
    raise DataError("`database` must be a DuckDB or SQLite file", f"{str(path)!r} is neither")


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
    return ParameterError("`sql` must be one SELECT that the database can answer", f"it says: {shown}")


def _check_pages(path: Path, start: bytes) -> None:
    """Refuse a file that ends inside a page: SQLite would read what is missing as zeros."""
    # https://www.sqlite.org/fileformat.html#page_size
    size = int.from_bytes(start[16:18], "big")
    if path.stat().st_size % (1 << 16 if size == 1 else max(size, 1)):
        raise DataError("`database` must be complete", f"{str(path)!r} could not be read to its end", hint=READABLE)


def quote_name(name: str) -> str:
    """Quote the name of a column or table.

    >>> print(quote_name('my "track"'))
    "my ""track\"""
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Quote a text.

    >>> print(quote_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def invent_name() -> str:
    """Make a name for a table that no query can guess."""
    return f"shortlist_{SystemBits().draw(12).hex()}"


def strip_query(sql: str) -> str:
    """The query without a semicolon at its end, after which only comments may stand.

    >>> strip_query("SELECT ';'; -- all of it")
    "SELECT ';'"
    """
    end = None
    for token in _TOKEN.finditer(sql):
        if token[0] == ";" and end is None:
            end = token.start()
        elif token.lastgroup != "nothing" and token[0] != ";":
            end = None
    return sql[:end].strip()


def list_words(sql: str) -> list[str]:
    """All words, names, texts and signs of a query, in their order and without comments."""
    return [token[0] for token in _TOKEN.finditer(strip_query(sql)) if token.lastgroup != "nothing"]


def list_texts(sql: str) -> list[str]:
    """The texts that a query quotes; some may be paths of files."""
    return [token["text"][1:-1].replace("''", "'") for token in _TOKEN.finditer(sql) if token["text"]]


def list_tables(sql: str) -> list[str]:
    """The last parts of the names after FROM and JOIN, in the order of the query.

    >>> list_tables('SELECT * FROM main."Log" JOIN tracks ON true')
    ['log', 'tracks']
    """
    return [name[-1] for name in _list_names(sql)]


def list_sources(sql: str) -> list[str]:
    """The whole names after FROM and JOIN, in the order of the query, without those that the query itself defines.

    >>> list_sources('WITH best AS (SELECT * FROM main."Log") SELECT * FROM best')
    ['main.log']
    """
    words = list_words(sql)
    defined = {
        word.strip('"').casefold()
        for word, verb, after in zip(words, words[1:], words[2:], strict=False)
        if verb.upper() == "AS" and after.upper() in ("(", "NOT", "MATERIALIZED")
    }
    return [".".join(name) for name in _list_names(sql) if name[0] not in defined]


def _list_names(sql: str) -> Iterator[list[str]]:
    """The parts of each name after FROM and JOIN."""
    words = list_words(sql)
    for place, word in enumerate(words):
        if word.upper() in ("FROM", "JOIN"):
            name = words[place + 1 : place + 2]
            while words[place + 2 : place + 3] == ["."]:
                name, place = [*name, *words[place + 3 : place + 4]], place + 2
            if name and name[-1] != "(" and name[-1].upper() != "SELECT":
                yield [part.strip('"').casefold() for part in name]
