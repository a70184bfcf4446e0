"""Noisy counts that equal a threshold, where very many items may have them: only as many as are needed are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from shortlist.exact.bits import Bits
from shortlist.exact.noise import Noise
from shortlist.exact.uniform import draw_below_each


def fill_with_ties(
    known: Mapping[int, int], ties: range, *, k: int, threshold: int, noise: Noise, bits: Bits
) -> dict[int, int]:
    """Take the noisy counts above a threshold, by position. If they are fewer than k, add some that are equal to it.

    `known` are the noisy counts of all items that reach the threshold, except those of `ties`: these have the threshold
    as their count, and are known only if their noise is above 0. The others get noise when their turn comes. The
    result has fewer than k noisy counts that reach the threshold only if it has those of all ties.

    Claim   The items that are added are chosen uniformly among all items whose noisy count equals the threshold.
    Proof   Take all items that may be equal to the threshold in a uniform order, independent of the noise. The first
            items of this order that are equal to it are a uniform choice. In a sequence of uniform draws, the first
            occurrences are in uniform order.
    Rounds  All n items are seen after at most n (1 + ln n) draws on average. If noise is 0 with a probability of 1/2 or
            more and n is far above k, about 2k draws are enough.
    """
    taken = {position: value for position, value in known.items() if value > threshold}
    equal = [position for position, value in known.items() if value == threshold]
    below: dict[int, int] = {}
    seen: set[int] = set()
    size = len(equal) + len(ties)
    while len(taken) < k and len(seen) < size:
        places = draw_below_each(np.full(2 * k, size), bits).tolist()
        for place, drawn in zip(places, _draw_up_to_zero(noise, len(places), bits), strict=True):
            if len(taken) == k:
                break
            if place in seen:
                continue
            seen.add(place)
            if place < len(equal):
                taken[equal[place]] = threshold
            elif (position := ties[place - len(equal)]) not in known:
                (below if drawn else taken)[position] = threshold + drawn
    return taken | below if len(taken) < k else taken


def _draw_up_to_zero(noise: Noise, count: int, bits: Bits) -> Iterator[int]:
    """Draw noises given that they are not above 0.

    Rounds  Noise is symmetric, so it is at most 0 with a probability above 1/2.
    """
    while count > 0:
        drawn = noise.draw_array(count, bits)
        kept: list[int] = drawn[drawn <= 0].tolist()
        yield from kept
        count -= len(kept)
