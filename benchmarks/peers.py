"""How do other libraries choose a private top k: how fast, how exactly, with which guarantee and which error?

    pip install '.[bench]'
    python benchmarks/peers.py               k = 100, epsilon 1, delta 10^-6, add-remove
    python benchmarks/peers.py --turns 3     fewer turns

All take turns in one run, on a real histogram, or on invented counts without one. A time is processor time from counts
to indices, the median of all turns. *Exact* means that lists have exactly the probabilities that the proof is about, in
spite of rounding. *Secure* means that the randomness is that of the operating system or of a cryptographic generator.
The errors are means over the turns: the share of the true top k that is listed, and the largest number of votes that a
listed item has fewer than the true one at its place. Published algorithms are those of `reproduction`.

`make_noisy_top_k` of OpenDP gets k/epsilon as scale for a pure guarantee. For zCDP it gets the rho that the best known
conversion allows for epsilon and delta. diffprivlib has no top k, so its mechanisms run in k rounds of epsilon/k.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from histograms import Counts, make_counts, real
from shortlist import top_k
from shortlist.privacy.zcdp import find_rho
from turns import write_ms, write_ratio

K, EPSILON, DELTA = 100, 1, Fraction(1, 10**6)


@dataclass(frozen=True)
class Peer:
    """A way to choose, with what is known about it."""

    name: str
    exact: bool
    secure: bool
    guarantee: str
    choose: Callable[[Counts], object]
    slow: bool = False
    """Whether it takes seconds: then it gets three turns only."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=15)
    turns = parser.parse_args().turns
    histograms = [(name, counts) for name, counts in real() if name == "games"]
    peers = list_peers()
    print("| counts, items | method | ms | / `joint` | exact | secure | guarantee | recall | largest error, votes |")
    print("|---" * 9 + "|")
    for name, counts in histograms or [("Zipf", make_counts("Zipf", 5000))]:
        seconds: dict[str, list[float]] = {peer.name: [] for peer in peers}
        errors: dict[str, list[tuple[float, int]]] = {peer.name: [] for peer in peers}
        for turn in range(turns + 1):
            for peer in peers:
                if peer.slow and turn > 3:
                    continue
                begin = time.process_time()
                chosen = peer.choose(counts)
                taken = time.process_time() - begin
                if turn:  # the first turn imports and fills caches
                    seconds[peer.name].append(taken)
                    errors[peer.name].append(measure(counts, np.asarray(chosen)))
        for peer in peers:
            print_row(name, len(counts), peer, seconds, np.mean(errors[peer.name], axis=0))


def list_peers() -> list[Peer]:
    own = [
        Peer(f"shortlist `{name}`", True, True, guarantee, lambda c, n=name, p=more: choose_own(c, n, **p))  # type: ignore[misc]
        for name, guarantee, more in (
            ("joint", "ε = 1", {}),
            ("pnf-peel", "ε = 1", {}),
            ("cdp-peel", "ε = 1, δ = 10⁻⁶", {"delta": DELTA}),
            ("auto", "ε = 1", {}),
        )
    ]
    rho = find_rho(Fraction(EPSILON), DELTA)
    others = [
        Peer(
            "OpenDP `make_noisy_top_k`, pure", True, True, "ε = 1", lambda c: choose_opendp(c, K / EPSILON, pure=True)
        ),
        Peer(
            "OpenDP `make_noisy_top_k`, zCDP",
            True,
            True,
            f"ρ = {float(rho):.4f}, so ε = 1, δ = 10⁻⁶",
            lambda c: choose_opendp(c, math.sqrt(K / (8 * rho)), pure=False),
        ),
        Peer(
            "diffprivlib `PermuteAndFlip`, peeled", False, True, "ε = 1", lambda c: peel(c, "PermuteAndFlip"), slow=True
        ),
        Peer("diffprivlib `Exponential`, peeled", False, True, "ε = 1", lambda c: peel(c, "Exponential"), slow=True),
        Peer("FastJoint as published", False, False, "ε = 1", lambda c: choose_published(c, "fastjoint")),
        Peer("Joint as published", False, False, "ε = 1", lambda c: choose_published(c, "joint"), slow=True),
        Peer("NumPy, one-shot Gumbel", False, False, "ε = 1 in exact arithmetic", choose_gumbel),
    ]
    return own + others


def choose_own(counts: Counts, mechanism: str, **parameters: object) -> object:
    return top_k(counts, k=K, epsilon=EPSILON, mechanism=mechanism, **parameters)


def choose_opendp(counts: Counts, scale: float, *, pure: bool) -> object:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    return dp.m.make_noisy_top_k(*space, measure, k=K, scale=scale)(counts)


def choose_published(counts: Counts, name: str) -> object:
    sys.path.append(str(Path(__file__).parents[1]))
    from reproduction import PUBLISHED

    return PUBLISHED[name](counts, K, float(EPSILON), rng=np.random.default_rng())


def peel(counts: Counts, kind: str) -> list[int]:
    from diffprivlib import mechanisms

    left, chosen = list(range(len(counts))), []
    for _ in range(K):
        mechanism = getattr(mechanisms, kind)(
            epsilon=EPSILON / K, sensitivity=1, utility=[int(counts[item]) for item in left], monotonic=True
        )
        chosen.append(left.pop(mechanism.randomise()))
    return chosen


def choose_gumbel(counts: Counts) -> object:
    noisy = counts + np.random.default_rng().gumbel(scale=K / EPSILON, size=len(counts))
    best = np.argpartition(noisy, len(counts) - K)[len(counts) - K :]
    return best[np.argsort(-noisy[best])]


def measure(counts: Counts, chosen: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[float, int]:
    best = np.sort(counts)[::-1][:K]
    recall = float((counts[chosen] >= best[-1]).mean())  # equal counts at the last place count as right
    return recall, int((best - counts[chosen]).max())


def print_row(name: str, d: int, peer: Peer, seconds: dict[str, list[float]], errors: Counts) -> None:
    own, joint = (np.median(seconds[each], keepdims=True) for each in (peer.name, "shortlist `joint`"))
    words = ["yes" if each else "no" for each in (peer.exact, peer.secure)]
    row = [f"{name}, {d:,}", peer.name, write_ms(own), write_ratio(own, joint), *words, peer.guarantee]
    print("| " + " | ".join([*row, f"{errors[0]:.2f}", f"{errors[1]:,.0f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
