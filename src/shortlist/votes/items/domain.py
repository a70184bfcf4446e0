"""The domain: the public list of all items that a release may name, as numbered rows.

It is read first and by itself. The number of items, their type and their spelling come from it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.votes.items.arrow_extensions import write_plain
from shortlist.votes.items.item_types import Family, choose_exact_type, find_family
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.failures import translate_errors

NAME = "the domain"
_LONGEST = 38
_ALLOWED = "text, whole numbers, booleans, dates, times, timestamps, decimals or bytes"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """The different items of a domain, in rising order: numbers and times by value, text and bytes by their bytes."""

    items: Any
    """An Arrow array; timestamps are stored in UTC."""
    family: Family

    @property
    def d(self) -> int:
        """How many items there are."""
        return len(self.items)

    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return list(self._convert(self.items.take(import_optional("pyarrow").array(rows))))

    def values(self) -> Iterator[Any]:
        """All items, in the order of their rows."""
        return self._convert(self.items)

    def _convert(self, items: Any) -> Iterator[Any]:
        values = iter(items.to_pylist())
        if self.family == Family.AWARE:
            return (value.replace(tzinfo=UTC) for value in values)
        return map(int, values) if self.family == Family.INTEGER else values


def number_items(column: Any) -> Domain:
    """Sort the items of an Arrow column and drop duplicates and gaps.

    >>> import pyarrow as pa
    >>> number_items(pa.array(["b", None, "a", "b"])).names(np.array([0, 1]))
    ['a', 'b']
    """
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    column = write_plain(column)
    family = find_family(column.type)
    if family in (Family.FLOAT, Family.OTHER) and not pa.types.is_null(column.type):
        raise DataError(
            "the items of the domain must be {allowed}",
            "not {seen}",
            hint="cast them to text or to whole numbers; in pandas, a column of whole numbers with gaps is 'Int64'",
            allowed=_ALLOWED,
            seen=family,
        )
    with translate_errors(NAME, hint="timestamps must be whole microseconds, and numbers may have 38 digits"):
        column = column.cast(choose_exact_type(column.type)).cast(choose_held_type(column.type, family))
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(column, pa.ChunkedArray):  # more than one array can hold
            column = pa.concat_arrays(column.chunks)
        column = column.drop_null()
        if len(column):
            column = column.take(compute.sort_indices(column))
            column = column.filter(pa.array(_differs_from_previous(column)))
    if not len(column):
        raise DataError("{domain} must hold at least one item", "none was found", hint="is it the right column?")
    decimal = family == Family.DECIMAL and column.type.scale <= 0
    return Domain(items=column, family=Family.INTEGER if decimal else family)


def choose_held_type(arrow_type: Any, family: Family) -> Any:
    """The type that we hold items in: one for each family, wide enough for all of its values."""
    pa = import_optional("pyarrow")
    plain = choose_exact_type(arrow_type)
    if family == Family.INTEGER:
        return pa.decimal128(_LONGEST, 0) if plain == pa.uint64() else pa.int64()
    if family == Family.DECIMAL:
        return pa.decimal128(_LONGEST, max(plain.scale, 0))
    held = {
        Family.TEXT: pa.large_string(),
        Family.BYTES: pa.large_binary(),
        Family.NAIVE: pa.timestamp("us"),
        Family.AWARE: pa.timestamp("us"),
        Family.TIME: pa.time64("us"),
    }
    return held.get(family, plain)


def _differs_from_previous(column: Any) -> Any:
    compute = import_optional("pyarrow.compute")
    later = compute.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[True], later])
