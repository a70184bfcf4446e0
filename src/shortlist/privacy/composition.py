"""What several releases promise together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from shortlist.errors import ParameterError
from shortlist.privacy.guarantee import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability, write_rounded_up
from shortlist.privacy.zcdp import epsilon_from, rho_of_pure

_MOST_SPLITS = 64


class Guaranteed(Protocol):
    """Anything with a guarantee: a release, a mechanism, a selector."""

    @property
    def guarantee(self) -> Guarantee:
        """What it promises."""


def compose(
    guarantees: Guarantee | Guaranteed | Iterable[Guarantee | Guaranteed], *, delta: Real | None = None
) -> Guarantee:
    """State what several releases promise together, even if each was chosen after the earlier ones were seen.

    Pass guarantees, releases, mechanisms or selectors, one or many. Without `delta`, epsilons, deltas and rhos are
    summed. With `delta`, the guarantees are split into two parts. Those of the first part count by their rho, those of
    the second by their epsilon and delta. The split with the smallest epsilon is stated, rounded up.

    Claim  Let R be the sum of the rhos of the first part, E and D the sums of the epsilons and deltas of the second,
           and δ > D. All releases together are (E + ε(R, δ − D), δ)-DP, where ε(ρ, δ) is `epsilon_from`.
    Proof  Fix two neighbours. An (ε, δ)-DP release is a mixture on them: with probability δ, whatever the data, a coin
           comes up, and if it does not, the release is ε-DP (randomised response dominates every (ε, δ)-DP release:
           Kairouz, Oh and Viswanath 2015). So with probability at least 1 − D no coin of the second part comes up.
           Then each release of the second part changes a probability by a factor of at most e^ε, and each of the
           first part has a Rényi divergence of order α of at most ρα, whatever was released before. The moments of
           the likelihood ratio multiply, so the divergence of all releases is at most E + Rα for every α > 1. The
           conversion in `zcdp.py` uses nothing else. It gives (E + ε(R, δ − D), δ − D)-DP, and the coins add D.
           If the first part is empty, this is basic composition (Dwork et al. 2006), with δ = D. Rhos add up (Bun
           and Steinke 2016, Lemma 2.3), and an ε-DP release has a ρ by `rho_of_pure`.

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
    times = Counter(parts)
    for first in _first_parts(times):
        second = times.keys() - first
        remaining = allowed - sum(times[part] * part.delta for part in second)
        if remaining > 0:
            rho = Fraction(sum(times[part] * (_rho(part) or 0) for part in first))
            epsilon = epsilon_from(rho, remaining) + sum(times[part] * part.epsilon for part in second)
            stated.append(replace(basic, epsilon=epsilon, delta=allowed))
    if not stated:
        least = sum(part.delta for part in parts if _rho(part) is None)
        raise ParameterError(
            "{delta} must be above {least}, the sum of the deltas of the guarantees without a rho",
            "not {value}",
            least=write_rounded_up(Fraction(least)),
            value=quote(delta),
        )
    return min(stated, key=lambda each: (each.epsilon, each.delta))


def _read(given: Guarantee | Guaranteed | Iterable[Guarantee | Guaranteed]) -> list[Guarantee]:
    # A release is also a sequence of its items, so it is recognised first.
    if isinstance(given, Guarantee) or hasattr(given, "guarantee") or not isinstance(given, Iterable):
        parts = [_read_one(given)]
    else:
        parts = [_read_one(each) for each in given]
    if not parts:
        raise ParameterError("{guarantees} must be one or more", "there are none")
    if len({(part.neighbours, part.unit) for part in parts}) > 1:
        raise ParameterError("{guarantees} must be for the same neighbours and the same unit", "they differ")
    return parts


def _read_one(given: object) -> Guarantee:
    found = given if isinstance(given, Guarantee) else getattr(given, "guarantee", None)
    if not isinstance(found, Guarantee):
        raise ParameterError(
            "{guarantees} must be guarantees, releases or mechanisms", "not {type}", type=type(given).__name__
        )
    return found


def _sum(parts: list[Guarantee]) -> Guarantee:
    """Basic composition."""
    rhos = [rho for part in parts if (rho := _rho(part)) is not None]
    return replace(
        parts[0],
        epsilon=sum((part.epsilon for part in parts), Fraction(0)),
        delta=min(Fraction(1), sum((part.delta for part in parts), Fraction(0))),
        rho=sum(rhos, Fraction(0)) if len(rhos) == len(parts) else None,
    )


def _first_parts(guarantees: Iterable[Guarantee]) -> Iterator[set[Guarantee]]:
    """Propose first parts of a split: those that gain most by their rho.

    epsilon_from is concave in rho, so equal guarantees stay together. Where delta is scarce, guarantees with a delta go
    to the first part before those without.
    """
    able = [part for part in guarantees if _rho(part) is not None]
    for order in (_rho_per_epsilon, lambda part: (part.delta == 0, _rho_per_epsilon(part))):
        ranked = sorted(able, key=order)
        sizes = {round(step * len(ranked) / _MOST_SPLITS) for step in range(1, _MOST_SPLITS + 1)}
        yield from (set(ranked[:size]) for size in sorted(sizes - {0}))


def _rho_per_epsilon(part: Guarantee) -> Fraction:
    return (_rho(part) or Fraction(0)) / part.epsilon if part.epsilon else Fraction(0)


def _rho(guarantee: Guarantee) -> Fraction | None:
    """The smallest rho that is known: the stated one, or the one that a pure guarantee implies."""
    if guarantee.delta:
        return guarantee.rho
    implied = rho_of_pure(guarantee.epsilon)
    return implied if guarantee.rho is None else min(guarantee.rho, implied)
