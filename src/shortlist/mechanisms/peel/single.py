"""One draw of a peel: proposals in the order of a race, and proposals in batches where a race does not suffice."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

import numpy as np

from shortlist.exact.bits import Bits
from shortlist.mechanisms.peel.peeling import PeelLevels, PeelRun
from shortlist.mechanisms.peel.race import Race
from shortlist.profile import Levels, Picks


class SuccessiveDraws:
    """The law of k rounds on given levels. Each round takes the first item that it proposes."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction) -> None:
        self.peeling = PeelLevels(levels, k=k, rate=rate, spare=k // 2 + 40)
        """The levels with their weights."""

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        return self.peeling.picks(np.array(self.draw_positions(bits), dtype=np.int64))

    def draw_positions(self, bits: Bits) -> list[int]:
        """Choose k items by their positions in falling order of count."""
        k = self.peeling.k
        positions = list(dict.fromkeys(self._race.draw(bits).listed_positions.tolist()))[:k]
        if len(positions) == k:
            return positions
        run = PeelRun(self.peeling, bits, positions)
        for _ in range(k - len(positions)):
            run.take(*run.propose())
        return run.positions

    @cached_property
    def _race(self) -> Race:
        return Race(self.peeling)
