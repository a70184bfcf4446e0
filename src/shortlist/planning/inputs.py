"""What a plan is made from, read and checked: constraints, counts that are given, in files or invented, a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms import DEFAULT_MECHANISM, MECHANISMS, Mechanism, build_mechanism, find_kind, is_own
from shortlist.mechanisms.mechanism import NOT_GIVEN
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import (
    Real,
    quote,
    read_epsilon,
    read_positive,
    read_probability,
    read_whole,
    write_count,
    write_rounded_up,
)
from shortlist.profile import Profile
from shortlist.terms import AUTO_CAP, Terms
from shortlist.votes.array_counts import ArrayTally, read_counts
from shortlist.votes.failures import strip_context

FEW_VOTES = 10
"""The limit on votes per person that is proposed to those who have given none."""
_MOST_ITEMS = 10**8
_LARGEST_COUNT = 2**53
_TABLE = "the table of counts"
_WHOLE = "^[+-]?[0-9]{1,19}$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """At most so many groups of each person, and so many votes over all groups; None is no limit.

    >>> str(Limits(groups_per_person=8, votes_per_person=20)), str(Limits(votes_per_person=1))
    ('8 groups and 20 votes of each person', '1 vote of each person')
    """

    groups_per_person: int | None = None
    votes_per_person: int | None = None

    def __str__(self) -> str:
        c, m = self.groups_per_person, self.votes_per_person
        parts = [] if c is None else [write_count(c, "groups")]
        return " and ".join([*parts, *([] if m is None else [write_count(m)])]) + " of each person"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What a list, or each list of a family, must satisfy, apart from k and epsilon. With `rho`, no epsilon is given.

    >>> list(Constraints().allow(k=3, epsilon=1))
    ['auto', 'joint', 'margin-joint', 'fastjoint', 'pnf-joint', 'pnf-peel']
    >>> list(Constraints(delta="1e-6", ordered=False).allow(k=3, epsilon=1))[2:4]
    ['margin-joint', 'subset']
    >>> list(Constraints(delta="1e-6", votes_per_person=5, without_domain=True).allow(k=3, epsilon=1))
    ['limited-domain', 'threshold']
    >>> Constraints(groups=216, votes_per_person=20).allow(k=3, epsilon=1)["joint"].groups_per_person
    20
    """

    delta: Any = None
    rho: Any = None
    votes_per_person: int | None = None
    ordered: bool = True
    neighbours: str = "add-remove"
    without_domain: bool = False
    """Whether there is no public list of items."""
    groups: int | None = None
    """How many lists a family has; None is one list."""
    groups_per_person: int | None = None
    max_weight: int | None = None
    """How much one person adds to one item at most, if votes have weights. Then counts are in units of it."""
    weight_unit: str = "units"
    further: tuple[str | Mechanism, ...] = ()
    """Further mechanisms, by name or as objects. Of an object, all parameters but k and epsilon are kept."""

    @property
    def limits(self) -> Limits:
        """The limits on each person."""
        return Limits(groups_per_person=self.groups_per_person, votes_per_person=self.votes_per_person)

    def limit(self, limits: Limits) -> Constraints:
        """The same with other limits."""
        return replace(self, groups_per_person=limits.groups_per_person, votes_per_person=limits.votes_per_person)

    @property
    def weights(self) -> dict[str, object]:
        """The terms of a release that are about weights, with an example for the column."""
        if self.max_weight is None:
            return {}
        return {"weight": "weight", "max_weight": self.max_weight, "weight_unit": self.weight_unit}

    @property
    def lists_per_person(self) -> int | None:
        """In how many lists of a family one person is at most; None for one list."""
        if self.groups is None:
            return None
        terms = Terms.read(
            DEFAULT_MECHANISM,
            k=1,
            epsilon=1,
            groups=self.groups,
            groups_per_person=self.groups_per_person,
            votes_per_person=self.votes_per_person,
        )
        return terms.groups_per_person

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", read_probability(self.delta, name="delta"))
        if self.rho is not None:
            object.__setattr__(self, "rho", read_epsilon(self.rho, name="rho"))
        if str(self.votes_per_person) == AUTO_CAP:
            raise ParameterError(
                f"`votes_per_person` must be a whole number for a plan, not {AUTO_CAP!r}",
                "a private cap depends on the votes of each person, which a plan does not know",
                hint="pass the cap that you expect, say `votes_per_person=20`. A private one costs a twentieth of "
                "epsilon, and is near the quantile 0.83 of the votes per person, or 0.95 with a delta",
            )
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")
        if self.groups_per_person is not None:
            read_whole(self.groups_per_person, name="groups_per_person")
            if self.groups is None:
                raise ParameterError(
                    "`groups_per_person` must go with groups",
                    "one list has none",
                    hint="pass counts of each group, or `group_count=27` to invent groups",
                )
        object.__setattr__(self, "neighbours", str(Neighbours.read(self.neighbours)))
        if self.max_weight is not None:
            # Refuses what a release with weights refuses.
            given = {"max_weight": self.max_weight, "weight_unit": self.weight_unit, "persons_counted": True}
            name = DEFAULT_MECHANISM if self.delta is None else "cdp-peel"
            Terms.read(name, 10, 1, delta=self.delta, without_domain=self.without_domain, **given)
        for kind in map(find_kind, self.further):
            if kind.needs_domain == self.without_domain:
                found = f"{kind.name} {'needs one' if kind.needs_domain else 'is for votes without one'}"
                raise ParameterError("`mechanism` must suit a plan with or without a list of items", found)
            if self.groups is not None and not is_own(kind):
                raise ParameterError("a family must be planned with mechanisms of this library", f"not {kind.name}")
        if self.without_domain and self.delta is None:
            raise ParameterError(
                "`without_domain` must go with `delta`",
                "without a public list of items, δ is the probability that an item of one person shows",
                hint="try `delta=1e-6`",
            )

    def allow(self, k: int, epsilon: Any) -> Mapping[str, Mechanism]:
        """The mechanisms that are allowed, by name: all that need no more than is given, and give an order if asked."""
        found: dict[str, Mechanism] = {}
        accepted = {
            "delta": self.delta,
            "votes_per_person": self.votes_per_person,
            "ordered": self.ordered,
            "groups_per_person": self.lists_per_person,
        }
        budget = {"epsilon": NOT_GIVEN if epsilon is None else epsilon, "rho": self.rho}
        for each in (*MECHANISMS, *self.further):
            kind = find_kind(each)
            if isinstance(each, Mechanism):
                common = {"k": k, "groups_per_person": self.lists_per_person, **budget}
                found[kind.name] = replace(each, **common)
                continue
            known = {field.name: field.default is MISSING for field in fields(kind)}
            given = {key: value for key, value in accepted.items() if key in known and value is not None}
            needed = {key for key, needs in known.items() if needs} - {"k", "epsilon"}
            asked = each in self.further  # what is asked for by name is built, or refused with a reason
            if not asked and (kind.needs_domain == self.without_domain or not needed <= given.keys()):
                continue
            mechanism = build_mechanism(each, k=k, neighbours=self.neighbours, **budget, **given)
            if asked or not (self.ordered and mechanism.unordered):
                found[kind.name] = mechanism
        return found

    def describe(self) -> str:
        """Say in words what is allowed.

        >>> Constraints(delta="1e-6", votes_per_person=20).describe()
        'an ordered list; δ = 1e-6; at most 20 votes of each person; neighbours: add-remove'
        """
        parts = ["an ordered list" if self.ordered else "a list in any order"]
        parts.append("δ = 0" if self.delta is None else f"δ = {write_rounded_up(self.delta)}")
        free = "any number of votes of each person" if self.groups is None else "any limits on each person"
        parts.append(free if self.limits == Limits() else f"at most {self.limits}")
        if self.max_weight is not None:
            parts.append(f"at most {write_count(self.max_weight, self.weight_unit)} of each person for an item")
        parts += ["no public list of items"] if self.without_domain else []
        return "; ".join([*parts, f"neighbours: {self.neighbours}"])

    def relax(self, *, few: int | None = FEW_VOTES) -> Mapping[str, tuple[Constraints, str]]:
        """What one change of the constraints would allow: each change in words, with the name of a mechanism.

        `few` is the limit on votes per person that is proposed, if one is.
        """
        limit = few and f"with at most {write_count(few)} per person, if that changes the counts little"
        unlisted = self.without_domain
        changes: list[tuple[bool, dict[str, Any], str, str]] = [
            (self.ordered, {"ordered": False}, "in any order", "stable" if unlisted else "subset"),
            (self.delta is None and not self.weights, {"delta": "1e-6"}, "with δ = 1e-6", "cdp-peel"),
            (
                bool(few and not self.votes_per_person),
                {"votes_per_person": few},
                str(limit),
                "threshold" if unlisted else "noisy-counts",
            ),
        ]
        return {words: (replace(self, **change), name) for possible, change, words, name in changes if possible}


