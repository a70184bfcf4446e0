"""Columns in memory (pandas, dicts), each read by its own type: no value of one decides how another is read.

A column with a type becomes an Arrow column. Of a column without one (a list, or `object` in pandas), each item is
looked up and each person is written as bytes, value by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from shortlist.errors import DataError
from shortlist.votes.columns import CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.arrow import count_batches, open_batches, read_typed_rows
from shortlist.votes.engines.counted import LocalTally, ObservedTally
from shortlist.votes.engines.counting import NO_COUNT, count_groups, number_rows
from shortlist.votes.engines.observed import keep_groups
from shortlist.votes.engines.table import Rows, Start, Table, Tally
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.arrow_values import make_arrow_column
from shortlist.votes.items.domain import NAME, Domain
from shortlist.votes.items.item_keys import write_item, write_items
from shortlist.votes.items.item_types import Family, choose_exact_type, find_family, is_plain
from shortlist.votes.items.keys import Lookup, make_key_table
from shortlist.votes.items.matching import can_match
from shortlist.votes.items.python_values import is_missing, read_count
from shortlist.votes.libraries import import_optional
from shortlist.votes.persons import write_person, write_persons

_BATCH = 1 << 16


class ColumnsTable(Table):
    """A data frame of pandas, or a dict of columns."""

    def read_items(self, choose: Choose) -> Any:
        """The items of the chosen column."""
        (column,) = self._take(choose)
        return read_series(column) if hasattr(column, "isna") else make_arrow_column(column, what=self._name)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in the workspace.

        The type of a column may come from its values, so no type is refused: what cannot match is ignored.
        """
        item, other = open_pair(*self._take(columns.choose))
        start()
        item = _type_text(item)
        keys, kind = number_rows(domain.d), import_optional("pyarrow").int64()
        if item.typed is not None:
            kind = item.kind
            family = find_family(kind)
            if not can_match(domain.family, family):
                return LocalTally(domain, np.zeros(domain.d, dtype=np.int64))
            keys = make_key_table(domain, choose_exact_type(kind), family)
        reader = _open_batches(_write_batches(item, Lookup(domain).number), kind, other, columns.voters)
        return LocalTally(domain, count_batches(self._workspace, reader, keys, columns.voters, d=domain.d))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in the workspace.

        No type is refused: what is no item is ignored, and a gap that makes floats of whole numbers changes nothing.
        """
        item, other = open_pair(*self._take(columns.choose))
        start()
        item = _type_text(item)
        family = Family.OTHER if item.typed is None else find_family(item.typed.type)
        # A cap keeps votes by a hash of the item, too, and one value may decide the type of the column.
        if item.typed is not None and (family == Family.FLOAT or _has_cap(columns.voters)):
            item, family = Column(typed=write_items(item.typed)), Family.OTHER
        kind = import_optional("pyarrow").binary() if item.typed is None else item.kind
        reader = _open_batches(_write_batches(item, write_values), kind, other, columns.voters)
        return keep_groups(self._workspace, count_groups(open_batches(self._workspace, reader), columns.voters), family)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows: with types if both columns have one, else in a batch of Python values."""
        pair = open_pair(*self._take(choose))
        if any(column.typed is None for column in pair):
            return [tuple(column.to_list() for column in pair)]
        table = import_optional("pyarrow").table([column.typed for column in pair], names=["item", "other"])
        return read_typed_rows(self._workspace, table.to_reader())

    def _take(self, choose: Choose) -> list[Any]:
        names = list(self._given if isinstance(self._given, Mapping) else self._given.columns)
        return [self._given[name] for name in choose(Header(columns=names))]


