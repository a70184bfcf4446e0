"""Where a domain comes from, and that it does not come from the votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shortlist.errors import DataError, ParameterError
from shortlist.votes.columns import PersonColumn, VoteColumns
from shortlist.votes.engines.columns import read_series
from shortlist.votes.engines.registry import open_table
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.items.arrow_values import make_arrow_column
from shortlist.votes.items.domain import NAME, Domain, number_items
from shortlist.votes.libraries import find_library, has_columns, import_optional
from shortlist.votes.own_data import find_fault
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

_FROM_VOTES = (
    "If the list came from the votes, an item that only one person voted for could be released if and only if that "
    "person is in the data, and no differentially private release may tell that. So the list has to be known without "
    "the votes, and items that nobody voted for belong in it."
)


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, columns: VoteColumns) -> None:
    """Refuse to go on without a domain, or with one that is seen to come from the votes."""
    fault = "none was given" if domain is None else find_fault(domain, votes, domain_column, columns)
    if fault is not None:
        raise _refuse(fault)


def open_domain(workspace: Workspace, domain: Any, *, column: str | None, columns: VoteColumns) -> Domain:
    """Read a file, list, series, frame or query of items as numbered rows."""
    domain = domain.as_table() if find_library(domain) == "ibis" else domain
    with translate_errors(NAME):
        found = _read_list(domain)
    if found is None:
        table = open_table(workspace, domain, name=NAME)
        if table is not None:
            with table.explain_failures():
                found = table.read_items(_make_chooser(column, columns))
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


def _refuse(fault: str, otherwise: str = "or another source of items") -> ParameterError:
    return ParameterError(
        "{domain} must be the public list of all items that may be released, voted for or not",
        "{fault}. {reason}",
        hint="pass {domain='catalogue.csv'}, a file that lists them, {otherwise}",
        otherwise=otherwise,
        fault=fault,
        reason=_FROM_VOTES,
    )


def _make_chooser(column: str | None, columns: VoteColumns) -> Choose:
    """Choose the column that was named, else the one called like the votes' column of items, else the only one.

    The only column of a CSV file is not enough: its first line is an item if the file has no header. A table of votes
    is no catalogue, wherever it was copied to.
    """
    item = columns.item

    def choose(header: Header) -> list[str]:
        if column in (None, item) and _is_table_of_votes(header, columns):
            raise _refuse(
                f"it has a column {columns.voters.name!r}, like the votes, so it looks like a table of votes",
                "or, if it is such a list, its column of items alone",
            )
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
            + ("" if listed else "; if the first line is an item and no header, pass {domain.Files.header=False}")
            + "; or is {item} misspelt?",
            column=item,
            seen=header.describe(),
        )

    return choose


def _is_table_of_votes(header: Header, columns: VoteColumns) -> bool:
    """Whether there are columns called like those of items and of persons. Positions in place of names say nothing."""
    voters = columns.voters
    named = isinstance(voters, PersonColumn) and not voters.name.isdecimal() and header.origin is not Origin.UNKNOWN
    return named and {columns.item, voters.name} <= {each for each in header.columns if isinstance(each, str)}
