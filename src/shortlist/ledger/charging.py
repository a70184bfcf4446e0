"""The ledger: create a budget, charge releases to it, and say what was charged.

Every selection has an account. It is charged before votes are read, and finished when the release is made. The account
of a selection without a ledger charges nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from shortlist.errors import LedgerError, ParameterError, ShortlistError
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.ledger import VARIABLE
from shortlist.ledger.budget import Amount, Budget, add_up
from shortlist.ledger.file import File, PathLike
from shortlist.ledger.rows import (
    Charge,
    Transaction,
    insert,
    read_budget,
    read_charges,
    read_sums,
    write_budget,
    write_guarantee,
)
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real
from shortlist.record import encode_parameters
from shortlist.release import Publication, draw_identifier, read_clock, show_warning
from shortlist.terms import Terms, check_text
from shortlist.version import __version__

_TIMEOUT = 30.0


class Ledger:
    """A privacy budget in a file, which releases are charged to before they are made.

    Claim  All releases charged to a ledger satisfy its (ε, δ) together, also if each is chosen after seeing the
           earlier ones. What is spent and left are sums. They are not guarantees.
    Proof  budget.proof.md.

    >>> import tempfile
    >>> from shortlist.mechanisms import Joint
    >>> ledger = Ledger.create(tempfile.mkdtemp() + "/budget.db", epsilon=10, population="customers EU")
    >>> charge = ledger.charge(Joint(k=10, epsilon="0.5"), note="weekly top 10")
    >>> print(ledger.left.epsilon, ledger.afford(Joint(k=10, epsilon="0.5")))
    19/2 19
    """

    __slots__ = ("_last", "_store", "budget", "id", "population")

    id: str
    """The random identifier of the ledger. A record names the ledger that it was charged to by it."""
    budget: Budget
    """What all releases may have together, as the file said when the ledger was opened."""
    population: str | None
    """Whose data the ledger is for."""
    _store: File
    _last: int

    def __init__(self, *wrong: Any, **parameters: Any) -> None:
        raise ParameterError(
            "a ledger must be opened or created",
            hint="write Ledger.open('budget.db') for a file that exists, or Ledger.create('budget.db', epsilon=10)",
        )

    @classmethod
    def create(
        cls,
        path: PathLike,
        *,
        epsilon: Real | None = None,
        delta: Real = 0,
        accounting: str | None = None,
        basic_share: Real | None = None,
        neighbours: str = "add-remove",
        unit: str = "person",
        population: str | None = None,
    ) -> Ledger:
        """Create a ledger in a new file.

        `accounting` defines how releases are added up, and cannot be changed later: `basic` (epsilons and deltas),
        `zcdp` (rhos), or `both`. With `both`, `basic_share` is the share of delta for basic, by default a half. The
        default accounting is `both` for a budget with a delta, and `basic` for one without.
        """
        if epsilon is None:
            raise ParameterError("`epsilon` must be given", hint="it is what all releases may have together")
        budget = Budget.plan(
            epsilon=epsilon,
            delta=delta,
            accounting=accounting,
            basic_share=basic_share,
            neighbours=neighbours,
            unit=unit,
        )
        row = {
            "ledger": draw_identifier(),
            "created": read_clock().isoformat(),
            "version": __version__,
            "population": check_text(population, name="population"),
            **write_budget(budget),
        }
        File.locate(path, _TIMEOUT).create(row)
        return cls.open(path)

    @classmethod
    def open(cls, path: PathLike, *, timeout: float = _TIMEOUT) -> Ledger:
        """Open a ledger. `timeout` is how many seconds to wait for other processes that write to it."""
        ledger = cls.__new__(cls)
        ledger._store, ledger._last = File.locate(path, timeout), 0
        with ledger._store.open() as transaction:
            ledger.id, ledger.budget, ledger.population = read_budget(transaction)
        return ledger

    def __repr__(self) -> str:
        return f"<Ledger of {self.budget.guarantee}; left: {self.budget.write(self.left, up=False)}>"

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return self._store.path

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, in the order in which they were made."""
        with self._begin() as transaction:
            return tuple(read_charges(transaction, self.budget))

    @property
    def spent(self) -> Amount:
        """The sum of all charges."""
        with self._begin() as transaction:
            return add_up(read_sums(transaction, self.budget))

    @property
    def left(self) -> Amount:
        """What is left of the budget, in each accounting that it uses."""
        return self.budget.subtract(self.spent)

    def afford(self, release: Mechanism | Guarantee) -> int:
        """Count how many more releases like this one the budget covers."""
        return self.budget.afford(self.spent, release.guarantee if isinstance(release, Mechanism) else release)

    def charge(
        self,
        mechanism: Mechanism,
        guarantee: Guarantee | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        bits: Bits | None = None,
        note: str | None = None,
        identifier: str | None = None,
    ) -> Charge:
        """Charge one release, before votes are read and before anything is drawn.

        The guarantee and the public parameters are those of the mechanism, unless the release states others. The
        charge is on the disk when this returns, and is never removed. Two draws are two charges. `identifier` is that
        of the release, or a new one.
        """
        stated = self._check_chargeable(mechanism, guarantee, bits, note)
        public = encode_parameters(mechanism.parameters if parameters is None else parameters)
        row = {
            "identifier": identifier or draw_identifier(),
            "made": read_clock().isoformat(),
            "version": __version__,
            "mechanism": mechanism.name,
            "parameters": json.dumps(public, ensure_ascii=False),
            "note": note or None,
            **write_guarantee(stated),
        }
        with self._begin(write=True) as transaction:
            self._check_covered(add_up(read_sums(transaction, self.budget)), stated)
            number = insert(transaction, "charge", row)
            (charge,) = read_charges(transaction, self.budget, only=number)
        self._last = max(self._last, number)
        return charge

    def check(
        self,
        mechanism: Mechanism,
        guarantee: Guarantee | None = None,
        *,
        bits: Bits | None = None,
        note: str | None = None,
    ) -> Guarantee:
        """Refuse a release that this ledger does not charge, and return the guarantee that it would charge.

        Nothing is charged. Other processes may charge meanwhile, so `charge` decides again.
        """
        stated = self._check_chargeable(mechanism, guarantee, bits, note)
        self._check_covered(self.spent, stated)
        return stated

    def finish(self, charge: Charge, release: Publication) -> None:
        """Note that the release of a charge was made, with the hash of its record."""
        if not isinstance(charge, Charge) or not isinstance(release, Publication):
            raise ParameterError("`charge` and `release` must be a charge of this ledger and its release")
        row = {"finished": read_clock().isoformat(), "release": hash_record(release), "number": charge.number}
        with self._begin(write=True) as transaction:
            stored = read_charges(transaction, self.budget, only=charge.number)
            if charge.release is not None or charge not in stored:
                raise ParameterError("`charge` must be one of this ledger without a finished release")
            transaction.execute("UPDATE charge SET finished = :finished, release = :release WHERE id = :number", row)

    def find_charge(self, identifier: str) -> int | None:
        """Find the number of the charge for the release with an identifier."""
        with self._begin() as transaction:
            query = "SELECT id FROM charge WHERE identifier = :identifier"
            row = transaction.execute(query, {"identifier": identifier}).fetchone()
        return row and int(row["id"])

    def verify(self, release: Publication) -> Charge:
        """Find the charge that paid for a release. Refuse a record that is not the one that was charged."""
        if not isinstance(release, Publication):
            raise ParameterError("`release` must be a release", f"not {type(release).__name__}")
        if release.charge is None:
            raise LedgerError("the record must name a charge", "this release was charged to no ledger")
        if release.ledger != self.id:
            raise LedgerError("the record must be charged to this ledger", "it names another one")
        with self._begin() as transaction:
            found = next(read_charges(transaction, self.budget, only=release.charge), None)
        if found is None:
            raise LedgerError("the record must name a charge of this ledger", "there is none of its number")
        if found.release is None:
            raise LedgerError(
                "the charge of the record must have a finished release",
                "it has none: its run ended early, or the record was made by something else",
            )
        if (found.id, found.release) != (release.id, hash_record(release)):
            raise LedgerError("the record must be the one that was charged", "it was changed, or is another one")
        return found

    @contextmanager
    def _begin(self, *, write: bool = False) -> Iterator[Transaction]:
        """Open the store. Refuse it if it was replaced by another ledger, or by an earlier copy: it would pay again."""
        seen = self._last  # before the transaction: other threads may charge meanwhile
        with self._store.open(write=write) as transaction:
            (last,) = transaction.execute("SELECT COALESCE(MAX(id), 0) FROM charge").fetchone()
            if read_budget(transaction) != (self.id, self.budget, self.population) or last < seen:
                raise LedgerError(
                    "the ledger must be the one that was opened",
                    f"{str(self.path)!r} is another one now, or an earlier copy",
                    hint="open it again",
                )
            self._last = max(self._last, last)
            yield transaction

    def _check_chargeable(
        self, mechanism: Mechanism, guarantee: Guarantee | None, bits: Bits | None, note: str | None
    ) -> Guarantee:
        """Refuse a release that this ledger can never charge."""
        if not isinstance(mechanism, Mechanism):
            raise ParameterError("`mechanism` must be a mechanism object", f"not {type(mechanism).__name__}")
        if not is_secure(read_bits(bits)):
            raise ParameterError(
                "a release that is charged to a ledger must use secure randomness",
                "this one can be repeated",
                hint="leave `bits` out, or the ledger",
            )
        check_text(note, name="note")
        stated = mechanism.guarantee if guarantee is None else guarantee
        self.budget.check(stated)
        return stated

    def _check_covered(self, spent: Amount, guarantee: Guarantee) -> None:
        if not self.budget.afford(spent, guarantee):
            raise self.budget.refuse(spent, guarantee)


