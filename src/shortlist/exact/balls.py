"""Ball arithmetic: a number as a midpoint and a radius that are proven to enclose it (python-flint's `arb`).

A comparison of balls is true only if it is certain. A decision made with balls is therefore right at any working
precision. If the precision is too small, there is no decision yet. The radius of a ball has 30 bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

from flint import arb, ctx, fmpq

_FLOAT_BITS = 53
_ACCURATE = 60
_LOCK = RLock()


@contextmanager
def use_precision(bits: int = 128) -> Iterator[None]:
    """Compute balls with this many bits. The process has one precision only, so one thread at a time may set it."""
    with _LOCK, ctx.workprec(bits):
        yield


def _renew_lock() -> None:
    """Make a new lock in a forked child: the thread that held it in the parent does not exist there."""
    global _LOCK
    _LOCK = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def ball(number: Fraction) -> arb:
    """Enclose a rational at the working precision."""
    return arb(fmpq(number.numerator, number.denominator))


def enclose_exp_minus(x: Fraction) -> arb:
    """Enclose e^(−x) at the working precision."""
    return (-ball(x)).exp()


def enclose_shortfall(x: Fraction) -> arb:
    """Enclose 1 − e^(−x) at the working precision, without cancellation for small x."""
    return -(-ball(x)).expm1()


def round_outwards(number: arb) -> tuple[float, float]:
    """Return floats below and above a number of 0 or more.

    Conversion to float is off by less than 2^-50 of the number, or by less than 2^-1000. A number beyond the range of
    floats has no upper bound.
    """
    below, above = float(number.lower()), float(number.upper())
    return below * (1 - 2.0**-50), above * (1 + 2.0**-50) + 2.0**-1000


def round_to_float(enclose: Callable[[], arb]) -> tuple[float, int]:
    """Round a positive number to a mantissa in [1/2, 1) and an exponent of two.

    Claim   The result differs from the number by less than 2^-52 of it, which is two roundings.
    Proof   The ball is enclosed at rising precision until its radius is below 2^-60 of its midpoint. Rounding the
            midpoint to the nearest number of 53 bits moves it by at most 2^-53 of itself. 2^-53 + 2^-59 < 2^-52.
    Rounds  The precision doubles until the ball is that narrow. The number is not 0, so a precision of 60 bits more
            than its enclosure loses is enough.
    """
    precision = 2 * _ACCURATE
    while True:
        with use_precision(precision):
            enclosed = enclose()
        if enclosed.rel_accuracy_bits() >= _ACCURATE:
            break
        precision *= 2
    mantissa, exponent = (int(part) for part in enclosed.mid().man_exp())
    surplus = max(0, mantissa.bit_length() - _FLOAT_BITS)
    significand = (mantissa + (1 << surplus >> 1)) >> surplus
    width = significand.bit_length()
    return significand * 2.0**-width, exponent + surplus + width
