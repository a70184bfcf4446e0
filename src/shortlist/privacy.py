"""What a release promises, as values: who the neighbours are, and the guarantee.

Two numbers here may never change meaning: `epsilon` and `delta` are the (ε, δ) of differential privacy for the
neighbour relation named beside them, and `rho` is the ρ of zero-concentrated differential privacy for the same
relation. Parameters are exact rationals: what the user wrote is what the mechanism uses.
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from shortlist.errors import ParameterError

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
            raise ParameterError(f"neighbours must be {names}, not {value!r}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a mechanism promises about any two neighbours.

    >>> print(Guarantee(epsilon=Fraction(1), rho=Fraction(1, 8)))
    1-DP (rho 1/8) for one person, add-remove
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    def __str__(self) -> str:
        pair = (
            f"{_plain(self.epsilon)}" if not self.delta else f"({_plain(self.epsilon)}, {_plain(self.delta)})"
        )
        rho = "" if self.rho is None else f" (rho {_plain(self.rho)})"
        return f"{pair}-DP{rho} for one {self.unit}, {self.neighbours}"


def rational(value: Any, *, name: str) -> Fraction:
    """Read a number as the exact rational that the user wrote; a float is its shortest decimal form.

    >>> rational(0.1, name="epsilon"), rational("0.1", name="epsilon"), rational(2**-10, name="beta")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 1024))
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal | str):
        raise ParameterError(f"{name} must be {_NUMBERS}, not {type(value).__name__}.")
    try:
        if isinstance(value, numbers.Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        if isinstance(value, numbers.Real) and not math.isfinite(value):
            raise ValueError
        return Fraction(str(value))
    except (ValueError, TypeError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a finite number ({_NUMBERS}), not {value!r}.") from None


def positive(value: Any, *, name: str) -> Fraction:
    """Read a number that must be above zero.

    >>> positive("1/2", name="epsilon")
    Fraction(1, 2)
    """
    number = rational(value, name=name)
    if number <= 0:
        raise ParameterError(f"{name} must be above 0, not {value!r}.", hint=f"try {name}=1")
    return number


def _plain(number: Fraction) -> str:
    """Write a rational shortly: a decimal where that is exact and short, else a fraction."""
    decimal = f"{float(number):.12g}"
    return decimal if Fraction(decimal) == number else str(number)
