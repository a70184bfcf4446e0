"""What a release promises, as values: who the neighbours are, and the guarantee.

Two numbers here may never change meaning: `epsilon` and `delta` are the (ε, δ) of differential privacy for the
neighbour relation named beside them, and `rho` is the ρ of zero-concentrated differential privacy for the same
relation. Parameters are exact rationals: what the user wrote is what the mechanism uses.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from shortlist.concentrated import epsilon_from
from shortlist.errors import ParameterError

_LARGEST_BITS = 1000
_NUMBERS = "an int, float, Fraction, Decimal or decimal string"


class Neighbours(StrEnum):
    """Which two data sets must look alike to whoever reads a release."""

    ADD_REMOVE = "add-remove"
    """One person more or less."""
    REPLACE = "replace"
    """One person's votes changed to any others."""

    @property
    def sensitivity(self) -> int:
        """By how much one person can change the difference of two counts."""
        return 1 if self is Neighbours.ADD_REMOVE else 2

    @classmethod
    def read(cls, value: str) -> Neighbours:
        """Take a relation by its name.

        >>> Neighbours.read("replace")
        <Neighbours.REPLACE: 'replace'>
        """
        try:
            return cls(value)
        except ValueError:
            names = " or ".join(repr(str(each)) for each in cls)
            raise ParameterError(f"neighbours must be {names}, not {shown(value)}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a mechanism promises about any two neighbours.

    >>> print(Guarantee(epsilon=Fraction(1), rho=Fraction(1, 8)))
    1-DP (rho 0.125) for one person, add-remove
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Fraction):
                object.__setattr__(self, name, rational(value, name=name))
        if self.epsilon < 0 or not 0 <= self.delta <= 1 or (self.rho is not None and self.rho < 0):
            raise ParameterError("a guarantee must have epsilon and rho from 0, and delta from 0 to 1.")

    def __str__(self) -> str:
        pair = f"{_plain(self.epsilon)}" if not self.delta else f"({_plain(self.epsilon)}, {_plain(self.delta)})"
        rho = "" if self.rho is None else f" (rho {_plain(self.rho)})"
        return f"{pair}-DP{rho} for one {self.unit}, {self.neighbours}"


def compose(guarantees: Iterable[Guarantee], *, delta: Any = None) -> Guarantee:
    """Say what several releases promise together, whatever the later ones make of the earlier ones.

    Claim  the result holds for all of them at once, for the neighbour relation and the unit that they share.
    Proof  Epsilons and deltas add up (Dwork et al. 2006), and so do rhos (Bun and Steinke 2016, Lemma 2.3), an
           ε-DP release having ρ = ε²/2 at most (Proposition 1.4). With `delta`, the sum of rhos is converted to an
           epsilon at that delta; the smaller of the two epsilons is stated, rounded up.

    >>> yearly = [Guarantee(epsilon=Fraction(1, 4), rho=Fraction(1, 128))] * 52
    >>> print(compose(yearly))
    13-DP (rho 0.40625) for one person, add-remove
    >>> print(compose(yearly, delta="1e-6"))
    (4.64472202, 1e-6)-DP (rho 0.40625) for one person, add-remove
    """
    parts = list(guarantees)
    if not parts:
        raise ParameterError("guarantees must be one or more, and there are none.")
    if len({(part.neighbours, part.unit) for part in parts}) > 1:
        raise ParameterError("guarantees must be for the same neighbours and the same unit, and they differ.")
    rhos = [_rho(part) for part in parts]
    rho = None if None in rhos else sum((each for each in rhos if each is not None), Fraction(0))
    epsilon = Fraction(sum(part.epsilon for part in parts))
    spent = min(Fraction(1), Fraction(sum(part.delta for part in parts)))
    basic = replace(parts[0], epsilon=epsilon, delta=spent, rho=rho)
    if delta is None:
        return basic
    allowed = probability(delta, name="delta")
    if rho is not None and (spent > allowed or epsilon_from(rho, allowed) < epsilon):
        return replace(basic, epsilon=epsilon_from(rho, allowed), delta=allowed)
    if spent > allowed:
        raise ParameterError(
            f"delta must be at least {_plain(spent)}, which the guarantees have together, not {shown(delta)}.",
            hint="less is possible only if every guarantee has a rho, or no delta",
        )
    return basic


def rational(value: Any, *, name: str) -> Fraction:
    """Read a number as the exact rational that the user wrote; a float is its shortest decimal form.

    >>> rational(0.1, name="epsilon"), rational("0.1", name="epsilon"), rational(2**-10, name="beta")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 1024))
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal | str):
        raise ParameterError(f"{name} must be {_NUMBERS}, not {type(value).__name__}.")
    try:
        if isinstance(value, numbers.Rational):
            number = Fraction(int(value.numerator), int(value.denominator))
        elif "/" in str(value):
            number = Fraction(str(value))
        else:
            number = _from_decimal(Decimal(str(value)))
    except (ArithmeticError, TypeError, ValueError):
        raise ParameterError(f"{name} must be a finite number ({_NUMBERS}), not {shown(value)}.") from None
    if number and abs(number.numerator.bit_length() - number.denominator.bit_length()) > _LARGEST_BITS:
        raise ParameterError(f"{name} must be a number that a float can come near, not {shown(value)}.")
    return number


def shown(value: object) -> str:
    """Write a parameter into an error text, however long it is."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return f"such a long {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def positive(value: Any, *, name: str) -> Fraction:
    """Read a number that must be above zero.

    >>> positive("1/2", name="epsilon")
    Fraction(1, 2)
    """
    number = rational(value, name=name)
    if number <= 0:
        raise ParameterError(f"{name} must be above 0, not {shown(value)}.", hint=f"try {name}=1")
    return number


def probability(value: Any, *, name: str) -> Fraction:
    """Read a number that must lie strictly between 0 and 1.

    >>> probability("1e-6", name="delta")
    Fraction(1, 1000000)
    """
    number = rational(value, name=name)
    if not 0 < number < 1:
        raise ParameterError(f"{name} must be above 0 and below 1, not {shown(value)}.", hint=f"try {name}=1e-6")
    return number


def _from_decimal(number: Decimal) -> Fraction:
    if number.is_finite() and abs(number.adjusted()) > _LARGEST_BITS:
        raise ValueError  # before a number with as many digits is made
    return Fraction(number)


def _rho(guarantee: Guarantee) -> Fraction | None:
    """The rho that is stated, or that a pure guarantee implies."""
    return guarantee.epsilon**2 / 2 if guarantee.rho is None and not guarantee.delta else guarantee.rho


def _plain(number: Fraction) -> str:
    """Write a rational shortly: as a decimal or a fraction where that is exact, else rounded up to nine digits."""
    decimal = Context(prec=12).divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(decimal) != number:
        if number.denominator < 10**6:
            return str(number)
        decimal = Context(prec=9, rounding=ROUND_CEILING).divide(Decimal(number.numerator), Decimal(number.denominator))
    decimal = decimal.normalize()
    return f"{decimal:f}" if -5 < decimal.adjusted() < 12 else f"{decimal:e}"
