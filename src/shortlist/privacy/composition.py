"""What several releases promise together."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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

    Pass guarantees, releases, mechanisms or selectors, one or many. Without `delta`, epsilons, deltas, rhos and
    rho_deltas are summed. With `delta`, the guarantees are split into two parts. Those of the first part count by their
    rho and rho_delta, those of the second by their epsilon and delta. The split with the smallest epsilon is stated,
    rounded up.

    Claim  Let R be the sum of the rhos of the first part, E the sum of the epsilons of the second, and D the sum of the
           rho_deltas of the first and the deltas of the second. If δ > D, all releases together are
           (E + ε(R, δ − D), δ)-DP, where ε(ρ, δ) is `find_epsilon`.
    Proof  composition.proof.md. In short: take a part of probability D away from the laws of both neighbours. The
           Rényi divergence of order α of what is left is at most E + Rα, which the conversion of `zcdp.py` turns into
           (E + ε(R, δ − D), δ − D)-DP. If the first part is empty, this is basic composition, with δ = D.

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
        remaining = allowed - (total - first.delta) - first.rho_delta
        if remaining > 0:
            epsilon = find_epsilon(first.rho, remaining) + (basic.epsilon - first.epsilon)
            stated.append(replace(basic, epsilon=epsilon, delta=allowed))
    if not stated:
        least = sum(min(part.delta, find_strongest_rho(part)[1]) for part in parts)
        raise ParameterError(
            f"`delta` must be above {write_rounded_up(Fraction(least))}, the sum of the deltas that the guarantees "
            "cannot do without",
            f"not {quote(delta)}",
        )
    return min(stated, key=lambda each: (each.epsilon, each.delta))


def find_weakest(guarantees: Sequence[Guarantee]) -> Guarantee:
    """State what one of several releases promises, whichever it is: the largest epsilon, delta, rho and rho_delta.

    >>> print(find_weakest([Guarantee(epsilon=1, rho="0.1"), Guarantee(epsilon=1, delta="1e-6", rho="0.05")]))
    (1, 1e-6)-DP (rho 0.1) for one person, add-remove
    """
    rhos, failures = zip(*map(find_strongest_rho, guarantees), strict=True)
    epsilon, delta = max(each.epsilon for each in guarantees), max(each.delta for each in guarantees)
    return replace(guarantees[0], epsilon=epsilon, delta=delta, rho=max(rhos), rho_delta=max(failures))


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
    rhos, failures = zip(*map(find_strongest_rho, parts), strict=True)
    return replace(
        parts[0],
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=min(Fraction(1), sum((part.delta for part in parts), Fraction(0))),
        rho=sum(rhos, Fraction(0)),
        rho_delta=min(Fraction(1), sum(failures, Fraction(0))),
    )


class _Sums(NamedTuple):
    """A guarantee, or the sums over several."""

    rho: Fraction
    epsilon: Fraction
    delta: Fraction
    rho_delta: Fraction


def _propose_parts(parts: list[Guarantee]) -> Iterator[_Sums]:
    """Propose first parts of a split: the guarantees that gain most by their rho.

    find_epsilon is concave in rho, so equal guarantees stay together. Where delta is scarce, guarantees whose rho needs
    less delta go to the first part before the others.
    """
    different = []
    for part, times in Counter(parts).items():
        rho, failure = find_strongest_rho(part)
        different.append(_Sums(times * rho, times * part.epsilon, times * part.delta, times * failure))
    sizes = {round(step * len(different) / _MOST_SPLITS) for step in range(1, _MOST_SPLITS + 1)}
    for order in (_rho_per_epsilon, lambda each: (each.rho_delta >= each.delta, _rho_per_epsilon(each))):
        running = accumulate(sorted(different, key=order), lambda left, right: _Sums(*map(operator.add, left, right)))
        yield from (sums for size, sums in enumerate(running, start=1) if size in sizes)


def _rho_per_epsilon(each: _Sums) -> Fraction:
    return each.rho / each.epsilon if each.epsilon else Fraction(0)


def find_strongest_rho(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    """Find the strongest ρ that is known, and its δ₁: the stated one, or the one that ε and δ imply.

    Claim  Every (ε, δ)-DP release has ρ = ε tanh(ε/2) with δ₁ = δ.
    Proof  approximate_zcdp.proof.md, Theorem 3.

    >>> find_strongest_rho(Guarantee(epsilon=2, rho="1/2"))
    (Fraction(1, 2), Fraction(0, 1))
    >>> [float(each) for each in find_strongest_rho(Guarantee(epsilon=1, delta="1e-6"))]
    [0.462117158, 1e-06]
    """
    implied = find_rho_of_pure(guarantee.epsilon), guarantee.delta
    if guarantee.rho is None:
        return implied
    stated = guarantee.rho, guarantee.rho_delta
    # The one with the smaller δ₁: it may add up over very many releases.
    return min(implied, stated, key=lambda each: (each[1], each[0]))
