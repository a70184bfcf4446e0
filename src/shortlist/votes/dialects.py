"""SQL that DuckDB, Spark and PostgreSQL answer alike, and the few words in which they differ.

The one place that says in SQL what a missing value is, which items Python can hold, in which order a cap keeps votes,
and how votes are counted. Functions of DuckDB are named in full, because a macro may have the short name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortlist.votes.values import Family

if TYPE_CHECKING:
    from shortlist.votes.source import Request

NO_COUNT, SEVERAL_COUNTS = -1, -2
"""In place of the votes of a group: a value of it is no count, or it has several rows."""
_LONG = "{0} >= -9223372036854775808 AND {0} < 9223372036854775808"
_HELD = {
    Family.DATE: "{0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    Family.TIME: "{0} BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999'",
    Family.NAIVE: "{0} BETWEEN {naive} '0001-01-01' AND {naive} '9999-12-31 23:59:59.999999'",
    Family.AWARE: "{0} BETWEEN {aware} '0001-01-01 00:00:00+00:00' AND {aware} '9999-12-31 23:59:59.999999+00:00'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The words of one engine. Types are found by patterns of their names."""

    text: str
    """The type of text."""
    naive: str
    aware: str
    """The types of timestamps without and with a time zone."""
    nan: Mapping[str, str]
    """The SQL that says whether a value is NaN, for the types that have it."""
    texts: Mapping[str, str]
    """The SQL of what `values.write_text` writes, for types whose own text is another one."""
    numbers: str
    """The SQL that makes rows of whole numbers in a text, whose parser is much faster than that of SQL."""
    collation: str = ""
    """The collation by bytes, where text has another one by itself."""

    def is_present(self, column: str, kind: object) -> str:
        """The SQL that says whether a value of a type is there: neither NULL nor NaN. Python's is `values.is_missing`.

        >>> POSTGRES.is_present("user", "float8"), DUCKDB.is_present("user", "BIGINT")
        ("(user IS NOT NULL AND NOT user = 'NaN')", '(user IS NOT NULL)')
        """
        nan = _find(self.nan, str(kind))
        return f"({column} IS NOT NULL{f' AND NOT {nan.format(column)}' if nan else ''})"

    def is_held(self, column: str, family: Family | None) -> str:
        """The SQL that says whether Python can hold an item."""
        return _HELD.get(family or Family.OTHER, "{0} IS NOT NULL").format(column, naive=self.naive, aware=self.aware)

    def write_text(self, column: str, kind: str) -> str:
        """The SQL of `values.write_text` of a column."""
        other = _find(self.texts, kind)
        return f"coalesce(CAST({other.format(column) if other else column} AS {self.text}), '')"

    def write_counting(self, votes: str, request: Request, kinds: Mapping[str, str]) -> str:
        """The query that counts persons (`other`) for each cell, or takes counts, given the types of all columns.

        A limit keeps, of each person, the first groups or cells by a hash of the texts of the person and of the group
        or cell, and then by their values. So what it keeps depends on that person's votes alone, and not on the types
        of the columns, which other persons' values may decide.
        """
        cell = ", ".join(request.cell)
        if request.counted:
            several = f"WHEN count(*) > 1 THEN {SEVERAL_COUNTS}"
            votes_of = f"CASE WHEN count(other) < count(*) THEN {NO_COUNT} {several} ELSE max(other) END"
            return f"SELECT {cell}, {votes_of} AS votes FROM {votes} GROUP BY {cell}"
        kept = f"SELECT DISTINCT {cell}, other FROM {votes}"
        for number, (values, limit) in enumerate(request.limits):
            texts = ", ' ', ".join(self.write_text(name, kinds[name]) for name in ("other", *values))
            digests = f"SELECT {cell}, other, md5(concat({texts})) AS digest FROM ({kept}) AS pairs_{number}"
            # The bytes of the hash from last to first: DuckDB reads it as a number in that order.
            order = ", ".join(f"substr(digest, {place}, 2)" for place in range(31, 0, -2))
            order = f"concat({order}){self.collation}, {', '.join(values)}"
            turn = f"dense_rank() OVER (PARTITION BY other ORDER BY {order}) AS turn"
            turns = f"SELECT {cell}, other, {turn} FROM ({digests}) AS digests_{number}"
            kept = f"SELECT {cell}, other FROM ({turns}) AS turns_{number} WHERE turn <= {limit}"
        if any(request.limits):
            return f"SELECT {cell}, count(*) AS votes FROM ({kept}) AS kept GROUP BY {cell}"
        return f"SELECT {cell}, count(DISTINCT other) AS votes FROM {votes} GROUP BY {cell}"

    def write_levels(self, cell: Sequence[str], with_domain: bool) -> str:
        """The query on `{table}` that counts the cells of each group and number of votes."""
        where = " WHERE votes <> 0" if with_domain else ""
        number = _write_number(cell)
        return f"SELECT {number}, votes, count(*) FROM {{table}}{where} GROUP BY {', '.join((*cell[:-1], 'votes'))}"

    def write_finding(self, cell: Sequence[str], stride: int, places: str, levels: str) -> str:
        """The query on `{table}` that finds items by their places: among those of some levels, by falling votes."""
        wanted, placed = (f"SELECT {self.numbers.format(each)}" for each in (levels, places))
        number = _write_number(cell)
        turn = f"row_number() OVER (PARTITION BY {number} ORDER BY votes DESC, item)"
        ranked = f"SELECT item, {number} * {stride} + {turn} - 1 AS place FROM {{table}} WHERE votes IN ({wanted})"
        return f"SELECT place, item FROM ({ranked}) AS ranked WHERE place IN ({placed})"

    def write_unvoted(self, cell: Sequence[str], stride: int, places: str) -> str:
        """The query on `{table}` that finds rows without a vote, by their places among those of their groups.

        The row of a place is the place plus the number of rows with a vote that have at most so many gaps before them.
        """
        number = _write_number(cell)
        gaps = f"item - row_number() OVER (PARTITION BY {number} ORDER BY item) + 1 AS gaps"
        voted = f"SELECT {number} * {stride} AS origin, {gaps} FROM {{table}} WHERE votes <> 0"
        before = f"origin = place - place % {stride} AND gaps <= place % {stride}"
        placed = f"SELECT {self.numbers.format(places)} AS place"
        return (
            f"SELECT place, place % {stride} + count(gaps) FROM ({placed}) AS placed "
            f"LEFT JOIN ({voted}) AS voted ON {before} GROUP BY place"
        )


