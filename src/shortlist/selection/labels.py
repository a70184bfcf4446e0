"""Labels of items: further columns of a public domain, such as titles, that travel with a list into its outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any

from shortlist.errors import ParameterError
from shortlist.record import COLUMNS
from shortlist.votes.domain import NAME, make_chooser
from shortlist.votes.duckdb import Workspace
from shortlist.votes.libraries import has_columns, unwrap
from shortlist.votes.source import Header, read_request
from shortlist.votes.tallies import read_public
from shortlist.votes.values import is_missing, write_item


def read_names(given: str | Sequence[str] | None, name: str, where: str, taken: Collection[str] = COLUMNS) -> tuple[str, ...]:
    """Read the names of columns that a release is to have: one, or several. Some are taken.

    >>> read_names("title", "label", "domain"), read_names(["title", "artist"], "label", "domain")
    (('title',), ('title', 'artist'))
    """
    if given is not None and not isinstance(given, str | list | tuple):
        raise ParameterError(
            f"`{name}` must be a column of the {where}, or a list of them", f"not {type(given).__name__}"
        )
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(each, str) and each for each in names) or len(set(names)) < len(names):
        raise ParameterError(f"`{name}` must be a column of the {where}, or a list of different ones")
    if set(taken) & set(names):
        raise ParameterError(
            f"`{name}` must not be called like a column of a release",
            hint=f"a release has the columns {', '.join(sorted(taken))}",
        )
    return names


def read_labels(
    domain: Any, names: Sequence[str], *, item: str, person: str | None, count: str | None, column: str | None
) -> dict[bytes, tuple[Any, ...]]:
    """Read the labels of every item of a domain, by the item's bytes. The first row of an item counts.

    The domain is public, and so are its labels. They are read before the votes, so that nothing fails afterwards.
    """
    choose_item, domain = make_chooser(column, read_request(item=item, person=person, count=count)), unwrap(domain)

    def choose(header: Header) -> list[str]:
        return [*choose_item(header), *header.take(names, where=NAME)]

    # A stream was read to its end when the items were.
    again = not hasattr(domain, "__arrow_c_stream__") or has_columns(domain)
    table = read_public(Workspace(), domain, choose) if again and not isinstance(domain, list | tuple) else None
    if table is None:
        raise ParameterError(
            "`label` must go with a `domain` that has columns: a file, a frame or a dict",
            "this one has none that can be read",
            hint="write the catalogue to a file, or leave `label` out",
        )
    items, *columns = map(list, map(chain.from_iterable, zip(*table.list_values(), strict=True)))
    rows = zip(*map(_make_alike, columns), strict=True)
    found: dict[bytes, tuple[Any, ...]] = {}
    for item_bytes, labels in zip(map(write_item, items), rows, strict=True):
        if item_bytes is not None:
            found.setdefault(item_bytes, labels)
    return found


def find_labels(
    labels: Mapping[bytes, tuple[Any, ...]], names: Sequence[str], items: Iterable[Any]
) -> dict[str, tuple[Any, ...]]:
    """Find the labels of some items, column by column."""
    rows = [labels.get(write_item(item) or b"", (None,) * len(names)) for item in items]
    return {name: tuple(row[place] for row in rows) for place, name in enumerate(names)}


def _make_alike(column: Sequence[Any]) -> list[Any]:
    """Give labels one type that a record can hold. Others, such as fractions, become text; a missing label is None."""
    values = [None if is_missing(label) else label for label in column]
    kinds = {type(label) for label in values} - {type(None)}
    if len(kinds) <= 1 and kinds <= {bool, int, str, Decimal, bytes, date, datetime, time}:
        return values
    return [None if label is None else str(label) for label in values]
