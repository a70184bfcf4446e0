"""The JSON form of a release, with every value kept exactly.

The schema is named in the file and may only grow: a reader of version 1 understands every file of version 1. Numbers
of the guarantee are texts ("0.1", "1/3"), since a float would not be what was promised. Items that JSON cannot hold
are objects with one key that names their type.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_exact

if TYPE_CHECKING:
    from shortlist.release import Release

SCHEMA = "shortlist.release/1"

_SAFE_INTEGER = 2**53
_READERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": Decimal,
    "rational": Fraction,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "bytes": lambda written: base64.b64decode(written, validate=True),
}


def dumps(release: Release) -> str:
    """Write a release as JSON text."""
    guarantee = release.guarantee
    fields = {
        "schema": SCHEMA,
        "items": [_encode(item) for item in release.items],
        "mechanism": release.mechanism,
        "parameters": {name: _encode(value) for name, value in release.parameters.items()},
        "guarantee": {
            "epsilon": write_exact(guarantee.epsilon),
            "delta": write_exact(guarantee.delta),
            "rho": None if guarantee.rho is None else write_exact(guarantee.rho),
            "neighbours": str(guarantee.neighbours),
            "unit": guarantee.unit,
        },
        "d": release.d,
        "secure": release.secure,
        "version": release.version,
    }
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def load(path: Path) -> dict[str, Any]:
    """Read the fields of a release from a JSON file."""
    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"the record {str(path)!r} could not be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        raise DataError(f"the record must follow the schema {SCHEMA}; {str(path)!r} does not.") from None


def loads(written: str) -> dict[str, Any]:
    """Read the fields of a release from JSON text; a value that no release has is a ValueError."""
    stored = json.loads(written)
    items, guarantee = stored["items"], stored["guarantee"]
    _check(stored["schema"] == SCHEMA and isinstance(items, list) and isinstance(stored["parameters"], dict))
    _check(isinstance(stored["secure"], bool) and isinstance(stored["mechanism"], str))
    _check(type(stored["d"]) is int and 1 <= len(items) <= stored["d"] and isinstance(stored["version"], str))
    return {
        "items": tuple(_item(item) for item in items),
        "mechanism": stored["mechanism"],
        "parameters": {name: _decode(value) for name, value in stored["parameters"].items()},
        "guarantee": _guarantee(guarantee),
        "d": stored["d"],
        "secure": stored["secure"],
        "version": stored["version"],
    }


def _guarantee(stored: dict[str, Any]) -> Guarantee:
    epsilon, delta = _rational(stored["epsilon"]), _rational(stored["delta"])
    rho = None if stored["rho"] is None else _rational(stored["rho"])
    _check(epsilon > 0 and 0 <= delta < 1 and (rho is None or rho > 0))
    neighbours = Neighbours(stored["neighbours"])
    return Guarantee(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours, unit=stored["unit"])


def _rational(written: Any) -> Fraction:
    # A JSON number would have been rounded on its way.
    _check(isinstance(written, str))
    return Fraction(written)


def _item(stored: Any) -> Any:
    item = _decode(stored)
    _check(item is not None and not isinstance(item, Fraction))
    return item


def _check(right: bool) -> None:
    if not right:
        raise ValueError


def text(item: Any) -> Any:
    """An item as CSV holds it: numbers stay numbers, bytes become base64, times ISO 8601."""
    if isinstance(item, bytes):
        return base64.b64encode(item).decode()
    return item if isinstance(item, str | int | Decimal) and not isinstance(item, bool) else _iso(item)


def _encode(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        # Many readers of JSON keep numbers as floats.
        return value if abs(value) <= _SAFE_INTEGER else {"integer": str(value)}
    if isinstance(value, Fraction):
        return {"rational": write_exact(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return {"timestamp" if isinstance(value, datetime) else "date": _iso(value)}


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        _check(value is None or isinstance(value, str | int))
        return value
    ((kind, written),) = value.items()
    _check(isinstance(written, str))
    decoded = _READERS[kind](written)
    _check(not isinstance(decoded, Decimal) or decoded.is_finite())
    return decoded


def _iso(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, date):
        raise DataError(f"an item of type {type(value).__name__} has no place in a record.")
    return value.isoformat()
