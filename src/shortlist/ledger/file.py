"""The file of a ledger: an SQLite database with one budget and its charges, which are never removed.

Rows are text. Numbers are written as exact decimals or fractions, never as floats. The budget has a random identifier,
so that a file that was replaced by another ledger is noticed, and a record can name the ledger that it was charged to.

The rollback journal exists only while a charge is written. At any other time, the file alone is complete. A commit
reaches the disk before it returns. With `synchronous=EXTRA`, the removal of the journal reaches the disk, too. Every
call opens its own connection, so threads, forked children and other processes may use a ledger.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from shortlist.atomic_files import check_target, write_whole
from shortlist.errors import LedgerError, OutputError, ParameterError
from shortlist.ledger.budget import Accounting, Budget
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import write_exact
from shortlist.record import encode_parameters
from shortlist.release import draw_identifier, read_clock
from shortlist.terms import check_text
from shortlist.version import __version__

if TYPE_CHECKING:
    import sqlite3

Row = dict[str, str | None]

APPLICATION = int.from_bytes(b"SLdg")
SCHEMA_VERSION = 2
LARGEST_BITS = 2048
"""The longest numerator or denominator of a number in a ledger."""

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
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
    rho TEXT
);
CREATE TABLE charge (
    id INTEGER PRIMARY KEY,
    identifier TEXT NOT NULL UNIQUE,
    made TEXT NOT NULL,
    version TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    parameters TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    rho TEXT,
    note TEXT,
    finished TEXT,
    release TEXT
);
CREATE TRIGGER budget_stays BEFORE UPDATE ON budget BEGIN SELECT RAISE(ABORT, 'a budget is never changed'); END;
CREATE TRIGGER budget_exists BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'a budget is never removed'); END;
CREATE TRIGGER charge_exists BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'a charge is never removed'); END;
CREATE TRIGGER budget_is_one BEFORE INSERT ON budget WHEN EXISTS (SELECT 1 FROM budget)
BEGIN SELECT RAISE(ABORT, 'a budget is never replaced'); END;
CREATE TRIGGER charge_is_new BEFORE INSERT ON charge WHEN NEW.id IN (SELECT id FROM charge)
BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;
CREATE TRIGGER charge_stays BEFORE UPDATE ON charge
WHEN OLD.release IS NOT NULL
    OR (OLD.id, OLD.identifier, OLD.made, OLD.version, OLD.mechanism, OLD.parameters)
    IS NOT (NEW.id, NEW.identifier, NEW.made, NEW.version, NEW.mechanism, NEW.parameters)
    OR (OLD.epsilon, OLD.delta, OLD.rho, OLD.note) IS NOT (NEW.epsilon, NEW.delta, NEW.rho, NEW.note)
BEGIN SELECT RAISE(ABORT, 'a charge is finished once and not changed otherwise'); END;
"""

_REASONS = {
    "SQLITE_BUSY": "another process has locked it",
    "SQLITE_LOCKED": "another process has locked it",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_CANTOPEN": "it, or its folder, cannot be opened for writing",
    "SQLITE_FULL": "there is no room on the disk",
    "SQLITE_IOERR": "the disk reported an error, or has no room",
    "SQLITE_NOTADB": "it is not a ledger",
    "SQLITE_CORRUPT": "it is damaged",
    "SQLITE_INTERRUPT": "it was interrupted",
    "SQLITE_PERM": "it may not be opened",
    "SQLITE_AUTH": "it may not be opened",
}


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


def create_file(path: Path, budget: dict[str, str | None]) -> None:
    """Write the file of a new ledger, whole or not at all. An existing file is never overwritten."""
    if os.path.lexists(path):
        raise OutputError(
            "the ledger must be a new file",
            f"{str(path)!r} exists",
            hint="a budget cannot start again; `shortlist ledger show` shows what is left of it",
        )
    check_target(f"{path}-journal")  # SQLite writes it during each charge, and would take a stray one for its own
    import sqlite3  # loads a library that a list without a ledger does not need

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_SCHEMA)
        insert(connection, "budget", budget)
        content = connection.serialize()
    write_whole(path, lambda file: file.write(content))


def insert(connection: sqlite3.Connection, table: str, row: dict[str, str | None]) -> int:
    """Insert a row and return its number."""
    places = ", ".join(f":{name}" for name in row)
    return connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row).lastrowid or 0


@contextmanager
def read(path: Path, *, timeout: float) -> Iterator[sqlite3.Connection]:
    """Open the file for reading, in one transaction."""
    with _connect(path, timeout) as connection:
        connection.execute("BEGIN")
        yield connection
        connection.execute("ROLLBACK")


