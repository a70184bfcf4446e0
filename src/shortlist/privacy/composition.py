"""What several releases promise together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from shortlist.errors import ParameterError
from shortlist.privacy.guarantee import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability, write_rounded_up
from shortlist.privacy.zcdp import epsilon_from


def compose(guarantees: Iterable[Guarantee], *, delta: Real | None = None) -> Guarantee:
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
        raise ParameterError("{guarantees} must be one or more", "there are none")
    if len({(part.neighbours, part.unit) for part in parts}) > 1:
        raise ParameterError("{guarantees} must be for the same neighbours and the same unit", "they differ")
    rhos = [_rho(part) for part in parts]
    rho = None if None in rhos else sum((each for each in rhos if each is not None), Fraction(0))
    epsilon = Fraction(sum(part.epsilon for part in parts))
    spent = min(Fraction(1), Fraction(sum(part.delta for part in parts)))
    basic = replace(parts[0], epsilon=epsilon, delta=spent, rho=rho)
    if delta is None:
        return basic
    allowed = read_probability(delta, name="delta")
    if rho is not None and (spent > allowed or epsilon_from(rho, allowed) < epsilon):
        return replace(basic, epsilon=epsilon_from(rho, allowed), delta=allowed)
    if spent > allowed:
        raise ParameterError(
            "{delta} must be at least {spent}, which the guarantees have together",
            "not {value}",
            hint="less is possible only if every guarantee has a rho, or no delta",
            spent=write_rounded_up(spent),
            value=quote(delta),
        )
    return basic


def _rho(guarantee: Guarantee) -> Fraction | None:
    """The rho that is stated, or that a pure guarantee implies."""
    return guarantee.epsilon**2 / 2 if guarantee.rho is None and not guarantee.delta else guarantee.rho
