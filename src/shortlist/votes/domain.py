"""The domain: the public list of all items that a release may name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.border import check_column, optional, reading
from shortlist.votes.databases import open_query
from shortlist.votes.files import is_path, open_files
from shortlist.votes.frames import is_empty, settled
from shortlist.votes.ranks import no_items
from shortlist.votes.source import Choose, Source
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace

NAME = "the domain"


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, item: str) -> None:
    """Refuse to go on without a domain, or with the votes as their own domain."""
    if domain is None:
        found = "none was given"
    elif _same(domain, votes) and domain_column in (None, item):
        found = "the votes themselves were given"
    else:
        return
    raise ParameterError(
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
    if isinstance(domain, str | os.PathLike):
        source = open_files(workspace, domain, choose=choose, name=NAME)
        return replace(source, frame=_renamed(source.frame))
    frame = _framed(domain)
    with reading(NAME):
        frame = _renamed(frame.select(*choose(list(frame.collect_schema().names())))).drop_nulls()
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
    """Choose the column that was named, else the one called like the votes' column of items, else the only one."""

    def choose(columns: Sequence[str]) -> list[str]:
        if column is not None:
            check_column(column, columns, where=NAME)
            return [column]
        if item in columns:
            return [item]
        if len(columns) == 1:
            return list(columns)
        raise DataError(
            f"the domain must have a column {item!r}, or one column only; its columns are {', '.join(columns)}.",
            hint="name the column of items with domain_column",
        )

    return choose


def _framed(domain: Any) -> Any:
    """A frame of what holds items in memory or in another engine."""
    nw, pa = optional("narwhals.stable.v2"), optional("pyarrow")
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
    if is_path(domain) and is_path(votes):
        return _listed(domain) == _listed(votes)
    return domain is votes


def _listed(paths: Any) -> list[str]:
    return [os.path.abspath(each) for each in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
