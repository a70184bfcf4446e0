"""Without a public list of items: how many votes an item needs to be released, with the user's own numbers.

An item of one person must stay hidden, so a mechanism without a domain asks for many votes. `limited-domain` ends the
list where a stop is drawn, which weighs as much as an item with `votes_needed` votes more than the first item after its
candidates. `threshold` releases items from a noisy count on. `stable` asks for a gap between counts, not for votes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from shortlist.mechanisms import LimitedDomain, Mechanism, Threshold
from shortlist.planning.histograms import Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """How many votes an item needs to be released, by mechanism, and how many items have as many."""

    k: int
    needs: Mapping[str, int]
    """The votes at which an item is about as likely to be released as not, by the name of the mechanism."""
    votes: int
    """How many votes the item at rank k has."""
    enough: int
    """How many items have the votes that the least demanding mechanism needs."""

    @property
    def happens(self) -> bool:
        """Whether the item at rank k has too few votes for every mechanism."""
        return self.enough < self.k

    def explain(self) -> str:
        """Explain the rule with these numbers."""
        name, least = min(self.needs.items(), key=lambda pair: pair[1])
        others = [f"{other} about {need:,}" for other, need in self.needs.items() if other != name]
        more = f" ({', '.join(others)})" if others else ""
        rule = (
            "Without a public list of items, an item is released only if many people have it: an item of one person "
            f"must stay hidden. Here {name} needs about {least:,} people for an item{more}; the item at rank "
            f"{self.k:,} has {self.votes:,}."
        )
        if not self.happens:
            return f"{rule} So all {self.k:,} places can be filled."
        if not self.enough:
            return f"{rule} No item has as many, so the list is mostly empty."
        return f"{rule} Only {self.enough:,} items have as many, so the list ends after about {self.enough:,} places."

    def suggest(self) -> tuple[str, ...]:
        """What else would help."""
        return (f"k = {self.enough:,} or less: only these items have enough votes",) if 0 < self.enough < self.k else ()


def find_visibility(histogram: Histogram, mechanisms: Iterable[Mechanism]) -> Visibility:
    """Apply the rule to counts, for mechanisms with the same k."""
    allowed = list(mechanisms)
    needs = {each.name: need for each in allowed if (need := find_need(each, histogram)) is not None}
    return Visibility(
        k=allowed[0].k,
        needs=needs,
        votes=int(histogram.counts[allowed[0].k - 1]),
        enough=int(np.searchsorted(-histogram.counts, -min(needs.values()), side="right")),
    )


def find_need(mechanism: Mechanism, histogram: Histogram) -> int | None:
    """How many votes an item needs to be about as likely in the list as not; None where votes do not decide it.

    With a domain it is the public bound on the error: an item with fewer votes may give way to one without any.
    """
    if isinstance(mechanism, Threshold):
        return mechanism.threshold
    if isinstance(mechanism, LimitedDomain):
        assert mechanism.k_bar is not None
        after = int(histogram.counts[mechanism.k_bar]) if histogram.d > mechanism.k_bar else 0
        return after + mechanism.votes_needed
    return mechanism.error_bound(histogram.d)
