"""The types that items may have, told from Arrow types, which every engine can name.

Floats are not items of a domain: equal-looking floats differ. A column of votes may hold floats, because a gap turns a
pandas column of whole numbers into floats.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from shortlist.votes.libraries import import_optional


class Family(StrEnum):
    """Values that are compared with each other."""

    TEXT = "text"
    INTEGER = "whole numbers"
    DECIMAL = "decimals"
    FLOAT = "floats"
    BOOLEAN = "booleans"
    DATE = "dates"
    TIME = "times of day"
    NAIVE = "timestamps"
    AWARE = "timestamps with time zone"
    BYTES = "bytes"
    OTHER = "values of another type"


def find_family(arrow_type: Any) -> Family:
    """Tell the family of an Arrow type; a dictionary has the family of its values.

    >>> import pyarrow as pa
    >>> str(find_family(pa.int8())), str(find_family(pa.timestamp("s", "UTC"))), str(find_family(pa.list_(pa.int8())))
    ('whole numbers', 'timestamps with time zone', 'values of another type')
    """
    types = import_optional("pyarrow").types
    if types.is_dictionary(arrow_type):
        return find_family(arrow_type.value_type)
    if types.is_timestamp(arrow_type):
        return Family.NAIVE if arrow_type.tz is None else Family.AWARE
    checks = {
        Family.TEXT: (types.is_string, types.is_large_string, types.is_string_view),
        Family.INTEGER: (types.is_integer,),
        Family.DECIMAL: (types.is_decimal32, types.is_decimal64, types.is_decimal128),
        Family.FLOAT: (types.is_floating,),
        Family.BOOLEAN: (types.is_boolean,),
        Family.DATE: (types.is_date,),
        Family.TIME: (types.is_time,),
        Family.BYTES: (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
    }
    return next((family for family, tests in checks.items() if any(test(arrow_type) for test in tests)), Family.OTHER)


def choose_exact_type(arrow_type: Any) -> Any:
    """The Arrow type that all engines hold without loss: dictionaries as their values, instants as times in UTC.

    DuckDB keeps instants, times of day and durations to the microsecond only, and other timestamps to the nanosecond.
    """
    pa = import_optional("pyarrow")
    types = pa.types
    if types.is_dictionary(arrow_type):
        return choose_exact_type(arrow_type.value_type)
    if types.is_timestamp(arrow_type):
        return pa.timestamp(arrow_type.unit)
    if types.is_decimal32(arrow_type) or types.is_decimal64(arrow_type):
        return pa.decimal128(arrow_type.precision, arrow_type.scale)
    if types.is_duration(arrow_type):
        return pa.int64()
    if types.is_time64(arrow_type):
        return pa.time64("us")
    if types.is_fixed_size_binary(arrow_type) or types.is_binary_view(arrow_type):
        return pa.large_binary()
    if types.is_string_view(arrow_type):
        return pa.large_string()
    if types.is_float16(arrow_type):
        return pa.float32()
    if types.is_date(arrow_type):
        return pa.date32()
    return arrow_type


def is_plain(arrow_type: Any) -> bool:
    """Whether the values of an Arrow type can be persons that every engine compares and hashes alike."""
    types, exact = import_optional("pyarrow").types, choose_exact_type(arrow_type)
    return not (types.is_nested(exact) or types.is_interval(exact) or types.is_decimal256(exact))
