"""The statement of a ledger: each charge, what is spent and what is left, at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shortlist.ledger.budget import Accounting, Amount, add_up, write_rounded
from shortlist.ledger.calendar import Calendar
from shortlist.ledger.charging import Ledger
from shortlist.ledger.rows import LARGEST_BITS, Charge, write_budget, write_guarantee
from shortlist.privacy.numbers import write_exact

SCHEMA = "shortlist.ledger/4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What was charged to a ledger until one moment."""

    ledger: Ledger
    charges: tuple[Charge, ...]

    @classmethod
    def read(cls, ledger: Ledger) -> Statement:
        """Read a ledger once, so that charges and sums belong together."""
        return cls(ledger=ledger, charges=ledger.charges)

    @property
    def spent(self) -> Amount:
        """The sum of the charges."""
        return add_up((charge.guarantee, 1) for charge in self.charges)

    @property
    def periods(self) -> tuple[str, ...]:
        """The periods that have charges, in their order."""
        return tuple(sorted({charge.period for charge in self.charges if charge.period is not None}))

    def spent_in(self, period: str) -> Amount:
        """The sum of the charges of one period."""
        return add_up((charge.guarantee, 1) for charge in self.charges if charge.period == period)

    @property
    def unfinished(self) -> tuple[int, ...]:
        """The charges without a finished release: it is still being made, or its run ended early."""
        return tuple(charge.number for charge in self.charges if charge.release is None)

    def summary(self) -> list[str]:
        """Write a few lines: the budget, what is spent and what is left."""
        ledger, budget, spent = self.ledger, self.ledger.budget, self.spent
        named = [f"Ledger: {ledger.id[:12]}", *([f"Population: {ledger.population}"] if ledger.population else [])]
        if ledger.calendar is not None:
            return [*named, *self._sum_up_periods(ledger.calendar), *self._name_unfinished()]
        lines = [
            *named,
            f"Budget: {budget.guarantee}",
            f"Accounting: {' and '.join(budget.list_left(spent))}",
            f"Spent:  {budget.write(spent, up=True)}",
            f"Left:   {budget.write_left(spent)}",
        ]
        if budget.accounting is Accounting.BOTH:
            lines += [
                f"Limits: {budget.write_left(Amount())}.",
                "Each accounting adds up all releases. A release is made if one of the two stays below its limits.",
            ]
        return lines + self._name_unfinished()

    def _sum_up_periods(self, calendar: Calendar) -> list[str]:
        """Write the budget of a period and what each one has spent of it, and the total."""
        budget, total = self.ledger.budget, calendar.total
        lines = [f"Budget in each {calendar.every}, {calendar.time_zone}: {budget.guarantee}"]
        for period in self.periods:
            spent = self.spent_in(period)
            lines.append(f"{period}: spent {budget.write(spent, up=True)}; left {budget.write_left(spent)}")
        if total is not None:
            lines.append(f"Total: {total.guarantee}")
            lines.append(f"Spent: {total.write(self.spent, up=True)}; left {total.write_left(self.spent)}")
        return lines

    def _name_unfinished(self) -> list[str]:
        numbers = ", ".join(map(str, self.unfinished))
        return [f"Charged without a finished release (in progress, or ended early): {numbers}"] if numbers else []

    def to_dict(self) -> dict[str, Any]:
        """Describe the statement by values of JSON. Numbers are texts, and exact if they are short."""
        ledger, spent = self.ledger, self.spent
        whole = ledger.budget if ledger.calendar is None else ledger.calendar.total
        described: dict[str, Any] = {
            "schema": SCHEMA,
            "ledger": ledger.id,
            "population": ledger.population,
            "budget": write_budget(ledger.budget, ledger.calendar),
            "spent": _write_amount(spent, up=True),
            "left": None if whole is None else _write_amount(whole.subtract(spent), up=False),
        }
        if ledger.calendar is not None:
            described["periods"] = {each: self._describe_period(each) for each in self.periods}
        return {
            **described,
            "unfinished": list(self.unfinished),
            "charges": [_describe(each) for each in self.charges],
        }

    def _describe_period(self, period: str) -> dict[str, Any]:
        spent = self.spent_in(period)
        left = _write_amount(self.ledger.budget.subtract(spent), up=False)
        return {"spent": _write_amount(spent, up=True), "left": left}


def _describe(charge: Charge) -> dict[str, Any]:
    return {
        "number": charge.number,
        "id": charge.id,
        "made": charge.made.isoformat(),
        "version": charge.version,
        "user": charge.user,
        "host": charge.host,
        "role": charge.role,
        "mechanism": charge.mechanism,
        "parameters": dict(charge.parameters),
        **write_guarantee(charge.guarantee),
        "period": charge.period,
        "time": charge.time,
        "note": charge.note,
        "once": charge.once,
        "finished": None if charge.finished is None else charge.finished.isoformat(),
        "release": charge.release,
    }


def _write_amount(amount: Amount, *, up: bool) -> dict[str, str | None]:
    """Write sums, exactly if they are short. A sum of many fractions may have thousands of digits."""

    def write(number: Fraction | None) -> str | None:
        if number is None:
            return None
        return write_exact(number) if number.denominator.bit_length() <= LARGEST_BITS else write_rounded(number, up=up)

    return {name: write(getattr(amount, name)) for name in ("epsilon", "delta", "rho", "rho_delta")}
