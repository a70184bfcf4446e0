"""The rows of a ledger, the same in every store.

Numbers are texts: exact decimals or fractions, never floats. The budget has a random identifier, so that a store that
was replaced by another ledger is noticed, and a record can name the ledger that it was charged to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Protocol

from shortlist.errors import LedgerError, ParameterError
from shortlist.ledger.budget import Accounting, Budget
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_exact

Row = dict[str, str | None]

LARGEST_BITS = 2048
"""The longest numerator or denominator of a number in a ledger."""
_PROMISED = ("epsilon", "delta", "rho")


class Transaction(Protocol):
    """What a store gives: one transaction, with `:name` for values, and rows that are read by the names of columns."""

    def execute(self, query: str, values: Any = ..., /) -> Any:
        """Run one query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A release that was charged: when, for which mechanism, with what guarantee, and whether it was finished.

    `id` is the identifier of the release, which its record has. `release` is the SHA-256 of the release's JSON record,
    which is what `sha256sum` prints for the file.
    """

    number: int
    id: str
    made: datetime
    version: str
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    note: str | None = None
    finished: datetime | None = None
    release: str | None = None


def write_guarantee(guarantee: Guarantee) -> Row:
    """Write the numbers of a guarantee."""
    return {name: write_number(getattr(guarantee, name), name=name) for name in _PROMISED}


def write_budget(budget: Budget) -> Row:
    """Write a budget."""
    return {
        **write_guarantee(budget.guarantee),
        "neighbours": str(budget.guarantee.neighbours),
        "unit": budget.guarantee.unit,
        "accounting": str(budget.accounting),
        "basic_delta": write_number(budget.basic_delta, name="basic_share"),
        "rho": write_number(budget.rho, name="rho"),
    }


def write_number(number: Fraction | None, *, name: str) -> str | None:
    """Write a number without loss. Refuse thousands of digits."""
    if number is None:
        return None
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > LARGEST_BITS:
        raise ParameterError(f"`{name}` must have fewer digits to be charged to a ledger")
    return write_exact(number)


def insert(transaction: Transaction, table: str, row: Row) -> int:
    """Insert a row and return its number."""
    places = ", ".join(f":{name}" for name in row)
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places}) RETURNING id"
    return int(transaction.execute(query, row).fetchone()[0])


def read_budget(transaction: Transaction) -> tuple[str, Budget, str | None]:
    """Read the identifier of a ledger, its budget, and the name of its population."""
    with _report_damage():
        row = transaction.execute("SELECT * FROM budget").fetchone()
        together = _read_numbers(row, ("epsilon", "delta"))
        budget = Budget(
            guarantee=Guarantee(**together, neighbours=Neighbours(row["neighbours"]), unit=row["unit"]),
            accounting=Accounting(row["accounting"]),
            **_read_numbers(row, ("basic_delta", "rho")),
        )
    return row["ledger"], budget, row["population"]


def read_sums(transaction: Transaction, budget: Budget) -> Iterator[tuple[Guarantee, int]]:
    """Read each guarantee that was charged, and how often."""
    query = "SELECT epsilon, delta, rho, COUNT(*) AS times FROM charge GROUP BY epsilon, delta, rho"
    for row in transaction.execute(query):
        with _report_damage():
            yield replace(budget.guarantee, **_read_numbers(row, _PROMISED)), row["times"]


def read_charges(transaction: Transaction, budget: Budget, *, only: int | None = None) -> Iterator[Charge]:
    """Read all charges, or one, in the order of their numbers. Times are not used, because clocks may be set back."""
    query = "SELECT * FROM charge WHERE id = COALESCE(:only, id) ORDER BY id"
    for row in transaction.execute(query, {"only": only}):
        with _report_damage():
            yield Charge(
                number=row["id"],
                id=row["identifier"],
                made=datetime.fromisoformat(row["made"]),
                parameters=MappingProxyType(dict(json.loads(row["parameters"]))),
                guarantee=replace(budget.guarantee, **_read_numbers(row, _PROMISED)),
                finished=None if row["finished"] is None else datetime.fromisoformat(row["finished"]),
                **{name: row[name] for name in ("version", "mechanism", "note", "release")},
            )


def _read_numbers(row: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: None if row[name] is None else Fraction(row[name]) for name in names}


@contextmanager
def _report_damage() -> Iterator[None]:
    """Report a row that this library did not write."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError):
        raise LedgerError(
            "the ledger must hold rows that shortlist wrote", "one of its rows was changed by something else"
        ) from None
