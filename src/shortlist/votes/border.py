"""The border between the library and the engines: what is imported late, and how their errors come across.

Engines quote values in their messages ("could not convert ..."), and error texts may be published. So the text of an
engine never crosses: what crosses is the kind of the failure, in our words, with a hint.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, MissingExtraError, ShortlistError

_HINTS = {
    "OutOfMemoryException": "raise memory_limit, or free space in the folder for temporary files",
    "IOException": "is the file complete, readable, and in the format that its name says?",
    "ConversionException": "cast the column to one type first",
}
_LINE = re.compile(r"Invalid Input Error: CSV Error on Line: (\d+)\n")
_FAULTS = {
    "Expected Number of Columns": "has more or fewer fields than the header",
    "unterminated quote": "opens a quote that is not closed",
    "not utf-8": "is not text in UTF-8",
}
_SPARK_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


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
def reading(what: str, *, hint: str | None = None, files: Iterable[Path] = ()) -> Iterator[None]:
    """Say in our words that an engine failed to read something; of `files`, the one it failed on is named.

    >>> with reading("votes", hint="look at line 3"):
    ...     int("secret")
    Traceback (most recent call last):
    shortlist.errors.DataError: votes could not be read (ValueError).
    Hint: look at line 3
    """
    try:
        with _hushed():
            yield
    except ShortlistError:
        raise
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        # DuckDB's words for Ctrl-C.
        if kind == "InterruptException" or text == "Query interrupted":
            raise KeyboardInterrupt from None
        place = _place(text, files)
        raise DataError(f"{what} could not be read ({kind}){place}.", hint=_HINTS.get(kind, hint)) from None


def _place(text: str, files: Iterable[Path]) -> str:
    """Which file an engine complains of, and where; of its text, only what names our files and lines is used."""
    named = max((os.fspath(path) for path in files if os.fspath(path) in text), key=len, default=None)
    if named is None:
        return ""
    line = _LINE.match(text)
    if line is None:
        return f": the file is {named!r}"
    fault = next((fault for sign, fault in _FAULTS.items() if sign in text), "cannot be read")
    return f": line {line[1]} of {named!r} {fault}"


@contextmanager
def _hushed() -> Iterator[None]:
    """Keep PySpark from printing the text of its errors, which quotes values."""
    spark = sys.modules.get("pyspark.logger")
    loggers = [] if spark is None else [spark.PySparkLogger.getLogger(name) for name in _SPARK_LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