latest: Account | None = None
"""The account that was opened last and is not finished. If its run is interrupted, it says whether it was charged."""


@dataclass(slots=True, kw_only=True)
class Account:
    """What one selection must pay, to which ledger, and what its record says about that."""

    terms: Terms
    bits: Bits
    ledger: Ledger | None
    note: str | None
    period: str | None
    id: str = field(default_factory=draw_identifier)
    made: datetime = field(default_factory=read_clock)
    _charge: Charge | None = field(default=None, init=False)

    def charge(self, d: int) -> None:
        """Charge the release, unless there are too few items for it."""
        if self.ledger is None:
            return
        mechanism, guarantee = self.terms.mechanism, self.terms.guarantee
        mechanism.check_size(d)
        self._charge = self.ledger.charge(
            mechanism,
            guarantee,
            parameters=self.terms.parameters,
            bits=self.bits,
            note=self.note,
            identifier=self.id,
        )

    def find_charge(self) -> int | None:
        """Find the number of the charge in the ledger, also if the run was interrupted while it was charged."""
        return None if self.ledger is None else self.ledger.find_charge(self.id)

    def describe(self) -> dict[str, Any]:
        """Describe when the release was charged or asked for, what for, and by which charge it was paid."""
        said = {"id": self.id, "note": self.note, "period": self.period}
        if self.ledger is None or self._charge is None:
            return {**said, "made": self.made}
        paid = {"population": self.ledger.population, "ledger": self.ledger.id, "charge": self._charge.number}
        return {**said, **paid, "made": self._charge.made}

    def finish(self, release: Publication) -> None:
        """Note that the release was made. It is charged already, so a failure here is only a warning."""
        if self.ledger is None or self._charge is None:
            return
        try:
            self.ledger.finish(self._charge, release)
            global latest
            latest = None if latest is self else latest
        except Exception as error:
            # The text of an error from elsewhere may hold items.
            reason = str(error) if isinstance(error, ShortlistError) else type(error).__name__
            text = f"the release is charged, but the ledger does not say that it was finished: {reason}"
            show_warning(text, RuntimeWarning, stacklevel=5)


