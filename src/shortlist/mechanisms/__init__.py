"""The mechanisms, by name: those of this library, and those that other installed packages register.

A mechanism of your own is a class that inherits from `Mechanism`. Objects of it go wherever a mechanism goes. An entry
point in the group `shortlist.mechanisms` gives it a name for the command line and for `mechanism="name"`.
docs/own-mechanism.md shows both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.mechanisms.mechanism import Mechanism, Prepared, SimpleMechanism, check_names
from shortlist.near_names import PARAMETERS
from shortlist.privacy.numbers import quote
from shortlist.safe_text import is_words

if TYPE_CHECKING:  # the classes of the list below, for checkers of types
    from importlib.metadata import EntryPoint

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
"""The mechanisms of this library: the module and the class of each. A class is imported when it is asked for."""
GROUP = "shortlist.mechanisms"
"""The group of entry points by which other packages register mechanisms."""


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
"""The classes of this library's mechanisms by name."""
DEFAULT_MECHANISM = "auto"
"""The name of the mechanism that is used by default."""

__all__ = [
    "DEFAULT_MECHANISM",
    "MECHANISMS",
    "Mechanism",
    "Prepared",
    "SimpleMechanism",
    "build_mechanism",
    "find_registered",
    "takes_cap",
]


def __getattr__(name: str) -> Any:
    """Import the class of a mechanism on first use."""
    for mechanism, home in HOMES.items():
        if home.endswith(f".{name}"):
            return MECHANISMS[mechanism]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
    if not known.issuperset(given) or not (given or isinstance(mechanism, Mechanism)):
        check_names(kind, given, further=PARAMETERS)
    if not isinstance(mechanism, Mechanism):
        return kind(**given)
    # An epsilon that follows from rho is no parameter of its own.
    own = {name: value for name, value in mechanism.parameters.items() if name != "epsilon" or not given.get("rho")}
    if given and kind(**{**own, **given}) != mechanism:
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
    """Find the class of a mechanism by its name, or of one that is built. For any other value, say which there are.

    A class that is not of this library must have a name of its own: records and captions say whose guarantee it is.
    """
    if isinstance(name, Mechanism):
        _check_name(type(name))
        return type(name)
    if isinstance(name, str) and name in HOMES:
        return MECHANISMS[name]
    registered = find_registered()
    if isinstance(name, str) and name in registered:
        return _load(registered[name])
    import difflib

    # Somebody who passed a name, as the command line does, needs no hint about objects.
    objects, names = "" if isinstance(name, str) else ", or a mechanism object", [*HOMES, *registered]
    nearest = difflib.get_close_matches(name, names, n=1) if isinstance(name, str) else []
    if nearest:
        hint = f"did you mean {nearest[0]!r}?"
    elif isinstance(name, type):
        hint = f"pass an object of the class, such as {name.__name__}(k=10, epsilon=1)"
    else:
        hint = "the package of another mechanism must be installed, and register its name as an entry point"
    raise ParameterError(f"`mechanism` must be one of {', '.join(names)}{objects}", f"not {quote(name)}", hint=hint)


def is_own(kind: type[Mechanism]) -> bool:
    """Whether a class is a mechanism of this library.

    >>> is_own(MECHANISMS["joint"])
    True
    """
    return kind.name in HOMES and MECHANISMS[kind.name] is kind


def find_registered() -> dict[str, EntryPoint]:
    """Find the mechanisms that other installed packages register, by name. Their code is loaded when one is used."""
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=GROUP) if each.name not in HOMES}


def _load(registered: EntryPoint) -> type[Mechanism]:
    """Load the class of a registered mechanism."""
    found = registered.load()
    if not (isinstance(found, type) and issubclass(found, Mechanism)):
        raise ParameterError(
            f"the entry point {registered.name} must name a class that inherits from shortlist.mechanisms.Mechanism",
            f"not {registered.value}",
        )
    _check_name(found)
    if found.name != registered.name:
        raise ParameterError(f"the entry point {registered.name} must have the name of its class, {found.name}")
    return found


def _check_name(kind: type[Mechanism]) -> None:
    name = getattr(kind, "name", None)
    if not is_words(name) or (name in HOMES and not is_own(kind)):
        raise ParameterError(
            f"{kind.__name__} must have a name of its own",
            "it has none" if name is None else f"not {quote(name)}",
            hint=f'write name = "my-mechanism" in class {kind.__name__}: a word, or a few',
        )
