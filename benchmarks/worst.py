"""Which input makes each mechanism slowest for its size?

    python benchmarks/worst.py               60 random inputs for each mechanism, at d = 10,000
    python benchmarks/worst.py --tries 500   a longer search
    python benchmarks/worst.py --only subset

An input is a histogram of one of several shapes with random parameters, a k and an epsilon. Its time is divided by the
*typical* time: that of the same mechanism on Zipf counts with the same d and k at epsilon 1. Times are processor time.
The three inputs with the largest ratios are measured again five times, and the worst median is printed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from histograms import MECHANISMS, Counts, make_counts
from shortlist import top_k

PARAMETERS = MECHANISMS | {"cdp-peel": {"delta": "1e-6", "calibration": "tight"}}
"""With a calibration that takes no time."""
KS = (1, 3, 10, 30, 100, 300, 1000)
EPSILONS = ("1e-6", "1e-3", "0.01", "0.1", "0.3", "1", "3", "10", "100")
Generator = np.random.Generator

SHAPES: dict[str, Callable[[Generator, int], Counts]] = {
    "Zipf of another exponent": lambda rng, d: scale(np.arange(1, d + 1) ** -rng.uniform(0.2, 3), rng),
    "uniform": lambda rng, d: rng.integers(0, random_size(rng), size=d),
    "geometric": lambda rng, d: scale(np.exp(-np.arange(d) * rng.choice([1e-4, 1e-3, 0.01, 0.1])), rng),
    "straight line": lambda rng, d: np.arange(d) * int(rng.choice([1, 2, 5, 20, 100, 1000])),
    "stairs of ties": lambda rng, d: np.arange(d) // int(rng.choice([2, 10, 100, 1000])) * int(rng.integers(1, 50)),
    "two groups": lambda rng, d: np.where(np.arange(d) < rng.integers(1, d), 0, random_size(rng)),
    "two heaps": lambda rng, d: rng.poisson(np.where(np.arange(d) % 2, 100, 100 + random_size(rng) % 1000)),
    "normal": lambda rng, d: np.maximum(0, rng.normal(10**5, rng.choice([3, 30, 300, 3000]), size=d)).astype(np.int64),
    "all equal": lambda rng, d: np.full(d, int(rng.integers(0, 100))),
    "huge": lambda rng, d: rng.integers(0, 2**62, size=d),
    "squares": lambda rng, d: np.arange(d, dtype=np.int64) ** 2 // int(rng.choice([1, 100, 10**4])),
}


@dataclass(frozen=True, eq=False)
class Input:
    """One histogram, with k and epsilon."""

    shape: str
    counts: Counts
    k: int
    epsilon: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=60)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--only", choices=PARAMETERS)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("Typical is Zipf at ε = 1.\n")
    print("| mechanism | worst shape found | k | ε | ms | / typical | median of all inputs / typical |")
    print("|---" * 7 + "|")
    for mechanism in [arguments.only] if arguments.only else PARAMETERS:
        print(search(mechanism, arguments.tries, arguments.items, np.random.default_rng(arguments.seed)), flush=True)


def search(mechanism: str, tries: int, d: int, rng: Generator) -> str:
    inputs = [draw_input(rng, d) for _ in range(tries)]
    ratios = np.array([measure(mechanism, each) / typical(mechanism, d, each.k) for each in inputs])
    again = []
    for place in np.argsort(ratios)[-3:].tolist():
        seconds = float(np.median([measure(mechanism, inputs[place]) for _ in range(5)]))
        again.append((seconds / typical(mechanism, d, inputs[place].k), seconds, place))
    ratio, seconds, place = max(again)
    worst = inputs[place]
    row = [mechanism, worst.shape, str(worst.k), worst.epsilon, f"{seconds * 1e3:.3g}", f"{ratio:.1f}"]
    return "| " + " | ".join([*row, f"{np.median(ratios):.1f}"]) + " |"


def draw_input(rng: Generator, d: int) -> Input:
    shape = str(rng.choice(list(SHAPES)))
    counts = rng.permutation(np.asarray(SHAPES[shape](rng, d), dtype=np.int64))
    return Input(shape, counts, int(rng.choice(KS)), str(rng.choice(EPSILONS)))


@cache
def typical(mechanism: str, d: int, k: int) -> float:
    counts = make_counts("Zipf", d)
    return float(np.median([measure(mechanism, Input("Zipf", counts, k, "1")) for _ in range(6)][1:]))


def measure(mechanism: str, given: Input) -> float:
    begin = time.process_time()
    top_k(given.counts, k=given.k, epsilon=given.epsilon, mechanism=mechanism, **PARAMETERS[mechanism])
    return time.process_time() - begin


def random_size(rng: Generator) -> int:
    return int(10 ** rng.uniform(1, 9))


def scale(shares: np.ndarray[tuple[int], np.dtype[np.float64]], rng: Generator) -> Counts:
    return (shares * random_size(rng)).astype(np.int64)


if __name__ == "__main__":
    main()
