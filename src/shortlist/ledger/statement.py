"""The statement of a ledger: each charge, what is spent and what is left, at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple

from shortlist.ledger.budget import Accounting, Amount, Budget, add_up, write_rounded
from shortlist.ledger.calendar import Calendar
from shortlist.ledger.charging import Ledger
from shortlist.ledger.rows import LARGEST_BITS, Charge, write_budget, write_guarantee
from shortlist.periods import Every, Period, list_periods
from shortlist.privacy import Guarantee, compose
from shortlist.privacy.numbers import write_count, write_exact

SCHEMA = "shortlist.ledger/5"
_MOST_BARS = 16
_MOST_PERIODS = 4
"""How many periods are written in numbers. All of them are in the JSON."""
_MOST_PEOPLE = 5
"""How many of those who charged are named."""

_PLANNED = (
    "This holds if the number of releases and their epsilons were fixed before the first one. What the budget promises "
    "holds in any case."
)


class Bar(NamedTuple):
    """A time, how many releases were charged in it, and which share of the budget was spent at its end."""

    label: str
    charges: int
    share: Fraction


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
        return _add_up(self.charges)

    @property
    def promise(self) -> tuple[Guarantee, str]:
        """The budget for as many releases as there is one for, and which these are: all, or all of one period."""
        whole, calendar = self.ledger.whole, self.ledger.calendar
        if whole is not None or calendar is None:
            return (whole or self.ledger.budget).guarantee, "all releases"
        return self.ledger.budget.guarantee, f"all releases of one {calendar.every}"

    @property
    def periods(self) -> tuple[str, ...]:
        """The periods that have charges, in their order."""
        return tuple(sorted({charge.period for charge in self.charges if charge.period is not None}))

    def spent_in(self, period: str) -> Amount:
        """The sum of the charges of one period."""
        return _add_up(charge for charge in self.charges if charge.period == period)

    @property
    def unfinished(self) -> tuple[int, ...]:
        """The charges without a finished release: it is still being made, or its run ended early."""
        return tuple(charge.number for charge in self.charges if charge.release is None)

    @property
    def so_far(self) -> Guarantee | None:
        """What the releases so far promise together to one person, at the delta of the budget.

        It is at most the budget for all releases. With a delta it holds if results did not decide how many releases
        there are, nor their guarantees (budget.proof.md, What is not claimed). Without one, each sum of epsilons bounds
        the odds. In a ledger with periods, a person may have votes in all of them.
        """
        if not self.charges:
            return None
        (promised, _), calendar = self.promise, self.ledger.calendar
        unit = promised.unit if calendar is None else calendar.every.find_whole(promised.unit)
        return add_at([replace(each.guarantee, unit=unit) for each in self.charges], promised.delta)

    def draw(self) -> list[Bar]:
        """Say which share of the budget was spent, time by time: of each period, and of the total.

        Without periods, the time of all charges is divided into days, weeks, months, quarters or years.
        """
        budget, whole = self.ledger.budget, self.ledger.whole
        if self.ledger.calendar is None:
            return [self._draw_until(period) for period in self._list_times()]
        number = Counter(each.period for each in self.charges)
        bars = [Bar(each, number[each], budget.find_share(self.spent_in(each))) for each in self.periods[-_MOST_BARS:]]
        if bars and whole is not None:
            bars.append(Bar("total", len(self.charges), whole.find_share(self.spent)))
        return bars

    def _list_times(self) -> Sequence[Period]:
        """Divide the time of all charges into at most so many periods, as short as possible."""
        made = [each.made.date() for each in self.charges]
        if not made:
            return ()
        days = (max(made) - min(made)).days
        every = next((each for each in Every if days < _MOST_BARS * each.days), Every.YEAR)
        return list_periods(min(made), max(made), every)[-_MOST_BARS:]

    def _draw_until(self, period: Period) -> Bar:
        until = [each for each in self.charges if each.made.date() <= period.last]
        number = sum(each.made.date() >= period.first for each in until)
        return Bar(str(period), number, self.ledger.budget.find_share(_add_up(until)))

    @property
    def chart_title(self) -> str:
        """Say what the bars show."""
        calendar = self.ledger.calendar
        if calendar is None:
            return "Spent share of the budget over time"
        return f"Spent share of the budget of each {calendar.every}{' and of the total' * (calendar.total is not None)}"

    def name_people(self) -> str:
        """Name who charged, those with most charges first."""
        people = Counter(f"{each.role or each.user} on {each.host}" for each in self.charges)
        named = [f"{name} ({number:,})" for name, number in people.most_common(_MOST_PEOPLE)]
        more = len(people) - len(named)
        return ", ".join([*named, *([f"and {more:,} more"] if more else [])])

    def explain_so_far(self, so_far: Guarantee) -> tuple[str, str]:
        """Say for whom the guarantee of the releases so far is, if they are of periods, and what it promises, when."""
        several = len(self.charges) > 1
        whom = f" for a {so_far.unit} with votes in all of them" if several and self.ledger.calendar is not None else ""
        return whom, so_far.in_words + (f" {_PLANNED}" if several and so_far.delta else "")

    def _say_so_far(self) -> list[str]:
        so_far, number = self.so_far, len(self.charges)
        if so_far is None:
            return []
        whom, words = self.explain_so_far(so_far)
        pair = f"{write_pair(so_far)}{' together' * (number > 1)}"
        return [f"So far: {write_count(number, 'releases')}, {pair}{whom}. {words}"]

    def summary(self) -> list[str]:
        """Write a few lines: the budget and what it promises, what is spent and what is left, and who charged."""
        ledger, budget, spent = self.ledger, self.ledger.budget, self.spent
        named = [f"Ledger: {ledger.id[:12]}", *([f"Population: {ledger.population}"] if ledger.population else [])]
        if ledger.calendar is not None:
            return [*named, *self._sum_up_periods(ledger.calendar), *self._name_charged()]
        lines = [
            *named,
            f"Budget: {budget.guarantee}",
            f"Promise of all releases together, also of later ones: {budget.guarantee.in_words}",
            *self._say_so_far(),
            f"Accounting: {' and '.join(budget.list_left(spent))}",
            f"Spent:  {budget.write(spent, up=True)}",
            f"Left:   {budget.write_left(spent)}",
        ]
        if budget.accounting is Accounting.BOTH:
            lines += [
                f"Limits: {budget.write_left(Amount())}.",
                "Each accounting adds up all releases. A release is made if one of the two stays below its limits.",
            ]
        return lines + self._name_charged()

    def _sum_up_periods(self, calendar: Calendar) -> list[str]:
        """Write the budget of a period and what each one has spent of it, and the total."""
        budget, total = self.ledger.budget, calendar.total
        lines = [
            f"Budget in each {calendar.every}, {calendar.time_zone}: {budget.guarantee}",
            f"Promise of all releases of one {calendar.every} together: {budget.guarantee.in_words}",
        ]
        if len(self.periods) > _MOST_PERIODS:
            lines.append(f"{len(self.periods):,} periods have charges. The last of them:")
        for period in self.periods[-_MOST_PERIODS:]:
            spent = self.spent_in(period)
            lines.append(f"{period}: spent {budget.write(spent, up=True)}; left {budget.write_left(spent)}")
        if total is not None:
            lines += [
                f"Total: {total.guarantee}",
                f"Promise of all releases together, also of later ones: {total.guarantee.in_words}",
                f"Spent: {total.write(self.spent, up=True)}; left {total.write_left(self.spent)}",
            ]
        return [*lines, *self._say_so_far()]

    def _name_charged(self) -> list[str]:
        """Name who charged, and the charges without a finished release."""
        lines = [f"Charged by: {self.name_people()}"] if self.charges else []
        if self.unfinished:
            numbers = ", ".join(map(str, self.unfinished))
            lines.append(f"Charged without a finished release (in progress, or ended early): {numbers}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Describe the statement by values of JSON. Numbers are texts, and exact if they are short."""
        ledger, budget = self.ledger, self.ledger.budget
        described: dict[str, Any] = {
            "schema": SCHEMA,
            "ledger": ledger.id,
            "population": ledger.population,
            "budget": write_budget(budget, ledger.calendar),
            **_write_sums(self.spent, ledger.whole),
            "so_far": self.so_far and write_guarantee(self.so_far),
        }
        if ledger.calendar is not None:
            described["periods"] = {each: _write_sums(self.spent_in(each), budget) for each in self.periods}
        return {**described, "unfinished": list(self.unfinished), "charges": [_describe(each) for each in self.charges]}


