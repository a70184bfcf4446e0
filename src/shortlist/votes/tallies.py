"""From votes, wherever they are, to the count of every item: describe, check, charge, count."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.votes.domain import NAME, add_labels, check_domain, choose_item, number_items
from shortlist.votes.duckdb import ArrowSource, RelationSource, Workspace, exports_arrow, open_duckdb_query
from shortlist.votes.failures import strip_context, translate_errors
from shortlist.votes.files import is_path
from shortlist.votes.formats import open_files
from shortlist.votes.frames import PolarsSource, SparkSource, open_ibis, take_frame
from shortlist.votes.groups import (
    ALL,
    GROUPS,
    PEOPLE,
    check_groups,
    choose_groups,
    make_columns,
    number_cells,
    number_groups,
)
from shortlist.votes.libraries import find_library, has_columns, unwrap
from shortlist.votes.parquet import DatasetFiles, holds_parquet
from shortlist.votes.postgres import PostgresSource
from shortlist.votes.queries import Query, find_file_kind
from shortlist.votes.rows import ColumnsSource, SqlalchemySource, SqliteSource, open_column
from shortlist.votes.source import (
    VOTES,
    Choose,
    Description,
    Header,
    Origin,
    Request,
    Source,
    Tally,
    check_types,
    name_groups,
    read_request,
)
from shortlist.votes.times import MOMENTS
from shortlist.votes.values import Family, make_arrow_column

_ACCEPTED = (
    "a pandas, Polars, PyArrow, DuckDB, PySpark or Ibis table, a dict of columns, paths of files, "
    "shortlist.Files or shortlist.Query"
)
_PASS_GROUPS = "pass `groups='groups.csv'`, a file that lists them; in Python, their values will do"
FRAMES: dict[str, Callable[[Workspace, Any, str], Source]] = {
    "pandas": ColumnsSource,
    "polars": PolarsSource,
    "duckdb": RelationSource,
    "ibis": open_ibis,
    "pyspark": SparkSource,
}
"""How the tables of each library are opened."""
DATABASES: dict[str, Callable[[Workspace, Query, str], Source]] = {
    "duckdb": open_duckdb_query,
    "sqlite": SqliteSource,
    "postgresql": PostgresSource,
}
"""How the queries on each kind of database are opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyPlan:
    """Votes that are described and checked, and not read."""

    workspace: Workspace
    source: Source
    described: Description
    request: Request

    @property
    def d(self) -> int:
        """How many items the domain has; 0 without one."""
        return 0 if self.request.domain is None else self.request.domain.d

    @property
    def groups(self) -> tuple[tuple[Any, ...], ...] | None:
        """The values of each group of a family."""
        return None if self.request.groups is None else self.request.groups.names

    @property
    def sizes(self) -> tuple[int, ...] | None:
        """How many items each list has, if they are listed."""
        groups, domain = self.request.groups, self.request.domain
        if domain is None:
            return None
        return (domain.d,) if groups is None else tuple(groups.count_items(domain).tolist())

    @property
    def people(self) -> tuple[int | None, ...] | None:
        """How many people each group has, if the list of groups says it."""
        return None if self.request.groups is None else self.request.groups.people

    def find_labels(self, rows: Sequence[IntArray]) -> list[dict[str, tuple[Any, ...]]]:
        """The labels of some rows, list by list."""
        domain = self.request.domain
        return [{} if domain is None else domain.find_labels(each) for each in rows]

    @property
    def time_kind(self) -> str | None:
        """What the column of times holds, as its types say. None if they say nothing, or there is no such column.

        One value that is no time may make text of a Parquet file, and a file of gaps has any type.
        """
        if self.request.time is not None and "moment" not in self.described.columns:
            return "values of any type"
        read = {Family.TEXT if each == Family.BYTES else each for each in self.described.list_families("moment")}
        return " and ".join(sorted(set(MOMENTS) & read)) or None

    @strip_context
    def count(self) -> Tally:
        """Read the votes and count them. Whatever depends on a row is found here, after the charge."""
        with self.source.explain_failures():
            return self.source.count(self.described, self.request)


