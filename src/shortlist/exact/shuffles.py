"""Fisher–Yates shuffles of the integers 0, 1, 2, …: many at once, a row for each list.

Step j of a shuffle takes the integer at a uniform place p_j ≥ j, and puts the integer at place j there. Let v_j be the
integer at place j when step j begins. It is v_i for the last i < j with p_i = j, or j itself if there is none. Step j
takes v_i for the last i < j with p_i = p_j, or p_j itself if there is none. So all steps are known once the places of
each row are sorted, and no step has to wait for another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.uniform import draw_below_each


def draw_distinct_below(bounds: IntArray, bits: Bits) -> IntArray:
    """Draw distinct integers. The j-th of a row is uniform among those in [0, bounds[row, j]) that are not drawn yet.

    In each row the bounds must not fall, and bounds[row, j] > j. Rows are independent. One row may be given as it is.

    >>> from shortlist.exact.bits import SeededBits
    >>> drawn = draw_distinct_below(np.full((1000, 5), 5), SeededBits(1))
    >>> bool((np.sort(drawn) == np.arange(5)).all())
    True
    """
    steps = np.arange(bounds.shape[-1])
    places = draw_below_each((bounds - steps).ravel(), bits).reshape(-1, len(steps)) + steps
    # Steps of all rows are numbered through: step j of row i is number i · length + j.
    length = len(steps)
    shift = length.bit_length()
    ordered = np.sort(places << shift | steps, axis=1)
    place = ordered >> shift
    repeated = np.zeros(places.shape, dtype=bool)
    np.equal(place[:, 1:], place[:, :-1], out=repeated[:, :-1])
    pairs = np.flatnonzero(repeated)
    if not len(pairs):  # then no step takes an integer that has moved
        return places.reshape(bounds.shape)
    step = ordered & ((1 << shift) - 1)
    firsts = length * np.arange(len(places))[:, None]
    numbers = (step + firsts).ravel()
    integers = _find_integers(place, step, repeated, firsts)
    drawn = places.copy()
    drawn.reshape(-1)[numbers[pairs + 1]] = integers[numbers[pairs]]
    return drawn.reshape(bounds.shape)


def _find_integers(place: IntArray, step: IntArray, repeated: NDArray[np.bool_], firsts: IntArray) -> IntArray:
    """Compute v_j for all steps, given the places in rising order and the step that took each.

    Rounds  A link leads from j to a smaller step. Each round doubles the length of all links, so log₂ of the number
            of steps is enough.
    """
    length = place.shape[1]
    linked = (step < place) & (place < length)
    # Of several steps that took place j, the last before step j counts.
    linked[:, :-1] &= ~(linked[:, 1:] & repeated[:, :-1])
    chosen = np.flatnonzero(linked)
    links = np.arange(place.size)
    links[(place + firsts).reshape(-1)[chosen]] = (step + firsts).reshape(-1)[chosen]
    while not np.array_equal(following := links[links], links):
        links = following
    return (links.reshape(place.shape) - firsts).reshape(-1)
