"""What a plan must satisfy: the budget, the limits on each person, the order, and which mechanisms that allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import DEFAULT_MECHANISM, MECHANISMS, Mechanism, build_mechanism, find_kind, is_own
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import read_epsilon, read_probability, read_whole, write_count, write_rounded_up
from shortlist.terms import AUTO_CAP, Terms

FEW_VOTES = 10
"""The limit on votes per person that is proposed to those who have given none."""


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
    def caps(self) -> dict[str, int | None]:
        """The limits on each person by their names; None is no limit."""
        return {"groups_per_person": self.groups_per_person, "votes_per_person": self.votes_per_person}

    @property
    def limits(self) -> str:
        """The limits on each person in words; nothing without a limit.

        >>> Constraints(groups=9, groups_per_person=8, votes_per_person=1).limits
        '8 groups and 1 vote of each person'
        """
        given = {"groups": self.groups_per_person, "votes": self.votes_per_person}
        words = [write_count(most, unit) for unit, most in given.items() if most is not None]
        return " and ".join(words) + " of each person" if words else ""

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
        return Terms.read(
            DEFAULT_MECHANISM, k=1, epsilon=1, groups=self.groups, **self.caps
        ).mechanism.groups_per_person

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
        for name, limit in self.caps.items():
            if limit is not None:
                read_whole(limit, name=name)
        if self.groups is None and self.groups_per_person is not None:
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
        shared = {"k": k, "epsilon": epsilon, "rho": self.rho}
        shared["groups_per_person"] = self.lists_per_person
        special = {"delta": self.delta, "votes_per_person": self.votes_per_person, "ordered": self.ordered}
        for each in (*MECHANISMS, *self.further):
            kind = find_kind(each)
            if isinstance(each, Mechanism):
                found[kind.name] = replace(each, **shared)
                continue
            known = {field.name: field.default is MISSING for field in fields(kind)}
            given = {name: value for name, value in special.items() if name in known and value is not None}
            needed = {name for name, needs in known.items() if needs} - {"k", "epsilon"}
            asked = each in self.further  # what is asked for by name is built, or refused with a reason
            if not asked and (kind.needs_domain == self.without_domain or not needed <= given.keys()):
                continue
            mechanism = build_mechanism(each, neighbours=self.neighbours, **shared, **given)
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
        parts.append(f"at most {self.limits}" if self.limits else free)
        if self.max_weight is not None:
            parts.append(f"at most {write_count(self.max_weight, self.weight_unit)} of each person for an item")
        parts += ["no public list of items"] if self.without_domain else []
        return "; ".join([*parts, f"neighbours: {self.neighbours}"])

    def relax(self, *, few: int | None = FEW_VOTES) -> Mapping[str, tuple[Constraints, str]]:
        """What one change of the constraints would allow: each change in words, with the name of a mechanism.

        `few` is the limit on votes per person that is proposed, if one is.
        """
        limit = f"with at most {write_count(few or 0)} per person, if that changes the counts little"
        changes: list[tuple[bool, dict[str, Any], str, str]] = [
            (self.ordered, {"ordered": False}, "in any order", "stable" if self.without_domain else "subset"),
            (self.delta is None and not self.weights, {"delta": "1e-6"}, "with δ = 1e-6", "cdp-peel"),
            (
                bool(few and not self.votes_per_person),
                {"votes_per_person": few},
                limit,
                "threshold" if self.without_domain else "noisy-counts",
            ),
        ]
        return {words: (replace(self, **change), name) for possible, change, words, name in changes if possible}
