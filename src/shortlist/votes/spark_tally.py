"""Counted items in Spark: only the levels and the chosen items come to the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.errors import ChangedError
from shortlist.profile import Picks, Profile
from shortlist.votes.border import optional, reading
from shortlist.votes.families import AWARE, BYTES, INTEGER, NAIVE, Kind
from shortlist.votes.frames import arrow, is_spark
from shortlist.votes.ranks import Places, checked_profile, instant
from shortlist.votes.source import Source, reading_from

_PARTITION_BITS = 33
"""`monotonically_increasing_id` is the partition's number, then this many bits for the row inside it."""

_HINT = "is the Spark session still running, and does each table read without an error there?"


class SparkTally:
    """The votes of every item of the domain, in one Spark table that is computed once.

    The table is cut from where it came from (a local checkpoint): if a part of it is lost, Spark fails instead of
    counting again, so that votes which changed meanwhile cannot name a wrong item.
    """

    def __init__(self, *, votes: Source, domain: Source, kind: Kind, given: bool) -> None:
        functions = optional("pyspark.sql.functions", extra="spark", purpose="reading Spark tables")
        self._functions = functions
        self._kind = kind
        counted = votes.frame.to_native()
        with reading_from(votes, domain, hint=_HINT):
            items = _in_spark(domain, kind, counted.sparkSession).where("item IS NOT NULL").distinct()
            tallied = items.join(counted, on="item", how="left").select(
                "item", functions.coalesce(functions.col("votes"), functions.lit(0)).cast("bigint").alias("votes")
            )
            self._tallied = tallied.localCheckpoint()
            levels = self._tallied.groupBy("votes").count().collect()
            distinct = self._tallied.select("item").distinct().count() if given else None
        domain.check_unchanged()
        self._profile = checked_profile([row[0] for row in levels], [row[1] for row in levels], distinct=distinct)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._profile.d

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    def items(self, picks: Picks) -> list[Any]:
        """The chosen items, best first.

        The picked levels are sorted across the cluster; the sizes of the partitions then say where a place lies.
        """
        functions = self._functions
        found = Places.of(picks, self._profile)
        with reading("the chosen items", hint=_HINT):
            chosen = self._tallied.where(functions.col("votes").isin(found.levels.tolist()))
            ranked = chosen.orderBy("votes", "item").select(
                self._portable().alias("item"), functions.monotonically_increasing_id().alias("id")
            )
            # Sorting anew might cut the partitions elsewhere.
            ranked = ranked.localCheckpoint()
            partition = functions.shiftright("id", _PARTITION_BITS)
            sizes = sorted((row[0], row[1]) for row in ranked.groupBy(partition).count().collect())
            ids = _ids(found, sizes)
            rows = {row["id"]: row["item"] for row in ranked.where(functions.col("id").isin(ids)).collect()}
        if len(rows) != len(ids):
            raise ChangedError("the counted items changed between two reads.")
        return [self._python(rows[each]) for each in ids]

    def _portable(self) -> Any:
        """The item in a form that the time zone of the session does not touch."""
        if self._kind.family == AWARE:
            return self._functions.unix_micros("item")
        return self._functions.col("item")

    def _python(self, value: Any) -> Any:
        readers: dict[str, Callable[[Any], Any]] = {AWARE: instant, BYTES: bytes, INTEGER: int}
        reader = readers.get(self._kind.family)
        return value if reader is None else reader(value)


def _in_spark(domain: Source, kind: Kind, session: Any) -> Any:
    if is_spark(domain.frame):
        return domain.frame.to_native()
    types = optional("pyspark.sql.types", extra="spark", purpose="reading Spark tables")
    table = arrow(domain.frame, name=domain.name)
    table = table.read_all() if hasattr(table, "read_all") else table
    if kind.family != NAIVE:
        return session.createDataFrame(table)
    # By itself, Spark would take naive times for times in the zone of the session.
    return session.createDataFrame(table, types.StructType([types.StructField("item", types.TimestampNTZType())]))


def _ids(found: Places, sizes: list[tuple[int, int]]) -> list[int]:
    """Translate places in the sorted list into Spark's row ids, given the partitions and their sizes."""
    ids: dict[int, int] = {}
    rising = iter(sorted(found.places.tolist()))
    place, start = next(rising, None), 0
    for partition, size in sizes:
        while place is not None and place < start + size:
            ids[place] = (partition << _PARTITION_BITS) + place - start
            place = next(rising, None)
        start += size
    return [ids[place] for place in found.places.tolist() if place in ids]
