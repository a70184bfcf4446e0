"""Run the benchmarks, write what they print into benchmarks/results.md, and fill the tables of docs/performance.md.

    python benchmarks/report.py             every benchmark
    python benchmarks/report.py memory      only those whose commands have this text; the other results stay
    python benchmarks/report.py --quick     tiny sizes, to see that all commands work; nothing is written

A table of the page stands between two comments, of which the first has the commands whose rows it shows. The text
around it is written by hand. If a command fails, its result stays as it was, the others are run, and the failures are
listed at the end.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "performance.md", ROOT / "benchmarks" / "results.md"
SECTION = re.compile(r"^## `(?P<command>[^`]*)`\n(?P<text>.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"(<!-- table of: (?P<command>[^\n]*) -->\n).*?(<!-- end of table -->)", re.DOTALL)
PLOTS = "--plots docs/performance"


@dataclass(frozen=True)
class Benchmark:
    """A command, and the same with tiny sizes."""

    command: str
    quick: str


BENCHMARKS = (
    Benchmark(
        "tables.py --turns 3 --engines duckdb polars", "tables.py --turns 1 --votes 10000 --engines duckdb polars"
    ),
    Benchmark(
        "tables.py --turns 3 --engines spark postgres --votes 3000000",
        "tables.py --turns 1 --engines spark postgres --votes 10000",
    ),
    Benchmark(
        "tables.py --turns 1 --engines duckdb --votes 100000000", "tables.py --turns 1 --engines duckdb --votes 20000"
    ),
    Benchmark(
        "families.py --turns 3 --engines duckdb polars",
        "families.py --turns 1 --engines duckdb polars --votes 10000 --groups 80 --items 1000",
    ),
    Benchmark("families.py --draw", "families.py --draw --lists 20"),
    Benchmark("lists.py", "lists.py --quick"),
    Benchmark("lists.py --k 10", "lists.py --k 10 --quick"),
    Benchmark("lists.py --many", "lists.py --many --quick"),
    Benchmark("peers.py --turns 5", "peers.py --turns 1"),
    Benchmark("memory.py", "memory.py 100000"),
    Benchmark("memory.py 100000000 int32", "memory.py 200000 int32"),
    Benchmark("imports.py 15", "imports.py 1"),
    Benchmark(f"growth.py k --turns 3 {PLOTS}", "growth.py k --turns 1 --largest 1000"),
)
"""All together take about a quarter of an hour. Benchmarks that answer rarer questions are run by hand."""


def main(words: list[str]) -> None:
    quick = "--quick" in words
    wanted = [word for word in words if word != "--quick"]
    results = {match["command"]: match["text"] for match in SECTION.finditer(read(RESULTS))}
    failed = []
    for benchmark in BENCHMARKS:
        if wanted and not any(word in benchmark.command for word in wanted):
            continue
        command, begin = benchmark.quick if quick else benchmark.command, time.perf_counter()
        print(command, end="", flush=True)
        finished = run(command)
        print(f"  ({time.perf_counter() - begin:.0f} s)", flush=True)
        if finished.returncode:
            failed.append(f"{command}\n{finished.stderr}")
        elif not quick:
            results[benchmark.command] = f"\n{describe_machine()}\n\n{finished.stdout.strip()}\n\n"
            write_results(results)
            fill_page(results)
    if failed:
        sys.exit("\n".join(["These commands failed:", *failed]))


def run(command: str) -> subprocess.CompletedProcess[str]:
    name, *arguments = command.split()
    program = [sys.executable, "-W", "ignore", f"benchmarks/{name}", *arguments]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)


def write_results(results: dict[str, str]) -> None:
    """Write all results in the order of the benchmarks."""
    head = "# Results of the benchmarks\n\n`make bench` writes this file. Each command is a file of this folder.\n\n"
    sections = [f"## `{each.command}`\n{results[each.command]}" for each in BENCHMARKS if each.command in results]
    RESULTS.write_text(head + "".join(sections).rstrip() + "\n", encoding="utf-8")


def fill_page(results: dict[str, str]) -> None:
    """Replace the tables of the page by those of the results, if all commands of a table have been run."""

    def replace(match: re.Match[str]) -> str:
        tables = [
            [line for line in results.get(command, "").splitlines() if line.startswith("|")]
            for command in match["command"].split("; ")
        ]
        head, rows = tables[0][:2], [row for table in tables for row in table[2:]]
        return "\n".join([match[1], *head, *rows, "", match[3]]) if all(tables) else match[0]

    PAGE.write_text(TABLE.sub(replace, read(PAGE)), encoding="utf-8")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def describe_machine() -> str:
    """Say when and where a benchmark is run."""
    lines = read(Path("/proc/cpuinfo")).splitlines()
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"*{datetime.now(UTC):%Y-%m-%d}, {(models or [platform.machine()])[0]}, {versions}.*"


if __name__ == "__main__":
    main(sys.argv[1:])
