"""Ball arithmetic: numbers as a midpoint and a radius that surely encloses them (python-flint's `arb`).

A comparison of balls is true only if it is certain. So a decision made with balls is right at any working precision;
too small a precision only leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import arb, ctx, fmpq

_FLOAT_BITS = 53
_ACCURATE = 60
_LOCK = RLock()


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Compute balls with that many bits. The precision belongs to the whole process, so one thread at a time may."""
    with _LOCK, ctx.workprec(bits):
        yield


def ball(number: Fraction) -> arb:
    """Enclose a rational at the working precision."""
    return arb(fmpq(number.numerator, number.denominator))


def exp_minus(x: Fraction) -> arb:
    """Enclose e^(−x) at the working precision."""
    return (-ball(x)).exp()


def shortfall(x: Fraction) -> arb:
    """Enclose 1 − e^(−x) at the working precision, without cancellation for small x."""
    return -(-ball(x)).expm1()


def rounded(enclose: Callable[[], arb]) -> tuple[float, int]:
    """Round a positive number to mantissa in [1/2, 1) and exponent, off by two roundings (2^-52 of itself) at most.

    The number is enclosed at rising precision until the ball is narrower than 2^-60 of itself; cutting the midpoint
    off after 53 bits takes away less than 2^-52 of it.
    """
    precision = 2 * _ACCURATE
    while True:
        with working_precision(precision):
            enclosed = enclose()
        if enclosed.rel_accuracy_bits() >= _ACCURATE:
            break
        precision *= 2
    mantissa, exponent = (int(part) for part in enclosed.mid().man_exp())
    surplus = max(0, mantissa.bit_length() - _FLOAT_BITS)
    significand = mantissa >> surplus
    width = significand.bit_length()
    return significand * 2.0**-width, exponent + surplus + width
