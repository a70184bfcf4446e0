"""Many Fisher–Yates shuffles at once: the draws of `distinct_below`, a row for each list.

Step j of a shuffle takes the integer at a uniform place p_j ≥ j, and puts the integer at place j there. Let v_j be the
integer at place j when step j begins. It is v_i for the last i < j with p_i = j, or j itself if there is none. Step j
takes v_i for the last i < j with p_i = p_j, or p_j itself if there is none. So all steps are known once the places of
each row are sorted, and no step has to wait for another.
"""

from __future__ import annotations

import numpy as np

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.uniform import below_each_short


def distinct_below_each(bounds: IntArray, bits: Bits) -> IntArray:
    """Draw distinct integers in each row, the j-th uniform among those in [0, bounds[row, j]) not drawn yet.

    In each row the bounds must not fall, and bounds[row, j] > j. Rows are independent.

    >>> from shortlist.exact.bits import SeededBits
    >>> drawn = distinct_below_each(np.full((1000, 5), 5), SeededBits(1))
    >>> bool((np.sort(drawn) == np.arange(5)).all())
    True
    """
    return _take(_draw_places(bounds, bits))


def permute_each(rows: int, length: int, bits: Bits) -> IntArray:
    """Draw uniform permutations of 0, …, length − 1, a row for each."""
    return distinct_below_each(np.full((rows, length), length), bits)


def _draw_places(bounds: IntArray, bits: Bits) -> IntArray:
    """Draw the place of each step. If most steps have one place only, bits are drawn for the others alone."""
    steps = np.arange(bounds.shape[1])
    chances = bounds - steps
    free = chances > 1
    if 2 * np.count_nonzero(free) > free.size:
        drawn: IntArray = below_each_short(chances.ravel(), bits).reshape(bounds.shape)
        return drawn + steps
    places = np.broadcast_to(steps, bounds.shape).copy()
    places[free] += below_each_short(chances[free], bits)
    return places


def _take(places: IntArray) -> IntArray:
    """Find which integer each step takes, given the place of each step."""
    length = places.shape[1]
    shift = length.bit_length()
    steps = np.arange(length)
    ordered = np.sort(places << shift | steps, axis=1)
    place = ordered >> shift
    row, pair = np.nonzero(place[:, 1:] == place[:, :-1])
    if not len(row):
        return places
    step = ordered & ((1 << shift) - 1)
    drawn = places.copy()
    drawn[row, step[row, pair + 1]] = _find_integers(place, step, row, step[row, pair])
    return drawn


def _find_integers(place: IntArray, step: IntArray, row: IntArray, asked: IntArray) -> IntArray:
    """Compute v_j for some rows and steps j, given the places in rising order and the step that took each.

    Rounds  A link leads from j to a smaller step, so the links end.
    """
    links = np.broadcast_to(np.arange(place.shape[1]), place.shape).copy()
    linked = (step < place) & (place < place.shape[1])
    # Of several steps that took place j, the last before step j counts.
    linked[:, :-1] &= ~(linked[:, 1:] & (place[:, 1:] == place[:, :-1]))
    rows, where = np.nonzero(linked)
    links[rows, place[rows, where]] = step[rows, where]
    found = asked
    while (following := links[row, found]).tobytes() != found.tobytes():
        found = following
    return found
