"""Exact numbers: parameters are read as the rational numbers that the user wrote, and written without loss."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

from shortlist.errors import ParameterError
from shortlist.safe_text import join_words

Real = int | float | str | Decimal | Fraction
"""What a parameter such as epsilon may be given as."""

_LARGEST_BITS = 1000
_LONGEST_VALUE = 60
_MOST_VOTES = 2**63 - 1
LARGEST_EPSILON = Fraction(10**6)
"""A larger epsilon or rho promises nothing."""
_WHOLE_EXAMPLES = {"k": "10", "people": "10000", "min_people": "50", "sensitivity": "1", "votes_per_person": "5"}
_EXAMPLES = {"beta": "0.001 or '1/1000'", "confidence": "0.95 or '19/20'", "delta": "1e-6 or '1/1000000'"}
_EXAMPLES |= {"counts_delta": _EXAMPLES["delta"], "rho": "0.03 or '3/100'"}
_NO_COMMA = "write a decimal point, as in 0.5, and nothing between thousands"
_COMMON_EXAMPLES = "1, 0.5 or '1/3'"


def read_rational(value: Real, *, name: str) -> Fraction:
    """Read a number as the exact rational that the user wrote. A float is its shortest decimal form.

    >>> read_rational(0.1, name="epsilon"), read_rational("0.1", name="epsilon"), read_rational(2**-10, name="beta")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 1024))
    """
    if (
        type(value) is Fraction
        and type(value.numerator) is type(value.denominator) is int  # and not of NumPy
        and value.numerator.bit_length() + value.denominator.bit_length() <= _LARGEST_BITS
    ):
        return value  # read already, as in each list of a family
    examples = _EXAMPLES.get(name, _COMMON_EXAMPLES)
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal | str):
        raise ParameterError(f"`{name}` must be a number such as {examples}", f"not {type(value).__name__}")
    try:
        if isinstance(value, numbers.Rational):
            number = Fraction(int(value.numerator), int(value.denominator))
        elif "/" in str(value):
            number = Fraction(str(value))
        else:
            decimal = Decimal(str(value))
            if decimal.is_finite() and abs(decimal.adjusted()) > _LARGEST_BITS:
                raise ValueError  # it would have that many digits
            number = Fraction(decimal)
    except (ArithmeticError, TypeError, ValueError):
        raise ParameterError(
            f"""`{name}` must be a finite number such as {examples.replace("'", "")}""",
            f"not {quote(value)}",
            hint=_NO_COMMA if isinstance(value, str) and "," in value else None,
        ) from None
    if number and abs(number.numerator.bit_length() - number.denominator.bit_length()) > _LARGEST_BITS:
        raise ParameterError(f"`{name}` must be 0, or from 1e-300 to 1e300 in size", f"not {quote(value)}")
    return number


def read_positive(value: Real, *, name: str) -> Fraction:
    """Read a number that must be above zero.

    >>> read_positive("1/2", name="epsilon")
    Fraction(1, 2)
    """
    number = read_rational(value, name=name)
    if number <= 0:
        example = _EXAMPLES.get(name, "1").partition(" ")[0]
        raise ParameterError(f"`{name}` must be above 0", f"not {quote(value)}", hint=f"try `{name}={example}`")
    return number


def read_epsilon(value: Real, *, name: str = "epsilon") -> Fraction:
    """Read an epsilon: above zero, and small enough to promise something.

    >>> read_epsilon("1/2")
    Fraction(1, 2)
    """
    number = read_positive(value, name=name)
    if number > LARGEST_EPSILON:
        raise ParameterError(
            f"`{name}` must be at most {LARGEST_EPSILON}", f"not {quote(value)}", hint="a larger one promises nothing"
        )
    return number


def read_probability(value: Real, *, name: str) -> Fraction:
    """Read a number that must lie strictly between 0 and 1.

    >>> read_probability("1e-6", name="delta")
    Fraction(1, 1000000)
    """
    number = read_rational(value, name=name)
    if not 0 < number < 1:
        pure = "leave `delta` out for pure privacy, or " if name == "delta" and number == 0 else ""
        example = _EXAMPLES.get(name, "0.5").partition(" ")[0]
        raise ParameterError(
            f"`{name}` must be above 0 and below 1", f"not {quote(value)}", hint=f"{pure}try `{name}={example}`"
        )
    return number


def read_whole(value: object, *, name: str) -> int:
    """Read a whole number from 1, of any integer type.

    >>> read_whole(3, name="k")
    3
    """
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if name in ("votes_per_person", "k_bar") and number > _MOST_VOTES:
        raise ParameterError(f"`{name}` must be at most 2^63 − 1", f"not {quote(value)}")
    if number < 1:
        example = _WHOLE_EXAMPLES.get(name, "1")
        raise ParameterError(
            f"`{name}` must be a whole number from 1", f"not {quote(value)}", hint=f"try `{name}={example}`"
        )
    return number


def read_fields(value: Any, readers: Mapping[str, Callable[..., object]], **names: str) -> None:
    """Replace fields of a frozen value, while it is built, by what is read from them.

    A field that is None by default may stay None. Errors call a field by its name, or by the one given here.
    """
    for field in fields(value):
        read, given = readers.get(field.name), getattr(value, field.name)
        if read is not None and (given is not None or field.default is not None):
            object.__setattr__(value, field.name, read(given, name=names.get(field.name, field.name)))


class Choice(StrEnum):
    """A parameter that is one of a few names."""

    @classmethod
    def read(cls, value: str, *, name: str | None = None) -> Self:
        """Read a value by its name. The parameter is called like the class, unless it has a `name`."""
        try:
            return cls(value)
        except (ValueError, TypeError):  # a series cannot be compared with a text
            names = join_words([repr(str(each)) for each in cls], "or")
            raise ParameterError(f"`{name or cls.__name__.lower()}` must be {names}", f"not {quote(value)}") from None


def quote(value: object) -> str:
    """Write the value of a parameter for an error text, shortened if it is long.

    >>> quote("one"), len(quote("x" * 1000))
    ("'one'", 60)
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        return f"a very long {type(value).__name__}"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def to_float_above(number: Fraction) -> float:
    """Round a rational up to a float.

    >>> to_float_above(Fraction(1, 10)), to_float_above(Fraction(-1, 10)), to_float_above(Fraction(10**400))
    (0.1, -0.09999999999999999, inf)
    """
    try:
        near = float(number)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def write_count(number: int, unit: str = "votes") -> str:
    """Write a number of something, whose plural ends in s.

    >>> write_count(1), write_count(1200), write_count(1, "minutes")
    ('1 vote', '1,200 votes', '1 minute')
    """
    return f"{number:,} {unit.removesuffix('s') if number == 1 else unit}"


