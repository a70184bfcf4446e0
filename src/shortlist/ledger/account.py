"""The account of one selection. It is charged before votes are read, and finished when the release is made.

A selection without a ledger has an account, too. It charges nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shortlist.errors import LedgerError, ParameterError, ShortlistError
from shortlist.exact.bits import Bits
from shortlist.ledger.ledger import Ledger, PathLike
from shortlist.ledger.rows import Charge
from shortlist.ledger.variable import VARIABLE
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee
from shortlist.release.release import Release


@dataclass(slots=True, kw_only=True)
class Account:
    """What one selection must pay, and to which ledger."""

    ledger: Ledger | None
    mechanism: Mechanism
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    bits: Bits
    note: str | None
    _charge: Charge | None = field(default=None, init=False)

    @property
    def population(self) -> str | None:
        """Whose data the ledger is for."""
        return None if self.ledger is None else self.ledger.population

    def charge(self, d: int) -> None:
        """Charge the release, unless there are too few items for it."""
        if self.ledger is None:
            return
        self.mechanism.check_size(d)
        self._charge = self.ledger.charge(
            self.mechanism, self.guarantee, parameters=self.parameters, bits=self.bits, note=self.note
        )

    def finish(self, release: Release) -> None:
        """Note that the release was made. It is charged already, so a failure here is only a warning."""
        if self.ledger is None or self._charge is None:
            return
        try:
            self.ledger.finish(self._charge, release)
        except Exception as error:
            # The text of an error from elsewhere may hold items.
            reason = str(error) if isinstance(error, ShortlistError) else type(error).__name__
            _warn(f"the release is charged, but the ledger does not say that it was finished: {reason}")


def open_account(
    ledger: Ledger | PathLike | None,
    mechanism: Mechanism,
    guarantee: Guarantee,
    *,
    parameters: Mapping[str, Any],
    bits: Bits,
    note: str | None,
) -> Account:
    """Open the ledger of a selection, and refuse a release that it does not cover."""
    opened = require_ledger(ledger)
    if opened is not None:
        opened.check(mechanism, guarantee, bits=bits, note=note)
    elif note is not None:
        raise ParameterError("{note} must go with {ledger}")
    return Account(ledger=opened, mechanism=mechanism, guarantee=guarantee, parameters=parameters, bits=bits, note=note)


def require_ledger(ledger: Ledger | PathLike | None) -> Ledger | None:
    """Open the ledger that a selection must be charged to: the given one, or that of SHORTLIST_LEDGER."""
    given = Ledger.open(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    # A subclass could charge less.
    if given is not None and type(given) is not Ledger:
        raise ParameterError("{ledger} must be a Ledger or the path of one", "not {type}", type=type(given).__name__)
    named = os.environ.get(VARIABLE)
    if named is None:
        return given
    if not named:
        raise LedgerError("{variable} must name a ledger", "it is empty", variable=VARIABLE)
    if given is None:
        return Ledger.open(named)
    if not os.path.exists(named) or not os.path.samefile(given.path, named):
        raise LedgerError("{ledger} must be the one that {variable} names", "it is another one", variable=VARIABLE)
    return given


def _warn(text: str) -> None:
    """Warn the caller of `select`. If warnings are errors, print the warning, so that the release is not lost."""
    try:
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    except RuntimeWarning:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(text, RuntimeWarning, stacklevel=4)
