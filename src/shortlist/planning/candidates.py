"""The mechanisms that a user's constraints allow, and what a change of the constraints would allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import (
    Auto,
    CDPPeel,
    FastJoint,
    Joint,
    LimitedDomain,
    MarginJoint,
    Mechanism,
    NoisyCounts,
    PNFJoint,
    PNFPeel,
    Stable,
    Subset,
    Threshold,
)
from shortlist.mechanisms.accuracy import write_votes
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import read_probability, read_whole, write_rounded_up

SMALL_DELTA = Fraction(1, 10**6)
"""The δ that is proposed to those who have given none."""
FEW_VOTES = 10
"""The limit on votes per person that is proposed to those who have given none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What a list must satisfy, apart from k and epsilon.

    >>> list(Constraints().allow(k=3, epsilon=1))
    ['auto', 'margin-joint', 'joint', 'fastjoint', 'pnf-joint', 'pnf-peel']
    >>> list(Constraints(delta="1e-6", ordered=False).allow(k=3, epsilon=1))[-2:]
    ['cdp-peel', 'subset']
    >>> list(Constraints(delta="1e-6", votes_per_person=5, without_domain=True).allow(k=3, epsilon=1))
    ['limited-domain', 'threshold']
    """

    delta: Any = None
    votes_per_person: int | None = None
    ordered: bool = True
    neighbours: str = "add-remove"
    without_domain: bool = False
    """Whether there is no public list of items."""

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", read_probability(self.delta, name="delta"))
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")
        object.__setattr__(self, "neighbours", str(Neighbours.read(self.neighbours)))
        if self.without_domain and self.delta is None:
            raise ParameterError(
                "{without_domain} must go with {delta}",
                "without a public list of items, δ is the probability that an item of one person shows",
                hint="try {delta=1e-6}",
            )

    def allow(self, k: int, epsilon: Any) -> Mapping[str, Mechanism]:
        """The mechanisms that are allowed, by name."""
        common: dict[str, Any] = {"k": k, "epsilon": epsilon, "neighbours": self.neighbours}
        chosen = self._allow_without_domain(common) if self.without_domain else self._allow_with_domain(common)
        return {each.name: each for each in chosen}

    def _allow_with_domain(self, common: dict[str, Any]) -> list[Mechanism]:
        found: list[Mechanism] = [
            Auto(**common, delta=self.delta, ordered=self.ordered, votes_per_person=self.votes_per_person),
            *(kind(**common) for kind in (MarginJoint, Joint, FastJoint, PNFJoint, PNFPeel)),
        ]
        if self.delta is not None:
            found.append(CDPPeel(**common, delta=self.delta))
        if not self.ordered:
            found.append(Subset(**common))
        if self.votes_per_person is not None:
            found.append(NoisyCounts(**common, votes_per_person=self.votes_per_person, delta=self.delta))
        return found

    def _allow_without_domain(self, common: dict[str, Any]) -> list[Mechanism]:
        common = {**common, "delta": self.delta}
        found: list[Mechanism] = [LimitedDomain(**common, votes_per_person=self.votes_per_person)]
        if self.votes_per_person is not None:
            found.append(Threshold(**common, votes_per_person=self.votes_per_person))
        if not self.ordered:
            found.append(Stable(**common))
        return found

    def describe(self) -> str:
        """Say in words what is allowed.

        >>> Constraints(delta="1e-6", votes_per_person=20).describe()
        'an ordered list; δ = 1e-6; at most 20 votes of each person; neighbours: add-remove'
        """
        parts = ["an ordered list" if self.ordered else "a list in any order"]
        parts.append("δ = 0" if self.delta is None else f"δ = {write_rounded_up(self.delta)}")
        cap = self.votes_per_person
        votes = "any number of votes" if cap is None else "at most 1 vote" if cap == 1 else f"at most {cap:,} votes"
        parts.append(f"{votes} of each person")
        parts += ["no public list of items"] if self.without_domain else []
        return "; ".join([*parts, f"neighbours: {self.neighbours}"])

    def relax(self, k: int, epsilon: Any, *, few: int = FEW_VOTES) -> Mapping[str, Mechanism]:
        """What one change of the constraints would allow: a mechanism for each change, described in words.

        `few` is the limit on votes per person that is proposed.
        """
        changes = {
            "in any order": (self.ordered, replace(self, ordered=False), "stable" if self.without_domain else "subset"),
            f"with δ = {float(SMALL_DELTA):.0e}".replace("e-0", "e-"): (
                self.delta is None,
                replace(self, delta=SMALL_DELTA),
                "cdp-peel",
            ),
            f"with at most {write_votes(few)} per person, if that changes the counts little": (
                self.votes_per_person is None,
                replace(self, votes_per_person=few),
                "threshold" if self.without_domain else "noisy-counts",
            ),
        }
        return {
            words: changed.allow(k, epsilon)[name] for words, (possible, changed, name) in changes.items() if possible
        }
