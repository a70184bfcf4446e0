"""A privacy budget in a file: releases are charged to it before they are made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shortlist.errors import LedgerError

if TYPE_CHECKING:
    from shortlist.ledger.charging import Account

VARIABLE = "SHORTLIST_LEDGER"
"""The environment variable that makes a ledger mandatory for every selection."""

latest: Account | None = None
"""The account that was opened last. If its run fails or is interrupted, it says whether it was charged."""


def refuse_uncharged(verb: str) -> None:
    """Refuse a draw that charges nothing, if SHORTLIST_LEDGER is set, whatever randomness it would use."""
    if VARIABLE in os.environ:
        raise LedgerError(
            f"every release must be charged, because {VARIABLE} is set",
            f"{verb} charges nothing",
            hint=f"use prepare(...).release(), which is charged; unset {VARIABLE} if the counts are public or invented",
        )


@contextmanager
def lift_variable() -> Iterator[None]:
    """Ignore SHORTLIST_LEDGER in this process and its children, for commands that read invented or public data only."""
    global latest
    named = os.environ.pop(VARIABLE, None)
    try:
        yield
    finally:
        latest = None  # what is released of such data protects nobody
        if named is not None:
            os.environ[VARIABLE] = named
