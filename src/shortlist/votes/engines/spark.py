"""Votes in Spark: matched and counted there; only levels and chosen row numbers come to the driver."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.counting import VOTES, Columns, CountedDomain
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines.duckdb import check_comparable, check_persons, count_arrow
from shortlist.votes.item_types import Family, family_of
from shortlist.votes.keys import key_table
from shortlist.votes.remote import RemoteTally
from shortlist.votes.sources.header import Header
from shortlist.votes.workspace import Workspace

_HINT = "is the Spark session still running, and does the table read without an error there?"
_NESTED = ("array", "map", "struct", "variant")
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def tally_spark(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> CountedDomain | RemoteTally:
    """Count the votes of a data frame."""
    functions = optional("pyspark.sql.functions", extra="spark", purpose="reading Spark tables")
    with reading(VOTES, hint=_HINT), keep_quiet(votes.sparkSession):
        plain = _plain_columns(votes, columns)
        if columns.counted:
            columns.start()
            return CountedDomain(domain, count_arrow(workspace, read_arrow(votes, columns), domain, columns))
        voted = plain.where("other IS NOT NULL")
        if dict(plain.dtypes)["other"] in ("double", "float"):
            voted = voted.where("NOT isnan(other)")
        keys = _keys_in_spark(plain, domain, columns)
        check_persons(dict(plain.dtypes)["other"].startswith(_NESTED), columns)
        columns.start()
        matched = voted.join(keys, functions.col("item") == functions.col("key")).select("row", "other")
        rows = votes.sparkSession.range(domain.d).withColumnRenamed("id", "row")
        counted = rows.join(_count(matched, columns.cap), on="row", how="left").fillna(0, "votes")
        # Cut from where it came from: if a part is lost, Spark fails instead of counting again.
        tallied = counted.select("row", "votes").localCheckpoint()
        levels = [(row[0], row[1]) for row in tallied.groupBy("votes").count().collect()]

    def find(counts: IntArray, ranks: IntArray) -> list[tuple[int, int, int]]:
        window = optional("pyspark.sql.window").Window.partitionBy("votes").orderBy("row")
        with reading("the chosen items", hint=_HINT), keep_quiet(votes.sparkSession):
            chosen = tallied.where(functions.col("votes").isin(np.unique(counts).tolist()))
            ranked = chosen.withColumn("rank", functions.row_number().over(window).cast("long") - 1)
            picks = optional("pyarrow").table({"votes": counts, "rank": ranks})
            wanted = functions.broadcast(votes.sparkSession.createDataFrame(picks))
            found = ranked.join(wanted, on=["votes", "rank"]).collect()
        return [(row["votes"], row["rank"], row["row"]) for row in found]

    return RemoteTally(domain, levels, find)


def read_arrow(votes: Any, columns: Columns) -> Any:
    """Hand over the two columns of a data frame, all rows of it, as a reader of Arrow batches."""
    with reading(VOTES, hint=_HINT), keep_quiet(votes.sparkSession):
        return _plain_columns(votes, columns).toArrow().to_reader()


@contextmanager
def keep_quiet(session: Any) -> Iterator[None]:
    """Keep Spark from printing its errors, which quote values: PySpark's loggers, and the log of the driver."""
    logger = optional("pyspark.logger").PySparkLogger
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


def _plain_columns(votes: Any, columns: Columns) -> Any:
    """Take two columns by position as `item` and `other`: Spark takes names that differ in case for one."""
    found = list(votes.columns)
    chosen = Header(columns=found).take(columns.names, where=VOTES)
    numbered = votes.toDF(*map(str, range(len(found))))
    item, other = (f"`{found.index(name)}`" for name in chosen)
    # Text is compared by its bytes.
    text = dict(numbered.dtypes)[item.strip("`")].startswith(("string", "char", "varchar"))
    return numbered.selectExpr(
        f"{item} COLLATE UTF8_BINARY AS item" if text else f"{item} AS item", f"{other} AS other"
    )


def _keys_in_spark(plain: Any, domain: Domain, columns: Columns) -> Any:
    """The table of keys as a data frame, in the type of the votes."""
    pa, types = optional("pyarrow"), optional("pyspark.sql.types")
    to_arrow = optional("pyspark.sql.pandas.types").to_arrow_type
    spark_type = plain.schema["item"].dataType
    try:
        instants = isinstance(spark_type, types.TimestampType)
        kept = pa.timestamp("us", "UTC") if instants else to_arrow(spark_type)
    except Exception:  # a type that Arrow has not
        kept = pa.struct([])
    among = family_of(kept)
    check_comparable(among, domain, columns)
    keys = key_table(domain, kept, among)
    if among in (Family.NAIVE, Family.AWARE):
        # By itself, Spark would take naive times for times in the zone of the session.
        fields = [types.StructField("key", spark_type), types.StructField("row", types.LongType())]
        return plain.sparkSession.createDataFrame(keys, types.StructType(fields))
    return plain.sparkSession.createDataFrame(keys)


def _count(matched: Any, cap: int | None) -> Any:
    functions = optional("pyspark.sql.functions")
    if cap is None:
        return matched.groupBy("row").agg(functions.count_distinct("other").alias("votes"))
    window = (
        optional("pyspark.sql.window").Window.partitionBy("other").orderBy(functions.xxhash64("other", "row"), "row")
    )
    kept = matched.distinct().withColumn("turn", functions.row_number().over(window)).where(f"turn <= {cap}")
    return kept.groupBy("row").agg(functions.count("*").alias("votes"))
