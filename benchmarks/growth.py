"""How does the time of one selection grow with k, with the number of items d, with 1/epsilon and with the votes?

    python benchmarks/growth.py                     all four, as tables with fitted slopes
    python benchmarks/growth.py k                   only one of them: k, d, epsilon or votes
    python benchmarks/growth.py --plots FOLDER      and draw each on logarithmic axes, as FOLDER/growth-k.svg and so on

A time is the processor time of the whole process from counts to indices, with the operating system's randomness. It is
the median of several turns. A slope is that of a line through the logarithms of the last three times, fitted by least
squares: time grows as x^slope there.

With the votes, the time is that of a whole release from a Parquet file, k = 100 of 10^5 items, beside the engine's own
query (see tables.py). To make the file is not part of the time.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from histograms import FAMILIES, MECHANISMS, Counts, make_counts
from shortlist import top_k

Results = dict[str, dict[float, float]]
"""The time in seconds of each line at each number."""

AXES = {"k": "k", "d": "items d", "epsilon": "1/ε", "votes": "votes"}


@dataclass(frozen=True)
class Line:
    """One line of a plot: a mechanism on counts, as one number grows."""

    name: str
    counts: dict[float, Counts]
    k: dict[float, int]
    epsilon: dict[float, str]
    mechanism: str = "joint"

    def measure(self, turns: int) -> dict[float, float]:
        """Return the median time in seconds for each number. They take turns, and the first turn does not count."""
        seconds: dict[float, list[float]] = {x: [] for x in self.counts}
        gc.disable()
        for turn in range(turns + 1):
            for x, counts in self.counts.items():
                taken = processor_time(lambda: run(counts, self.k[x], self.epsilon[x], self.mechanism))  # noqa: B023
                if turn:
                    seconds[x].append(taken)
        gc.enable()
        return {x: float(np.median(times)) for x, times in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=[*AXES, []], default=[])
    parser.add_argument("--plots", type=Path)
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--largest", type=float, default=1e9, help="leave out larger numbers of k, items or votes")
    arguments = parser.parse_args()
    top_k(make_counts("Zipf", 20_000), k=10, epsilon=1)  # imports what is imported on first use
    for what in arguments.what or AXES:
        results = report(what, arguments.turns, arguments.largest)
        if arguments.plots:
            arguments.plots.mkdir(parents=True, exist_ok=True)
            draw(AXES[what], results, arguments.plots / f"growth-{what}.{arguments.format}")


def report(what: str, turns: int, largest: float) -> Results:
    """Print the tables of what grows, and return the times."""
    if what == "votes":
        results, ratios = measure_votes(turns, largest)
        print_table(AXES[what], results)
        print_ratios(ratios)
        return results
    make_lines = {"k": k_lines, "d": d_lines, "epsilon": epsilon_lines}[what]
    results = {line.name: line.measure(turns) for line in make_lines(largest)}
    print_table(AXES[what], results)
    return results


def k_lines(largest: float) -> Iterator[Line]:
    """Lists of up to all items."""
    for d in (10**5, 10**6):
        for family in FAMILIES:
            counts = make_counts(family, d)
            ks = [k for k in (10.0, 100.0, 1000.0, 10.0**4, 10.0**5) if k <= largest]
            sizes, epsilons = {k: int(k) for k in ks}, dict.fromkeys(ks, "1")
            yield Line(f"{family}, d = {d:,}", dict.fromkeys(ks, counts), sizes, epsilons)


def d_lines(largest: float) -> Iterator[Line]:
    """Lists of 100 from more and more items."""
    ds = [d for d in (10**4, 10**5, 10**6, 10**7) if d <= largest]
    for family in FAMILIES:
        yield Line(
            f"{family}, k = 100",
            {d: make_counts(family, d) for d in ds},
            dict.fromkeys(map(float, ds), 100),
            dict.fromkeys(map(float, ds), "1"),
        )


def epsilon_lines(largest: float) -> Iterator[Line]:
    """Smaller and smaller epsilons, for every exact mechanism."""
    every = {1.0: "1", 10.0: "0.1", 1e3: "1e-3", 1e6: "1e-6"}
    inverse = {x: epsilon for x, epsilon in every.items() if x <= largest}
    for mechanism in MECHANISMS:
        for family in ("Zipf", "dense"):
            counts = make_counts(family, 10**5)
            yield Line(
                f"{mechanism}, {family}",
                dict.fromkeys(inverse, counts),
                dict.fromkeys(inverse, 100),
                inverse,
                mechanism,
            )


def measure_votes(turns: int, largest: float) -> tuple[Results, Results]:
    """Time releases and the engines' own queries as votes grow, and the ratios of the two."""
    from tables import make_votes, processor_seconds, take_turns

    engines = {"DuckDB": "duckdb", "Polars": "polars"}
    results: Results = {f"{engine}, {what}": {} for engine in engines for what in ("release", "own query")}
    ratios: Results = {engine: {} for engine in engines}
    for votes in (each for each in (10**4, 10**5, 10**6, 10**7) if each <= largest):
        with tempfile.TemporaryDirectory(prefix="shortlist-bench-") as folder:
            data = make_votes(Path(folder) / "votes", votes, items=10**5)
            for engine, name in engines.items():
                own, release, ratio = take_turns(name, data, turns, processor_seconds)
                results[f"{engine}, own query"][votes] = own
                results[f"{engine}, release"][votes] = release
                ratios[engine][votes] = ratio
    return results, ratios


