"""Make a release from the items that a mechanism chose."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure
from shortlist.mechanisms import Mechanism, NoisyCounts, Threshold
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, ReleasedCounts
from shortlist.mechanisms.mechanism import UNORDERED_BOUND
from shortlist.release.extras import NO_EXTRAS, Extras
from shortlist.release.release import DECLARED, Release

_CONFIDENCE = Fraction(19, 20)


def make_release(
    mechanism: Mechanism,
    items: Iterable[Any],
    *,
    d: int | None,
    bits: Bits,
    sensitivity: int = 1,
    unit: str = "person",
    votes_per_person: int | None = None,
    noisy: IntArray | None = None,
    population: str | None = None,
    chosen: str | None = None,
    extras: Extras = NO_EXTRAS,
    spread: int | None = None,
    declared: bool = False,
) -> Release:
    """Describe what a mechanism chose: the items, and everything public about how they were chosen.

    One `unit` changes a count by at most `sensitivity`, and the mechanism ran with epsilon divided by it. The release
    states the whole epsilon. `votes_per_person` is the largest number of votes of one person that were counted. It is
    `declared` if the caller vouches for it. `noisy` are the noisy counts of the items, if the mechanism or the `extras`
    have made them, and `spread` is the noisy spread. `chosen` is the name of the mechanism that `auto` chose.
    """
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
    return Release(
        items=tuple(items),
        mechanism=mechanism.name,
        parameters=parameters,
        guarantee=extras.add_to(mechanism.guarantee).scale(sensitivity, unit=unit),
        d=d,
        secure=is_secure(bits),
        unordered=mechanism.unordered,
        counts=_state_counts(ran, extras, noisy, d),
        error_bound=None if bound is None else _write_bound(ran, bound, unordered=mechanism.unordered),
        population=population,
        assessment=_assess(ran, extras, spread, unordered=mechanism.unordered),
    )


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


def check_may_release(mechanism: Mechanism, bits: Bits) -> None:
    """Refuse a secure release by a mechanism that computes in floating point. Call it before data is read."""
    if mechanism.research and is_secure(bits):
        raise ParameterError(
            "{name} computes in floating point and must not make a secure release",
            hint="choose another {mechanism}; for experiments pass {bits=SeededBits(7)}, which marks the release",
            name=mechanism.name,
        )


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
    return ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=words.format(bound=f"{votes:,}"))
