"""How many sets of n items have at most a given loss above and below: combinatorics, with no epsilon in it."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass

import numpy as np

from shortlist.array_types import IntArray
from shortlist.exact.scaled import Scaled
from shortlist.profile import Profile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """A number that grows with a loss, in steps. It is `sizes[i]` from the loss `starts[i]` to the next start."""

    starts: IntArray
    sizes: IntArray
    end: int | None
    """Where the last step ends, or None if it never ends."""

    def __len__(self) -> int:
        return len(self.starts)

    def find_bounds(self, first: int, after: int) -> tuple[int, int | None]:
        """Return where the losses from the step `first` up to the step `after` begin and end."""
        return int(self.starts[first]), int(self.starts[after]) if after < len(self) else self.end

    def find_bounds_each(self, firsts: IntArray, afters: IntArray) -> tuple[IntArray, IntArray]:
        """Do what `find_bounds` does for many steps. An end is −1 where the last step never ends."""
        ends = np.append(self.starts, -1 if self.end is None else self.end)
        return self.starts[firsts], ends[afters]

    def drop_first(self) -> Steps:
        """Return all steps but the first, with losses counted from the start of the second."""
        shift = int(self.starts[1])
        end = None if self.end is None else self.end - shift
        return Steps(starts=self.starts[1:] - shift, sizes=self.sizes[1:], end=end)

    def cut(self, reach: int) -> Steps:
        """Return the steps that begin below `reach`."""
        end = int(np.searchsorted(self.starts, reach))
        return (
            self
            if end == len(self)
            else Steps(starts=self.starts[:end], sizes=self.sizes[:end], end=int(self.starts[end]))
        )


class Sets:
    """The sets S of n items, grouped by two losses.

    The upper loss is how many votes the best item outside S has above h_(n+1) (above 0, if nothing is outside). The
    lower loss is how many votes the worst item inside S has below h_(n). Neither is negative, and

        (largest count outside) − (smallest count inside) = upper loss + lower loss − gap,    gap = h_(n) − h_(n+1).

    An upper loss of at most x forces all items with more than h_(n+1) + x votes into S. Let r(x) places be left.
    A lower loss of at most y allows the items with h_(n) − y votes or more. Let n + m(y) be their number. So
    C(r(x) + m(y), r(x)) sets have losses of at most x and y. Both r and m grow in steps.

    >>> sets = Sets(Profile.of(np.array([5, 3, 3, 0])), n=2, reach=100)
    >>> sets.gap, sets.upper.starts, sets.upper.sizes, sets.lower.starts, sets.lower.sizes
    (0, array([0, 2]), array([1, 2]), array([0, 3]), array([1, 2]))
    """

    def __init__(self, profile: Profile, n: int, reach: int) -> None:
        """Take a profile that shows all levels down to `reach` below h_(n+1)."""
        self.profile = profile
        self.n = n
        last = int(np.searchsorted(profile.ends, n))
        self.lowest = int(profile.values[last])
        """h_(n)."""
        following = int(np.searchsorted(profile.ends, n, side="right"))
        self.next = int(profile.values[following]) if n < profile.d else 0
        """h_(n+1), or 0 if there are no more items."""
        self.gap = self.lowest - self.next
        forced = int(np.searchsorted(-profile.values, -self.next))
        self.upper = Steps(
            starts=np.concatenate([[0], profile.values[:forced][::-1] - self.next]),
            sizes=n - np.concatenate([profile.ends[:forced][::-1], [0]]),
            end=None,
        )
        self.lower = Steps(
            starts=self.lowest - profile.values[last:],
            sizes=profile.ends[last:] - n,
            end=None if profile.is_complete else self.gap + reach,
        )

    def drop_leader(self) -> Sets | None:
        """Return the sets other than the leading one, if one leads: both losses are then counted from the gap on.

        Every other set leaves out an item with h_(n) votes or more and contains one with h_(n+1) or fewer. So both
        of its losses are at least the gap. There may be no other set.
        """
        if not self.gap:
            return self
        if len(self.lower) == 1:
            return None
        others = copy(self)
        others.upper, others.lower = self.upper.drop_first(), self.lower.drop_first()
        return others

    def number(self, row: int, column: int) -> int:
        """How many sets the losses on a step of r and a step of m allow, exactly."""
        places, spare = int(self.upper.sizes[row]), int(self.lower.sizes[column])
        return math.comb(places + spare, places)

    def compute_losses(self, positions: IntArray) -> tuple[int, int]:
        """Compute the upper and the lower loss of a set, given by its positions in falling order of count, rising."""
        gaps = np.flatnonzero(positions != np.arange(self.n))
        missing = int(gaps[0]) if len(gaps) else self.n
        values = self.profile.picks(np.array([min(missing, self.profile.d - 1), positions[-1]])).levels
        outside = int(values[0]) if missing < self.profile.d else 0
        return outside - self.next, self.lowest - int(values[1])

    def compute_losses_each(self, positions: IntArray) -> tuple[IntArray, IntArray]:
        """Compute the upper and the lower losses of many sets, given by their positions, rising in each row."""
        gaps = positions != np.arange(self.n)
        missing = np.where(gaps.any(axis=1), gaps.argmax(axis=1), self.n)
        inside = self.profile.picks(positions[:, -1]).levels
        outside = self.profile.picks(np.minimum(missing, self.profile.d - 1)).levels
        return np.where(missing < self.profile.d, outside, 0) - self.next, self.lowest - inside


def count_sets(places: IntArray, spare: IntArray) -> Scaled:
    """Compute C(r + m, r) for all r in a rising array and all m in another, a row for each r, with a proven error.

    C(r + m, r) is the product of (m + t)/t over t ≤ r. Each factor is rounded twice, by its division and by the
    multiplication. The running products are scaled before they leave the range of floats.

    >>> count_sets(np.array([0, 2]), np.array([1, 3])).align(0)
    array([[ 1.,  1.],
           [ 3., 10.]])
    """
    if places[-1] > spare[-1]:
        swapped = count_sets(spare, places)
        return Scaled(mantissa=swapped.mantissa.T, exponent=swapped.exponent.T, roundings=swapped.roundings)
    most = int(places[-1])
    group = 1000 // int(most + spare[-1] + 1).bit_length()
    products = np.ones((len(places), len(spare)))
    exponents = np.zeros((len(places), len(spare)), dtype=np.int64)
    mantissa, exponent = np.ones(len(spare)), np.zeros(len(spare), dtype=np.int64)
    for start in range(0, most, group):
        end = min(start + group, most)
        steps = np.arange(start + 1.0, end + 1.0)[:, None]
        running = np.multiply.accumulate((spare + steps) / steps, axis=0)
        running *= mantissa
        rows = slice(*np.searchsorted(places, [start, end], side="right"))
        products[rows], exponents[rows] = running[places[rows] - start - 1], exponent
        mantissa, shift = np.frexp(running[-1])
        exponent = exponent + shift
    products, shifts = np.frexp(products)
    return Scaled(mantissa=products, exponent=exponents + shifts, roundings=2 * most + most // group + 2)
