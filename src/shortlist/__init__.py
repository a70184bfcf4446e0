"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.errors import ShortlistError
    from shortlist.exact.bits import SeededBits, SystemBits
    from shortlist.mechanisms import CDPPeel, FastJoint, Gamma, Joint, Laplace, PNFJoint, PNFPeel
    from shortlist.privacy import Guarantee, Neighbours, compose
    from shortlist.release import Release
    from shortlist.selection import select
    from shortlist.selector import prepare, top_k
    from shortlist.votes import Query
    from shortlist.votes.check import Check, check
    from shortlist.votes.sources.files import Files

__all__ = [
    "CDPPeel",
    "Check",
    "FastJoint",
    "Files",
    "Gamma",
    "Guarantee",
    "Joint",
    "Laplace",
    "Neighbours",
    "PNFJoint",
    "PNFPeel",
    "Query",
    "Release",
    "SeededBits",
    "ShortlistError",
    "SystemBits",
    "__version__",
    "check",
    "compose",
    "prepare",
    "select",
    "top_k",
]

# Names are imported when they are asked for, so that the command line can answer before NumPy is loaded.
_HOMES = {
    "errors": ["ShortlistError"],
    "exact.bits": ["SeededBits", "SystemBits"],
    "mechanisms": ["CDPPeel", "FastJoint", "Gamma", "Joint", "Laplace", "PNFJoint", "PNFPeel"],
    "privacy": ["Guarantee", "Neighbours", "compose"],
    "release": ["Release"],
    "selection": ["select"],
    "selector": ["prepare", "top_k"],
    "votes": ["Query"],
    "votes.check": ["Check", "check"],
    "votes.sources.files": ["Files"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return globals().setdefault(name, getattr(import_module(f"shortlist.{home}"), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
