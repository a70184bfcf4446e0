"""A privacy budget in a file: releases are charged to it before they are made."""

from shortlist.ledger.account import open_account, refuse_uncharged, require_ledger
from shortlist.ledger.budget import Accounting, Amount, Budget
from shortlist.ledger.ledger import Ledger
from shortlist.ledger.rows import Charge

__all__ = ["Accounting", "Amount", "Budget", "Charge", "Ledger", "open_account", "refuse_uncharged", "require_ledger"]
