"""How long does `joint` take beside `max()`, and how much memory, for counts of several integer types?

    python benchmarks/memory.py                    10^7 items
    python benchmarks/memory.py 100000000 int32    another number of items, and only some types

Times are processor time. A ratio is the median of the ratios of several turns. Memory is what `tracemalloc` counts
besides the counts themselves, in bytes per item.
"""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np

from histograms import make_counts
from shortlist import top_k
from turns import print_table, take_turns, write_ms, write_ratio


def main(d: int, kinds: list[str]) -> None:
    rows = []
    for kind in kinds or ["int64", "int32", "uint16"]:
        for name in ("Zipf", "dense", "low"):
            counts = make_counts(name, d, np.iinfo(kind).max).astype(kind)
            calls = {"joint": lambda c=counts: run(c), "max": counts.max}
            seconds = take_turns(calls, 15)
            tracemalloc.start()
            run(counts)
            extra = tracemalloc.get_traced_memory()[1] / d
            tracemalloc.stop()
            ratio = write_ratio(seconds["joint"], seconds["max"])
            rows.append([kind, name, f"{d:,}", write_ms(seconds["joint"]), ratio, f"{extra:.2f}"])
    print_table(["type", "counts", "items", "`joint`, ms", "/ `max()`", "extra bytes per item"], rows)


def run(counts: object) -> object:
    return top_k(counts, k=100, epsilon=1, mechanism="joint")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7, sys.argv[2:])
