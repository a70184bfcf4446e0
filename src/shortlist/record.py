"""The record of a release or a family as JSON, with exact values: written, read, and checked against itself.

The fields are described in docs/release.schema.json and docs/family.schema.json. Each record names its schema. Exact
numbers are texts ("0.1", "1/3"), because a JSON number would be rounded. Items that JSON cannot hold are objects with
one key, which names their type.

A record is read by making the release that it describes, and by writing that release again. What is not written again
as it stood is refused. The mechanism, its parameters and the noisy numbers of a record imply its other fields. A reader
states them again. A record of this version must be what this version writes, to the letter. A record of another version
may promise less than this version would, but never more. Sentences are built again from the numbers. This finds
mistakes, such as a record that was changed in one field. It cannot find forgery: `shortlist verify` compares a record
with its ledger.
"""

from __future__ import annotations

import base64
import hashlib
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import DataError, ShortlistError
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, NoisyPeople, ReleasedCounts
from shortlist.periods import Period, Span, is_of_period
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import write_count, write_exact
from shortlist.safe_text import is_line, is_visible, is_words
from shortlist.terms import AUTO_CAP, EXTRAS, SET_BY_CAP, Terms
from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.release import GroupList, Publication, Release

SCHEMA = "shortlist.release/3"
FAMILY = "shortlist.family/1"
COLUMNS = dict.fromkeys(("rank", "count", "low", "high"), "int64") | {"item": "str", "secure": "bool"}
"""The columns that a release has by itself, and their types. No label is called like them."""
FAMILY_COLUMNS = COLUMNS | dict.fromkeys(("people", "people_low", "people_high"), "int64") | {"remark": "str"}
"""The columns that a family has by itself. No label and no column of groups is called like them."""

_SAFE_INTEGER = 2**53
"""Many readers of JSON hold numbers as floats, which are exact up to here."""
_LONGEST_NUMBER = 10_000
_LARGEST_COUNT = 2**63 - 1
"""The columns of counts in tables have 64 bits."""
_EXACT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+|/[1-9][0-9]*)?")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?(E[+-][0-9]{1,4})?")
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]{0,39}")
_ABOUT_CHOICE = {"chosen", "choice_epsilon", "chosen_epsilon"}
"""Parameters about the choice of `auto`: the chosen mechanism, and the two parts of epsilon."""
_HINTS = {
    ".csv": "the record is in the .json file of a release",
    ".parquet": "Release.from_parquet reads Parquet files",
}
"""What to read in place of other files of a release."""
_UNKNOWN_BOUND = "the error of the list, as its mechanism defines it, is at most {bound}"


def write(release: Publication) -> str:
    """Write a record as JSON text. Characters that could steer a terminal are written as escapes of JSON."""
    text = json.dumps(encode(release), indent=2, ensure_ascii=False) + "\n"
    return "".join(each if each == "\n" or is_visible(each) else json.dumps(each)[1:-1] for each in text)


def compute_hash(release: Publication) -> str:
    """Compute the SHA-256 of a record, as `sha256sum` does of the file."""
    return hashlib.sha256(write(release).encode()).hexdigest()


def encode(release: Publication) -> dict[str, Any]:
    """Describe a release or a family by values that JSON can hold. Optional fields without a value are left out."""
    written = {"schema": FAMILY if release.by else SCHEMA, **_encode_fields(release)}
    ledger = written.pop("ledger", None)
    if release.charge is not None:
        written["charge"] = {"ledger": ledger, "number": release.charge}
    if release.ordered:
        del written["ordered"]
    return written


def _encode_fields(value: Any) -> dict[str, Any]:
    """Describe a value by its fields. Those without a value are left out."""
    given = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
    if "group" in given:  # a record says first which group it is
        given = {"group": None, **given}
    written = {name: _ENCODERS.get(name, _encode_field)(each) for name, each in given.items()}
    return {name: each for name, each in written.items() if each is not None}


def _encode_field(value: Any) -> Any:
    if is_dataclass(value):
        return _encode_fields(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, str) else write_exact(value) if isinstance(value, Fraction) else value


def _encode_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Describe a guarantee. It always says whether it has a rho, and has a `rho_delta` only if that is above 0."""
    described = {"epsilon": None, "delta": None, "rho": None, **_encode_fields(guarantee)}
    return {name: each for name, each in described.items() if name != "rho_delta" or guarantee.rho_delta}


def encode_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Describe public parameters by values that JSON can hold.

    >>> encode_parameters({"k": 3, "epsilon": Fraction(1, 3), "sizes": (2, 2**60)})
    {'k': 3, 'epsilon': '1/3', 'sizes': [2, {'integer': '1152921504606846976'}]}
    """
    return {name: _encode(value) for name, value in parameters.items()}


