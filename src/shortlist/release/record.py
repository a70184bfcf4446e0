"""The record of a release as JSON, with exact values.

The fields are described in docs/release.schema.json. Each record names its schema. A reader of a version understands
every record of that version. Later releases of this library may add optional fields. A reader ignores unknown fields.
Exact numbers are texts ("0.1", "1/3"), because a JSON number would be rounded. Items that JSON cannot hold are objects
with one key, which names their type.

Version 1 called the size of the domain `d`, and wrote exact numbers in `parameters` as {"rational": "0.1"}.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_exact
from shortlist.safe_text import is_visible

if TYPE_CHECKING:
    from shortlist.release.release import Release

SCHEMA = "shortlist.release/2"
_FIRST_SCHEMA = "shortlist.release/1"

_SAFE_INTEGER = 2**53
_LONGEST_NUMBER = 10_000
_LONGEST_NAME = 200
_EXACT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+|/[1-9][0-9]*)?")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[+-][0-9]{1,4})?")
_READERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": lambda written: _decode_decimal(written),
    "rational": lambda written: _decode_exact(written),
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "bytes": lambda written: base64.b64decode(written, validate=True),
}


def encode(release: Release) -> dict[str, Any]:
    """Describe a release by values that JSON can hold. Optional fields without a value are left out."""
    guarantee, counts, bound = release.guarantee, release.counts, release.error_bound
    optional: dict[str, Any] = {
        "domain_size": release.d,
        "unordered": True if release.unordered else None,
        "up_to": release.up_to,
        "counts": counts and _encode_counts(counts),
        "error_bound": bound and _encode_bound(bound),
        "population": release.population,
        "assessment": release.assessment and _encode_assessment(release.assessment),
    }
    return {
        "schema": SCHEMA,
        "items": [encode_item(item) for item in release.items],
        "mechanism": release.mechanism,
        "parameters": {name: _encode_parameter(value) for name, value in release.parameters.items()},
        "guarantee": {
            "epsilon": write_exact(guarantee.epsilon),
            "delta": write_exact(guarantee.delta),
            "rho": None if guarantee.rho is None else write_exact(guarantee.rho),
            "neighbours": str(guarantee.neighbours),
            "unit": guarantee.unit,
        },
        **{name: value for name, value in optional.items() if value is not None},
        "secure": release.secure,
        "version": release.version,
    }


def _encode_counts(counts: ReleasedCounts) -> dict[str, Any]:
    stored: dict[str, Any] = {"values": list(counts.values)}
    if counts.low is not None and counts.high is not None and counts.confidence is not None:
        stored |= {"low": list(counts.low), "high": list(counts.high), "confidence": write_exact(counts.confidence)}
    return stored


def _encode_assessment(assessment: Assessment) -> dict[str, Any]:
    margin = {} if assessment.margin is None else {"margin": assessment.margin}
    return {"estimate": assessment.estimate, **margin, "bound": _encode_bound(assessment.bound)}


def write(release: Release) -> str:
    """Write a release as JSON text. Characters that could steer a terminal are written as escapes of JSON."""
    text = json.dumps(encode(release), indent=2, ensure_ascii=False) + "\n"
    return "".join(each if each == "\n" or is_visible(each) else json.dumps(each)[1:-1] for each in text)


def read(written: str, *, source: str) -> dict[str, Any]:
    """Read the fields of a release from JSON text. `source` names the text in errors."""
    try:
        return _decode(json.loads(written))
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        parquet = source.strip("'").lower().endswith(".parquet")
        raise DataError(
            "the record must follow the schema {schema}",
            "{source} does not",
            hint="Release.from_parquet reads Parquet files" if parquet else None,
            schema=SCHEMA,
            source=source,
        ) from None


def write_item(item: Any) -> Any:
    """Write an item as CSV holds it: numbers stay numbers, bytes become base64, dates and times ISO 8601."""
    if isinstance(item, bytes):
        return base64.b64encode(item).decode()
    return item if isinstance(item, str | int | Decimal) and not isinstance(item, bool) else _write_iso(item)


def encode_item(value: Any) -> Any:
    """Describe an item by a value that JSON can hold, with its type."""
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        # Many readers of JSON hold numbers as floats.
        return value if abs(value) <= _SAFE_INTEGER else {"integer": str(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    type_name = "timestamp" if isinstance(value, datetime) else "time" if isinstance(value, time) else "date"
    return {type_name: _write_iso(value)}


def _encode_bound(bound: ErrorBound) -> dict[str, Any]:
    return {"votes": bound.votes, "confidence": write_exact(bound.confidence), "statement": bound.statement}


def _encode_parameter(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_encode_parameter(each) for each in value]
    return write_exact(value) if isinstance(value, Fraction) else encode_item(value)


def _write_iso(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, date | time):
        raise DataError(
            "items must be text, whole numbers, booleans, dates, times, decimals or bytes",
            "not {type}",
            hint="make them text",
            type=type(value).__name__,
        )
    return value.isoformat()


def _decode(stored: dict[str, Any]) -> dict[str, Any]:
    """Read the fields. A value that no release has is a ValueError."""
    first = stored["schema"] == _FIRST_SCHEMA
    _check(first or stored["schema"] == SCHEMA)
    items, size = stored["items"], stored["d"] if first else stored.get("domain_size")
    _check(isinstance(items, list) and isinstance(stored["parameters"], dict))
    _check(isinstance(stored["secure"], bool) and isinstance(stored.get("unordered", False), bool))
    _check(_is_name(stored["mechanism"]) and _is_name(stored["version"]))
    _check(size is None or (type(size) is int and len(items) <= size))
    population, up_to = stored.get("population"), stored.get("up_to")
    _check(up_to is None or (type(up_to) is int and up_to >= 1))
    _check(population is None or _is_name(population))
    return {
        "items": tuple(_decode_item(item) for item in items),
        "mechanism": stored["mechanism"],
        "parameters": {name: _decode_parameter(value) for name, value in stored["parameters"].items()},
        "guarantee": _decode_guarantee(stored["guarantee"]),
        "d": size,
        "secure": stored["secure"],
        "version": stored["version"],
        "unordered": stored.get("unordered", False),
        "up_to": up_to,
        "counts": _decode_counts(stored.get("counts"), len(items)),
        "error_bound": _decode_bound(stored.get("error_bound")),
        "population": population,
        "assessment": _decode_assessment(stored.get("assessment")),
    }


def _decode_guarantee(stored: dict[str, Any]) -> Guarantee:
    epsilon, delta = _decode_exact(stored["epsilon"]), _decode_exact(stored["delta"])
    rho = None if stored["rho"] is None else _decode_exact(stored["rho"])
    _check(epsilon > 0 and 0 <= delta < 1 and (rho is None or rho > 0))
    return Guarantee(epsilon=epsilon, delta=delta, rho=rho, neighbours=stored["neighbours"], unit=stored["unit"])


def _decode_counts(stored: Mapping[str, Any] | None, number: int) -> ReleasedCounts | None:
    if stored is None:
        return None
    bare = "confidence" not in stored
    columns = [stored["values"]] if bare else [stored[name] for name in ("values", "low", "high")]
    _check(all(isinstance(column, list) and len(column) == number for column in columns))
    _check(all(type(value) is int for column in columns for value in column))
    if bare:
        return ReleasedCounts(values=tuple(stored["values"]))
    values, low, high = map(tuple, columns)
    _check(all(least <= most for least, most in zip(low, high, strict=True)))
    return ReleasedCounts(values=values, low=low, high=high, confidence=_decode_exact(stored["confidence"]))


def _decode_bound(stored: Mapping[str, Any] | None) -> ErrorBound | None:
    return None if stored is None else _read_bound(stored)


def _read_bound(stored: Mapping[str, Any]) -> ErrorBound:
    confidence = _decode_exact(stored["confidence"])
    return ErrorBound(votes=stored["votes"], confidence=confidence, statement=stored["statement"])


def _decode_assessment(stored: Mapping[str, Any] | None) -> Assessment | None:
    if stored is None:
        return None
    bound = _read_bound(stored["bound"])
    return Assessment(estimate=stored["estimate"], margin=stored.get("margin"), bound=bound)


def _decode_exact(written: Any) -> Fraction:
    """Read an exact number in the form of `write_exact`. It has no exponent, so a short text is a short number."""
    _check(isinstance(written, str) and len(written) <= _LONGEST_NUMBER and _EXACT.fullmatch(written) is not None)
    return Fraction(written)


def _decode_decimal(written: str) -> Decimal:
    _check(len(written) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(written) is not None)
    return Decimal(written)


def _decode_item(stored: Any) -> Any:
    item = _decode_value(stored)
    _check(item is not None and not isinstance(item, Fraction))
    return item


def _decode_parameter(stored: Any) -> Any:
    if isinstance(stored, list):
        return tuple(_decode_parameter(each) for each in stored)
    if isinstance(stored, str) and _EXACT.fullmatch(stored):
        return _decode_exact(stored)
    _check(not isinstance(stored, str) or stored.isprintable())
    return _decode_value(stored)


def _decode_value(stored: Any) -> Any:
    if not isinstance(stored, dict):
        _check(stored is None or isinstance(stored, str | int))
        return stored
    ((type_name, written),) = stored.items()
    _check(isinstance(written, str))
    value = _READERS[type_name](written)
    # Only the form that this library writes is read. Other forms of the same value are refused.
    _check(isinstance(value, Fraction) or encode_item(value) == stored)
    return value


def _is_name(stored: Any) -> bool:
    """Whether a value is a short text on one line, such as a name or a version."""
    return isinstance(stored, str) and 0 < len(stored) <= _LONGEST_NAME and stored.isprintable()


def _check(right: bool) -> None:
    if not right:
        raise ValueError
