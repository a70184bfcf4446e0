"""Where a domain comes from, and that it does not come from the votes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shortlist.errors import DataError, ParameterError
from shortlist.votes.engines.columns import read_series
from shortlist.votes.engines.registry import open_table
from shortlist.votes.files.files import Files, are_same_files, identify_files, is_path
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.items.arrow_values import make_arrow_column
from shortlist.votes.items.domain import NAME, Domain, number_items
from shortlist.votes.libraries import find_library, has_columns, import_optional
from shortlist.votes.queries import Query, reads_from
from shortlist.votes.sql import list_texts
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

_FROM_VOTES = (
    "If the list came from the votes, an item that only one person voted for could be released if and only if that "
    "person is in the data, and no differentially private release may tell that. So the list has to be known without "
    "the votes, and items that nobody voted for belong in it."
)


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, item: str) -> None:
    """Refuse to go on without a domain, or with the votes as their own domain.

    Files and queries are compared, and the very same frame is noticed, or its column in pandas and dicts. That another
    list or column was made from the votes cannot be seen.
    """
    if domain is None:
        raise _refuse("none was given")
    if isinstance(domain, Query) and isinstance(votes, Query) and reads_from(domain, votes):
        raise _refuse("the query reads the table of the votes")
    if isinstance(domain, Query) and is_path(votes) and _reads_files(domain, votes):
        raise _refuse("the query reads a file of the votes")
    if domain_column in (None, item) and _is_same(domain, votes):
        raise _refuse("the votes themselves were given")
    if domain_column in (None, item) and _is_column(domain, votes, item):
        raise _refuse("a column of the votes was given")


def open_domain(workspace: Workspace, domain: Any, *, column: str | None, item: str) -> Domain:
    """Read a file, list, series, frame or query of items as numbered rows."""
    domain = domain.as_table() if find_library(domain) == "ibis" else domain
    with translate_errors(NAME):
        found = _read_list(domain)
    if found is None:
        table = open_table(workspace, domain, name=NAME)
        if table is not None:
            with table.explain_failures():
                found = table.read_items(_make_chooser(column, item))
        elif isinstance(domain, Iterable) and not isinstance(domain, Mapping | bytes):
            found = make_arrow_column(domain, what=NAME)
    if found is None:
        expected = "{domain} must be a file, a list, a column, a frame or a query"
        raise ParameterError(expected, "not {kind}", kind=type(domain).__name__)
    return number_items(found)


def _read_list(domain: Any) -> Any:
    """The items of a list, an array or a series, as an Arrow array; None for anything else."""
    pa, library = import_optional("pyarrow"), find_library(domain)
    if isinstance(domain, pa.Array | pa.ChunkedArray):
        return domain
    if isinstance(domain, list | tuple):
        return make_arrow_column(domain, what=NAME)
    if isinstance(domain, np.ndarray):
        return pa.array(domain) if domain.dtype.kind == "M" else make_arrow_column(domain.tolist(), what=NAME)
    if library == "pandas" and not has_columns(domain):
        return read_series(domain)
    return domain.to_arrow() if library == "polars" and not has_columns(domain) else None


def _refuse(fault: str) -> ParameterError:
    return ParameterError(
        "{domain} must be the public list of all items that may be released, voted for or not",
        "{fault}. {reason}",
        hint="pass {domain='catalogue.csv'}, a file that lists them, or another source of items",
        fault=fault,
        reason=_FROM_VOTES,
    )


def _make_chooser(column: str | None, item: str) -> Choose:
    """Choose the column that was named, else the one called like the votes' column of items, else the only one.

    The only column of a CSV file is not enough: its first line is an item if the file has no header.
    """

    def choose(header: Header) -> list[str]:
        if column is not None:
            return header.take([column], where=NAME)
        if item in header.columns:
            return header.take([item], where=NAME)
        listed = header.origin is not Origin.FIRST_LINE
        if len(header.columns) == 1 and listed:
            return list(header.columns)
        raise DataError(
            "the domain must have a column {column!r}" + (", or one column only" if listed else ""),
            "{seen}",
            hint="name the column of items with {domain_column}"
            + ("" if listed else "; if the first line is an item and no header, pass {Files.header=False}")
            + "; or is {item} misspelt?",
            column=item,
            seen=header.describe(),
        )

    return choose


def _is_same(domain: Any, votes: Any) -> bool:
    if isinstance(domain, Files | str | os.PathLike) and is_path(votes):
        return are_same_files(domain, votes)
    if isinstance(domain, Query) or isinstance(votes, Query):
        return type(domain) is type(votes) and bool(domain == votes)
    listed = isinstance(domain, list | tuple) and is_path(domain)
    return domain is votes or (listed and isinstance(votes, list | tuple) and list(domain) == list(votes))


def _is_column(domain: Any, votes: Any, item: str) -> bool:
    """Whether the domain is the column of items, of a dict or in pandas. No values are compared."""
    if isinstance(votes, Mapping):
        return votes.get(item) is domain
    if not find_library(domain) == find_library(votes) == "pandas" or not has_columns(votes):
        return False
    # What pandas takes out of a frame has the very index of the frame.
    index = getattr(domain, "index", None)
    names = domain.columns if has_columns(domain) else [getattr(domain, "name", None)]
    return index is not None and bool(index.is_(votes.index)) and item in list(names)


def _reads_files(domain: Query, votes: Any) -> bool:
    texts = [text for text in list_texts(domain.sql) if "." in text or "/" in text]
    return bool(texts) and bool(identify_files(texts).keys() & identify_files(votes).keys())
