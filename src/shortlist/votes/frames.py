"""Frames of Polars, Spark and Ibis: votes are matched and counted in the library that holds them.

Each does the same: take the chosen columns under names of ours, drop rows without a person, join the keys of the
domain, and count different persons for each row. Columns of counts go to the workspace, and so do votes under a cap,
except in Spark: not every library has the hash that orders them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.domain import Domain
from shortlist.votes.duckdb import (
    StreamSource,
    Workspace,
    convert_items,
    describe_types,
    keep_groups,
    open_batches,
    open_duckdb_query,
)
from shortlist.votes.failures import translate_errors
from shortlist.votes.libraries import import_optional
from shortlist.votes.matching import make_key_table
from shortlist.votes.queries import Query, order_by_hash, write_present
from shortlist.votes.rows import ColumnsSource, SqliteSource
from shortlist.votes.source import (
    Choose,
    CountColumn,
    Description,
    Header,
    LateSource,
    LocalTally,
    ObservedTally,
    Origin,
    RemoteTally,
    Source,
    Tally,
    Voters,
    scatter_counts,
)
from shortlist.votes.values import DIGITS, Family, choose_exact_type, find_family

_R = TypeVar("_R")


def _needs_workspace(voters: Voters) -> bool:
    return isinstance(voters, CountColumn) or voters.cap is not None


# Polars


def open_polars(workspace: Workspace, frame: Any, name: str) -> Source:
    """A frame, lazy or not."""
    pl, lazy = import_optional("polars"), frame.lazy()
    with translate_errors(name):
        objects = pl.Object in lazy.collect_schema().dtypes()
    return (_ObjectsSource if objects else PolarsSource)(workspace, lazy, name)


def _choose_polars(lazy: Any, choose: Choose) -> Any:
    """The chosen columns, by position: `*` and names between ^ and $ stand for several columns."""
    pl, found = import_optional("polars"), lazy.collect_schema().names()
    places = [found.index(column) for column in choose(Header(columns=found))]
    pairs = zip(places, ("item", "other"), strict=False)
    return lazy.select(pl.selectors.by_index(place).as_expr().alias(name) for place, name in pairs)


class PolarsSource(StreamSource):
    """A lazy frame of columns that have types."""

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema. Categories are text: their codes depend on other votes."""
        pl, taken = import_optional("polars"), _choose_polars(self._given, choose)
        taken = taken.with_columns(_make_plain(name, kind) for name, kind in taken.collect_schema().items())
        schema = pl.DataFrame(schema=taken.collect_schema()).to_arrow().schema
        return describe_types(schema.types, taken)

    def open_reader(self, described: Description) -> Any:
        """The columns."""
        return described.held.collect(engine="streaming").to_arrow().to_reader()

    def read_items(self, described: Description) -> Any:
        """The different items of the chosen column."""
        return described.held.unique().collect().to_arrow().column(0)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in Polars."""
        if _needs_workspace(voters) or described.family is None:
            return super().count(described, domain, voters)
        pl, lazy = import_optional("polars"), described.held
        kind = lazy.collect_schema()["item"]
        arrow = pl.DataFrame(schema={"item": kind}).to_arrow().schema.field(0).type
        # Short row numbers are grouped faster.
        keys = pl.from_arrow(make_key_table(domain, choose_exact_type(arrow), described.family)).with_columns(
            pl.col("row").cast(pl.UInt32)
        )
        if isinstance(kind, pl.Datetime):
            # Keys are times in UTC; the zone of the votes only says how to show them.
            lazy = lazy.with_columns(pl.col("item").to_physical())
            keys = keys.with_columns(pl.col("key").to_physical())
        matched = _drop_gaps(lazy).join(keys.lazy(), left_on="item", right_on="key").select("row", "other")
        counted = matched.group_by("row").agg(pl.col("other").n_unique().alias("votes")).collect(engine="streaming")
        return LocalTally(domain, scatter_counts(counted.to_dict(as_series=True), d=domain.d))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group in Polars; the workspace keeps the groups."""
        if _needs_workspace(voters) or described.family is None:
            return super().count_observed(described, voters)
        pl, voted = import_optional("polars"), _drop_gaps(described.held.drop_nulls("item"))
        counted = voted.group_by("item").agg(pl.col("other").n_unique().alias("votes")).collect(engine="streaming")
        groups = open_batches(self._workspace, counted.select("item", "votes").to_arrow().to_reader())
        return keep_groups(self._workspace, groups.project("item, other AS votes"), described.family)


