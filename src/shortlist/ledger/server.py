"""The store of a ledger on a server: a schema of a PostgreSQL database, which a team shares.

A transaction that writes first takes a lock of its ledger, and then sees all that others committed before (READ
COMMITTED). A charge has the number after the last one that the transaction saw. So if somebody writes without the lock,
the key of the table lets one of the two charges fail, and no budget is spent twice. A commit is on the disk of the
server before it returns, also if the server defers this for others.

Every transaction has its own connection, so threads, forked children and other processes may use a ledger. If a
connection is cut while it commits, nobody knows whether it did. So the rules above write in a way that can be repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import unquote

from shortlist.errors import LedgerError, OutputError, ParameterError
from shortlist.ledger.rows import SCHEMA_VERSION, TABLES, ConnectionCutError, Row, Store, check_version, insert
from shortlist.safe_text import is_line
from shortlist.votes.failures import hide_secrets
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import quote_name

ADDRESS = re.compile(r"postgres(ql)?(\+\w+)?:", re.IGNORECASE)
"""How an address begins."""

_SCHEMA = "shortlist"
_LONGEST_NAME = 63
_NAMED_SCHEMA = re.compile(r"(?<=[?&])schema=([^&]*)(?:&|$)")
_PLACE = ("host", "hostaddr", "port", "dbname", "service")
_VALUE = re.compile(r":(\w+)")
_KEPT_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}
_LOCK = int.from_bytes(b"SLdg")
_MARK = re.compile(r"shortlist ledger, schema (\d+)")
_TRIGGERS = f"""
COMMENT ON TABLE budget IS 'shortlist ledger, schema {SCHEMA_VERSION}';
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN RAISE EXCEPTION 'a % is never changed or removed', TG_TABLE_NAME; END $$;
CREATE FUNCTION finish_once() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    IF OLD.release IS NOT NULL
        OR to_jsonb(OLD) - 'finished' - 'release' IS DISTINCT FROM to_jsonb(NEW) - 'finished' - 'release'
    THEN RAISE EXCEPTION 'a charge is finished once and not changed otherwise'; END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION name_role() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN NEW.role := session_user; RETURN NEW; END $$;
CREATE TRIGGER budget_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON budget EXECUTE FUNCTION refuse_change();
CREATE TRIGGER stored_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON stored EXECUTE FUNCTION refuse_change();
CREATE TRIGGER charge_exists BEFORE DELETE OR TRUNCATE ON charge EXECUTE FUNCTION refuse_change();
CREATE TRIGGER charge_stays BEFORE UPDATE ON charge FOR EACH ROW EXECUTE FUNCTION finish_once();
CREATE TRIGGER charge_is_named BEFORE INSERT ON charge FOR EACH ROW EXECUTE FUNCTION name_role();
"""
_EXISTS = ("42P07", "42P06", "42723", "23505")
"""A table, a schema or a function exists, or another process makes it at the same moment."""
_CUT = ("08", "40", "53300", "57P")
_REASONS = {
    "25006": "it cannot be written",
    "42501": "this user may not do that: see the grants that `shortlist ledger create` printed",
    "53100": "there is no room on the disk of the server",
    "55P03": "another process has locked it",
    "57014": "it was interrupted",
}
"""https://www.postgresql.org/docs/current/errcodes-appendix.html"""