@strip_context
def plan_tally(
    votes: Any,
    *,
    domain: Any = None,
    domain_column: str | None = None,
    groups: Any = None,
    observed: bool = False,
    memory_limit: str | None = None,
    workspace: Workspace | None = None,
    progress: Callable[[str], None] = lambda step: None,
    **asked: Any,
) -> TallyPlan:
    """Read the domain, and describe and check the votes by names and types alone. Of the votes, no row is read.

    What is given means what it means for `shortlist.select`, and all that is `asked` further are parameters of
    `read_request`. With `observed`, there is no domain, and items are what the votes say. A check refuses no type.

    Opening a workspace takes most of the time of a small table. Who counts many of them may pass one `workspace`, but
    not for a `Query` on a file, which stays open in it.
    """
    request = read_request(**asked)
    if domain_column is not None and not isinstance(domain_column, str):
        kind = type(domain_column).__name__
        raise ParameterError("`domain_column` must be the name of a column, as text", f"not {kind}")
    if votes is None:
        raise ParameterError("`votes` must be given")
    votes, domain, workspace = unwrap(votes), unwrap(domain), workspace or Workspace(memory_limit=memory_limit)
    listed = bool(request.by) and groups is None
    if not observed:
        check_domain(domain, votes, domain_column=domain_column, request=request)
        progress("Reading the domain")
        request = _read_domain(workspace, domain, column=domain_column, request=request, listed=listed)
    if request.by or (request.span and request.span.periods):
        request = _read_groups(workspace, unwrap(groups), votes, request)
    source = open_votes(workspace, votes)
    with source.explain_failures():
        described = source.describe(partial(Header.take, wanted=request.columns, where=VOTES))
    if not request.checked:
        check_types(described, request)
        progress("Counting the votes")
    return TallyPlan(workspace=workspace, source=source, described=described, request=request)


def _read_domain(workspace: Workspace, domain: Any, *, column: str | None, request: Request, listed: bool) -> Request:
    """Read a file, list, series, frame or query of items as numbered rows, and the groups that they are listed with."""

    def choose(header: Header) -> dict[str, str]:
        if listed and header.origin is not Origin.UNKNOWN and not set(request.by) & set(header.columns):
            raise ParameterError(
                "`groups` must be the public list of groups, or `domain` must have the columns that `by` names",
                "neither was given",
                hint=_PASS_GROUPS,
            )
        chosen = choose_item(header, column, request)
        if listed:
            chosen |= header.take(name_groups(request.by), where=NAME)
        return chosen | header.take(labels, where=NAME) if labels else chosen

    labels = {f"label_{place}": name for place, name in enumerate(request.labels)}
    with translate_errors(NAME):
        columns = _read_list(workspace, domain, choose, [column or request.item], name=NAME, labels=labels)
        found = {name: columns.pop(role) for role, name in labels.items()}
        items, *values = columns.values()
        numbered, groups = number_cells(items, values) if listed else (number_items(items), None)
        if found:
            numbered = add_labels(numbered, items, found)
        return replace(request, domain=numbered, groups=groups)


def _read_groups(workspace: Workspace, groups: Any, votes: Any, request: Request) -> Request:
    """Read the public list of groups, unless the domain has it, and find the number of groups of a person."""
    listed = request.groups if request.by else ALL
    if listed is None:
        if groups is None:
            raise ParameterError(
                "`groups` must be the public list of groups",
                "none was given",
                hint=_PASS_GROUPS,
            )
        check_groups(groups, votes, request)
        with translate_errors(GROUPS):
            columns = _read_list(workspace, groups, partial(choose_groups, request=request), request.by, name=GROUPS)
            people = columns.pop(PEOPLE, None)
            listed = number_groups(list(columns.values()), people)
    limits = [each for each in (request.groups_per_person, request.cap) if each is not None]
    if not limits and not request.counted and not request.checked:
        raise ParameterError(
            "`groups_per_person` or `votes_per_person` must be given with `by`",
            "without a limit, one person could be in every list",
            hint="pass `groups_per_person=1` if each person is in one group, or say how many count",
        )
    if request.span is not None and request.span.periods:
        listed = listed.split(request.span.periods)
    return replace(request, groups=listed, groups_per_person=min([*limits, request.count_lists(len(listed))]))


