"""The store of a ledger in a file: an SQLite database with one budget and its charges, which are never removed.

The rollback journal exists only while a charge is written. At any other time, the file alone is complete. A commit
reaches the disk before it returns. With `synchronous=EXTRA`, the removal of the journal reaches the disk, too. Every
transaction has its own connection, so threads, forked children and other processes may use a ledger.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shortlist.atomic_files import PathLike, check_target, write_whole
from shortlist.errors import LedgerError, OutputError, ParameterError
from shortlist.ledger.rows import SCHEMA_VERSION, TABLES, Row, Store, check_version, insert
from shortlist.votes.failures import hide_secrets

if TYPE_CHECKING:
    import sqlite3

APPLICATION = int.from_bytes(b"SLdg")

_SETTINGS = (
    "trusted_schema = OFF",
    "recursive_triggers = ON",  # a row that is replaced is a row that is removed
    "synchronous = EXTRA",
    "fullfsync = ON",
)
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
{TABLES}
CREATE TRIGGER budget_stays BEFORE UPDATE ON budget BEGIN SELECT RAISE(ABORT, 'a budget is never changed'); END;
CREATE TRIGGER budget_exists BEFORE DELETE ON budget BEGIN SELECT RAISE(ABORT, 'a budget is never removed'); END;
CREATE TRIGGER charge_exists BEFORE DELETE ON charge BEGIN SELECT RAISE(ABORT, 'a charge is never removed'); END;
CREATE TRIGGER budget_is_one BEFORE INSERT ON budget WHEN EXISTS (SELECT 1 FROM budget)
BEGIN SELECT RAISE(ABORT, 'a budget is never replaced'); END;
CREATE TRIGGER charge_is_new BEFORE INSERT ON charge WHEN NEW.id IN (SELECT id FROM charge)
BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;
CREATE TRIGGER charge_stays BEFORE UPDATE ON charge
WHEN OLD.release IS NOT NULL
    OR (OLD.id, OLD.identifier, OLD.made, OLD.version, OLD.user_name, OLD.host, OLD.role)
    IS NOT (NEW.id, NEW.identifier, NEW.made, NEW.version, NEW.user_name, NEW.host, NEW.role)
    OR (OLD.mechanism, OLD.parameters, OLD.epsilon, OLD.delta, OLD.rho, OLD.rho_delta, OLD.note, OLD.once_key)
    IS NOT (NEW.mechanism, NEW.parameters, NEW.epsilon, NEW.delta, NEW.rho, NEW.rho_delta, NEW.note, NEW.once_key)
    OR (OLD.period, OLD.time_column, OLD.time_kind) IS NOT (NEW.period, NEW.time_column, NEW.time_kind)
BEGIN SELECT RAISE(ABORT, 'a charge is finished once and not changed otherwise'); END;
CREATE TRIGGER stored_stays BEFORE UPDATE ON stored BEGIN SELECT RAISE(ABORT, 'a release is never changed'); END;
CREATE TRIGGER stored_exists BEFORE DELETE ON stored BEGIN SELECT RAISE(ABORT, 'a release is never removed'); END;
CREATE TRIGGER stored_is_new BEFORE INSERT ON stored
WHEN NEW.id IN (SELECT id FROM stored) OR NEW.once_key IN (SELECT once_key FROM stored)
BEGIN SELECT RAISE(ABORT, 'a release is never replaced'); END;
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


@dataclass(frozen=True, slots=True)
class File:
    """The file of a ledger. A transaction waits `timeout` seconds for other processes that write to it."""

    path: Path
    timeout: float

    @classmethod
    def locate(cls, path: PathLike, timeout: float) -> Self:
        """Check how a file is named. It is not looked at."""
        try:
            usable = b"\0" not in os.fsencode(path)
        except ValueError:  # characters that no file name has
            usable = False
        if not usable:
            raise ParameterError("`ledger` must be the path of a file, or an address")
        return cls(Path(os.fsdecode(path)).absolute(), timeout)

    @property
    def location(self) -> str:
        """The path. A text that was meant as an address may hold a password, which is left out."""
        return hide_secrets(str(self.path))

    @property
    def grants(self) -> tuple[str, ...]:
        """A file has permissions."""
        return ()

    def is_same(self, other: Store) -> bool:
        """Whether another store is this file, by whatever name."""
        return isinstance(other, File) and os.path.exists(other.path) and os.path.samefile(self.path, other.path)

    def create(self, budget: Row) -> None:
        """Write the file of a new ledger, whole or not at all. An existing file is never overwritten.

        Only its owner may read it, because it may hold releases before they are published.
        """
        if os.path.lexists(self.path):
            raise OutputError(
                "the ledger must be a new file",
                f"{self.location!r} exists",
                hint="a budget cannot start again; `shortlist ledger show` shows what is left of it",
            )
        # SQLite writes it during each charge, and would take a stray one for its own.
        journal = f"{self.path}-journal"
        if os.path.lexists(journal):
            raise OutputError(
                "the ledger must have no journal of another one beside it",
                f"{hide_secrets(journal)!r} exists",
                hint="it is left over from a ledger that was there: choose another name",
            )
        check_target(journal, what="the ledger")
        import sqlite3  # loads a library that a list without a ledger does not need

        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            insert(connection, "budget", budget)
            content = connection.serialize()
        write_whole(self.path, content, private=True)

    @contextmanager
    def open(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """Open one transaction, as the only writer if it writes. It is committed unless something is raised inside."""
        import sqlite3

        try:
            self._check_regular()
            # Without the mode, SQLite would make a new file if there is no file.
            address = f"{self.path.as_uri()}?mode=rw"
            with closing(sqlite3.connect(address, uri=True, timeout=self.timeout, isolation_level=None)) as connection:
                self._check_ledger(connection)
                for setting in _SETTINGS:
                    connection.execute(f"PRAGMA {setting}")
                connection.row_factory = sqlite3.Row
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield connection
                connection.execute("COMMIT")
        except sqlite3.Error as error:
            # Its own text is left out, because it may hold data.
            name = getattr(error, "sqlite_errorname", "")
            reason = _REASONS.get("_".join(name.split("_")[:2]), f"it is damaged ({name or type(error).__name__})")
            raise LedgerError(
                "the ledger must be a file that can be read and written", f"{self.location!r} cannot be used: {reason}"
            ) from None

    def _check_regular(self) -> None:
        """Refuse a pipe or a device. SQLite would wait without end for the other end of a pipe."""
        try:
            regular = stat.S_ISREG(os.stat(self.path).st_mode)
        except OSError as error:
            raise self._refuse(f"cannot be read: {error.strerror}") from None
        if not regular:
            raise self._refuse("is no file")

    def _check_ledger(self, connection: sqlite3.Connection) -> None:
        """Refuse foreign files, other schemas, and a ledger that cannot have a rollback journal."""
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION or not version:
            raise self._refuse("is another file")
        check_version(version, self.location)
        (journal,) = connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        if journal != "delete":
            raise LedgerError(
                "the ledger must have a rollback journal", f"that of {self.location!r} cannot be turned on"
            )

    def _refuse(self, found: str) -> LedgerError:
        return LedgerError("the ledger must be a file made by `shortlist ledger create`", f"{self.location!r} {found}")
