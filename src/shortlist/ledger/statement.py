"""The statement of a ledger: each charge, what is spent and what is left, at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shortlist.ledger.budget import Accounting, Amount, Budget, add_up, write_rounded
from shortlist.ledger.charging import Ledger
from shortlist.ledger.file import LARGEST_BITS, Charge
from shortlist.privacy.numbers import write_exact

SCHEMA = "shortlist.ledger/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What was charged to a ledger until one moment."""

    ledger: str
    population: str | None
    budget: Budget
    charges: tuple[Charge, ...]

    @classmethod
    def read(cls, ledger: Ledger) -> Statement:
        """Read a ledger once, so that charges and sums belong together."""
        return cls(ledger=ledger.id, population=ledger.population, budget=ledger.budget, charges=ledger.charges)

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
        budget, spent = self.budget, self.spent
        lines = [
            f"Ledger: {self.ledger[:12]}",
            *([f"Population: {self.population}"] if self.population else []),
            f"Budget: {budget.guarantee}",
            f"Accounting: {budget.accounting.in_words}",
            f"Spent:  {budget.write(spent, up=True)}",
            f"Left:   {budget.write_left(spent)}",
        ]
        if budget.accounting is Accounting.BOTH:
            lines.append(f"Limits: {budget.write_left(Amount())}.")
            lines.append(
                "Each accounting adds up all releases. A release is made if one of the two stays below its limits."
            )
        if self.unfinished:
            numbers = ", ".join(map(str, self.unfinished))
            lines.append(f"Charged without a finished release (in progress, or ended early): {numbers}")
        return lines

    def write(self, charge: Charge) -> str:
        """Write what a charge adds to the sums."""
        return str(charge.guarantee).partition(" for one ")[0]

    def to_dict(self) -> dict[str, Any]:
        """Describe the statement by values of JSON. Numbers are texts, and exact if they are short."""
        ours, spent = self.budget.guarantee, self.spent
        return {
            "schema": SCHEMA,
            "ledger": self.ledger,
            "population": self.population,
            "budget": {
                "epsilon": write_exact(ours.epsilon),
                "delta": write_exact(ours.delta),
                "neighbours": str(ours.neighbours),
                "unit": ours.unit,
                "accounting": str(self.budget.accounting),
                "basic_delta": _text(self.budget.basic_delta),
                "rho": _text(self.budget.rho),
            },
            "spent": _amount(spent, up=True),
            "left": _amount(self.budget.subtract(spent), up=False),
            "unfinished": list(self.unfinished),
            "charges": [_charge(each) for each in self.charges],
        }


def _charge(charge: Charge) -> dict[str, Any]:
    guarantee = charge.guarantee
    return {
        "number": charge.number,
        "id": charge.id,
        "made": charge.made.isoformat(),
        "version": charge.version,
        "mechanism": charge.mechanism,
        "parameters": dict(charge.parameters),
        "epsilon": write_exact(guarantee.epsilon),
        "delta": write_exact(guarantee.delta),
        "rho": _text(guarantee.rho),
        "note": charge.note,
        "finished": None if charge.finished is None else charge.finished.isoformat(),
        "release": charge.release,
    }


def _amount(amount: Amount, *, up: bool) -> dict[str, str | None]:
    return {
        name: None if number is None else write_exact(number) if _is_short(number) else write_rounded(number, up=up)
        for name, number in (("epsilon", amount.epsilon), ("delta", amount.delta), ("rho", amount.rho))
    }


def _is_short(number: Fraction) -> bool:
    """Whether a number has few digits. A sum of many fractions may have thousands."""
    return number.denominator.bit_length() <= LARGEST_BITS


def _text(number: Fraction | None) -> str | None:
    return None if number is None else write_exact(number)
