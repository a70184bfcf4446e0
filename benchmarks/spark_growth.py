"""How does a release on Spark grow with the number of votes, and what crosses to the driver?

    python benchmarks/spark_growth.py                                       votes 10^5, 10^6 and 10^7, on local[2]
    python benchmarks/spark_growth.py --votes 1e7 1e8 --master 'local[1]' 'local-cluster[2,1,2048]'
    python benchmarks/spark_growth.py --votes 1e7 --items 1000 10000 100000 1000000 --turns 3

Votes are generated on the cluster: 20 of each person, for items that follow Zipf's law. *Own query* is what Spark takes
to count the different persons of each item and to show the largest 100. It is run in turn with the release, after one
small query and one small release that are not timed. Times are medians by the clock, because the work is done in other
processes. The ratio is the median of the ratios of all turns. *Bytes to the driver* are the results of all tasks of a
release, as Spark's own status store has them. *Rows* are those that data frames return to this process. The number of
tasks is the same for all numbers of votes, because each task also reports a few kilobytes about itself. Use
`--tasks 32` for 10^8 votes and `--tasks 96` for 3·10^8: with 10^7 votes in a task, Spark has to spill. Each master has
a fresh process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
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
    parser.add_argument("--items", type=float, nargs="+", default=[1e4])
    parser.add_argument("--master", nargs="+", default=["local[2]"])
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=8, help="tasks of each stage")
    parser.add_argument("--driver-memory", default="4g")
    options = parser.parse_args()
    print("| master | votes | items | own query, s | release, s | release / own query | bytes to the driver | rows |")
    print("|---" * 8 + "|", flush=True)
    for master in options.master:
        process = multiprocessing.get_context("spawn").Process(target=measure_master, args=(master, options))
        process.start()
        process.join()
        if process.exitcode:
            parser.exit(1, f"{master}: failed\n")


def measure_master(master: str, options: argparse.Namespace) -> None:
    """Print the rows of one master. A process has one Spark context only."""
    spark = start(master, options.tasks, options.driver_memory)
    counter = RowCounter(type(spark.range(1)))
    warm_up = make_votes(spark, 10_000, 1_000, options.tasks)
    ask_spark(warm_up), release(warm_up, make_domain(1_000))
    for items in map(int, options.items):
        domain = make_domain(items)
        for votes in map(int, options.votes):
            frame = make_votes(spark, votes, items, options.tasks)
            times = []
            for _ in range(options.turns):
                own = seconds(lambda: ask_spark(frame))  # noqa: B023
                counter.rows, before = 0, count_bytes(spark)
                times.append((own, seconds(lambda: release(frame, domain))))  # noqa: B023
                crossed = count_bytes(spark) - before
            own, taken = (statistics.median(column) for column in zip(*times, strict=True))
            ratio = statistics.median(private / query for query, private in times)
            row = [master, f"{votes:,}", f"{items:,}", f"{own:.1f}", f"{taken:.1f}", f"{ratio:.2f}"]
            print("| " + " | ".join([*row, f"{crossed:,}", f"{counter.rows:,}"]) + " |", flush=True)
    spark.stop()


def start(master: str, tasks: int, driver_memory: str) -> SparkSession:
    settings = {
        "spark.driver.memory": driver_memory,
        "spark.executor.memory": "2g",  # for local-cluster; a local master has no other executors
        "spark.sql.shuffle.partitions": tasks,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("growth")
    session: SparkSession = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def make_domain(items: int) -> pa.Table:
    return pa.table({"item": [f"item {i}" for i in range(items)]})


def make_votes(spark: SparkSession, votes: int, items: int, tasks: int) -> DataFrame:
    """Vote v is one of person v // 20. Its item is drawn by a hash of v: item i with a probability of about 1/i."""
    share = f.abs(f.xxhash64("id")) / f.lit(2.0**63)
    item = f.floor(f.pow(f.lit(float(items)), share)) - 1
    return spark.range(0, votes, 1, tasks).select(
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
    context._jsc.sc().listenerBus().waitUntilEmpty()
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
