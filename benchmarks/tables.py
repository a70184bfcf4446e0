"""What does a private release from a table of votes cost, compared with the engine's own non-private query?

For each engine, the engine's query (count the different persons of each item, order, limit k) and the whole private
release (votes and domain from disk, matching, counting, drawing, naming) run in turn on the same votes, in the same
process; the ratio of the two times is taken inside each turn, and the median of the ratios is shown. The peak memory is
that of a fresh process that makes one release with a memory limit for DuckDB. A PostgreSQL server is started for
the benchmark, with its default settings.

    python benchmarks/tables.py                         # 10⁷ votes on DuckDB, Polars, Spark and PostgreSQL
    python benchmarks/tables.py --votes 100000000 --engines duckdb --turns 1
    python benchmarks/tables.py --votes 1000000 --engines duckdb polars --turns 3
    python benchmarks/tables.py --no-domain             # 10⁷ votes over 10⁶ observed items on DuckDB, without a domain

With `--no-domain`, times are processor seconds of this process and all its threads. The release by `threshold` and the
query that it is compared with count 20 votes of each person at most.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import duckdb

from shortlist import Query
from shortlist.selection import select
from turns import print_rows, print_table

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

K = 100
ITEMS = 166_049
CAP = 20
MEMORY_LIMIT = "1GB"
HEAD = ["engine", "votes", "own query", "release", "release / own query"]

Clock = Callable[[Callable[[], object]], float]
Pair = tuple[Callable[[], object], Callable[[], object]]


def main() -> None:
    options = read_options()
    if options.alone:
        release(options.alone / "votes.parquet", options.alone / "items.csv", memory_limit=MEMORY_LIMIT)
        print(json.dumps(own_peak_memory()))
        return
    with tempfile.TemporaryDirectory(prefix="shortlist-bench-") as folder:
        if options.no_domain:
            report_no_domain(Path(folder) / "observed", options.votes, options.turns)
            return
        print_table([*HEAD, "peak memory of a release, DuckDB limited to 1 GB"], [])
        data = make_votes(Path(folder) / "votes", options.votes)
        for engine in options.engines:
            report(engine, options.votes, data, options.turns)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, default=10**7)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--no-domain", action="store_true", help="releases without a domain, on DuckDB only")
    parser.add_argument("--alone", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def make_votes(folder: Path, votes: int, items: int = ITEMS) -> Path:
    """Write a log with a long tail: 20 votes a person, and a catalogue that holds every item."""
    folder.mkdir()
    tail = f"({items} * pow((hash(row) % 1000003) / 1000003.0, 4))::BIGINT"
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (SELECT (hash(row + 1) % {votes // 20})::BIGINT AS user_id, 'track ' || {tail} AS track
                  FROM range({votes}) AS rows(row)) TO '{folder / "votes.parquet"}'
        """)
        connection.execute(f"""
            COPY (SELECT 'track ' || row AS track FROM range({items}) AS rows(row)) TO '{folder / "items.csv"}' (HEADER)
        """)
    return folder


def report(engine: str, votes: int, folder: Path, turns: int) -> None:
    query, release, ratio = take_turns(engine, folder, turns, seconds)
    memory = f"{peak_memory(folder):,.0f} MB" if engine == "duckdb" else "–"
    print_rows([[engine, f"{votes:,}", f"{query:.2f} s", f"{release:.2f} s", f"{ratio:.2f}", memory]])


def take_turns(engine: str, folder: Path, turns: int, clock: Clock) -> tuple[float, float, float]:
    """Return the median times of the engine's query and of the release, and the median of their ratios."""
    with ENGINES[engine](folder / "votes.parquet", folder / "items.csv") as (own, private):
        own(), private()  # imports, code generation and the file cache are not what is asked about
        times = [(clock(own), clock(private)) for _ in range(turns)]
    query, release = (statistics.median(column) for column in zip(*times, strict=True))
    return query, release, statistics.median(release / query for query, release in times)


