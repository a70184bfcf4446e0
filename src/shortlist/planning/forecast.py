"""How good the list of a mechanism will be on given counts: recall, exact lists, and the errors ℓ∞ and ℓ1 in votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import SeededBits
from shortlist.ledger.budget import Amount, Budget
from shortlist.mechanisms import Auto, Mechanism
from shortlist.mechanisms.auto import PrivateChoice
from shortlist.planning.constraints import Constraints
from shortlist.planning.counts import Counts
from shortlist.privacy.numbers import write_exact, write_rounded_up

SAMPLES = 20
"""How many of the drawn lists are kept as samples."""
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The mean of a measure over many lists, and the values that 5, 50 and 95 % of the lists do not exceed."""

    mean: float
    low: float
    middle: float
    high: float

    @classmethod
    def of(cls, values: FloatArray | IntArray) -> Spread:
        """Summarise a sample. Quantiles are values of the sample, not between two of them.

        >>> Spread.of(np.array([1.0, 2.0, 3.0]))
        Spread(mean=2.0, low=1.0, middle=2.0, high=3.0)
        """
        low, middle, high = np.quantile(values.astype(np.float64), QUANTILES, method="inverted_cdf").tolist()
        return cls(mean=float(values.mean()), low=low, middle=middle, high=high)

    def __str__(self) -> str:
        return f"{self.low:,.0f}…{self.middle:,.0f}…{self.high:,.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a mechanism will do on given counts: computed from its law, or measured on lists that were drawn."""

    mechanism: Mechanism
    constraints: Constraints
    """What the forecast is for, with the limits on each person."""
    exact: float
    """The probability of the exact list."""
    exact_is_computed: bool
    """Whether `exact` comes from the law. Else it is the share of the drawn lists."""
    length: Spread
    """How many items are in a list. It is below k only without a domain."""
    recall: Spread
    largest: Spread
    total: Spread
    bound: int | None
    """The public bound on the error in votes, with a confidence of 95 %."""
    affordable: int
    """How many such releases a new ledger with the budget affords: with its default or with basic accounting."""
    draws: int
    choices: Mapping[str, float]
    """For `auto`: how often each mechanism was chosen."""
    samples: IntArray
    """Some of the lists: the positions of their items in falling order of count, a row for each list. A place
    without an item has −1."""
    inside: tuple[int, ...]
    """For each sample: how many items of its group are as good as the one at place k."""
    by_size: Mapping[str, Spread]
    """For a family: the recall in large, middle and small groups."""
    sampled: tuple[str, ...]
    """For a family: whether each sample is of a large, middle or small group."""
    kept: float
    """The share of the votes that the limits leave. It is below 1 only for an invented family."""

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.mechanism.name

    def to_cells(self) -> dict[str, str]:
        """Write the forecast as the cells of a table that people read, by the names of the columns."""
        recall, rho, cells = self.recall, self.mechanism.guarantee.rho, dict[str, str]()
        if self.by_size:
            limits = ("any" if each is None else f"{each:,}" for each in self.constraints.caps.values())
            cells = dict(zip(("groups", "votes"), limits, strict=True), kept=write_share(self.kept))
        return cells | {
            "items": f"{self.length.mean:,.0f}",
            "recall": f"{recall.mean:.2f}",
            **{name: f"{each.mean:.2f}" for name, each in self.by_size.items()},
            "range": f"{recall.low:.2f}…{recall.high:.2f}",
            "exact": f"{'' if self.exact_is_computed else '≈ '}{write_share(self.exact)}",
            "ℓ∞": str(self.largest),
            "ℓ1": str(self.total),
            "bound": "–" if self.bound is None else f"{self.bound:,}",
            "guarantee": str(self.mechanism.guarantee).partition("-DP")[0] + "-DP",
            "ρ": "–" if rho is None else f"{float(rho):.2g}",
            "releases": f"{self.affordable:,}",
        }

    def to_row(self) -> dict[str, Any]:
        """Describe the forecast by plain values, as a row of a table."""
        guarantee = self.mechanism.guarantee
        row: dict[str, Any] = {
            "mechanism": self.name,
            **(self.constraints.caps | {"votes_kept": self.kept} if self.by_size else {}),
            "exact": self.exact,
            "exact_from": "law" if self.exact_is_computed else "draws",
        }
        spreads = {
            "items": self.length,
            "recall": self.recall,
            "largest_error": self.largest,
            "total_error": self.total,
        }
        for name, spread in spreads.items():
            row |= {name: spread.mean, f"{name}_5": spread.low, f"{name}_50": spread.middle, f"{name}_95": spread.high}
        row |= {f"recall_{name}": each.mean for name, each in self.by_size.items()}
        return row | {
            "error_bound": self.bound,
            "epsilon": write_exact(guarantee.epsilon),
            "delta": write_exact(guarantee.delta),
            "rho": None if guarantee.rho is None else write_rounded_up(guarantee.rho),
            "affordable": self.affordable,
            "draws": self.draws,
            "chosen": dict(self.choices) or None,
        }


