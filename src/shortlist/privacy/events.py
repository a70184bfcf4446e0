"""Guarantees as events of the library `dp-accounting`, for those who account with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortlist.errors import MissingExtraError, ParameterError
from shortlist.exact.balls import ball, use_precision
from shortlist.privacy.composition import find_strongest_rho
from shortlist.privacy.guarantee import Guarantee, Neighbours
from shortlist.privacy.numbers import to_float_above
from shortlist.privacy.zcdp import find_rho_of_pure, to_fraction

if TYPE_CHECKING:
    from dp_accounting import DpEvent

_PRECISION = 256


def to_dp_event(guarantee: Guarantee) -> DpEvent:
    """Describe a guarantee as an event of `dp_accounting`, so that its accountants can add it to others.

    Claim  Any release with the guarantee has a privacy loss that the event bounds, at every order of Rényi.
    Proof  A zCDP event with the ρ of the guarantee is the definition of ρ-zCDP; `find_rho_of_pure` is the ρ that every
           ε-DP release has. Where a replace guarantee has no smaller ρ, the event is randomised response between two
           answers: on two neighbours, every ε-DP mechanism is a post-processing of it (Kairouz, Oh and Viswanath
           2015). The library takes that event for replacement only. Floats are rounded to the side of more loss.

    >>> to_dp_event(Guarantee(epsilon=Fraction(1), rho=Fraction(1, 8)))
    ZCDpEvent(rho=0.125, xi=0.0)
    """
    try:
        import dp_accounting
    except ImportError:
        raise MissingExtraError("accounting", purpose="an event of dp-accounting") from None
    rho, failure = find_strongest_rho(guarantee)
    if failure:
        raise ParameterError(
            "`guarantee` must have a rho without a delta, or no delta",
            "dp-accounting has no event for a rho that needs a delta",
            hint="pass a guarantee with `rho_delta=0`, and add the sum of all `rho_delta` to the delta that it states",
        )
    if (
        guarantee.neighbours is Neighbours.REPLACE
        and not guarantee.delta
        and rho == find_rho_of_pure(guarantee.epsilon)
    ):
        with use_precision(_PRECISION):  # how often randomised response answers at random, rounded down
            noise = to_fraction((2 / (1 + ball(guarantee.epsilon).exp())).lower())
        return dp_accounting.RandomizedResponseDpEvent(noise_parameter=-to_float_above(-noise), num_buckets=2)
    return dp_accounting.ZCDpEvent(rho=to_float_above(rho))
