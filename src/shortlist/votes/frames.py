"""Frames of Polars, Spark and Ibis: votes are matched and counted in the library that holds them.

Each does the same: take the chosen columns under names of ours, drop rows without a person, join the keys of the
domain, and count different persons for each row. Columns of counts go to the workspace, and so do votes under a cap,
except in Spark: not every library has the hash that orders them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from shortlist.votes.dialects import SPARK, Column
from shortlist.votes.duckdb import Workspace, keep_groups, list_columns, open_duckdb_query
from shortlist.votes.failures import translate_errors
from shortlist.votes.libraries import import_optional, pa, pl
from shortlist.votes.matching import make_key_table
from shortlist.votes.queries import Query, invent_name
from shortlist.votes.rows import ColumnsSource, SqliteSource
from shortlist.votes.source import (
    CellTally,
    Choose,
    Description,
    Header,
    LocalTally,
    Origin,
    Request,
    Source,
    Table,
    Tally,
    scatter_counts,
)
from shortlist.votes.values import DIGITS, Family, read_type, write_item


def _needs_workspace(described: Description, request: Request) -> bool:
    """Whether votes go to the workspace: counts, families, votes of a time, with weights, or a cap, or no type."""
    several = request.groups is not None or request.span is not None or request.weight is not None
    return request.counted or several or request.cap is not None or not described.list_families("item")


# Polars


class PolarsSource(ColumnsSource):
    """A frame, lazy or not. If it has Python objects, it is collected once, in one order, and read value by value."""

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema. Categories are text: their codes depend on other votes."""
        lazy = self._given.lazy()
        found, kinds = lazy.collect_schema().names(), lazy.collect_schema().dtypes()
        chosen, taken = choose(Header(columns=found)), []
        for role, column in chosen.items():
            # By position: `*` and names between ^ and $ stand for several columns.
            place = found.index(column)
            taken.append(_make_plain(pl.selectors.by_index(place).as_expr(), kinds[place], role).alias(role))
        lazy = lazy.select(taken)
        if pl.Object in lazy.collect_schema().dtypes():
            return Description(handle=lazy)
        schema = pl.DataFrame(schema=lazy.collect_schema()).to_arrow().schema
        return Description.of(schema, lazy.unique() if list(chosen) == ["item"] else lazy)

    def open(self, described: Description) -> Table:
        """Read the columns."""
        collected = described.handle.collect(engine="streaming")
        if pl.Object in collected.dtypes:
            return super().open(Description(handle=collected.to_dict()))
        return Table.of(collected.to_arrow())

    def count(self, described: Description, request: Request) -> Tally:
        """Count in Polars; without a domain, the workspace keeps the groups."""
        if _needs_workspace(described, request):
            return super().count(described, request)
        domain, voted = request.domain, described.handle.drop_nulls(["item", "other"])
        item = described.columns["item"]
        if voted.collect_schema()["other"].is_float():
            voted = voted.filter(pl.col("other").is_not_nan())
        if domain is not None:
            keys = pl.from_arrow(make_key_table(domain, read_type(item.arrow).exact, item.family))
            if item.family in (Family.NAIVE, Family.AWARE):
                # Keys are times in UTC; the zone of the votes only says how to show them.
                voted = voted.with_columns(pl.col("item").to_physical())
                keys = keys.with_columns(pl.col("key").to_physical())
            matched = voted.join(keys.lazy(), left_on="item", right_on="key")
            voted = matched.select(pl.col("row").alias("item"), "other")
        counted = voted.group_by("item").agg(votes=pl.col("other").n_unique()).collect(engine="streaming")
        if domain is not None:
            return LocalTally(domain, scatter_counts(counted["item"], counted["votes"], d=domain.d))
        groups = self._workspace.open_table(Table.of(counted.to_arrow()))
        return keep_groups(self._workspace, groups.handle, item.family, request)


def _make_plain(column: Any, kind: Any, role: str) -> Any:
    """A column in a type that Arrow has."""
    if str(kind) in ("Int128", "UInt128") and role != "other":
        return column.cast(pl.Decimal(DIGITS, 0), strict=False)
    return column.cast(pl.String) if str(kind).startswith(("Categorical", "Enum", "Int128", "UInt128")) else column


# Ibis


def open_ibis(workspace: Workspace, table: Any, name: str) -> Source:
    """A table of any backend. DuckDB and SQLite answer to its SQL, without what Ibis makes of their values."""
    with translate_errors(name):
        backend = table.get_backend()
        # Tables in memory are given to a backend after the charge, and Ibis does that.
        known = not table.op().find(import_optional("ibis.expr.operations").InMemoryTable)
        if backend.name not in ("duckdb", "sqlite") or not known:
            return IbisSource(workspace, table, name)
        query = Query(backend.con, backend.compile(table))
    if backend.name == "duckdb":
        return open_duckdb_query(workspace, query, name, origin=Origin.FRAME)
    opened = SqliteSource(workspace, query, name)
    opened.origin = Origin.FRAME
    return opened


