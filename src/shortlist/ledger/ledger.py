"""The ledger: create a budget, charge releases to it, and say what was charged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import BudgetError, LedgerError, ParameterError
from shortlist.exact.bits import Bits, is_secure, read_bits
from shortlist.ledger import store
from shortlist.ledger.budget import Amount, Budget, add_up, write_rounded
from shortlist.ledger.rows import (
    Charge,
    check_text,
    read_budget,
    read_charges,
    read_sums,
    write_budget,
    write_charge,
    write_now,
)
from shortlist.mechanisms import Mechanism
from shortlist.near_names import suggest_names
from shortlist.privacy import Guarantee
from shortlist.privacy.composition import find_strongest_rho
from shortlist.privacy.numbers import Real, quote
from shortlist.release.release import Release

if TYPE_CHECKING:
    from sqlite3 import Connection

PathLike = str | os.PathLike[str]

_TIMEOUT = 30.0
_LONGEST_TIMEOUT = 10**6

_SMALLER = "nothing was computed; ask for a smaller {epsilon}, or see `shortlist ledger show`"
_SMALLER_PAIR = "nothing was computed; ask for a smaller {epsilon} or {delta}, or see `shortlist ledger show`"
_SMALLER_SHARE = (
    "nothing was computed; this release has no rho, so only basic accounting can cover it, and it may spend {share} of "
    "the delta of this ledger (`show` prints both limits): ask for a smaller {delta}, or use a ledger with "
    "{accounting='basic'}"
)
_NO_DELTA = (
    "nothing was computed; the budget has no delta, so it covers no release with one: leave {delta} out, which "
    "needs a {domain}, or use a ledger that has a delta"
)


class Ledger:
    """A privacy budget in a file, which releases are charged to before they are made.

    Claim  All releases charged to a ledger satisfy its (ε, δ) together, also if each is chosen after seeing the
           earlier ones. What is spent and left are sums. They are not guarantees.
    Proof  budget.proof.md.

    >>> import tempfile
    >>> from shortlist import Joint
    >>> ledger = Ledger.create(tempfile.mkdtemp() + "/budget.db", epsilon=10, population="customers EU")
    >>> charge = ledger.charge(Joint(k=10, epsilon="0.5"), note="weekly top 10")
    >>> print(ledger.left.epsilon, ledger.afford(Joint(k=10, epsilon="0.5")))
    19/2 19
    """

    __slots__ = ("_budget", "_path", "_population", "_timeout")

    def __init__(self, path: Path, budget: Budget, population: str | None, timeout: float) -> None:
        self._path = path
        self._budget = budget
        self._population = population
        self._timeout = timeout

    @classmethod
    @suggest_names
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
            raise ParameterError("{epsilon} must be given", hint="it is what all releases may have together")
        budget = Budget.plan(
            epsilon=epsilon,
            delta=delta,
            accounting=accounting,
            basic_share=basic_share,
            neighbours=neighbours,
            unit=unit,
        )
        store.create_file(_make_absolute(path), write_budget(budget, population=population))
        return cls.open(path)

    @classmethod
    @suggest_names
    def open(cls, path: PathLike, *, timeout: float = _TIMEOUT) -> Ledger:
        """Open a ledger. `timeout` is how many seconds to wait for other processes that write to it."""
        absolute, seconds = _make_absolute(path), _read_timeout(timeout)
        with store.read(absolute, timeout=seconds) as connection:
            budget, population = read_budget(connection)
        return cls(absolute, budget, population, seconds)

    def __repr__(self) -> str:
        return f"<Ledger of {self.budget.guarantee}; left: {self.budget.write(self.left, up=False)}>"

    @property
    def path(self) -> Path:
        """The file of the ledger."""
        return self._path

    @property
    def budget(self) -> Budget:
        """What all releases may have together, as the file said when the ledger was opened."""
        return self._budget

    @property
    def population(self) -> str | None:
        """Whose data the ledger is for."""
        return self._population

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, in the order in which they were made."""
        with self._connect(store.read) as connection:
            return tuple(read_charges(connection, self.budget))

    @property
    def spent(self) -> Amount:
        """The sum of all charges."""
        with self._connect(store.read) as connection:
            return add_up(read_sums(connection, self.budget))

    @property
    def left(self) -> Amount:
        """What is left of the budget, in each accounting that it uses."""
        return self.budget.subtract(self.spent)

    def afford(self, release: Mechanism | Guarantee) -> int:
        """Count how many more releases like this one the budget covers."""
        guarantee = release.guarantee if isinstance(release, Mechanism) else release
        return self.budget.afford(self.spent, _check_guarantee(guarantee))

    def charge(
        self,
        mechanism: Mechanism,
        guarantee: Guarantee | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        bits: Bits | None = None,
        note: str | None = None,
    ) -> Charge:
        """Charge one release, before votes are read and before anything is drawn.

        The guarantee and the public parameters are those of the mechanism, unless the release states others. The
        charge is on the disk when this returns, and is never removed. Two draws are two charges.
        """
        stated = self._check_chargeable(mechanism, guarantee, bits, note)
        public = mechanism.parameters if parameters is None else parameters
        row = write_charge(mechanism.name, public, stated, note=note)
        with self._connect(store.write) as connection:
            self._check_covered(add_up(read_sums(connection, self.budget)), stated)
            number = store.insert(connection, "charge", row)
            (charge,) = read_charges(connection, self.budget, number=number)
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

    def finish(self, charge: Charge, release: Release) -> None:
        """Note that the release of a charge was made, with the hash of its record."""
        if not isinstance(charge, Charge) or not isinstance(release, Release):
            raise ParameterError("{charge} and {release} must be a charge of this ledger and its release")
        digest = hash_record(release)
        with self._connect(store.write) as connection:
            if charge.release is not None or charge not in read_charges(connection, self.budget, number=charge.number):
                raise ParameterError("{charge} must be one of this ledger without a finished release")
            query = "UPDATE charge SET finished = ?, release = ? WHERE id = ?"
            connection.execute(query, (write_now(), digest, charge.number))

    @contextmanager
    def _connect(self, access: Callable[..., AbstractContextManager[Connection]]) -> Iterator[Connection]:
        """Open the file. Refuse it if it was replaced by another ledger meanwhile: another budget would decide."""
        with access(self.path, timeout=self._timeout) as connection:
            if read_budget(connection) != (self.budget, self.population):
                raise LedgerError(
                    "the ledger must be the one that was opened",
                    "{path} has another budget or population now",
                    hint="open it again",
                    path=repr(str(self.path)),
                )
            yield connection

    def _check_chargeable(
        self, mechanism: Mechanism, guarantee: Guarantee | None, bits: Bits | None, note: str | None
    ) -> Guarantee:
        """Refuse a release that this ledger can never charge."""
        if not isinstance(mechanism, Mechanism):
            raise ParameterError("{mechanism} must be a mechanism object", "not {type}", type=type(mechanism).__name__)
        if not is_secure(read_bits(bits)):
            raise ParameterError(
                "a release that is charged to a ledger must use secure randomness",
                "this one can be repeated",
                hint="leave {bits} out, or the ledger",
            )
        check_text(note, name="note")
        stated = _check_guarantee(mechanism.guarantee if guarantee is None else guarantee)
        self.budget.check(stated)
        return stated

    def _check_covered(self, spent: Amount, guarantee: Guarantee) -> None:
        if self.budget.afford(spent, guarantee):
            return
        delta, share = self.budget.guarantee.delta, self.budget.basic_delta or Fraction(0)
        # With both accountings, a share of delta is kept for zCDP, which needs a rho.
        shared = self.budget.rho is not None and find_strongest_rho(guarantee) is None
        pair = _SMALLER_SHARE if shared and spent.delta + guarantee.delta > share else _SMALLER_PAIR
        hint = _SMALLER if not guarantee.delta else pair if delta else _NO_DELTA
        raise BudgetError(
            "the budget is {budget}",
            "{left} is left; this release needs {guarantee}",
            hint=hint,
            guarantee=guarantee,
            budget=self.budget.guarantee,
            left=self.budget.write_left(spent),
            share=write_rounded(share, up=False),
        )


def hash_record(release: Release) -> str:
    """Compute the SHA-256 of a release's JSON record, as `sha256sum` does of the file."""
    return hashlib.sha256(release.to_json().encode()).hexdigest()


def _check_guarantee(guarantee: Guarantee) -> Guarantee:
    if not isinstance(guarantee, Guarantee):
        raise ParameterError("{guarantee} must be a guarantee", "not {type}", type=type(guarantee).__name__)
    return guarantee


def _make_absolute(path: PathLike) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise ParameterError("{ledger} must be the path of a file", "not {type}", type=type(path).__name__)
    try:
        usable = b"\0" not in os.fsencode(path)
    except ValueError:  # characters that no file name has
        usable = False
    if not usable:
        raise ParameterError("{ledger} must be the path of a file")
    return Path(os.fsdecode(path)).absolute()


def _read_timeout(seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_TIMEOUT:
        raise ParameterError(
            "{timeout} must be a number of seconds from 0 to {longest}",
            "not {value}",
            longest=_LONGEST_TIMEOUT,
            value=quote(seconds),
        )
    return float(seconds)