def read_series(series: Any) -> Any:
    """The items of a series of pandas, as an Arrow array."""
    kinds = (series.dtype, getattr(getattr(series.dtype, "categories", None), "dtype", None))
    if object not in kinds:
        return import_optional("pyarrow").array(series, from_pandas=True)
    present = (None if missing else each for each, missing in zip(series, series.isna(), strict=True))
    return make_arrow_column(present, what=NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Either an Arrow array, or Python values; of categories, the values that the codes number (−1 is a gap)."""

    typed: Any = None
    values: Any = None
    codes: Any = None

    def __len__(self) -> int:
        return len(next(each for each in (self.typed, self.codes, self.values) if each is not None))

    @property
    def kind(self) -> Any:
        """The Arrow type of the values; that of a dictionary is the type of what its codes number."""
        kind = self.typed.type
        return kind.value_type if import_optional("pyarrow").types.is_dictionary(kind) else kind

    def to_list(self) -> list[Any]:
        """All values, as Python has them."""
        if self.typed is not None:
            return list(self.typed.to_pylist())
        return list(self.values) if self.codes is None else [self.values[code] for code in self.codes]


def open_column(given: Any) -> Column:
    """Open a series of pandas or Polars, an Arrow or NumPy array, or any other sequence."""
    pa = import_optional("pyarrow")
    if type(given).__module__.partition(".")[0] == "pandas":
        return _open_pandas(given)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return _open_arrow(given)
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
        return _convert(given)
    typed = isinstance(given, np.ndarray) and given.dtype.kind in "biufM" and given.dtype != "M8[D]"
    return _convert(given) if typed else Column(values=list(given))


def open_pair(items: Any, others: Any) -> tuple[Column, Column]:
    """Open the columns of items and of persons or counts, which have one length."""
    item, other = open_column(items), open_column(others)
    if len(item) != len(other):
        raise DataError("the columns of items and of persons or counts must have one length", "they differ")
    return item, other


def _has_cap(voters: PersonColumn | CountColumn) -> bool:
    return isinstance(voters, PersonColumn) and voters.cap is not None


def _open_batches(items: Iterator[Any], kind: Any, other: Column, voters: PersonColumn | CountColumn) -> Any:
    """Read items of one type with their persons or counts, as a reader of Arrow batches."""
    pa, counted = import_optional("pyarrow"), isinstance(voters, CountColumn)
    if _has_cap(voters) and other.typed is not None:
        # A cap keeps votes by a hash of the person, and one value may decide the type of the column.
        other = Column(typed=write_persons(other.typed))
    untyped = pa.int64() if counted else pa.large_binary()
    schema = pa.schema([("item", kind), ("other", untyped if other.typed is None else other.kind)])
    pairs = zip(items, _write_batches(other, partial(write_others, counted=counted)), strict=True)
    batches = (pa.RecordBatch.from_arrays(list(pair), schema=schema) for pair in pairs)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _write_batches(column: Column, write: Callable[[Any], Any]) -> Iterator[Any]:
    """Values in batches: as they are if they have a type, else as `write` gives them."""
    pa = import_optional("pyarrow")
    coded = None if column.codes is None else write(column.values)
    for start in range(0, len(column), _BATCH):
        part = slice(start, start + _BATCH)
        if column.typed is not None:
            # Dictionaries are read value by value: short codes cannot number the values of several chunks together.
            taken = column.typed[part]
            yield _combine(taken if taken.type == column.kind else taken.cast(column.kind))
        elif coded is not None:
            codes = column.codes[part].astype(np.int64)
            yield coded.take(pa.array(np.where(codes < 0, len(coded) - 1, codes)))
        else:
            yield write(column.values[part])


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
    pa = import_optional("pyarrow")
    try:
        made = pa.array(given, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return Column(values=list(given))
    opened = _open_arrow(made)
    return opened if opened.typed is not None else Column(values=list(given))


def _open_arrow(made: Any) -> Column:
    pa = import_optional("pyarrow")
    kind = choose_exact_type(made.type)
    if not is_plain(kind) or isinstance(kind, pa.BaseExtensionType):
        return Column(values=made.to_pylist())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        # One text in a column of pandas makes Python floats of all others, which have 64 bits.
        made = made.cast(pa.float64() if pa.types.is_floating(kind) else kind)
    return Column(typed=made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made]))


def _type_text(column: Column) -> Column:
    """Give the type of text to items that are all text; they match what they match value by value."""
    if column.values is None or column.codes is not None:
        return column
    made = _make_text_array(column.values)
    return column if made is None else _open_arrow(made)


def _make_text_array(values: Any) -> Any:
    """An Arrow array of values that are text or missing; None if others are among them."""
    pa, pandas = import_optional("pyarrow"), sys.modules.get("pandas")
    if pandas is not None:
        text = pandas.api.types.infer_dtype(values, skipna=True) == "string"
    else:
        text = all(isinstance(value, str) or is_missing(value) for value in values)
    try:
        return pa.array(values, pa.large_string(), from_pandas=True) if text else None
    except (pa.ArrowException, ValueError, TypeError):  # text that is no Unicode
        return None


def write_values(items: Iterable[Any]) -> Any:
    """Items as an Arrow array of bytes."""
    pa = import_optional("pyarrow")
    return pa.array([write_item(each) for each in items], pa.binary())


def write_others(values: Any, *, counted: bool) -> Any:
    """Persons as an Arrow array of bytes, or counts; what is no count is −1, which no count is."""
    pa = import_optional("pyarrow")
    if counted:
        read = [None if is_missing(each) else NO_COUNT if (n := read_count(each)) is None else n for each in values]
        return pa.array(read, pa.int64())
    text = _make_text_array(values)
    if text is not None:  # faster, and the same bytes
        return write_persons(_combine(text))
    return pa.array([None if is_missing(each) else write_person(each) for each in values], pa.large_binary())


def _combine(part: Any) -> Any:
    pa = import_optional("pyarrow")
    whole = part.combine_chunks() if isinstance(part, pa.ChunkedArray) else part
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
