"""Can one person's votes change more than the guarantee allows? Many more hostile votes than the tests have time for.

Each pair is a table and the same table with one person more. d, the items and the errors must be the same, and every
count must grow by 0 or 1. Without a cap, counts must also be those of the rule of matching, value by value.

    python benchmarks/hostile_tables.py                 # 5,000 pairs
    python benchmarks/hostile_tables.py 100000 --seed 2
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from hypothesis import HealthCheck, given, seed, settings

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import hostile

from shortlist.votes.workspace.workspace import Workspace

PEOPLE = 26


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int, nargs="?", default=5_000, help="how many pairs, over all engines")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)
    with tempfile.TemporaryDirectory(prefix="shortlist-hostile-") as folder:
        engines = make_engines(Path(folder))
        wanted = -(-options.pairs // len(engines))
        total = 0
        for name, (hold, mixed) in engines.items():
            start = time.perf_counter()
            pairs = run(hold, mixed=mixed, pairs=wanted, number=options.seed, exact=name != "sqlite, mixed")
            total += pairs
            print(f"{name:<16} {pairs:>8,} pairs, no break, {time.perf_counter() - start:,.0f} s", flush=True)
    print(f"{'together':<16} {total:>8,} pairs, no break")


def make_engines(folder: Path) -> dict[str, tuple[Callable[[Any], Any], bool]]:
    """How each engine holds votes, and whether its columns hold values of several types."""
    return {
        "arrow": (hostile.hold_arrow, False),
        "pandas": (hostile.hold_pandas, False),
        "polars": (hostile.hold_polars, False),
        "parquet": (partial(hostile.hold_parquet, folder=folder), False),
        "duckdb": (partial(hostile.hold_duckdb, connection=duckdb.connect()), False),
        "pandas, mixed": (hostile.hold_pandas, True),
        "dict, mixed": (hostile.hold_dict, True),
        "sqlite, mixed": (hostile.hold_sqlite, True),
    }


def run(hold: Callable[[Any], Any], *, mixed: bool, pairs: int, number: int, exact: bool) -> int:
    """Check chains until there were enough pairs."""
    workspace, checked = Workspace(), 0
    chains = -(-pairs // (PEOPLE - 1))

    @seed(number)
    @settings(max_examples=chains, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=hostile.cases(sorted(hostile.KINDS), people=PEOPLE, smallest=PEOPLE, mixed=mixed))
    def check(case: hostile.Case) -> None:
        nonlocal checked
        checked += hostile.check_chain(case, hold, workspace, exact=exact)

    check()
    return checked


if __name__ == "__main__":
    main()