@dataclass(frozen=True, slots=True)
class Server:
    """A schema of a database, by its address. A transaction waits `timeout` seconds for others that write."""

    address: str = field(repr=False)
    schema: str
    place: tuple[str | None, ...]
    timeout: float

    @classmethod
    def locate(cls, address: str, timeout: float) -> Self:
        """Check how a server is named: `postgresql://user@host/database?schema=name`. It is not asked."""
        psycopg = import_optional("psycopg", extra="postgres", purpose="a ledger in PostgreSQL")
        named = _NAMED_SCHEMA.search(address)
        schema = unquote(named[1]) if named else _SCHEMA
        plain = "postgresql" + _NAMED_SCHEMA.sub("", address)[address.index(":") :].rstrip("?&")
        if not is_line(schema) or len(schema.encode(errors="replace")) > _LONGEST_NAME or schema.startswith("pg_"):
            raise ParameterError(
                f"the schema of `ledger` must be a name of 1 to {_LONGEST_NAME} bytes that does not begin with pg_"
            )
        found = None
        with suppress(psycopg.Error, ValueError):  # whose text quotes the address
            found = psycopg.conninfo.conninfo_to_dict(plain)
        if found is None or "\0" in plain:
            raise ParameterError(
                "`ledger` must be the path of a file, or an address of PostgreSQL",
                "this address cannot be read",
                hint="an address looks like this: postgresql://user@host/database?schema=budget_eu",
            )
        return cls(plain, schema, (*map(found.get, _PLACE), schema), timeout)

    @property
    def location(self) -> str:
        """The address without the user and the password."""
        return f"{hide_secrets(self.address)}?schema={self.schema}"

    @property
    def grants(self) -> tuple[str, ...]:
        """The SQL that lets a role charge releases, and lets another one read the ledger."""
        schema = quote_name(self.schema)
        read = (f"GRANT USAGE ON SCHEMA {schema} TO", f"GRANT SELECT ON {schema}.budget, {schema}.charge TO")
        charge = (
            f"GRANT INSERT, UPDATE (finished, release) ON {schema}.charge TO",
            f"GRANT SELECT, INSERT ON {schema}.stored TO",
        )
        return (*(f"{each} publisher;" for each in read + charge), *(f"{each} auditor;" for each in read))

    def is_same(self, other: Store) -> bool:
        """Whether another store is this schema of this database. Two names of a host are two places."""
        return isinstance(other, Server) and self.place == other.place

    def create(self, budget: Row) -> None:
        """Make the tables of a new ledger in one transaction. The schema is made, unless it is there already."""
        with self._connect(exists="the ledger must be new") as connection:
            connection.execute("BEGIN")
            there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,)).fetchone()
            if there is None:
                connection.execute(f"CREATE SCHEMA {quote_name(self.schema)}")
            connection.execute(f"SET LOCAL search_path = {quote_name(self.schema)}, pg_temp;{TABLES}{_TRIGGERS}")
            insert(_Session(connection), "budget", budget)
            connection.execute("COMMIT")

    @contextmanager
    def open(self, *, write: bool = False) -> Iterator[_Session]:
        """Open one transaction, as the only writer if it writes. It is committed unless something is raised inside."""
        mode = "READ COMMITTED READ WRITE" if write else "REPEATABLE READ READ ONLY"
        begin = f"BEGIN ISOLATION LEVEL {mode}; SET LOCAL search_path = {quote_name(self.schema)}, pg_temp;"
        if write:
            begin += (
                f"SET LOCAL lock_timeout = {max(1, int(1000 * self.timeout))};"
                "SELECT set_config('synchronous_commit', 'on', true) "
                "WHERE current_setting('synchronous_commit') IN ('off', 'local');"
            )
        with self._connect() as connection:
            connection.execute(begin)
            self._check_ledger(connection)
            if write:
                lock = "SELECT pg_advisory_xact_lock(%s, to_regclass('charge')::oid::bigint::bit(32)::int)"
                connection.execute(lock, (_LOCK,))
            yield _Session(connection)
            # The server answers ROLLBACK to the COMMIT of a transaction that failed.
            if connection.execute("COMMIT").statusmessage != "COMMIT":
                raise LedgerError("the ledger must be written as a whole", f"{self.location!r} refused it")

    @contextmanager
    def _connect(self, *, exists: str | None = None) -> Iterator[Any]:
        """Connect, and say in our words what fails: the text of the server may hold a password or rows."""
        import psycopg
        from psycopg.rows import dict_row

        patience = max(2, min(int(self.timeout), 60))
        settings: dict[str, Any] = {**_KEPT_ALIVE, "connect_timeout": patience, "application_name": "shortlist"}
        failed: LedgerError | OutputError
        try:
            connected = psycopg.connect(
                self.address,
                autocommit=True,
                prepare_threshold=None,  # servers behind a pool know no prepared statements
                row_factory=dict_row,
                **{name: value for name, value in settings.items() if f"{name}=" not in self.address},
            )
            with closing(connected) as connection:
                yield connection
            return
        except psycopg.Error as error:
            # A failure of the connection has no code.
            state = error.sqlstate or ("" if isinstance(error, psycopg.OperationalError) else type(error).__name__)
            if exists is not None and state in _EXISTS:
                hint = "a budget cannot start again; name another schema: postgresql://host/database?schema=budget_eu"
                failed = OutputError(exists, f"{self.location!r} holds tables of a ledger already", hint=hint)
            else:
                failed = self._describe(state)
        # Outside the block above, so that the error carries no text of the server.
        raise failed from None

    def _describe(self, state: str) -> LedgerError:
        expected = "the ledger must be on a server that can be read and written"
        if state in _REASONS:
            return LedgerError(expected, f"{self.location!r} cannot be used: {_REASONS[state]}")
        if not state or state.startswith(_CUT):
            return ConnectionCutError(
                expected,
                f"{self.location!r} cannot be reached, or the connection was cut",
                hint="is the address right, does the server run, and may this user connect? "
                "A password is best kept in the file that PGPASSFILE names",
            )
        return LedgerError(expected, f"{self.location!r} cannot be used: the server reports {state}")

    def _check_ledger(self, connection: Any) -> None:
        """Refuse a schema without a ledger, and ledgers of another version."""
        row = connection.execute("SELECT obj_description(to_regclass('budget'), 'pg_class') AS mark").fetchone()
        mark = _MARK.fullmatch(row["mark"] or "")
        if mark is None:
            raise LedgerError(
                "the ledger must be a schema made by `shortlist ledger create`",
                f"{self.location!r} holds no ledger, or this user may not see it",
            )
        check_version(int(mark[1]), self.location)


@dataclass(frozen=True, slots=True)
class _Session:
    """A transaction that takes `:name` for values, as SQLite does."""

    connection: Any

    def execute(self, query: str, values: Mapping[str, Any] | None = None, /) -> Any:
        """Run one query."""
        return self.connection.execute(_VALUE.sub(r"%(\1)s", query), values)
