"""Whether the fields of a record fit each other.

The mechanism, its parameters and the noisy numbers of a record imply its other fields. They are stated again, and
compared with what the record says. An earlier version may have promised less, but never more. This finds mistakes,
such as a record that was changed in one field. It cannot find forgery.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from shortlist.errors import DataError, ShortlistError
from shortlist.mechanisms import MECHANISMS, Mechanism
from shortlist.privacy import Guarantee
from shortlist.release.extras import EXTRA_PARAMETERS, Extras
from shortlist.release.statements import state
from shortlist.version import __version__

_SENSITIVITY = "sensitivity"
_ABOUT_VOTES = {_SENSITIVITY, "votes_per_person"}
"""Parameters about how votes were counted. They are not parameters of the mechanism."""
_ABOUT_CHOICE = {"chosen", "choice_epsilon", "chosen_epsilon"}
"""Parameters about the choice of `auto`: the chosen mechanism, and the two parts of epsilon."""


def check_consistent(record: Mapping[str, Any], *, source: str) -> None:
    """Refuse fields of a release that contradict each other."""
    try:
        problem = _find_contradiction(record)
    except (ShortlistError, TypeError, ValueError, ArithmeticError, LookupError):
        problem = "the mechanism cannot have these parameters"
    if problem is not None:
        raise DataError(
            "the record must not contradict itself", "in {source}, {problem}", source=source, problem=problem
        )


def _find_contradiction(record: Mapping[str, Any]) -> str | None:
    parameters, k = record["parameters"], record["parameters"].get("k")
    kind, number = MECHANISMS.get(record["mechanism"]), len(record["items"])
    # Without a public domain, a mechanism may choose fewer than k items, and so may one that needs none.
    public = record["d"] is not None and (kind is None or kind.needs_domain)
    least = (parameters.get("at_least") or k) if public else 0
    if type(k) is int and not least <= number <= k:
        return "the number of items is not k"
    if len({(type(item), item) for item in record["items"]}) < number:
        return "an item is named twice"
    if not all(type(value) is int and value >= 1 for value in (parameters.get(name, 1) for name in _ABOUT_VOTES)):
        return "a number of votes is not a whole number from 1"
    mechanism = _rebuild(record["mechanism"], parameters)
    if mechanism is None:
        return _compare_numbers(parameters, record["guarantee"])
    return _compare(record, _state_again(record, mechanism))


def _rebuild(mechanism: str, parameters: Mapping[str, Any]) -> Mechanism | None:
    """Build the mechanism again. Return None if this version does not know it or all its parameters."""
    kind = MECHANISMS.get(mechanism)
    known = set() if kind is None else {field.name for field in fields(kind)}
    if kind is None or not parameters.keys() <= known | _ABOUT_VOTES | _ABOUT_CHOICE | EXTRA_PARAMETERS | {"cap"}:
        return None
    given = {name: value for name, value in parameters.items() if name in known}
    return kind(**{**given, "epsilon": given["epsilon"] / parameters.get(_SENSITIVITY, 1)})


def _compare_numbers(parameters: Mapping[str, Any], guarantee: Guarantee) -> str | None:
    """Compare the guarantee of a mechanism that this version does not know with its parameters."""
    if parameters.get("neighbours", guarantee.neighbours) != guarantee.neighbours:
        return "neighbours differs between parameters and guarantee"
    # A mechanism may need no delta with the parameters that it has. Counts and an assessment add to both numbers.
    delta = guarantee.delta - parameters.get("counts_delta", 0)
    if delta not in (0, parameters.get("delta", delta)):
        return "delta differs between parameters and guarantee"
    more = guarantee.epsilon - parameters.get("epsilon", guarantee.epsilon)
    if more < 0 or (more and not EXTRA_PARAMETERS & parameters.keys()):
        return "epsilon differs between parameters and guarantee"
    return None


def _state_again(record: Mapping[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """State all fields that follow from the parameters and the noisy numbers of a record."""
    parameters, counts = record["parameters"], record["counts"]
    sensitivity, votes = parameters.get(_SENSITIVITY, 1), parameters.get("votes_per_person")
    bought = {name: parameters[name] for name in EXTRA_PARAMETERS & parameters.keys()}
    extras = Extras.read(mechanism, **bought, votes_per_person=votes, sensitivity=sensitivity)
    values = [0] * len(record["items"]) if counts is None else counts.values
    stated: dict[str, Any] = {
        "d": record["d"],
        "sensitivity": sensitivity,
        "unit": record["guarantee"].unit,
        "votes_per_person": votes,
        "noisy": np.array(values, dtype=np.int64),
        "chosen": parameters.get("chosen"),
        "extras": extras,
        "declared": "cap" in parameters,
    }
    assessment = record["assessment"]
    implied = state(mechanism, **stated, spread=0 if assessment is None else assessment.estimate)
    again = implied["assessment"]
    if again is None or assessment is None:
        return implied
    if assessment.estimate == 0 and assessment.bound.votes < again.bound.votes:
        # An estimate of 0 stands for any spread up to 0. The bound tells which.
        again = state(mechanism, **stated, spread=assessment.bound.votes - again.bound.votes)["assessment"]
    # Earlier versions stated no margin.
    return {**implied, "assessment": replace(again, margin=None) if assessment.margin is None else again}


def _compare(record: Mapping[str, Any], implied: Mapping[str, Any]) -> str | None:
    """Compare what a record states with what its parameters imply."""
    stated, parameters = record["parameters"], implied["parameters"]
    missing = parameters.keys() - stated.keys()
    if missing & _ABOUT_CHOICE or any(value != parameters.get(name) for name, value in stated.items()):
        return "the parameters differ from those that the mechanism states"
    if record["guarantee"].neighbours != implied["guarantee"].neighbours:
        return "neighbours differs between parameters and guarantee"
    if record["guarantee"].epsilon != implied["guarantee"].epsilon:
        return "epsilon differs between parameters and guarantee"
    if _promises_more(record["guarantee"], implied["guarantee"]):
        return "the guarantee promises more than the mechanism"
    # Another version may prove or say something else. Records of schema 1, which have no bound, may promise less.
    current = record["version"] == __version__
    if current and record["error_bound"] is not None and record["guarantee"] != implied["guarantee"]:
        return "the guarantee differs from what the parameters imply"
    for name in ("unordered", "up_to", "counts", "error_bound", "assessment"):
        # Earlier versions stated neither.
        left_out = name in ("error_bound", "up_to") and record[name] is None
        differs = record[name] != implied[name] if current else type(record[name]) is not type(implied[name])
        if differs and not left_out:
            return f"{name} differs from what the parameters imply"
    return None


def _promises_more(stated: Guarantee, implied: Guarantee) -> bool:
    """Whether a guarantee is stronger than its mechanism gives. A weaker one is true as well."""
    rho = stated.rho is not None and (implied.rho is None or stated.rho < implied.rho)
    return stated.delta < implied.delta or rho
