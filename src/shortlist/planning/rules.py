"""Whether the list can be good: the rule, with the user's own numbers.

With a domain, `Collapse` says when an ordered list collapses. Joint and its relatives draw one of d!/(d−k)! ordered
lists. A list with a loss of t votes has e^(−εt/2Δ) of the weight of the true one. So the many bad lists outweigh the
true one unless the counts are larger than (2Δ/ε) ln(d!/(d−k)!). In place of that many votes, `needed_votes` is the
bound that holds in 95 of 100 draws.

Without one, `Visibility` says how many votes an item needs to be released. An item of one person must stay hidden, so a
mechanism without a domain asks for many votes. `limited-domain` ends the list where a stop is drawn, which weighs as
much as an item with `votes_needed` votes more than the first item after its candidates. `threshold` releases items from
a noisy count on. `stable` asks for a gap between counts, not for votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist.mechanisms import Joint, Mechanism
from shortlist.planning.inputs import Histogram
from shortlist.privacy.numbers import write_exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """Whether Joint collapses on given counts, and what would prevent it."""

    k: int
    epsilon: Fraction
    lists_exponent: int
    """There are about 10 to the power of this many ordered lists."""
    needed_votes: int
    """How many votes the item at rank k needs, for 95 of 100 lists to be near the true one."""
    votes: int
    """How many votes the item at rank k has."""
    enough_epsilon: Fraction | None
    """The epsilon, rounded up to two digits, from which on the votes are enough; None if there is none up to 100."""
    enough_k: int | None
    """The largest k up to which the votes are enough; None if not even 1 item is safe."""

    @property
    def happens(self) -> bool:
        """Whether the item at rank k has too few votes."""
        return self.votes < self.needed_votes

    def explain(self) -> str:
        """Explain the rule with these numbers."""
        have = "only " if self.happens else ""
        rule = (
            f"An ordered list of {self.k:,} items is one of about 10^{self.lists_exponent:,} lists. "
            f"At ε = {write_exact(self.epsilon)} joint needs about {self.needed_votes:,} people at rank {self.k:,} "
            f"for a list that is not mostly noise; you have {have}{self.votes:,}."
        )
        if not self.happens:
            return (
                f"{rule} So joint does not collapse. Whether its list is exact depends on the gaps between the counts."
            )
        return f"{rule} So joint collapses: most of its list is noise."

    def suggest(self) -> tuple[str, ...]:
        """Which epsilon and which k would prevent it."""
        changes = []
        if self.happens and self.enough_epsilon is not None:
            changes.append(f"from ε = {write_exact(self.enough_epsilon)} on, joint has enough votes")
        if self.happens and self.enough_k is not None:
            changes.append(f"up to k = {self.enough_k:,}, joint has enough votes")
        return tuple(changes)


def find_collapse(histogram: Histogram, joint: Joint) -> Collapse:
    """Apply the rule to counts, for the k, epsilon and neighbours of a mechanism."""
    votes, needed = int(histogram.counts[joint.k - 1]), joint.error_bound(histogram.d)
    assert needed is not None
    return Collapse(
        k=joint.k,
        epsilon=joint.epsilon,
        lists_exponent=int(math.log10(math.e) * _log_lists(histogram.d, joint.k)),
        needed_votes=needed,
        votes=votes,
        enough_epsilon=_find_epsilon(histogram.d, joint, votes),
        enough_k=_find_k(histogram, joint),
    )


def _log_lists(d: int, k: int) -> float:
    return math.lgamma(d + 1) - math.lgamma(d - k + 1)


def _find_epsilon(d: int, joint: Joint, votes: int) -> Fraction | None:
    """The bound is proportional to 1/ε, up to rounding."""
    if not votes:
        return None
    exact = 2 * joint.neighbours.sensitivity * (_log_lists(d, joint.k) + math.log(20)) / (votes + 1)
    digits = 1 - math.floor(math.log10(exact))
    rounded = Fraction(math.ceil(exact * 10.0**digits)) / Fraction(10) ** digits
    return rounded if rounded <= 100 else None


def _find_k(histogram: Histogram, joint: Joint) -> int | None:
    """The need grows with k and the votes fall, so that halving finds the last k that is safe."""
    low, high = 0, joint.k
    while high > low:
        middle = (low + high + 1) // 2
        rate = 2 * joint.neighbours.sensitivity / joint.epsilon
        needed = rate * Fraction(_log_lists(histogram.d, middle) + math.log(20))
        low, high = (middle, high) if needed <= int(histogram.counts[middle - 1]) + 1 else (low, middle - 1)
    return low or None


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
    needs = {each.name: need for each in allowed if (need := each.find_need(histogram.profile)) is not None}
    return Visibility(
        k=allowed[0].k,
        needs=needs,
        votes=int(histogram.counts[allowed[0].k - 1]),
        enough=int(np.searchsorted(-histogram.counts, -min(needs.values()), side="right")),
    )
