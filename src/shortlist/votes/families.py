"""Which types an item may have, and when two columns hold the same kind of items.

Floats are not items: equal-looking ones differ, and a missing value turns a column of whole numbers into floats. A
CSV or JSON file has no types, so its items are read with the type of the other side: those of the votes with the
domain's type, or those of the domain with the votes'. If neither side has types, items are text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shortlist.errors import DataError

TEXT, INTEGER, BOOLEAN, DATE, DECIMAL, BYTES = "text", "whole numbers", "booleans", "dates", "decimals", "bytes"
NAIVE, AWARE = "timestamps", "timestamps with time zone"
EMPTY = "nothing"

_TIME = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?"
_PATTERNS = {
    INTEGER: r"[+-]?[0-9]+",
    BOOLEAN: r"(?i)true|false",
    DATE: r"\d{4}-\d{2}-\d{2}",
    NAIVE: _TIME,
    AWARE: _TIME + r"(Z|[+-]\d{2}(:?\d{2})?)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A family of items that can be compared, and the DuckDB type that holds those of one column."""

    family: str
    storage: str

    def joined(self, other: Kind) -> Kind:
        """The kind that holds the items of both columns."""
        if EMPTY in (self.family, other.family):
            return other if self.family == EMPTY else self
        widest = max(self, other, key=lambda kind: _WIDTHS.get(kind.storage, 0))
        return widest if self.family != DECIMAL else Kind(family=DECIMAL, storage=max(self.storage, other.storage))


_WIDTHS = {"BIGINT": 1, "HUGEINT": 2, "TIMESTAMP": 1, "TIMESTAMP_NS": 2}


def kind_of(dtype: Any, *, what: str) -> Kind:
    """Tell the kind of items from a narwhals type.

    >>> import narwhals.stable.v2 as nw
    >>> kind_of(nw.Int32(), what="column 'track'")
    Kind(family='whole numbers', storage='BIGINT')
    """
    import narwhals.stable.v2 as nw

    if dtype.is_integer():
        narrow = dtype not in (nw.UInt64, nw.Int128, nw.UInt128)
        return Kind(family=INTEGER, storage="BIGINT" if narrow else "HUGEINT")
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            return Kind(family=AWARE, storage="TIMESTAMPTZ")
        return Kind(family=NAIVE, storage="TIMESTAMP_NS" if dtype.time_unit == "ns" else "TIMESTAMP")
    if isinstance(dtype, nw.Decimal):
        scale = getattr(dtype, "scale", None)
        if scale == 0:
            return Kind(family=INTEGER, storage="HUGEINT")
        return Kind(family=DECIMAL, storage=f"DECIMAL(38, {9 if scale is None else scale:02})")
    for types, family, storage in (
        ((nw.String, nw.Categorical, nw.Enum), TEXT, "VARCHAR"),
        ((nw.Boolean,), BOOLEAN, "BOOLEAN"),
        ((nw.Date,), DATE, "DATE"),
        ((nw.Binary,), BYTES, "BLOB"),
    ):
        if isinstance(dtype, types):
            return Kind(family=family, storage=storage)
    # In full, a type may list categories or fields, which are values.
    found = type(dtype).__name__
    raise DataError(
        f"{what} must hold text, whole numbers, booleans, dates, timestamps, decimals or bytes, not {found}.",
        hint="cast it to text or to whole numbers; in pandas, a column of whole numbers with gaps is 'Int64'",
    )


def check_same(votes: Kind, domain: Kind, *, column: str) -> Kind:
    """Refuse to look for numbers in text: every item would have no votes. Return the kind of both."""
    if votes.family != domain.family and EMPTY not in (votes.family, domain.family):
        raise DataError(
            "votes and domain must hold items of one type: "
            f"column {column!r} of the votes holds {votes.family}, the domain holds {domain.family}.",
            hint="cast one of them to the type of the other",
        )
    return votes.joined(domain)


def parsed(column: str, kind: Kind) -> str | None:
    """The SQL that reads text as items of a kind, NULL where it is none; None if text cannot be read so.

    >>> parsed('"id"', Kind(family=INTEGER, storage="BIGINT"))
    'CASE WHEN regexp_full_match("id", \\'[+-]?[0-9]+\\') THEN TRY_CAST("id" AS BIGINT) END'
    """
    # A bare cast would round '7.5' to 8 and read a timestamp as its date.
    pattern = _decimal_pattern(kind) if kind.family == DECIMAL else _PATTERNS.get(kind.family)
    if pattern is None:
        return None
    return f"CASE WHEN regexp_full_match({column}, '{pattern}') THEN TRY_CAST({column} AS {kind.storage}) END"


def _decimal_pattern(kind: Kind) -> str:
    scale = int(kind.storage.rpartition(",")[2].rstrip(")"))
    return rf"[+-]?[0-9]+(\.[0-9]{{0,{scale}}}0*)?"
