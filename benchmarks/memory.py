"""How long does `joint` take beside `max()`, and how much memory, for counts of several integer types?

    python benchmarks/memory.py                    10^7 items
    python benchmarks/memory.py 100000000 int32    another number of items, and only some types

Times are processor time. A ratio is the median of the ratios of several turns. Memory is what `tracemalloc` counts
besides the counts themselves, in bytes per item.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from aims import state_aim
from histograms import make_counts
from shortlist import top_k


def main(d: int, kinds: list[str]) -> None:
    print("| type | counts | joint, ms | joint / max | extra bytes per item |")
    print("|---|---|---|---|---|")
    limited, limit = ("int32", 6) if d > 10**7 else ("int64", 4)
    aims, most = [], 0.0
    for kind in kinds or ["int64", "int32", "uint16"]:
        for name in ("Zipf", "dense", "low"):
            counts = make_counts(name, d, np.iinfo(kind).max).astype(kind)
            # The first turn does not count.
            pairs = [(seconds(lambda: run(counts)), seconds(counts.max)) for _ in range(16)][1:]  # noqa: B023
            tracemalloc.start()
            run(counts)
            extra = tracemalloc.get_traced_memory()[1] / d
            tracemalloc.stop()
            ours, ratio = np.median([a for a, _ in pairs]), np.median([a / b for a, b in pairs])
            print(f"| {kind} | {name} | {ours * 1e3:.3g} | {ratio:.1f} | {extra:.2f} |", flush=True)
            if kind == limited:
                aims.append(
                    state_aim(f"`joint` beside `max()`, {name} {kind} counts at d = {d:,}", float(ratio), limit)
                )
            most = max(most, extra)
    print("", *aims, state_aim(f"extra memory at d = {d:,}, at most", most, 1.25, "bytes an item"), sep="\n")


def run(counts: object) -> None:
    top_k(counts, k=100, epsilon=1, mechanism="joint")


def seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10**7, sys.argv[2:])
