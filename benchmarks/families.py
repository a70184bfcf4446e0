"""What does a family of private lists cost, compared with the engine's own non-private query by group?

Votes are for items in groups, which are a country and a week. Each person has one country, 20 votes on average, and
votes in up to 8 weeks. For each engine, the engine's own query (count the different persons of each group and item,
rank, 10 of each group) and the whole private release run in turn on the same votes; the ratio of the two times is taken
inside each turn, and the median of the ratios is shown. `loose` is a limit on groups that nobody exceeds, `groups` one
that most persons exceed (4), `votes` one on votes (20, which about half of them exceed). The peak memory is that of a
fresh process that makes one release with a memory limit for DuckDB. A PostgreSQL server is started for the benchmark.

    python benchmarks/families.py                                     # 10⁷ votes, 10³ groups, 10⁵ items, all engines
    python benchmarks/families.py --votes 1000000 --engines duckdb polars --turns 3
    python benchmarks/families.py --groups 10000
    python benchmarks/families.py --draw                              # draw 10⁴ lists of 10 items by each mechanism

Times are by the clock; with `--processor` they are processor seconds of this process, which is right for DuckDB and
Polars alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from shortlist import Query
from shortlist.mechanisms import MECHANISMS
from shortlist.profile import Profile
from shortlist.selection import select
from shortlist.testing import SeededBits
from tables import Pair, own_peak_memory, processor_seconds, seconds
from turns import print_rows, print_table

K = 10
WEEKS = 8
MEMORY_LIMIT = "1GB"
LIMITS: dict[str, dict[str, Any]] = {
    "loose": {"groups_per_person": WEEKS},
    "groups": {"groups_per_person": 4},
    "votes": {"votes_per_person": 20},
}
IN_WORDS = {
    "loose": "one that nobody exceeds",
    "groups": "4 groups of a person",
    "votes": "20 votes of a person",
}
HEAD = ["engine", "limit", "own query", "release", "release / own query"]
BUDGETS: dict[str, dict[str, Any]] = {
    "joint": {"groups_per_person": 8},
    "subset": {"groups_per_person": 8},
    "pnf-peel": {"groups_per_person": 8},
    "cdp-peel": {"groups_per_person": 8, "delta": "1e-7"},
    "noisy-counts": {"groups_per_person": 8, "votes_per_person": 20, "delta": "1e-7"},
    "threshold": {"groups_per_person": 8, "votes_per_person": 20, "delta": "1e-7"},
    "limited-domain": {"groups_per_person": 8, "delta": "1e-7"},
    "stable": {"groups_per_person": 8, "delta": "1e-7"},
    "auto": {"groups_per_person": 8, "votes_per_person": 20, "delta": "1e-7"},
}
"""The parameters with which each mechanism draws."""


def main() -> None:
    options = read_options()
    if options.alone:
        release(options.alone / "votes.parquet", options.alone, **LIMITS["votes"], memory_limit=MEMORY_LIMIT)
        print(json.dumps(own_peak_memory()))
        return
    if options.draw:
        report_draws(options.lists)
        return
    print(f"{options.votes:,} votes, {options.groups:,} groups, {options.items:,} items\n")
    print_table([*HEAD, "peak memory of a release, DuckDB limited to 1 GB"], [])
    clock = processor_seconds if options.processor else seconds
    with tempfile.TemporaryDirectory(prefix="shortlist-bench-") as folder:
        data = make_votes(Path(folder) / "votes", options.votes, options.groups, options.items)
        for engine in options.engines:
            for name, limit in LIMITS.items():
                with ENGINES[engine](data, limit) as (own, private):
                    own(), private()  # imports, code generation and the file cache are not what is asked about
                    times = [(clock(own), clock(private)) for _ in range(options.turns)]
                query, whole = (statistics.median(column) for column in zip(*times, strict=True))
                ratio = statistics.median(ours / theirs for theirs, ours in times)
                memory = f"{peak_memory(data):,.0f} MB" if (engine, name) == FIRST else "–"
                times_of_both = f"{query:.2f} s", f"{whole:.2f} s", f"{ratio:.2f}"
                print_rows([[engine, IN_WORDS[name], *times_of_both, memory]])


FIRST = ("duckdb", "votes")
"""The line that shows the memory."""


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, default=10**7)
    parser.add_argument("--groups", type=int, default=10**3)
    parser.add_argument("--items", type=int, default=10**5)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--processor", action="store_true", help="processor seconds in place of those of the clock")
    parser.add_argument("--draw", action="store_true", help="time the drawing of lists")
    parser.add_argument("--lists", type=int, default=10**4, help="how many lists are drawn")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_votes(folder: Path, votes: int, groups: int, items: int) -> Path:
    """Write votes with a long tail of items and of countries, the catalogue, and the list of groups."""
    folder.mkdir()
    countries = max(1, groups // WEEKS)
    track = f"'track ' || ({items} * pow((hash(row) % 1000003) / 1000003.0, 4))::BIGINT"
    country = f"'country ' || floor({countries} * pow((hash(user_id * 7 + 5) % 1000003) / 1000003.0, 2))::BIGINT"
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT user_id, {country} AS country, week, track
                  FROM (SELECT (hash(row + 1) % {max(1, votes // 20)})::BIGINT AS user_id,
                               (hash(row + 3) % {WEEKS})::BIGINT AS week, {track} AS track
                        FROM range({votes}) AS rows(row))) TO '{folder / "votes.parquet"}'
        """)
        tracks = f"SELECT 'track ' || row AS track FROM range({items}) AS rows(row)"
        connection.execute(f"COPY ({tracks}) TO '{folder / 'items.csv'}' (HEADER)")
        pairs = f"range({countries}) AS all_countries(number), range({WEEKS}) AS all_weeks(week)"
        listed = f"SELECT 'country ' || number AS country, week FROM {pairs}"
        connection.execute(f"COPY ({listed}) TO '{folder / 'groups.csv'}' (HEADER)")
    return folder


