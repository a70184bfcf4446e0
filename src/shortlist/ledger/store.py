"""The file of a ledger: an SQLite database with one budget and its charges, which are never removed.

The rollback journal exists only while a charge is written. At any other time, the file alone is complete. A commit
reaches the disk before it returns. With `synchronous=EXTRA`, the removal of the journal reaches the disk, too. Every
call opens its own connection, so threads, forked children and other processes may use a ledger.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.atomic_files import check_target, write_whole
from shortlist.errors import LedgerError, OutputError

if TYPE_CHECKING:
    import sqlite3

APPLICATION = int.from_bytes(b"SLdg")
SCHEMA_VERSION = 1

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
CREATE TABLE budget (
    id INTEGER PRIMARY KEY CHECK (id = 1),
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
    OR (OLD.id, OLD.made, OLD.version, OLD.mechanism, OLD.parameters, OLD.epsilon, OLD.delta, OLD.rho, OLD.note)
    IS NOT (NEW.id, NEW.made, NEW.version, NEW.mechanism, NEW.parameters, NEW.epsilon, NEW.delta, NEW.rho, NEW.note)
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


def create_file(path: Path, budget: dict[str, str | None]) -> None:
    """Write the file of a new ledger, whole or not at all. An existing file is never overwritten."""
    if os.path.lexists(path):
        raise OutputError(
            "the ledger must be a new file",
            "{path} exists",
            hint="a budget cannot start again; `shortlist ledger show` shows what is left of it",
            path=repr(str(path)),
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
            _renew_triggers(connection)
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
            "{path} cannot be read: {reason}",
            path=repr(str(path)),
            reason=error.strerror,
        ) from None
    except ValueError:
        raise LedgerError("the ledger must be the path of a file") from None
    if not regular:
        raise LedgerError("the ledger must be a file", "{path} is not", path=repr(str(path)))


def _check_ledger(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse foreign files, newer schemas, and a ledger that cannot have a rollback journal."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION or version < 1:
        raise LedgerError(
            "the ledger must be a file made by `shortlist ledger create`",
            "{path} is another file",
            path=repr(str(path)),
        )
    if version > SCHEMA_VERSION:
        raise LedgerError(
            "the ledger must be of schema {known} or older",
            "{path} is of schema {version}",
            hint="install a newer version of shortlist",
            known=SCHEMA_VERSION,
            version=version,
            path=repr(str(path)),
        )
    (journal,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    if journal != "delete":
        raise LedgerError(
            "the ledger must have a rollback journal", "that of {path} cannot be turned on", path=repr(str(path))
        )


def _renew_triggers(connection: sqlite3.Connection) -> None:
    """Give a ledger of an earlier version the triggers of this one, so that its charges are as well protected."""
    wanted = _list_own_triggers()
    if _list_triggers(connection) == wanted:
        return
    connection.execute("BEGIN IMMEDIATE")
    found = _list_triggers(connection)  # another process may have renewed them meanwhile
    for name in found.keys() - {name for name, text in wanted.items() if found.get(name) == text}:
        connection.execute('DROP TRIGGER "{}"'.format(name.replace('"', '""')))
    for name, text in wanted.items():
        if found.get(name) != text:
            connection.execute(text)
    connection.execute("COMMIT")


@cache
def _list_own_triggers() -> dict[str, str]:
    import sqlite3  # loads a library that a list without a ledger does not need

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_SCHEMA)
        return _list_triggers(connection)


def _list_triggers(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))


def _translate_error(path: Path, error: sqlite3.Error) -> LedgerError:
    """Translate an error of SQLite. Its own text is left out, because it may hold data."""
    name = getattr(error, "sqlite_errorname", "")
    code = "_".join(name.split("_")[:2])
    return LedgerError(
        "the ledger must be a file that can be read and written",
        "{path} cannot be used: {reason}",
        path=repr(str(path)),
        reason=_REASONS.get(code, f"it is damaged ({name or type(error).__name__})"),
    )