@dataclass(frozen=True, kw_only=True)
class Histogram:
    """Counts in falling order, with the names of the items if they have any."""

    counts: IntArray
    names: Sequence[Any] | None
    source: str
    """What the counts are, in words."""
    invented: bool
    unvoted: int = 0
    """How many further items nobody voted for. They are public if there are any."""

    @property
    def d(self) -> int:
        """The number of items."""
        return len(self.counts) + self.unvoted

    @cached_property
    def profile(self) -> Profile:
        """How many items have each count."""
        profile = Profile.of(self.counts)
        if not self.unvoted:
            return profile
        return Profile(values=np.append(profile.values, 0), sizes=np.append(profile.sizes, self.unvoted), d=self.d)

    def top(self, k: int) -> IntArray:
        """The k largest counts. A count that does not exist is 0."""
        found = self.counts[:k]
        return np.append(found, np.zeros(k - len(found), dtype=np.int64))

    def count_inside(self, k: int) -> int:
        """How many items have as many votes as the item at place k, or more: k, and those that are tied with it."""
        return int(np.searchsorted(-self.counts, -self.top(k)[-1], side="right"))

    def scale(self, share: float) -> Histogram:
        """The counts if only a share of the votes of every item is left."""
        counts = np.floor(self.counts * share).astype(np.int64)
        voted = counts[: np.count_nonzero(counts)]
        return replace(self, counts=voted, unvoted=self.d - len(voted))

    def weigh(self, constraints: Constraints) -> Histogram:
        """The counts in units of the largest weight, which are as votes without weights: the noise is the same.

        What is invented are people who give half of it to an item, on average.
        """
        if constraints.max_weight is None:
            return self
        share = 1 / 2 if self.invented else 1 / constraints.max_weight
        half = "votes weigh half of that on average, and " if self.invented else ""
        most = write_count(constraints.max_weight, constraints.weight_unit)
        return replace(self.scale(share), source=f"{self.source}; {half}1 vote of this plan stands for {most}")

    def drop_unvoted(self) -> Histogram:
        """Without a public list, only items that have votes are known."""
        return replace(self, counts=self.counts[: np.count_nonzero(self.counts)], unvoted=0)

    def name(self, position: int) -> str:
        """The name of an item, given its position in falling order of count."""
        return f"item {position + 1:,}" if self.names is None else str(self.names[position])


