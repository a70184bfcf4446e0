"""The border between the library and the engines: what is imported late, and how their errors come across.

Engines quote values in their messages ("could not convert ..."), and error texts may be published. So the text of an
engine never crosses: what crosses is the kind of the failure, in our words, with a hint.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from shortlist.errors import DataError, MissingExtraError, ShortlistError

_HINTS = {
    "OutOfMemoryException": "raise memory_limit, or free space in the folder for temporary files",
    "IOException": "is the file complete, readable, and in the format that its name says?",
    "ConversionException": "cast the column to one type first",
}


def optional(module: str, *, extra: str = "tables", purpose: str = "reading tables") -> Any:
    """Import a module that the core does without.

    >>> optional("json").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(extra, purpose=purpose) from None


@contextmanager
def reading(what: str, *, hint: str | None = None) -> Iterator[None]:
    """Say in our words that an engine failed to read something.

    >>> with reading("votes", hint="look at line 3"):
    ...     int("secret")
    Traceback (most recent call last):
    shortlist.errors.DataError: votes could not be read (ValueError).
    Hint: look at line 3
    """
    try:
        yield
    except ShortlistError:
        raise
    except Exception as error:
        kind = type(error).__name__
        # DuckDB's words for Ctrl-C.
        if kind == "InterruptException" or str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise DataError(f"{what} could not be read ({kind}).", hint=_HINTS.get(kind, hint)) from None


def check_column(name: str, columns: Sequence[str], *, where: str) -> None:
    """Refuse a column that is not there, and name the nearest ones that are.

    >>> check_column("usr", ["user", "track"], where="the votes")
    Traceback (most recent call last):
    shortlist.errors.DataError: the votes must have a column 'usr'; their columns are 'user', 'track'.
    Hint: did you mean 'user'?
    """
    if name in columns:
        return
    nearest = difflib.get_close_matches(name, columns, n=2, cutoff=0.5)
    nearest = nearest or [each for each in columns if each.casefold() == name.casefold()]
    shown = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
    raise DataError(
        f"{where} must have a column {name!r}; their columns are {shown}.",
        hint=f"did you mean {' or '.join(map(repr, nearest))}?" if nearest else None,
    )
