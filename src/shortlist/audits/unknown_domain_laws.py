"""Laws of the mechanisms without a domain by brute force.

The places of a histogram are the items, in the order of their bytes. An item with count 0 does not exist. So neighbours
may have different sets of items, and an output that is possible on one side may be impossible on the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace
from shortlist.mechanisms import LimitedDomain, Stable, Threshold
from shortlist.mechanisms.stated import (
    Histogram,
    Items,
    Point,
    chance_of_few,
    decay,
    falling_counts,
    gaussian_law,
    laplace_law,
    output_chance,
    rank_items,
    sequences_up_to,
)


def limited_domain_law(
    mechanism: LimitedDomain, histogram: Histogram, *, ranked: Sequence[int] | None = None
) -> dict[Items, arb]:
    """The law of all lists: items one by one, until a stop or k items. `ranked` replaces the order of the items."""
    items = rank_items(histogram) if ranked is None else ranked
    stop = mechanism.stop
    if stop is None:
        return {(): arb(1)}
    candidates = items[: mechanism.k_bar]
    cut = histogram[items[len(candidates)]] if len(items) > len(candidates) else 0
    weights = {item: decay(mechanism.rate, -histogram[item]) for item in candidates}
    halt = stop.copies * decay(mechanism.rate, -(cut + stop.height))
    law = {}
    for chosen in sequences_up_to(candidates, mechanism.k):
        chance, left = arb(1), halt + sum(weights.values(), arb(0))
        for item in chosen:
            chance *= weights[item] / left
            left -= weights[item]
        law[chosen] = chance if len(chosen) == mechanism.k else chance * halt / left
    return law


def threshold_law(
    mechanism: Threshold, histogram: Histogram, *, reach: int, threshold: int | None = None
) -> dict[tuple[Items, tuple[int, ...]], arb]:
    """The law of lists with noisy counts; counts more than `reach` beyond the threshold and the histogram are left out.

    `threshold` replaces that of the mechanism.
    """
    least = mechanism.threshold if threshold is None else threshold
    observed = [item for item, count in enumerate(histogram) if count]
    counts = tuple(histogram[item] for item in observed)
    noise = _noise_law(mechanism.law)
    values = range(least, max(least, *histogram) + reach + 1)
    law = {}
    for places in sequences_up_to(range(len(observed)), mechanism.k):
        items = tuple(observed[place] for place in places)
        for noisy in falling_counts(len(places), values):
            if len(places) == mechanism.k:
                chance = output_chance(counts, places, noisy, noise)
            else:
                chance = chance_of_few(counts, places, noisy, least, noise)
            law[items, noisy] = chance
    return law


def stable_law(mechanism: Stable, histogram: Histogram, *, threshold: int | None = None) -> dict[Items, arb]:
    """The law of the set, which may be empty. `threshold` replaces that of the mechanism."""
    ranked = rank_items(histogram)
    counts = [*(histogram[item] for item in ranked), *[0] * (mechanism.k + 1)]
    gaps = {size: counts[size - 1] - counts[size] for size in mechanism.sizes}
    weights = {size: decay(mechanism.rate, -gap) for size, gap in gaps.items()}
    total = sum(weights.values(), arb(0))
    _, below = laplace_law(mechanism.law.b)
    least = mechanism.threshold if threshold is None else threshold
    law: dict[Items, arb] = {(): arb(0)}
    for size, gap in gaps.items():
        passes = 1 - below(least - 1 - gap) if gap else arb(0)
        if gap:
            law[tuple(sorted(ranked[:size]))] = weights[size] / total * passes
        law[()] += weights[size] / total * (1 - passes)
    return law


def _noise_law(noise: DiscreteGaussian | DiscreteLaplace) -> tuple[Point, Point]:
    return laplace_law(noise.b) if isinstance(noise, DiscreteLaplace) else gaussian_law(noise.variance)
