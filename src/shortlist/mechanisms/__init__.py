"""The mechanisms, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.mechanisms.mechanism import Mechanism, Prepared, check_names
from shortlist.mechanisms.registry import HOMES, Registry, find_class
from shortlist.privacy.numbers import quote

if TYPE_CHECKING:
    from shortlist.mechanisms.auto.auto import Auto
    from shortlist.mechanisms.counts.noisy_counts import NoisyCounts
    from shortlist.mechanisms.joint.fastjoint import FastJoint
    from shortlist.mechanisms.joint.joint import Joint
    from shortlist.mechanisms.joint.margin_joint import MarginJoint
    from shortlist.mechanisms.joint.pnf_joint import PNFJoint
    from shortlist.mechanisms.peel.cdp_peel import CDPPeel
    from shortlist.mechanisms.peel.pnf_peel import PNFPeel
    from shortlist.mechanisms.subset.subset import Subset
    from shortlist.mechanisms.unknown_domain.limited_domain import LimitedDomain
    from shortlist.mechanisms.unknown_domain.stable import Stable
    from shortlist.mechanisms.unknown_domain.threshold import Threshold

__all__ = [
    "DEFAULT_MECHANISM",
    "MECHANISMS",
    "Auto",
    "CDPPeel",
    "FastJoint",
    "Joint",
    "LimitedDomain",
    "MarginJoint",
    "Mechanism",
    "NoisyCounts",
    "PNFJoint",
    "PNFPeel",
    "Prepared",
    "Stable",
    "Subset",
    "Threshold",
    "build_mechanism",
    "takes_cap",
    "write_table",
]

DEFAULT_MECHANISM = "auto"
"""The name of the mechanism that is used by default."""

MECHANISMS = Registry(HOMES)
_ORDERED = "leave {mechanism} out: auto gives an ordered list"
_CALL_PARAMETERS = (
    *("assess", "bits", "counts_epsilon", "domain", "item", "ledger", "mechanism", "people", "person"),
    *("sensitivity", "unit", "votes_per_person"),
)
"""Parameters of `select`, `top_k` and `prepare` that may be misspelt. Unknown names are passed on to the mechanism."""


def build_mechanism(mechanism: str | Mechanism, **parameters: Any) -> Mechanism:
    """Build a mechanism by its name, or take one that is built already.

    >>> build_mechanism("fastjoint", k=3, epsilon=1, beta=2**-10).beta
    Fraction(1, 1024)

    Parameters that are None count as not given.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else find_kind(mechanism)
    if "ordered" in given and kind.name in ("stable", "subset"):
        _refuse_order(given.pop("ordered"), kind.name)
    own = mechanism.parameters if isinstance(mechanism, Mechanism) else {}
    known = {field.name for field in fields(kind)}
    elsewhere = _list_parameters() if not known.issuperset(given) else known
    check_names(kind, own | given, further=_CALL_PARAMETERS, elsewhere=elsewhere)
    if isinstance(mechanism, Mechanism):
        _refuse_contradictions(mechanism, given)
        return mechanism
    return kind(**given)


def takes_cap(mechanism: str | Mechanism) -> bool:
    """Whether a mechanism relies on a largest number of votes per person.

    >>> takes_cap("noisy-counts"), takes_cap("joint")
    (True, False)
    """
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else find_kind(mechanism)
    return any(field.name == "votes_per_person" for field in fields(kind))


def _list_parameters() -> set[str]:
    """List all parameters of all mechanisms. This imports every mechanism, so it is for errors only."""
    return {field.name for kind in MECHANISMS.values() for field in fields(kind)}


def _refuse_order(ordered: object, name: str) -> None:
    if ordered is not False:
        raise ParameterError(
            "{ordered} must be False for {name}: it gives no order",
            "not {value}",
            hint=_ORDERED,
            name=name,
            value=quote(ordered),
        )


def find_kind(name: object) -> type[Mechanism]:
    """Find the class of a mechanism by its name. For any other value, say which names there are."""
    if isinstance(name, str) and name in MECHANISMS:
        return MECHANISMS[name]
    import difflib

    # Somebody who passed a name, as the command line does, needs no hint about objects.
    objects = "" if isinstance(name, str) else ", or a mechanism object"
    nearest = difflib.get_close_matches(str(name), MECHANISMS, n=1) if isinstance(name, str) else []
    raise ParameterError(
        "{mechanism} must be one of {names}" + objects,
        "not {value}",
        hint="did you mean {nearest!r}?" if nearest else None,
        names=", ".join(MECHANISMS),
        value=quote(name),
        **({"nearest": nearest[0]} if nearest else {}),
    )


def _refuse_contradictions(mechanism: Mechanism, given: dict[str, Any]) -> None:
    """Refuse parameters beside a mechanism object that differ from its own."""
    if given and type(mechanism)(**{**mechanism.parameters, **given}) != mechanism:
        raise ParameterError(
            "the {mechanism} object and the parameters beside it must agree",
            "they disagree",
            hint="pass the object or the parameters",
        )


def write_table(*columns: str) -> str:
    """Write the mechanisms as a Markdown table with these columns, or with all: those of docs/mechanisms.md."""
    headings = columns or tuple(_COLUMNS)
    rows = [headings, ["---"] * len(headings)]
    rows += [[_COLUMNS[heading](kind) for heading in headings] for kind in MECHANISMS.values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


_COLUMNS: dict[str, Callable[[type[Mechanism]], str]] = {
    "name": lambda kind: f"`{kind.name}`",
    "what it does": lambda kind: kind.summary,
    "take it when": lambda kind: kind.when,
    "guarantee": lambda kind: kind.guarantee_in_words,
    "ρ (zCDP)": lambda kind: kind.rho_in_words,
}


def __getattr__(name: str) -> Any:
    """Import the class of a mechanism on first use."""
    for home in HOMES.values():
        if home.rpartition(".")[2] == name:
            return globals().setdefault(name, find_class(home))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
