"""Families in a plan: the counts of many groups, given or invented, and what limits on each person leave of them.

Invented groups have sizes that fall like 1/g, and every group has the same shape of counts. Of invented people it is
known how many votes they cast and in how many groups, so a plan may try other limits. Counts that are given must
already be limited, so their limits are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from shortlist.array_types import FloatArray
from shortlist.planning.inputs import Constraints, Histogram, Limits, Shape, read_histogram, read_number, refuse_votes
from shortlist.privacy.numbers import Real, read_positive

SIZES = ("large", "middle", "small")
"""A third of the groups each, by their votes."""
_SHOWN = 10
"""Of each third, so many groups are forecast, from its largest to its smallest."""
MOST_GROUPS = 10**6
_SIGMA = 1.0
"""How unequal people are: the logarithm of their number of votes has this standard deviation."""
_PARTS = 1000
"""Invented people are so many equal parts, in rising order of their votes."""
_GROUP_STEPS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
_VOTE_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Limits that are tried where none is given."""
_FARTHEST = 5
"""A limit above so many times the mean of the votes keeps almost all of them, so it is not tried."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Habits:
    """How many votes each part of the people casts, in rising order, and in how many groups they may vote.

    A person who casts n votes, each in one of a groups by chance, is in a(1 − (1 − 1/a)ⁿ) groups on average.
    """

    votes: FloatArray
    groups: int

    @classmethod
    def invent(cls, votes: Real | None, groups: int, limits: Limits) -> Habits:
        """Invent people with a mean number of votes. Without it, they all cast as many as the limits allow."""
        if votes is None:
            return cls(votes=np.array([float(limits.votes_per_person or groups)]), groups=groups)
        ranks = [NormalDist().inv_cdf((part + 0.5) / _PARTS) for part in range(_PARTS)]
        shape = np.exp(_SIGMA * np.array(ranks))
        return cls(votes=float(read_positive(votes, name="votes_cast")) * shape / shape.mean(), groups=groups)

    def keep(self, limits: Limits) -> float:
        """Compute which share of the votes is left. The limit on groups comes first.

        >>> habits = Habits(votes=np.array([4.0, 16.0]), groups=1)
        >>> habits.keep(Limits(groups_per_person=1)), habits.keep(Limits(votes_per_person=6))
        (1.0, 0.5)
        """
        kept = self.votes
        if limits.groups_per_person is not None:
            visited = self.groups * (1 - (1 - 1 / self.groups) ** self.votes)
            kept = kept * np.minimum(1, limits.groups_per_person / visited)
        if limits.votes_per_person is not None:
            kept = np.minimum(kept, limits.votes_per_person)
        return float(kept.sum() / self.votes.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Counts of groups, the largest group first. Of many groups, only some are shown to the mechanisms."""

    shown: tuple[Histogram, ...]
    """The groups that are forecast, without the limits that a plan tries."""
    sizes: Mapping[str, range]
    """Which of the shown groups are large, middle and small."""
    groups: int
    """How many groups there are."""
    habits: Habits | None
    """What is known about invented people."""
    by: tuple[str, ...]
    """The columns of the groups."""
    source: str
    without_domain: bool = False
    _counted: dict[float, tuple[Histogram, ...]] = field(default_factory=dict, repr=False)

    @property
    def invented(self) -> bool:
        """Whether the counts are invented."""
        return self.habits is not None

    @property
    def d(self) -> int:
        """The number of items of a group, or of the group with the most. Without a domain, only those with votes."""
        return max(each.d for each in self.count(Limits()))

    def keep(self, limits: Limits) -> float:
        """Compute which share of the votes limits leave. Counts that are given are limited already."""
        return 1.0 if self.habits is None else self.habits.keep(limits)

    def count(self, limits: Limits) -> tuple[Histogram, ...]:
        """The counts of the shown groups under limits. A limit drops votes of all items and groups alike."""
        kept = self.keep(limits)
        if kept not in self._counted:
            scaled = (each if kept == 1 else each.scale(kept) for each in self.shown)
            self._counted[kept] = tuple(each.drop_unvoted() if self.without_domain else each for each in scaled)
        return self._counted[kept]

    def list_limits(self, given: Limits, *, on_votes: bool) -> list[Limits]:
        """List the limits to try: those that are given, and steps for the one that a mechanism depends on.

        Noise on all cells depends on the votes of a person, and all else on the groups of a person.
        """
        if self.habits is None or (given.votes_per_person if on_votes else given.groups_per_person) is not None:
            return [given]
        if on_votes:
            farthest = max(1.0, _FARTHEST * float(self.habits.votes.mean()))
            return [replace(given, votes_per_person=step) for step in _VOTE_STEPS if step <= farthest]
        most = self.habits.groups
        return [replace(given, groups_per_person=step) for step in (*(s for s in _GROUP_STEPS if s < most), most)]


