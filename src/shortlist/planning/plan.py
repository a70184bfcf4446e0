"""A plan: how good a private list will be, for each mechanism, before any privacy is spent."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, overload

from shortlist.atomic_files import write_whole
from shortlist.errors import ParameterError
from shortlist.ledger import Budget
from shortlist.mechanisms import Mechanism
from shortlist.planning.advice import (
    INVENTED,
    NOT_PRIVATE,
    Advice,
    Answer,
    Wish,
    advise,
    explain_answers,
    explain_limit,
    find_epsilon,
    find_least,
    needs_help,
    write_call,
    write_command,
)
from shortlist.planning.forecast import SORTS, Forecast, forecast
from shortlist.planning.inputs import FEW_VOTES, Constraints, Histogram, read_number, take_histogram
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_positive, read_rational, read_whole, write_exact

DRAWS = 400
"""How many lists are drawn. A share of 400 lists is within 0.05 of its probability in 95 of 100 cases. For each epsilon
that is tried for a wish, no more are drawn."""

_MOST_DRAWS = 10**6

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What `plan` found: forecasts, the best first, advice, and the command to run."""

    histogram: Histogram
    constraints: Constraints
    budget: Budget
    forecasts: tuple[Forecast, ...]
    advice: Advice
    wish: Wish | None
    answers: Mapping[str, Answer]
    """With a wish: the smallest epsilon of each mechanism."""
    planner: Planner
    """What makes the plan for other values of k and epsilon."""

    def __repr__(self) -> str:
        return f"Plan({self.histogram.source}: {self.best!r}, recall {self.forecasts[0].recall.mean:.3f})"

    @property
    def best(self) -> Mechanism:
        """The mechanism that is advised."""
        return self.forecasts[0].mechanism

    @property
    def why(self) -> str:
        """Why, in words."""
        return " ".join([str(self.advice), *([] if self.wish is None else [explain_answers(self.wish, self.answers)])])

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each mechanism, the best first, as plain values: `pandas.DataFrame(plan.table)` shows them."""
        return [each.to_row() for each in self.forecasts]

    @property
    def cells(self) -> dict[str, dict[str, str]]:
        """The table as people read it: the texts of each mechanism by the names of the columns, the best first."""
        hidden = () if self.constraints.without_domain else ("items",)  # with a domain, every list has k items
        return {
            each.name: {name: text for name, text in each.to_cells().items() if name not in hidden}
            for each in self.forecasts
        }

    @property
    def command(self) -> str:
        """The command of the shell that makes the release. It reads votes.csv, and catalogue.csv if it needs one."""
        return self.planner.write_command(self.best)

    @property
    def wish_command(self) -> str | None:
        """The command for the wish, with the smallest epsilon; None without a wish, or if no epsilon is enough."""
        least = find_least(self.answers, self.best.name)
        if least is None or least.epsilon is None:
            return None
        allowed = self.constraints.allow(self.best.k, least.epsilon)
        return self.planner.write_command(allowed[least.mechanism])

    @property
    def call(self) -> str:
        """The call of Python that chooses the list."""
        return write_call(self.best, votes_per_person=self.constraints.votes_per_person)

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by values that JSON can hold."""
        best, constraints = self.best, self.constraints
        return {
            "schema": "shortlist.plan/1",
            "private": False,
            "source": self.histogram.source,
            "items": self.histogram.d,
            "k": best.k,
            "epsilon": write_exact(best.epsilon),
            "delta": None if constraints.delta is None else write_exact(constraints.delta),
            "votes_per_person": constraints.votes_per_person,
            "ordered": constraints.ordered,
            "neighbours": constraints.neighbours,
            "domain": not constraints.without_domain,
            "best": best.name,
            "why": self.why,
            "command": self.command,
            "wish_command": self.wish_command,
            "budget": str(self.budget.guarantee),
            "table": self.table,
            "want": None if self.wish is None else str(self.wish),
            "smallest_epsilon": {
                name: None if each.epsilon is None else write_exact(each.epsilon) for name, each in self.answers.items()
            },
        }

    def to_csv(self) -> str:
        """Write the table as CSV text."""
        text = io.StringIO()
        rows = [{**row, "chosen": "" if row["chosen"] is None else json.dumps(row["chosen"])} for row in self.table]
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    @overload
    def to_json(self) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str], *, force: bool = ...) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None, *, force: bool = False) -> str | None:
        """Write the plan as JSON, to a file or as text."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        if path is None:
            return text
        write_whole(path, lambda file: file.write(text.encode()), force=force)
        return None

    def to_html(
        self, path: str | os.PathLike[str], *, force: bool = False, progress: Report = lambda step: None
    ) -> None:
        """Write the page: one file that needs no network, with the plan for other values of epsilon and k as well."""
        from shortlist.planning.page import write_page

        text = write_page(self, progress=progress)
        write_whole(path, lambda file: file.write(text.encode()), force=force)

    def _repr_html_(self) -> str:
        """Write the advice, the table and the command as HTML, for notebooks."""
        cells = self.cells
        head = "".join(f"<th>{each}</th>" for each in ("mechanism", *next(iter(cells.values()))))
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in (name, *row.values()))}</tr>"
            for name, row in cells.items()
        )
        wish = "" if self.wish_command is None else f"<p>For your wish:</p><pre>{escape(self.wish_command)}</pre>"
        note = explain_limit(self.constraints.votes_per_person)
        limit = "" if note is None else f"<p>{escape(note)}</p>"
        warning = INVENTED if self.histogram.invented else NOT_PRIVATE
        return (
            f"<p>{escape(self.why)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<pre>{escape(self.command)}</pre>{wish}{limit}<p><strong>{escape(warning)}</strong></p>"
        )


def plan(
    counts: Any = None,
    *,
    k: int,
    epsilon: Real,
    delta: Real | None = None,
    votes_per_person: int | None = None,
    ordered: bool = True,
    neighbours: str = "add-remove",
    without_domain: bool = False,
    like: str | None = None,
    exponent: Real | None = None,
    items: Real | None = None,
    people: Real | None = None,
    sort: str = "recall",
    want: str | None = None,
    budget_epsilon: Real = 10,
    budget_delta: Real = "1e-6",
    draws: int = DRAWS,
    seed: int = 0,
    item: str | None = None,
    progress: Report = lambda step: None,
) -> Plan:
    """Forecast how good the private top k will be, for each mechanism that the constraints allow.

    `counts` are counts as for `top_k`: public, past or invented ones, because a plan is not private. Without counts,
    `like="zipf"` invents them from `items`, `people` and `exponent`: each person casts `votes_per_person` votes, or 1.
    `delta`, `votes_per_person` and `ordered` say what is acceptable. `without_domain` says that there is no public list
    of items; other mechanisms are forecast then, and `delta` is needed. `sort` names the measure to sort by: recall,
    exact, error, total, bound, releases or name.

    `want` is a wish such as "recall 0.9", "exact 0.5" or "error 20"; the plan then has the smallest epsilon for it.
    `budget_epsilon` and `budget_delta` are the budget whose number of releases is stated. Lists are drawn `draws` times
    with repeatable randomness. `item` is what the column of items is called in the command that the plan writes, and
    `progress` is called with each step when it starts.

    >>> made = plan(like="zipf", items=1000, people=10**5, k=10, epsilon=1)
    >>> made.histogram.invented, round(made.forecasts[0].recall.mean, 2)
    (True, 1.0)
    >>> print(made.advice.rule)
    An ordered list of 10 items is one of about 10^29 lists. At ε = 1 joint is proven not to collapse if 144 people or
    more have the item at rank 10; you have 1,335. So joint does not collapse. Whether its list is exact depends on the
    gaps between the counts.
    """
    if isinstance(k, Sequence) and not isinstance(k, str):
        raise ParameterError(
            "`k` must be one number in a plan",
            "not a range of sizes",
            hint="plan for the smallest and for the largest size; the page has a slider for k",
        )
    size, limit = read_whole(k, name="k"), read_epsilon(epsilon)
    constraints = Constraints(
        delta=delta,
        votes_per_person=votes_per_person,
        ordered=ordered,
        neighbours=neighbours,
        without_domain=without_domain,
    )
    if not isinstance(sort, str) or sort not in SORTS:
        raise ParameterError(f"`sort` must be one of {', '.join(SORTS)}", f"not {quote(sort)}")
    whole = read_positive(budget_epsilon, name="budget_epsilon")
    if not 0 <= (failure := read_rational(budget_delta, name="budget_delta")) < 1:
        raise ParameterError("`budget_delta` must be from 0 to 1, without 1", f"not {quote(budget_delta)}")
    lists, wish = read_number(draws, name="draws", most=_MOST_DRAWS), None if want is None else Wish.read(want)
    planner = Planner(
        histogram=take_histogram(counts, size, constraints, like, items, people, exponent),
        constraints=constraints,
        budget=Budget.plan(epsilon=whole, delta=failure, neighbours=constraints.neighbours),
        draws=lists,
        seed=seed,
        sort=sort,
        item=item,
        progress=progress,
    )
    return planner.plan(size, limit, wish)


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Everything of a plan but k and epsilon, so that it can be made for many of them."""

    histogram: Histogram
    constraints: Constraints
    budget: Budget
    draws: int
    seed: int
    sort: str
    item: str | None
    progress: Report

    def plan(self, k: int, epsilon: Any, wish: Wish | None = None) -> Plan:
        """Make the plan for one k and one epsilon."""
        allowed, quick = self.constraints.allow(k, epsilon), replace(self, draws=min(self.draws, DRAWS))
        forecasts = sorted(map(self.look, allowed.values()), key=SORTS[self.sort])
        # Invented people cast one vote each if no limit is given, so that is the limit to propose.
        few = 1 if self.histogram.invented else FEW_VOTES
        relaxed = self.constraints.relax(k, epsilon, few=few) if needs_help(forecasts[0]) else {}
        others = {words: self.look(each) for words, each in relaxed.items()}
        return Plan(
            histogram=self.histogram,
            constraints=self.constraints,
            budget=self.budget,
            forecasts=tuple(forecasts),
            advice=advise(self.histogram, forecasts, others),
            wish=wish,
            answers={}
            if wish is None
            else {name: find_epsilon(wish, each, quick.look) for name, each in allowed.items()},
            planner=self,
        )

    def write_command(self, mechanism: Mechanism) -> str:
        """Write the command of the shell that releases a list by a mechanism."""
        return write_command(mechanism, votes_per_person=self.constraints.votes_per_person, item=self.item)

    def look(self, mechanism: Mechanism) -> Forecast:
        """Forecast one mechanism."""
        self.progress(f"Drawing {self.draws:,} lists of {mechanism.name} at ε = {write_exact(mechanism.epsilon)}")
        return forecast(mechanism, self.histogram, budget=self.budget, draws=self.draws, seed=self.seed)
