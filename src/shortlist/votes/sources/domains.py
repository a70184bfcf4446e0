"""Where a domain comes from, and that it does not come from the votes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from shortlist.errors import DataError, ParameterError
from shortlist.votes.domain import NAME, Domain, number_items
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines.duckdb import plain_columns
from shortlist.votes.running import interruptible
from shortlist.votes.sources.files import Files, identities, is_path, open_files, same_files
from shortlist.votes.sources.frames import library_of, open_arrow
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.sources.queries import Query, reads_from, texts_in
from shortlist.votes.sources.query_votes import read_domain_query
from shortlist.votes.sources.source import Source, reading_from
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace

_FROM_VOTES = (
    "If the list came from the votes, an item that only one person voted for could be released if and only if that "
    "person is in the data, and no differentially private release may tell that. So the list has to be known without "
    "the votes, and items that nobody voted for belong in it."
)


def check_domain(domain: Any, votes: Any, *, domain_column: str | None, item: str) -> None:
    """Refuse to go on without a domain, or with the votes as their own domain.

    Files and queries are compared, and the very same frame is noticed; that a list or a column was made from the votes
    cannot be seen.
    """
    if domain is None:
        raise _refuse("none was given")
    if isinstance(domain, Query) and isinstance(votes, Query) and reads_from(domain, votes):
        raise _refuse("the query reads the table of the votes")
    if isinstance(domain, Query) and is_path(votes) and _reads_files(domain, votes):
        raise _refuse("the query reads a file of the votes")
    if domain_column in (None, item) and _is_same(domain, votes):
        raise _refuse("the votes themselves were given")


def open_domain(workspace: Workspace, domain: Any, *, column: str | None, item: str) -> Domain:
    """Read a file, list, series, frame or query of items as numbered rows."""
    choose = _chooser(column, item)
    if isinstance(domain, Files | str | os.PathLike):
        return _from_relation(workspace, open_files(workspace, domain, choose=choose, name=NAME))
    if isinstance(domain, Query):
        return number_items(read_domain_query(workspace, domain, choose))
    with reading(NAME):
        found = _column(workspace, domain, choose)
    if found is None:
        expected = "{domain} must be a file, a list, a column, a frame or a query"
        raise ParameterError(expected, "not {kind}", kind=type(domain).__name__)
    return number_items(found)


def _refuse(fault: str) -> ParameterError:
    return ParameterError(
        "{domain} must be the public list of all items that may be released, voted for or not",
        "{fault}. {reason}",
        hint="pass {domain='catalogue.csv'}, a file that lists them, or another source of items",
        fault=fault,
        reason=_FROM_VOTES,
    )


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
            "the domain must have a column {item!r}" + (", or one column only" if listed else ""),
            "{seen}",
            hint="name the column of items with {domain_column}"
            + ("" if listed else "; the first line of a CSV file must be a header"),
            item=item,
            seen=header.describe(),
        )

    return choose


def _from_relation(workspace: Workspace, source: Source) -> Domain:
    with reading_from(source), interruptible(workspace.connection.interrupt):
        column = plain_columns(source.relation).to_arrow_table().column(0)
    source.check_unchanged()
    return number_items(column)


def _column(workspace: Workspace, domain: Any, choose: Choose) -> Any:
    """The Arrow column of what holds items in memory or in another engine; None if it is nothing of that kind."""
    pa, library = optional("pyarrow"), library_of(domain)
    if isinstance(domain, pa.Array | pa.ChunkedArray):
        return domain
    if library == "duckdb":
        place = list(domain.columns).index(choose(Header(columns=list(domain.columns)))[0]) + 1
        return plain_columns(domain.project(f"#{place}")).distinct().to_arrow_table().column(0)
    if library == "pandas":
        series = domain if not hasattr(domain, "columns") else domain[choose(Header(columns=list(domain.columns)))[0]]
        return _from_series(series)
    if library == "polars":
        return _from_polars(domain, choose)
    if library == "pyspark":
        (name,) = choose(Header(columns=list(domain.columns)))
        place = list(domain.columns).index(name)
        return domain.toDF(*map(str, range(len(domain.columns)))).select(str(place)).distinct().toArrow().column(0)
    if library == "ibis":
        table = domain if hasattr(domain, "columns") else domain.as_table()
        return table.select(choose(Header(columns=list(table.columns)))[0]).distinct().to_pyarrow().column(0)
    if isinstance(domain, Mapping):
        return (
            None
            if not domain or not all(isinstance(each, Iterable) for each in domain.values())
            else arrow_column(domain[choose(Header(columns=list(domain)))[0]], what=NAME)
        )
    reader = open_arrow(domain, choose)
    if reader is not None:
        return reader.read_all().column(0)
    if isinstance(domain, np.ndarray):
        return pa.array(domain) if domain.dtype.kind == "M" else arrow_column(domain.tolist(), what=NAME)
    if isinstance(domain, Iterable) and not isinstance(domain, bytes):
        return arrow_column(domain, what=NAME)
    return None


def _from_series(series: Any) -> Any:
    pa = optional("pyarrow")
    kinds = (getattr(series, "dtype", None), getattr(getattr(series.dtype, "categories", None), "dtype", None))
    if object in kinds:
        return arrow_column(
            (None if missing else each for each, missing in zip(series, series.isna(), strict=True)), what=NAME
        )
    return pa.array(series, from_pandas=True)


def _from_polars(domain: Any, choose: Choose) -> Any:
    pl = optional("polars")
    if isinstance(domain, pl.Series):
        return domain.to_arrow()
    (name,) = choose(Header(columns=domain.collect_schema().names()))
    return domain.lazy().select(pl.col(name).unique()).collect().to_arrow().column(0)


def _is_same(domain: Any, votes: Any) -> bool:
    if isinstance(domain, Files | str | os.PathLike) and is_path(votes):
        return same_files(domain, votes)
    if isinstance(domain, Query) or isinstance(votes, Query):
        return type(domain) is type(votes) and bool(domain == votes)
    listed = isinstance(domain, list | tuple) and is_path(domain)
    return domain is votes or (listed and isinstance(votes, list | tuple) and list(domain) == list(votes))


def _reads_files(domain: Query, votes: Any) -> bool:
    texts = [text for text in texts_in(domain.sql) if "." in text or "/" in text]
    return bool(texts) and bool(identities(texts).keys() & identities(votes).keys())
