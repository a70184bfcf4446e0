"""Whether the fields of a record fit each other.

A record states its guarantee, and its mechanism and parameters imply one. The two must agree. So must the parameters
and the number of items. This finds mistakes, such as a record that was changed in one field. It cannot find forgery.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from shortlist.errors import DataError, ShortlistError
from shortlist.mechanisms import MECHANISMS, Mechanism
from shortlist.privacy import Guarantee
from shortlist.release.extras import EXTRA_PARAMETERS, Extras

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
    parameters, guarantee, k = record["parameters"], record["guarantee"], record["parameters"].get("k")
    kind, number = MECHANISMS.get(record["mechanism"]), len(record["items"])
    # Without a public domain, a mechanism may choose fewer than k items, and so may one that needs none.
    public = record["d"] is not None and (kind is None or kind.needs_domain)
    least = (parameters.get("at_least") or k) if public else 0
    if type(k) is int and not least <= number <= k:
        return "the number of items is not k"
    if len({(type(item), item) for item in record["items"]}) < number:
        return "an item is named twice"
    if "neighbours" in parameters and parameters["neighbours"] != guarantee.neighbours:
        return "neighbours differs between parameters and guarantee"
    # A mechanism may need no delta with the parameters that it has. Counts may add one.
    if "delta" in parameters and guarantee.delta - parameters.get("counts_delta", 0) not in (0, parameters["delta"]):
        return "delta differs between parameters and guarantee"
    if "epsilon" in parameters and not _fits(parameters["epsilon"], guarantee, parameters):
        return "epsilon differs between parameters and guarantee"
    if not all(_is_number(parameters[name]) for name in _ABOUT_VOTES & parameters.keys()):
        return "a number of votes is not a whole number from 1"
    rebuilt, sensitivity = _rebuild(record["mechanism"], parameters), parameters.get(_SENSITIVITY, 1)
    if _ABOUT_CHOICE & parameters.keys() and not _fits_choice(parameters, rebuilt, sensitivity):
        return "the chosen mechanism does not fit the other parameters"
    if (record["assessment"] is None) != ("assess" not in parameters):
        return "an assessment goes with what it spent"
    if rebuilt is not None and _promises_more(guarantee, _imply(rebuilt, parameters, sensitivity, guarantee.unit)):
        return "the guarantee promises more than the mechanism"
    return None


def _fits(epsilon: Any, guarantee: Guarantee, parameters: Mapping[str, Any]) -> bool:
    """Whether epsilon is that of the guarantee. Counts and an assessment add to it."""
    if EXTRA_PARAMETERS & parameters.keys():
        return bool(epsilon < guarantee.epsilon)
    return bool(epsilon == guarantee.epsilon)


def _imply(rebuilt: Mechanism, parameters: Mapping[str, Any], sensitivity: int, unit: str) -> Guarantee:
    """What the mechanism and the extras promise together."""
    extras = Extras.read(
        rebuilt,
        **{name: parameters[name] for name in EXTRA_PARAMETERS & parameters.keys()},
        votes_per_person=parameters.get("votes_per_person"),
        sensitivity=sensitivity,
    )
    return extras.add_to(rebuilt.guarantee).scale(sensitivity, unit=unit)


def _is_number(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 1)


def _rebuild(mechanism: str, parameters: Mapping[str, Any]) -> Mechanism | None:
    """Build the mechanism again. Return None if this version does not know it or all its parameters."""
    kind = MECHANISMS.get(mechanism)
    known = set() if kind is None else {field.name for field in fields(kind)}
    if kind is None or not parameters.keys() <= known | _ABOUT_VOTES | _ABOUT_CHOICE | EXTRA_PARAMETERS | {"cap"}:
        return None
    given = {name: value for name, value in parameters.items() if name in known}
    return kind(**{**given, "epsilon": given["epsilon"] / parameters.get(_SENSITIVITY, 1)})


def _fits_choice(parameters: Mapping[str, Any], rebuilt: Mechanism | None, sensitivity: int) -> bool:
    """Whether the mechanism can choose the named one, and the two parts of epsilon add up."""
    chosen, choice, spent = (parameters[name] for name in ("chosen", "choice_epsilon", "chosen_epsilon"))
    if not isinstance(chosen, str) or min(choice, spent) <= 0 or choice + spent != parameters["epsilon"]:
        return False
    if rebuilt is None:
        return True
    ran = rebuilt.resolve(chosen)
    return ran is not rebuilt and ran.epsilon * sensitivity == spent


def _promises_more(stated: Guarantee, implied: Guarantee) -> bool:
    """Whether a guarantee is stronger than its mechanism gives. A weaker one is true as well."""
    rho = stated.rho is not None and (implied.rho is None or stated.rho < implied.rho)
    return stated.epsilon < implied.epsilon or stated.delta < implied.delta or rho
