"""The record of a release as JSON, with exact values: written, read, and checked against itself.

The fields are described in docs/release.schema.json. Each record names its schema. Exact numbers are texts ("0.1",
"1/3"), because a JSON number would be rounded. Items that JSON cannot hold are objects with one key, which names their
type.

The mechanism, its parameters and the noisy numbers of a record imply its other fields. A reader states them again. A
record of this version must be what this version writes, to the letter. A record of another version may promise less
than this version would, but never more. Sentences are built again from the numbers. This finds mistakes, such as a
record that was changed in one field. It cannot find forgery: `shortlist verify` compares a record with its ledger.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import DataError, ShortlistError
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts, write_votes
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_exact
from shortlist.safe_text import is_visible
from shortlist.terms import EXTRAS, Terms
from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.release import Release

SCHEMA = "shortlist.release/3"

_SAFE_INTEGER = 2**53
_LONGEST_NUMBER = 10_000
_LONGEST_NAME = 200
_EXACT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+|/[1-9][0-9]*)?")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[+-][0-9]{1,4})?")
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_READERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "decimal": lambda written: _decode_decimal(written),
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "bytes": lambda written: base64.b64decode(written, validate=True),
}
_ABOUT_VOTES = {"sensitivity", "votes_per_person"}
"""Parameters about how much one person adds. They are not parameters of every mechanism."""
_ABOUT_CHOICE = {"chosen", "choice_epsilon", "chosen_epsilon"}
"""Parameters about the choice of `auto`: the chosen mechanism, and the two parts of epsilon."""
_UNKNOWN_BOUND = "the error of the list, as its mechanism defines it, is at most {bound}"
COLUMNS = {"rank", "item", "count", "low", "high", "secure"}
"""The columns that a release has by itself. No label is called like them."""
_COMPARED = ("ordered", "up_to", "counts", "error_bound", "assessment")


def write(release: Release) -> str:
    """Write a release as JSON text. Characters that could steer a terminal are written as escapes of JSON."""
    text = json.dumps(encode(release), indent=2, ensure_ascii=False) + "\n"
    return "".join(each if each == "\n" or is_visible(each) else json.dumps(each)[1:-1] for each in text)


def encode(release: Release) -> dict[str, Any]:
    """Describe a release by values that JSON can hold. Optional fields without a value are left out."""
    guarantee, counts, bound, assessed = release.guarantee, release.counts, release.error_bound, release.assessment
    charge = None if release.charge is None else {"ledger": release.ledger, "number": release.charge}
    optional: dict[str, Any] = {
        "domain_size": release.domain_size,
        "ordered": None if release.ordered else False,
        "up_to": release.up_to,
        "counts": counts and _encode_counts(counts),
        "error_bound": bound and _encode_bound(bound),
        "assessment": assessed
        and {"estimate": assessed.estimate, "margin": assessed.margin, "bound": _encode_bound(assessed.bound)},
        "labels": {name: [encode_item(each) for each in column] for name, column in release.labels.items()} or None,
        "note": release.note,
        "period": release.period,
        "population": release.population,
        "charge": charge,
    }
    return {
        "schema": SCHEMA,
        "id": release.id,
        "made": release.made.isoformat(),
        "items": [encode_item(item) for item in release.items],
        "mechanism": release.mechanism,
        "parameters": encode_parameters(release.parameters),
        "guarantee": {
            "epsilon": write_exact(guarantee.epsilon),
            "delta": write_exact(guarantee.delta),
            "rho": None if guarantee.rho is None else write_exact(guarantee.rho),
            "neighbours": str(guarantee.neighbours),
            "unit": guarantee.unit,
        },
        "persons_counted": release.persons_counted,
        **{name: value for name, value in optional.items() if value is not None},
        "secure": release.secure,
        "version": release.version,
    }


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Describe public parameters by values that JSON can hold."""
    return {name: _encode_parameter(value) for name, value in parameters.items()}


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


