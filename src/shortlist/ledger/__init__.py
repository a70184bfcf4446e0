"""A privacy budget in a file: releases are charged to it before they are made."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shortlist.ledger.account import open_account, require_ledger
    from shortlist.ledger.budget import Accounting, Amount, Budget
    from shortlist.ledger.ledger import Ledger
    from shortlist.ledger.rows import Charge
    from shortlist.ledger.variable import refuse_uncharged

__all__ = ["Accounting", "Amount", "Budget", "Charge", "Ledger", "open_account", "refuse_uncharged", "require_ledger"]

_HOMES = {
    "Accounting": "budget",
    "Amount": "budget",
    "Budget": "budget",
    "Charge": "rows",
    "Ledger": "ledger",
    "open_account": "account",
    "refuse_uncharged": "variable",
    "require_ledger": "account",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: a list without a release needs no ledger."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"shortlist.ledger.{_HOMES[name]}"), name))