def run(counts: Counts, k: int, epsilon: str, mechanism: str) -> None:
    top_k(counts, k=k, epsilon=epsilon, mechanism=mechanism, **MECHANISMS[mechanism])


def processor_time(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def fit_slope(results: dict[float, float]) -> float:
    """Fit the slope of a line through the logarithms of the last three numbers. The first are mostly overhead."""
    xs, ys = np.log(list(results)[-3:]), np.log(list(results.values())[-3:])
    return float(np.polyfit(xs, ys, 1)[0])


def print_table(axis: str, results: Results) -> None:
    numbers = list(next(iter(results.values())))
    print(f"| time in ms, {axis} = | " + " | ".join(f"{x:,.0f}" for x in numbers) + " | slope |")
    print("|---" * (len(numbers) + 2) + "|")
    for name, times in results.items():
        shown = [f"{ms:.3g}" if ms < 1000 else f"{ms:,.0f}" for ms in (seconds * 1e3 for seconds in times.values())]
        row = [name, *shown, f"{fit_slope(times):.2f}"]
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def print_ratios(ratios: Results) -> None:
    """Say how many times as long a release takes as the engine's own query."""
    numbers = next(iter(ratios.values()))
    print("| release / own query, votes = | " + " | ".join(f"{x:,.0f}" for x in numbers) + " |")
    print("|---" * (len(numbers) + 1) + "|")
    for name, values in ratios.items():
        print(f"| {name} | " + " | ".join(f"{ratio:.2f}" for ratio in values.values()) + " |")


def draw(axis: str, results: Results, path: Path) -> None:
    """Draw times on logarithmic axes, with the slope of each line in its label."""
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "shortlist"
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    axes = figure.subplots()
    groups = list(dict.fromkeys(name.split(", ")[0] for name in results))
    endings = list(dict.fromkeys(name.split(", ")[1] for name in results))
    for name, times in results.items():
        group, ending = name.split(", ")
        axes.loglog(
            list(times),
            [seconds * 1e3 for seconds in times.values()],
            color=matplotlib.colormaps["tab10"](groups.index(group) % 10),
            linestyle=["-", "--", ":"][endings.index(ending) % 3],
            marker=".",
            label=f"{name} (slope {fit_slope(times):.2f})",
        )
    axes.set_xlabel(axis)
    axes.set_ylabel("processor time, ms")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", loc="outside right upper", handlelength=3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
