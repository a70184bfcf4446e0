"""The candidates of Auto, and the other terms of its choice that do not depend on the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from flint import arb

from shortlist.exact.balls import ball
from shortlist.mechanisms.joint import MarginJoint
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.peel import PNFPeel

if TYPE_CHECKING:  # most choices are between the two above, so the other candidates are imported where they are used
    from shortlist.mechanisms.auto.auto import Auto
    from shortlist.mechanisms.peel import CDPPeel

HANDICAP = Fraction(1)
"""A number that is added to the score of a mechanism with a `round_rate`, in units of 2Δ/ε votes. Near-ties go to the
other mechanisms."""
DISCOUNT = Fraction(1, 2)
"""A factor for the same scores. These mechanisms are wrong by little at some places, the others at all places."""
_GAIN = Fraction(11, 10)
"""`cdp-peel` replaces `pnf-peel` if the rate of its rounds is larger by this factor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChoiceTerms:
    """What the choice needs besides the data."""

    candidates: Mapping[str, Mechanism]
    epsilon: Fraction
    """The epsilon of the choice."""
    rate: Fraction
    """The epsilon of the choice, divided by 2Δ."""
    handicaps: tuple[Fraction | None, ...]
    """What is added to the score of each candidate, in votes. None stands for a score that stays as it is."""


@lru_cache(maxsize=256)
def find_terms(auto: Auto, share: Fraction) -> ChoiceTerms:
    """Find the terms of the choice, given its share of epsilon. They are public, and are remembered."""
    epsilon = auto.epsilon * share
    candidates = _build_candidates(auto, auto.epsilon - epsilon)
    return ChoiceTerms(
        candidates=candidates,
        epsilon=epsilon,
        rate=epsilon / (2 * auto.neighbours.sensitivity),
        handicaps=tuple(None if each.round_rate is None else HANDICAP / each.rate for each in candidates.values()),
    )


def adjust_score(score: arb, handicap: Fraction | None) -> arb:
    """Change a score by public numbers, such that one person still moves it by Δ at most."""
    return score if handicap is None else score * ball(DISCOUNT) + ball(handicap)


def _build_candidates(auto: Auto, rest: Fraction) -> Mapping[str, Mechanism]:
    """Build the candidates with the epsilon that the choice leaves."""
    relation = auto.neighbours
    pure = PNFPeel(k=auto.k, epsilon=rest, neighbours=relation)
    found: list[Mechanism] = [MarginJoint(k=auto.k, epsilon=rest, neighbours=relation), _choose_peel(pure, auto.delta)]
    if not auto.ordered:
        from shortlist.mechanisms.subset import Subset

        found.append(Subset(k=auto.k, epsilon=rest, neighbours=relation, at_least=auto.at_least))
    if auto.votes_per_person is not None:
        from shortlist.mechanisms.noisy_counts import NoisyCounts

        cap = auto.votes_per_person
        found.append(NoisyCounts(k=auto.k, epsilon=rest, votes_per_person=cap, delta=auto.delta, neighbours=relation))
    return {each.name: each for each in found}


def _choose_peel(pure: PNFPeel, delta: Fraction | None) -> PNFPeel | CDPPeel:
    """Choose the peel with the larger rate. This depends on public numbers only."""
    if delta is None:
        return pure
    from shortlist.mechanisms.peel import CDPPeel

    spread = CDPPeel(k=pure.k, epsilon=pure.epsilon, delta=delta, neighbours=pure.neighbours)
    return spread if spread.round_rate > _GAIN * pure.round_rate else pure
