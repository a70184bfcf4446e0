"""How does a release on Spark grow with the number of votes, and what crosses to the driver?

    python benchmarks/spark_growth.py                                           votes 10^5, 10^6, 10^7, on local[2]
    python benchmarks/spark_growth.py --votes 1e7 1e8 --master 'local-cluster[2,1,2048]'
    python benchmarks/spark_growth.py --items 1000 10000 --votes 1e6

Votes are generated on the cluster: 20 of each person, for items that follow Zipf's law. *Own query* is what Spark takes
to count the different persons of each item and to show the largest 100. *Bytes to the driver* are the results of all
tasks of the release, as Spark's own status store has them. *Rows* are those that data frames return to this process.
Times are by the clock: the work is done in other processes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import shortlist

VOTES_OF_ONE = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--items", type=int, nargs="+", default=[10_000])
    parser.add_argument("--master", default="local[2]")
    arguments = parser.parse_args()
    spark = start(arguments.master)
    counter = RowCounter(type(spark.range(1)))
    print("| master | votes | items | own query, s | release, s | release / own query | bytes to the driver | rows |")
    print("|---" * 8 + "|")
    for items in arguments.items:
        domain = pa.table({"item": [f"item {i}" for i in range(items)]})
        for votes in map(int, arguments.votes):
            frame = make_votes(spark, votes, items)
            own = seconds(lambda: ask_spark(frame))  # noqa: B023
            counter.rows, before = 0, count_bytes(spark)
            taken = seconds(lambda: release(frame, domain))  # noqa: B023
            row = [arguments.master, f"{votes:,}", f"{items:,}", f"{own:.1f}", f"{taken:.1f}", f"{taken / own:.2f}"]
            print("| " + " | ".join([*row, f"{count_bytes(spark) - before:,}", f"{counter.rows:,}"]) + " |", flush=True)
    spark.stop()


def start(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("growth").config("spark.ui.enabled", "false")
    session: SparkSession = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.range(10).count()
    return session


def make_votes(spark: SparkSession, votes: int, items: int) -> DataFrame:
    """Vote v is one of person v // 20. Its item is drawn by a hash of v: item i with a probability of about 1/i."""
    share = f.abs(f.xxhash64("id")) / f.lit(2.0**63)
    item = f.floor(f.pow(f.lit(float(items)), share)) - 1
    return spark.range(votes).select(
        f.floor(f.col("id") / VOTES_OF_ONE).alias("person"), f.concat(f.lit("item "), item.cast("string")).alias("item")
    )


def ask_spark(frame: DataFrame) -> list[Any]:
    counted = frame.groupBy("item").agg(f.countDistinct("person").alias("votes"))
    return counted.orderBy(f.desc("votes")).limit(100).collect()


def release(frame: DataFrame, domain: pa.Table) -> None:
    chosen = shortlist.select(frame, person="person", item="item", domain=domain, k=100, epsilon=1, mechanism="joint")
    assert len(set(chosen.items)) == 100


def count_bytes(spark: SparkSession) -> int:
    """Sum up the bytes of the results of all tasks so far."""
    context = spark.sparkContext
    lists, gateway = context._jvm.java.util.ArrayList, context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(lists(), False, False, quantiles, lists())
    return sum(stages.apply(index).resultSize() for index in range(stages.size()))


class RowCounter:
    """Counts the rows that data frames return to this process."""

    def __init__(self, kind: type[DataFrame]) -> None:
        self.rows = 0
        for name in ("collect", "toArrow"):
            setattr(kind, name, self._count(getattr(kind, name)))

    def _count(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(frame: DataFrame, *arguments: Any) -> Any:
            found = method(frame, *arguments)
            self.rows += len(found)
            return found

        return run


def seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
