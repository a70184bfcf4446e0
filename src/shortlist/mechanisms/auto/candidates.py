"""The candidates of Auto, and the other numbers of its choice that do not depend on the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from shortlist.mechanisms.joint.margin_joint import MarginJoint
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.peel.pnf_peel import PNFPeel

if TYPE_CHECKING:  # most choices are between the two above, so the other candidates are imported where they are used
    from shortlist.mechanisms.auto.auto import Auto
    from shortlist.mechanisms.peel.cdp_peel import CDPPeel

HANDICAP = Fraction(1)
"""A number that is added to the score of a peel, in units of 2Δ/ε votes. Near-ties go to the other mechanisms."""
_GAIN = Fraction(11, 10)
"""`cdp-peel` replaces `pnf-peel` if the rate of its rounds is larger by this factor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """What the choice needs besides the data."""

    candidates: Mapping[str, Mechanism]
    epsilon: Fraction
    """The epsilon of the choice."""
    rate: Fraction
    """The epsilon of the choice, divided by 2Δ."""
    handicaps: list[Fraction | None]
    """What is added to the score of each candidate that is discounted, in votes."""


@lru_cache(maxsize=256)
def read_numbers(auto: Auto, share: Fraction) -> Numbers:
    """Compute the numbers that are public, given the share of epsilon for the choice. They are remembered."""
    epsilon = auto.epsilon * share
    candidates = _build_candidates(auto, auto.epsilon - epsilon)
    return Numbers(
        candidates=candidates,
        epsilon=epsilon,
        rate=epsilon / (2 * auto.neighbours.sensitivity),
        handicaps=[None if each.round_rate is None else HANDICAP / each.rate for each in candidates.values()],
    )


def _build_candidates(auto: Auto, rest: Fraction) -> Mapping[str, Mechanism]:
    """Build the candidates with the epsilon that the choice leaves."""
    relation = auto.neighbours
    pure = PNFPeel(k=auto.k, epsilon=rest, neighbours=relation)
    found: list[Mechanism] = [MarginJoint(k=auto.k, epsilon=rest, neighbours=relation), _choose_peel(pure, auto.delta)]
    if not auto.ordered:
        from shortlist.mechanisms.subset.subset import Subset

        found.append(Subset(k=auto.k, epsilon=rest, neighbours=relation, at_least=auto.at_least))
    if auto.votes_per_person is not None:
        from shortlist.mechanisms.counts.noisy_counts import NoisyCounts

        cap = auto.votes_per_person
        found.append(NoisyCounts(k=auto.k, epsilon=rest, votes_per_person=cap, delta=auto.delta, neighbours=relation))
    return {each.name: each for each in found}


def _choose_peel(pure: PNFPeel, delta: Fraction | None) -> PNFPeel | CDPPeel:
    """Choose the peel with the larger rate. This depends on public numbers only."""
    if delta is None:
        return pure
    from shortlist.mechanisms.peel.cdp_peel import CDPPeel

    spread = CDPPeel(k=pure.k, epsilon=pure.epsilon, delta=delta, neighbours=pure.neighbours)
    return spread if spread.round_rate > _GAIN * pure.round_rate else pure