def _write_number(cell: Sequence[str]) -> str:
    """The SQL of the number of a cell's group: a single list has the number 0."""
    return "0" if len(cell) == 1 else cell[0]


def _find(patterns: Mapping[str, str], kind: str) -> str | None:
    return next((sql for pattern, sql in patterns.items() if re.fullmatch(pattern, kind, re.DOTALL)), None)


DUCKDB = Dialect(
    text="VARCHAR",
    naive="TIMESTAMP",
    aware="TIMESTAMPTZ",
    nan={"FLOAT|DOUBLE": "system.main.isnan({0})"},
    texts={
        "FLOAT|DOUBLE": "TRY_CAST(system.main.floor({0}) AS BIGINT)",
        r"DECIMAL\(.*": "system.main.floor({0})",
        "BLOB": "system.main.lower(system.main.hex({0}))",
        "TIME|TIMESTAMP.*": "TRY(system.main.epoch_us({0}))",
    },
    numbers="unnest(CAST('[{0}]' AS BIGINT[]))",
)
SPARK = Dialect(
    text="STRING",
    naive="TIMESTAMP_NTZ",
    aware="TIMESTAMP_LTZ",
    nan={"float|double": "isnan({0})"},
    texts={
        "float|double": f"CASE WHEN {_LONG} THEN floor({{0}}) END",
        "decimal.*": "floor({0})",
        "binary": "lower(hex({0}))",
        # The zone of the session has a part in times without zone. That changes no vote of anybody else.
        "timestamp.*": "unix_micros(TRY_CAST({0} AS TIMESTAMP))",
    },
    numbers="explode(from_json('[{0}]', 'array<bigint>'))",
)
POSTGRES = Dialect(
    text="text",
    naive="TIMESTAMP",
    aware="TIMESTAMPTZ",
    nan={"float[48]|numeric": "{0} = 'NaN'"},
    texts={
        "float[48]": f"CAST(CASE WHEN {_LONG} THEN floor({{0}}) END AS bigint)",
        "numeric": "floor({0})",
        "bytea": "encode({0}, 'hex')",
        "time|timestamp|timestamptz": "floor(extract(epoch FROM {0}) * 1000000)",
    },
    numbers="unnest(CAST(string_to_array('{0}', ',') AS bigint[]))",
    collation=' COLLATE "C"',
)