def write_exact(number: Fraction) -> str:
    """Write a rational without loss: as a decimal if that has at most 20 places, else as a fraction.

    >>> write_exact(Fraction(1, 10)), write_exact(Fraction(1, 1024)), write_exact(Fraction(1, 3))
    ('0.1', '0.0009765625', '1/3')
    """
    for digits in range(21):
        if (number * 10**digits).denominator == 1:
            whole, part = divmod(abs(int(number * 10**digits)), 10**digits)
            sign = "-" if number < 0 else ""
            return f"{sign}{whole}.{part:0{digits}}" if digits else f"{sign}{whole}"
    return str(number)


def write_rounded_up(number: Fraction) -> str:
    """Write a rational in few characters: exactly if that is short, else rounded up to nine digits.

    >>> write_rounded_up(Fraction(1, 8)), write_rounded_up(Fraction(1, 3)), write_rounded_up(Fraction(10**7, 3**20))
    ('0.125', '1/3', '0.002867972')
    """
    if Fraction(Context(prec=12).divide(Decimal(number.numerator), Decimal(number.denominator))) == number:
        return write_digits(number, 12)
    return str(number) if number.denominator < 10**6 else write_digits(number, 9)


def write_digits(number: Fraction, digits: int) -> str:
    """Write a rational as a decimal with at most so many digits, rounded up.

    >>> write_digits(Fraction(1, 3), 4), write_digits(Fraction(1, 10**7), 4), write_digits(Fraction(10), 4)
    ('0.3334', '1e-7', '10')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    decimal = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize()
    return f"{decimal:f}" if -5 < decimal.adjusted() < 12 else f"{decimal:e}"
