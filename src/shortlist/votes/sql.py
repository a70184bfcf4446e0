"""SQL as text: names and texts in quotes, names that nobody can guess, and the parts of a user's query."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shortlist.exact.bits import SystemBits

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^']|'')*')|(?P<name>"(?:[^"]|"")*"|\w+)|(?P<nothing>--[^\n]*|/\*.*?\*/|\s+)|.""", re.DOTALL
)


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