class _ObjectsSource(LateSource):
    """A lazy frame with Python objects: it is collected once, in one order, and read value by value."""

    def describe(self, choose: Choose) -> Description:
        """Take the columns by name."""
        return Description(held=_choose_polars(self._given, choose))

    def hand_over(self, described: Description) -> tuple[Source, Description]:
        """The columns as a dict."""
        columns = {each.name: each for each in described.held.collect()}
        source = ColumnsSource(self._workspace, columns, self._name)
        return source, source.describe(lambda header: list(columns))


def _make_plain(name: str, kind: Any) -> Any:
    """A column in a type that Arrow has."""
    pl = import_optional("polars")
    if isinstance(kind, pl.Categorical | pl.Enum):
        return pl.col(name).cast(pl.String)
    if str(kind) in ("Int128", "UInt128"):
        return (
            pl.col(name).cast(pl.Decimal(DIGITS, 0), strict=False) if name == "item" else pl.col(name).cast(pl.String)
        )
    return pl.col(name)


def _drop_gaps(lazy: Any) -> Any:
    """Drop rows without a person."""
    pl = import_optional("polars")
    voted = lazy.drop_nulls("other")
    return voted.filter(pl.col("other").is_not_nan()) if lazy.collect_schema()["other"].is_float() else voted


# Ibis


def open_ibis(workspace: Workspace, table: Any, name: str) -> Source:
    """A table of any backend. DuckDB and SQLite answer to its SQL, without what Ibis makes of their values."""
    with translate_errors(name):
        backend = table.get_backend()
        if backend.name not in ("duckdb", "sqlite"):
            return IbisSource(workspace, table, name)
        if table.op().find(import_optional("ibis.expr.operations").InMemoryTable):
            return _MemorySource(workspace, table, name)
        return _open_backend(workspace, table, name)


def _open_backend(workspace: Workspace, table: Any, name: str) -> Source:
    backend = table.get_backend()
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


class _MemorySource(LateSource):
    """A table of Ibis that reads tables in memory, which its backend gets after the charge."""

    def describe(self, choose: Choose) -> Description:
        """Take the columns by name."""
        choose(Header(columns=list(self._given.columns)))
        return Description(held=choose)

    def hand_over(self, described: Description) -> tuple[Source, Description]:
        """The backend, which is told of the tables."""
        self._given.limit(0).to_pyarrow()
        source = _open_backend(self._workspace, self._given, self._name)
        return source, source.describe(described.held)


