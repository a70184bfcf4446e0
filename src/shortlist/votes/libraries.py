"""Libraries that the core does without: which one a value comes from, and how one is imported when it is needed."""

from __future__ import annotations

import importlib
from typing import Any

from shortlist.errors import MissingExtraError

_KNOWN = {"duckdb", "ibis", "narwhals", "pandas", "polars", "pyarrow", "pyspark", "sqlalchemy"}


class Library:
    """A module that the core does without. It is imported when it is first used.

    >>> Library("json").dumps([1])
    '[1]'
    """

    def __init__(self, module: str, **options: str) -> None:
        self._module, self._options = module, options

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_optional(self._module, **self._options), name)
        setattr(self, name, value)
        return value


pa, compute, datasets = Library("pyarrow"), Library("pyarrow.compute"), Library("pyarrow.dataset")
pl, duckdb = Library("polars"), Library("duckdb", purpose="opening files and tables")
psycopg = Library("psycopg", extra="postgres", purpose="reading PostgreSQL tables")


def import_optional(module: str, *, extra: str = "tables", purpose: str = "reading tables") -> Any:
    """Import a module that the core does without."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(extra, purpose=purpose) from None


def find_library(value: Any) -> str:
    """The library that a value or the class that it inherits from belongs to; "" if none is known here.

    >>> import pyarrow
    >>> find_library(pyarrow.table({})), find_library([1])
    ('pyarrow', '')
    """
    for kind in type(value).__mro__:
        home = kind.__module__.partition(".")[0].lstrip("_")
        if home in _KNOWN:
            return home
    return ""


def unwrap(value: Any) -> Any:
    """Take a frame or a column out of narwhals, which wraps those of other libraries."""
    return value.to_native() if find_library(value) == "narwhals" else value


def has_columns(value: Any) -> bool:
    """Whether a value is a table with columns, not a single column. The value itself is not asked: that may be slow."""
    return hasattr(type(value), "columns")
