"""Two columns in memory, each read by its own declared type: no value of one decides how the other is read.

A column with a type becomes an Arrow column. Of a column without one (a list, or `object` in pandas), each item is
looked up and each person is written as bytes, value by value.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.votes.counting import Columns
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional
from shortlist.votes.engines.duckdb import count_batches
from shortlist.votes.engines.rows import PERSON_TEXT, is_missing, read_count, write_person
from shortlist.votes.item_types import exact_type, family_of
from shortlist.votes.keys import NO_ROW, Lookup, key_table
from shortlist.votes.meanings import can_match
from shortlist.votes.workspace import Workspace

_BATCH = 1 << 16
_NO_COUNT = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Either an Arrow array, or Python values; of categories, the values that the codes number (−1 is a gap)."""

    typed: Any = None
    values: Any = None
    codes: Any = None

    def __len__(self) -> int:
        return len(next(each for each in (self.typed, self.codes, self.values) if each is not None))

    def to_list(self) -> list[Any]:
        """All values, as Python has them."""
        if self.typed is not None:
            return list(self.typed.to_pylist())
        return list(self.values) if self.codes is None else [self.values[code] for code in self.codes]


def open_column(given: Any) -> Column:
    """Open a series of pandas or Polars, an Arrow or NumPy array, or any other sequence."""
    pa = optional("pyarrow")
    if type(given).__module__.partition(".")[0] == "pandas":
        return _open_pandas(given)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return _open_arrow(given)
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return _convert(given)
    typed = isinstance(given, np.ndarray) and given.dtype.kind in "biufM" and given.dtype != "M8[D]"
    return _convert(given) if typed else Column(values=list(given))


def count_columns(workspace: Workspace, items: Any, others: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of two columns.

    The type of such a column may come from its values, so no type is refused: what cannot match is ignored.
    """
    pa = optional("pyarrow")
    item, other = open_column(items), open_column(others)
    if len(item) != len(other):
        raise DataError("the columns of items and of persons or counts must have one length", "they differ")
    item = _type_text(item)
    if item.typed is None:
        every = np.arange(domain.d)
        keys = pa.table({"key": every, "row": every})
    else:
        family = family_of(item.typed.type)
        if pa.types.is_null(item.typed.type) or not can_match(domain.family, family):
            return np.zeros(domain.d, dtype=np.int64)
        keys = key_table(domain, exact_type(item.typed.type), family)
    pairs = zip(_number_items(item, domain), _write_others(other, counted=columns.counted), strict=True)
    schema = pa.schema(
        [
            ("item", pa.int64() if item.typed is None else item.typed.type),
            (
                "other",
                other.typed.type if other.typed is not None else pa.int64() if columns.counted else pa.large_binary(),
            ),
        ]
    )
    batches = (pa.RecordBatch.from_arrays(list(pair), schema=schema) for pair in pairs)
    return count_batches(workspace, pa.RecordBatchReader.from_batches(schema, batches), keys, domain, columns)


def _open_pandas(given: Any) -> Column:
    """Text has no type here: only some texts of Python fit in Arrow."""
    held = getattr(given, "array", given)
    categories = getattr(given.dtype, "categories", None)
    if categories is not None and _is_open(categories.dtype) and hasattr(held, "codes"):
        return Column(values=[*categories, None], codes=np.asarray(held.codes))
    if given.dtype == np.dtype(object):
        return Column(values=np.asarray(given, dtype=object))
    return Column(values=held) if _is_open(given.dtype) else _convert(given)


def _is_open(kind: Any) -> bool:
    return bool(kind == np.dtype(object)) or type(kind).__name__ == "StringDtype"


def _convert(given: Any) -> Column:
    """Take a column to Arrow if Arrow has its type."""
    pa = optional("pyarrow")
    try:
        made = pa.array(given, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return Column(values=list(given))
    opened = _open_arrow(made)
    return opened if opened.typed is not None else Column(values=list(given))


def _open_arrow(made: Any) -> Column:
    pa = optional("pyarrow")
    kind = made.type
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType) or pa.types.is_decimal256(kind):
        return Column(values=made.to_pylist())
    if pa.types.is_floating(kind):
        # One text in a column of pandas makes Python floats of all others, which have 64 bits.
        made = made.cast(pa.float64())
    return Column(typed=made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made]))


def _type_text(column: Column) -> Column:
    """Give the type of text to items that are all text; they match what they match value by value."""
    if column.values is None or column.codes is not None:
        return column
    made = _as_text(column.values)
    return column if made is None else _open_arrow(made)


def _as_text(values: Any) -> Any:
    """An Arrow array of values that are text or missing; None if others are among them."""
    pa, pandas = optional("pyarrow"), sys.modules.get("pandas")
    if pandas is not None:
        text = pandas.api.types.infer_dtype(values, skipna=True) == "string"
    else:
        text = all(isinstance(value, str) or is_missing(value) for value in values)
    try:
        return pa.array(values, pa.large_string(), from_pandas=True) if text else None
    except (pa.ArrowException, ValueError, TypeError):  # text that is no Unicode
        return None


def _number_items(column: Column, domain: Domain) -> Iterator[Any]:
    """Items in batches: as they are if they have a type, else the rows that they mean."""
    pa = optional("pyarrow")
    lookup = Lookup(domain)
    coded = None if column.codes is None else lookup.rows(column.values)
    for start in range(0, len(column), _BATCH):
        part = slice(start, start + _BATCH)
        if column.typed is not None:
            yield _combine(column.typed[part])
        else:
            rows = lookup.rows(column.values[part]) if coded is None else coded[column.codes[part]]
            yield pa.array(rows, mask=rows == NO_ROW)


def _write_others(column: Column, *, counted: bool) -> Iterator[Any]:
    """Persons or counts in batches."""
    pa = optional("pyarrow")
    coded = None if column.codes is None else _write(column.values, counted=counted)
    for start in range(0, len(column), _BATCH):
        part = slice(start, start + _BATCH)
        if column.typed is not None:
            yield _combine(column.typed[part])
        elif coded is not None:
            codes = column.codes[part].astype(np.int64)
            yield coded.take(pa.array(np.where(codes < 0, len(coded) - 1, codes)))
        else:
            yield _write(column.values[part], counted=counted)


def _write(values: Any, *, counted: bool) -> Any:
    """Persons as bytes, or counts; what is no count is −1, which no count is."""
    pa = optional("pyarrow")
    if counted:
        found = [None if is_missing(each) else read_count(each) for each in values]
        wrong = [each is None and not is_missing(value) for each, value in zip(found, values, strict=True)]
        return pa.array([_NO_COUNT if bad else each for each, bad in zip(found, wrong, strict=True)], pa.int64())
    text = _as_text(values)
    if text is not None:  # faster, and the same bytes
        start, between = (pa.scalar(each, pa.large_binary()) for each in (PERSON_TEXT, b""))
        join = optional("pyarrow.compute").binary_join_element_wise
        return join(start, _combine(text).cast(pa.large_binary()), between)
    return pa.array([None if is_missing(each) else write_person(each) for each in values], pa.large_binary())


def _combine(part: Any) -> Any:
    pa = optional("pyarrow")
    whole = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