def _encode(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_encode(each) for each in value]
    return write_exact(value) if isinstance(value, Fraction) else encode_item(value)


def _encode_items(items: Iterable[Any]) -> list[Any]:
    return [encode_item(item) for item in items]


def encode_item(value: Any) -> Any:
    """Describe an item by a value that JSON can hold, with its type."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) <= _SAFE_INTEGER):
        return value
    for name, (kind, write_scalar, _) in _SCALARS.items():
        if isinstance(value, kind):
            return {name: write_scalar(value)}
    raise DataError(
        "items must be text, whole numbers, booleans, dates, times, decimals or bytes",
        f"not {type(value).__name__}",
        hint="make them text",
    )


def check_items(items: Iterable[Any]) -> None:
    """Refuse items that a record cannot hold as they are, before a release of them is paid."""
    for item in items:
        stored, same = encode_item(item), False
        with suppress(ValueError, ArithmeticError):
            same = item is not None and bool(_decode_item(stored) == item)
        if not same:
            raise DataError(
                "items must be values that a record can hold",
                f"it cannot hold one of the type {type(item).__name__}",
                hint="make them text",
            )


def _decode_item(stored: Any) -> Any:
    """Read an item. Other forms of the same value are refused later, because they are not what is written."""
    if not isinstance(stored, dict):
        _check(not isinstance(stored, list))
        return stored
    ((name, written),) = stored.items()
    return _SCALARS[name][2](written)


def _decode_decimal(written: str) -> Decimal:
    _check(len(written) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(written) is not None)
    return Decimal(written)


_SCALARS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "integer": (int, str, int),
    "decimal": (Decimal, str, _decode_decimal),
    "timestamp": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
}
"""Items that JSON cannot hold: their type, how they are written, and how they are read. A datetime is a date, too."""
_ENCODERS: dict[str, Callable[[Any], Any]] = {
    "group": _encode_items,
    "items": _encode_items,
    "labels": lambda labels: {name: _encode_items(column) for name, column in labels.items()} or None,
    "parameters": encode_parameters,
    "guarantee": _encode_guarantee,
    "lists": lambda lists: [_encode_fields(each) for each in lists],
}
"""How a field is written that holds items, parameters or other values."""


def read(written: str, kinds: Mapping[str, type[Publication]], *, source: str) -> Any:
    """Read JSON text, and make what it describes: one of some kinds, by their schemas. `source` names it in errors.

    A record that contradicts itself is refused.
    """
    try:
        stored = json.loads(written, object_pairs_hook=_read_object, parse_constant=lambda constant: _check(False))
        release = _decode(stored, kinds[stored["schema"]])
        _check(_has_right_values(release) and all(map(_has_right_list, release.lists)))
        again = encode(release)
        _check(_includes(stored, again))
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        hint = _HINTS.get(PurePath(source.strip("'")).suffix.lower())
        if hint is None and isinstance(error, json.JSONDecodeError):
            hint = "it is no JSON: is the file complete?"
        expected = f"the record must follow the schema {' or '.join(kinds)}"
        raise DataError(expected, f"{source} does not", hint=hint) from None
    problems = (_find_problem(release), *(_find_contradiction(release, each) for each in release.lists))
    problem = next(filter(None, problems), None)
    if release.version == __version__ and not _includes(again, stored):
        problem = problem or "a field is not known"
    try:
        terms = _rebuild_terms(release)
        problem = problem or (_compare_numbers(release) if terms is None else _compare_terms(release, terms))
        release = _rebuild_sentences(release, terms)
    except (ShortlistError, TypeError, ValueError, ArithmeticError, LookupError):
        problem = problem or "the mechanism cannot have these parameters"
    if problem is not None:
        raise DataError("the record must not contradict itself", f"in {source}, {problem}")
    return release


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Read an object of JSON whose names differ. Readers disagree which of two equal names counts."""
    _check(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def _check(right: bool) -> None:
    if not right:
        raise ValueError


def _includes(whole: Any, part: Any) -> bool:
    """Whether one value of JSON has all that another has, to the letter. It may have further fields."""
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(name in whole and _includes(whole[name], value) for name, value in part.items())
    if isinstance(whole, list) and isinstance(part, list):
        return len(whole) == len(part) and all(map(_includes, whole, part))
    return json.dumps(whole, sort_keys=True) == json.dumps(part, sort_keys=True)


def _decode(stored: dict[str, Any], kind: Any) -> Publication:
    """Read a release or a family."""
    given = {**stored, "ledger": None}
    if "charge" in stored:
        given |= {"charge": stored["charge"]["number"], "ledger": stored["charge"]["ledger"]}
    if hasattr(kind, "one_list"):
        given["lists"] = [_make(kind.one_list, each) for each in stored["lists"]]
    release: Publication = _make(kind, given)
    return release


def _make(kind: Any, stored: Mapping[str, Any]) -> Any:
    """Make a value from the fields that this version knows. Its class refuses wrong values."""
    found = {"domain_size": None, **stored}
    names = [each.name for each in fields(kind) if each.name in found]
    return kind(**{name: _DECODERS[name](found[name]) if name in _DECODERS else found[name] for name in names})


def _decode_items(stored: Any) -> tuple[Any, ...]:
    return tuple(map(_decode_item, stored))


def _decode_parameter(stored: Any) -> Any:
    if isinstance(stored, list):
        return tuple(map(_decode_parameter, stored))
    if not isinstance(stored, str):
        return _decode_item(stored)
    _check(stored.isprintable())
    if _EXACT.fullmatch(stored) is None:
        return stored
    # The form has no exponent, so a short text is a short number. Another form of a number is a text.
    _check(len(stored) <= _LONGEST_NUMBER)
    number = Fraction(stored)
    return number if write_exact(number) == stored else stored


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "by": tuple,
    "group": _decode_items,
    "items": _decode_items,
    "labels": lambda stored: {name: _decode_items(column) for name, column in stored.items()},
    "parameters": lambda stored: {name: _decode_parameter(value) for name, value in stored.items()},
    "guarantee": partial(_make, Guarantee),
    "counts": partial(_make, ReleasedCounts),
    "noisy_people": partial(_make, NoisyPeople),
    "error_bound": partial(_make, ErrorBound),
    "assessment": partial(_make, Assessment),
    "bound": partial(_make, ErrorBound),
    "span": partial(_make, Span),
    "since": date.fromisoformat,
    "until": date.fromisoformat,
    "made": datetime.fromisoformat,
}
"""How a field is read that is not written as it is."""


