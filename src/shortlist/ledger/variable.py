"""The environment variable that makes a ledger mandatory for every selection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from shortlist.errors import LedgerError

VARIABLE = "SHORTLIST_LEDGER"


def refuse_uncharged(verb: str) -> None:
    """Refuse a draw that charges nothing, if SHORTLIST_LEDGER is set, whatever randomness it would use."""
    if VARIABLE in os.environ:
        raise LedgerError(
            "every release must be charged, because {variable} is set",
            "{verb} charges nothing",
            hint="use prepare(...).release(), which is charged; unset {variable} if the counts are public or invented",
            variable=VARIABLE,
            verb=verb,
        )


@contextmanager
def lift_variable() -> Iterator[None]:
    """Ignore SHORTLIST_LEDGER in this process and its children, for commands that read invented or public data only."""
    named = os.environ.pop(VARIABLE, None)
    try:
        yield
    finally:
        if named is not None:
            os.environ[VARIABLE] = named
