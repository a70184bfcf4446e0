"""Arrow's own types for UUIDs and JSON, as text. Each value is written by itself, so different ones stay different."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.libraries import import_optional

_DIGITS = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_LENGTH = 36
_PLACES = np.array([0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34])
"""Where each byte of a UUID stands in its text."""


def write_plain(column: Any) -> Any:
    """Write an Arrow column of UUIDs or JSON as text. Any other column is returned as it is.

    >>> import pyarrow as pa
    >>> write_plain(pa.array([bytes(range(16)), None], pa.uuid())).to_pylist()
    ['00010203-0405-0607-0809-0a0b0c0d0e0f', None]
    """
    pa = import_optional("pyarrow")
    kind = choose_plain_type(column.type)
    if kind == column.type:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([write_plain(chunk) for chunk in column.chunks], kind)
    if pa.types.is_dictionary(column.type):
        return write_plain(column.dictionary).take(column.indices)
    return _write_uuids(column.storage) if _is_uuid(column.type) else column.storage


def write_plain_batches(reader: Any) -> Any:
    """Write the columns of a reader of batches in the same way, as they are read."""
    pa = import_optional("pyarrow")
    schema = pa.schema([(field.name, choose_plain_type(field.type)) for field in reader.schema])
    if schema.types == reader.schema.types:
        return reader
    columns = (list(map(write_plain, batch.columns)) for batch in reader)
    batches = (pa.RecordBatch.from_arrays(each, schema=schema) for each in columns)
    return pa.RecordBatchReader.from_batches(schema, batches)


def choose_plain_type(kind: Any) -> Any:
    """The Arrow type that `write_plain` writes a type as."""
    pa = import_optional("pyarrow")
    if pa.types.is_dictionary(kind):
        plain = choose_plain_type(kind.value_type)
        return kind if plain == kind.value_type else plain
    if _is_uuid(kind):
        return pa.large_string()
    return kind.storage_type if getattr(kind, "extension_name", None) == "arrow.json" else kind


def _is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", None) == "arrow.uuid"


def _write_uuids(stored: Any) -> Any:
    """Write arrays of 16 bytes in lower case, with hyphens."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    if stored.null_count == len(stored):
        return pa.nulls(len(stored), pa.large_string())
    raw = np.frombuffer(stored.buffers()[1], dtype=np.uint8, count=16 * len(stored), offset=16 * stored.offset)
    values = raw.reshape(-1, 16)
    texts = np.full((len(stored), _LENGTH), ord("-"), dtype=np.uint8)
    texts[:, _PLACES], texts[:, _PLACES + 1] = _DIGITS[values >> 4], _DIGITS[values & 15]
    ends: IntArray = _LENGTH * np.arange(len(stored) + 1, dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(texts)]
    written = pa.Array.from_buffers(pa.large_string(), len(stored), buffers)
    return compute.if_else(stored.is_valid(), written, pa.scalar(None, pa.large_string()))
