"""The arrivals of a race in the order of time, of which few are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from shortlist.array_types import IntArray


class Arrivals:
    """Arrivals before t in the order of time.

    Below the pivot, all of them are listed. Of an item above it, the first is listed, and each later one if it is asked
    for. Arrivals below the pivot have the numbers 0, 1, …. The first arrivals of the `near` items above it have the
    next numbers. A later arrival has the number of the one before, plus `near`.
    """

    def __init__(self, order: IntArray, levels: IntArray, positions: IntArray, *, near: int, turns: int) -> None:
        """Take numbers in the order of time. Each number has a level, and a position in falling order of count."""
        self.levels = levels
        self.positions = positions
        self._order = order
        self._near = near
        self._far = len(levels) - near
        self._turns = turns
        self._seen: dict[int, int] = {}
        self._later: list[int] = []
        """The places of later arrivals that were asked for, as a heap."""

    @property
    def listed_positions(self) -> IntArray:
        """The positions of all arrivals that are listed without a question. One below the pivot may occur twice."""
        return self.positions[self._order[self._order < len(self.levels)]]

    def __iter__(self) -> Iterator[int]:
        """Yield the number of each listed arrival. A later arrival is yielded with the number of the first."""
        later, far = self._later, self._far
        places = np.flatnonzero(self._order < len(self.levels))
        for place, number in zip(
            [*places.tolist(), len(self._order)], [*self._order[places].tolist(), -1], strict=True
        ):
            while later and later[0] < place:
                yield far + (int(self._order[heappop(later)]) - far) % self._near
            if number >= 0:
                yield number

    def ask_for_next(self, number: int) -> bool:
        """List the next arrival of the same item as well, if it is before t. Return whether it was drawn."""
        if number < self._far:
            return True  # all arrivals below the pivot are listed
        turn = self._seen[number] = self._seen.get(number, 0) + 1
        if turn == self._turns:
            return False
        place = int(self._places[number + turn * self._near])
        if place < len(self._order):
            heappush(self._later, place)
        return True

    @cached_property
    def _places(self) -> IntArray:
        """The place of each number in the order of time. Those that are not before t have a place after all others."""
        places = np.full(len(self.levels) + (self._turns - 1) * self._near, len(self._order))
        places[self._order] = np.arange(len(self._order))
        return places
