"""Make a release from the items that a mechanism chose."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits, is_secure
from shortlist.mechanisms import Mechanism, NoisyCounts, Threshold
from shortlist.mechanisms.accuracy import ErrorBound, ReleasedCounts
from shortlist.mechanisms.mechanism import UNORDERED_BOUND
from shortlist.release.release import Release

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
) -> Release:
    """Describe what a mechanism chose: the items, and everything public about how they were chosen.

    One `unit` changes a count by at most `sensitivity`, and the mechanism ran with epsilon divided by it. The release
    states the whole epsilon. `votes_per_person` is the largest number of votes of one person that were counted.
    `noisy` are the noisy counts of the items, if the mechanism has made them. `chosen` is the name of the mechanism
    that `auto` chose.
    """
    guarantee = mechanism.guarantee.scale(sensitivity, unit=unit)
    parameters = list_parameters(mechanism, sensitivity=sensitivity, votes_per_person=votes_per_person)
    ran = mechanism.resolve(chosen)
    if ran is not mechanism:
        spent = ran.epsilon * sensitivity
        parameters |= {"chosen": ran.name, "choice_epsilon": guarantee.epsilon - spent, "chosen_epsilon": spent}
    return Release(
        items=tuple(items),
        mechanism=mechanism.name,
        parameters=parameters,
        guarantee=guarantee,
        d=d,
        secure=is_secure(bits),
        unordered=mechanism.unordered,
        counts=None if noisy is None else _state_counts(ran, noisy, d),
        error_bound=None if d is None else _bound_error(ran, d, unordered=mechanism.unordered),
        population=population,
    )


def list_parameters(mechanism: Mechanism, *, sensitivity: int, votes_per_person: int | None) -> dict[str, object]:
    """List the public parameters of the choice and of the counting. They are known before votes are read."""
    parameters = {**mechanism.parameters, "epsilon": mechanism.guarantee.epsilon * sensitivity}
    if sensitivity > 1:
        parameters["sensitivity"] = sensitivity
    if votes_per_person is not None:
        parameters["votes_per_person"] = votes_per_person
    return parameters


def check_may_release(mechanism: Mechanism, bits: Bits) -> None:
    """Refuse a secure release by a mechanism that computes in floating point. Call it before data is read."""
    if mechanism.research and is_secure(bits):
        raise ParameterError(
            "{name} computes in floating point and must not make a secure release",
            hint="choose another {mechanism}; for experiments pass {bits=SeededBits(7)}, which marks the release",
            name=mechanism.name,
        )


def _state_counts(mechanism: Mechanism, noisy: IntArray, d: int | None) -> ReleasedCounts | None:
    """State noisy counts. Without a public domain, nobody may know how many counts an interval would have to hold."""
    if isinstance(mechanism, Threshold):
        return ReleasedCounts(values=tuple(noisy.tolist()))
    return mechanism.state_counts(noisy, d) if isinstance(mechanism, NoisyCounts) and d is not None else None


def _bound_error(mechanism: Mechanism, d: int, *, unordered: bool) -> ErrorBound | None:
    votes = mechanism.error_bound(d, _CONFIDENCE)
    if votes is None:
        return None
    words = UNORDERED_BOUND if unordered and not mechanism.unordered else mechanism.bound_in_words
    return ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=words.format(bound=f"{votes:,}"))
