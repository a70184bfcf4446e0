"""A peel among the most-voted items that ends where a stop is drawn.

The stop is a number of copies of one further item. So the run is a peel of a profile with more items on one level, and
the item at a position beyond the observed ones of that level is the stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist.exact.bits import Bits
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.peel.many import MOST_ROUNDS, PeelDraws
from shortlist.profile import ManyPicks, Picks, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Copies of an item with `height` votes more than the item at the cut-off."""

    height: int
    copies: int


class StoppedPeel(PeelDraws):
    """The law of limited-domain on the profile of the observed items."""

    def __init__(self, observed: Profile, *, k: int, k_bar: int, rate: Fraction, stop: Stop) -> None:
        self._cut, candidates = cut_off(observed, k_bar)
        self.candidates, first = add_stop(candidates, stop)
        self._stops = range(first, first + stop.copies)
        # After all candidates, only the stop is left.
        super().__init__(self.candidates, k=min(k, candidates.d + 1), rate=rate)

    def draw(self, bits: Bits) -> Picks:
        """Choose up to k items."""
        positions = self.draw_positions(bits)
        before = next((place for place, position in enumerate(positions) if position in self._stops), len(positions))
        picks = self.peeling.picks(np.array(positions[:before], dtype=np.int64))
        return Picks(levels=picks.levels + self._cut, ranks=picks.ranks)

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose up to k items n times."""
        if self.peeling.k > MOST_ROUNDS:
            return ManyPicks.join(Prepared.draw_many(self, n, bits))
        positions = self._draw_many_positions(n, bits, self._stops)
        chosen = (positions >= 0) & ((positions < self._stops.start) | (positions >= self._stops.stop))
        picks = self.candidates.picks(positions[chosen])
        return ManyPicks(levels=picks.levels + self._cut, ranks=picks.ranks, lengths=chosen.sum(axis=1))


def cut_off(observed: Profile, k_bar: int) -> tuple[int, Profile]:
    """Return the count after the first `k_bar` ones, and the profile of these, with counts relative to it.

    >>> cut_off(Profile.of(np.array([9, 4, 4, 4, 1])), 3)
    (4, Profile(values=array([5, 0]), sizes=array([1, 2]), d=3))
    """
    if observed.d <= k_bar:
        return 0, observed
    last = int(np.searchsorted(observed.ends, k_bar, side="right"))
    cut = int(observed.values[last])
    before = int(observed.ends[last] - observed.sizes[last])
    sizes = np.append(observed.sizes[:last], k_bar - before)
    values = observed.values[: last + 1] - cut
    whole = slice(None) if sizes[-1] else slice(-1)
    return cut, Profile(values=values[whole], sizes=sizes[whole], d=k_bar)


def add_stop(candidates: Profile, stop: Stop) -> tuple[Profile, int]:
    """Put the copies of the stop on their level, after the items there, and return the position of the first."""
    place = int(np.searchsorted(-candidates.values, -stop.height))
    present = place < len(candidates.values) and int(candidates.values[place]) == stop.height
    values, sizes = candidates.values, candidates.sizes.copy()
    if not present:
        values, sizes = np.insert(values, place, stop.height), np.insert(sizes, place, 0)
    before = int(sizes[: place + 1].sum())
    sizes[place] += stop.copies
    return Profile(values=values, sizes=sizes, d=candidates.d + stop.copies), before
