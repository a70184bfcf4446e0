"""What a release states, as far as its public parameters, the draw and its noisy numbers determine it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shortlist.array_types import IntArray
from shortlist.mechanisms import Mechanism, NoisyCounts, Threshold
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts, write_votes
from shortlist.mechanisms.mechanism import UNORDERED_BOUND
from shortlist.release.extras import NO_EXTRAS, Extras

DECLARED = "declared by the caller, not enforced"
"""How a limit on the votes of a person was ensured, where the library did not count the votes."""
_CONFIDENCE = Fraction(19, 20)


def state(
    mechanism: Mechanism,
    *,
    d: int | None,
    sensitivity: int = 1,
    unit: str = "person",
    votes_per_person: int | None = None,
    noisy: IntArray | None = None,
    chosen: str | None = None,
    extras: Extras = NO_EXTRAS,
    spread: int | None = None,
    declared: bool = False,
) -> dict[str, Any]:
    """State the fields of a release that follow from others. `make_release` describes the parameters."""
    parameters = list_parameters(
        mechanism, sensitivity=sensitivity, votes_per_person=votes_per_person, extras=extras, declared=declared
    )
    ran = mechanism.resolve(chosen)
    if ran is not mechanism:
        spent = ran.epsilon * sensitivity
        parameters |= {
            "chosen": ran.name,
            "choice_epsilon": mechanism.epsilon * sensitivity - spent,
            "chosen_epsilon": spent,
        }
    bound = None if d is None else ran.error_bound(d, _CONFIDENCE)
    unordered = mechanism.unordered
    return {
        "parameters": parameters,
        "guarantee": extras.add_to(mechanism.guarantee).scale(sensitivity, unit=unit),
        "unordered": unordered,
        "up_to": None if mechanism.needs_domain else mechanism.k,
        "counts": _state_counts(ran, extras, noisy, d),
        "error_bound": None if bound is None else _write_bound(ran, bound, unordered=unordered),
        "assessment": _assess(ran, extras, spread, unordered=unordered),
    }


def list_parameters(
    mechanism: Mechanism,
    *,
    sensitivity: int,
    votes_per_person: int | None,
    extras: Extras = NO_EXTRAS,
    declared: bool = False,
) -> dict[str, object]:
    """List the public parameters of the choice and of the counting. They are known before votes are read."""
    parameters = {**mechanism.parameters, "epsilon": mechanism.guarantee.epsilon * sensitivity}
    if sensitivity > 1:
        parameters["sensitivity"] = sensitivity
    if votes_per_person is not None:
        parameters["votes_per_person"] = votes_per_person
        if declared:
            parameters["cap"] = DECLARED
    return {**parameters, **extras.list_parameters(sensitivity)}


def _state_counts(ran: Mechanism, extras: Extras, noisy: IntArray | None, d: int | None) -> ReleasedCounts | None:
    """State noisy counts: those that were bought have an interval each, others have intervals that hold together.

    The counts of threshold have none: without a public domain, how many counts they would have to hold is not public.
    """
    if noisy is None:
        return None
    if extras.counts is not None:
        return extras.counts.state_counts(noisy.tolist())
    if isinstance(ran, Threshold):
        return ReleasedCounts(values=tuple(noisy.tolist()))
    return ran.state_counts(noisy, d) if isinstance(ran, NoisyCounts) and d is not None else None


def _assess(ran: Mechanism, extras: Extras, spread: int | None, *, unordered: bool) -> Assessment | None:
    if extras.assess is None or spread is None:
        return None
    votes = extras.assess.bound(ran, spread, 1 - _CONFIDENCE)
    bound = _write_bound(ran, votes, unordered=unordered)
    # Cutting off at 0 brings no estimate farther from a spread, which is 0 or more.
    return Assessment(estimate=max(0, spread), margin=extras.assess.find_margin(1 - _CONFIDENCE), bound=bound)


def _write_bound(ran: Mechanism, votes: int, *, unordered: bool) -> ErrorBound:
    words = UNORDERED_BOUND if unordered and not ran.unordered else ran.bound_in_words
    return ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=words.format(bound=write_votes(votes)))
