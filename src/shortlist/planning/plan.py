"""A plan: how good a private list will be, for each mechanism, before any privacy is spent."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, overload

from shortlist.atomic_files import write_whole
from shortlist.errors import DataError, ParameterError
from shortlist.ledger import Budget
from shortlist.mechanisms import Joint, Mechanism
from shortlist.planning.advice import Advice, advise, needs_help
from shortlist.planning.candidates import Constraints
from shortlist.planning.collapse import Collapse, find_collapse
from shortlist.planning.commands import write_call, write_command
from shortlist.planning.forecast import SORTS, Forecast, forecast
from shortlist.planning.histograms import Histogram, invent_histogram, read_histogram
from shortlist.planning.wishes import Answer, Wish, find_epsilons
from shortlist.privacy.numbers import Real, quote, read_positive, read_whole, write_exact

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
DRAWS = 1000
_MOST_DRAWS = 10**6
_WISH_DRAWS = 400
"""How many lists are drawn for each epsilon that is tried for a wish."""

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What `plan` found: forecasts, the best first, advice, and the command to run."""

    histogram: Histogram
    constraints: Constraints
    budget: Budget
    forecasts: tuple[Forecast, ...]
    collapse: Collapse
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
        return str(self.advice)

    @property
    def table(self) -> list[dict[str, Any]]:
        """One row for each mechanism, the best first, as plain values: `pandas.DataFrame(plan.table)` shows them."""
        return [each.to_row() for each in self.forecasts]

    @property
    def command(self) -> str:
        """The command of the shell that makes the release. It reads votes.csv and catalogue.csv."""
        return write_command(self.best, item=self.planner.item)

    @property
    def call(self) -> str:
        """The call of Python that chooses the list."""
        return write_call(self.best)

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by values that JSON can hold."""
        best = self.best
        return {
            "schema": "shortlist.plan/1",
            "private": False,
            "source": self.histogram.source,
            "items": self.histogram.d,
            "k": best.k,
            "epsilon": write_exact(self.forecasts[0].mechanism.epsilon),
            "best": best.name,
            "why": self.why,
            "command": self.command,
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
        heads = ("mechanism", "recall", "exact list", "largest error", "total error")
        rows = "".join(
            f"<tr><td>{escape(each.label)}</td><td>{each.recall.mean:.3f}</td><td>{each.exact:.3f}</td>"
            f"<td>{each.largest.middle:,.0f}</td><td>{each.total.middle:,.0f}</td></tr>"
            for each in self.forecasts
        )
        head = "".join(f"<th>{each}</th>" for each in heads)
        return (
            f"<p>{escape(self.why)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<p><strong>{escape(NOT_PRIVATE)}</strong></p>"
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
    `like="zipf"` invents them from `items`, `people` and `exponent`. `delta`, `votes_per_person` and `ordered` say
    what is acceptable. `sort` names the measure to sort by: recall, exact, error, total, bound, releases or name.

    `want` is a wish such as "recall 0.9", "exact 0.5" or "error 20"; the plan then has the smallest epsilon for it.
    `budget_epsilon` and `budget_delta` are the budget whose number of releases is stated. Lists are drawn `draws` times
    with repeatable randomness. `item` is what the column of items is called in the command that the plan writes, and
    `progress` is called with each step when it starts.

    >>> made = plan(like="zipf", items=1000, people=10**5, k=10, epsilon=1)
    >>> made.best.name, round(made.forecasts[0].recall.mean, 2)
    ('auto', 1.0)
    >>> print(made.collapse.explain())
    An ordered list of 10 items is one of about 10^29 lists. At ε = 1 joint needs about 144 people at rank 10 for a
    list that is not mostly noise; you have 1,335. So joint does not collapse. Whether its list is exact depends on the
    gaps between the counts.
    """
    if isinstance(counts, Histogram):
        histogram = counts
    elif (counts is None) == (like is None):
        wrong = "neither was" if counts is None else "both were"
        raise ParameterError("{counts} or {like} must be given, and only one of them", wrong)
    elif like is not None:
        histogram = invent_histogram(
            like, items=items, people=people, exponent=exponent, votes_per_person=votes_per_person
        )
    else:
        invented = {"items": items, "people": people, "exponent": exponent}
        for name in (each for each, value in invented.items() if value is not None):
            raise ParameterError(f"{{{name}}} must go with {{like}}", "counts were given")
        histogram = read_histogram(counts)
    constraints = Constraints(delta=delta, votes_per_person=votes_per_person, ordered=ordered, neighbours=neighbours)
    size, limit = read_whole(k, name="k"), read_positive(epsilon, name="epsilon")
    _check_sort(sort)
    lists = _read_draws(draws)
    if size > histogram.d:
        raise DataError(
            "{k} must be at most the number of items",
            "k is {value}, and there are {d}",
            hint="ask for fewer items",
            value=size,
            d=histogram.d,
        )
    wish = None if want is None else Wish.read(want)
    planner = Planner(
        histogram=histogram,
        constraints=constraints,
        budget=Budget.plan(epsilon=budget_epsilon, delta=budget_delta, neighbours=constraints.neighbours),
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
        found = [self.look(each) for each in self.constraints.allow(k, epsilon).values()]
        forecasts = sorted(found, key=SORTS[self.sort])
        relaxed = self.constraints.relax(k, epsilon) if needs_help(forecasts[0]) else {}
        others = [self.look(each, words) for words, each in relaxed.items()]
        joint = Joint(k=k, epsilon=epsilon, neighbours=self.constraints.neighbours)
        collapse = find_collapse(self.histogram, joint)
        answers: Mapping[str, Answer] = {}
        if wish is not None:
            answers = find_epsilons(
                wish,
                self.constraints,
                k,
                lambda name, each: replace(self, draws=min(self.draws, _WISH_DRAWS), progress=_say_nothing).look(
                    self.constraints.allow(k, each)[name]
                ),
                self.progress,
            )
        return Plan(
            histogram=self.histogram,
            constraints=self.constraints,
            budget=self.budget,
            forecasts=tuple(forecasts),
            collapse=collapse,
            advice=advise(forecasts, others, collapse),
            wish=wish,
            answers=answers,
            planner=self,
        )

    def look(self, mechanism: Mechanism, label: str | None = None) -> Forecast:
        """Forecast one mechanism."""
        self.progress(f"Drawing {self.draws:,} lists of {mechanism.name}")
        return forecast(mechanism, self.histogram, budget=self.budget, draws=self.draws, seed=self.seed, label=label)


def _say_nothing(step: str) -> None:
    """Report no step."""


def _check_sort(sort: str) -> None:
    if sort not in SORTS:
        raise ParameterError("{sort} must be one of {names}", "not {value}", names=", ".join(SORTS), value=quote(sort))


def _read_draws(draws: int) -> int:
    number = read_whole(draws, name="draws")
    if number > _MOST_DRAWS:
        raise ParameterError("{draws} must be at most {most}", most=f"{_MOST_DRAWS:,}")
    return number
