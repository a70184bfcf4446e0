"""Bring the items of the votes and of the domain to one type, before they are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shortlist.errors import DataError
from shortlist.votes.border import optional, reading
from shortlist.votes.families import EMPTY, INTEGER, TEXT, Kind, kind_of, parsed
from shortlist.votes.frames import is_empty
from shortlist.votes.source import Source, reading_from
from shortlist.votes.workspace import Workspace, identifier

_WHOLE = Kind(family=INTEGER, storage="BIGINT")


def item_kind(source: Source, *, column: str = "item") -> Kind:
    """Tell the kind of a source's items; an empty frame has none."""
    if is_empty(source.frame):
        return Kind(family=EMPTY, storage="VARCHAR")
    with reading(source.name):
        dtype = source.frame.collect_schema()[column]
    return kind_of(dtype, what=f"the items of {source.name}")


def read_votes_as(workspace: Workspace, votes: Source, kind: Kind, *, item: str) -> Source:
    """Read the items of an untyped file with the domain's type; what is no such item is outside the domain."""
    expression = parsed(identifier(item), kind)
    if expression is None:
        return votes
    return _projected(workspace, votes, f"* REPLACE ({expression} AS {identifier(item)})")


def check_some_read(workspace: Workspace, written: Source, read: Source, kind: Kind, *, item: str) -> None:
    """Refuse votes of which no item could be read with the domain's type: it is the wrong column, or the wrong type."""
    column = identifier(item)
    with reading_from(written):
        filled = [
            workspace.connection.sql(f"SELECT 1 FROM ({source.frame.to_native().sql_query()}) WHERE {column} NOTNULL")
            for source in (written, read)
        ]
        found, understood = (bool(relation.limit(1).fetchall()) for relation in filled)
    if found and not understood:
        raise DataError(
            f"column {item!r} of {written.name} must hold {kind.family}, as the domain does; no value can be read so.",
            hint="is it the right column? Or give the domain as text",
        )


def read_counts_as_numbers(workspace: Workspace, votes: Source, *, count: str) -> Source:
    """Read the counts of an untyped file; what is no whole number becomes −1, which is refused after counting."""
    column = identifier(count)
    expression = f"CASE WHEN {column} IS NOT NULL THEN coalesce({parsed(column, _WHOLE)}, -1) END"
    return _projected(workspace, votes, f"* REPLACE ({expression} AS {column})")


def read_domain_as(workspace: Workspace, domain: Source, kind: Kind) -> Source:
    """Read the items of an untyped file with the votes' type; an item that is none is refused, for it is a mistake."""
    expression = parsed("item", kind)
    if expression is None or kind.family == TEXT:
        return domain
    connection = workspace.connection
    with reading_from(domain, hint="is every file complete, and are all its rows alike?"):
        query = domain.frame.to_native().sql_query()
        both = f"SELECT item AS written, {expression} AS item FROM ({query})"
        connection.execute(f"CREATE TEMP TABLE domain_read AS {both}")
        wrong = "SELECT 1 FROM domain_read WHERE item IS NULL AND written IS NOT NULL LIMIT 1"
        refused = bool(connection.execute(wrong).fetchall())
        nw = optional("narwhals.stable.v2")
        frame = nw.from_native(connection.sql("SELECT item FROM domain_read"))
    if refused:
        raise DataError(
            f"the domain must hold {kind.family}, as the votes do; found text that is none.",
            hint="is it the right column? Or cast the items of the votes to text",
        )
    return replace(domain, frame=frame, typed=True)


def _projected(workspace: Workspace, source: Source, columns: str) -> Source:
    nw: Any = optional("narwhals.stable.v2")
    with reading(source.name):
        query = source.frame.to_native().sql_query()
        return replace(source, frame=nw.from_native(workspace.connection.sql(f"SELECT {columns} FROM ({query})")))
