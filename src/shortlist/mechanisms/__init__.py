"""The mechanisms, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.mechanisms.mechanism import Mechanism, Prepared, check_names
from shortlist.privacy.numbers import quote

if TYPE_CHECKING:  # the classes of the list below, for checkers of types
    from shortlist.mechanisms.auto import Auto as Auto
    from shortlist.mechanisms.joint import FastJoint as FastJoint
    from shortlist.mechanisms.joint import Joint as Joint
    from shortlist.mechanisms.joint import MarginJoint as MarginJoint
    from shortlist.mechanisms.joint import PNFJoint as PNFJoint
    from shortlist.mechanisms.noisy_counts import NoisyCounts as NoisyCounts
    from shortlist.mechanisms.peel import CDPPeel as CDPPeel
    from shortlist.mechanisms.peel import PNFPeel as PNFPeel
    from shortlist.mechanisms.subset import Subset as Subset
    from shortlist.mechanisms.unknown_domain import LimitedDomain as LimitedDomain
    from shortlist.mechanisms.unknown_domain import Stable as Stable
    from shortlist.mechanisms.unknown_domain import Threshold as Threshold

HOMES = {
    "auto": "auto.Auto",
    "joint": "joint.Joint",
    "margin-joint": "joint.MarginJoint",
    "subset": "subset.Subset",
    "fastjoint": "joint.FastJoint",
    "pnf-joint": "joint.PNFJoint",
    "pnf-peel": "peel.PNFPeel",
    "cdp-peel": "peel.CDPPeel",
    "noisy-counts": "noisy_counts.NoisyCounts",
    "limited-domain": "unknown_domain.LimitedDomain",
    "threshold": "unknown_domain.Threshold",
    "stable": "unknown_domain.Stable",
}
"""All mechanisms: the module and the class of each. A class is imported when it is asked for."""


class _Mechanisms(Mapping[str, type[Mechanism]]):
    def __getitem__(self, name: str) -> type[Mechanism]:
        module, _, kind = HOMES[name].rpartition(".")
        found: type[Mechanism] = getattr(import_module(f"{__name__}.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(HOMES)

    def __len__(self) -> int:
        return len(HOMES)


MECHANISMS = _Mechanisms()
"""The classes of all mechanisms by name."""
DEFAULT_MECHANISM = "auto"
"""The name of the mechanism that is used by default."""

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "Mechanism", "Prepared", "build_mechanism", "takes_cap", "write_table"]


def __getattr__(name: str) -> Any:
    """Import the class of a mechanism on first use."""
    for mechanism, home in HOMES.items():
        if home.endswith(f".{name}"):
            return MECHANISMS[mechanism]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_CALL_PARAMETERS = (
    *("assess", "bits", "counts_epsilon", "domain", "domain_column", "groups_per_person", "item", "label", "ledger"),
    *("mechanism", "memory_limit", "note", "people", "period", "person", "sensitivity", "unit", "votes_per_person"),
    *("every", "max_weight", "others", "per", "since", "time", "time_zone", "until", "weight", "weight_unit"),
)
"""Parameters of `select`, `top_k` and `prepare` that may be misspelt. Unknown names are passed on to the mechanism."""


def build_mechanism(mechanism: str | Mechanism, **parameters: Any) -> Mechanism:
    """Build a mechanism by its name, or take one that is built already.

    >>> build_mechanism("fastjoint", k=3, epsilon=1, beta=2**-10).beta
    Fraction(1, 1024)

    Parameters that are None count as not given.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    kind = find_kind(mechanism)
    known = {field.name for field in fields(kind)}
    if "ordered" in given and "ordered" not in known and kind.unordered is not Mechanism.unordered:
        ordered = given.pop("ordered")
        if ordered is not False:
            raise ParameterError(
                f"`ordered` must be False for {kind.name}: it gives no order",
                f"not {quote(ordered)}",
                hint="leave `mechanism` out: auto gives an ordered list",
            )
    if not known.issuperset(given):
        check_names(kind, given, further=_CALL_PARAMETERS)
    if not isinstance(mechanism, Mechanism):
        return kind(**given)
    if given and kind(**{**mechanism.parameters, **given}) != mechanism:
        raise ParameterError(
            "the `mechanism` object and the parameters beside it must agree",
            "they disagree",
            hint="pass the object or the parameters",
        )
    return mechanism


def takes_cap(mechanism: str | Mechanism) -> bool:
    """Whether a mechanism relies on a largest number of votes per person.

    >>> takes_cap("noisy-counts"), takes_cap("joint")
    (True, False)
    """
    return any(field.name == "votes_per_person" for field in fields(find_kind(mechanism)))


def find_kind(name: object) -> type[Mechanism]:
    """Find the class of a mechanism by its name, or of one that is built. For any other value, say which there are."""
    if isinstance(name, Mechanism):
        return type(name)
    if isinstance(name, str) and name in HOMES:
        return MECHANISMS[name]
    import difflib

    # Somebody who passed a name, as the command line does, needs no hint about objects.
    objects = "" if isinstance(name, str) else ", or a mechanism object"
    nearest = difflib.get_close_matches(name, HOMES, n=1) if isinstance(name, str) else []
    raise ParameterError(
        f"`mechanism` must be one of {', '.join(HOMES)}{objects}",
        f"not {quote(name)}",
        hint=f"did you mean {nearest[0]!r}?" if nearest else None,
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