def invent_family(
    shape: Shape, constraints: Constraints, *, votes_cast: Real | None, groups_visited: Real | None
) -> Family:
    """Invent a family: group g has a share of all votes that is proportional to 1/g.

    Inside each group, counts fall as those of one invented list do.
    """
    groups, limits = constraints.groups or 1, constraints.limits
    visited = limits.groups_per_person or 1
    if groups_visited is not None:
        visited = read_number(groups_visited, name="groups_visited", most=MOST_GROUPS)
    habits = Habits.invent(votes_cast, min(visited, groups), limits)
    each = float(habits.votes.mean())
    mean = f"{each:,.4g} vote{'' if each == 1 else 's'} {'each' if votes_cast is None else 'on average'}"
    source = (
        f"invented counts of {len(shape.weights):,} items in {groups:,} groups, whose sizes fall like 1/g: "
        f"{shape.people:,} people with {mean} in up to {habits.groups:,} of them, Zipf with exponent {shape.exponent:g}"
    )
    harmonic = float((1 / np.arange(1, groups + 1)).sum())
    ranks, sizes = _choose_shown(groups)
    shown = []
    for rank in ranks:
        share = 1 / ((rank + 1) * harmonic)
        people = round(shape.people * min(1.0, share * habits.groups))
        counts = shape.count(shape.people * each * share, people)
        shown.append(Histogram(counts=counts, names=None, source=source, invented=True).weigh(constraints))
    return Family(
        shown=tuple(shown),
        sizes=sizes,
        groups=groups,
        habits=habits,
        by=("group",),
        source=shown[0].source,
        without_domain=constraints.without_domain,
    )


def is_family(counts: object) -> bool:
    """Whether counts are those of groups: a mapping from each group to its counts.

    >>> is_family({"DE": [3, 2], "AT": [1]}), is_family({"apple": 3, "pear": 2})
    (True, False)
    """
    if not isinstance(counts, Mapping) or not counts:
        return False
    return all(isinstance(each, Histogram | Mapping) or np.ndim(each) == 1 for each in counts.values())


def read_family(counts: Mapping[Any, Any], constraints: Constraints, *, by: Sequence[str] = ("group",)) -> Family:
    """Read counts of groups, each as `top_k` reads them.

    >>> made = read_family({"DE": [9, 5, 0], "AT": {"a": 3, "b": 1}}, Constraints(groups=2, groups_per_person=1))
    >>> [group.counts.tolist() for group in made.shown], made.sizes
    ([[9, 5, 0], [3, 1]], {'large': range(0, 1), 'middle': range(1, 2)})
    """
    read = [each if isinstance(each, Histogram) else read_histogram(each, few=True) for each in counts.values()]
    if max(int(each.counts[0]) for each in read) <= 1:
        raise refuse_votes()
    read = [each.weigh(constraints) for each in read]
    read.sort(key=lambda each: -int(each.counts.sum()))
    ranks, sizes = _choose_shown(len(read))
    return Family(
        shown=tuple(read[rank] for rank in ranks),
        sizes=sizes,
        groups=len(read),
        habits=None,
        by=tuple(by),
        source=f"{read[0].source} of {len(read):,} groups",
        without_domain=constraints.without_domain,
    )


def _choose_shown(groups: int) -> tuple[list[int], dict[str, range]]:
    """Choose the ranks of the groups that are forecast, and say which of them are large, middle and small.

    >>> _choose_shown(4)
    ([0, 1, 2, 3], {'large': range(0, 2), 'middle': range(2, 3), 'small': range(3, 4)})
    >>> _choose_shown(300)[0][:12]
    [5, 15, 25, 35, 45, 55, 65, 75, 85, 95, 105, 115]
    """
    ranks: list[int] = []
    sizes = {}
    for name, third in zip(SIZES, np.array_split(np.arange(groups), len(SIZES)), strict=True):
        if len(third):
            n = min(_SHOWN, len(third))
            sizes[name] = range(len(ranks), len(ranks) + n)
            ranks += third[(2 * np.arange(n) + 1) * len(third) // (2 * n)].tolist()
    return ranks, sizes
