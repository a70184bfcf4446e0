"""Votes in Spark: matched and counted there; only levels and chosen row numbers come to the driver."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import count_reader, type_reader
from shortlist.votes.engines.counted import LocalTally, RemoteTally
from shortlist.votes.engines.table import Rows, Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family, find_family
from shortlist.votes.items.keys import key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.failures import translate_errors

_HINT = "is the Spark session still running, and does the table read without an error there?"
_NESTED = ("array", "map", "struct", "variant")
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class SparkTable(Table):
    """A data frame."""

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        with self._work():
            return self._select(choose, "item").distinct().toArrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in Spark."""
        functions = import_optional("pyspark.sql.functions", extra="spark", purpose="reading Spark tables")
        with self._work():
            plain = self._select(columns.choose, "item", "other")
            if isinstance(columns.voters, CountColumn):
                start()
                reader = plain.toArrow().to_reader()
                return LocalTally(domain, count_reader(self._workspace, reader, domain, columns, start))
            voted = plain.where("other IS NOT NULL")
            if dict(plain.dtypes)["other"] in ("double", "float"):
                voted = voted.where("NOT isnan(other)")
            keys = _make_keys(plain, domain, columns)
            check_persons(dict(plain.dtypes)["other"].startswith(_NESTED), columns)
            start()
            matched = voted.join(keys, functions.col("item") == functions.col("key")).select("row", "other")
            rows = plain.sparkSession.range(domain.d).withColumnRenamed("id", "row")
            counted = rows.join(_count_persons(matched, columns.voters.cap), on="row", how="left").fillna(0, "votes")
            # Cut from where it came from: if a part is lost, Spark fails instead of counting again.
            tallied = counted.select("row", "votes").localCheckpoint()
            levels = [(row[0], row[1]) for row in tallied.groupBy("votes").count().collect()]
        return RemoteTally(domain, levels, lambda counts, ranks: _find_rows(tallied, counts, ranks))

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        with self._work():
            return type_reader(self._workspace, self._select(choose, "item", "other").toArrow().to_reader())

    @contextmanager
    def _work(self) -> Iterator[None]:
        with translate_errors(self._name, hint=_HINT), keep_quiet(self._given.sparkSession):
            yield

    def _select(self, choose: Choose, *names: str) -> Any:
        """Take columns by position, because names may differ in case only. Text is compared by its bytes."""
        found = list(self._given.columns)
        chosen = choose(Header(columns=found))
        numbered = self._given.toDF(*map(str, range(len(found))))
        kinds = dict(numbered.dtypes)
        places = [str(found.index(column)) for column in chosen]
        texts = [kinds[place].startswith(("string", "char", "varchar")) for place in places]
        return numbered.selectExpr(
            *(
                f"`{place}` COLLATE UTF8_BINARY AS {name}" if text else f"`{place}` AS {name}"
                for place, text, name in zip(places, texts, names, strict=True)
            )
        )


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


def _make_keys(plain: Any, domain: Domain, columns: VoteColumns) -> Any:
    """The table of keys as a data frame, in the type of the votes."""
    pa, types = import_optional("pyarrow"), import_optional("pyspark.sql.types")
    to_arrow = import_optional("pyspark.sql.pandas.types").to_arrow_type
    spark_type = plain.schema["item"].dataType
    try:
        instants = isinstance(spark_type, types.TimestampType)
        kept = pa.timestamp("us", "UTC") if instants else to_arrow(spark_type)
    except Exception:  # a type that Arrow has not
        kept = pa.struct([])
    among = find_family(kept)
    check_comparable(among, domain, columns)
    keys = key_table(domain, kept, among)
    if among in (Family.NAIVE, Family.AWARE):
        # By itself, Spark would take naive times for times in the zone of the session.
        fields = [types.StructField("key", spark_type), types.StructField("row", types.LongType())]
        return plain.sparkSession.createDataFrame(keys, types.StructType(fields))
    return plain.sparkSession.createDataFrame(keys)


def _count_persons(matched: Any, cap: int | None) -> Any:
    functions = import_optional("pyspark.sql.functions")
    if cap is None:
        return matched.groupBy("row").agg(functions.count_distinct("other").alias("votes"))
    window = (
        import_optional("pyspark.sql.window")
        .Window.partitionBy("other")
        .orderBy(functions.xxhash64("other", "row"), "row")
    )
    kept = matched.distinct().withColumn("turn", functions.row_number().over(window)).where(f"turn <= {cap}")
    return kept.groupBy("row").agg(functions.count("*").alias("votes"))


def _find_rows(tallied: Any, counts: IntArray, ranks: IntArray) -> list[tuple[int, int, int]]:
    functions = import_optional("pyspark.sql.functions")
    window = import_optional("pyspark.sql.window").Window.partitionBy("votes").orderBy("row")
    with translate_errors("the chosen items", hint=_HINT), keep_quiet(tallied.sparkSession):
        chosen = tallied.where(functions.col("votes").isin(np.unique(counts).tolist()))
        ranked = chosen.withColumn("rank", functions.row_number().over(window).cast("long") - 1)
        picks = import_optional("pyarrow").table({"votes": counts, "rank": ranks})
        wanted = functions.broadcast(tallied.sparkSession.createDataFrame(picks))
        found = ranked.join(wanted, on=["votes", "rank"]).collect()
    return [(row["votes"], row["rank"], row["row"]) for row in found]
