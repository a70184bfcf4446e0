"""How does the time of one selection grow with k, with the number of items d, and with 1/epsilon?

    python benchmarks/growth.py                     all three, as tables with fitted slopes
    python benchmarks/growth.py k                   only one of them: k, d or epsilon
    python benchmarks/growth.py --plots FOLDER      and draw each on logarithmic axes, as FOLDER/growth-k.svg and so on

A time is the processor time of the whole process from counts to indices, with the operating system's randomness. It is
the median of several turns. A slope is that of a line through the logarithms of the last three times, fitted by least
squares: time grows as x^slope there.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortlist import top_k

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]

FAMILIES = ("Zipf", "dense", "low", "equal", "huge")


@dataclass(frozen=True)
class Line:
    """One line of a plot: a mechanism on counts, as one number grows."""

    name: str
    counts: dict[float, Counts]
    k: dict[float, int]
    epsilon: dict[float, str]
    mechanism: str = "joint"

    def measure(self, turns: int) -> dict[float, float]:
        """Return the median time in seconds for each number."""
        return {x: measure_one(self.counts[x], self.k[x], self.epsilon[x], self.mechanism, turns) for x in self.counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["k", "d", "epsilon", []], default=[])
    parser.add_argument("--plots", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    top_k(make_counts("Zipf", 20_000), k=10, epsilon=1)  # imports what is imported on first use
    kinds = {"k": (k_lines, "k"), "d": (d_lines, "items d"), "epsilon": (epsilon_lines, "1/ε")}
    for what in arguments.what or kinds:
        make_lines, axis = kinds[what]
        results = {line.name: line.measure(arguments.turns) for line in make_lines()}
        print_table(axis, results)
        if arguments.plots:
            draw(axis, results, arguments.plots / f"growth-{what}.svg")


def make_counts(family: str, d: int) -> Counts:
    """Zipf: few large counts. Dense: many near the top. Low: hardly any votes, all ties. Huge: far apart."""
    rng = np.random.default_rng(d)
    match family:
        case "Zipf":
            return rng.permutation((100 * d / np.arange(10, d + 10)).astype(np.int64))
        case "dense":
            return rng.integers(0, 10 * d, size=d)
        case "low":
            return rng.poisson(2.0, size=d)
        case "equal":
            return np.full(d, 7)
        case _:
            return rng.integers(0, 2**62, size=d)


def k_lines() -> Iterator[Line]:
    """Lists of up to all items."""
    for d in (10**5, 10**6):
        for family in FAMILIES:
            counts = make_counts(family, d)
            ks = [10.0, 100.0, 1000.0, 10.0**4, 10.0**5]
            sizes, epsilons = {k: int(k) for k in ks}, dict.fromkeys(ks, "1")
            yield Line(f"{family}, d = {d:,}", dict.fromkeys(ks, counts), sizes, epsilons)


def d_lines() -> Iterator[Line]:
    """Lists of 100 from more and more items."""
    ds = [10**4, 10**5, 10**6, 10**7]
    for family in FAMILIES:
        yield Line(
            f"{family}, k = 100",
            {d: make_counts(family, d) for d in ds},
            dict.fromkeys(map(float, ds), 100),
            dict.fromkeys(map(float, ds), "1"),
        )


def epsilon_lines() -> Iterator[Line]:
    """Smaller and smaller epsilons, for every exact mechanism that needs no further parameter."""
    inverse = {1.0: "1", 10.0: "0.1", 1e3: "1e-3", 1e6: "1e-6"}
    for mechanism in ("joint", "margin-joint", "fastjoint", "pnf-joint", "subset", "pnf-peel", "auto"):
        for family in ("Zipf", "dense"):
            counts = make_counts(family, 10**5)
            yield Line(
                f"{mechanism}, {family}",
                dict.fromkeys(inverse, counts),
                dict.fromkeys(inverse, 100),
                inverse,
                mechanism,
            )


def measure_one(counts: Counts, k: int, epsilon: str, mechanism: str, turns: int) -> float:
    seconds = []
    gc.disable()
    for _ in range(turns):
        begin = time.process_time()
        top_k(counts, k=k, epsilon=epsilon, mechanism=mechanism)
        seconds.append(time.process_time() - begin)
    gc.enable()
    return float(np.median(seconds))


def fit_slope(results: dict[float, float]) -> float:
    """Fit the slope of a line through the logarithms of the last three numbers. The first are mostly overhead."""
    xs, ys = np.log(list(results)[-3:]), np.log(list(results.values())[-3:])
    return float(np.polyfit(xs, ys, 1)[0])


def print_table(axis: str, results: dict[str, dict[float, float]]) -> None:
    numbers = list(next(iter(results.values())))
    print(f"| time in ms, {axis} = | " + " | ".join(f"{x:,.0f}" for x in numbers) + " | slope |")
    print("|---" * (len(numbers) + 2) + "|")
    for name, times in results.items():
        row = [name, *(f"{seconds * 1e3:.3g}" for seconds in times.values()), f"{fit_slope(times):.2f}"]
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def draw(axis: str, results: dict[str, dict[float, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "shortlist"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for name, times in results.items():
        axes.loglog(list(times), [seconds * 1e3 for seconds in times.values()], ".-", label=name)
    axes.set_xlabel(axis)
    axes.set_ylabel("processor time, ms")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small", ncols=2)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