def add_at(guarantees: Sequence[Guarantee], delta: Fraction) -> Guarantee:
    """State what releases promise together, at a delta. If they cannot do with that, it is added to what they need.

    >>> print(add_at([Guarantee(epsilon=1, delta="1e-6")] * 2, Fraction(1, 10**7)))
    (2, 2e-6)-DP (rho 0.924234316 with delta 2e-6) for one person, add-remove
    """
    sums = compose(guarantees)
    least = min(sums.delta, sums.rho_delta)
    allowed = delta if delta > least or delta >= sums.delta else delta + least
    return compose(guarantees, delta=allowed) if delta > 0 and allowed < 1 else sums


def _add_up(charges: Iterable[Charge]) -> Amount:
    return add_up((charge.guarantee, 1) for charge in charges)


def write_pair(guarantee: Guarantee) -> str:
    """Write the epsilon and the delta of a guarantee, rounded up.

    >>> write_pair(Guarantee(epsilon=1, delta="1e-6", rho="1/8"))
    '(1, 1e-6)-DP'
    """
    return str(replace(guarantee, rho=None, rho_delta=Fraction(0))).partition(" for one ")[0]


def _describe(charge: Charge) -> dict[str, Any]:
    values = {each.name: getattr(charge, each.name) for each in fields(charge) if each.name != "guarantee"}
    finished = None if charge.finished is None else charge.finished.isoformat()
    written = {"made": charge.made.isoformat(), "finished": finished, "parameters": dict(charge.parameters)}
    return {**values, **written, **write_guarantee(charge.guarantee)}


def _write_sums(spent: Amount, budget: Budget | None) -> dict[str, Any]:
    left = None if budget is None else _write_amount(budget.subtract(spent), up=False)
    return {"spent": _write_amount(spent, up=True), "left": left}


def _write_amount(amount: Amount, *, up: bool) -> dict[str, str | None]:
    """Write sums, exactly if they are short. A sum of many fractions may have thousands of digits."""
    written: dict[str, str | None] = dict.fromkeys(amount._fields)
    for name, number in amount._asdict().items():
        if number is not None:
            short = number.denominator.bit_length() <= LARGEST_BITS
            written[name] = write_exact(number) if short else write_rounded(number, up=up)
    return written
