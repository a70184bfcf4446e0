"""A privacy budget, what charges add up to, and whether one more charge is covered.

Claim  All releases that a budget covers satisfy (ε, δ)-DP together, also if each is chosen after seeing the earlier
       ones, for the neighbour relation and the unit of the budget.
Proof  budget.proof.md. Sums are exact rationals. The only rounded number is the ρ of the budget, rounded down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from shortlist.errors import BudgetError, ParameterError, refuse_given
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.composition import find_strongest_rho
from shortlist.privacy.numbers import Choice, Real, quote, read_positive, read_rational, write_rounded_up
from shortlist.privacy.zcdp import find_rho


class Accounting(Choice):
    """How charges are added up. It is fixed when a ledger is created."""

    BASIC = "basic"
    """Epsilons and deltas are added up."""
    ZCDP = "zcdp"
    """Rhos and rho_deltas are added up. The limits for both imply the budget's epsilon and delta."""
    BOTH = "both"
    """Both, each with a share of delta. A release is covered if one of them covers all releases so far."""


class Amount(NamedTuple):
    """The sums that are spent or left. What is left of rho and rho_delta is None if the accounting has no rho."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = Fraction(0)
    rho_delta: Fraction | None = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The (ε, δ) that all releases of a ledger may have together, and how they are added up.

    `basic_delta` is the share of delta for the sum of epsilons and deltas. `rho` and `rho_delta` are the limits for the
    sums of rhos and rho_deltas. Each is None if the accounting does not use it.

    >>> budget = Budget.plan(epsilon=10, delta="1e-6", accounting="zcdp")
    >>> budget.afford(Amount(), Guarantee(epsilon=Fraction(1, 2), rho=Fraction(1, 32)))
    48
    """

    guarantee: Guarantee
    accounting: Accounting
    basic_delta: Fraction | None
    rho: Fraction | None
    rho_delta: Fraction | None

    @classmethod
    def plan(
        cls,
        *,
        epsilon: Real,
        delta: Real = 0,
        accounting: str | None = None,
        basic_share: Real | None = None,
        rho_delta_share: Real | None = None,
        neighbours: str = "add-remove",
        unit: str = "person",
        prefix: str = "",
    ) -> Budget:
        """Build a budget. The default accounting is `both`, or `basic` if delta is 0.

        Of the delta that basic accounting leaves, `rho_delta_share` is for the sum of rho_deltas, by default a tenth.
        The rest is for the conversion of the sum of rhos. Errors name epsilon and delta with the prefix.
        """
        name = f"{prefix}delta"
        limit, allowed = read_positive(epsilon, name=f"{prefix}epsilon"), read_rational(delta, name=name)
        if not 0 <= allowed < 1:
            raise ParameterError(
                f"`{name}` must be at least 0 and below 1", f"not {quote(delta)}", hint=f"try `{name}=1e-6`"
            )
        chosen = _read_accounting(accounting, allowed, name)
        # Basic accounting alone has all of delta.
        share = _read_share("basic_share", basic_share, chosen) or Fraction(chosen is Accounting.BASIC)
        failures = allowed * (1 - share) * _read_share("rho_delta_share", rho_delta_share, chosen)
        return cls(
            guarantee=Guarantee(epsilon=limit, delta=allowed, neighbours=Neighbours.read(neighbours), unit=unit),
            accounting=chosen,
            basic_delta=None if chosen is Accounting.ZCDP else allowed * share,
            rho=None if chosen is Accounting.BASIC else find_rho(limit, allowed * (1 - share) - failures),
            rho_delta=None if chosen is Accounting.BASIC else failures,
        )

    def list_left(self, spent: Amount) -> dict[str, dict[str, Fraction]]:
        """List what each accounting that is used has left, number by number. One below 0 means that it is exceeded.

        >>> Budget.plan(epsilon=1).list_left(Amount(epsilon=Fraction(1, 3)))
        {'basic': {'epsilon': Fraction(2, 3), 'delta': Fraction(0, 1)}}
        """
        left = {}
        if self.basic_delta is not None:
            left["basic"] = {"epsilon": self.guarantee.epsilon - spent.epsilon, "delta": self.basic_delta - spent.delta}
        if self.rho is not None and self.rho_delta is not None:
            left["zCDP"] = {"rho": self.rho - (spent.rho or 0), "rho_delta": self.rho_delta - (spent.rho_delta or 0)}
        return left

    def check(self, guarantee: Guarantee) -> None:
        """Refuse a guarantee that can never be added to the others."""
        if not isinstance(guarantee, Guarantee):
            raise ParameterError("`guarantee` must be a guarantee", f"not {type(guarantee).__name__}")
        for name in ("neighbours", "unit"):
            ours, theirs = str(getattr(self.guarantee, name)), str(getattr(guarantee, name))
            if theirs != ours:
                raise ParameterError(
                    f"`{name}` must be {quote(ours)}, as in the ledger",
                    f"not {quote(theirs)}; guarantees that differ in it do not add up",
                    hint=f"pass the `{name}` of the ledger, or use another ledger",
                )
        if not guarantee.epsilon or guarantee.rho == 0:
            raise ParameterError("`epsilon` must be above 0 to be charged")

    def restate(self, guarantee: Guarantee) -> Guarantee:
        """State a guarantee for the unit of this budget. Whether it implies that, the caller knows."""
        return replace(guarantee, unit=self.guarantee.unit)

    def afford(self, spent: Amount, guarantee: Guarantee) -> int:
        """Count how many more releases with this guarantee are covered."""
        self.check(guarantee)
        needed = add_up([(guarantee, 1)])
        return max(_divide(left, needed) for left in self.list_left(spent).values())

    def refuse(self, spent: Amount, guarantee: Guarantee, name: str = "the budget", *, before: str = "") -> BudgetError:
        """Make the error for a release that is not covered: what is left, what it needs, and what to do about it.

        `before` stands before the advice.
        """
        return BudgetError(
            f"{name} is {self.guarantee}",
            f"{self.write_left(spent)} is left; this release needs {guarantee}",
            hint=f"{before}{self._advise(spent, guarantee)}",
        )

    def subtract(self, spent: Amount) -> Amount:
        """Subtract what is spent. An accounting that is used up has 0 left."""
        left: dict[str, Any] = {"rho": None, "rho_delta": None}
        for each in self.list_left(spent).values():
            left |= each if min(each.values()) >= 0 else dict.fromkeys(each, Fraction(0))
        return Amount(**left)

    def find_share(self, spent: Amount) -> Fraction:
        """Find which share of the budget is spent, by the accounting with most left: its largest sum against its limit.

        >>> Budget.plan(epsilon=2).find_share(Amount(epsilon=Fraction(1, 2)))
        Fraction(1, 4)
        """
        limits, shares = self.list_left(Amount()), [Fraction(1)]
        for name, left in self.list_left(spent).items():
            if min(left.values()) >= 0:
                shares.append(max(1 - left[each] / limit for each, limit in limits[name].items() if limit))
        return min(shares)

    def write(self, amount: Amount, *, up: bool) -> str:
        """Write an amount in the numbers that this budget adds up, rounded up (for what is spent) or down."""
        numbers = {name: getattr(amount, name) for each in self.list_left(amount).values() for name in each}
        if not self.guarantee.delta and not amount.delta:
            numbers.pop("delta", None)
        return _write_numbers(numbers, up=up)

    def write_left(self, spent: Amount) -> str:
        """Write what is left. With two accountings, say what each has left: one of them must cover all releases.

        >>> budget = Budget.plan(epsilon=1, delta="1e-6")
        >>> budget.write_left(Amount(epsilon=Fraction(2), rho=Fraction(0)))
        'nothing by basic accounting, or rho 0.02..., rho_delta 5e-8 by zCDP accounting'
        """
        if self.accounting is not Accounting.BOTH:
            return self.write(self.subtract(spent), up=False)
        return ", or ".join(
            f"{'nothing' if min(left.values()) < 0 else _write_numbers(left, up=False)} by {name} accounting"
            for name, left in self.list_left(spent).items()
        )

    def _advise(self, spent: Amount, guarantee: Guarantee) -> str:
        if not guarantee.delta:
            return "ask for a smaller `epsilon`, or see `shortlist ledger show`"
        if not self.guarantee.delta:
            return (
                "the budget has no delta, so it covers no release with one: leave `delta` out, which needs a `domain`, "
                "or use a ledger that has a delta"
            )
        failure = find_strongest_rho(guarantee)[1]
        if self.rho_delta is None or (spent.rho_delta or 0) + failure <= self.rho_delta:
            return "ask for a smaller `epsilon` or `delta`, or see `shortlist ledger show`"
        limits = f"zCDP accounting may spend {write_rounded(self.rho_delta, up=False)}"
        if self.basic_delta is not None:
            limits = f"basic accounting may spend {write_rounded(self.basic_delta, up=False)} of delta, and {limits}"
        return (
            f"this release needs {write_rounded_up(failure)} of delta beside its rho; {limits} (`shortlist ledger "
            "show` prints the limits): ask for a smaller `delta`, or use a ledger with `accounting='basic'` or with a "
            "larger `rho_delta_share`"
        )


