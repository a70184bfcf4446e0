"""Can one person's votes change more than the guarantee allows? Many more hostile votes than the tests have time for.

Each pair is a table and the same table with one person more. d, the items and the errors must be the same, and every
count must grow by 0 or 1. Without a cap, counts must also be those of the rule of matching, value by value. A drawn
case has 8 people; the table is counted with each subset of the last 4, which are 16 tables and 32 pairs. On Spark, a
case is a chain of 16 people that are added one by one: 15 pairs. Votes of families have groups of hostile types, and
one person more changes at most so many groups and cells as the limits say, each cell by at most 1. Votes without a
domain say themselves which items there are: one person more may bring items with one vote each, and no other item
vanishes, changes its type or its place among equals.

A group of PostgreSQL gets 1 % of the pairs and one of Spark 0.2 %, because they take the longest; the other groups get
equal shares.
Each part has its own seed, and is the same whenever it is run.

    python benchmarks/hostile_tables.py                               # 5,000 pairs
    python benchmarks/hostile_tables.py 100000 --seed 2 --workers 3   # three processes
    python benchmarks/hostile_tables.py 2000 --groups csv sqlite
    python benchmarks/hostile_tables.py 2000 --groups "arrow, no domain" "arrow, families, no domain"
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import hostile
import hostile_families
import hostile_observed
from postgres_server import postgres_server

from shortlist.votes.duckdb import Workspace

PEOPLE = 8
PAIRS = 32
"""The people of a case, and its pairs."""
SPARK_PEOPLE = 16
PART = 640
"""Pairs that one process checks before it says so."""
NAMED = ("pandas, inferred", "pandas, subclass", "dict, arrays", "ibis, memtable")
"""Groups that are held in a way of their own."""
NO_DOMAIN = ", no domain"
"""How the groups end in which the votes say which items there are."""
MEASURE = {"postgres": 0.01, "spark": 0.002}
"""The shares of the slow groups."""
Hold = Callable[[Any], Any]
Case = hostile.Case | hostile_families.Family


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the pairs of one group, with the address of a PostgreSQL server if the group needs one."""

    group: str
    pairs: int
    seed: int
    address: str | None


def main() -> None:
    options = read_options()
    start = time.monotonic()
    with ExitStack() as stack:
        needed = any(find_engine(group) == "postgres" for group in options.groups)
        address = stack.enter_context(postgres_server()).address if needed else None
        parts = list(make_parts(options, address))
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(options.workers, prepare_worker))
        wanted, found = sum(part.pairs for part in parts), dict.fromkeys(options.groups, 0)
        for part, pairs in pool.imap_unordered(check_part, parts):
            found[part.group] += pairs
            total, minutes = sum(found.values()), (time.monotonic() - start) / 60
            print(f"{minutes:6.1f} min  {total:>9,} of {wanted:,}  {part.group} (seed {part.seed})", flush=True)
    for group, pairs in found.items():
        print(f"{group:<33} {pairs:>8,} pairs, no break")
    print(f"{'together':<33} {sum(found.values()):>8,} pairs, no break")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int, nargs="?", default=5_000, help="how many pairs, over all groups")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2, help="how many processes")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    return parser.parse_args()


def make_parts(options: argparse.Namespace, address: str | None) -> Iterator[Part]:
    """Split the pairs over the groups, one part of each group in turn. Spark gets one part, as it starts slowly."""
    slow = sum(MEASURE.get(find_engine(group), 0) for group in options.groups)
    equal = sum(find_engine(group) not in MEASURE for group in options.groups)
    queues = []
    for group in options.groups:
        share = MEASURE.get(find_engine(group), (1 - slow) / max(equal, 1)) if equal else 1 / len(options.groups)
        pairs = round_up(math.ceil(options.pairs * share), count_pairs(group))
        size = pairs if find_engine(group) == "spark" else PART
        starts = range(0, pairs, size)
        queues.append([Part(group, min(size, pairs - first), options.seed + first, address) for first in starts])
    # Spark first: its part takes the longest.
    queues.sort(key=lambda queue: find_engine(queue[0].group) != "spark")
    for turn in itertools.zip_longest(*queues):
        yield from filter(None, turn)


def count_pairs(group: str) -> int:
    """The pairs of one case."""
    return SPARK_PEOPLE - 1 if find_engine(group) == "spark" else PAIRS


def find_engine(group: str) -> str:
    return group.partition(",")[0]


def round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def prepare_worker() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)


def check_part(part: Part) -> tuple[Part, int]:
    """Check cases until there were enough pairs; the number of pairs is returned."""
    cases, exact = GROUPS[part.group]
    workspace, checked = Workspace(), 0
    # Tables are tiny, and other processes use the other processors.
    workspace.connection.execute("SET threads = 1")
    examples = part.pairs // count_pairs(part.group)
    rules = settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    with open_holder(part) as check_case:

        @seed(part.seed)
        @settings(rules, phases=[Phase.generate])
        @given(case=cases)
        def check(case: Case) -> None:
            nonlocal checked
            checked += check_case(case, workspace, exact)

        check()
    return part, checked


