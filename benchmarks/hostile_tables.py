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
from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import hostile

from shortlist.votes.workspace.workspace import Workspace

PEOPLE = 16


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
        for name, (hold, cases, exact) in engines.items():
            start = time.process_time()
            pairs = run(hold, cases, pairs=wanted, number=options.seed, exact=exact)
            total += pairs
            print(f"{name:<16} {pairs:>8,} pairs, no break, {time.process_time() - start:,.0f} s", flush=True)
    print(f"{'together':<16} {total:>8,} pairs, no break")


def make_engines(folder: Path) -> dict[str, tuple[Callable[[Any], Any], Any, bool]]:
    """How each engine holds votes, the votes that are drawn for it, and whether counts must be those of the rule."""
    every = hostile.cases(sorted(hostile.KINDS), people=PEOPLE, named=sorted(hostile.PERSONS))
    common = hostile.cases(hostile.COMMON, people=PEOPLE, named=hostile.USUAL)
    text = hostile.cases(["text"], people=PEOPLE)
    mixed = hostile.cases([], people=PEOPLE, mixed=True)
    return {
        "arrow": (hostile.hold_arrow, every, True),
        "dict": (hostile.hold_dict, every, True),
        "pandas": (hostile.hold_pandas, common, True),
        "polars": (hostile.hold_polars, common, True),
        "parquet": (partial(hostile.hold_parquet, folder=folder), common, True),
        "duckdb": (partial(hostile.hold_duckdb, connection=duckdb.connect()), common, True),
        "csv": (partial(hostile.hold_text_file, folder=folder), text, False),
        "sqlite": (hostile.hold_sqlite, text, False),
        "pandas, mixed": (hostile.hold_pandas, mixed, True),
        "pandas, inferred": (hostile.hold_inferred, mixed, False),
        "dict, mixed": (hostile.hold_dict, mixed, True),
        "sqlite, mixed": (hostile.hold_sqlite, mixed, False),
    }


def run(hold: Callable[[Any], Any], cases: Any, *, pairs: int, number: int, exact: bool) -> int:
    """Check chains until there were enough pairs."""
    workspace, checked = Workspace(), 0
    chains = -(-pairs // (PEOPLE - 1))
    rules = settings(max_examples=chains, deadline=None, database=None, suppress_health_check=list(HealthCheck))

    @seed(number)
    @settings(rules, phases=[Phase.generate])
    @given(case=cases)
    def check(case: hostile.Case) -> None:
        nonlocal checked
        checked += hostile.check_chain(case, hold, workspace, exact=exact)

    check()
    return checked


if __name__ == "__main__":
    main()