def _read_list(
    workspace: Workspace, given: Any, choose: Choose, names: Sequence[str], *, name: str, labels: Container[str] = ()
) -> dict[str, Any]:
    """Read the chosen columns of a public list: of a table, or of values, whose columns have names.

    They are Arrow arrays. Labels may also be lists of values of any type.
    """
    given = given.as_table() if find_library(given) == "ibis" else given
    source = None if isinstance(given, list | tuple) else open_source(workspace, given, name=name)
    if source is not None:
        with source.explain_failures():
            found = source.open(source.describe(choose)).read_columns()
    elif not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        expected = f"`{name.removeprefix('the ')}` must be a file, a list, a column, a frame or a query"
        raise ParameterError(expected, f"not {type(given).__name__}")
    elif labels:
        raise ParameterError(
            "`label` must go with a `domain` that has columns: a file, a frame or a dict",
            "this one has none",
            hint="write the catalogue to a file, or leave `label` out",
        )
    else:
        columns = {names[0]: given} if name == NAME else make_columns(given, names)
        chosen = choose(Header(columns=list(columns)))
        found = {role: open_column(columns[column], items=True) for role, column in chosen.items()}
    return {role: each if role in labels else make_arrow_column(each, what=name) for role, each in found.items()}


def open_votes(workspace: Workspace, votes: Any) -> Source:
    """Open a table of votes in the engine that holds it."""
    source = open_source(workspace, votes, name=VOTES)
    if source is None:
        raise ParameterError(f"`votes` must be {_ACCEPTED}", f"not {type(votes).__name__}", hint=_find_advice(votes))
    return source


def open_source(workspace: Workspace, given: Any, *, name: str) -> Source | None:
    """Open a table by the library that it comes from; None if it is no table. Errors call it by its name."""
    if isinstance(given, Query):
        kind, query = _find_database(given)
        return DATABASES.get(kind, SqlalchemySource)(workspace, query, name)
    if find_library(given) == "ibis" and has_columns(given):
        given = take_frame(given)
    if is_path(given):
        return open_files(workspace, given, name)
    open_frame = FRAMES.get(find_library(given))
    if open_frame is not None:
        return open_frame(workspace, given, name) if has_columns(given) else None
    if isinstance(given, Mapping) and given and all(isinstance(each, Iterable) for each in given.values()):
        return ColumnsSource(workspace, given, name)
    if not exports_arrow(given):
        return None
    return (DatasetFiles if holds_parquet(given) else ArrowSource)(workspace, given, name)


def _find_database(query: Query) -> tuple[str, Query]:
    """Tell the kind of a query's database; an engine of SQLAlchemy is replaced by its driver where we know it."""
    database = query.database
    if isinstance(database, sqlite3.Connection):
        return "sqlite", query
    if query.address is not None:
        return "postgresql", query
    if isinstance(database, str | os.PathLike):
        return find_file_kind(query), query
    if find_library(database) != "sqlalchemy":
        return find_library(database), query
    kind = database.dialect.name
    if kind != "sqlite":
        return kind if kind == "postgresql" else "any other", query
    with translate_errors("the database"):
        return kind, Query(database.raw_connection().driver_connection, query.sql)


def _find_advice(votes: Any) -> str:
    """What to pass in place of something that is no table."""
    if hasattr(votes, "cursor") or find_library(votes) == "sqlalchemy":
        return "ask it a query: shortlist.Query(connection, 'SELECT user, track FROM plays')"
    if isinstance(votes, Mapping) or hasattr(votes, "dtype") or find_library(votes) == "pyarrow":
        return "a table has a column of items and one of persons; if these are counts, pass them to shortlist.top_k"
    first = votes[0] if isinstance(votes, list | tuple) and votes else None
    if isinstance(first, Mapping):
        return "make a table of a list of rows: pandas.DataFrame(rows) or pyarrow.Table.from_pylist(rows)"
    if isinstance(first, list | tuple):
        return "make a table of a list of rows: pandas.DataFrame(rows, columns=['user', 'track'])"
    return "make a dict of two columns, say: {'user': [...], 'track': [...]}"