def _has_right_values(release: Publication) -> bool:
    """Whether all values are such as a release has, where writing them again does not tell."""
    guarantee, columns = release.guarantee, (*release.by, *release.lists[0].labels)
    texts = (release.note, release.period, release.population)
    flags = (release.secure, release.persons_counted, release.ordered)
    numbers = (release.up_to, release.charge)
    identifiers = (release.id, "0" * 32 if release.ledger is None else release.ledger)
    return (
        guarantee.epsilon > 0
        and guarantee.delta < 1
        and (guarantee.rho is None or guarantee.rho > 0)
        and release.made.tzinfo == UTC
        and is_words(release.mechanism)
        and _VERSION.fullmatch(release.version) is not None
        and all(map(is_line, columns))
        and all(text is None or is_line(text) for text in texts)
        and release.own_columns.keys().isdisjoint(columns)
        and len(set(columns)) == len(columns)
        and all(list(each.labels) == list(release.lists[0].labels) for each in release.lists)
        and all(len(each.group) == len(release.by) for each in release.lists)
        and all(isinstance(flag, bool) for flag in flags)
        and all(number is None or (type(number) is int and number >= 1) for number in numbers)
        and all(_IDENTIFIER.fullmatch(each) is not None for each in identifiers)
        and (release.span is None or _has_right_span(release, release.span))
    )


def _has_right_span(release: Publication, span: Span) -> bool:
    """Whether the period, the groups and the unit are those of the days whose votes count."""
    if release.period is not None:
        period = Period.read(release.period)
        _check((period.first, period.last, str(period)) == (span.since, span.until, release.period))
    unit = release.guarantee.unit
    _check(span.per is None or span.per.find_whole(unit) != unit)
    if span.every is None:
        return True
    groups: list[tuple[Any, ...]] = [each.group for each in release.lists]
    outer = dict.fromkeys(group[:-1] for group in groups)  # each has a list for every period
    return release.by[-1:] == (span.every,) and groups == [(*each, str(one)) for each in outer for one in span.periods]


