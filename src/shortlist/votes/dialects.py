"""SQL that DuckDB, Spark and PostgreSQL answer alike, and the few words in which they differ.

The one place that says in SQL what a missing value is, which items Python can hold, in which order a cap keeps votes,
and how votes are counted. Functions of DuckDB are named in full, because a macro may have the short name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError
from shortlist.periods import Span
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.times import DAY_TEXT, INSTANT_TEXT, write_day, write_instant, write_moment
from shortlist.votes.values import NUMBERS, WEIGHT_TEXT, Family

if TYPE_CHECKING:
    from shortlist.votes.domain import Domain
    from shortlist.votes.source import Request

_NANOSECONDS = (-9223372036, "1677-09-21 00:12:43.145224194"), (9223372036, "infinity")
"""The first and the last second that timestamps of DuckDB in nanoseconds hold, and the bounds of all finite ones."""
PICKS = ("place", "number", "level", "rank")
"""The columns of picks: a place in the answer, the number of a group, votes, and a rank among its items with them."""
NO_COUNT, SEVERAL_COUNTS = -1, -2
"""In place of the votes of a group: a value of it is no count, or it has several rows."""
_PRIME, _FACTOR = 2**31 - 1, 1_000_003
"""The prime by which numbers are mixed, and the factor that makes one number of those of a group and an item."""
_SAMPLED = 127
"""Of so many cells, one is looked at to find out whether most votes are repeated."""
_BLOCK = 1024
"""Rows of a group are counted in blocks of so many, to find a row without putting all in order."""
_UTF8 = (
    "^([0-7].|(c[2-9a-f]|d.)[89ab].|e0[ab].[89ab].|(e[1-9abcef][89ab].|ed[89].)[89ab].|"
    "(f0[9ab].|f[1-3][89ab].|f48.)[89ab].[89ab].)*$"
)
"""The pattern of the hexadecimal digits of text in UTF-8."""
_LONGS = "from_json('[{}]', 'array<bigint>')"
_LONG = "{0} >= -9223372036854775808 AND {0} < 9223372036854775808"
_HELD = {
    Family.DATE: "{0} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    Family.TIME: "{0} BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999'",
    Family.NAIVE: "{0} BETWEEN {naive} '0001-01-01' AND {naive} '9999-12-31 23:59:59.999999'",
    Family.AWARE: "{0} BETWEEN {aware} '0001-01-01 00:00:00+00:00' AND {aware} '9999-12-31 23:59:59.999999+00:00'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of votes: the SQL of its values, the engine's name for their type, their Arrow type and their family.

    Without a family, the values are gaps, or numbers or weights already, that were found value by value.
    """

    value: str
    kind: str = ""
    arrow: Any = None
    family: Family | None = None


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
    picks: str
    """The query for `PICKS`, given the numbers of each column as a text, whose parser is much faster than SQL's."""
    moments: Mapping[str, str]
    """The SQL of a boundary that a moment is compared with, for each type of moments."""
    matching: str
    """The SQL that says whether a whole text follows a pattern."""
    item_bytes: str
    """The SQL of bytes as `values.write_item` writes them, which is as text if they are text in UTF-8."""
    decode: str
    """The SQL of bytes as the text that they are in UTF-8. Of other bytes, it is no weight and no time."""
    add: str = "{0} + {1}"
    """The SQL of a sum."""
    double: str = "TRY_CAST({0} AS DOUBLE)"
    """The SQL of a value as a float of 64 bits."""
    wide: str = "{0}"
    """The SQL of a whole number whose sums have more than 64 bits."""
    functions: str = ""
    """What stands before the name of a function, so that no macro can have it."""
    encode: str = "{0}"
    draw: str = "CAST(CAST(concat('x', substr({0}, {1}, 7)) AS bit(28)) AS bigint)"
    """The SQL of seven hexadecimal digits of a text, from a place on, as a number."""
    mix: str = f"mod({{0}} * {{1}} + {{2}}, {_PRIME})"
    """The SQL of a step that mixes numbers: each is below 2³¹, so that no product has more than 64 bits."""
    materialized: str = ""
    """The word that makes a table of a query of WITH. Without it, limits count a table that the caller makes of
    `write_unlimited`, because votes that are read twice may change in between."""

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
        """The SQL of `values.write_text` of a column, as it is hashed."""
        other = _find(self.texts, kind)
        return self.encode.format(f"coalesce(CAST({other.format(column) if other else column} AS {self.text}), '')")

    def read_bytes(self, column: Column) -> Column:
        """The column, or the text that its bytes are: one value that is bytes makes some writers write all texts so."""
        if column.family != Family.BYTES:
            return column
        return Column(value=self.decode.format(column.value), kind=self.text, family=Family.TEXT)

    def write_weight(self, column: Column, largest: int) -> str:
        """The SQL of `values.read_weight` of a column. Without a family, the column holds such weights already."""
        column = self.read_bytes(column)
        value, family = column.value, column.family
        if family not in (None, Family.TEXT, *NUMBERS):
            return "0"
        if family in (Family.TEXT, Family.FLOAT):
            # Floats of 32 bits would round the largest weight.
            value = self.double.format(value)
        if family == Family.TEXT:
            value = f"CASE WHEN {self.matching.format(column.value, WEIGHT_TEXT)} THEN {value} END"
        if family == Family.DECIMAL:  # cut as they are, decimals with many digits would have no place for the largest
            value = f"{self.functions}floor({value})"
        # Engines leave out NULL where they look for the least or the greatest, and NaN is greater than all numbers.
        within = f"{self.functions}least({self.functions}greatest(coalesce({value}, 0), 0), CAST({largest} AS BIGINT))"
        if family in (Family.TEXT, Family.FLOAT):  # after the cut, because Spark makes whole numbers of 64 bits
            within = f"{self.functions}floor({within})"
        return f"CASE WHEN {self.is_present(column.value, column.kind)} THEN CAST({within} AS BIGINT) ELSE 0 END"

    def _write_sum(self, largest: int, column: str = "weight") -> str:
        """The SQL of the sum of weights, cut at the largest one. No sum is out of range before it is cut."""
        summed = f"{self.functions}sum({self.wide.format(column)})"
        return f"CAST({self.functions}least({summed}, {largest}) AS BIGINT)"

    def find_period(self, column: Column, span: Span) -> tuple[str, str]:
        """The SQL that says whether a moment is in a range, and that of the number of its period there.

        Without a family, the column holds gaps alone.
        """
        column = self.read_bytes(column)
        value = column.value
        if column.family in (None, Family.TEXT):
            number = value if column.family is None else self._number_text(value, span)
            return f"({number}) IS NOT NULL", number
        timeline = span.instants if column.family == Family.AWARE else span.wall
        first, *bounds, last = (self._write_bound(column.kind, second) for second in timeline.starts)
        number = _write_search(value, bounds, timeline.numbers)
        # The first condition is one that a reader of files can use to skip parts of them.
        holes = f" AND ({number}) IS NOT NULL" if None in timeline.numbers else ""
        return f"({value} >= {first} AND {value} < {last}{holes})", number

    def _number_text(self, column: str, span: Span) -> str:
        """The SQL of the number of the period of a text. Texts of one pattern are in the order of their bytes."""
        replaced = f"{self.functions}replace({self.functions}replace({column}, ' ', 'T'), 'Z', '')"
        cases = []
        for pattern, key, timeline, write in (
            (DAY_TEXT, f"{self.functions}substr({column}, 1, 10)", span.wall, write_day),
            (INSTANT_TEXT, replaced, span.instants, write_instant),
        ):
            bounds = [f"'{write(second)}'" for second in timeline.starts]
            search = _write_search(key, bounds, [None, *timeline.numbers, None])
            cases.append(f"WHEN {self.matching.format(column, pattern)} THEN {search}")
        return f"CASE {' '.join(cases)} END"

    def _write_bound(self, kind: str, second: int) -> str:
        """The SQL of a boundary in the type of a column."""
        moment = write_moment(second)
        if kind.endswith("_NS"):
            low, high = _NANOSECONDS
            moment = low[1] if second <= low[0] else high[1] if second >= high[0] else moment
        bound = _find(self.moments, kind)
        if bound is None:
            raise DataError("the times of the votes must have a type that can be compared", f"not {kind}")
        utc = "" if moment == _NANOSECONDS[1][1] else "+00"
        return bound.format(day=moment.partition(" ")[0], moment=moment, utc=utc, kind=kind)

    def write_votes(
        self,
        votes: str,
        request: Request,
        columns: Mapping[str, Column],
        *,
        taken: Mapping[str, str],
        where: Sequence[str],
        send: Callable[[Any], str],
        send_keys: Callable[[Domain, Any], str],
    ) -> str:
        """The query for the votes that count: numbers stand in place of the values that are public.

        `columns` are those of the votes, which are called `v`, by their roles. `taken` is the SQL of further columns of
        the answer. `send` makes a table of an Arrow table, and `send_keys` one of the keys of public values among a
        column; both tell its name. Without `where`, all rows are kept, with gaps in place of what matches nothing.
        """
        found, conditions, join, period = dict(taken), list(where), "JOIN" if where else "LEFT JOIN", "0"
        if request.span is not None:
            inside, number = self.find_period(columns["moment"], request.span)
            conditions.append(inside)
            period = number if where else f"CASE WHEN {inside} THEN {number} END"
        if request.weight is not None:
            found["weight"] = self.write_weight(columns["weight"], request.max_weight)
        numbers, groups = {"item": columns["item"].value}, request.groups
        for role, public in request.public.items():
            value, family = columns[role].value, columns[role].family
            if family is not None:
                votes += f" {join} {send_keys(public, columns[role])} AS k_{role} ON {value} = k_{role}.key"
            numbers[role] = value if family is None else f"k_{role}.row"
        found["item"], number, cells = numbers["item"], period, None
        if groups is not None and groups.columns:
            same = " AND ".join(f"{number} = g.{role}" for role, number in numbers.items() if role != "item")
            votes += f" {join} {send(groups.make_table())} AS g ON {same}"
            number, cells = self.add.format("g.first_number", period), groups.make_cell_table()
        if cells is not None:
            same = f"g.group_number = c.listed_group AND {found['item']} = c.listed"
            votes += f" {join} {send(cells)} AS c ON {same}"
            found["item"] = "c.place" if where else found["item"]
            number = number if where else f"CASE WHEN c.listed IS NOT NULL THEN {number} END"
        # Numbers of 32 bits are grouped and ordered faster.
        most = max(0 if request.domain is None else request.domain.d, 0 if groups is None else len(groups))
        kind = "INTEGER" if most <= _PRIME else "BIGINT"
        if request.domain is not None:
            found["item"] = f"CAST({found['item']} AS {kind})"
        if groups is not None or not where:
            found["group_number"] = f"CAST({number} AS {kind})"
        if not where:
            found["period"] = f"CAST({period} AS BIGINT)"
        sql = f"SELECT {', '.join(f'{value} AS {name}' for name, value in found.items())} FROM {votes}"
        if not where:
            return sql
        sql += f" WHERE {' AND '.join(conditions)}"
        return f"SELECT * FROM ({sql}) AS weighed WHERE weight >= 1" if request.weight is not None else sql

    def write_unit(self, request: Request) -> str:
        """The SQL of the columns that tell units apart: those of whom a limit keeps so many groups and cells.

        A unit is a person, or a person in a period. The period of a group is the rest of its number.
        """
        units = () if request.span is None else request.span.units
        if len(set(units)) < 2:
            return "other"
        period = f"{self.functions}mod(group_number, {len(units)})"
        if len(set(units)) == len(units):
            return f"other, {period}"
        firsts = [place for place in range(1, len(units)) if units[place] > units[place - 1]]
        return f"other, {_write_search(period, [*map(str, firsts)], [*range(len(firsts) + 1)])}"

    def write_counting(
        self, votes: str, request: Request, kinds: Mapping[str, str], texts: Mapping[str, str] | None = None
    ) -> str:
        """The query that counts persons (`other`) for each cell, or takes counts, given the types of all columns.

        With weights, the query adds up what persons give to a cell, at most `max_weight` each.

        A limit keeps, of each person, the first groups or cells by a hash of the person's text and of the numbers of
        group and item, and then by their values. Where items are not public, an item's number is a hash of its text.
        So what a limit keeps depends on that person's votes alone, and not on the types of the columns, which other
        persons' values may decide. `texts` names columns that hold the texts of others.
        """
        cell, count = ", ".join(request.cell), f"{self.functions}count"
        if request.counted:
            several = f"WHEN {count}(*) > 1 THEN {SEVERAL_COUNTS} ELSE {self.functions}max(other)"
            votes_of = f"CASE WHEN {count}(other) < {count}(*) THEN {NO_COUNT} {several} END"
            return f"SELECT {cell}, {votes_of} AS votes FROM {votes} GROUP BY {cell}"
        if not request.needs_pairs:
            return f"SELECT {cell}, {self.functions}count(DISTINCT other) AS votes FROM {votes} GROUP BY {cell}"
        names = ["other"] if request.domain is not None else ["other", "item"]
        written = {name: (texts or {}).get(name) or self.write_text(name, kinds[name]) for name in names}
        further = [text for text in written.values() if text in kinds and text not in names]
        return self._write_limits(votes, request, written, further)

    def write_unlimited(self, votes: str, request: Request, further: Sequence[str] = ()) -> str:
        """The query for the votes that limits are applied to, each person with a cell, and maybe several times.

        Each person is there once for a cell where weights are added up, where items have texts, or without any limit.
        Rows without weight are not there.
        """
        if request.weight is None and request.domain is not None and any(request.limits):
            return f"SELECT * FROM {votes}"
        weight = [f"{self._write_sum(request.max_weight)} AS weight"] if request.weight is not None else []
        return self._write_distinct(votes, ("other", *request.cell), further, weight)

    def _write_limits(self, votes: str, request: Request, texts: Mapping[str, str], further: Sequence[str]) -> str:
        """The query that counts cells under limits."""
        cell, counted = ", ".join(request.cell), f"{self.functions}count(*) AS votes"
        if request.weight is not None:
            counted = f"{self._write_sum(EVERY_LEVEL)} AS votes"
        last = self.write_unlimited(votes, request, further) if self.materialized else f"SELECT * FROM {votes}"
        start = ""
        if any(request.limits):
            start, last = self._write_kept(last, request, texts, further)
        if request.with_people:
            # Of each person in a group, one cell is marked: the sum of the marks is the number of people. Under a
            # private cap it is the first cell of the group that a cap keeps.
            by = "turn" if request.caps else "item"
            turn = f"{self.functions}row_number() OVER (PARTITION BY other, group_number ORDER BY {by})"
            last = f"SELECT *, CASE WHEN {turn} = 1 THEN 1 ELSE 0 END AS is_first FROM ({last}) AS unmarked"
            counted += f", {self.functions}sum(is_first) AS firsts"
        if not request.caps:
            return f"{start}SELECT {cell}, {counted} FROM ({last}) AS counted GROUP BY {cell}"
        firsts = [str(cap + 1) for cap in (0, *request.caps[:-1])]
        by = f"{cell}, {_write_search('turn', firsts[1:], range(len(firsts)))}"
        counted += f", {self.functions}sum(CASE WHEN turn IN ({', '.join(firsts)}) THEN 1 ELSE 0 END) AS exceeding"
        return f"{start}SELECT {by} AS step, {counted} FROM ({last}) AS counted GROUP BY {by}"

    def _write_kept(
        self, unlimited: str, request: Request, texts: Mapping[str, str], further: Sequence[str]
    ) -> tuple[str, str]:
        """The query for the cells of each person that limits keep, and the tables that it needs, which stand before.

        The cells of each person are put in order, and the first ones are kept. Only persons with more votes than a
        limit keeps are hashed for that. A cell is kept only where it has a place in the order, so no mistake in finding
        these persons or repeated votes keeps more than the limit.
        """
        columns, once = ["other", *request.cell, *(["weight"] if request.weight is not None else [])], "before"
        steps = {"before": unlimited}
        if request.weight is None and request.domain is not None:
            steps["repeated"] = self._write_repeated(request)
            taken, many = ", ".join(columns), "(SELECT many FROM repeated)"
            once = f"SELECT {taken} FROM before WHERE NOT {many}"
            once = f"({once} UNION ALL SELECT DISTINCT {taken} FROM before WHERE {many})"
        fewest = 1 if request.caps else min(limit for _, limit in request.limits)
        of_person = [text for text in further if text == texts["other"]]
        sizes = self._write_distinct("before", ["other"], of_person, [f"{self.functions}count(*) AS size"])
        code = f"CASE WHEN size > {fewest} THEN {self.functions}md5({texts['other']}) END AS code"
        coded = f"SELECT other AS person, {code} FROM ({sizes}) AS sizes"
        # A table of its own: PostgreSQL would hash the person again for each vote.
        factor, addend = (f"CASE WHEN code IS NOT NULL THEN {self.draw.format('code', place)} END" for place in (1, 8))
        steps["persons"] = f"SELECT person, {factor} AS factor, {addend} AS addend FROM ({coded}) AS coded"
        columns += ["factor", "addend", *(text for text in further if text == texts.get("item"))]
        drawn = f"SELECT {', '.join(columns)} FROM {once} AS once JOIN persons ON other = person"
        # Persons with few votes keep them all. They need no order where no vote is repeated.
        apart = once == "before" and not request.caps
        last = f"{drawn} WHERE factor IS NOT NULL" if apart else drawn
        for values, limit in request.limits:
            last = self._write_first(last, request, values, limit, columns, texts)
        last = f"{drawn} WHERE factor IS NULL UNION ALL {last}" if apart else last
        tables = ", ".join(f"{name} AS {self.materialized}({query})" for name, query in steps.items())
        return f"WITH {tables} ", last

    def _write_first(
        self,
        votes: str,
        request: Request,
        values: Sequence[str],
        limit: int,
        columns: Sequence[str],
        texts: Mapping[str, str],
    ) -> str:
        """The query that keeps the first groups or cells of each unit, with the turns of those, and each cell once."""
        mixed = f"CASE WHEN factor IS NOT NULL THEN {self._write_mix(values, texts)} END AS mixed"
        taken, square = ", ".join(columns), f"CAST({self.mix.format('mixed', 'mixed', 0)} AS INTEGER) AS hashed"
        hashed = f"SELECT {taken}, {square} FROM (SELECT *, {mixed} FROM ({votes}) AS drawn) AS mixed_votes"
        by_values, by_cell = (
            f"OVER (PARTITION BY {self.write_unit(request)} ORDER BY hashed, {', '.join(names)})"
            for names in (values, request.cell)
        )
        # Of rows of one cell, which all have its rank, one has the number that equals it.
        turns = f"{self.functions}dense_rank() {by_values} AS turn"
        places = f"{self.functions}rank() {by_cell} AS place, {self.functions}row_number() {by_cell} AS row_place"
        ordered = f"SELECT {taken}, {turns}, {places} FROM ({hashed}) AS hashed_votes"
        kept = f"{taken}, turn" if request.caps else taken
        return f"SELECT {kept} FROM ({ordered}) AS ordered WHERE turn <= {limit} AND place = row_place"

    def _write_repeated(self, request: Request) -> str:
        """The query that says whether most votes are repeated, which are then left out before they are put in order.

        It looks at a sample of the cells. What is counted does not depend on the answer. Without it, limits take 1.6
        times as long where each vote is there five times, or 1.4 times as long where none is repeated.
        """
        count, numbers = f"{self.functions}count(*)", [f"CAST({name} AS BIGINT)" for name in request.cell]
        sampled = f"{self.functions}mod({reduce(self.add.format, numbers)}, {_SAMPLED}) = 0"
        sizes = self._write_distinct(f"before WHERE {sampled}", ("other", *request.cell), (), [f"{count} AS size"])
        repeated = f"{self.functions}sum(size) > {self.add.format(count, count)}"
        return f"SELECT coalesce({repeated}, FALSE) AS many FROM ({sizes}) AS sizes"

    def _write_mix(self, values: Sequence[str], texts: Mapping[str, str]) -> str:
        """The SQL that mixes the numbers of a group or cell with what was drawn for a person.

        In the end, the result is squared. Without that, neighbouring numbers would be kept together.
        """
        return self.mix.format(self._write_number(values, texts), "factor", "addend")

    def _write_number(self, values: Sequence[str], texts: Mapping[str, str]) -> str:
        """The SQL of one number for those of a group or cell."""
        codes = {name: f"{self.functions}md5({text})" for name, text in texts.items()}
        numbers = [self.draw.format(codes[name], 1) if name in codes else f"CAST({name} AS BIGINT)" for name in values]
        return reduce(lambda mixed, each: self.mix.format(mixed, _FACTOR, each), numbers)

    def _write_distinct(
        self, table: str, names: Sequence[str], further: Sequence[str], sums: Sequence[str] = ()
    ) -> str:
        """The query for the different values of some columns, each with the least of its further ones, and with sums.

        Equal persons may have two texts, as a whole number and a float.
        """
        least = [f"{self.functions}min({name}) AS {name}" for name in further]
        return f"SELECT {', '.join([*names, *least, *sums])} FROM {table} GROUP BY {', '.join(names)}"

    def write_levels(self, cell: Sequence[str], with_domain: bool, with_people: bool = False) -> str:
        """The query on `{table}` that counts the cells of each group and number of votes, and the people there."""
        where = " WHERE votes <> 0" if with_domain else ""
        number = _write_number(cell)
        people = ", CAST(sum(firsts) AS BIGINT)" if with_people else ""
        by = ", ".join((*cell[:-1], "votes"))
        return f"SELECT {number}, votes, count(*){people} FROM {{table}}{where} GROUP BY {by}"

    def write_exceeding(self) -> str:
        """The query on `{table}` that counts, for each step between two caps, the units that have a vote in it.

        A unit that has one has its first one there, so only these are counted.
        """
        return "SELECT step, CAST(sum(exceeding) AS BIGINT) FROM {table} GROUP BY step"

    def write_within(self, cell: Sequence[str], step: int, with_people: bool) -> str:
        """The SQL of the votes of `{table}` within a cap, which is the end of a step. It stands for a table."""
        sums = ["votes", *(["firsts"] if with_people else [])]
        columns = ", ".join([*cell, *(f"{self._write_sum(EVERY_LEVEL, each)} AS {each}" for each in sums)])
        return f"(SELECT {columns} FROM {{table}} WHERE step <= {step} GROUP BY {', '.join(cell)}) AS capped"

    def write_finding(self, cell: Sequence[str], picks: Sequence[str]) -> str:
        """The query on `{table}` that finds items by their ranks among those of a group with equal votes."""
        number, picked = _write_number(cell), self.picks.format(*picks)
        chosen = f"({number}, votes) IN (SELECT number, level FROM picked)"
        turn = f"row_number() OVER (PARTITION BY {number}, votes ORDER BY item) - 1 AS turn"
        ranked = f"SELECT {number} AS ranked_group, votes, item, {turn} FROM {{table}} WHERE {chosen}"
        same = "number = ranked_group AND level = votes AND rank = turn"
        return f"WITH picked AS ({picked}) SELECT place, item FROM ({ranked}) AS ranked JOIN picked ON {same}"

    def write_unvoted(self, cell: Sequence[str], picks: Sequence[str]) -> str:
        """The query on `{table}` that finds rows without a vote by their ranks among those of their groups.

        The row of a rank is the rank plus the number of rows with a vote that have at most so many gaps before them.
        Rows are counted in blocks first. Then only those in the block where a row is found are put in order.
        """
        number, picked = _write_number(cell), self.picks.format(*picks)
        first = f"item - {self.functions}mod(item, {_BLOCK}) AS block"
        voted = f"(SELECT {number} AS voted_group, {first}, item FROM {{table}} WHERE votes <> 0) AS voted"
        before = "CAST(sum(size) OVER (PARTITION BY voted_group ORDER BY block) - size AS BIGINT) AS voted_before"
        gaps = "item - row_number() OVER (PARTITION BY voted_group, block ORDER BY item) + 1 AS gaps"
        return f"""WITH picked AS ({picked}),
            sizes AS (SELECT voted_group, block, count(*) AS size FROM {voted} GROUP BY voted_group, block),
            blocks AS (SELECT voted_group, block, {before} FROM sizes),
            located AS (
                SELECT place, number, rank, max(block) AS block, coalesce(max(voted_before), 0) AS voted_before
                FROM picked LEFT JOIN blocks ON number = voted_group AND block - voted_before <= rank
                GROUP BY place, number, rank
            ),
            ordered AS (
                SELECT voted_group, block, {gaps} FROM {voted}
                WHERE (voted_group, block) IN (SELECT number, block FROM located)
            )
            SELECT place, rank + voted_before + count(gaps) FROM located
            LEFT JOIN ordered ON number = voted_group AND located.block = ordered.block AND gaps - voted_before <= rank
            GROUP BY place, rank, voted_before
        """


