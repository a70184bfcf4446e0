"""Which mechanism runs where there is no public list of items."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import (
    MECHANISMS,
    Auto,
    LimitedDomain,
    Mechanism,
    Stable,
    Threshold,
    build_mechanism,
    takes_cap,
)
from shortlist.privacy.numbers import quote, read_rational

_LESS = Fraction(4, 5)
"""`threshold` is taken if the votes that an item needs are less than this share of what `limited-domain` asks for."""
_CHOSE = "auto chose {chosen} for these parameters, which has no such parameter"
_LIST = "pass {domain='catalogue.csv'}, a public list of all items that may be released, voted for or not"


def build_without_domain(mechanism: str | Mechanism, *, votes_per_person: int | None, **parameters: Any) -> Mechanism:
    """Build a mechanism that needs no domain. `auto` takes the one that asks for fewer votes, by public numbers alone.

    >>> common = {"k": 100, "epsilon": 1, "delta": "1e-6"}
    >>> [build_without_domain("auto", votes_per_person=cap, **common).name for cap in (None, 20)]
    ['limited-domain', 'threshold']
    """
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else None
    if isinstance(mechanism, str):
        kind = MECHANISMS.get(mechanism)
    _check_parameters(kind, parameters)
    if kind is Auto:
        given = dict(mechanism.parameters) if isinstance(mechanism, Mechanism) else {}
        terms = {**parameters, "votes_per_person": votes_per_person}
        return _choose(given | {name: value for name, value in terms.items() if value is not None})
    if kind is not None and kind.needs_domain:
        raise ParameterError(
            "{mechanism} must be one of {names} where there is no {domain}",
            "not {name}",
            hint=_LIST + ", or leave {mechanism} out and pass {delta=1e-6}",
            names=", ".join(each.name for each in MECHANISMS.values() if not each.needs_domain),
            name=kind.name,
        )
    if kind is not None and takes_cap(mechanism):
        parameters["votes_per_person"] = votes_per_person
    return build_mechanism(mechanism, **parameters)


def check_extras(*, sensitivity: int, assess: object) -> None:
    """Refuse what is proven for a public list of items only."""
    if sensitivity > 1:
        raise ParameterError(
            "{sensitivity} must be 1 where there is no {domain}",
            "not {number}",
            hint="{delta} is proven for 1 only: " + _LIST + "; or count each person once for an item",
            number=sensitivity,
        )
    if assess is not None:
        raise ParameterError("{assess} must go with {domain}", hint="leave {assess} out; or " + _LIST)


def _check_parameters(kind: type[Mechanism] | None, parameters: dict[str, Any]) -> None:
    """Refuse values that need a domain. The hint says what to do without one."""
    delta, k = parameters.get("delta"), parameters.get("k")
    if delta is not None and read_rational(delta, name="delta") == 0:
        raise ParameterError(
            "{delta} must be above 0 where there is no {domain}",
            "not {value}",
            hint="try {delta=1e-6}; or " + _LIST,
            value=quote(delta),
        )
    if kind is None or (kind.needs_domain and kind is not Auto):
        return
    if isinstance(k, tuple | list) and kind is not Stable:
        raise ParameterError(
            "{k} must be one number where there is no {domain}",
            "not a range of sizes",
            hint="up to so many items are released anyway; {mechanism='stable'} chooses a size from a range",
        )
    if parameters.get("ordered") is not None and kind in (LimitedDomain, Threshold):
        raise ParameterError(
            "{name} has no {ordered}: the order of its list costs nothing",
            hint="leave {ordered} out; {mechanism='stable'} gives a set",
            name=kind.name,
        )


def _choose(parameters: dict[str, Any]) -> Mechanism:
    """Choose by public numbers: how many votes an item needs to be released."""
    if parameters.get("delta") is None:
        raise ParameterError(
            "{delta} or {domain} must be given",
            "neither was. Without a public list of items, an item that only one person voted for must not show; δ is "
            "the probability that it does",
            hint=_LIST + "; or pass {delta=1e-6}",
        )
    # The order of a list costs nothing here.
    parameters.pop("ordered", None)
    own: dict[str, Any] = {name: parameters.pop(name) for name in ("k_bar", "noise") if name in parameters}
    limited = build_mechanism("limited-domain", **parameters, k_bar=own.get("k_bar"))
    assert isinstance(limited, LimitedDomain)
    if limited.votes_per_person is None:
        chosen: Mechanism = limited
    else:
        above = build_mechanism("threshold", **parameters, noise=own.get("noise"))
        assert isinstance(above, Threshold)
        chosen = above if above.threshold < _LESS * limited.votes_needed else limited
    _check_own(chosen, own)
    return chosen


def _check_own(chosen: Mechanism, own: dict[str, Any]) -> None:
    """Refuse a parameter that only the other mechanism has. The user did not name one, so say that auto chose."""
    if "k_bar" in own and chosen.name != "limited-domain":
        raise ParameterError(
            "{k_bar} must go with {mechanism='limited-domain'}",
            _CHOSE,
            hint="leave {k_bar} out, or pass {mechanism='limited-domain'}",
            chosen=chosen.name,
        )
    if "noise" in own and chosen.name != "threshold":
        raise ParameterError(
            "{noise} must go with {mechanism='threshold'}",
            _CHOSE,
            hint="leave {noise} out, or pass {mechanism='threshold'}, which needs {votes_per_person}",
            chosen=chosen.name,
        )
