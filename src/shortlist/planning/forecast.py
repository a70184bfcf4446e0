"""How good the list of a mechanism will be on given counts: recall, exact lists, and the errors ℓ∞ and ℓ1 in votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import SeededBits
from shortlist.ledger import Amount, Budget
from shortlist.mechanisms import Auto, Mechanism
from shortlist.mechanisms.auto import PrivateChoice
from shortlist.planning.families import Family
from shortlist.planning.inputs import Histogram, Limits
from shortlist.privacy.numbers import write_exact, write_rounded_up
from shortlist.profile import Picks

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
    def of(cls, values: FloatArray) -> Spread:
        """Summarise a sample. Quantiles are values of the sample, not between two of them.

        >>> Spread.of(np.array([1.0, 2.0, 3.0]))
        Spread(mean=2.0, low=1.0, middle=2.0, high=3.0)
        """
        low, middle, high = np.quantile(values, QUANTILES, method="inverted_cdf").tolist()
        return cls(mean=float(values.mean()), low=low, middle=middle, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a mechanism will do on given counts: computed from its law, or measured on lists that were drawn."""

    mechanism: Mechanism
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
    by_size: Mapping[str, Spread] = field(default_factory=dict)
    """For a family: the recall in large, middle and small groups."""
    sampled: tuple[str, ...] = ()
    """For a family: whether each sample is of a large, middle or small group."""
    limits: Limits = Limits()  # noqa: RUF009 (frozen)
    """The limits on each person that the forecast is for."""
    kept: float = 1.0
    """For an invented family: the share of the votes that the limits leave."""

    @property
    def name(self) -> str:
        """The name of the mechanism."""
        return self.mechanism.name

    def to_cells(self) -> dict[str, str]:
        """Write the forecast as the cells of a table that people read, by the names of the columns."""
        recall, largest, total, rho = self.recall, self.largest, self.total, self.mechanism.guarantee.rho
        limits = [self.limits.groups_per_person, self.limits.votes_per_person] if self.by_size else []
        shown = dict(
            zip(("groups", "votes"), ("any" if each is None else f"{each:,}" for each in limits), strict=False)
        )
        shown |= {"kept": write_share(self.kept)} if self.by_size else {}
        return shown | {
            "items": f"{self.length.mean:,.0f}",
            "recall": f"{recall.mean:.2f}",
            **{name: f"{each.mean:.2f}" for name, each in self.by_size.items()},
            "range": f"{recall.low:.2f}…{recall.high:.2f}",
            "exact": f"{'' if self.exact_is_computed else '≈ '}{write_share(self.exact)}",
            "ℓ∞": f"{largest.low:,.0f}…{largest.middle:,.0f}…{largest.high:,.0f}",
            "ℓ1": f"{total.low:,.0f}…{total.middle:,.0f}…{total.high:,.0f}",
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
            **(asdict(self.limits) | {"votes_kept": self.kept} if self.by_size else {}),
            "exact": self.exact,
            "exact_from": "law" if self.exact_is_computed else "draws",
        }
        for name, spread in (
            ("items", self.length),
            ("recall", self.recall),
            ("largest_error", self.largest),
            ("total_error", self.total),
        ):
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


def forecast(mechanism: Mechanism, histogram: Histogram, *, budget: Budget, draws: int, seed: int) -> Forecast:
    """Draw many lists of a mechanism, and compute what its law says. Equal seeds draw from equal random numbers."""
    prepared = mechanism.prepare(histogram.profile)
    lists = prepared.draw_many(draws, SeededBits(seed))
    return _summarise(
        mechanism,
        [
            Drawn(
                histogram=histogram,
                lists=lists,
                errors=measure(histogram.top(mechanism.k), lists),
                chance=prepared.compute_exact_chance(),
            )
        ],
        budget=budget,
        samples=[(0, each) for each in range(min(draws, SAMPLES))],
    )


