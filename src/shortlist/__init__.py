"""Differentially private top-k selection, sampled exactly and with secure randomness.

Mechanisms are in `shortlist.mechanisms`, and sources of random bits for tests in `shortlist.testing`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlist.version import __version__

if TYPE_CHECKING:
    from shortlist import mechanisms as mechanisms
    from shortlist import privacy as privacy
    from shortlist import release as release
    from shortlist import testing as testing
    from shortlist.audits.run import AuditReport, audit
    from shortlist.errors import (
        BudgetError,
        DataError,
        LedgerError,
        MissingExtraError,
        OutputError,
        ParameterError,
        ShortlistError,
    )
    from shortlist.ledger.charging import Ledger
    from shortlist.planning.plan import Plan, plan
    from shortlist.privacy import Guarantee, compose
    from shortlist.release import GroupList, Release, ReleaseFamily
    from shortlist.selection import Selector, prepare, select, top_k
    from shortlist.usefulness import UsefulnessWarning
    from shortlist.votes.check import Check, check
    from shortlist.votes.files import Files
    from shortlist.votes.queries import Query

__all__ = [
    "AuditReport",
    "BudgetError",
    "Check",
    "DataError",
    "Files",
    "GroupList",
    "Guarantee",
    "Ledger",
    "LedgerError",
    "MissingExtraError",
    "OutputError",
    "ParameterError",
    "Plan",
    "Query",
    "Release",
    "ReleaseFamily",
    "Selector",
    "ShortlistError",
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
# `__all__` are errors.
_HOMES = {
    "audits.run": ["AuditReport", "audit"],
    "ledger.charging": ["Ledger"],
    "planning.plan": ["Plan", "plan"],
    "privacy": ["Guarantee", "compose"],
    "release": ["GroupList", "Release", "ReleaseFamily"],
    "selection": ["Selector", "prepare", "select", "top_k"],
    "usefulness": ["UsefulnessWarning"],
    "votes.check": ["Check", "check"],
    "votes.files": ["Files"],
    "votes.queries": ["Query"],
}
_MODULES = {"mechanisms", "privacy", "release", "testing"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"shortlist.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((home for home, names in _HOMES.items() if name in names), "errors")
    return globals().setdefault(name, getattr(import_module(f"shortlist.{home}"), name))


def __dir__() -> list[str]:
    return __all__
