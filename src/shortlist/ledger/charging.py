"""The ledger: create a budget, charge releases to it, and say what was charged.

Every selection has an account. It is charged before votes are read, and finished when the release is made. The account
of a selection without a ledger charges nothing.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from shortlist import ledger as package
from shortlist.atomic_files import PathLike, write_whole
from shortlist.errors import LedgerError, ParameterError, ShortlistError, refuse_given
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.ledger.budget import Amount, Budget, add_up
from shortlist.ledger.calendar import Calendar
from shortlist.ledger.file import File
from shortlist.ledger.once import Once, ReleasedBeforeError
from shortlist.ledger.rows import (
    Charge,
    ConnectionCutError,
    Row,
    Store,
    Transaction,
    find_last,
    insert,
    read_budget,
    read_charges,
    read_sums,
    refuse_other_times,
    write_budget,
    write_guarantee,
)
from shortlist.mechanisms import Mechanism, is_own
from shortlist.periods import Period, Span
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote
from shortlist.record import compute_hash, encode_parameters
from shortlist.release import Publication, draw_identifier, read_clock
from shortlist.terms import Terms, check_text
from shortlist.usefulness import show_warning
from shortlist.version import __version__

_Result = TypeVar("_Result")

_TIMEOUT = 30.0
_LONGEST_TIMEOUT = 10**6
_OTHER_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")
"""How an address begins. It may hold a password, which the error about a missing file would show."""
_PAUSE = 0.2
"""The seconds between two attempts to reach a server."""


class Ledger:
    """A privacy budget in a file or a database, which releases are charged to before they are made.

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

    __slots__ = ("_last", "budget", "calendar", "id", "population", "store")

    id: str
    """The random identifier of the ledger. A record names the ledger that it was charged to by it."""
    budget: Budget
    """What all releases may have together, as the store said when the ledger was opened. In a ledger with periods, it
    is what all releases of one period may have."""
    calendar: Calendar | None
    """The periods that have a budget each, with the total over all of them; None if the ledger has no periods."""
    population: str | None
    """Whose data the ledger is for."""
    store: Store
    """Where the ledger is kept: its `location`, and the `grants` that let others use it on a server."""
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
        rho_delta_share: Real | None = None,
        neighbours: str = "add-remove",
        unit: str = "person",
        population: str | None = None,
        per: str | None = None,
        total_epsilon: Real | None = None,
        total_delta: Real | None = None,
        time_zone: str | None = None,
    ) -> Ledger:
        """Create a ledger in a new file, or in a new schema of the database that a PostgreSQL address names.

        An address is a text: `postgresql://user@host/database?schema=budget_eu`. The schema is `shortlist` if it names
        none.

        `accounting` defines how releases are added up, and cannot be changed later: `basic` (epsilons and deltas),
        `zcdp` (rhos), or `both`. With `both`, `basic_share` is the share of delta for basic, by default a half. Of what
        is left for zcdp, `rho_delta_share` is for releases whose rho needs a delta, by default a tenth. The default
        accounting is `both` for a budget with a delta, and `basic` for one without.

        With `per` ("day", "week", "month", "quarter" or "year"), `epsilon` and `delta` are for each period, and protect
        one person in one period. Periods begin in `time_zone`, which is UTC by itself. `total_epsilon` and
        `total_delta` are for the whole person, over all periods. Without `total_epsilon` there is no total, and
        `total_delta` is by default `delta`.
        """
        if epsilon is None:
            raise ParameterError("`epsilon` must be given", hint="it is what all releases may have together")
        plan = partial(
            Budget.plan,
            accounting=accounting,
            basic_share=basic_share,
            rho_delta_share=rho_delta_share,
            neighbours=neighbours,
        )
        total = None
        if total_epsilon is not None:
            allowed = delta if total_delta is None else total_delta
            total = plan(epsilon=total_epsilon, delta=allowed, unit=unit, prefix="total_")
        calendar = Calendar.plan(per=per, time_zone=time_zone, total=total, total_delta=total_delta)
        budget = plan(epsilon=epsilon, delta=delta, unit=unit if calendar is None else calendar.every.name_unit(unit))
        if total is not None and total.guarantee.epsilon < budget.guarantee.epsilon:
            raise ParameterError("`total_epsilon` must be at least `epsilon`, which is for one period")
        row: Row = {
            "id": 1,
            "ledger": draw_identifier(),
            "created": read_clock().isoformat(),
            "version": __version__,
            "population": check_text(population, name="population"),
            **write_budget(budget, calendar),
        }
        _locate(path, _TIMEOUT).create(row)
        return cls.open(path)

    @classmethod
    def open(cls, path: PathLike, *, timeout: float = _TIMEOUT) -> Ledger:
        """Open a ledger: the path of a file, or a PostgreSQL address.

        `timeout` is how many seconds to wait for other processes that write to it. If the connection to a server is
        cut later, this is also how long the ledger tries to reach it again.
        """
        ledger = cls.__new__(cls)
        ledger.store, ledger._last = _locate(path, timeout), 0
        with ledger.store.open() as transaction:
            ledger.id, ledger.budget, ledger.calendar, ledger.population = read_budget(transaction)
        return ledger

    def __repr__(self) -> str:
        if self.calendar is None:
            return f"<Ledger of {self.budget.guarantee}; left: {self.budget.write(self.left, up=False)}>"
        total = "" if self.calendar.total is None else f", and of {self.calendar.total.guarantee} in total"
        return f"<Ledger of {self.budget.guarantee} in each {self.calendar.every}{total}>"

    @property
    def path(self) -> Path | None:
        """The file of the ledger. A ledger on a server has none."""
        return self.store.path if isinstance(self.store, File) else None

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, in the order in which they were made."""
        return self._run(lambda transaction: tuple(read_charges(transaction, self.budget)))

    @property
    def whole(self) -> Budget | None:
        """The budget for all releases: the only one, or the total over all periods; None if there is no total."""
        return self.budget if self.calendar is None else self.calendar.total

    @property
    def spent(self) -> Amount:
        """The sum of all charges, of all periods."""
        return self._run(lambda transaction: add_up(read_sums(transaction, self.budget)))

    @property
    def left(self) -> Amount:
        """What is left of the budget, in each accounting that it uses. In a ledger with periods, it is of the total."""
        if self.whole is None:
            raise ParameterError(
                "a ledger with periods must have a total to have something left of it",
                "this one has no total",
                hint="ask for one period: `ledger.left_in('2026-W46')`",
            )
        return self.whole.subtract(self.spent)

    def spent_in(self, period: str | date) -> Amount:
        """The sum of the charges of one period."""
        return self._list_budgets(period)[0].spent

    def left_in(self, period: str | date) -> Amount:
        """What is left of the budget of one period. The total may have less."""
        return self.budget.subtract(self.spent_in(period))

    def write_left(self, period: str | date | None = None) -> str:
        """Write what is left of the budget, or of those of a period and of the total."""
        left = {name: budget.write_left(spent) for name, budget, spent in self._list_budgets(period)}
        return "; ".join(text if self.calendar is None else f"of {name}: {text}" for name, text in left.items())

    def afford(self, release: Mechanism | Guarantee, period: str | date | None = None) -> int:
        """Count how many more releases like this one are covered: in a period, or in one without charges."""
        stated = self._restate(release)
        return min(each.budget.afford(each.spent, each.budget.restate(stated)) for each in self._list_budgets(period))

    def check(self, release: Mechanism | Guarantee, period: str | date | None = None) -> None:
        """Refuse a release that is not covered: in a period, or in one without charges. Nothing is charged."""
        _check_budgets(self._list_budgets(period), self._restate(release))

    def charge(
        self,
        mechanism: Mechanism,
        guarantee: Guarantee | None = None,
        *,
        bits: Bits | None = None,
        note: str | None = None,
        period: Span | str | date | None = None,
    ) -> Charge:
        """Charge one release, before votes are read and before anything is drawn.

        The guarantee is that of the mechanism, unless the release states another one. The charge is on the disk when
        this returns, and is never removed. Two draws are two charges. A ledger with periods needs the `period` that the
        votes are of. The caller vouches for it.
        """
        if not isinstance(mechanism, Mechanism):
            raise ParameterError("`mechanism` must be a mechanism object", f"not {type(mechanism).__name__}")
        return self._charge(
            mechanism,
            mechanism.guarantee if guarantee is None else guarantee,
            mechanism.parameters,
            period,
            identifier=draw_identifier(),
            bits=read_bits(bits),
            note=check_text(note, name="note"),
        )

    def _charge(
        self,
        mechanism: Mechanism,
        guarantee: Guarantee,
        parameters: Mapping[str, Any],
        days: Span | str | date | None,
        *,
        identifier: str,
        bits: Bits,
        note: str | None,
        once: Once | None = None,
        time: str | None = None,
        time_kind: str | None = None,
    ) -> Charge:
        """Charge the release with an identifier: to the period of its days, if there are periods.

        The days are those whose votes are kept by their column `time`, whose values are of one `time_kind`, or a period
        that the caller vouches for.
        """
        if not is_secure(bits):
            raise ParameterError(
                "a release that is charged to a ledger must use secure randomness",
                "this one can be repeated",
                hint="leave `bits` out, or the ledger",
            )
        period = None if self.calendar is None else self.calendar.find(days, read_clock())
        stated = self._restate(guarantee)
        times: Row = {"time_column": time, "time_kind": time_kind}
        row: Row = {
            "identifier": identifier,
            "made": read_clock().isoformat(),
            "version": __version__,
            "user_name": _name_user(),
            "host": socket.gethostname(),
            "mechanism": mechanism.name,
            "parameters": json.dumps(encode_parameters(parameters), ensure_ascii=False),
            "note": note,
            "once_key": None if once is None else once.key,
            **({} if period is None else {"period": str(period), **times}),
            **write_guarantee(stated),
        }

        def add(transaction: Transaction) -> Charge:
            # It is there already if the connection was cut after the commit, before the answer arrived.
            number = _find_number(transaction, identifier)
            if number is None:
                if once is not None and once.recall(transaction) is not None:
                    raise ReleasedBeforeError("the key must be new", "it was released meanwhile")
                if period is not None:
                    refuse_other_times(transaction, times)
                _check_budgets(self._read_budgets(transaction, period), stated, before="nothing was computed; ")
                number = find_last(transaction) + 1
                insert(transaction, "charge", {"id": number, **row})
            (charge,) = read_charges(transaction, self.budget, only=number)
            return charge

        charge = self._run(add, write=True)
        self._last = max(self._last, charge.number)
        return charge

    def finish(self, charge: Charge, release: Publication) -> None:
        """Note that the release of a charge was made, with the hash of its record. To repeat it changes nothing."""
        if not isinstance(charge, Charge) or not isinstance(release, Publication):
            raise ParameterError("`charge` and `release` must be a charge of this ledger and its release")
        self._finish(charge, release, None)

    def _finish(self, charge: Charge, release: Publication, once: Once | None) -> Publication:
        """Finish a charge, and return the release to hand out: of a key, that of the run that was first to store it."""
        row: Row = {"finished": read_clock().isoformat(), "release": compute_hash(release), "number": charge.number}

        def note(transaction: Transaction) -> Publication:
            first = None if once is None else once.recall(transaction)
            if first is not None and first.charge != charge.number:
                return first
            stored = next(read_charges(transaction, self.budget, only=charge.number), None)
            if stored is not None and stored.id == charge.id and stored.release == row["release"]:
                return release
            if charge.release is not None or stored != charge:
                raise ParameterError("`charge` must be one of this ledger without a finished release")
            transaction.execute("UPDATE charge SET finished = :finished, release = :release WHERE id = :number", row)
            if once is not None:
                once.store(transaction, charge.number, release)
            return release

        return self._run(note, write=True)

    def report(
        self,
        path: PathLike,
        *,
        purpose: str | None = None,
        controller: str | None = None,
        contact: str | None = None,
        data: str | None = None,
        recipients: str | None = None,
        audit: PathLike | None = None,
        force: bool = False,
    ) -> None:
        """Write the page that a privacy officer signs: one HTML file that needs no network.

        What is not given is a gap to fill in by hand: why the lists are published (`purpose`), by whom (`controller`),
        who answers questions (`contact`), what the votes are (`data`), who gets the lists (`recipients`), and the file
        that `shortlist audit --output audit.json` wrote.
        """
        from shortlist.ledger.report import write_report

        if isinstance(path, str | os.PathLike) and os.path.exists(path) and self.store.is_same(_locate(path, _TIMEOUT)):
            raise ParameterError("`path` must be another file than the ledger", "a lost budget cannot start again")
        said = {"purpose": purpose, "controller": controller, "contact": contact}
        text = write_report(self, {**said, "data": data, "recipients": recipients}, audit)
        write_whole(path, text, force=force)

    def verify(self, release: Publication) -> Charge:
        """Find the charge that paid for a release. Refuse a record that is not the one that was charged."""
        if not isinstance(release, Publication):
            raise ParameterError("`release` must be a release", f"not {type(release).__name__}")
        if release.charge is None:
            raise LedgerError("the record must name a charge", "this release was charged to no ledger")
        if release.ledger != self.id:
            raise LedgerError("the record must be charged to this ledger", "it names another one")
        number = release.charge

        def find(transaction: Transaction) -> Charge | None:
            # A larger number may be larger than those that a database knows.
            known = number <= find_last(transaction)
            return next(read_charges(transaction, self.budget, only=number), None) if known else None

        found = self._run(find)
        if found is None:
            raise LedgerError(
                "the record must name a charge of this ledger",
                "there is none of its number: this ledger is an earlier copy, or the record was charged to a copy",
            )
        if found.id != release.id:
            raise LedgerError(
                "the record must be the one that was charged",
                "its charge paid for another release: the record was changed, or it was charged to a copy of this "
                "ledger, or this ledger is a copy",
            )
        if found.release is None:
            raise LedgerError(
                "the charge of the record must have a finished release",
                "it has none: its run ended early, or the record was made by something else",
            )
        if found.release != compute_hash(release):
            raise LedgerError("the record must be the one that was charged", "it was changed, or is another one")
        return found

    def _run(self, work: Callable[[Transaction], _Result], *, write: bool = False) -> _Result:
        """Do work in one transaction. If the connection is cut, do it again: work must be right if it was done before.

        Refuse the store if it was replaced by another ledger, or by an earlier copy: it would pay again.
        """
        end = time.monotonic() + self.store.timeout
        while True:
            seen = self._last  # before the transaction: other threads may charge meanwhile
            try:
                with self.store.open(write=write) as transaction:
                    last = find_last(transaction)
                    opened = (self.id, self.budget, self.calendar, self.population)
                    if read_budget(transaction) != opened or last < seen:
                        raise LedgerError(
                            "the ledger must be the one that was opened",
                            f"{self.store.location!r} is another one now, or an earlier copy",
                            hint="open it again",
                        )
                    self._last = max(self._last, last)
                    return work(transaction)
            except ConnectionCutError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_PAUSE)

    def _restate(self, release: Mechanism | Guarantee) -> Guarantee:
        """State a guarantee for the unit of this ledger, if it implies that. Refuse one that can never be added up."""
        stated = release.guarantee if isinstance(release, Mechanism) else release
        if self.calendar is not None and isinstance(stated, Guarantee):
            stated = self.calendar.restate(stated, self.budget.guarantee.unit)
        self.budget.check(stated)
        return stated

    def _list_budgets(self, period: str | date | None) -> list[_Spending]:
        """Read the budgets that must cover a release of a period, or of one without charges."""
        if self.calendar is None:
            refuse_given({"period": period}, "a ledger that has periods", "this one has one budget for all")
        only = None if period is None or self.calendar is None else self.calendar.read(period)
        return self._run(lambda transaction: self._read_budgets(transaction, only))

    def _read_budgets(self, transaction: Transaction, period: Period | None) -> list[_Spending]:
        """Read the budgets that must cover a release. Where there are periods, one that is not named has no charges."""
        everything = add_up(read_sums(transaction, self.budget))
        if self.calendar is None:
            return [_Spending("the budget", self.budget, everything)]
        spent = Amount() if period is None else add_up(read_sums(transaction, self.budget, period))
        name = f"the budget of {f'each {self.calendar.every}' if period is None else period}"
        total = [] if self.calendar.total is None else [_Spending("the total budget", self.calendar.total, everything)]
        return [_Spending(name, self.budget, spent), *total]


class _Spending(NamedTuple):
    """A budget that must cover a release: how it is called, and what is spent of it."""

    name: str
    budget: Budget
    spent: Amount


def _check_budgets(budgets: Iterable[_Spending], guarantee: Guarantee, *, before: str = "") -> None:
    for each in budgets:
        needed = each.budget.restate(guarantee)
        if not each.budget.afford(each.spent, needed):
            raise each.budget.refuse(each.spent, needed, each.name, before=before)


@dataclass(slots=True, kw_only=True)
class Account:
    """What one selection must pay, to which ledger, and what its record says about that."""

    terms: Terms
    bits: Bits
    ledger: Ledger | None
    note: str | None = None
    period: str | None = None
    days: Span | str | date | None = None
    """The days whose votes are kept, or the period that the caller vouches for."""
    time: str | None = None
    once: Once | None = None
    id: str = field(default_factory=draw_identifier)
    made: datetime = field(default_factory=read_clock)
    recalled: Any = field(default=None, init=False)
    """The release of another run that the ledger has for the key. It is handed out in place of a new one."""
    stored: bool = field(default=False, init=False)
    """Whether the ledger has the release for the key, so that another run with it is free."""
    _charge: Charge | None = field(default=None, init=False)

    @classmethod
    def open(
        cls,
        terms: Terms,
        *,
        ledger: Ledger | PathLike | None,
        bits: Bits | None = None,
        once: str | None = None,
        note: str | None = None,
        period: str | None = None,
        days: Span | str | date | None = None,
        time: str | None = None,
        votes: Any = None,
        asked: Mapping[str, Any] | None = None,
    ) -> Account:
        """Open the ledger of a selection.

        If the key of the selection was released before, for the same votes and all that was `asked`, the account has
        that release, and nothing is to be done.
        """
        if not is_own(type(terms.mechanism)):
            encode_parameters(terms.parameters)  # a release whose record cannot be written is refused before it is made
        key = None if once is None else Once.read(once, terms, votes, {**(asked or {}), "note": note, "period": period})
        account = cls(
            terms=terms,
            bits=read_bits(bits),
            ledger=require_ledger(ledger),
            note=check_text(note, name="note"),
            period=check_text(period, name="period"),
            days=days,
            time=time,
            once=key,
        )
        package.latest = account
        if account.ledger is None:
            refuse_given({"once": key}, "`ledger`, which keeps the release")
        elif key is not None:
            account.recalled = account.ledger._run(key.recall)
        return account

    @property
    def number(self) -> int | None:
        """The number of the charge, once it is made."""
        return None if self._charge is None else self._charge.number

    def charge(self, time_kind: str | None = None) -> None:
        """Charge the release, unless another run made it meanwhile."""
        assert self.ledger is not None
        try:
            self._charge = self.ledger._charge(
                self.terms.mechanism,
                self.terms.guarantee,
                {**self.terms.parameters, "persons_counted": self.terms.persons_counted},
                self.days,
                identifier=self.id,
                bits=self.bits,
                note=self.note,
                once=self.once,
                time=self.time,
                time_kind=time_kind,
            )
        except ReleasedBeforeError:
            assert self.once is not None
            self.recalled = self.ledger._run(self.once.recall)

    def find_charge(self) -> int | None:
        """Find the number of the charge in the ledger, also if the run was interrupted while it was charged."""
        return None if self.ledger is None else self.ledger._run(lambda each: _find_number(each, self.id))

    def describe(self) -> dict[str, Any]:
        """Describe when the release was charged or asked for, what for, and by which charge it was paid."""
        said = {"id": self.id, "note": self.note, "period": self.period, "made": self.made}
        if self.ledger is None or self._charge is None:
            return said
        paid = {"population": self.ledger.population, "ledger": self.ledger.id, "charge": self._charge.number}
        return {**said, **paid, "made": self._charge.made}

    def finish(self, release: Any) -> Any:
        """Note that the release was made, and return the one to hand out.

        It is charged already, so a failure here is only a warning. With a key it is an error: a release that is not
        stored could be made twice.
        """
        if self.ledger is None or self._charge is None:
            return release
        if self.once is not None:
            first = self.ledger._finish(self._charge, release, self.once)
            self.stored, self.recalled = True, None if first is release else first
            return first
        try:
            self.ledger.finish(self._charge, release)
        except Exception as error:
            # The text of an error from elsewhere may hold items.
            reason = str(error) if isinstance(error, ShortlistError) else type(error).__name__
            text = f"the release is charged, but the ledger does not say that it was finished: {reason}"
            show_warning(text, RuntimeWarning, stacklevel=5)
        return release


def require_ledger(ledger: Ledger | PathLike | None) -> Ledger | None:
    """Open the ledger that a selection must be charged to: the given one, or that of SHORTLIST_LEDGER."""
    given = Ledger.open(ledger) if isinstance(ledger, str | os.PathLike) else ledger
    # A subclass could charge less.
    if given is not None and type(given) is not Ledger:
        raise ParameterError("`ledger` must be a Ledger, or its path or address", f"not {type(given).__name__}")
    named = os.environ.get(package.VARIABLE)
    if named is None:
        return given
    if not named:
        raise LedgerError(f"{package.VARIABLE} must name a ledger", "it is empty")
    if given is None:
        return Ledger.open(named)
    if not given.store.is_same(_locate(named, _TIMEOUT)):
        raise LedgerError(f"`ledger` must be the one that {package.VARIABLE} names", "it is another one")
    return given


def _locate(place: PathLike, timeout: float) -> Store:
    """Find the store that a path or an address names. It is not opened."""
    if not isinstance(place, str | os.PathLike):
        raise ParameterError("`ledger` must be the path of a file, or an address", f"not {type(place).__name__}")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 <= timeout <= _LONGEST_TIMEOUT:
        raise ParameterError(
            f"`timeout` must be a number of seconds from 0 to {_LONGEST_TIMEOUT}", f"not {quote(timeout)}"
        )
    from shortlist.ledger import server  # the drivers of databases are loaded only where they are used

    if server.ADDRESS.match(os.fsdecode(place)):
        if not isinstance(place, str):  # a path has lost slashes of the address
            raise ParameterError("`ledger` must be a text if it is an address", f"not {type(place).__name__}")
        return server.Server.locate(place, float(timeout))
    if _OTHER_ADDRESS.match(os.fsdecode(place)):
        raise ParameterError(
            "`ledger` must be the path of a file, or an address of PostgreSQL",
            "not another address",
            hint="an address looks like this: postgresql://user@host/database?schema=budget_eu",
        )
    return File.locate(place, float(timeout))


def _find_number(transaction: Transaction, identifier: str) -> int | None:
    query = "SELECT id FROM charge WHERE identifier = :identifier"
    row = transaction.execute(query, {"identifier": identifier}).fetchone()
    return row and int(row["id"])


def _name_user() -> str:
    """Name the user of this process, as the machine knows it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container may run under a number
        return str(os.getuid())
