"""The types of PostgreSQL's columns, and keys as its COPY reads them."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from shortlist.profile import EVERY_LEVEL
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.keys import find_keys, make_key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.sql import quote_name

_FAMILIES = {
    "int2": Family.INTEGER,
    "int4": Family.INTEGER,
    "int8": Family.INTEGER,
    "numeric": Family.DECIMAL,
    "float4": Family.FLOAT,
    "float8": Family.FLOAT,
    "bool": Family.BOOLEAN,
    "date": Family.DATE,
    "time": Family.TIME,
    "timestamp": Family.NAIVE,
    "timestamptz": Family.AWARE,
    "bytea": Family.BYTES,
}
_ONE_TEXT = ("bit", "varbit", "char", "cidr", "inet", "macaddr", "macaddr8", "money", "oid", "pg_lsn", "timetz")
"""Other types that have one text for each value."""
_ARROW = {
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "bool": "bool_",
    "date": "date32",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a view."""

    name: str
    """Its quoted name in the view `v`."""
    kind: str
    """The name of its type: `text` for all that is written as text, `other` for types that users made."""

    @property
    def family(self) -> Family:
        """The family of its values."""
        return Family.TEXT if self.kind == "text" else _FAMILIES.get(self.kind, Family.OTHER)

    @property
    def key_type(self) -> str:
        """The type of keys: text is compared by its bytes."""
        return 'text COLLATE "C"' if self.kind == "text" else self.kind

    @property
    def value(self) -> str:
        """The SQL of its values; text is compared by its bytes."""
        return f'({self.name}::text COLLATE "C")' if self.kind == "text" else self.name

    @property
    def person(self) -> str:
        """The SQL of its values as persons: equal persons have equal texts, and the other way round."""
        if self.kind == "numeric":
            return f"trim_scale({self.name})"
        if self.kind in ("float4", "float8"):
            return f"(CASE WHEN {self.name} = 0 THEN 0 ELSE {self.name} END)"
        return self.name if self.kind in _FAMILIES else f'({self.name}::text COLLATE "C")'

    @property
    def is_plain(self) -> bool:
        """Whether its values can be persons: equal values of other types (ranges, say) may have different texts."""
        return self.kind in ("text", *_FAMILIES, *_ONE_TEXT)

    @property
    def count(self) -> str:
        """The SQL of its values as counts, NULL where they are none."""
        number = f"{self.name}::numeric"
        if self.family not in (Family.INTEGER, Family.DECIMAL, Family.FLOAT):
            digits = f"CASE WHEN {self.value} ~ '^[+]?[0-9]{{1,19}}$' THEN {self.value}::numeric END"
            number = f"({digits if self.kind == 'text' else 'NULL::numeric'})"
        return f"(CASE WHEN {number} BETWEEN 0 AND {EVERY_LEVEL} AND {number} % 1 = 0 THEN {number}::bigint END)"

    @property
    def is_present(self) -> str:
        """The SQL that says whether a value is neither NULL nor NaN."""
        nothing = f" AND {self.name} <> 'NaN'" if self.kind in ("float4", "float8", "numeric") else ""
        return f"{self.name} IS NOT NULL{nothing}"


def describe_columns(connection: Any, view: str) -> dict[str, Column]:
    """The columns of a view, by name."""
    rows = connection.execute(
        # A domain has the type that it is made of, which may be a domain again.
        "WITH RECURSIVE found AS (SELECT attnum, attname, atttypid AS kind FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 UNION ALL SELECT attnum, attname, typbasetype "
        "FROM found JOIN pg_type AS t ON t.oid = found.kind WHERE t.typtype = 'd') "
        # Strings, enumerations and UUIDs are compared as text.
        "SELECT attname, CASE WHEN t.typcategory IN ('S', 'E') OR t.oid = 'uuid'::regtype THEN 'text' "
        "WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE 'other' END "
        "FROM found JOIN pg_type AS t ON t.oid = found.kind WHERE t.typtype <> 'd' ORDER BY attnum",
        (view,),
    ).fetchall()
    return {name: Column(name=f"v.{quote_name(name)}", kind=kind) for name, kind in rows}


def write_keys(domain: Domain, column: Column) -> bytes:
    """Write the keys of a domain as CSV."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    if column.kind == "numeric":
        found = find_keys(domain, Family.DECIMAL)
        table = pa.table({"key": [f"{key:f}" for key in found], "row": pa.array(found.values(), pa.int64())})
    else:
        arrow = getattr(pa, _ARROW[column.kind])() if column.kind in _ARROW else _other_type(column.kind)
        table = make_key_table(domain, arrow, column.family)
    keys = table.column("key")
    if column.kind == "bytea":
        keys = pa.array(["\\x" + key.hex() for key in keys.to_pylist()], pa.string())
    table = pa.table({"key": keys.cast(pa.large_string()), "row": table.column("row")})
    # No text of PostgreSQL holds the character 0.
    table = table.filter(compute.invert(compute.match_substring(table.column("key"), "\0")))
    stream = io.BytesIO()
    csv = import_optional("pyarrow.csv")
    csv.write_csv(table, stream, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return stream.getvalue()


def _other_type(kind: str) -> Any:
    pa = import_optional("pyarrow")
    if kind == "bytea":
        return pa.large_binary()
    if kind == "time":
        return pa.time64("us")
    return pa.large_string() if kind == "text" else pa.timestamp("us")
