"""Whether a domain was taken from the votes, as far as that is certain. No value is compared, and none is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shortlist.votes.columns import PersonColumn, VoteColumns
from shortlist.votes.files.files import Files, are_same_files, identify_files, is_path
from shortlist.votes.libraries import find_library, has_columns, import_optional
from shortlist.votes.queries import Query, reads_from
from shortlist.votes.sql import list_sources, list_texts

_INVENTED = re.compile(r"\w+_[0-9a-f]{16}")
"""The name that DuckDB gives to a relation without one. No two relations have the same."""


def find_fault(domain: Any, votes: Any, domain_column: str | None, columns: VoteColumns) -> str | None:
    """Say how the domain comes from the votes; None if it does not, or if that cannot be seen."""
    item = columns.item
    if isinstance(domain, Query) and isinstance(votes, Query) and reads_from(domain, votes):
        return "the query reads the table of the votes"
    if isinstance(domain, Query) and is_path(votes) and _reads_files(domain, votes):
        return "the query reads a file of the votes"
    if domain_column in (None, item) and _is_same(domain, votes):
        return "the votes themselves were given"
    if domain_column in (None, item) and _is_column(domain, votes, item):
        return "a column of the votes was given"
    # A table of counts may be made from the catalogue, and then it has the memory of the catalogue.
    if isinstance(columns.voters, PersonColumn) and _is_same_memory(domain, domain_column or item, votes, item):
        return "a column of the votes was given"
    if all(find_library(each) == "duckdb" and has_columns(each) for each in (domain, votes)) and _reads_relation(
        domain, votes
    ):
        return "the relation reads the table of the votes"
    if domain_column in (None, item) and _is_projection(domain, votes, item):
        return "a column of the votes was given"
    return None


def _is_same(domain: Any, votes: Any) -> bool:
    if isinstance(domain, Files | str | os.PathLike) and is_path(votes):
        return are_same_files(domain, votes)
    if isinstance(domain, Query) or isinstance(votes, Query):
        return type(domain) is type(votes) and bool(domain == votes)
    listed = isinstance(domain, list | tuple) and is_path(domain)
    return domain is votes or (listed and isinstance(votes, list | tuple) and list(domain) == list(votes))


def _is_column(domain: Any, votes: Any, item: str) -> bool:
    """Whether the domain is the column of items, of a dict or in pandas."""
    if isinstance(votes, Mapping):
        return votes.get(item) is domain
    if not find_library(domain) == find_library(votes) == "pandas" or not has_columns(votes):
        return False
    # What pandas takes out of a frame has the very index of the frame.
    index = getattr(domain, "index", None)
    names = domain.columns if has_columns(domain) else [getattr(domain, "name", None)]
    return index is not None and bool(index.is_(votes.index)) and item in list(names)


def _is_same_memory(domain: Any, domain_column: str, votes: Any, item: str) -> bool:
    """Whether the domain is the whole column of items, in the same place of the memory, in Arrow or Polars."""
    ours, theirs = _take_column(domain, domain_column), _take_column(votes, item)
    if ours is None or theirs is None or not 0 < len(ours) == len(theirs):
        return False
    places = _find_places(ours)
    return places is not None and places == _find_places(theirs)


def _take_column(given: Any, name: str) -> Any:
    """A column of Arrow or Polars, which is given itself, or is in a frame under a name or alone; else None."""
    kind, library = type(given).__name__, find_library(given)
    if (library == "polars" and kind == "Series") or (library == "pyarrow" and kind.endswith("Array")):
        return given
    if (library, kind) not in (("polars", "DataFrame"), ("pyarrow", "Table"), ("pyarrow", "RecordBatch")):
        return None
    names = given.columns if library == "polars" else given.schema.names
    place = names.index(name) if names.count(name) == 1 else 0 if len(names) == 1 else None
    if place is None:
        return None
    return given.to_series(place) if library == "polars" else given.column(place)


def _find_places(column: Any) -> list[tuple[int, int, int]] | None:
    """Where each chunk has its values (of text, the pointers to it), from which entry, and how many."""
    pa = import_optional("pyarrow")
    if find_library(column) == "polars":
        pl = import_optional("polars")
        if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Null):
            return None
        column = column.to_arrow(compat_level=pl.CompatLevel.newest())  # the only one without a copy of text
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    places = []
    for chunk in chunks:
        values = next(iter(chunk.buffers()[1:]), None)
        if values is None:  # a column of gaps only
            return None
        places.append((values.address, chunk.offset, len(chunk)))
    return places


def _reads_relation(domain: Any, votes: Any) -> bool:
    """Whether the domain is made from the relation of the votes, or from the table that the votes are a part of."""
    duckdb = import_optional("duckdb")
    with suppress(duckdb.Error):
        # DuckDB joins relations of one connection only. Nothing is read.
        votes.project("1").union(domain.project("1"))
        if _INVENTED.fullmatch(votes.alias):
            return votes.alias in domain.sql_query() or domain.alias == votes.alias
        # A table of the database has its own name as alias. Queries do not: they may read variables of Python.
        # Older versions of DuckDB write the name of the schema `main` as well.
        [table, *_], read = (
            [name.removeprefix("main.") for name in list_sources(each.sql_query())] or [""] for each in (votes, domain)
        )
        return table.rpartition(".")[2] == votes.alias.casefold() and table in read
    return False


def _is_projection(domain: Any, votes: Any, item: str) -> bool:
    """Whether the domain is the column of items, or its different values, in Spark or Ibis."""
    library = find_library(votes)
    if library != find_library(domain) or library not in ("pyspark", "ibis"):
        return False
    with suppress(Exception):  # an engine that cannot compare: nothing is certain
        column = votes.select(item)
        if library == "ibis":
            return any(domain.as_table().equals(each) for each in (column, column.distinct()))
        return any(domain.sameSemantics(each) for each in (column, column.distinct()))
    return False


def _reads_files(domain: Query, votes: Any) -> bool:
    texts = [text for text in list_texts(domain.sql) if "." in text or "/" in text]
    return bool(texts) and bool(identify_files(texts).keys() & identify_files(votes).keys())
