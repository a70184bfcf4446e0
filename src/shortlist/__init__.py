"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.errors import ShortlistError
    from shortlist.exact.bits import SeededBits, SystemBits
    from shortlist.mechanisms import (
        Auto,
        CDPPeel,
        FastJoint,
        Gamma,
        Joint,
        Laplace,
        MarginJoint,
        NoisyTop,
        PNFJoint,
        PNFPeel,
        Subset,
    )
    from shortlist.privacy import Guarantee, Neighbours, compose
    from shortlist.release import Release
    from shortlist.selection import select
    from shortlist.selector import prepare, top_k

__all__ = [
    "Auto",
    "CDPPeel",
    "FastJoint",
    "Gamma",
    "Guarantee",
    "Joint",
    "Laplace",
    "MarginJoint",
    "Neighbours",
    "NoisyTop",
    "PNFJoint",
    "PNFPeel",
    "Release",
    "SeededBits",
    "ShortlistError",
    "Subset",
    "SystemBits",
    "__version__",
    "compose",
    "prepare",
    "select",
    "top_k",
]

# Names are imported when they are asked for, so that the command line can answer before NumPy is loaded.
_HOMES = {
    "errors": ["ShortlistError"],
    "exact.bits": ["SeededBits", "SystemBits"],
    "mechanisms": [
        "Auto",
        "CDPPeel",
        "FastJoint",
        "Gamma",
        "Joint",
        "Laplace",
        "MarginJoint",
        "NoisyTop",
        "PNFJoint",
        "PNFPeel",
        "Subset",
    ],
    "privacy": ["Guarantee", "Neighbours", "compose"],
    "release": ["Release"],
    "selection": ["select"],
    "selector": ["prepare", "top_k"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return globals().setdefault(name, getattr(import_module(f"shortlist.{home}"), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