def _has_right_list(listed: Release | GroupList) -> bool:
    """Whether all values are such as a list has."""
    counts, assessed, people, noisy = listed.counts, listed.assessment, listed.people, listed.noisy_people
    numbers = [] if counts is None else [*counts.values, *(counts.low or ()), *(counts.high or ())]
    numbers += [] if noisy is None else [noisy.value, noisy.low, noisy.high]
    return (
        all(item is not None for item in (*listed.items, *listed.group))
        and (listed.domain_size is None or (type(listed.domain_size) is int and listed.domain_size >= 1))
        and (people is None or (type(people) is int and people >= 0))
        and all(abs(number) <= _LARGEST_COUNT for number in numbers)
        and (counts is None or all(map(operator.le, counts.low or (), counts.high or ())))
        and (counts is None or (counts.others_low or 0) <= (counts.others_high or 0))
        and (assessed is None or assessed.margin is not None)
    )


def _find_problem(release: Publication) -> str | None:
    """Find a contradiction between what a record says about its charge, its persons and its days."""
    per = None if release.span is None else release.span.per
    if release.charge is not None and not release.secure:
        return "a release that can be repeated was charged"
    if release.charge is None and release.population is not None:
        return "it has the population of a ledger, and no charge"
    if release.persons_counted and is_of_period(release.guarantee.unit) != (per is not None):
        return "the unit is not that of the days whose votes count"
    if release.persons_counted and release.parameters.get("sensitivity", 1) != 1:
        return "persons are counted, and one adds more than 1"
    return None


def _find_contradiction(release: Publication, listed: Release | GroupList) -> str | None:
    """Find a contradiction that every list could have, whatever its mechanism is."""
    parameters, number, d = release.parameters, len(listed), listed.domain_size
    k, kind = parameters.get("k"), MECHANISMS.get(release.mechanism)
    # Without a public domain, a mechanism may choose fewer than k items, and so may one that needs none.
    public = d is not None and (kind is None or kind.needs_domain)
    if (listed.noisy_people is not None) != ("people_epsilon" in parameters):
        return "noisy numbers of people do not go with the parameters"
    if listed.is_left_out and number:
        return "a group with too few people has a list"
    least = parameters.get("at_least", k) if public and not listed.is_left_out else 0
    if type(k) is int and type(least) is int and not least <= number <= k:
        return "the number of items is not k"
    if number > (d or number):
        return "there are more items than the domain has"
    columns = [*listed.labels.values(), *([] if listed.counts is None else [listed.counts.values])]
    if any(len(column) != number for column in columns):
        return "a column has another length than the list"
    if len({(type(item), item) for item in listed.items}) < number:
        return "an item is named twice"
    limits = ("sensitivity", "max_weight", "votes_per_person", "groups_per_person")
    about_votes = (parameters.get(name, 1) for name in limits)
    if not all(type(value) is int and value >= 1 for value in about_votes):
        return "a number of votes is not a whole number from 1"
    return None


def _rebuild_terms(release: Publication) -> Terms | None:
    """Read the terms again from the parameters. Return None for a mechanism that this version does not know.

    Parameters that it does not know are refused: what they mean for the guarantee is not known either.
    """
    if release.mechanism not in MECHANISMS:
        return None
    implied = _ABOUT_CHOICE if "rho" not in release.parameters else {*_ABOUT_CHOICE, "epsilon"}
    asked = {name: value for name, value in release.parameters.items() if name not in implied}
    known: dict[str, Any] = {"persons_counted": release.persons_counted, "unit": release.guarantee.unit}
    if release.by:  # one unit can be in so many lists
        lists = len(release.lists)
        known["groups"] = lists if release.span is None else release.span.count_lists(lists)
    spent, _, k, epsilon = (asked.pop(name, None) for name in ("cap_epsilon", "cap_quantile", "k", "epsilon"))
    if spent is None:
        return Terms.read(release.mechanism, k, epsilon, **known, **asked)
    # The guarantee is the weakest of all caps. So the terms of the others are needed, too, as they were asked for.
    cap, request = asked.pop("votes_per_person", None), dict(asked.pop("cap_asked", ()))
    given = {name: value for name, value in (known | asked).items() if name not in SET_BY_CAP}
    given["without_domain"] = not MECHANISMS[release.mechanism].needs_domain
    name = request.pop("mechanism", release.mechanism)
    return Terms.read(name, k, epsilon, votes_per_person=AUTO_CAP, **given, **request).by_cap[cap]


