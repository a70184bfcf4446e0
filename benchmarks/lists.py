"""How long does one list take, from counts to indices, and beside the simplest things that one can do with counts?

    python benchmarks/lists.py            every mechanism on real histograms and on invented ones, k = 100
    python benchmarks/lists.py --k 10     another k
    python benchmarks/lists.py --many     1,000 draws at once beside single draws
    python benchmarks/lists.py --quick    few turns, and short arrays only

Times are processor time with ε = 1 and the operating system's randomness. *Gumbel* is `counts + rng.gumbel(size=d)` and
`argpartition`: insecure, in floating point, and the fastest private method that we know. Real histograms are read from
the folder in SHORTLIST_DATA, or ../shared/data; without it, only invented ones are measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from histograms import MECHANISMS, Counts, make_counts, real_and_zipf
from shortlist import top_k
from shortlist.mechanisms import build_mechanism
from shortlist.testing import SystemBits
from shortlist.votes.array_counts import ArrayTally
from turns import print_table, take_turns, write_ms, write_ratio

SHOWN = ("joint", "auto", "subset", "pnf-peel", "cdp-peel", "noisy-counts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.many:
        compare_many(arguments.k, arguments.quick)
    else:
        compare_lists(arguments.k, arguments.quick)


def compare_lists(k: int, quick: bool) -> None:
    """Time every mechanism, one-shot Gumbel noise, and `max()`."""
    rng = np.random.default_rng(0)
    rows = []
    for name, counts in choose_histograms(quick):
        d = len(counts)
        calls = {each: lambda each=each, c=counts: run(c, k, each) for each in SHOWN}
        calls["Gumbel"] = lambda c=counts, d=d: np.argpartition(c + rng.gumbel(scale=2.0, size=d), d - k)[d - k :]
        calls["max"] = lambda c=counts: c.max()
        seconds = take_turns(calls, 3 if quick else 9 if d > 10**6 else 41, times=1 if d > 10**6 else 5)
        times = [write_ms(seconds[each]) for each in SHOWN]
        ratios = [write_ratio(seconds["joint"], seconds[other]) for other in ("Gumbel", "max")]
        rows.append([name, f"{d:,}", *times, *ratios])
    print_table(["counts", "items", *(f"`{each}`, ms" for each in SHOWN), "`joint` / Gumbel", "/ `max()`"], rows)


def run(counts: Counts, k: int, mechanism: str) -> object:
    return top_k(counts, k=k, epsilon=1, mechanism=mechanism, **MECHANISMS[mechanism])


def compare_many(k: int, quick: bool) -> None:
    """Time 1,000 draws at once beside single draws of a prepared mechanism: microseconds per draw, and their ratio."""
    more = {"limited-domain": {"delta": "1e-6"}, "threshold": {"delta": "1e-6", "votes_per_person": 10}}
    bits, singles, n = SystemBits(), 50, 100 if quick else 1000
    rows = []
    for name, counts in real_and_zipf():
        for mechanism, parameters in {**MECHANISMS, **more}.items():
            prepared = build_mechanism(mechanism, k=k, epsilon=1, **parameters).prepare(ArrayTally(counts))
            calls = {
                "single": lambda p=prepared: [p.draw(bits) for _ in range(singles)],
                "many": lambda p=prepared: p.draw_many(n, bits),
            }
            seconds = take_turns(calls, 1 if quick else 3)
            one, many = seconds["single"] / singles, seconds["many"] / n
            times = [write_ms(1000 * each) for each in (one, many)]  # in microseconds
            rows.append([name, f"{len(counts):,}", f"`{mechanism}`", *times, write_ratio(one, many)])
        if quick:
            break
    print_table(["counts", "items", "mechanism", "single, µs", "many, µs", "single / many"], rows)


def choose_histograms(quick: bool) -> Iterator[tuple[str, Counts]]:
    """The real histograms, and invented ones of up to 10⁷ items."""
    yield from real_and_zipf()[-1:] if quick else real_and_zipf()
    for d in (10**4,) if quick else (10**6, 10**7):
        for family in ("Zipf", "dense", "low"):
            yield family, make_counts(family, d)


if __name__ == "__main__":
    main()
