"""Make a release from the items that a mechanism chose."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits, is_secure
from shortlist.mechanisms import Mechanism
from shortlist.release.extras import NO_EXTRAS, Extras
from shortlist.release.release import Release
from shortlist.release.statements import state


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
    stated = state(
        mechanism,
        d=d,
        sensitivity=sensitivity,
        unit=unit,
        votes_per_person=votes_per_person,
        noisy=noisy,
        chosen=chosen,
        extras=extras,
        spread=spread,
        declared=declared,
    )
    return Release(
        items=tuple(items), mechanism=mechanism.name, d=d, secure=is_secure(bits), population=population, **stated
    )
