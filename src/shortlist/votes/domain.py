"""The domain: the public list of all items that a release may name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.border import optional, reading
from shortlist.votes.databases import open_query
from shortlist.votes.frames import is_empty, is_table, settled, take_columns
from shortlist.votes.headers import Choose, Header, Origin
from shortlist.votes.ranks import no_items
from shortlist.votes.source import Source
from shortlist.votes.sources.files import Files, open_files, same_files
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace

NAME = "the domain"


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, item: str) -> None:
    """Refuse to go on without a domain, or with the votes as their own domain.

    Files are compared, and the very same frame is noticed; that a list or a column was made from the votes cannot
    be seen.
    """
    if domain is None:
        raise _no_domain("none was given")
    if domain_column in (None, item) and _same(domain, votes):
        raise _no_domain("the votes themselves were given")


def check_domain_query(domain_sql: str, sql: str | None, *, domain_column: str | None, item: str) -> None:
    """Refuse the query of the votes as the query of the domain."""
    queries = {" ".join(query.split()).rstrip("; ") for query in (domain_sql, str(sql))}
    if len(queries) == 1 and domain_column in (None, item):
        raise _no_domain("the query of the votes was given")


def _no_domain(found: str) -> ParameterError:
    return ParameterError(
        f"domain must be the public list of all items that may be released, voted for or not; {found}. "
        "If the list came from the votes, an item that only one person voted for could be released if and only if "
        "that person is in the data, and no differentially private release may tell that. "
        "So the list has to be known without the votes, and items that nobody voted for belong in it.",
        hint="pass domain= a file ('catalogue.csv'), a list, or a column or frame of your catalogue",
    )


def open_domain(workspace: Workspace, domain: Any, *, column: str | None, item: str) -> Source:
    """Open a file, list, series or frame of items as a frame with one column, `item`."""
    nw = optional("narwhals.stable.v2")
    choose = _chooser(column, item)
    if isinstance(domain, Files | str | os.PathLike):
        source = open_files(workspace, domain, choose=choose, name=NAME)
        return replace(source, frame=_renamed(source.frame))
    frame = _framed(domain)
    with reading(NAME):
        frame = _renamed(take_columns(frame, choose)).drop_nulls()
        if isinstance(frame, nw.LazyFrame):
            # A column of a large table is made short before it is moved.
            frame = frame.group_by("item").agg(nw.len().alias("rows")).select("item")
    frame = settled(frame, name=NAME)
    if is_empty(frame):
        raise no_items()
    return Source(frame=frame, name=NAME)


def open_domain_query(workspace: Workspace, database: Any, sql: str, *, column: str | None, item: str) -> Source:
    """Open the answer to a query as a frame with one column, `item`."""
    source = open_query(workspace, database, sql, choose=_chooser(column, item), name=NAME)
    return replace(source, frame=_renamed(source.frame))


def _chooser(column: str | None, item: str) -> Choose:
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
            f"the domain must have a column {item!r}{', or one column only' if listed else ''}; {header.shown()}.",
            hint="name the column of items with domain_column"
            + ("" if listed else "; the first line of a CSV file must be a header"),
        )

    return choose


def _framed(domain: Any) -> Any:
    """A frame of what holds items in memory or in another engine."""
    nw, pa = optional("narwhals.stable.v2"), optional("pyarrow")
    if is_table(domain):
        return domain
    if isinstance(domain, pa.Array | pa.ChunkedArray):
        return nw.from_native(pa.table({"item": domain}))
    if type(domain).__module__.startswith("ibis.") and hasattr(domain, "as_table"):
        domain = domain.as_table()
    native = nw.from_native(domain, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return native.alias("item").to_frame()
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return native
    if isinstance(domain, Iterable) and not isinstance(domain, bytes | dict):
        values = domain.tolist() if hasattr(domain, "tolist") else domain
        return nw.from_native(pa.table({"item": arrow_column(values, what=NAME)}))
    raise ParameterError(f"domain must be a file, a list, a column or a frame, not {type(domain).__name__}.")


def _renamed(frame: Any) -> Any:
    nw = optional("narwhals.stable.v2")
    (column,) = frame.collect_schema().names()
    return frame.select(nw.col(column).alias("item"))


def _same(domain: Any, votes: Any) -> bool:
    listed = isinstance(domain, list | tuple) and isinstance(votes, list | tuple)
    return domain is votes or same_files(domain, votes) or (listed and list(domain) == list(votes))
