"""The laws of `shortlist.audits`, and histograms to try them on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from chi_square import p_value
from flint import arb

from shortlist.mechanisms.stated import (
    Histogram,
    exponential,
    losses,
    margin,
    margin_losses,
    neighbours,
    sequences,
    set_losses,
    small_histograms,
    subsets,
)

__all__ = [
    "Histogram",
    "exponential",
    "losses",
    "margin",
    "margin_losses",
    "neighbour_pairs",
    "neighbours",
    "p_value",
    "random_histograms",
    "same",
    "sequences",
    "set_losses",
    "small_histograms",
    "subsets",
]


def random_histograms(number: int, largest_d: int, seed: int) -> list[Histogram]:
    """Histograms with ties, zeros and wide gaps."""
    rng = np.random.default_rng(seed)
    pools = [[0, 1, 2, 3], [0, 0, 5, 9], [0, 1, 40, 41, 300], list(range(12)), [7], [0, 100, 10_000]]
    found = []
    while len(found) < number:
        pool = pools[len(found) % len(pools)]
        found.append(tuple(int(x) for x in rng.choice(pool, size=rng.integers(2, largest_d + 1))))
    return found


def neighbour_pairs(
    histograms: Iterable[Histogram], relation: str, find: Callable[[Histogram, str], Iterable[Histogram]] = neighbours
) -> Iterator[tuple[Histogram, Histogram]]:
    """Every pair of neighbours in which one is given: once, whatever the order of the pair and of the items.

    Laws do not depend on the order of the items, and a pair is to be checked in both directions.
    """
    seen = set()
    for histogram in histograms:
        for other in find(histogram, relation):
            pair, reverse = (
                tuple(sorted(zip(*each, strict=True), reverse=True))
                for each in ((histogram, other), (other, histogram))
            )
            if pair not in seen and reverse not in seen:
                seen.add(pair)
                here, there = zip(*pair, strict=True)
                yield here, there


def same(ours: Sequence[arb], theirs: Sequence[arb], bits: int = 150) -> bool:
    """Whether two laws are the same as far as narrow balls can tell."""
    return len(ours) == len(theirs) and all(
        a.overlaps(b) and max(a.rad(), b.rad()) < arb(2) ** -bits for a, b in zip(ours, theirs, strict=True)
    )