def forecast_family(
    mechanism: Mechanism, family: Family, limits: Limits, *, budget: Budget, draws: int, seed: int
) -> Forecast:
    """Draw lists of each shown group under limits, about `draws` in all. `auto` chooses once for all groups.

    Lists are compared with the counts of all votes, also of those that the limits drop.
    """
    groups, bits = family.count(limits), SeededBits(seed)
    times = -(-draws // len(groups))
    names = [mechanism.name] * times
    if isinstance(mechanism, Auto):
        choice = PrivateChoice([each.profile for each in groups], mechanism, lists=family.groups)
        names = [choice.choose(bits) for _ in range(times)]
    drawn = []
    for group, full in zip(groups, family.shown, strict=True):
        lists = []
        for name, number in Counter(names).items():
            prepared = mechanism.candidates[name].prepare(group.profile)
            chosen = name if len(mechanism.candidates) > 1 else None
            for each in prepared.draw_many(number, bits):
                # A limit drops votes of all items alike, so the order of the items stays.
                positions = find_positions(group, each)
                votes = np.append(full.counts, 0)[np.minimum(positions, len(full.counts))]
                ranks = positions - np.searchsorted(-full.counts, -votes)
                lists.append(replace(each, levels=votes, ranks=ranks, chosen=chosen, unordered=mechanism.unordered))
        # Where fewer than k items of a group have votes, an item without votes is not right.
        errors = measure(full.top(mechanism.k), lists, least=1)
        drawn.append(Drawn(histogram=full, lists=lists, errors=errors, chance=None))
    middles = [places[len(places) // 2] for places in family.sizes.values()]
    number = min(times, SAMPLES // len(middles))
    samples = [(place, each) for place in middles for each in range(number)]
    found = _summarise(mechanism, drawn, budget=budget, samples=samples)
    recalls = [one.errors.recall for one in drawn]
    return replace(
        found,
        by_size={
            name: Spread.of(np.concatenate([recalls[n] for n in places])) for name, places in family.sizes.items()
        },
        sampled=tuple(name for name in family.sizes for _ in range(number)),
        limits=limits,
        kept=family.keep(limits),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Lists that were drawn of one histogram, their errors, and the probability of the exact one if the law says it."""

    histogram: Histogram
    lists: Sequence[Picks]
    errors: Errors
    chance: float | None


def _summarise(
    mechanism: Mechanism, drawn: Sequence[Drawn], *, budget: Budget, samples: Sequence[tuple[int, int]]
) -> Forecast:
    """Summarise the lists of all histograms. `samples` are pairs of a histogram and one of its lists."""
    errors = [each.errors for each in drawn]
    lists = [picks for each in drawn for picks in each.lists]
    chances = [each.chance for each in drawn if each.chance is not None]
    computed = len(chances) == len(drawn)
    exact = np.concatenate([each.exact for each in errors])
    d = max(each.histogram.d for each in drawn)
    bounds = [each.error_bound(d) for each in mechanism.candidates.values()]
    # By default, a ledger keeps a part of delta for the conversion of rhos. Few releases may need all of it.
    whole = budget.guarantee
    basic = Budget.plan(epsilon=whole.epsilon, delta=whole.delta, accounting="basic", neighbours=whole.neighbours)
    shown = [(drawn[place].histogram, drawn[place].lists[number]) for place, number in samples]
    positions = [find_positions(histogram, each) for histogram, each in shown]
    return Forecast(
        mechanism=mechanism,
        exact=sum(chances) / len(chances) if computed else float(exact.mean()),
        exact_is_computed=computed,
        length=Spread.of(np.array([len(each.levels) for each in lists], dtype=np.float64)),
        recall=Spread.of(np.concatenate([each.recall for each in errors])),
        largest=Spread.of(np.concatenate([each.largest for each in errors])),
        total=Spread.of(np.concatenate([each.total for each in errors])),
        # `auto` states the bound of the mechanism that it chooses, so here it is the largest of these.
        bound=max((bound for bound in bounds if bound is not None), default=None),
        affordable=max(each.afford(Amount(), mechanism.guarantee) for each in (budget, basic)),
        draws=len(lists),
        choices={
            name: times / len(lists) for name, times in Counter(each.chosen for each in lists).most_common() if name
        },
        samples=fill_places(positions, mechanism.k, empty=-1),
        inside=tuple(histogram.count_inside(mechanism.k) for histogram, _ in shown),
    )


def find_positions(histogram: Histogram, picks: Picks) -> IntArray:
    """Find the positions of items in falling order of count. Items with equal counts are ranked as they stand."""
    found: IntArray = np.searchsorted(-histogram.counts, -picks.levels) + picks.ranks
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The measures of many lists, one value for each list."""

    recall: FloatArray
    """The share of the k places with an item that has as many votes as the true item at place k, or more."""
    largest: FloatArray
    """ℓ∞: the largest difference in votes between the listed and the true item at a place."""
    total: FloatArray
    """ℓ1: the sum of these differences."""

    @property
    def exact(self) -> FloatArray:
        """1 for a list with the true count at every place, else 0."""
        return np.where(self.largest == 0, 1.0, 0.0)


def measure(top: IntArray, lists: Sequence[Picks], *, least: int = 0) -> Errors:
    """Compare lists of k items with the k largest counts. Lists without an order are put in the order of counts.

    Without a domain, a list may be shorter. A place without an item counts like an item without votes. An item is
    right only if it has at least `least` votes.

    >>> picks = Picks(levels=np.array([9, 2]), ranks=np.zeros(2, dtype=int))
    >>> measure(np.array([9, 7]), [picks])
    Errors(recall=array([0.5]), largest=array([5.]), total=array([5.]))
    """
    levels = fill_places([each.levels for each in lists], len(top), empty=0)
    if lists[0].unordered:
        levels = -np.sort(-levels, axis=1)
    differences = np.abs(levels - top).astype(np.float64)
    return Errors(
        # If nobody voted for the item at place k, a place without an item is as good.
        recall=(levels >= max(top[-1], least)).mean(axis=1),
        largest=differences.max(axis=1),
        total=differences.sum(axis=1),
    )


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
