"""Laws by brute force: every sequence enumerated, nothing shared with the code under test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import arb, fmpq
from scipy import stats

Histogram = tuple[int, ...]


def small_histograms(largest_d: int = 4) -> list[Histogram]:
    """Every histogram with d up to a number and counts ≤ 3, up to the order of the items."""
    return [h for d in range(1, largest_d + 1) for h in itertools.combinations_with_replacement(range(3, -1, -1), d)]


def random_histograms(number: int, largest_d: int, seed: int) -> list[Histogram]:
    """Histograms with ties, zeros and wide gaps."""
    rng = np.random.default_rng(seed)
    pools = [[0, 1, 2, 3], [0, 0, 5, 9], [0, 1, 40, 41, 300], list(range(12)), [7], [0, 100, 10_000]]
    found = []
    while len(found) < number:
        pool = pools[len(found) % len(pools)]
        found.append(tuple(int(x) for x in rng.choice(pool, size=rng.integers(2, largest_d + 1))))
    return found


def neighbours(histogram: Histogram, relation: str) -> Iterator[Histogram]:
    """Every histogram that one person more or less, or one person's other votes, can make of it."""
    if relation == "add-remove":
        for step in (1, -1):
            for change in itertools.product((0, step), repeat=len(histogram)):
                moved = tuple(h + c for h, c in zip(histogram, change, strict=True))
                if min(moved) >= 0:
                    yield moved
    else:
        for change in itertools.product((-1, 0, 1), repeat=len(histogram)):
            moved = tuple(h + c for h, c in zip(histogram, change, strict=True))
            if min(moved) >= 0:
                yield moved


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


def sequences(d: int, k: int) -> list[tuple[int, ...]]:
    """Every sequence of k distinct items, in a fixed order."""
    return list(itertools.permutations(range(d), k))


def losses(histogram: Histogram, k: int) -> list[int]:
    """L(s) of every sequence."""
    top = sorted(histogram, reverse=True)
    return [
        max(top[j] - histogram[item] for j, item in enumerate(sequence)) for sequence in sequences(len(histogram), k)
    ]


def margin(histogram: Histogram, k: int) -> int:
    """The smallest gap between neighbours among the k + 1 largest counts."""
    top = sorted(histogram, reverse=True)[: k + 1]
    return min((a - b for a, b in itertools.pairwise(top)), default=0)


def margin_losses(histogram: Histogram, k: int) -> list[int]:
    """The loss of every sequence: −g for the true list if it is unique, L(s) for all others."""
    order = sorted(range(len(histogram)), key=lambda item: -histogram[item])
    g = margin(histogram, k)
    return [
        -g if g and list(each) == order[:k] else loss
        for each, loss in zip(sequences(len(histogram), k), losses(histogram, k), strict=True)
    ]


def subsets(d: int, sizes: Iterable[int]) -> list[tuple[int, ...]]:
    """Every set of items of these sizes, in a fixed order."""
    return [each for size in sizes for each in itertools.combinations(range(d), size)]


def set_losses(histogram: Histogram, sizes: Iterable[int]) -> list[int]:
    """The largest count outside minus the smallest count inside; the largest of no counts is 0."""
    return [
        max((count for item, count in enumerate(histogram) if item not in each), default=0)
        - min(histogram[item] for item in each)
        for each in subsets(len(histogram), sizes)
    ]


def exponential(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """The law ∝ e^(−rate · score)."""
    weights = [(-arb(fmpq(rate.numerator, rate.denominator)) * score).exp() for score in scores]
    total = sum(weights, arb(0))
    return [weight / total for weight in weights]


def same(ours: Sequence[arb], theirs: Sequence[arb], bits: int = 150) -> bool:
    """Whether two laws are the same as far as narrow balls can tell."""
    return len(ours) == len(theirs) and all(
        a.overlaps(b) and max(a.rad(), b.rad()) < arb(2) ** -bits for a, b in zip(ours, theirs, strict=True)
    )


def p_value(observed: Sequence[int], law: Sequence[float]) -> float:
    """The chi-square p-value of observed frequencies; cells expected fewer than five times are pooled."""
    counts, expected = np.asarray(observed, dtype=float), np.asarray(law, dtype=float)
    expected = expected / expected.sum() * counts.sum()
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 5:  # still too rare for the approximation: join the smallest other cell
            smallest = int(np.argmin(expected[:-1]))
            counts[smallest] += counts[-1]
            expected[smallest] += expected[-1]
            counts, expected = counts[:-1], expected[:-1]
    return 1.0 if len(counts) == 1 else float(stats.chisquare(counts, expected).pvalue)