def write_item(item: Any) -> Any:
    """Write an item as CSV holds it: numbers stay numbers, bytes become base64, dates and times ISO 8601."""
    if item is None:
        return None
    if isinstance(item, bytes):
        return base64.b64encode(item).decode()
    return item if isinstance(item, str | int | Decimal) and not isinstance(item, bool) else _write_iso(item)


def read(written: str, make: type[Release], *, source: str) -> Release:
    """Read a release from JSON text, and `make` it. `source` names the text in errors.

    A record that contradicts itself is refused.
    """
    try:
        stored = json.loads(written, object_pairs_hook=_read_object, parse_constant=_refuse)
        release = make(**_decode(stored))
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        name = source.strip("'").lower()
        hint = "the record is in the .json file of a release" if name.endswith(".csv") else None
        if name.endswith(".parquet"):
            hint = "Release.from_parquet reads Parquet files"
        elif hint is None and isinstance(error, json.JSONDecodeError):
            hint = "it is no JSON: is the file complete?"
        raise DataError(f"the record must follow the schema {SCHEMA}", f"{source} does not", hint=hint) from None
    problem = _find_contradiction(release)
    try:
        terms = _rebuild_terms(release)
        release = _rebuild_sentences(release, terms)
        problem = problem or _compare_terms(release, terms, stored)
    except (ShortlistError, TypeError, ValueError, ArithmeticError, LookupError):
        problem = problem or "the mechanism cannot have these parameters"
    if problem is not None:
        raise DataError("the record must not contradict itself", f"in {source}, {problem}")
    return release


