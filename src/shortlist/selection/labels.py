"""Labels of items: further columns of a public domain, such as titles, that travel with a list into its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from shortlist.errors import ParameterError
from shortlist.periods import Span
from shortlist.record import COLUMNS, FAMILY_COLUMNS
from shortlist.safe_text import LONGEST_LINE, is_line
from shortlist.votes.domain import NAME, choose_item
from shortlist.votes.duckdb import Workspace
from shortlist.votes.libraries import has_columns, unwrap
from shortlist.votes.source import Header, read_request
from shortlist.votes.tallies import read_public
from shortlist.votes.values import is_missing, write_item


def read_names(by: Any, label: Any, span: Span | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read the names of the columns of groups and of labels. No two columns of a release have the same name.

    >>> read_names("country", ["title", "artist"], None)
    (('country',), ('title', 'artist'))
    """
    # The column of the periods is called like them.
    periods = () if span is None or span.every is None else (str(span.every),)
    by_names = _read_columns(by, "by", "votes", (*FAMILY_COLUMNS, *periods))
    if by is not None and not by_names:
        raise ParameterError("`by` must be a column of the votes, or a list of different ones", "it is empty")
    taken = (*FAMILY_COLUMNS, *periods, *by_names) if by_names or periods else tuple(COLUMNS)
    return by_names, _read_columns(label, "label", "domain", taken)


def _read_columns(given: Any, name: str, where: str, taken: Sequence[str]) -> tuple[str, ...]:
    """Read the names of columns that a release is to have: one, or several. Some are taken."""
    if given is not None and not isinstance(given, str | list | tuple):
        raise ParameterError(
            f"`{name}` must be a column of the {where}, or a list of them", f"not {type(given).__name__}"
        )
    names = () if given is None else (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(each, str) and each for each in names) or len(set(names)) < len(names):
        raise ParameterError(f"`{name}` must be a column of the {where}, or a list of different ones")
    if not all(map(is_line, names)):
        raise ParameterError(
            f"`{name}` must be columns whose names are one line of at most {LONGEST_LINE} characters that show",
            "the name of one is not, and no record of the release could be read",
            hint="give the column another name, by a view or a query",
        )
    if not set(names).isdisjoint(taken):
        raise ParameterError(
            f"`{name}` must not be called like a column of a release",
            hint=f"a release has the columns {', '.join(sorted(taken))}",
        )
    return names


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of every item of a domain, by the item's bytes."""

    names: tuple[str, ...]
    rows: Mapping[bytes, tuple[Any, ...]]

    @classmethod
    def read(cls, names: tuple[str, ...], source: Mapping[str, Any]) -> Labels:
        """Read the labels of a domain. The first row of an item counts.

        The domain is public, and so are its labels. They are read before the votes, so that nothing fails afterwards.
        """
        request = read_request(**{name: source[name] for name in ("item", "person", "count")})
        column, domain = source["domain_column"], unwrap(source["domain"])

        def choose(header: Header) -> dict[str, str]:
            labels = {f"label_{place}": name for place, name in enumerate(names)}
            return choose_item(header, column, request) | header.take(labels, where=NAME)

        # A stream was read to its end when the items were.
        again = not hasattr(domain, "__arrow_c_stream__") or has_columns(domain)
        table = read_public(Workspace(), domain, choose) if again and not isinstance(domain, list | tuple) else None
        if table is None:
            raise ParameterError(
                "`label` must go with a `domain` that has columns: a file, a frame or a dict",
                "this one has none that can be read",
                hint="write the catalogue to a file, or leave `label` out",
            )
        items, *columns = table.list_values()
        rows = zip(*map(_make_alike, columns), strict=True)
        found: dict[bytes, tuple[Any, ...]] = {}
        for item_bytes, labels in zip(map(write_item, items), rows, strict=True):
            if item_bytes is not None:
                found.setdefault(item_bytes, labels)
        return cls(names, found)

    def find(self, items: Iterable[Any]) -> dict[str, tuple[Any, ...]]:
        """Find the labels of some items, column by column."""
        rows = [self.rows.get(write_item(item) or b"", (None,) * len(self.names)) for item in items]
        return {name: tuple(row[place] for row in rows) for place, name in enumerate(self.names)}


def _make_alike(column: Sequence[Any]) -> list[Any]:
    """Give labels one type that a record can hold. Others, such as fractions, become text; a missing label is None."""
    values = [None if is_missing(label) else label for label in column]
    kinds = {type(label) for label in values} - {type(None)}
    if len(kinds) <= 1 and kinds <= {bool, int, str, Decimal, bytes, date, datetime, time}:
        return values
    return [None if label is None else str(label) for label in values]