def _write_number(cell: Sequence[str]) -> str:
    """The SQL of the number of a cell's group: a single list has the number 0."""
    return "0" if len(cell) == 1 else cell[0]


def _write_search(column: str, bounds: Sequence[str], numbers: Sequence[int | None]) -> str:
    """The SQL that finds the number of a piece by halving: of n pieces, a value is compared with log n bounds.

    >>> _write_search("t", ["1", "2"], [0, 1, None])
    'CASE WHEN t < 2 THEN CASE WHEN t < 1 THEN 0 ELSE 1 END ELSE NULL END'
    """
    if not bounds:
        return "NULL" if numbers[0] is None else str(numbers[0])
    half = len(bounds) // 2
    below, above = (
        _write_search(column, bounds[:half], numbers[: half + 1]),
        _write_search(column, bounds[half + 1 :], numbers[half + 1 :]),
    )
    return f"CASE WHEN {column} < {bounds[half]} THEN {below} ELSE {above} END"


def _name_picks(numbers: str) -> str:
    """The query for picks, given the SQL of rows of numbers: several of them make one table."""
    return f"SELECT {', '.join(f'{numbers} AS {name}' for name in PICKS)}"


def _find(patterns: Mapping[str, str], kind: str) -> str | None:
    return next((sql for pattern, sql in patterns.items() if re.fullmatch(pattern, kind, re.DOTALL)), None)