def _encode_counts(counts: ReleasedCounts) -> dict[str, Any]:
    stored: dict[str, Any] = {"values": list(counts.values)}
    if counts.low is not None and counts.high is not None and counts.confidence is not None:
        stored |= {"low": list(counts.low), "high": list(counts.high), "confidence": write_exact(counts.confidence)}
    return stored


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
            f"not {type(value).__name__}",
            hint="make them text",
        )
    return value.isoformat()


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object of JSON whose names differ. Readers disagree which of two equal names counts."""
    _check(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def _refuse(constant: str) -> None:
    raise ValueError


def _decode(stored: Any) -> dict[str, Any]:
    """Read the fields of a release. A value that no release has is a ValueError. Sentences are left out."""
    _check(stored["schema"] == SCHEMA)
    items, size, up_to = stored["items"], stored.get("domain_size"), stored.get("up_to")
    _check(isinstance(items, list) and isinstance(stored["parameters"], dict))
    _check(all(isinstance(stored.get(name, False), bool) for name in ("secure", "ordered", "persons_counted")))
    _check(all(_is_name(stored[name]) for name in ("mechanism", "version")))
    _check(all(_is_name(stored[name]) for name in ("note", "period", "population") if name in stored))
    _check(all(number is None or (type(number) is int and number >= 1) for number in (size, up_to)))
    _check(size is None or len(items) <= size)
    return {
        **{name: stored[name] for name in ("secure", "persons_counted", "mechanism", "version")},
        **{name: stored.get(name) for name in ("note", "period", "population", "up_to")},
        **_decode_origin(stored),
        "labels": _decode_labels(stored.get("labels", {}), len(items)),
        "items": tuple(_decode_item(item) for item in items),
        "parameters": {name: _decode_parameter(value) for name, value in stored["parameters"].items()},
        "guarantee": _decode_guarantee(stored["guarantee"]),
        "domain_size": size,
        "ordered": stored.get("ordered", True),
        "counts": _decode_counts(stored.get("counts"), len(items)),
        "error_bound": None if "error_bound" not in stored else _decode_bound(stored["error_bound"]),
        "assessment": None if "assessment" not in stored else _decode_assessment(stored["assessment"]),
    }


def _decode_origin(stored: dict[str, Any]) -> dict[str, Any]:
    """Read which release it is, when it was asked for, and which charge paid for it."""
    made, charge = datetime.fromisoformat(stored["made"]), stored.get("charge")
    _check(made.tzinfo == UTC and made.isoformat() == stored["made"] and _is_identifier(stored["id"]))
    origin = {"id": stored["id"], "made": made}
    if charge is None:
        return origin
    number = charge["number"]
    _check(type(number) is int and number >= 1 and _is_identifier(charge["ledger"]))
    return {**origin, "charge": number, "ledger": charge["ledger"]}


def _decode_labels(stored: dict[str, Any], number: int) -> dict[str, tuple[Any, ...]]:
    _check(all(_is_name(name) and name not in COLUMNS for name in stored))
    _check(all(isinstance(column, list) and len(column) == number for column in stored.values()))
    return {name: tuple(map(_decode_value, column)) for name, column in stored.items()}


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


def _decode_bound(stored: Mapping[str, Any]) -> ErrorBound:
    """Read the numbers of a bound. What they say is built again from them."""
    _check(isinstance(stored["statement"], str))
    return ErrorBound(votes=stored["votes"], confidence=_decode_exact(stored["confidence"]), statement="")


def _decode_assessment(stored: Mapping[str, Any]) -> Assessment:
    _check(stored["margin"] is not None)
    return Assessment(estimate=stored["estimate"], margin=stored["margin"], bound=_decode_bound(stored["bound"]))


def _decode_exact(written: Any) -> Fraction:
    """Read an exact number in the form of `write_exact`. It has no exponent, so a short text is a short number."""
    _check(isinstance(written, str) and len(written) <= _LONGEST_NUMBER and _EXACT.fullmatch(written) is not None)
    return Fraction(written)


def _decode_decimal(written: str) -> Decimal:
    _check(len(written) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(written) is not None)
    return Decimal(written)


def _decode_item(stored: Any) -> Any:
    item = _decode_value(stored)
    _check(item is not None)
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
    _check(encode_item(value) == stored)
    return value


def _is_name(stored: Any) -> bool:
    """Whether a value is a short text on one line, such as a name or a version."""
    return isinstance(stored, str) and 0 < len(stored) <= _LONGEST_NAME and stored.isprintable()


def _is_identifier(stored: Any) -> bool:
    return isinstance(stored, str) and _IDENTIFIER.fullmatch(stored) is not None


def _check(right: bool) -> None:
    if not right:
        raise ValueError


def _find_contradiction(release: Release) -> str | None:
    """Find a contradiction that every record could have, whatever its mechanism is."""
    parameters, number = release.parameters, len(release.items)
    k, kind = parameters.get("k"), MECHANISMS.get(release.mechanism)
    # Without a public domain, a mechanism may choose fewer than k items, and so may one that needs none.
    public = release.domain_size is not None and (kind is None or kind.needs_domain)
    least = parameters.get("at_least", k) if public else 0
    if type(k) is int and type(least) is int and not least <= number <= k:
        return "the number of items is not k"
    if len({(type(item), item) for item in release.items}) < number:
        return "an item is named twice"
    if not all(type(value) is int and value >= 1 for value in (parameters.get(name, 1) for name in _ABOUT_VOTES)):
        return "a number of votes is not a whole number from 1"
    return None


def _rebuild_terms(release: Release) -> Terms | None:
    """Build the terms again from the parameters. Return None for a mechanism that this version does not know.

    Parameters that it does not know are refused: what they mean for the guarantee is not known either.
    """
    kind, parameters = MECHANISMS.get(release.mechanism), release.parameters
    if kind is None:
        return None
    known = {field.name for field in fields(kind)}
    given = {name: value for name, value in parameters.items() if name in known}
    _check(parameters.keys() <= known | _ABOUT_VOTES | _ABOUT_CHOICE | EXTRAS)
    sensitivity = parameters.get("sensitivity", 1)
    return Terms.build(
        kind(**{**given, "epsilon": given["epsilon"] / sensitivity}),
        {name: parameters[name] for name in EXTRAS & parameters.keys()},
        sensitivity=sensitivity,
        votes_per_person=parameters.get("votes_per_person"),
        persons_counted=release.persons_counted,
        unit=release.guarantee.unit,
    )


def _rebuild_sentences(release: Release, terms: Terms | None) -> Release:
    """Say what the bounds of a record bound, from their numbers."""

    def complete(bound: ErrorBound) -> ErrorBound:
        unknown = _UNKNOWN_BOUND.format(bound=write_votes(bound.votes))
        words = unknown if terms is None else terms.write_bound(bound.votes, release.parameters.get("chosen"))
        return replace(bound, statement=words)

    bound, assessed = release.error_bound, release.assessment
    return replace(
        release,
        error_bound=None if bound is None else complete(bound),
        assessment=None if assessed is None else replace(assessed, bound=complete(assessed.bound)),
    )


def _compare_terms(release: Release, terms: Terms | None, stored: dict[str, Any]) -> str | None:
    if terms is None:
        return _compare_numbers(release.parameters, release.guarantee)
    return _compare(release, _state_again(release, terms)) or _compare_letters(release, stored)


def _compare_numbers(parameters: Mapping[str, Any], guarantee: Guarantee) -> str | None:
    """Compare the guarantee of a mechanism that this version does not know with its parameters."""
    if parameters.get("neighbours", guarantee.neighbours) != guarantee.neighbours:
        return "neighbours differs between parameters and guarantee"
    # A mechanism may need no delta with the parameters that it has. Counts and an assessment add to both numbers.
    delta = guarantee.delta - parameters.get("counts_delta", 0)
    if delta not in (0, parameters.get("delta", delta)):
        return "delta differs between parameters and guarantee"
    more = guarantee.epsilon - parameters.get("epsilon", guarantee.epsilon)
    if more < 0 or (more and not EXTRAS & parameters.keys()):
        return "epsilon differs between parameters and guarantee"
    return None


def _state_again(release: Release, terms: Terms) -> dict[str, Any]:
    """State all fields that follow from the parameters and the noisy numbers of a record."""
    values = [0] * len(release.items) if release.counts is None else release.counts.values
    drawn: dict[str, Any] = {
        "d": release.domain_size,
        "noisy": np.array(values, dtype=np.int64),
        "chosen": release.parameters.get("chosen"),
    }
    assessed = release.assessment
    implied = terms.state(**drawn, spread=0 if assessed is None else assessed.estimate)
    again = implied["assessment"]
    if again is not None and assessed is not None and assessed.estimate == 0:
        # An estimate of 0 stands for any spread up to 0. The bound tells which.
        spread = min(0, assessed.bound.votes - again.bound.votes)
        implied["assessment"] = terms.state(**drawn, spread=spread)["assessment"]
    return implied


def _compare(release: Release, implied: Mapping[str, Any]) -> str | None:
    """Compare what a record states with what its parameters imply."""
    ours, parameters, guarantee = implied["guarantee"], implied["parameters"], release.guarantee
    if guarantee.neighbours != ours.neighbours:
        return "neighbours differs between parameters and guarantee"
    if guarantee.epsilon != ours.epsilon:
        return "epsilon differs between parameters and guarantee"
    stronger_rho = guarantee.rho is not None and (ours.rho is None or guarantee.rho < ours.rho)
    if guarantee.delta < ours.delta or stronger_rho:
        return "the guarantee promises more than the mechanism"
    missing = parameters.keys() - release.parameters.keys()
    if missing & _ABOUT_CHOICE or any(value != parameters.get(name) for name, value in release.parameters.items()):
        return "the parameters differ from those that the mechanism states"
    # Another version may prove something else, but what is stated at all is the same.
    current = release.version == __version__
    if current and guarantee != ours:
        return "the guarantee differs from what the parameters imply"
    for name in _COMPARED:
        stated = getattr(release, name)
        if stated != implied[name] if current else type(stated) is not type(implied[name]):
            return f"{name} differs from what the parameters imply"
    return None


def _compare_letters(release: Release, stored: dict[str, Any]) -> str | None:
    """Find a field of a record of this version that this version would write otherwise, or not at all."""
    if release.version != __version__:
        return None
    again = encode(release)
    for name in {**again, **stored}:
        if _sort(again.get(name)) != _sort(stored.get(name)):
            return f"{name} differs from what is written" if name in again else "a field is not known"
    return None


def _sort(value: Any) -> str:
    """Write a value of JSON so that equal values of equal types give equal texts."""
    return json.dumps(value, sort_keys=True)