def take_frame(table: Any) -> Any:
    """The frame that a table of Ibis has in memory; else the table. Ibis would give one type to all its values."""
    operation = table.op()
    frame = getattr(getattr(operation, "data", None), "obj", None)
    known = frame is not None and list(getattr(frame, "column_names", frame.columns)) == list(table.columns)
    return frame if known else table


class IbisSource(Source):
    """A table of a backend that has no engine of its own here.

    Without a domain, the workspace groups: a backend may take different texts for one, and return either of them.
    """

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema."""
        chosen = choose(Header(columns=list(self._given.columns)))
        plain = self._given.select(**{role: self._given[column] for role, column in chosen.items()})
        schema = plain.schema().to_pyarrow()
        return Description.of(schema, plain.distinct() if list(chosen) == ["item"] else plain)

    def open(self, described: Description) -> Table:
        """Read the columns."""
        return Table.of(described.handle.to_pyarrow())

    def count(self, described: Description, request: Request) -> Tally:
        """Count in the backend."""
        plain, domain = described.handle, request.domain
        if domain is None or _needs_workspace(described, request):
            return super().count(described, request)
        keys = import_optional("ibis").memtable(make_key_table(domain, described.columns["item"].arrow))
        voted = plain.filter(plain.other.notnull())
        if plain.other.type().is_floating():
            voted = voted.filter(~voted.other.isnan())
        matched = voted.join(keys, voted.item == keys.key).select("row", "other")
        counted = matched.group_by("row").agg(votes=matched.other.nunique()).to_pyarrow()
        return LocalTally(domain, scatter_counts(counted["row"], counted["votes"], d=domain.d))


# Spark

_NEVER_PERSONS = ("array", "map", "struct", "variant", "interval", "geo")
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
"""The setting of Spark that forbids to send tables to every executor, if it is negative."""
_PACK = 10_000
_FEW_BYTES = 24 << 20
"""Up to so many bytes of keys are sent to every executor, where Spark holds them in six to twelve times as many. Above,
votes and keys are sorted and merged, which takes longer and less memory."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class SparkSource(Source):
    """A data frame of Spark. Only levels and chosen row numbers come to the driver."""

    hint = "is the Spark session still running, and does the table read without an error there?"

    @contextmanager
    def explain_failures(self) -> Iterator[None]:
        """Say in our words that Spark failed, and keep Spark from saying it."""
        with super().explain_failures(), keep_quiet(self._given.sparkSession):
            yield

    def describe(self, choose: Choose) -> Description:
        """Take columns by position, because names may differ in case only. Text is compared by its bytes."""
        found = list(self._given.columns)
        chosen = choose(Header(columns=found))
        numbered = self._given.toDF(*map(str, range(len(found))))
        kinds, taken = dict(numbered.dtypes), []
        for role, column in chosen.items():
            place = str(found.index(column))
            text = kinds[place].startswith(("string", "char", "varchar"))
            taken.append(f"`{place}` {'COLLATE UTF8_BINARY ' if text else ''}AS {role}")
        plain = numbered.selectExpr(*taken)
        persons = not dict(plain.dtypes).get("other", "").startswith(_NEVER_PERSONS)
        handle = plain.distinct() if list(chosen) == ["item"] else plain
        columns = {}
        for field, (role, kind) in zip(plain.schema.fields, plain.dtypes, strict=True):
            arrow = _find_arrow_type(field.dataType)
            columns[role] = Column(value=f"v.{role}", kind=kind, arrow=arrow, family=read_type(arrow).family)
        return Description(columns=columns, holds_persons=persons, handle=handle)

    def open(self, described: Description) -> Table:
        """Read the columns."""
        return Table.of(described.handle.toArrow())

    def count(self, described: Description, request: Request) -> Tally:
        """Count in Spark."""
        if request.counted:
            return super().count(described, request)
        session = described.handle.sparkSession
        # A checkpoint forgets how it was computed: if a part is lost, Spark fails instead of counting again.
        tallied = self.plan_counts(described, request).localCheckpoint()

        def ask(sql: str) -> list[Any]:
            with keep_quiet(session):
                return list_columns(session.sql(sql, table=tallied).toArrow())

        write = bytes if described.columns["item"].family == Family.BYTES else write_item
        return CellTally(SPARK, ask, request, write=write, hint=self.hint)

    def plan_counts(self, described: Description, request: Request) -> Any:
        """The data frame of cells and their votes, which Spark computes when it is asked for.

        Under limits, the votes that are matched are computed at once.
        """
        plain, session, family = described.handle, described.handle.sparkSession, described.columns["item"].family
        frames, other = {(votes := invent_name()): plain}, described.columns["other"]
        where, columns, texts = [SPARK.is_present(other.value, other.kind)], dict(described.columns), {}
        if request.domain is None and family == Family.BYTES:
            columns["item"] = replace(columns["item"], value=SPARK.item_bytes.format("v.item"))
            texts["item"] = SPARK.write_text("substring(item, 2)", "binary")
        if request.domain is None:
            where += [SPARK.is_held("v.item", family), *["is_valid_utf8(v.item)"] * (family == Family.TEXT)]

        def send(table: Any, key: Any = None) -> str:
            name = invent_name()
            frames[name] = _send(session, table, key)
            return name

        sql = SPARK.write_votes(
            f"{votes} AS v",
            request,
            columns,
            # 0 and −0 are one person.
            taken={"other": "v.other + 0" if other.kind in ("double", "float") else "v.other"},
            where=where,
            send=send,
            send_keys=lambda public, column: send(
                make_key_table(public, column.arrow), plain.schema[column.value.removeprefix("v.")].dataType
            ),
        )
        kinds: dict[str, str] = {}
        if request.needs_pairs:
            # Limits look at votes several times. A checkpoint is computed once, whatever the votes are made of.
            found = _ask(session, SPARK.write_unlimited(f"({sql}) AS votes", request), frames).localCheckpoint()
            sql, frames, kinds = f"SELECT * FROM {votes}", {votes: found}, dict(found.dtypes)
        return _ask(session, SPARK.write_counting(f"({sql}) AS votes", request, kinds, texts), frames)