def open_account(
    ledger: Ledger | PathLike | None, terms: Terms, *, bits: Bits, note: str | None = None, period: str | None = None
) -> Account:
    """Open the ledger of a selection, and refuse a release that it does not cover."""
    opened = require_ledger(ledger)
    account = Account(
        terms=terms,
        bits=bits,
        ledger=opened,
        note=check_text(note, name="note"),
        period=check_text(period, name="period"),
    )
    encode_parameters(terms.parameters)  # a release whose record cannot be written is refused before it is paid
    if opened is not None:
        opened.check(terms.mechanism, terms.guarantee, bits=bits, note=note)
        global latest
        latest = account
    return account


def require_ledger(ledger: Ledger | PathLike | None) -> Ledger | None:
    """Open the ledger that a selection must be charged to: the given one, or that of SHORTLIST_LEDGER."""
    given = Ledger.open(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    # A subclass could charge less.
    if given is not None and type(given) is not Ledger:
        raise ParameterError("`ledger` must be a Ledger or the path of one", f"not {type(given).__name__}")
    named = os.environ.get(VARIABLE)
    if named is None:
        return given
    if not named:
        raise LedgerError(f"{VARIABLE} must name a ledger", "it is empty")
    if given is None:
        return Ledger.open(named)
    if not os.path.exists(named) or not os.path.samefile(given.path, named):
        raise LedgerError(f"`ledger` must be the one that {VARIABLE} names", "it is another one")
    return given


def hash_record(release: Publication) -> str:
    """Compute the SHA-256 of a release's JSON record, as `sha256sum` does of the file."""
    return hashlib.sha256(release.to_json().encode()).hexdigest()