def release(votes: object, folder: Path, **options: Any) -> object:
    return select(
        votes,
        person="user_id",
        item="track",
        domain=folder / "items.csv",
        by=["country", "week"],
        groups=folder / "groups.csv",
        k=K,
        epsilon=5,
        mechanism="noisy-counts" if "votes_per_person" in options else "joint",
        **options,
    )


def write_own_query(table: str) -> str:
    counted = f"SELECT country, week, track, count(DISTINCT user_id) AS n FROM {table} GROUP BY country, week, track"
    turn = "row_number() OVER (PARTITION BY country, week ORDER BY n DESC) AS turn"
    return f"SELECT * FROM (SELECT *, {turn} FROM ({counted}) AS counted) AS ranked WHERE turn <= {K}"


def peak_memory(folder: Path) -> float:
    """Megabytes of a process that does nothing but one release."""
    command = [sys.executable, __file__, "--alone", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(said)) / 1024


def report_draws(lists: int) -> None:
    """Time the drawing of lists from groups of very different size, of 300 items each."""
    random, groups = np.random.default_rng(1), []
    for _ in range(lists):
        votes = min(20_000, int(200 * random.pareto(1.2) + 50))
        groups.append(Profile.of(np.bincount((200 * random.random(votes) ** 4).astype(int), minlength=300)))
    print(f"{lists:,} lists of {K} items\n")
    print_table(["mechanism", "processor time"], [])
    for name, parameters in BUDGETS.items():
        bits, start = SeededBits(1), time.process_time()
        MECHANISMS[name](k=K, epsilon=5, **parameters).draw_family(groups, bits)
        print_rows([[f"`{name}`", f"{time.process_time() - start:.1f} s"]])


@contextmanager
def on_duckdb(folder: Path, limit: dict[str, Any]) -> Iterator[Pair]:
    query = write_own_query(f"'{folder / 'votes.parquet'}'")

    def own() -> object:
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()

    yield own, lambda: release(folder / "votes.parquet", folder, **limit)


@contextmanager
def on_polars(folder: Path, limit: dict[str, Any]) -> Iterator[Pair]:
    import polars as pl

    path, group = folder / "votes.parquet", ["country", "week"]

    def own() -> object:
        counted = pl.scan_parquet(path).group_by(*group, "track").agg(pl.col("user_id").n_unique().alias("n"))
        return counted.sort("n", descending=True).group_by(group).head(K).collect(engine="streaming")

    yield own, lambda: release(pl.scan_parquet(path), folder, **limit)


@contextmanager
def on_spark(folder: Path, limit: dict[str, Any]) -> Iterator[Pair]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(folder / "votes.parquet"))
    query = write_own_query("{votes}")
    yield lambda: session.sql(query, votes=frame).collect(), lambda: release(frame, folder, **limit)


@contextmanager
def on_postgres(folder: Path, limit: dict[str, Any]) -> Iterator[Pair]:
    import psycopg
    from postgres_server import postgres_server

    with postgres_server() as server:
        address = server.address
        with psycopg.connect(address) as connection, duckdb.connect() as reader:
            connection.execute("CREATE TABLE plays (user_id bigint, country text, week bigint, track text)")
            rows = reader.execute(f"SELECT user_id, country, week, track FROM '{folder / 'votes.parquet'}'")
            with connection.cursor().copy("COPY plays FROM STDIN") as copying:
                while batch := rows.fetchmany(1 << 14):
                    copying.write("".join("\t".join(map(str, row)) + "\n" for row in batch))
            connection.commit()
            connection.autocommit = True
            connection.execute("VACUUM ANALYZE plays")

        def own() -> object:
            with psycopg.connect(address) as connection:
                return connection.execute(write_own_query("plays")).fetchall()

        yield own, lambda: release(Query(address, "SELECT * FROM plays"), folder, **limit)


ENGINES: dict[str, Callable[[Path, dict[str, Any]], AbstractContextManager[Pair]]] = {
    "duckdb": on_duckdb,
    "polars": on_polars,
    "spark": on_spark,
    "postgres": on_postgres,
}

if __name__ == "__main__":
    main()
