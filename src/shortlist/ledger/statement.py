"""The statement of a ledger: each charge, what is spent and what is left, at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shortlist.ledger.budget import Accounting, Amount, add_up, write_rounded
from shortlist.ledger.charging import Ledger
from shortlist.ledger.rows import LARGEST_BITS, Charge, write_budget, write_guarantee
from shortlist.privacy.numbers import write_exact

SCHEMA = "shortlist.ledger/3"


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
    def unfinished(self) -> tuple[int, ...]:
        """The charges without a finished release: it is still being made, or its run ended early."""
        return tuple(charge.number for charge in self.charges if charge.release is None)

    def summary(self) -> list[str]:
        """Write a few lines: the budget, what is spent and what is left."""
        ledger, budget, spent = self.ledger, self.ledger.budget, self.spent
        lines = [
            f"Ledger: {ledger.id[:12]}",
            *([f"Population: {ledger.population}"] if ledger.population else []),
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
        if self.unfinished:
            numbers = ", ".join(map(str, self.unfinished))
            lines.append(f"Charged without a finished release (in progress, or ended early): {numbers}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Describe the statement by values of JSON. Numbers are texts, and exact if they are short."""
        budget, spent = self.ledger.budget, self.spent
        return {
            "schema": SCHEMA,
            "ledger": self.ledger.id,
            "population": self.ledger.population,
            "budget": write_budget(budget),
            "spent": _write_amount(spent, up=True),
            "left": _write_amount(budget.subtract(spent), up=False),
            "unfinished": list(self.unfinished),
            "charges": [_describe(each) for each in self.charges],
        }


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
