"""Mechanisms as measurements of OpenDP, to compose and account for them with OpenDP's own combinators.

The data are a vector of counts, one for each item of a public list. Its metric is the largest change of a count: under
add-remove all changes have one sign (`monotonic=True`), and under replace they may have both.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from shortlist.errors import MissingExtraError, ParameterError
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import quote, to_float_above
from shortlist.selection import top_k

TYPE = "u32"
"""The type of the counts: every value of it is a count, so no data can make the measurement fail."""


def make_top_k(mechanism: Mechanism, *, concentrated: bool = False) -> Any:
    """Make a measurement of OpenDP from counts to the indices of k items.

    Its measure is that of the guarantee: max divergence, approximate where there is a delta. With `concentrated` it is
    zero-concentrated divergence. A distance of 1 is one person; for counts to which one person adds up to N, map N.

    Claim  The privacy map is true for every two vectors of counts at the given distance.
    Proof  opendp.proof.md.

    >>> from shortlist.mechanisms import Joint
    >>> measurement = make_top_k(Joint(k=2, epsilon="0.5"))
    >>> measurement.map(1), measurement.map(2), len(measurement([310, 190, 12, 2]))
    (0.5, 1.0, 2)
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtraError("opendp", purpose="a measurement of OpenDP") from None
    promise = _check(mechanism, concentrated)
    dp.enable_features("contrib", "honest-but-curious")
    measure = dp.zero_concentrated_divergence() if concentrated else dp.max_divergence()
    failure = promise.rho_delta if concentrated else promise.delta

    def map_distance(distance: int) -> Any:
        moved = promise.scale(distance, unit="person") if distance else Guarantee(epsilon=0, rho=0)
        spent = moved.rho if concentrated else moved.epsilon
        assert spent is not None
        loss = to_float_above(spent)
        return (loss, to_float_above(failure if distance else Fraction(0))) if failure else loss

    return dp.m.make_user_measurement(
        dp.vector_domain(dp.atom_domain(T=TYPE)),
        dp.linf_distance(T=TYPE, monotonic=mechanism.neighbours is Neighbours.ADD_REMOVE),
        dp.approximate(measure) if failure else measure,
        lambda counts: [int(index) for index in top_k(counts, mechanism=mechanism)],
        map_distance,
        TO="Vec<u64>",
    )


def _check(mechanism: Mechanism, concentrated: bool) -> Guarantee:
    """Refuse mechanisms whose neighbours the metric does not describe, and return the guarantee of the others."""
    if not isinstance(mechanism, Mechanism):
        raise ParameterError("`mechanism` must be a mechanism object", f"not {quote(mechanism)}")
    if not mechanism.needs_domain:
        raise ParameterError("`mechanism` must be one for a public list of items", f"not {mechanism.name}")
    for name in ("votes_per_person", "groups_per_person"):
        if mechanism.parameters.get(name) is not None:
            raise ParameterError(
                f"`mechanism` must not rely on `{name}`", "the metric of OpenDP does not know such a limit"
            )
    if concentrated and mechanism.guarantee.rho is None:
        raise ParameterError("`concentrated` must go with a mechanism that states a rho", f"not {mechanism.name}")
    return mechanism.guarantee