def forecast(
    mechanism: Mechanism, counts: Counts, constraints: Constraints, *, budget: Budget, draws: int, seed: int
) -> Forecast:
    """Draw about so many lists under the limits, of all shown groups, and compute what the law of one list says.

    `auto` chooses once for all groups. Items with equal counts are ranked as they stand. Lists are compared with the
    counts of all votes, also of those that the limits drop. Equal seeds draw from equal random numbers.
    """
    k, shown, bits = mechanism.k, counts.shown, SeededBits(seed)
    groups, chance = counts.limit(constraints), None
    names = [mechanism.name] * -(-draws // len(groups))
    if isinstance(mechanism, Auto):
        choice = PrivateChoice([each.profile for each in groups], mechanism, lists=counts.groups)
        names = [choice.choose(bits) for _ in names]
    places, measured = [], []
    for group, full in zip(groups, shown, strict=True):
        prepared = {name: mechanism.candidates[name].prepare(group.profile) for name in dict.fromkeys(names)}
        drawn = {name: iter(each.draw_many(names.count(name), bits)) for name, each in prepared.items()}
        # A limit drops votes of all items alike, so the order of the items stays.
        picks = (next(drawn[name]) for name in names)
        found = [np.searchsorted(-group.counts, -each.levels) + each.ranks for each in picks]
        places.append(fill_places(found, k, empty=-1))
        votes = np.append(full.counts, 0)[np.minimum(places[-1], len(full.counts))]
        # Where fewer than k items of a group have votes, an item without votes is not right.
        least = 1 if counts.sizes else 0
        measured.append(measure(full.top(k), votes, unordered=mechanism.unordered, least=least))
        if not counts.sizes and mechanism.name in prepared:
            chance = prepared[mechanism.name].compute_exact_chance()
    recall, largest, total = map(np.concatenate, zip(*measured, strict=True))
    bounds = [each.error_bound(counts.d) for each in mechanism.candidates.values()]
    # By default, a ledger keeps a part of delta for the conversion of rhos. Few releases may need all of it.
    whole = budget.guarantee
    basic = Budget.plan(epsilon=whole.epsilon, delta=whole.delta, accounting="basic", neighbours=whole.neighbours)
    middles = [each[len(each) // 2] for each in counts.sizes.values()] or [0]
    number = min(len(names), SAMPLES // len(middles))
    return Forecast(
        mechanism=mechanism,
        constraints=constraints,
        exact=float((largest == 0).mean()) if chance is None else chance,
        exact_is_computed=chance is not None,
        length=Spread.of((np.concatenate(places) >= 0).sum(axis=1)),
        recall=Spread.of(recall),
        largest=Spread.of(largest),
        total=Spread.of(total),
        # `auto` states the bound of the mechanism that it chooses, so here it is the largest of these.
        bound=max((bound for bound in bounds if bound is not None), default=None),
        affordable=max(each.afford(Amount(), mechanism.guarantee) for each in (budget, basic)),
        draws=len(recall),
        choices={name: times / len(names) for name, times in Counter(names).most_common() if name != mechanism.name},
        samples=np.concatenate([places[middle][:number] for middle in middles]),
        inside=tuple(shown[middle].count_from(shown[middle].top(k)[-1]) for middle in middles for _ in range(number)),
        by_size={
            name: Spread.of(np.concatenate([measured[place].recall for place in each]))
            for name, each in counts.sizes.items()
        },
        sampled=tuple(name for name in counts.sizes for _ in range(number)),
        kept=counts.keep(constraints),
    )


class Errors(NamedTuple):
    """The measures of many lists, one value for each list."""

    recall: FloatArray
    """The share of the k places with an item that has as many votes as the true item at place k, or more."""
    largest: IntArray
    """ℓ∞: the largest difference in votes between the listed and the true item at a place. It is 0 if all are true."""
    total: IntArray
    """ℓ1: the sum of these differences."""


def measure(top: IntArray, votes: IntArray, *, unordered: bool = False, least: int = 0) -> Errors:
    """Compare the votes of lists, a row for each, with the k largest counts. Without an order, votes are sorted.

    A place without an item has 0 votes. An item is right only if it has at least `least` votes.

    >>> measure(np.array([9, 7]), np.array([[9, 2]]))
    Errors(recall=array([0.5]), largest=array([5]), total=array([5]))
    """
    if unordered:
        votes = -np.sort(-votes, axis=1)
    differences = np.abs(votes - top)
    # If nobody voted for the item at place k, a place without an item is as good.
    right = votes >= max(top[-1], least)
    return Errors(right.mean(axis=1), differences.max(axis=1), differences.sum(axis=1))


def fill_places(lists: Sequence[IntArray], k: int, *, empty: int) -> IntArray:
    """Lay out lists of up to k values in rows of k places.

    >>> fill_places([np.array([5, 6]), np.array([], dtype=int), np.array([7])], 2, empty=-1)
    array([[ 5,  6],
           [-1, -1],
           [ 7, -1]])
    """
    places = np.full((len(lists), k), empty, dtype=np.int64)
    lengths = np.array([len(each) for each in lists])
    places[np.arange(k) < lengths[:, None]] = np.concatenate(lists)
    return places


def write_share(share: float) -> str:
    """Write a share as a percentage that never rounds up to all or down to none.

    >>> write_share(0.9996), write_share(1), write_share(0.367), write_share(0.0001)
    ('> 99.9 %', '100 %', '37 %', '< 0.1 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    digits = 1 if share < 0.0995 or share > 0.985 else 0
    return f"{share:.{digits}%}".replace("%", " %")


SORTS: dict[str, Callable[[Forecast], Any]] = {
    "recall": lambda each: (-round(each.recall.mean, 3), -round(each.exact, 3), each.total.mean),
    "exact": lambda each: (-round(each.exact, 3), -round(each.recall.mean, 3), each.total.mean),
    "error": lambda each: (each.largest.middle, each.total.mean, -each.recall.mean),
    "total": lambda each: (each.total.mean, each.largest.mean),
    "bound": lambda each: (each.bound is None, each.bound or 0),
    "releases": lambda each: (-each.affordable, -each.recall.mean),
    "name": lambda each: each.name,
}
"""What forecasts may be sorted by: the best comes first."""