@contextmanager
def open_holder(part: Part) -> Iterator[Callable[[Case, Workspace, bool], int]]:
    """Open what holds the votes of a group, and give the function that checks one case."""
    engine = find_engine(part.group)
    property: Any = hostile_observed if part.group.endswith(NO_DOMAIN) else hostile
    property = hostile_families if "families" in part.group else property
    with ExitStack() as stack:
        if engine == "spark":
            session = stack.enter_context(open_spark())
            yield lambda case, workspace, exact: property.check_spark_chain(case, session, workspace)
            return
        hold: Hold
        if engine == "duckdb":
            hold = partial(hostile.hold_duckdb, connection=stack.enter_context(duckdb.connect()))
        elif engine == "ibis" and "memtable" not in part.group:
            import ibis

            hold = partial(hostile.hold_ibis, backend=ibis.duckdb.connect())
        elif engine == "postgres":
            hold = partial(hostile.hold_postgres, address=part.address)
        elif engine in ("parquet", "csv"):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hostile-")))
            hold = partial(hostile.hold_parquet if engine == "parquet" else hostile.hold_text_file, folder=folder)
        else:
            name = part.group.split(", ")[1] if part.group.startswith(NAMED) else engine
            hold = getattr(hostile, f"hold_{name}")
        options = {} if property is hostile_families else {"texts": engine == "csv"}
        yield lambda case, workspace, exact: property.check_cube(case, hold, workspace, free=4, exact=exact, **options)


@contextmanager
def open_spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    for name, value in hostile.QUICK_SPARK.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()


def make_groups() -> dict[str, tuple[Any, bool]]:
    """The votes that are drawn for each group, and whether counts must be those of the rule."""
    every = hostile.cases(sorted(hostile.KINDS), people=PEOPLE, named=sorted(hostile.PERSONS))
    common = hostile.cases(hostile.COMMON, people=PEOPLE, named=hostile.USUAL)
    text = hostile.cases(["text"], people=PEOPLE)
    mixed = hostile.cases([], people=PEOPLE, mixed=True)
    single = {
        "arrow": (every, True),
        "dict": (every, True),
        "pandas": (common, True),
        "polars": (common, True),
        "parquet": (common, True),
        "duckdb": (common, True),
        "ibis": (common, True),
        "csv": (text, False),
        "sqlite": (hostile.cases(hostile.SQLITE_KINDS, people=PEOPLE), False),
        "pandas, mixed": (mixed, True),
        "pandas, inferred": (mixed, False),
        "pandas, subclass": (mixed, True),
        "dict, arrays": (mixed, True),
        "ibis, memtable": (mixed, False),
        "dict, mixed": (mixed, True),
        "sqlite, mixed": (mixed, False),
        "postgres": (hostile.cases(hostile.POSTGRES_KINDS, people=PEOPLE), True),
        "spark": (hostile.cases(hostile.SPARK_KINDS, people=SPARK_PEOPLE), True),
    }
    unlisted = {f"{group}{NO_DOMAIN}": found for group, found in single.items()}
    unlisted_families = {f"{group}{NO_DOMAIN}": found for group, found in make_families(["observed"]).items()}
    return single | unlisted | make_families(hostile_families.FORMS) | unlisted_families


def make_families(forms: Sequence[str]) -> dict[str, tuple[Any, bool]]:
    """The families that are drawn for each group, and whether counts must be those of the rule."""
    draw = partial(hostile_families.families, people=PEOPLE, forms=forms)
    every, typed, mixed = draw(sorted(hostile.KINDS)), draw(), draw(mixed=True)
    weighed = draw(weighed=sorted(hostile_families.WEIGHING))
    return {
        **{f"{engine}, families": (every, True) for engine in ("arrow", "dict")},
        **{f"{engine}, families": (typed, True) for engine in ("pandas", "polars", "parquet", "duckdb", "ibis")},
        **{f"{engine}, families with weights": (weighed, True) for engine in ("arrow", "parquet")},
        "csv, families": (draw(["text"]), False),
        "sqlite, families": (draw(hostile.SQLITE_KINDS), False),
        **{f"{engine}, mixed families": (mixed, True) for engine in ("pandas", "dict")},
        "sqlite, mixed families": (mixed, False),
        "postgres, families": (draw(hostile.POSTGRES_KINDS), True),
        "spark, families": (draw(hostile.SPARK_KINDS, people=SPARK_PEOPLE), True),
    }


GROUPS = make_groups()

if __name__ == "__main__":
    main()
