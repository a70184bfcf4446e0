"""A release as columns: CSV, Parquet and data frames.

A release that was made with repeatable randomness has one more column, `secure`, which is false in every row.
"""

from __future__ import annotations

import csv
import io
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError, MissingExtraError
from shortlist.release import record

if TYPE_CHECKING:
    from shortlist.release.release import Release

METADATA = "shortlist.release"
"""Under this name, Parquet and Arrow metadata and pandas attributes hold the whole record as JSON."""


def make_columns(release: Release) -> dict[str, list[Any]]:
    """Lay a release out as columns: rank, item, noisy counts if there are any, and `secure` if it is false.

    An unordered release has no ranks.
    """
    columns: dict[str, list[Any]] = {} if release.unordered else {"rank": list(range(1, len(release) + 1))}
    # Text that is no Unicode (a lone surrogate) can be a label of counts, but is in no file.
    columns["item"] = [
        item.encode("utf-8", "backslashreplace").decode() if isinstance(item, str) else item for item in release.items
    ]
    if release.counts is not None:
        columns["count"] = list(release.counts.values)
        if release.counts.low is not None and release.counts.high is not None:
            columns["low"], columns["high"] = list(release.counts.low), list(release.counts.high)
    if not release.secure:
        columns["secure"] = [False] * len(release)
    return columns


def write_csv(release: Release) -> str:
    """Write the columns as CSV. Text is quoted, so that the empty text differs from a missing one."""
    columns = make_columns(release)
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([record.write_item(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def make_arrow(release: Release) -> Any:
    """Make an Arrow table of the columns, with the whole record in its metadata."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("tables", purpose="an Arrow table") from None
    from shortlist.votes.values import make_arrow_column

    columns: dict[str, Any] = make_columns(release)
    text = pa.array([], pa.string())
    columns["item"] = make_arrow_column(columns["item"], what="the items") if release.items else text
    for name in columns.keys() - {"item"}:
        columns[name] = pa.array(columns[name], pa.bool_() if name == "secure" else pa.int64())
    return pa.table(columns).replace_schema_metadata({METADATA: record.write(release)})


def make_pandas(release: Release) -> Any:
    """Make a pandas frame of the columns. Without items, the types are those of items that are text."""
    pandas, columns = import_module("pandas"), make_columns(release)
    if release.items:
        return pandas.DataFrame(columns)
    types = {"item": "str", "secure": "bool"}
    return pandas.DataFrame({name: pandas.Series([], dtype=types.get(name, "int64")) for name in columns})


def read_parquet_record(path: str | os.PathLike[str], *, name: str) -> str:
    """Read the JSON of a record from the metadata of a Parquet file. `name` is the file in errors."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("tables", purpose="a Parquet file") from None
    try:
        found = (parquet.read_schema(path).metadata or {}).get(METADATA.encode())
    except (OSError, ValueError, TypeError):
        raise DataError("{source} must be a Parquet file that can be read", source=name) from None
    if found is None:
        raise DataError("{source} must hold the record of a release", "its metadata has none", source=name)
    return str(found.decode())