def _rebuild_sentences(release: Publication, terms: Terms | None) -> Any:
    """Say what the bounds of a record bound, from their numbers."""

    def complete(bound: ErrorBound) -> ErrorBound:
        words = _UNKNOWN_BOUND.format(bound=write_count(bound.votes, release.counted_in))
        if terms is not None:
            words = terms.state_bound(bound.votes, release.parameters.get("chosen")).statement
        return replace(bound, statement=words)

    def rebuild(listed: Any) -> Any:
        bound, assessed = listed.error_bound, listed.assessment
        return replace(
            listed,
            error_bound=bound and complete(bound),
            assessment=assessed and replace(assessed, bound=complete(assessed.bound)),
        )

    lists = tuple(map(rebuild, release.lists))
    return replace(release, lists=lists) if release.by else lists[0]  # type: ignore[call-arg]


def _compare_numbers(release: Publication) -> str | None:
    """Compare the guarantee of a mechanism that this version does not know with its parameters."""
    parameters, guarantee = release.parameters, release.guarantee
    if parameters.get("neighbours", guarantee.neighbours) != guarantee.neighbours:
        return "neighbours differs between parameters and guarantee"
    # A mechanism may need no delta with the parameters that it has. Counts and an assessment add to both numbers.
    delta = guarantee.delta - parameters.get("counts_delta", 0)
    if delta not in (0, parameters.get("delta", delta)):
        return "delta differs between parameters and guarantee"
    more = guarantee.epsilon - parameters.get("epsilon", guarantee.epsilon)
    if more < 0 or (more and not EXTRAS & parameters.keys()):
        return "epsilon differs between parameters and guarantee"
    ours = _ABOUT_CHOICE | {"cap_epsilon", "groups_per_person"}
    if release.version == __version__ and (release.by or ours & parameters.keys()):
        return "it has what only mechanisms of shortlist can have"
    return None


def _compare_terms(release: Publication, terms: Terms) -> str | None:
    """Compare what a record states with what its parameters and its noisy numbers imply."""
    chosen, guarantee, current = release.parameters.get("chosen"), release.guarantee, release.version == __version__
    drawn = not all(each.is_left_out for each in release.lists)
    _check(chosen is not None or len(terms.mechanism.candidates) == 1 or not drawn)
    implied = terms.state_promise(chosen)
    ours, parameters = implied["guarantee"], implied.pop("parameters")
    for name in ("neighbours", "epsilon"):
        if getattr(guarantee, name) != getattr(ours, name):
            return f"{name} differs between parameters and guarantee"
    stronger_rho = guarantee.rho is not None and (
        ours.rho is None or guarantee.rho < ours.rho or guarantee.rho_delta < ours.rho_delta
    )
    if guarantee.delta < ours.delta or stronger_rho:
        return "the guarantee promises more than the mechanism"
    missing = parameters.keys() - release.parameters.keys()
    # Another version may have fewer parameters, and may prove something else. What is stated at all is the same.
    if not current:
        missing &= _ABOUT_CHOICE
    same = release.parameters.items() <= parameters.items()
    if current:  # to the letter: 1 is not written like "1"
        same = encode_parameters(release.parameters) == encode_parameters(parameters)
    if missing or not same:
        return "the parameters differ from those that the mechanism states"
    for stated, follows in ((release, implied), *((each, _state_again(each, terms, chosen)) for each in release.lists)):
        for name, value in follows.items():
            found = getattr(stated, name)
            if found != value if current else type(found) is not type(value):
                return f"{name} differs from what the parameters imply"
    if current and terms.counts is None and release.ordered:  # the mechanism ranks by the counts that it releases
        least = getattr(terms.mechanism, "threshold", -_LARGEST_COUNT)
        for values in (each.counts.values for each in release.lists if each.counts is not None):
            if list(values) != sorted(values, reverse=True) or min(values, default=least) < least:
                return "the list is not one by its noisy counts"
    return None


def _state_again(listed: Release | GroupList, terms: Terms, chosen: str | None) -> dict[str, Any]:
    """State all fields of a list that follow from the parameters and the noisy numbers of a record."""
    counts, assessed, people = listed.counts, listed.assessment, listed.noisy_people
    drawn: dict[str, Any] = {
        "d": listed.domain_size,
        "noisy": np.array([0] * len(listed) if counts is None else counts.values, dtype=np.int64),
        "chosen": chosen,
        "people": listed.people,
        "noisy_people": people and people.value,
        "others": counts and counts.others,
    }
    implied = terms.state_list(**drawn, spread=0 if assessed is None else assessed.estimate)
    again = implied["assessment"]
    if again is None or assessed is None or assessed.estimate:
        return implied
    # An estimate of 0 stands for any spread up to 0. The bound tells which.
    return terms.state_list(**drawn, spread=min(0, assessed.bound.votes - again.bound.votes))
