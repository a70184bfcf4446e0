"""What a release promises: which data sets are neighbours, and a guarantee about all pairs of neighbours.

The meaning of four numbers never changes. `epsilon` and `delta` are the (ε, δ) of differential privacy for the
neighbour relation named beside them. `rho` is the ρ of zero-concentrated differential privacy (zCDP) for the same
relation. If `rho_delta` is above 0, it is the δ₁ of approximate zCDP (approximate_zcdp.proof.md): ρ holds for all but
a part of the probability that is at most δ₁. Both statements hold, independently of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.errors import ParameterError
from shortlist.privacy.numbers import Choice, Real, read_rational, write_rounded_up
from shortlist.safe_text import is_words

if TYPE_CHECKING:
    from dp_accounting import DpEvent

_LARGE_FACTOR = 100
_LARGEST_POWER = 14
_ROUNDED = 2.0**-40
"""More than a few roundings, as a share of a number."""


class Neighbours(Choice):
    """Which two data sets a release must not tell apart.

    >>> Neighbours.read("replace")
    <Neighbours.REPLACE: 'replace'>
    """

    ADD_REMOVE = "add-remove"
    """One person more or less."""
    REPLACE = "replace"
    """One person's votes changed to any others."""

    @property
    def sensitivity(self) -> int:
        """By how much one person can change the difference of two counts."""
        return 1 if self is Neighbours.ADD_REMOVE else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a mechanism promises about any two neighbours.

    >>> print(Guarantee(epsilon=1, rho="1/8"))
    1-DP (rho 0.125) for one person, add-remove
    >>> print(Guarantee(epsilon=1, delta="1e-6", rho="0.03", rho_delta="5e-7"))
    (1, 1e-6)-DP (rho 0.03 with delta 5e-7) for one person, add-remove
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    rho_delta: Fraction = Fraction(0)
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            epsilon: Real,
            delta: Real = ...,
            rho: Real | None = ...,
            rho_delta: Real = ...,
            neighbours: str = ...,
            unit: str = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho", "rho_delta"):
            value = getattr(self, name)
            if not isinstance(value, Fraction) and (name != "rho" or value is not None):
                object.__setattr__(self, name, read_rational(value, name=name))
        object.__setattr__(self, "neighbours", Neighbours.read(self.neighbours))
        if self.epsilon < 0 or not 0 <= self.delta <= 1 or (self.rho is not None and self.rho < 0):
            raise ParameterError("a guarantee must have `epsilon` and `rho` from 0, and `delta` from 0 to 1")
        if not 0 <= self.rho_delta <= 1 or (self.rho_delta and self.rho is None):
            raise ParameterError("`rho_delta` must be from 0 to 1, and go with `rho`")
        check_unit(self.unit)

    def __str__(self) -> str:
        epsilon, delta = write_rounded_up(self.epsilon), write_rounded_up(self.delta)
        pair = f"({epsilon}, {delta})" if self.delta else epsilon
        failure = f" with delta {write_rounded_up(self.rho_delta)}" if self.rho_delta else ""
        rho = "" if self.rho is None else f" (rho {write_rounded_up(self.rho)}{failure})"
        return f"{pair}-DP{rho} for one {self.unit}, {self.neighbours}"

    @property
    def in_words(self) -> str:
        """Say in a sentence what a reader learns about one person at most. The factor is rounded up.

        With a delta the sentence is the definition: (ε, δ)-DP bounds the probability of every event. It does not bound
        the odds, not even except with probability δ.

        >>> Guarantee(epsilon=1, neighbours="replace").in_words
        'The odds between any two choices of votes of one person change by at most a factor of 2.72.'
        >>> Guarantee(epsilon=1, delta="1e-6").in_words
        'Whether or not a given person is in the data, the probability of any conclusion changes by at most a factor \
of 2.72, plus 1e-6.'
        """
        if self.neighbours is Neighbours.REPLACE:
            odds, cases = "between any two choices of votes of one {unit}", "Whatever votes one {unit} casts"
        else:
            odds, cases = "that a given {unit} is in the data", "Whether or not a given {unit} is in the data"
        limit = f"at most a factor of {_write_factor(self.epsilon)}"
        if not self.delta:
            return f"The odds {odds.format(unit=self.unit)} change by {limit}."
        changes = f"the probability of any conclusion changes by {limit}, plus {write_rounded_up(self.delta)}."
        return f"{cases.format(unit=self.unit)}, {changes}"

    def scale(self, sensitivity: int, *, unit: str) -> Guarantee:
        """State the guarantee for a person who adds up to N, not 1, to every count.

        Claim  A mechanism with ε and ρ for N = 1 is Nε-DP and N²ρ-zCDP. With (ε, δ) and ρ it is N²ρ-zCDP, and so
               (ε(N²ρ, δ), δ)-DP, where ε(ρ, δ) is `find_epsilon`.
        Proof  Going from counts h to h + v with 0 ≤ v ≤ N takes N steps. Step i adds 1 where v ≥ i, so it adds 0 or
               1 to every count. Each step joins neighbours, so probabilities change by at most e^ε, N times.
               Replacing a person also takes N steps, each removing 0 or 1 and adding 0 or 1 to every count. All
               removals fit, since h ≥ v. For ρ it is the group privacy of zCDP (Bun and Steinke 2016,
               Proposition 1.9).

        >>> print(Guarantee(epsilon="0.25", rho="1/128").scale(4, unit="person"))
        1-DP (rho 0.125) for one person, add-remove
        """
        if sensitivity == 1:
            return replace(self, unit=unit)
        rho, epsilon = None if self.rho is None else self.rho * sensitivity**2, self.epsilon * sensitivity
        if self.delta:
            if rho is None or self.rho_delta:
                raise ParameterError("`sensitivity` above 1 must go with a guarantee that has no delta, or has a rho")
            from shortlist.privacy.zcdp import find_epsilon

            epsilon = find_epsilon(rho, self.delta)
        return replace(self, epsilon=epsilon, rho=rho, unit=unit)

    def to_dp_event(self) -> DpEvent:
        """Describe the guarantee as an event of the library `dp-accounting` (the extra `accounting`)."""
        from shortlist.privacy.events import to_dp_event

        return to_dp_event(self)


def _write_factor(epsilon: Fraction) -> str:
    """Write e^epsilon with about three digits, rounded up.

    The float of e^epsilon may be below it, so it is made a little larger first.

    >>> [_write_factor(Fraction(each)) for each in ("0", "1e-20", "0.1", "1", "5", "20")]
    ['1', '1.01', '1.11', '2.72', '149', 'e^20']
    """
    if epsilon > _LARGEST_POWER:
        return f"e^{write_rounded_up(epsilon)}"
    factor = math.exp(epsilon) * (1 + _ROUNDED) if epsilon else 1.0
    return f"{math.ceil(factor):,}" if factor > _LARGE_FACTOR else f"{math.ceil(factor * 100) / 100:g}"


def check_unit(unit: object) -> None:
    """Refuse a unit that cannot name whom a guarantee protects. It is repeated in sentences, so it can hold none."""
    if not is_words(unit):
        raise ParameterError(
            "`unit` must be a word for whom the guarantee protects, such as person, of at most 40 letters"
        )
