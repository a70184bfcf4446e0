"""Two tables on Section 6 of the paper: how many subsets pruning leaves, and how good the adaptive mechanism is.

Both are computed from the counts. `python -m reproduction.report.related_work` prints them in Markdown, for the data in
the folder `SHORTLIST_DATA`. The second table takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, product

import numpy as np

from reproduction.adaptive import adaptive_cdp_peel, adaptive_fastjoint, find_sets
from reproduction.baselines import DELTA
from reproduction.experiment.datasets import DATASETS, Histogram, find_folder, load
from reproduction.experiment.grid import DEFAULT
from reproduction.fastjoint import compute_tau
from shortlist import prepare
from shortlist.array_types import IntArray
from shortlist.planning.forecast import fill_places, measure
from shortlist.testing import SeededBits

EQUAL = np.full(166_049, 100)
"""The counterexample of the paper: all counts are equal."""


def count_subsets(falling: IntArray, k: int, tau: int) -> tuple[int, int, int, int]:
    """Count the subsets of Joint's partition and of FastJoint's, each without and with pruning.

    Joint has a subset U_{i,j} for each position and item. With pruning, those from σ(i) on are one, where σ(i) is the
    first item with h[j] ≤ h_(i) − τ. FastJoint has a subset S_{r,i} for each loss up to n and each position. With
    pruning, those with a loss of τ or more are one. The largest count stands for n: no more is known.

    >>> count_subsets(np.array([9, 7, 2]), k=2, tau=3)
    (6, 6, 20, 8)
    """
    above = np.searchsorted(-falling, -(falling[:k] - tau), side="left")
    merged = int(np.minimum(above + 1, len(falling)).sum())
    return len(falling) * k, merged, (int(falling[0]) + 1) * k, (tau + 1) * k


def write_subsets(histograms: Sequence[Histogram]) -> Iterator[str]:
    """Write the numbers of subsets at the default setting, of all data and the counterexample, as rows in Markdown."""
    yield "| counts | Joint | Joint, pruned | FastJoint, not pruned | FastJoint |"
    yield "|---|--:|--:|--:|--:|"
    for title, counts in (*((each.title, each.counts) for each in histograms), ("all equal to 100", EQUAL)):
        tau = compute_tau(len(counts), DEFAULT.k, DEFAULT.epsilon)
        numbers = " | ".join(f"{number:,}" for number in count_subsets(counts, DEFAULT.k, tau))
        yield f"| {title} | {numbers} |"


def compare_adaptive(histograms: Sequence[Histogram], ks: Sequence[int], lists: int) -> Iterator[str]:
    """Compare median ℓ1 errors at ε = 1 and δ = 10⁻⁶, as rows in Markdown. A place without an item has the count 0."""
    programs = {"adaptive, FastJoint": adaptive_fastjoint, "adaptive, CDP-Peel": adaptive_cdp_peel}
    mechanisms = ("cdp-peel", "limited-domain", "joint")
    yield f"| data set | k | found | {' | '.join((*programs, *mechanisms))} |"
    yield "|---" + "|--:" * (2 + len(programs) + len(mechanisms)) + "|"
    for histogram, k in product(histograms, ks):
        h = histogram.counts
        generators = [np.random.default_rng(seed) for seed in range(lists)]
        found = np.mean([np.count_nonzero(find_sets(h, k, 0.5, DELTA, rng)) for rng in generators])
        drawn = [[program(h, k, 1.0, rng=rng) for rng in generators] for program in programs.values()]
        for name in mechanisms:
            selector = prepare(h, k, 1, mechanism=name, delta=None if name == "joint" else DELTA)
            drawn.append([np.array(items, dtype=np.int64) for items in selector.draw_many(lists, SeededBits(0))])
        counts = [np.append(h, 0)[fill_places(each, k, empty=-1)] for each in drawn]
        medians = (np.median(measure(h[:k], each).total) for each in counts)
        yield f"| {histogram.title} | {k} | {found:.0f} | {' | '.join(f'{each:,.0f}' for each in medians)} |"


if __name__ == "__main__":
    folder = find_folder(None)
    data = [load(each, folder) for each in DATASETS.values()]
    for row in chain(write_subsets(data), [""], compare_adaptive(data, ks=(10, 50, 100, 200), lists=50)):
        print(row, flush=True)