def report_no_domain(folder: Path, votes: int, turns: int) -> None:
    """Compare releases without a domain with DuckDB's own query; every tenth vote is for an item of its own."""
    make_votes(folder, votes)
    path = folder / "observed.parquet"
    with duckdb.connect() as connection:
        own_items = "CASE WHEN row_number % 10 = 0 THEN 'own ' || row_number ELSE track END"
        connection.execute(
            f"COPY (SELECT user_id, {own_items} AS track FROM (SELECT *, row_number() OVER () AS row_number "
            f"FROM '{folder / 'votes.parquet'}')) TO '{path}'"
        )
        (observed,) = connection.execute(f"SELECT count(DISTINCT track) FROM '{path}'").fetchone() or (0,)
    print(f"{votes:,} votes over {observed:,} observed items, DuckDB, no domain, processor seconds")
    for name, cap in (("limited-domain", None), ("stable", None), ("threshold", CAP)):

        def own(query: str = write_own_query(path, cap)) -> object:
            with duckdb.connect() as connection:
                return connection.execute(query).fetchall()

        def private(name: str = name, cap: int | None = cap) -> object:
            terms = {"k": K, "epsilon": 1, "delta": "1e-6", "mechanism": name, "votes_per_person": cap}
            return select(path, person="user_id", item="track", **terms)

        own(), private()
        times = [(processor_seconds(own), processor_seconds(private)) for _ in range(turns)]
        ratio = statistics.median(release / query for query, release in times)
        query_time, time_of_release = (statistics.median(column) for column in zip(*times, strict=True))
        limit = "" if cap is None else f", both with {cap} votes of each person"
        print(
            f"{name:<15} own query {query_time:.2f} s, release {time_of_release:.2f} s, ratio {ratio:.2f}{limit}",
            flush=True,
        )


def write_own_query(path: Path, cap: int | None) -> str:
    """Write what one would ask DuckDB without privacy. With a cap, so many items of each person count."""
    if cap is None:
        counted = f"SELECT track, count(DISTINCT user_id) AS n FROM '{path}'"
    else:
        turn = "row_number() OVER (PARTITION BY user_id ORDER BY hash(user_id, track))"
        pairs = f"SELECT track, {turn} AS turn FROM (SELECT DISTINCT user_id, track FROM '{path}')"
        counted = f"SELECT track, count(*) AS n FROM ({pairs}) WHERE turn <= {cap}"
    return f"{counted} GROUP BY track ORDER BY n DESC LIMIT {K}"


def processor_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def peak_memory(folder: Path) -> float:
    """Megabytes of a process that does nothing but one release."""
    command = [sys.executable, __file__, "--alone", str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(said)) / 1024


def own_peak_memory() -> int:
    """Kilobytes at most that this program had in memory; `getrusage` would count what started it, too."""
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kilobytes)


def release(votes: object, items: Path, **options: object) -> object:
    return select(votes, person="user_id", item="track", domain=items, k=K, epsilon=1, **options)


@contextmanager
def on_duckdb(votes: Path, items: Path) -> Iterator[Pair]:
    query = f"SELECT track, count(DISTINCT user_id) AS n FROM '{votes}' GROUP BY track ORDER BY n DESC LIMIT {K}"

    def own() -> object:
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()

    yield own, lambda: release(votes, items)


@contextmanager
def on_polars(votes: Path, items: Path) -> Iterator[Pair]:
    import polars as pl

    def own() -> object:
        counted = pl.scan_parquet(votes).group_by("track").agg(pl.col("user_id").n_unique().alias("n"))
        return counted.top_k(K, by="n").collect()

    yield own, lambda: release(pl.scan_parquet(votes), items)


@contextmanager
def on_spark(votes: Path, items: Path) -> Iterator[Pair]:
    from pyspark.sql import SparkSession, functions

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(votes))

    def own() -> object:
        counted = frame.groupBy("track").agg(functions.count_distinct("user_id").alias("n"))
        return counted.orderBy(functions.desc("n")).limit(K).collect()

    yield own, lambda: release(frame, items)


@contextmanager
def on_postgres(votes: Path, items: Path) -> Iterator[Pair]:
    import psycopg
    from postgres_server import postgres_server

    with postgres_server() as server:
        address = server.address
        with psycopg.connect(address) as connection, duckdb.connect() as reader:
            connection.execute("CREATE TABLE plays (user_id bigint, track text)")
            rows = reader.execute(f"SELECT user_id, track FROM '{votes}'")
            with connection.cursor().copy("COPY plays FROM STDIN") as copying:
                while batch := rows.fetchmany(1 << 14):
                    copying.write("".join(f"{user}\t{track}\n" for user, track in batch))
            connection.commit()
            connection.autocommit = True
            connection.execute("VACUUM ANALYZE plays")
        query = f"SELECT track, count(DISTINCT user_id) AS n FROM plays GROUP BY track ORDER BY n DESC LIMIT {K}"

        def own() -> object:
            with psycopg.connect(address) as connection:
                return connection.execute(query).fetchall()

        yield own, lambda: release(Query(address, "SELECT * FROM plays"), items)


ENGINES: dict[str, Callable[[Path, Path], AbstractContextManager[Pair]]] = {
    "duckdb": on_duckdb,
    "polars": on_polars,
    "spark": on_spark,
    "postgres": on_postgres,
}

if __name__ == "__main__":
    main()
