"""The tables and rows of a ledger, the same in every store, and what a store must do.

Numbers are texts: exact decimals or fractions, never floats. The budget has a random identifier, so that a store that
was replaced by another ledger is noticed, and a record can name the ledger that it was charged to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Protocol

from shortlist.errors import LedgerError, ParameterError
from shortlist.ledger.budget import Accounting, Budget
from shortlist.ledger.calendar import Calendar
from shortlist.periods import Every, Period
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import quote, write_exact

Row = dict[str, str | int | None]

SCHEMA_VERSION = 5
TABLES = """
CREATE TABLE budget (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ledger TEXT NOT NULL,
    created TEXT NOT NULL,
    version TEXT NOT NULL,
    population TEXT,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    unit TEXT NOT NULL,
    accounting TEXT NOT NULL,
    basic_delta TEXT,
    rho TEXT,
    rho_delta TEXT,
    per TEXT,
    time_zone TEXT,
    total_epsilon TEXT,
    total_delta TEXT,
    total_neighbours TEXT,
    total_unit TEXT,
    total_accounting TEXT,
    total_basic_delta TEXT,
    total_rho TEXT,
    total_rho_delta TEXT
);
CREATE TABLE charge (
    id INTEGER PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    made TEXT NOT NULL,
    version TEXT NOT NULL,
    user_name TEXT NOT NULL,
    host TEXT NOT NULL,
    role TEXT,
    mechanism TEXT NOT NULL,
    parameters TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    rho TEXT,
    rho_delta TEXT NOT NULL DEFAULT '0',
    period TEXT,
    time_column TEXT,
    time_kind TEXT,
    note TEXT,
    once_key TEXT,
    finished TEXT,
    release TEXT
);
CREATE TABLE stored (
    id INTEGER PRIMARY KEY REFERENCES charge,
    once_key TEXT NOT NULL UNIQUE,
    request TEXT NOT NULL,
    record TEXT NOT NULL
);
"""
"""The tables, in SQL that every store understands. Triggers of the store let rows be added, and nothing be removed."""

LARGEST_BITS = 2048
"""The longest numerator or denominator of a number in a ledger."""
_PROMISED = ("epsilon", "delta", "rho", "rho_delta")
_FIELDS = {"id": "number", "identifier": "id", "user_name": "user", "once_key": "once", "time_column": "time"}
"""What columns are called in a `Charge`, where SQL or clarity need another name."""


class Transaction(Protocol):
    """One transaction of a store, with `:name` for values, and rows that are read by the names of columns."""

    def execute(self, query: str, values: Any = ..., /) -> Any:
        """Run one query."""


class Store(Protocol):
    """Where a ledger is kept. A store holds the tables. The rules are above it."""

    @property
    def location(self) -> str:
        """Where it is, in words that may be shown: there is no password in them."""

    @property
    def timeout(self) -> float:
        """How many seconds a transaction waits for others that write."""

    @property
    def grants(self) -> tuple[str, ...]:
        """The SQL that lets other users charge releases, and read the ledger. A file has permissions in its place."""

    def create(self, budget: Row) -> None:
        """Make the tables of a new ledger with its budget, all or nothing. An existing ledger is never overwritten."""

    def open(self, *, write: bool = False) -> AbstractContextManager[Transaction]:
        """Open one transaction, as the only writer if it writes. It is committed unless something is raised inside."""

    def is_same(self, other: Store) -> bool:
        """Whether another store is this one, in the same place."""


def check_version(found: int, location: str) -> None:
    """Refuse a ledger of another schema."""
    if found != SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger must be of schema {SCHEMA_VERSION}",
            f"{location!r} is of schema {found}",
            hint="use the version of shortlist that made it",
        )


class ConnectionCutError(LedgerError):
    """The connection to a store failed. Whether its transaction was committed is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A release that was charged: when, for which mechanism, with what guarantee, and whether it was finished.

    `id` is the identifier of the release, which its record has. `release` is the SHA-256 of the release's JSON record,
    which is what `sha256sum` prints for the file. `user` and `host` are the user and the machine that charged it, as
    that machine says. `role` is the role of the database that charged it, as a server says. `once` is the key that is
    released once. In a ledger with periods, `period` is the one that was charged, `time` is the column that says to
    which period a vote belongs, and `time_kind` is what that column holds.
    """

    number: int
    id: str
    made: datetime
    version: str
    user: str
    host: str
    role: str | None
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    period: str | None = None
    time: str | None = None
    time_kind: str | None = None
    note: str | None = None
    once: str | None = None
    finished: datetime | None = None
    release: str | None = None


def write_guarantee(guarantee: Guarantee) -> dict[str, str | None]:
    """Write the numbers of a guarantee."""
    return {name: write_number(getattr(guarantee, name), name=name) for name in _PROMISED}


def write_budget(budget: Budget, calendar: Calendar | None = None) -> dict[str, str | None]:
    """Write a budget, and the periods that have it."""
    written = _write_limits(budget)
    if calendar is None:
        return written
    total = {} if calendar.total is None else _write_limits(calendar.total)
    periods = {"per": str(calendar.every), "time_zone": calendar.time_zone}
    return written | periods | {f"total_{name}": value for name, value in total.items()}


def _write_limits(budget: Budget) -> dict[str, str | None]:
    return {
        "epsilon": write_number(budget.guarantee.epsilon, name="epsilon"),
        "delta": write_number(budget.guarantee.delta, name="delta"),
        "neighbours": str(budget.guarantee.neighbours),
        "unit": budget.guarantee.unit,
        "accounting": str(budget.accounting),
        "basic_delta": write_number(budget.basic_delta, name="basic_share"),
        "rho": write_number(budget.rho, name="rho"),
        "rho_delta": write_number(budget.rho_delta, name="rho_delta_share"),
    }


def write_number(number: Fraction | None, *, name: str) -> str | None:
    """Write a number without loss. Refuse thousands of digits."""
    if number is None:
        return None
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > LARGEST_BITS:
        raise ParameterError(f"`{name}` must have fewer digits to be charged to a ledger")
    return write_exact(number)


def insert(transaction: Transaction, table: str, row: Row) -> None:
    """Insert a row."""
    places = ", ".join(f":{name}" for name in row)
    transaction.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)


def find_last(transaction: Transaction) -> int:
    """Find the number of the last charge; 0 if there is none."""
    return int(transaction.execute("SELECT COALESCE(MAX(id), 0) AS last FROM charge").fetchone()["last"])


def read_budget(transaction: Transaction) -> tuple[str, Budget, Calendar | None, str | None]:
    """Read the identifier of a ledger, its budget, its periods if it has them, and the name of its population."""
    with _report_damage():
        row = transaction.execute("SELECT * FROM budget").fetchone()
        calendar = None
        if row["per"] is not None:
            total = None if row["total_epsilon"] is None else _read_limits(row, "total_")
            calendar = Calendar(every=Every(row["per"]), time_zone=row["time_zone"], total=total)
        return row["ledger"], _read_limits(row), calendar, row["population"]


def _read_limits(row: Mapping[str, Any], prefix: str = "") -> Budget:
    promised = {name: row[f"{prefix}{name}"] for name in ("epsilon", "delta", "neighbours", "unit")}
    limits = {name: row[f"{prefix}{name}"] for name in ("basic_delta", "rho", "rho_delta")}
    return Budget(
        guarantee=Guarantee(**promised),
        accounting=Accounting(row[f"{prefix}accounting"]),
        **{name: number and Fraction(number) for name, number in limits.items()},
    )


def read_sums(
    transaction: Transaction, budget: Budget, period: Period | None = None
) -> Iterator[tuple[Guarantee, int]]:
    """Read each guarantee that was charged, and how often; in one period, or in all."""
    names = ", ".join(_PROMISED)
    query = f"SELECT {names}, COUNT(*) AS times FROM charge WHERE :period IN ('', period) GROUP BY {names}"
    for row in transaction.execute(query, {"period": "" if period is None else str(period)}):
        with _report_damage():
            yield _read_guarantee(row, budget), row["times"]


def refuse_other_times(transaction: Transaction, times: Row) -> None:
    """Refuse a column of times that is not that of earlier charges, or holds another kind of times."""
    query = (
        "SELECT time_column, time_kind FROM charge WHERE time_column <> :time_column OR time_kind <> :time_kind "
        "ORDER BY id LIMIT 1"
    )
    other = transaction.execute(query, times).fetchone()
    if other is None:
        return
    if other["time_column"] != times["time_column"]:
        raise ParameterError(
            f"`time` must be {quote(other['time_column'])}, as in earlier charges of this ledger",
            f"not {quote(times['time_column'])}; a vote with two times would be charged to two periods",
            hint="name the column alike in all tables, by a view or a query, or use another ledger",
        )
    raise ParameterError(
        f"`time` must name a column of {other['time_kind']}, as in earlier charges of this ledger",
        f"not of {times['time_kind']}; a vote near midnight could be charged to two periods",
        hint="cast the column to the same type in all tables, by a view, a query or the schema of an Arrow table (a "
        "pandas frame or a dict has values of any type), or use another ledger",
    )


def read_charges(transaction: Transaction, budget: Budget, *, only: int | None = None) -> Iterator[Charge]:
    """Read all charges, or one, in the order of their numbers. Times are not used, because clocks may be set back."""
    query = "SELECT * FROM charge WHERE id = COALESCE(:only, id) ORDER BY id"
    for row in transaction.execute(query, {"only": only}):
        with _report_damage():
            columns: dict[str, Any] = dict(row)
            values = {_FIELDS.get(name, name): value for name, value in columns.items() if name not in _PROMISED}
            values |= {name: values[name] and datetime.fromisoformat(values[name]) for name in ("made", "finished")}
            values["parameters"] = MappingProxyType(dict(json.loads(row["parameters"])))
            yield Charge(**values, guarantee=_read_guarantee(row, budget))


def _read_guarantee(row: Mapping[str, Any], budget: Budget) -> Guarantee:
    return replace(budget.guarantee, **{name: row[name] for name in _PROMISED})


@contextmanager
def _report_damage() -> Iterator[None]:
    """Report a row that this library did not write."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError):
        raise LedgerError(
            "the ledger must hold rows that shortlist wrote", "one of its rows was changed by something else"
        ) from None
