"""The mechanisms that a user's constraints allow, and what a change of the constraints would allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shortlist.mechanisms import (
    Auto,
    CDPPeel,
    FastJoint,
    Joint,
    MarginJoint,
    Mechanism,
    NoisyCounts,
    PNFJoint,
    PNFPeel,
    Subset,
)
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import read_probability, read_whole

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
    """

    delta: Any = None
    votes_per_person: int | None = None
    ordered: bool = True
    neighbours: str = "add-remove"

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", read_probability(self.delta, name="delta"))
        if self.votes_per_person is not None:
            read_whole(self.votes_per_person, name="votes_per_person")
        object.__setattr__(self, "neighbours", str(Neighbours.read(self.neighbours)))

    def allow(self, k: int, epsilon: Any) -> Mapping[str, Mechanism]:
        """The mechanisms that are allowed, by name."""
        common: dict[str, Any] = {"k": k, "epsilon": epsilon, "neighbours": self.neighbours}
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
        return {each.name: each for each in found}

    def relax(self, k: int, epsilon: Any) -> Mapping[str, Mechanism]:
        """What one change of the constraints would allow: a mechanism for each change, described in words."""
        changes = {
            "in any order": (self.ordered, replace(self, ordered=False), "subset"),
            f"with δ = {float(SMALL_DELTA):.0e}".replace("e-0", "e-"): (
                self.delta is None,
                replace(self, delta=SMALL_DELTA),
                "cdp-peel",
            ),
            f"with at most {FEW_VOTES} votes per person, if that changes the counts little": (
                self.votes_per_person is None,
                replace(self, votes_per_person=FEW_VOTES),
                "noisy-counts",
            ),
        }
        return {
            words: changed.allow(k, epsilon)[name] for words, (possible, changed, name) in changes.items() if possible
        }