def add_up(charges: Iterable[tuple[Guarantee, int]]) -> Amount:
    """Add up guarantees, each with how often it was charged.

    >>> add_up([(Guarantee(epsilon=Fraction(1, 3), rho=Fraction(1, 72)), 3)])
    Amount(epsilon=Fraction(1, 1), delta=Fraction(0, 1), rho=Fraction(1, 24), rho_delta=Fraction(0, 1))
    """
    epsilon, delta, rho, rho_delta = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for guarantee, times in charges:
        each, failure = find_strongest_rho(guarantee)
        epsilon += guarantee.epsilon * times
        delta += guarantee.delta * times
        rho += each * times
        rho_delta += failure * times
    return Amount(epsilon=epsilon, delta=delta, rho=rho, rho_delta=rho_delta)


def write_rounded(number: Fraction, *, up: bool) -> str:
    """Write a number in few characters, rounded up or down.

    >>> write_rounded(Fraction(10**7, 3**20), up=True), write_rounded(Fraction(10**7, 3**20), up=False)
    ('0.002867972', '0.00286797199')
    """
    # Rounding the negative number up rounds the number itself down.
    return write_rounded_up(number) if up else write_rounded_up(-number).removeprefix("-")


def _divide(left: Mapping[str, Fraction], needed: Amount) -> int:
    """Count how often an amount goes into what one accounting has left."""
    pairs = [(number, getattr(needed, name)) for name, number in left.items()]
    if any(number < 0 for number, _ in pairs):
        return 0
    return min(int(number // each) for number, each in pairs if each)


def _write_numbers(numbers: Mapping[str, Fraction | None], *, up: bool) -> str:
    return ", ".join(f"{name} {write_rounded(each, up=up)}" for name, each in numbers.items() if each is not None)


def _read_accounting(accounting: str | None, delta: Fraction, name: str) -> Accounting:
    if accounting is None:
        return Accounting.BOTH if delta else Accounting.BASIC
    chosen = Accounting.read(accounting)
    if chosen is not Accounting.BASIC and not delta:
        raise ParameterError(
            "`accounting` must be 'basic' for a budget without delta",
            f"not {quote(accounting)}; rhos imply no epsilon without a delta",
            hint=f"pass `{name}=1e-6` or `accounting='basic'`",
        )
    return chosen


_SHARES = {
    "basic_share": (Fraction(1, 2), (Accounting.BOTH,)),
    "rho_delta_share": (Fraction(1, 10), (Accounting.ZCDP, Accounting.BOTH)),
}
"""The shares of delta that can be chosen: the usual one, and the accountings that have it."""


def _read_share(name: str, share: Real | None, accounting: Accounting) -> Fraction:
    """Read a share of delta. It is 0 if the accounting does not have it."""
    usual, having = _SHARES[name]
    if accounting not in having:
        refuse_given({name: share}, " or ".join(f"`accounting={str(each)!r}`" for each in having))
        return Fraction(0)
    read = usual if share is None else read_rational(share, name=name)
    if not 0 <= read < 1:
        raise ParameterError(f"`{name}` must be from 0 to below 1", f"not {quote(share)}", hint=f"try `{name}={usual}`")
    return read
