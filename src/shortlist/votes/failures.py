"""What engines say, in our words; and the engines that work at this moment, so that Ctrl-C can stop them.

Engines quote values in their messages ("could not convert ..."), and error texts may be published. So the text of an
engine is never used: an error says what could not be read and the kind of the failure. It carries no other error as
its context either, because a traceback would show that error's text.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

from shortlist.errors import DataError, ShortlistError

_P = ParamSpec("_P")
_R = TypeVar("_R")

_ADVICE = {
    "OutOfMemoryException": "raise `memory_limit`, or free space in the folder for temporary files",
    "HTTPException": "is the address right, and may you read it? Credentials come from DuckDB's secrets",
    "ConnectionException": "is the connection still open?",
    "ProgrammingError": "is the connection still open, and does this thread own it?",
    "ReadOnlySqlTransaction": "the query must only read: leave FOR UPDATE and functions that write out",
    "ResourceInUseException": "fetch the rest of the last result of this connection first, or use connection.cursor()",
    "IOException": "is the file complete, readable, and in the format that its name says?",
}
_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")
_FAULTS = {
    "Expected Number of Columns": "has more or fewer fields than the first line",
    "unterminated quote": "opens a quote that is not closed",
    "not utf-8": "is not text in UTF-8",
}
_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:[/\\\\]*")
_SECRET = re.compile(r"(pass\w*|pwd|pw|pin|token|secret|key|sig|signature|credentials?)\s*=", re.IGNORECASE)
_NO_FILES: Mapping[str, str] = {}
_STOPS: dict[int, Callable[[], None]] = {}
"""How to stop each engine that works."""


@contextmanager
def translate_errors(what: str, *, hint: str | None = None, files: Mapping[str, str] = _NO_FILES) -> Iterator[None]:
    """Say in our words that an engine failed to read something, and name the file that it failed on.

    `hint` is shown word for word. `files` are the paths that the engine knows, with the names that errors may show. An
    empty path stands for the only file that is read.

    >>> with translate_errors("votes", hint="look at line 3"):
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
        kind, text = type(error).__name__, str(error)
        # The words of DuckDB, SQLite and PostgreSQL for Ctrl-C.
        if kind in ("InterruptException", "QueryCanceled") or text in ("Query interrupted", "interrupted"):
            raise KeyboardInterrupt from None
        place, reason = _find_place(text, files), error.strerror if isinstance(error, OSError) else None
        reason = reason or (None if place else kind)
        raise DataError(
            f"{what} could not be read" + (f" ({reason})" if reason else ""), place, hint=_ADVICE.get(kind, hint)
        ) from None


def strip_context(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Raise our errors without the engine's error as their context.

    >>> @strip_context
    ... def read():
    ...     with translate_errors("votes"):
    ...         int("secret")
    >>> try:
    ...     read()
    ... except DataError as error:
    ...     error.__context__ is None
    True
    """

    @functools.wraps(function)
    def call(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return function(*arguments, **options)
        except ShortlistError as error:
            failure = error
        # Inside the handler, Python would set the context again.
        failure.__cause__ = failure.__context__ = None
        raise failure

    return call


def hide_secrets(text: str) -> str:
    """Write a path or an address without what only its owner may know: a user, a password, a token, a query.

    >>> hide_secrets("s3://KEY:SECRET@bucket/plays.parquet?token=1"), hide_secrets("host=db Pwd=x")
    ('s3://...@bucket/plays.parquet', '...')
    >>> hide_secrets("md:plays?motherduck_token=x"), hide_secrets("https:/bob:x@h/a.csv"), hide_secrets("plays-?.csv")
    ('md:plays', 'https:/...@h/a.csv', 'plays-?.csv')
    """
    scheme = found[0] if (found := _SCHEME.match(text)) else ""
    secret = _SECRET.search(text)
    if secret is not None and "@" in text[secret.start() :]:
        return f"{scheme}..."
    # A password may hold any character, so the last @ ends it.
    _, at, place = text[len(scheme) :].rpartition("@") if scheme else ("", "", text)
    bare = re.split(r"[?#]", place, maxsplit=1)[0] if scheme else place
    return f"{scheme}{'...@' if at else ''}{'...' if _SECRET.search(bare) else bare}"


def _find_place(text: str, files: Mapping[str, str]) -> str | None:
    """Tell which file an engine complains of, and where; of its text, only our file names and the line are used."""
    path = max((path for path in files if path in text), key=len, default=None)
    if path is None:
        return None
    line = _LINE.match(text)
    if line is None:
        return f"the file is {files[path]!r}"
    fault = next((fault for sign, fault in _FAULTS.items() if sign in text), "cannot be read")
    return f"line {line[1]} of {files[path]!r} {fault}"


@contextmanager
def register_engine(stop: Callable[[], None]) -> Iterator[None]:
    """List an engine as working; `stop` may be called from another thread.

    >>> stopped = []
    >>> with register_engine(lambda: stopped.append(True)):
    ...     stop_engines()
    >>> stop_engines(); stopped
    [True]
    """
    _STOPS[id(stop)] = stop
    try:
        yield
    finally:
        del _STOPS[id(stop)]


def stop_engines() -> None:
    """Tell all engines that work to stop."""
    for stop in list(_STOPS.values()):
        with suppress(Exception):  # an engine that finished meanwhile
            stop()


def end_in(process: int, end: Callable[..., None], *arguments: object) -> None:
    """End what a process opened, in that process. A forked child has a copy, and not the threads of the engine.

    So a child that closed or freed the copy would crash, remove the folder of its parent, or end its transaction: it
    keeps the copy.
    """
    if os.getpid() == process:
        end(*arguments)
    else:
        _inherited.append((end, arguments))


_inherited: list[tuple[Callable[..., None], tuple[object, ...]]] = []