def read_histogram(counts: Any, *, source: str = "the given counts", few: bool = False) -> Histogram:
    """Read counts as `top_k` does. Unless they may be `few`, refuse what looks like votes that are not counted yet.

    >>> read_histogram({"pear": 190, "apple": 310}).names
    ['apple', 'pear']
    """
    array, labels = read_counts(counts)
    ArrayTally(array)  # refuses negative counts
    if len(array) > 1 and int(array.max()) <= 1 and not few:
        raise refuse_votes()
    order = np.argsort(-array, kind="stable")
    names = None if labels is None else [labels[index] for index in order.tolist()]
    return Histogram(counts=array[order], names=names, source=source, invented=False)


def refuse_votes() -> DataError:
    """Answer counts that look like votes which are not counted yet."""
    return DataError(
        "`counts` must be totals, one for each item, and some above 1",
        "none is above 1, as in a table of votes",
        hint="count the votes of each item first",
    )


@strip_context
def read_count_files(
    files: Any, *, item: str, count: str, by: Sequence[str] = ()
) -> Histogram | dict[tuple[str, ...], Histogram]:
    """Read a Parquet, CSV or JSON lines file with a column of items and a column of counts.

    With `by`, the columns of groups, the result is a mapping from each group to its counts. Every item that the files
    name is an item of every group.
    """
    from shortlist.votes.duckdb import Workspace
    from shortlist.votes.files import open_files

    workspace, wanted = Workspace(memory_limit=None), [*by, item, count]
    opened = open_files(workspace, files, choose=lambda header: header.take(wanted, where=_TABLE), name=_TABLE)
    text = f"trim(CAST(#{len(wanted)} AS VARCHAR))"
    whole = f"CASE WHEN regexp_matches({text}, '{_WHOLE}') THEN TRY_CAST({text} AS BIGINT) END"
    columns = ", ".join(f"CAST(#{place} AS VARCHAR) AS c{place}" for place in range(1, len(wanted)))
    table = list(opened.read(lambda relation: relation.project(f"{columns}, {whole} AS votes").fetchnumpy()).values())
    unnamed, uncounted = (any(np.any(np.ma.getmaskarray(each)) for each in part) for part in (table[:-1], table[-1:]))
    if unnamed or uncounted:
        missing = "some rows have no item" + (" or no group" if by else "")
        raise DataError(
            f"{_TABLE} must have an item and a whole number in each row",
            missing if unnamed else "some counts are missing or no whole numbers",
            hint="is it the right column? Write 1000, not 1,000 or 1000.0",
        )
    keys = list(zip(*(map(str, each.tolist()) for each in table[:-1]), strict=True))
    counts = dict(zip(keys, table[-1].tolist(), strict=True))
    if len(counts) < len(keys):
        raise DataError(
            f"{_TABLE} must name each item once" + (" in each group" if by else ""),
            "some items have several rows, as in a table of votes",
            hint="count the votes of each item first; `like='zipf'` plans without any data",
        )
    source = f"the counts in column {count!r}"
    if not by:
        return read_histogram({name: votes for (name,), votes in counts.items()}, source=source)
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for (*group, name), votes in counts.items():
        groups.setdefault(tuple(group), {})[name] = votes
    items = len({key[-1] for key in keys})
    read = {group: read_histogram(each, source=source, few=True) for group, each in groups.items()}
    return {group: replace(each, unvoted=items - each.d) for group, each in read.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """What invented counts are made from: the weight of each item among all votes, and the number of people."""

    weights: FloatArray
    people: int
    exponent: float

    @classmethod
    def read(cls, like: str, *, items: Real | None, people: Real | None, exponent: Real | None = None) -> Shape:
        """Read the shape: the item at rank r has the weight 1 / r^exponent."""
        if like != "zipf":
            raise ParameterError("`like` must be 'zipf'", f"not {quote(like)}")
        for name, value in (("items", items), ("people", people)):
            if value is None:
                raise ParameterError(
                    "`like` must go with `items` and `people`", f"`{name}` is missing", hint=f"try `{name}=100000`"
                )
        size = read_number(items, name="items", most=_MOST_ITEMS)
        population = read_number(people, name="people", most=_LARGEST_COUNT)
        steep = float(read_positive(1 if exponent is None else exponent, name="exponent"))
        weights = np.arange(1, size + 1, dtype=np.float64) ** -steep
        return cls(weights=weights, people=population, exponent=steep)

    def count(self, votes: float, people: int) -> IntArray:
        """Share votes of so many people among the items. Nobody votes twice for an item."""
        counts: IntArray = np.floor(votes * self.weights / self.weights.sum()).astype(np.int64)
        return np.minimum(counts, people)


def invent_histogram(
    like: str,
    *,
    items: Real | None,
    people: Real | None,
    exponent: Real | None = None,
    votes_per_person: int | None = None,
) -> Histogram:
    """Invent counts: the item at rank r gets a share of all votes that is proportional to 1 / r^exponent.

    Each person casts `votes_per_person` votes, or 1 if it is not given. Nobody votes twice for an item.

    >>> invent_histogram("zipf", items=5, people=1000).counts
    array([437, 218, 145, 109,  87])
    """
    shape = Shape.read(like, items=items, people=people, exponent=exponent)
    counts = shape.count(shape.people * (votes_per_person or 1), shape.people)
    people_and_votes = f"{shape.people:,} people with {write_count(votes_per_person or 1)} each"
    source = f"invented counts of {len(counts):,} items: {people_and_votes}, Zipf with exponent {shape.exponent:g}"
    return Histogram(counts=counts, names=None, source=source, invented=True)


def read_number(value: Any, *, name: str, most: int) -> int:
    """Read a whole number that may be written as 1e6."""
    try:
        number = read_positive(value.item() if isinstance(value, np.ndarray) else value, name=name)
    except (ParameterError, ValueError):
        number = Fraction(0)
    if number.denominator != 1 or not 0 < number <= most:
        raise ParameterError(
            f"`{name}` must be a whole number from 1 to {most:,}", f"not {quote(value)}", hint=f"try `{name}=20000`"
        )
    return int(number)
