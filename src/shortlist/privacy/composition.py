"""What several releases promise together."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, Protocol

from shortlist.errors import ParameterError
from shortlist.privacy.guarantee import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability, write_rounded_up
from shortlist.privacy.zcdp import find_epsilon, find_rho_of_pure

_MOST_SPLITS = 64


class Guaranteed(Protocol):
    """Anything with a guarantee: a release, a mechanism, a selector."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""


def compose(
    guarantees: Guarantee | Guaranteed | Iterable[Guarantee | Guaranteed], *, delta: Real | None = None
) -> Guarantee:
    """State what several releases promise together, if their number and their guarantees were fixed before the first.

    What is released, and from which items, may depend on earlier results. How many releases there are, and the
    epsilon, delta and rho of each, may not. If results decide this, take a `Ledger`: its budget is fixed.

    Pass guarantees, releases, mechanisms or selectors, one or many. Without `delta`, epsilons, deltas and rhos are
    summed. With `delta`, the guarantees are split into two parts. Those of the first part count by their rho, those of
    the second by their epsilon and delta. The split with the smallest epsilon is stated, rounded up.

    Claim  Let R be the sum of the rhos of the first part, E and D the sums of the epsilons and deltas of the second,
           and δ > D. All releases together are (E + ε(R, δ − D), δ)-DP, where ε(ρ, δ) is `find_epsilon`.
    Proof  composition.proof.md. In short: a δ is a coin that shows heads with probability δ, for all data. If no coin
           shows heads, the Rényi divergence of order α of all releases is at most E + Rα, which the conversion of
           `zcdp.py` turns into (E + ε(R, δ − D), δ − D)-DP. The coins add D. If the first part is empty, this is basic
           composition, with δ = D.

    >>> yearly = [Guarantee(epsilon="0.25", rho="1/128")] * 52
    >>> print(compose(yearly))
    13-DP (rho 0.40625) for one person, add-remove
    >>> print(compose(yearly, delta="1e-6"))
    (4.64472202, 1e-6)-DP (rho 0.40625) for one person, add-remove
    """
    parts = _read(guarantees)
    basic = _sum(parts)
    if delta is None:
        return basic
    allowed = read_probability(delta, name="delta")
    stated = [basic] if basic.delta <= allowed else []
    total = Fraction(sum(part.delta for part in parts))
    for first in _propose_parts(parts):
        remaining = allowed - (total - first.delta)
        if remaining > 0:
            epsilon = find_epsilon(first.rho, remaining) + (basic.epsilon - first.epsilon)
            stated.append(replace(basic, epsilon=epsilon, delta=allowed))
    if not stated:
        least = sum(part.delta for part in parts if find_strongest_rho(part) is None)
        raise ParameterError(
            f"`delta` must be above {write_rounded_up(Fraction(least))}, the sum of the deltas of the "
            "guarantees without a rho",
            f"not {quote(delta)}",
        )
    return min(stated, key=lambda each: (each.epsilon, each.delta))


def _read(given: Guarantee | Guaranteed | Iterable[Guarantee | Guaranteed]) -> list[Guarantee]:
    # A release is also a sequence of its items, so it is recognised first.
    if isinstance(given, Guarantee) or hasattr(given, "guarantee") or not isinstance(given, Iterable):
        parts = [_read_one(given)]
    else:
        parts = [_read_one(each) for each in given]
    if not parts:
        raise ParameterError("`guarantees` must be one or more", "the list is empty")
    if len({(part.neighbours, part.unit) for part in parts}) > 1:
        raise ParameterError("`guarantees` must be for the same neighbours and the same unit", "they differ")
    return parts


def _read_one(given: object) -> Guarantee:
    found = given if isinstance(given, Guarantee) else getattr(given, "guarantee", None)
    if not isinstance(found, Guarantee):
        raise ParameterError("`guarantees` must be guarantees, releases or mechanisms", f"not {type(given).__name__}")
    return found


def _sum(parts: list[Guarantee]) -> Guarantee:
    """Basic composition."""
    rhos = [rho for part in parts if (rho := find_strongest_rho(part)) is not None]
    return replace(
        parts[0],
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=min(Fraction(1), sum((part.delta for part in parts), Fraction(0))),
        rho=sum(rhos, Fraction(0)) if len(rhos) == len(parts) else None,
    )


class _Sums(NamedTuple):
    """A guarantee, or the sums over several."""

    rho: Fraction
    epsilon: Fraction
    delta: Fraction


def _propose_parts(parts: list[Guarantee]) -> Iterator[_Sums]:
    """Propose first parts of a split: the guarantees that gain most by their rho.

    find_epsilon is concave in rho, so equal guarantees stay together. Where delta is scarce, guarantees with a delta go
    to the first part before those without.
    """
    able = [
        _Sums(times * rho, times * part.epsilon, times * part.delta)
        for part, times in Counter(parts).items()
        if (rho := find_strongest_rho(part)) is not None
    ]
    sizes = {round(step * len(able) / _MOST_SPLITS) for step in range(1, _MOST_SPLITS + 1)}
    for order in (_rho_per_epsilon, lambda each: (each.delta == 0, _rho_per_epsilon(each))):
        running = accumulate(sorted(able, key=order), lambda left, right: _Sums(*map(operator.add, left, right)))
        yield from (sums for size, sums in enumerate(running, start=1) if size in sizes)


def _rho_per_epsilon(each: _Sums) -> Fraction:
    return each.rho / each.epsilon if each.epsilon else Fraction(0)


def find_strongest_rho(guarantee: Guarantee) -> Fraction | None:
    """Find the smallest rho that is known: the stated one, or the one that a pure guarantee implies.

    >>> find_strongest_rho(Guarantee(epsilon=2, rho="1/2")), find_strongest_rho(Guarantee(epsilon=1, delta="1e-6"))
    (Fraction(1, 2), None)
    """
    if guarantee.delta:
        return guarantee.rho
    implied = find_rho_of_pure(guarantee.epsilon)
    return implied if guarantee.rho is None else min(guarantee.rho, implied)
