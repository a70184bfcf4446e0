"""A privacy budget, what charges add up to, and whether one more charge is covered.

Claim  All releases that a budget covers satisfy (ε, δ)-DP together, also if each is chosen after seeing the earlier
       ones, for the neighbour relation and the unit of the budget.
Proof  budget.proof.md. Sums are exact rationals. The only rounded number is the ρ of the budget, rounded down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from shortlist.errors import ParameterError
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.composition import find_strongest_rho
from shortlist.privacy.numbers import Real, quote, read_positive, read_rational, write_rounded_up
from shortlist.privacy.zcdp import find_rho


class Accounting(StrEnum):
    """How charges are added up. It is fixed when a ledger is created."""

    BASIC = "basic"
    """Epsilons and deltas are added up."""
    ZCDP = "zcdp"
    """Rhos are added up, and the budget's rho implies its epsilon and delta."""
    BOTH = "both"
    """Both, each with a share of delta. A release is covered if one of them covers all releases so far."""

    @property
    def in_words(self) -> str:
        """Name what is added up, for people."""
        return {"basic": "basic", "zcdp": "zCDP", "both": "basic and zCDP"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """The sums that are spent or left. Rho is None if a charge had no rho."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The (ε, δ) that all releases of a ledger may have together, and how they are added up.

    `basic_delta` is the share of delta for the sum of epsilons and deltas, and `rho` the limit for the sum of rhos.
    Each is None if the accounting does not use it.

    >>> budget = Budget.plan(epsilon=10, delta="1e-6", accounting="zcdp")
    >>> budget.afford(Amount(), Guarantee(epsilon=Fraction(1, 2), rho=Fraction(1, 32)))
    49
    """

    guarantee: Guarantee
    accounting: Accounting
    basic_delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def plan(
        cls,
        *,
        epsilon: Real,
        delta: Real = 0,
        accounting: str | None = None,
        basic_share: Real | None = None,
        neighbours: str = "add-remove",
        unit: str = "person",
    ) -> Budget:
        """Build a budget. The default accounting is `both`, or `basic` if delta is 0."""
        limit, allowed = read_positive(epsilon, name="epsilon"), _read_delta(delta)
        chosen = _read_accounting(accounting, allowed)
        share = _read_share(basic_share, chosen)
        return cls(
            guarantee=Guarantee(epsilon=limit, delta=allowed, neighbours=Neighbours.read(neighbours), unit=unit),
            accounting=chosen,
            basic_delta=None if chosen is Accounting.ZCDP else allowed * share,
            rho=None if chosen is Accounting.BASIC else find_rho(limit, allowed * (1 - share)),
        )

    def check(self, guarantee: Guarantee) -> None:
        """Refuse a guarantee that can never be added to the others."""
        ours = self.guarantee
        if guarantee.neighbours is not ours.neighbours:
            raise ParameterError(
                f"`neighbours` must be {ours.neighbours}, as in the ledger",
                f"not {guarantee.neighbours}; guarantees for different neighbours do not add up",
                hint="pass the `neighbours` of the ledger, or use another ledger",
            )
        if guarantee.unit != ours.unit:
            raise ParameterError(
                f"`unit` must be {quote(ours.unit)}, as in the ledger",
                f"not {quote(guarantee.unit)}; guarantees for different units do not add up",
                hint="pass the `unit` of the ledger, or use another ledger",
            )
        if not guarantee.epsilon or guarantee.rho == 0:
            raise ParameterError("`epsilon` must be above 0 to be charged")
        if self.accounting is Accounting.ZCDP and find_strongest_rho(guarantee) is None:
            raise ParameterError(
                "`mechanism` must have a rho for a ledger with zcdp accounting",
                "this one has a delta and no rho",
                hint="use another mechanism, or a ledger with `accounting='both'`",
            )

    def afford(self, spent: Amount, guarantee: Guarantee) -> int:
        """Count how many more releases with this guarantee are covered."""
        self.check(guarantee)
        return max(self._afford_basic(spent, guarantee), self._afford_zcdp(spent, guarantee))

    def subtract(self, spent: Amount) -> Amount:
        """Subtract what is spent. An accounting that is used up has 0 left."""
        epsilon, delta = self._subtract_basic(spent)
        rho = self._subtract_rho(spent)
        used_up = epsilon < 0 or delta < 0
        return Amount(
            epsilon=Fraction(0) if used_up else epsilon,
            delta=Fraction(0) if used_up else delta,
            rho=None if self.rho is None else max(Fraction(0), rho),
        )

    def write(self, amount: Amount, *, up: bool) -> str:
        """Write an amount in the numbers that this budget adds up, rounded up (for what is spent) or down."""
        parts = []
        if self.basic_delta is not None:
            parts.append(f"epsilon {write_rounded(amount.epsilon, up=up)}")
            if self.guarantee.delta or amount.delta:
                parts.append(f"delta {write_rounded(amount.delta, up=up)}")
        if self.rho is not None:
            parts.append("rho unknown" if amount.rho is None else f"rho {write_rounded(amount.rho, up=up)}")
        return ", ".join(parts)

    def write_left(self, spent: Amount) -> str:
        """Write what is left. With two accountings, say what each has left: one of them must cover all releases.

        >>> budget = Budget.plan(epsilon=1, delta="1e-6")
        >>> budget.write_left(Amount(epsilon=Fraction(2), rho=Fraction(0)))
        'nothing by basic accounting, or rho 0.0229374466 by zCDP accounting'
        """
        if self.accounting is not Accounting.BOTH:
            return self.write(self.subtract(spent), up=False)
        epsilon, delta = self._subtract_basic(spent)
        basic = f"epsilon {write_rounded(epsilon, up=False)}, delta {write_rounded(delta, up=False)}"
        rho = self._subtract_rho(spent)
        zcdp = "nothing" if rho < 0 else f"rho {write_rounded(rho, up=False)}"
        return f"{'nothing' if min(epsilon, delta) < 0 else basic} by basic accounting, or {zcdp} by zCDP accounting"

    def _afford_basic(self, spent: Amount, guarantee: Guarantee) -> int:
        epsilon, delta = self._subtract_basic(spent)
        if epsilon < 0 or delta < 0:
            return 0
        times = int(epsilon // guarantee.epsilon)
        return min(times, int(delta // guarantee.delta)) if guarantee.delta else times

    def _afford_zcdp(self, spent: Amount, guarantee: Guarantee) -> int:
        each, left = find_strongest_rho(guarantee), self._subtract_rho(spent)
        return 0 if each is None or left < 0 else int(left // each)

    def _subtract_basic(self, spent: Amount) -> tuple[Fraction, Fraction]:
        if self.basic_delta is None:
            return Fraction(-1), Fraction(-1)
        return self.guarantee.epsilon - spent.epsilon, self.basic_delta - spent.delta

    def _subtract_rho(self, spent: Amount) -> Fraction:
        return Fraction(-1) if self.rho is None or spent.rho is None else self.rho - spent.rho


def add_up(charges: Iterable[tuple[Guarantee, int]]) -> Amount:
    """Add up guarantees, each with how often it was charged.

    >>> add_up([(Guarantee(epsilon=Fraction(1, 3), rho=Fraction(1, 72)), 3)])
    Amount(epsilon=Fraction(1, 1), delta=Fraction(0, 1), rho=Fraction(1, 24))
    """
    epsilon, delta, rho = Fraction(0), Fraction(0), Fraction(0)
    known = True
    for guarantee, times in charges:
        epsilon += guarantee.epsilon * times
        delta += guarantee.delta * times
        each = find_strongest_rho(guarantee)
        known = known and each is not None
        rho += (each or 0) * times
    return Amount(epsilon=epsilon, delta=delta, rho=rho if known else None)


def write_rounded(number: Fraction, *, up: bool) -> str:
    """Write a number in few characters, rounded up or down.

    >>> write_rounded(Fraction(10**7, 3**20), up=True), write_rounded(Fraction(10**7, 3**20), up=False)
    ('0.002867972', '0.00286797199')
    """
    # Rounding the negative number up rounds the number itself down.
    return write_rounded_up(number) if up else write_rounded_up(-number).removeprefix("-")


def _read_delta(delta: Real) -> Fraction:
    allowed = read_rational(delta, name="delta")
    if not 0 <= allowed < 1:
        raise ParameterError("`delta` must be at least 0 and below 1", f"not {quote(delta)}", hint="try `delta=1e-6`")
    return allowed


def _read_accounting(accounting: str | None, delta: Fraction) -> Accounting:
    if accounting is None:
        return Accounting.BOTH if delta else Accounting.BASIC
    try:
        chosen = Accounting(accounting)
    except ValueError:
        raise ParameterError("`accounting` must be 'basic', 'zcdp' or 'both'", f"not {quote(accounting)}") from None
    if chosen is not Accounting.BASIC and not delta:
        raise ParameterError(
            "`accounting` must be 'basic' for a budget without delta",
            f"not {quote(accounting)}; rhos imply no epsilon without a delta",
            hint="pass `delta=1e-6` or `accounting='basic'`",
        )
    return chosen


def _read_share(share: Real | None, accounting: Accounting) -> Fraction:
    """Read the share of delta for the sum of epsilons and deltas."""
    if accounting is not Accounting.BOTH:
        if share is not None:
            raise ParameterError("`basic_share` must go with `accounting='both'`")
        return Fraction(accounting is Accounting.BASIC)
    read = Fraction(1, 2) if share is None else read_rational(share, name="basic_share")
    if not 0 <= read < 1:
        raise ParameterError(
            "`basic_share` must be from 0 to below 1", f"not {quote(share)}", hint="try `basic_share=1/2`"
        )
    return read
