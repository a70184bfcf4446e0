"""The names of the columns of groups, and of labels: columns of the domain, such as titles, that travel with a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shortlist.errors import ParameterError
from shortlist.periods import Span
from shortlist.record import COLUMNS, FAMILY_COLUMNS
from shortlist.safe_text import LONGEST_LINE, is_line


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