@contextmanager
def write(path: Path, *, timeout: float) -> Iterator[sqlite3.Connection]:
    """Open the file as its only writer, and commit if nothing is raised inside."""
    with _connect(path, timeout) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def write_budget(budget: Budget, *, population: str | None) -> Row:
    """Write a budget as a row."""
    guarantee = budget.guarantee
    return {
        "ledger": draw_identifier(),
        "created": read_clock().isoformat(),
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


def write_charge(
    mechanism: str, parameters: Mapping[str, Any], guarantee: Guarantee, *, note: str | None, identifier: str
) -> Row:
    """Write a charge as a row."""
    return {
        "identifier": identifier,
        "made": read_clock().isoformat(),
        "version": __version__,
        "mechanism": mechanism,
        "parameters": json.dumps(encode_parameters(parameters), ensure_ascii=False),
        "epsilon": _write_number(guarantee.epsilon, name="epsilon"),
        "delta": _write_number(guarantee.delta, name="delta"),
        "rho": None if guarantee.rho is None else _write_number(guarantee.rho, name="rho"),
        "note": check_text(note, name="note"),
    }


def read_budget(connection: sqlite3.Connection) -> tuple[str, Budget, str | None]:
    """Read the identifier of a ledger, its budget, and the name of its population."""
    columns = "ledger, epsilon, delta, neighbours, unit, accounting, basic_delta, rho, population"
    with _report_damage():
        row = connection.execute(f"SELECT {columns} FROM budget").fetchone()
        identifier, epsilon, delta, neighbours, unit, accounting, basic_delta, rho, population = row
        budget = Budget(
            guarantee=_read_guarantee(epsilon, delta, None, Neighbours(neighbours), unit),
            accounting=Accounting(accounting),
            basic_delta=_read_number(basic_delta),
            rho=_read_number(rho),
        )
    return identifier, budget, population


def read_last(connection: sqlite3.Connection) -> int:
    """Read the number of the last charge, or 0."""
    (last,) = connection.execute("SELECT COALESCE(MAX(id), 0) FROM charge").fetchone()
    return int(last)


def find_number(connection: sqlite3.Connection, identifier: str) -> int | None:
    """Find the number of the charge for the release with an identifier."""
    row = connection.execute("SELECT id FROM charge WHERE identifier = ?", (identifier,)).fetchone()
    return None if row is None else int(row[0])


def read_sums(connection: sqlite3.Connection, budget: Budget) -> Iterator[tuple[Guarantee, int]]:
    """Read each guarantee that was charged, and how often."""
    query = "SELECT epsilon, delta, rho, COUNT(*) FROM charge GROUP BY epsilon, delta, rho"
    ours = budget.guarantee
    for epsilon, delta, rho, times in connection.execute(query):
        with _report_damage():
            yield _read_guarantee(epsilon, delta, rho, ours.neighbours, ours.unit), times


def read_charges(connection: sqlite3.Connection, budget: Budget, *, only: int | None = None) -> Iterator[Charge]:
    """Read all charges, or one, in the order of their numbers. Times are not used, because clocks may be set back."""
    columns = "id, identifier, made, version, mechanism, parameters, epsilon, delta, rho, note, finished, release"
    ours = budget.guarantee
    query = f"SELECT {columns} FROM charge WHERE id = COALESCE(?, id) ORDER BY id"
    for row in connection.execute(query, (only,)):
        with _report_damage():
            number, identifier, made, version, mechanism, parameters, epsilon, delta, rho, note, finished, release = row
            yield Charge(
                number=number,
                id=identifier,
                made=datetime.fromisoformat(made),
                version=version,
                mechanism=mechanism,
                parameters=MappingProxyType(dict(json.loads(parameters))),
                guarantee=_read_guarantee(epsilon, delta, rho, ours.neighbours, ours.unit),
                note=note,
                finished=None if finished is None else datetime.fromisoformat(finished),
                release=release,
            )


@contextmanager
def _connect(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    """Connect to a file that must be a ledger. Closing rolls back what was not committed."""
    import sqlite3  # loads a library that a list without a ledger does not need

    try:
        _check_regular(path)
        # Without the mode, SQLite would make a new file if there is no file.
        address = f"{path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)) as connection:
            _check_ledger(connection, path)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA recursive_triggers = ON")  # a row that is replaced is a row that is removed
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA fullfsync = ON")
            yield connection
    except sqlite3.Error as error:
        raise _translate_error(path, error) from None


def _check_regular(path: Path) -> None:
    """Refuse a pipe or a device. SQLite would wait without end for the other end of a pipe."""
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise LedgerError(
            "the ledger must be a file made by `shortlist ledger create`",
            f"{str(path)!r} cannot be read: {error.strerror}",
        ) from None
    except ValueError:
        raise LedgerError("the ledger must be the path of a file") from None
    if not regular:
        raise LedgerError("the ledger must be a file", f"{str(path)!r} is not")


def _check_ledger(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse foreign files, other schemas, and a ledger that cannot have a rollback journal."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION or not version:
        raise LedgerError(
            "the ledger must be a file made by `shortlist ledger create`", f"{str(path)!r} is another file"
        )
    if version != SCHEMA_VERSION:
        raise LedgerError(
            f"the ledger must be of schema {SCHEMA_VERSION}",
            f"{str(path)!r} is of schema {version}",
            hint="use the version of shortlist that made it",
        )
    (journal,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if journal != "delete":
        raise LedgerError("the ledger must have a rollback journal", f"that of {str(path)!r} cannot be turned on")


def _translate_error(path: Path, error: sqlite3.Error) -> LedgerError:
    """Translate an error of SQLite. Its own text is left out, because it may hold data."""
    name = getattr(error, "sqlite_errorname", "")
    code = "_".join(name.split("_")[:2])
    return LedgerError(
        "the ledger must be a file that can be read and written",
        f"{str(path)!r} cannot be used: {_REASONS.get(code, f'it is damaged ({name or type(error).__name__})')}",
    )


def _write_number(number: Fraction, *, name: str) -> str:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > LARGEST_BITS:
        raise ParameterError(f"`{name}` must have fewer digits to be charged to a ledger")
    return write_exact(number)


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
