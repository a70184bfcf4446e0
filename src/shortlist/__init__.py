"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.accuracy import ErrorBound, NoisyCounts
    from shortlist.errors import ChangedError, DataError, MissingExtraError, OutputError, ParameterError, ShortlistError
    from shortlist.exact.bits import Bits, SeededBits, SystemBits
    from shortlist.mechanisms import (
        Auto,
        CDPPeel,
        FastJoint,
        Gamma,
        Joint,
        Laplace,
        MarginJoint,
        Mechanism,
        NoisyTop,
        PNFJoint,
        PNFPeel,
        Subset,
    )
    from shortlist.privacy import Guarantee, Neighbours, compose
    from shortlist.release import Release
    from shortlist.selection import select
    from shortlist.selector import Selector, prepare, top_k

__all__ = [
    "Auto",
    "Bits",
    "CDPPeel",
    "ChangedError",
    "DataError",
    "ErrorBound",
    "FastJoint",
    "Gamma",
    "Guarantee",
    "Joint",
    "Laplace",
    "MarginJoint",
    "Mechanism",
    "MissingExtraError",
    "Neighbours",
    "NoisyCounts",
    "NoisyTop",
    "OutputError",
    "PNFJoint",
    "PNFPeel",
    "ParameterError",
    "Release",
    "SeededBits",
    "Selector",
    "ShortlistError",
    "Subset",
    "SystemBits",
    "__version__",
    "compose",
    "prepare",
    "select",
    "top_k",
]

# Names are imported on first use, so that the command line can print help before NumPy is loaded.
_HOMES = {
    "accuracy": ["ErrorBound", "NoisyCounts"],
    "errors": ["ChangedError", "DataError", "MissingExtraError", "OutputError", "ParameterError", "ShortlistError"],
    "exact.bits": ["Bits", "SeededBits", "SystemBits"],
    "mechanisms": [
        "Auto",
        "CDPPeel",
        "FastJoint",
        "Gamma",
        "Joint",
        "Laplace",
        "MarginJoint",
        "Mechanism",
        "NoisyTop",
        "PNFJoint",
        "PNFPeel",
        "Subset",
    ],
    "privacy": ["Guarantee", "Neighbours", "compose"],
    "release": ["Release"],
    "selection": ["select"],
    "selector": ["Selector", "prepare", "top_k"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return globals().setdefault(name, getattr(import_module(f"shortlist.{home}"), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
