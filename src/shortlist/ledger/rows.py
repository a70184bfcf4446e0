"""Budgets and charges as rows of text. Numbers are written as exact decimals or fractions, never as floats."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shortlist.errors import LedgerError, ParameterError
from shortlist.ledger.budget import Accounting, Budget
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import quote, write_exact
from shortlist.version import __version__

if TYPE_CHECKING:
    import sqlite3

Row = dict[str, str | None]

_LONGEST_TEXT = 200
_LARGEST_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A release that was charged: when, for which mechanism, with what guarantee, and whether it was finished.

    `release` is the SHA-256 of the release's JSON record, which is what `sha256sum` prints for the file.
    """

    number: int
    made: datetime
    version: str
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee
    note: str | None = None
    finished: datetime | None = None
    release: str | None = None


def write_budget(budget: Budget, *, population: str | None) -> Row:
    """Write a budget as a row."""
    guarantee = budget.guarantee
    return {
        "created": write_now(),
        "version": __version__,
        "population": check_text(population, name="population"),
        "epsilon": _write_number(guarantee.epsilon, name="epsilon"),
        "delta": _write_number(guarantee.delta, name="delta"),
        "neighbours": str(guarantee.neighbours),
        "unit": guarantee.unit,
        "accounting": str(budget.accounting),
        "basic_delta": None if budget.basic_delta is None else _write_number(budget.basic_delta, name="basic_share"),
        "rho": None if budget.rho is None else write_exact(budget.rho),
    }


def write_charge(mechanism: str, parameters: Mapping[str, Any], guarantee: Guarantee, *, note: str | None) -> Row:
    """Write a charge as a row."""
    return {
        "made": write_now(),
        "version": __version__,
        "mechanism": mechanism,
        "parameters": json.dumps({name: _to_json(value) for name, value in parameters.items()}, ensure_ascii=False),
        "epsilon": _write_number(guarantee.epsilon, name="epsilon"),
        "delta": _write_number(guarantee.delta, name="delta"),
        "rho": None if guarantee.rho is None else _write_number(guarantee.rho, name="rho"),
        "note": check_text(note, name="note"),
    }


def read_budget(connection: sqlite3.Connection) -> tuple[Budget, str | None]:
    """Read the budget of a ledger, and the name of its population."""
    columns = "epsilon, delta, neighbours, unit, accounting, basic_delta, rho, population"
    with _report_damage():
        row = connection.execute(f"SELECT {columns} FROM budget").fetchone()
        epsilon, delta, neighbours, unit, accounting, basic_delta, rho, population = row
        budget = Budget(
            guarantee=_read_guarantee(epsilon, delta, None, Neighbours(neighbours), unit),
            accounting=Accounting(accounting),
            basic_delta=_read_number(basic_delta),
            rho=_read_number(rho),
        )
    return budget, population


def read_sums(connection: sqlite3.Connection, budget: Budget) -> Iterator[tuple[Guarantee, int]]:
    """Read each guarantee that was charged, and how often."""
    query = "SELECT epsilon, delta, rho, COUNT(*) FROM charge GROUP BY epsilon, delta, rho"
    ours = budget.guarantee
    for epsilon, delta, rho, times in connection.execute(query):
        with _report_damage():
            yield _read_guarantee(epsilon, delta, rho, ours.neighbours, ours.unit), times


def read_charges(connection: sqlite3.Connection, budget: Budget, *, number: int | None = None) -> Iterator[Charge]:
    """Read all charges, or one, in the order of their numbers. Times are not used, because clocks may be set back."""
    columns = "id, made, version, mechanism, parameters, epsilon, delta, rho, note, finished, release"
    ours = budget.guarantee
    query = f"SELECT {columns} FROM charge WHERE id = COALESCE(?, id) ORDER BY id"
    for row in connection.execute(query, (number,)):
        with _report_damage():
            identifier, made, version, mechanism, parameters, epsilon, delta, rho, note, finished, release = row
            yield Charge(
                number=identifier,
                made=datetime.fromisoformat(made),
                version=version,
                mechanism=mechanism,
                parameters=MappingProxyType(dict(json.loads(parameters))),
                guarantee=_read_guarantee(epsilon, delta, rho, ours.neighbours, ours.unit),
                note=note,
                finished=None if finished is None else datetime.fromisoformat(finished),
                release=release,
            )


def write_now() -> str:
    """Write the time of the clock in UTC. It is shown to readers, and no decision depends on it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_text(text: str | None, *, name: str) -> str | None:
    """Return a name or a note, or None if it is empty. Refuse several lines, and more than 200 characters."""
    if text is None or (isinstance(text, str) and not text):
        return None
    if not isinstance(text, str) or not text.isprintable() or len(text) > _LONGEST_TEXT:
        raise ParameterError(f"{{{name}}} must be one line of at most {{length}} characters", length=_LONGEST_TEXT)
    return text


def _write_number(number: Fraction, *, name: str) -> str:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _LARGEST_BITS:
        raise ParameterError(f"{{{name}}} must have fewer digits to be charged to a ledger")
    return write_exact(number)


def _to_json(value: Any) -> Any:
    """Turn a public parameter into a value of JSON. Numbers that JSON would round become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum | str):
        return str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else quote(value)
    if isinstance(value, Fraction):
        return write_exact(value)
    if isinstance(value, tuple | list):
        return [_to_json(each) for each in value]
    return quote(value)


def _read_guarantee(epsilon: str, delta: str, rho: str | None, neighbours: Neighbours, unit: str) -> Guarantee:
    exact = Fraction(epsilon)
    return Guarantee(epsilon=exact, delta=Fraction(delta), rho=_read_number(rho), neighbours=neighbours, unit=unit)


def _read_number(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


@contextmanager
def _report_damage() -> Iterator[None]:
    """Report a row that this library did not write."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError):
        raise LedgerError(
            "the ledger must hold rows that shortlist wrote", "one of its rows was changed by something else"
        ) from None
