"""The stores of a ledger. Every test that asks for a place runs on each of them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

NUMBERS = count()


@dataclass
class FilePlace:
    """A file for a new ledger."""

    folder: Path
    name: str = "budget.db"
    errors = (sqlite3.IntegrityError,)

    @property
    def address(self):
        return str(self.folder / self.name)

    def beside(self):
        """Another place of the same kind."""
        return FilePlace(self.folder, f"other{next(NUMBERS)}.db")

    def execute(self, *statements):
        """Write to the store past the library."""
        with closing(sqlite3.connect(self.address)) as direct, direct:
            for statement in statements:
                direct.execute(statement)

    def set_version(self, version):
        self.execute(f"PRAGMA user_version = {version}")

    def remove(self):
        Path(self.address).unlink()

    def roll_back(self, work):
        """Do some work, and put the store back as it was."""
        before = Path(self.address).read_bytes()
        work()
        Path(self.address).write_bytes(before)


@dataclass
class ServerPlace:
    """A schema for a new ledger on a real PostgreSQL server."""

    server: str
    schema: str = field(default_factory=lambda: f"budget {next(NUMBERS)}")

    @property
    def address(self):
        return f"{self.server}&schema={self.schema.replace(' ', '%20')}"

    @property
    def errors(self):
        import psycopg

        return (psycopg.errors.RaiseException,)

    def beside(self):
        return ServerPlace(self.server)

    def execute(self, *statements):
        import psycopg

        with psycopg.connect(self.server) as direct:
            direct.execute(f'SET search_path = "{self.schema}"')
            for statement in statements:
                direct.execute(statement)

    def set_version(self, version):
        self.execute(f"COMMENT ON TABLE budget IS 'shortlist ledger, schema {version}'")

    def remove(self):
        self.execute(f'DROP SCHEMA "{self.schema}" CASCADE')

    def roll_back(self, work):
        work()
        self.execute(
            "ALTER TABLE charge DISABLE TRIGGER ALL",
            "DELETE FROM charge WHERE id = (SELECT MAX(id) FROM charge)",
            "ALTER TABLE charge ENABLE TRIGGER ALL",
        )


@pytest.fixture(params=["file", "postgres"])
def place(request, tmp_path):
    """A place for a new ledger, in each kind of store."""
    return FilePlace(tmp_path) if request.param == "file" else ServerPlace(request.getfixturevalue("postgres"))