class IbisSource(StreamSource):
    """A table of a backend that has no engine of its own here.

    Without a domain, the workspace groups: a backend may take different texts for one, and return either of them.
    """

    def describe(self, choose: Choose) -> Description:
        """Describe the columns by the schema."""
        chosen = choose(Header(columns=list(self._given.columns)))
        plain = self._given.select(**dict(zip(("item", "other"), map(self._given.__getitem__, chosen), strict=False)))
        return describe_types(plain.schema().to_pyarrow().types, plain)

    def open_reader(self, described: Description) -> Any:
        """The columns."""
        return described.held.to_pyarrow().to_reader()

    def read_items(self, described: Description) -> Any:
        """The different items of the chosen column."""
        return described.held.distinct().to_pyarrow().column(0)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in the backend."""
        plain = described.held
        if _needs_workspace(voters) or described.family is None:
            return super().count(described, domain, voters)
        keys = import_optional("ibis").memtable(make_key_table(domain, plain.schema().to_pyarrow().field(0).type))
        voted = plain.filter(plain.other.notnull())
        if plain.other.type().is_floating():
            voted = voted.filter(~voted.other.isnan())
        matched = voted.join(keys, voted.item == keys.key).select("row", "other")
        counted = matched.group_by("row").agg(votes=matched.other.nunique()).to_pyarrow()
        return LocalTally(domain, scatter_counts(counted.to_pydict(), d=domain.d))


# Spark

_NEVER_PERSONS = ("array", "map", "struct", "variant", "interval", "geo")
_PRESENT = {
    Family.TEXT: "IS NOT NULL AND is_valid_utf8(item)",
    Family.DATE: "BETWEEN DATE'0001-01-01' AND DATE'9999-12-31'",
    Family.NAIVE: "BETWEEN TIMESTAMP_NTZ'0001-01-01' AND TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    Family.AWARE: "BETWEEN TIMESTAMP'0001-01-01 00:00:00Z' AND TIMESTAMP'9999-12-31 23:59:59.999999Z'",
}
"""The conditions that Python can hold an item."""
_THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
"""The setting of Spark that forbids to send tables to every executor, if it is negative."""
_PACK = 10_000
_FEW_BYTES = 24 << 20
"""Up to so many bytes of keys are sent to every executor, where Spark holds them in six to twelve times as many. Above,
votes and keys are sorted and merged, which takes longer and less memory."""
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class SparkSource(StreamSource):
    """A data frame of Spark. Only levels and chosen row numbers come to the driver."""

    hint = "is the Spark session still running, and does the table read without an error there?"

    @contextmanager
    def explain_failures(self) -> Iterator[None]:
        """Say in our words that Spark failed, and keep Spark from saying it."""
        with super().explain_failures(), keep_quiet(self._given.sparkSession):
            yield

    def describe(self, choose: Choose) -> Description:
        """Take columns by position, because names may differ in case only. Text is compared by its bytes."""
        import_optional("pyspark.sql.functions", extra="spark", purpose="reading Spark tables")
        found = list(self._given.columns)
        chosen = choose(Header(columns=found))
        numbered = self._given.toDF(*map(str, range(len(found))))
        kinds = dict(numbered.dtypes)
        places = [str(found.index(column)) for column in chosen]
        texts = [kinds[place].startswith(("string", "char", "varchar")) for place in places]
        plain = numbered.selectExpr(
            *(
                f"`{place}` COLLATE UTF8_BINARY AS {name}" if text else f"`{place}` AS {name}"
                for place, text, name in zip(places, texts, ("item", "other"), strict=False)
            )
        )
        persons = not dict(plain.dtypes).get("other", "").startswith(_NEVER_PERSONS)
        return Description(family=find_family(_find_arrow_type(plain)), plain=persons, held=plain)

    def open_reader(self, described: Description) -> Any:
        """The columns."""
        return described.held.toArrow().to_reader()

    def read_items(self, described: Description) -> Any:
        """The different items of the chosen column."""
        return described.held.distinct().toArrow().column(0)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count in Spark."""
        if isinstance(voters, CountColumn):
            return super().count(described, domain, voters)
        tallied, levels = _keep_counts(self.plan_counts(described, domain, voters))
        return RemoteTally(domain, levels, lambda counts, ranks: _find_rows(tallied, counts, ranks))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group in Spark."""
        if isinstance(voters, CountColumn):
            return super().count_observed(described, voters)
        family = described.family or Family.OTHER
        voted = _drop_spark_gaps(described.held).where(f"item {_PRESENT.get(family, 'IS NOT NULL')}")
        tallied, levels = _keep_counts(_count_persons(voted, voters.cap, by="item").select("item", "votes"))
        return ObservedTally(levels, lambda counts, ranks: _find_items(tallied, family, counts, ranks))

    def plan_counts(self, described: Description, domain: Domain, voters: Voters) -> Any:
        """The data frame of rows and their votes, which Spark computes when it is asked for."""
        functions, plain = import_optional("pyspark.sql.functions"), described.held
        keys = _make_keys(plain, domain)
        matched = (
            _drop_spark_gaps(plain).join(keys, functions.col("item") == functions.col("key")).select("row", "other")
        )
        rows = plain.sparkSession.range(domain.d).withColumnRenamed("id", "row")
        cap = None if isinstance(voters, CountColumn) else voters.cap
        counted = rows.join(_count_persons(matched, cap, by="row"), on="row", how="left").fillna(0, "votes")
        return counted.select("row", "votes")


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


def _keep_counts(counted: Any) -> tuple[Any, list[tuple[int, int]]]:
    """Compute counts once, and tell how many groups have each count."""
    # A checkpoint forgets how it was computed: if a part is lost, Spark fails instead of counting again.
    tallied = counted.localCheckpoint()
    return tallied, [(row[0], row[1]) for row in tallied.groupBy("votes").count().collect()]


def _make_keys(plain: Any, domain: Domain) -> Any:
    """The table of keys as a data frame, in the type of the votes."""
    types = import_optional("pyspark.sql.types")
    kept = _find_arrow_type(plain)
    keys = make_key_table(domain, kept, find_family(kept))
    # By itself, Spark would take naive times for times in the zone of the session.
    pair = types.StructType().add("key", plain.schema["item"].dataType).add("row", types.LongType())
    schema = types.StructType().add("pack", types.ArrayType(pair))
    sent = plain.sparkSession.createDataFrame(_pack(keys), schema).selectExpr("inline(pack)")
    # Spark does not know how many keys are in a pack, and would take any catalogue for a small one.
    allowed = not plain.sparkSession.conf.get(_THRESHOLD).startswith("-")
    return sent.hint("broadcast" if allowed and keys.nbytes <= _FEW_BYTES else "merge")


def _pack(keys: Any) -> Any:
    """Pack keys into lists, one in each row and chunk.

    Of a table in memory, Spark copies every row several times on the driver while it plans. A list is one row.
    """
    pa = import_optional("pyarrow")
    parts = [keys.slice(start, _PACK) for start in range(0, max(len(keys), 1), _PACK)]
    pairs = [part.to_struct_array().combine_chunks() for part in parts]
    return pa.table({"pack": pa.chunked_array([pa.ListArray.from_arrays([0, len(each)], each) for each in pairs])})


def _find_arrow_type(plain: Any) -> Any:
    """The Arrow type of the items."""
    pa, types = import_optional("pyarrow"), import_optional("pyspark.sql.types")
    to_arrow = import_optional("pyspark.sql.pandas.types").to_arrow_type
    spark_type = plain.schema["item"].dataType
    try:
        return pa.timestamp("us", "UTC") if isinstance(spark_type, types.TimestampType) else to_arrow(spark_type)
    except Exception:  # a type that Arrow has not
        return pa.struct([])


def _drop_spark_gaps(plain: Any) -> Any:
    """Drop rows without a person, and make one person of 0 and −0."""
    kind, functions = dict(plain.dtypes)["other"], import_optional("pyspark.sql.functions")
    voted = plain.where(write_present("other", kind))
    return voted.withColumn("other", functions.col("other") + 0) if kind in ("double", "float") else voted


def _count_persons(matched: Any, cap: int | None, *, by: str) -> Any:
    functions = import_optional("pyspark.sql.functions")
    if cap is None:
        return matched.groupBy(by).agg(functions.count_distinct("other").alias("votes"))
    kinds = dict(matched.dtypes)
    text = f"concat({_write_text('other', kinds)}, ' ', {_write_text(by, kinds)})"
    window = import_optional("pyspark.sql.window").Window.partitionBy("other").orderBy("hashed", by)
    hashed = matched.distinct().withColumn("hashed", functions.expr(order_by_hash(f"md5({text})")))
    kept = hashed.withColumn("turn", functions.row_number().over(window)).where(f"turn <= {cap}")
    return kept.groupBy(by).agg(functions.count("*").alias("votes"))


def _write_text(name: str, kinds: dict[str, str]) -> str:
    """The SQL of `values.write_text` of a column."""
    kind, text = kinds[name], f"CAST({name} AS STRING)"
    if kind in ("double", "float"):
        text = f"CASE WHEN {name} >= -9223372036854775808 AND {name} < 9223372036854775808 THEN floor({name}) END"
    elif kind.startswith("decimal"):
        text = f"floor({name})"
    elif kind == "binary":
        text = f"lower(hex({name}))"
    elif kind.startswith("timestamp"):
        # The zone of the session has a part in times without zone. That changes no vote of anybody else.
        text = f"unix_micros(TRY_CAST({name} AS TIMESTAMP))"
    return f"coalesce(CAST({text} AS STRING), '')"


def _find_rows(tallied: Any, counts: IntArray, ranks: IntArray) -> list[tuple[int, int, int]]:
    with translate_errors("the chosen items", hint=SparkSource.hint), keep_quiet(tallied.sparkSession):
        found = _find_ranked(tallied, counts, ranks, by="row").collect()
    return [(row["votes"], row["rank"], row["row"]) for row in found]


def _find_items(tallied: Any, family: Family, counts: IntArray, ranks: IntArray) -> Iterable[tuple[int, int, Any]]:
    with translate_errors("the chosen items", hint=SparkSource.hint), keep_quiet(tallied.sparkSession):
        found = _find_ranked(tallied, counts, ranks, by="item").toArrow()
    items = convert_items(found.column("item").combine_chunks(), family)
    return zip(found.column("votes").to_pylist(), found.column("rank").to_pylist(), items, strict=True)


def _find_ranked(tallied: Any, counts: IntArray, ranks: IntArray, *, by: str) -> Any:
    """The chosen groups, by their votes and their rank among those with as many votes."""
    functions = import_optional("pyspark.sql.functions")
    window = import_optional("pyspark.sql.window").Window.partitionBy("votes").orderBy(by)
    chosen = tallied.where(functions.col("votes").isin(np.unique(counts).tolist()))
    ranked = chosen.withColumn("rank", functions.row_number().over(window).cast("long") - 1)
    picks = import_optional("pyarrow").table({"votes": counts, "rank": ranks})
    wanted = functions.broadcast(tallied.sparkSession.createDataFrame(picks))
    return ranked.join(wanted, on=["votes", "rank"])
