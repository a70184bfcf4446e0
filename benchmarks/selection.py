"""How long does one selection take, next to the simplest things one can do with counts?

    python benchmarks/selection.py             every data set found, k = 10, 100, 200, synthetic up to d = 10^7
    python benchmarks/selection.py --quick     d up to 10^6 only
    python benchmarks/selection.py --published published FastJoint and Joint beside ours, k = 100
    python benchmarks/selection.py --lists     margin-joint, subset and auto beside joint, k = 100
    python benchmarks/selection.py --many      1,000 draws at once beside single draws, k = 100

Every row is measured inside one run, its candidates taking turns; figures are medians, and ratios are medians of the
ratios within a turn, so that a slow moment of the machine hits both sides. `joint` is cold: counts in, indices out,
with the operating system's randomness. Real histograms are read from the folder in SHORTLIST_DATA, or ../shared/data;
where there is none, only synthetic ones are measured.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from aims import state_aim
from histograms import MECHANISMS, Counts, make_counts, real, real_and_zipf
from shortlist import top_k
from shortlist.mechanisms import Joint, build_mechanism
from shortlist.testing import SystemBits
from shortlist.votes.memory.arrays import ArrayTally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--lists", action="store_true")
    parser.add_argument("--many", action="store_true")
    arguments = parser.parse_args()
    if arguments.published:
        compare_published()
        return
    if arguments.lists:
        compare_lists()
        return
    if arguments.many:
        compare_many()
        return
    print("| counts | d | k | joint, ms | a further draw, µs | joint / one-shot Gumbel | / argpartition | / max |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for name, counts in histograms(10**6 if arguments.quick else 10**7):
        for k in (10, 100, 200):
            rows.append(measure_selection(name, counts, k))
            print(rows[-1], flush=True)
    print()
    print_aims(rows)
    if not arguments.quick:
        print(state_aim("extra memory at d = 10⁷, of the counts' own", measure_memory(), 2))


@dataclass(frozen=True)
class Row:
    """One selection by joint, and its ratios to other things that one can do with counts."""

    name: str
    d: int
    k: int
    seconds: float
    further: float
    gumbel: float
    partition: float
    largest: float

    def __str__(self) -> str:
        times = f"{self.seconds * 1e3:.3g} | {self.further * 1e6:.0f}"
        ratios = [f"{each:.2g}" if each < 99.5 else f"{each:.0f}" for each in astuple(self)[-3:]]
        return f"| {self.name} | {self.d:,} | {self.k} | {times} | {' | '.join(ratios)} |"


def print_aims(rows: list[Row]) -> None:
    """Say which aims are reached."""
    for row in rows:
        if (row.name, row.k) == ("games", 100):
            print(state_aim("`joint` beside one-shot Gumbel at d = 5,155, k = 100", row.gumbel, 3))
    for k in (10, 100, 200):
        largest = max(row.gumbel for row in rows if row.d >= 30_000 and row.k == k)
        print(state_aim(f"`joint` beside one-shot Gumbel from d = 30,000 on, k = {k}, at most", largest, 1))
    further = max(row.further for row in rows if row.k == 100)
    print(state_aim("a further draw at k = 100, at most", further * 1e6, 100, "µs"))


def measure_selection(name: str, counts: Counts, k: int) -> Row:
    rng = np.random.default_rng(0)
    d = len(counts)
    bits = SystemBits()
    prepared = Joint(k=k, epsilon=1).prepare(ArrayTally(counts))
    seconds = taking_turns(
        {
            "joint": lambda: top_k(counts, k=k, epsilon=1, mechanism="joint"),
            "gumbel": lambda: np.argpartition(counts + rng.gumbel(scale=2.0, size=d), d - k)[d - k :],
            "partition": lambda: np.argpartition(counts, d - k)[d - k :],
            "max": lambda: counts.max(),
            "twenty draws": lambda: [prepared.draw(bits) for _ in range(20)],
        },
        rounds=15 if d >= 10**6 else 300,
    )
    own, further = float(np.median(seconds["joint"])), float(np.median(seconds["twenty draws"])) / 20
    ratios = (float(np.median(seconds["joint"] / seconds[other])) for other in ("gumbel", "partition", "max"))
    return Row(name, d, k, own, further, *ratios)


def measure_memory() -> float:
    """Measure how much memory a selection takes besides the counts, at d = 10^7, as a share of theirs."""
    shares = []
    for _, counts in synthetic(10**7):
        if len(counts) == 10**7:
            tracemalloc.start()
            top_k(counts, k=100, epsilon=1, mechanism="joint")
            shares.append(tracemalloc.get_traced_memory()[1] / counts.nbytes)
            tracemalloc.stop()
    return max(shares)


def compare_published() -> None:
    sys.path.append(str(Path(__file__).parents[1]))  # The reproduction is beside the package.
    from reproduction.published import PUBLISHED

    print(
        "| counts | d | joint, ms | published FastJoint, ms | / joint | published Joint, ms | / published FastJoint |"
    )
    print("|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    smallest = np.inf
    for name, counts in real_and_zipf():
        # The published Joint wants d × k numbers at once: the largest data set is left out.
        slow = {"published joint": lambda c=counts: PUBLISHED["joint"](c, 100, 1.0, rng=rng)} if name != "Zipf" else {}
        seconds = taking_turns(
            {
                "twenty": lambda c=counts: [top_k(c, k=100, epsilon=1, mechanism="joint") for _ in range(20)],
                "fastjoint": lambda c=counts: PUBLISHED["fastjoint"](c, 100, 1.0, rng=rng),
                **slow,
            },
            rounds=7,
        )
        # Twenty in a row: one alone would mostly measure the caches that the others have just emptied.
        ours, theirs = seconds["twenty"] / 20, seconds["fastjoint"]
        ratio = float(np.median(theirs / ours))
        smallest = min(smallest, ratio)
        row = [name, f"{len(counts):,}", ms(ours), ms(theirs), f"{ratio:.0f}"]
        if slow:
            other = seconds["published joint"]
            row += [ms(other), f"{np.median(other / theirs):.1f}"]
        print("| " + " | ".join(row + ["–"] * (7 - len(row))) + " |", flush=True)
    print()
    print(state_aim("published FastJoint beside `joint`, at least", smallest, 100, least=True))


def compare_lists() -> None:
    """Time preparing and one draw of the other list mechanisms beside joint."""
    names = ("joint", "margin-joint", "subset", "auto")
    print("| counts | d | " + " | ".join(f"{name}, ms" for name in names) + " | subset / joint | auto / joint |")
    print("|---" * (len(names) + 4) + "|")
    for name, counts in real_and_zipf():
        candidates = {
            each: lambda c=counts, each=each: [top_k(c, k=100, epsilon=1, mechanism=each) for _ in range(5)]
            for each in names
        }
        seconds = {each: values / 5 for each, values in taking_turns(candidates, rounds=15).items()}
        ratios = [f"{np.median(seconds[each] / seconds['joint']):.2f}" for each in ("subset", "auto")]
        row = [name, f"{len(counts):,}", *(ms(seconds[each]) for each in names), *ratios]
        print("| " + " | ".join(row) + " |", flush=True)


def compare_many() -> None:
    """Time 1,000 draws at once beside single draws, in processor time: microseconds per draw, and their ratio."""
    names: dict[str, dict[str, object]] = {
        **MECHANISMS,
        "limited-domain": {"delta": "1e-6"},
        "threshold": {"delta": "1e-6", "votes_per_person": 10},
        "stable": {"delta": "1e-6"},
    }
    print("| counts | d | mechanism | single, µs | many, µs | single / many |")
    print("|---|---|---|---|---|---|")
    bits, rounds, singles, n = SystemBits(), 5, 50, 1000
    for name, counts in real_and_zipf():
        for mechanism, parameters in names.items():
            built = build_mechanism(mechanism, k=100, epsilon=1, **parameters)
            prepared = built.prepare(ArrayTally(counts))
            prepared.draw_many(10, bits)
            one, many = [], []
            for _ in range(rounds):
                one.append(processor_time(lambda: [prepared.draw(bits) for _ in range(singles)]) / singles)  # noqa: B023
                many.append(processor_time(lambda: prepared.draw_many(n, bits)) / n)  # noqa: B023
            ratio = np.median(np.array(one) / np.array(many))
            row = [name, f"{len(counts):,}", mechanism, f"{np.median(one) * 1e6:.0f}", f"{np.median(many) * 1e6:.1f}"]
            print("| " + " | ".join([*row, f"{ratio:.1f}"]) + " |", flush=True)


def processor_time(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def ms(seconds: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return f"{np.median(seconds) * 1e3:.3g}"


def taking_turns(
    candidates: dict[str, Callable[[], object]], rounds: int
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Time each candidate once in every round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    gc.disable()
    for turn in range(rounds + 1):
        for name, candidate in candidates.items():
            begin = time.perf_counter()
            candidate()
            if turn:
                seconds[name].append(time.perf_counter() - begin)
    gc.enable()
    return {name: np.array(values) for name, values in seconds.items()}


def histograms(largest: int) -> Iterator[tuple[str, Counts]]:
    yield from real()
    yield from synthetic(largest)


def synthetic(largest: int) -> Iterator[tuple[str, Counts]]:
    for d in (5_000, 30_000, 300_000, 10**6, 10**7):
        if d <= largest:
            for family in ("Zipf", "dense", "low"):
                yield family, make_counts(family, d)


if __name__ == "__main__":
    main()
