"""Votes in Spark: matched and counted there; only levels and chosen row numbers come to the driver."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.arrow import StreamTable
from shortlist.votes.engines.counted import ObservedTally, RemoteTally
from shortlist.votes.engines.observed import convert_items
from shortlist.votes.engines.table import Start, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import Family, find_family
from shortlist.votes.items.keys import make_key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.failures import translate_errors

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


class SparkTable(StreamTable):
    """A data frame."""

    hint = "is the Spark session still running, and does the table read without an error there?"

    @contextmanager
    def explain_failures(self) -> Iterator[None]:
        """Say in our words that Spark failed, and keep Spark from saying it."""
        with super().explain_failures(), keep_quiet(self._given.sparkSession):
            yield

    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns."""
        return self._select(choose).toArrow().to_reader()

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        return self._select(choose).distinct().toArrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in Spark; the workspace takes columns of counts."""
        if isinstance(columns.voters, CountColumn):
            return super().count(domain, columns, start)
        counted = self.plan_counts(domain, columns)
        start()
        tallied, levels = _keep_counts(counted)
        return RemoteTally(domain, levels, lambda counts, ranks: _find_rows(tallied, counts, ranks))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in Spark; the workspace takes columns of counts."""
        if isinstance(columns.voters, CountColumn):
            return super().count_observed(columns, start)
        plain = self._select(columns.choose)
        family = find_family(_find_arrow_type(plain))
        check_observable(family, columns)
        check_persons(not dict(plain.dtypes)["other"].startswith(_NEVER_PERSONS), columns)
        start()
        voted = _drop_gaps(plain).where(f"item {_PRESENT.get(family, 'IS NOT NULL')}")
        tallied, levels = _keep_counts(_count_persons(voted, columns.voters.cap, by="item").select("item", "votes"))
        return ObservedTally(levels, lambda counts, ranks: _find_items(tallied, family, counts, ranks))

    def plan_counts(self, domain: Domain, columns: VoteColumns) -> Any:
        """The data frame of rows and their votes, which Spark computes when it is asked for."""
        functions = import_optional("pyspark.sql.functions", extra="spark", purpose="reading Spark tables")
        plain = self._select(columns.choose)
        keys = _make_keys(plain, domain, columns)
        check_persons(not dict(plain.dtypes)["other"].startswith(_NEVER_PERSONS), columns)
        matched = _drop_gaps(plain).join(keys, functions.col("item") == functions.col("key")).select("row", "other")
        rows = plain.sparkSession.range(domain.d).withColumnRenamed("id", "row")
        cap = columns.voters.cap if isinstance(columns.voters, PersonColumn) else None
        counted = rows.join(_count_persons(matched, cap, by="row"), on="row", how="left").fillna(0, "votes")
        return counted.select("row", "votes")

    def _select(self, choose: Choose) -> Any:
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
                for place, text, name in zip(places, texts, ("item", "other"), strict=False)
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


def _keep_counts(counted: Any) -> tuple[Any, list[tuple[int, int]]]:
    """Compute counts once, and tell how many groups have each count."""
    # A checkpoint forgets how it was computed: if a part is lost, Spark fails instead of counting again.
    tallied = counted.localCheckpoint()
    return tallied, [(row[0], row[1]) for row in tallied.groupBy("votes").count().collect()]


def _make_keys(plain: Any, domain: Domain, columns: VoteColumns) -> Any:
    """The table of keys as a data frame, in the type of the votes."""
    types = import_optional("pyspark.sql.types")
    kept = _find_arrow_type(plain)
    among = find_family(kept)
    check_comparable(among, domain, columns)
    keys = make_key_table(domain, kept, among)
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


def _drop_gaps(plain: Any) -> Any:
    """Drop rows without a person, and make one person of 0 and −0."""
    voted, functions = plain.where("other IS NOT NULL"), import_optional("pyspark.sql.functions")
    if dict(plain.dtypes)["other"] not in ("double", "float"):
        return voted
    return voted.where("NOT isnan(other)").withColumn("other", functions.col("other") + 0)


def _count_persons(matched: Any, cap: int | None, *, by: str) -> Any:
    functions = import_optional("pyspark.sql.functions")
    if cap is None:
        return matched.groupBy(by).agg(functions.count_distinct("other").alias("votes"))
    order = functions.xxhash64("other", by), by
    window = import_optional("pyspark.sql.window").Window.partitionBy("other").orderBy(*order)
    kept = matched.distinct().withColumn("turn", functions.row_number().over(window)).where(f"turn <= {cap}")
    return kept.groupBy(by).agg(functions.count("*").alias("votes"))


def _find_rows(tallied: Any, counts: IntArray, ranks: IntArray) -> list[tuple[int, int, int]]:
    with translate_errors("the chosen items", hint=SparkTable.hint), keep_quiet(tallied.sparkSession):
        found = _find_ranked(tallied, counts, ranks, by="row").collect()
    return [(row["votes"], row["rank"], row["row"]) for row in found]


def _find_items(tallied: Any, family: Family, counts: IntArray, ranks: IntArray) -> Iterable[tuple[int, int, Any]]:
    with translate_errors("the chosen items", hint=SparkTable.hint), keep_quiet(tallied.sparkSession):
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
