"""Differentially private top-k selection, sampled exactly and with secure randomness."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist.audits.report import AuditReport
    from shortlist.audits.run import audit
    from shortlist.errors import (
        BudgetError,
        ChangedError,
        DataError,
        LedgerError,
        MissingExtraError,
        OutputError,
        ParameterError,
        ShortlistError,
    )
    from shortlist.exact.bits import Bits, SeededBits, SystemBits
    from shortlist.ledger import Ledger
    from shortlist.mechanisms import (
        Auto,
        CDPPeel,
        FastJoint,
        Joint,
        LimitedDomain,
        MarginJoint,
        Mechanism,
        NoisyCounts,
        PNFJoint,
        PNFPeel,
        Stable,
        Subset,
        Threshold,
    )
    from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts
    from shortlist.planning.plan import Plan, plan
    from shortlist.privacy import Guarantee, Neighbours, compose
    from shortlist.release import Release, UsefulnessWarning
    from shortlist.selection.from_counts import Selector, prepare, top_k
    from shortlist.selection.from_votes import select
    from shortlist.votes import Query
    from shortlist.votes.check import Check, check
    from shortlist.votes.files import Files

__all__ = [
    "Assessment",
    "AuditReport",
    "Auto",
    "Bits",
    "BudgetError",
    "CDPPeel",
    "ChangedError",
    "Check",
    "DataError",
    "ErrorBound",
    "FastJoint",
    "Files",
    "Guarantee",
    "Joint",
    "Ledger",
    "LedgerError",
    "LimitedDomain",
    "MarginJoint",
    "Mechanism",
    "MissingExtraError",
    "Neighbours",
    "NoisyCounts",
    "OutputError",
    "PNFJoint",
    "PNFPeel",
    "ParameterError",
    "Plan",
    "Query",
    "Release",
    "ReleasedCounts",
    "SeededBits",
    "Selector",
    "ShortlistError",
    "Stable",
    "Subset",
    "SystemBits",
    "Threshold",
    "UsefulnessWarning",
    "__version__",
    "audit",
    "check",
    "compose",
    "plan",
    "prepare",
    "select",
    "top_k",
]

# Names are imported on first use, so that the command line can print help before NumPy is loaded. All other names of
# `__all__` are mechanisms.
_HOMES = {
    "audits.report": ["AuditReport"],
    "audits.run": ["audit"],
    "mechanisms.accuracy": ["Assessment", "ErrorBound", "ReleasedCounts"],
    "errors": [
        "BudgetError",
        "ChangedError",
        "DataError",
        "LedgerError",
        "MissingExtraError",
        "OutputError",
        "ParameterError",
        "ShortlistError",
    ],
    "exact.bits": ["Bits", "SeededBits", "SystemBits"],
    "ledger": ["Ledger"],
    "planning.plan": ["Plan", "plan"],
    "privacy": ["Guarantee", "Neighbours", "compose"],
    "release": ["Release", "UsefulnessWarning"],
    "selection.from_votes": ["select"],
    "selection.from_counts": ["Selector", "prepare", "top_k"],
    "votes": ["Query"],
    "votes.check": ["Check", "check"],
    "votes.files": ["Files"],
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "mechanisms")
    return globals().setdefault(name, getattr(import_module(f"shortlist.{home}"), name))


def __dir__() -> list[str]:
    return __all__
