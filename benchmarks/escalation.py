"""How often do floats not suffice, so that balls decide?

    python benchmarks/escalation.py            100,000 draws for each data set and mechanism, k = 100, epsilon = 1

The proven bound is the probability that one choice among the blocks of losses falls too close to a border.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from histograms import real
from selection import synthetic
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import Joint
from shortlist.mechanisms.joint import mixture
from shortlist.testing import SystemBits
from shortlist.votes.memory.arrays import ArrayTally


def main(draws: int) -> None:
    print("| counts | d | draws | decided by balls | proven bound for one draw | a first decision by balls, ms |")
    print("|---|---|---|---|---|---|")
    exact, calls = mixture.quantile, []
    mixture.quantile = lambda *arguments: calls.append(1) or exact(*arguments)  # type: ignore[assignment]
    bits = SystemBits()
    for name, counts in [*real(), *synthetic(30_000)]:
        calls.clear()
        prepared = Joint(k=100, epsilon=1).prepare(ArrayTally(np.sort(counts)))
        for _ in range(draws):
            prepared.draw(bits)
        begin = time.perf_counter()
        exact(Uniform(bits), prepared.cells())
        took = (time.perf_counter() - begin) * 1e3
        row = [
            name,
            f"{len(counts):,}",
            f"{draws:,}",
            str(len(calls)),
            f"{prepared.escalation_bound:.1e}",
            f"{took:.0f}",
        ]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