def _ask(session: Any, sql: str, frames: Mapping[str, Any]) -> Any:
    """The answer to a query in which data frames have names that nobody can guess. Spark reads braces as names."""
    sql = sql.replace("{", "{{").replace("}", "}}")
    for name in frames:
        sql = sql.replace(name, f"{{{name}}}")
    return session.sql(sql, **frames)


@contextmanager
def keep_quiet(session: Any) -> Iterator[None]:
    """Keep Spark from printing its errors, which quote values: PySpark's loggers, and the log of the driver."""
    logger = import_optional("pyspark.logger").PySparkLogger
    loggers: list[logging.Logger] = [logger.getLogger(name) for name in _LOGGERS]
    before = [each.disabled for each in loggers]
    driver, level = None, None
    with suppress(Exception):  # Spark Connect has no driver in this process
        driver = session.sparkContext._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
        level = driver.getLevel()
        session.sparkContext.setLogLevel("OFF")
    try:
        for each in loggers:
            each.disabled = True
        yield
    finally:
        for each, disabled in zip(loggers, before, strict=True):
            each.disabled = disabled
        if level is not None:
            session.sparkContext.setLogLevel(level.toString())


def _send(session: Any, table: Any, key: Any = None) -> Any:
    """A table of whole numbers as a data frame; its first column may be a key, in the type of the votes."""
    types = import_optional("pyspark.sql.types")
    # By itself, Spark would take naive times for times in the zone of the session.
    row = types.StructType()
    for place, name in enumerate(table.column_names):
        row.add(name, types.LongType() if place or key is None else key)
    schema = types.StructType().add("pack", types.ArrayType(row))
    sent = session.createDataFrame(_pack(table), schema).selectExpr("inline(pack)")
    # Spark does not know how many rows are in a pack, and would take any catalogue for a small one.
    allowed = not session.conf.get(_THRESHOLD).startswith("-")
    return sent.hint("broadcast" if allowed and table.nbytes <= _FEW_BYTES else "merge")


def _pack(keys: Any) -> Any:
    """Pack keys into lists, one in each row and chunk.

    Of a table in memory, Spark copies every row several times on the driver while it plans. A list is one row.
    """
    parts = [keys.slice(start, _PACK) for start in range(0, max(len(keys), 1), _PACK)]
    pairs = [part.to_struct_array().combine_chunks() for part in parts]
    return pa.table({"pack": pa.chunked_array([pa.ListArray.from_arrays([0, len(each)], each) for each in pairs])})


def _find_arrow_type(spark_type: Any) -> Any:
    """The Arrow type of a type of Spark."""
    types = import_optional("pyspark.sql.types")
    to_arrow = import_optional("pyspark.sql.pandas.types").to_arrow_type
    try:
        return pa.timestamp("us", "UTC") if isinstance(spark_type, types.TimestampType) else to_arrow(spark_type)
    except Exception:  # a type that Arrow has not
        return pa.struct([])