_DUCKDB_DECODE = "TRY(system.main.decode({0}))"
_SPARK_DECODE = "try_validate_utf8(CAST({0} AS STRING))"
_POSTGRES_DECODE = "encode({0}, 'escape')"
DUCKDB = Dialect(
    text="VARCHAR",
    naive="TIMESTAMP",
    aware="TIMESTAMPTZ",
    nan={"FLOAT|DOUBLE": "system.main.isnan({0})"},
    texts={
        "FLOAT|DOUBLE": "TRY_CAST(system.main.floor({0}) AS BIGINT)",
        r"DECIMAL\(.*": "system.main.floor({0})",
        "BLOB": f"coalesce({_DUCKDB_DECODE}, system.main.lower(system.main.hex({{0}})))",
        "TIMESTAMPTZ_NS": "TRY(system.main.epoch_us(CAST({0} AS TIMESTAMPTZ)))",
        "TIME|TIMESTAMP.*": "TRY(system.main.epoch_us({0}))",
    },
    picks=_name_picks("unnest(CAST('[{}]' AS BIGINT[]))"),
    moments={
        "DATE": "DATE '{day}'",
        "TIMESTAMP(_S|_MS|_NS)?": "CAST('{moment}' AS {kind})",
        "TIMESTAMP WITH TIME ZONE|TIMESTAMPTZ_NS": "CAST('{moment}{utc}' AS {kind})",
    },
    matching="system.main.regexp_full_match({0}, '{1}')",
    item_bytes="CAST(CASE WHEN TRY(system.main.decode({0})) IS NULL THEN 'h' ELSE 'g' END AS BLOB) || {0}",
    decode=_DUCKDB_DECODE,
    add='system.main."+"({0}, {1})',
    functions="system.main.",
    encode="system.main.encode({0})",
    draw="CAST(system.main.concat('0x', system.main.substr({0}, {1}, 7)) AS BIGINT)",
    mix=f'system.main.mod(system.main."+"(system.main."*"({{0}}, {{1}}), {{2}}), {_PRIME})',
    materialized="MATERIALIZED ",
)
SPARK = Dialect(
    text="STRING",
    naive="TIMESTAMP_NTZ",
    aware="TIMESTAMP_LTZ",
    nan={"float|double": "isnan({0})"},
    texts={
        "float|double": f"CASE WHEN {_LONG} THEN floor({{0}}) END",
        "decimal.*": "floor({0})",
        "binary": f"coalesce({_SPARK_DECODE}, lower(hex({{0}})))",
        # The zone of the session has a part in times without zone. That changes no vote of anybody else.
        "timestamp.*": "unix_micros(TRY_CAST({0} AS TIMESTAMP))",
    },
    picks=f"SELECT inline(arrays_zip({_LONGS}, {_LONGS}, {_LONGS}, {_LONGS})) AS ({', '.join(PICKS)})",
    moments={
        "date": "DATE '{day}'",
        "timestamp_ntz": "TIMESTAMP_NTZ '{moment}'",
        "timestamp": "TIMESTAMP_LTZ '{moment}+00:00'",
    },
    # No character follows: the sign $ would allow the end of a line.
    matching="{0} RLIKE '^({1})(?!a)(?![^a])'",
    item_bytes="concat(CAST(CASE WHEN is_valid_utf8(CAST({0} AS STRING)) THEN 'g' ELSE 'h' END AS BINARY), {0})",
    decode=_SPARK_DECODE,
    wide="CAST({0} AS DECIMAL(28, 0))",
    draw="CAST(conv(substr({0}, {1}, 7), 16, 10) AS BIGINT)",
)
POSTGRES = Dialect(
    text="text",
    naive="TIMESTAMP",
    aware="TIMESTAMPTZ",
    nan={"float[48]|numeric": "{0} = 'NaN'"},
    texts={
        "float[48]": f"CAST(CASE WHEN {_LONG} THEN floor({{0}}) END AS bigint)",
        "numeric": "floor({0})",
        "bytea": _POSTGRES_DECODE,
        "time|timestamp|timestamptz": "floor(extract(epoch FROM {0}) * 1000000)",
    },
    picks=_name_picks("unnest(CAST(string_to_array('{}', ',') AS bigint[]))"),
    moments={
        "date": "DATE '{day}'",
        "timestamp": "TIMESTAMP '{moment}'",
        "timestamptz": "TIMESTAMPTZ '{moment}+00'",
    },
    matching="{0} ~ '^({1})$'",
    item_bytes=f"(CAST(CASE WHEN encode({{0}}, 'hex') ~ '{_UTF8}' THEN 'g' ELSE 'h' END AS bytea) || {{0}})",
    decode=_POSTGRES_DECODE,
    double="CAST({0} AS float8)",
    materialized="MATERIALIZED ",
)
