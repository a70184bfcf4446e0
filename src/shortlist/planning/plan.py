"""A plan: how good a private list will be, for each mechanism, before any privacy is spent."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import partial
from html import escape
from typing import Any, overload

from shortlist.atomic_files import write_whole
from shortlist.errors import DataError, ParameterError, refuse_given
from shortlist.ledger import Budget
from shortlist.mechanisms import DEFAULT_MECHANISM, MECHANISMS, Mechanism, build_mechanism, find_kind
from shortlist.planning.advice import (
    EPSILONS,
    INVENTED,
    NOT_PRIVATE,
    Advice,
    Answer,
    Trial,
    Wish,
    advise,
    explain_answers,
    explain_limits,
    explain_trials,
    find_epsilon,
    find_least,
    needs_help,
    write_call,
    write_command,
)
from shortlist.planning.families import MOST_GROUPS, Family, invent_family, is_family, read_family
from shortlist.planning.forecast import SORTS, Forecast, forecast, forecast_family
from shortlist.planning.inputs import (
    FEW_VOTES,
    Constraints,
    Histogram,
    Limits,
    Shape,
    invent_histogram,
    read_histogram,
    read_number,
)
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_positive, read_rational, read_whole, write_exact

DRAWS = 400
"""How many lists are drawn. A share of 400 lists is within 0.05 of its probability in 95 of 100 cases. For each epsilon
that is tried for a wish, no more are drawn."""

_MOST_DRAWS = 10**6
_QUICK = 200
"""How many lists are drawn for each of the limits that are tried."""

Report = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What `plan` found: forecasts, the best first, advice, and the command to run."""

    histogram: Histogram | Family
    constraints: Constraints
    budget: Budget
    forecasts: tuple[Forecast, ...]
    tried: Mapping[str, tuple[Trial, ...]]
    """For an invented family: the limits that were tried with each mechanism."""
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
        hidden = set() if self.constraints.without_domain else {"items"}  # with a domain, every list has k items
        hidden |= set() if self.histogram.invented else {"kept"}
        return {
            each.name: {name: text for name, text in each.to_cells().items() if name not in hidden}
            for each in self.forecasts
        }

    @property
    def command(self) -> str:
        """The command of the shell that makes the release. It reads votes.csv, and catalogue.csv if it needs one."""
        return self.planner.write_command(self.best, self.forecasts[0].limits)

    @property
    def wish_command(self) -> str | None:
        """The command for the wish, with the smallest epsilon; None without a wish, or if no epsilon is enough."""
        least = find_least(self.answers, self.best.name)
        if least is None or least.epsilon is None:
            return None
        allowed = self.constraints.limit(least.limits).allow(self.best.k, least.epsilon)
        return self.planner.write_command(allowed[least.mechanism], least.limits)

    @property
    def call(self) -> str:
        """The call of Python that chooses the list."""
        weights = self.constraints.weights
        return write_call(self.best, limits=self.forecasts[0].limits, by=self.planner.by, weights=weights)

    @property
    def notes(self) -> list[str]:
        """What the limits in the command mean, and which were tried."""
        best = self.forecasts[0]
        found = [explain_limits(best.limits), explain_trials(best, self.tried.get(best.name, ()))]
        return [each for each in found if each is not None]

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
            "rho": None if constraints.rho is None else write_exact(constraints.rho),
            "delta": None if constraints.delta is None else write_exact(constraints.delta),
            "groups": constraints.groups,
            **asdict(constraints.limits),
            "max_weight": constraints.max_weight,
            "weight_unit": constraints.weight_unit if constraints.weights else None,
            "ordered": constraints.ordered,
            "neighbours": constraints.neighbours,
            "domain": not constraints.without_domain,
            "best": best.name,
            "why": self.why,
            "command": self.command,
            "wish_command": self.wish_command,
            "budget": str(self.budget.guarantee),
            "table": self.table,
            "limits_tried": [
                {"mechanism": name, **asdict(each.limits), "votes_kept": each.kept, "recall": each.recall}
                for name, trials in self.tried.items()
                for each in trials
            ],
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
        if self.constraints.rho is not None:
            raise refuse_page()
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
        limit = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        warning = INVENTED if self.histogram.invented else NOT_PRIVATE
        return (
            f"<p>{escape(self.why)}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<pre>{escape(self.command)}</pre>{wish}{limit}<p><strong>{escape(warning)}</strong></p>"
        )


def plan(
    counts: Any = None,
    *,
    k: int,
    epsilon: Real | None = None,
    rho: Real | None = None,
    delta: Real | None = None,
    votes_per_person: int | None = None,
    groups_per_person: int | None = None,
    max_weight: int | None = None,
    weight_unit: str | None = None,
    ordered: bool = True,
    neighbours: str = "add-remove",
    without_domain: bool = False,
    mechanism: str | Mechanism | Sequence[str | Mechanism] | None = None,
    like: str | None = None,
    exponent: Real | None = None,
    items: Real | None = None,
    people: Real | None = None,
    group_count: Real | None = None,
    votes_cast: Real | None = None,
    groups_visited: Real | None = None,
    sort: str = "recall",
    want: str | None = None,
    budget_epsilon: Real = 10,
    budget_delta: Real = "1e-6",
    draws: int = DRAWS,
    seed: int = 0,
    item: str | None = None,
    by: str | Sequence[str] | None = None,
    progress: Report = lambda step: None,
) -> Plan:
    """Forecast how good the private top k will be, for each mechanism that the constraints allow.

    `counts` are counts as for `top_k`: public, past or invented ones, because a plan is not private. Without counts,
    `like="zipf"` invents them from `items`, `people` and `exponent`: each person casts `votes_per_person` votes, or 1.
    `delta`, `votes_per_person` and `ordered` say what is acceptable. `without_domain` says that there is no public list
    of items; other mechanisms are forecast then, and `delta` is needed. `mechanism` adds one to those of this library,
    or several: one that another package registers, by its name, or an object with the same k, epsilon and neighbours.
    `sort` names the measure to sort by: recall, exact, error, total, bound, releases or name.

    With `max_weight`, counts are sums of weights, in `weight_unit`, to each of which one person adds at most that much.
    The plan divides them by it, and errors and bounds are in units of it, too.

    A family of lists is planned if `counts` is a mapping from each group to its counts, or if `group_count` says for
    how many groups counts are invented. `votes_per_person` and `groups_per_person` are its limits. Invented people cast
    `votes_cast` votes on average in up to `groups_visited` groups, and limits that are not given are chosen: those with
    the best forecast. The recall is stated for large, middle and small groups.

    With `rho` in place of `epsilon`, all mechanisms are compared at one rho (zCDP), as a budget of many lists does.

    `want` is a wish such as "recall 0.9", "exact 0.5" or "error 20"; the plan then has the smallest epsilon for it.
    `budget_epsilon` and `budget_delta` are the budget whose number of releases is stated. Lists are drawn `draws` times
    with repeatable randomness. `item` and `by` are what the columns of items and groups are called in the command that
    the plan writes, and `progress` is called with each step when it starts.

    >>> made = plan(like="zipf", items=1000, people=10**5, k=10, epsilon=1)
    >>> made.histogram.invented, round(made.forecasts[0].recall.mean, 2)
    (True, 1.0)
    >>> print(made.advice.rule)
    An ordered list of 10 items is one of about 10^29 lists. At ε = 1 joint is proven not to collapse if 144 people or
    more have the item at rank 10; you have 1,335. So joint does not collapse. Whether its list is exact depends on the
    gaps between the counts.
    >>> family = plan(like="zipf", items=1000, people=10**5, votes_cast=10, group_count=27, k=10, epsilon=1)
    >>> family.best.name, family.forecasts[0].limits, list(family.forecasts[0].by_size)
    ('joint', Limits(groups_per_person=1, votes_per_person=None), ['large', 'middle', 'small'])
    """
    if isinstance(k, Sequence) and not isinstance(k, str):
        raise ParameterError(
            "`k` must be one number in a plan",
            "not a range of sizes",
            hint="plan for the smallest and for the largest size; the page has a slider for k",
        )
    size, limit = read_whole(k, name="k"), None if epsilon is None else read_epsilon(epsilon)
    if (epsilon is None) == (rho is None):
        wrong = "neither was" if rho is None else "both were"
        raise ParameterError("`epsilon` or `rho` must be given, and only one of them", wrong, hint="try `epsilon=1`")
    if rho is not None and want is not None:
        raise ParameterError("`want` must go with `epsilon`", "it finds the smallest epsilon", hint="leave `want` out")
    if max_weight is None:
        refuse_given({"weight_unit": weight_unit}, "`max_weight`")
    if counts is not None:
        refuse_given({"group_count": group_count}, "`like`", "counts were given")
    groups = len(counts) if is_family(counts) else None
    if group_count is not None:
        groups = read_number(group_count, name="group_count", most=MOST_GROUPS)
    constraints = Constraints(
        delta=delta,
        rho=rho,
        votes_per_person=votes_per_person,
        groups=groups,
        groups_per_person=groups_per_person,
        max_weight=max_weight,
        weight_unit=weight_unit or "units",
        ordered=ordered,
        neighbours=neighbours,
        without_domain=without_domain,
        further=_read_further(mechanism, k=size, epsilon=limit, rho=rho, neighbours=neighbours),
    )
    if not isinstance(sort, str) or sort not in SORTS:
        raise ParameterError(f"`sort` must be one of {', '.join(SORTS)}", f"not {quote(sort)}")
    whole = read_positive(budget_epsilon, name="budget_epsilon")
    if not 0 <= (failure := read_rational(budget_delta, name="budget_delta")) < 1:
        raise ParameterError("`budget_delta` must be from 0 to 1, without 1", f"not {quote(budget_delta)}")
    lists = read_number(draws, name="draws", most=_MOST_DRAWS)
    wish = None if want is None else Wish.read(want, family=groups is not None)
    if (counts is None) == (like is None):
        wrong = "neither was" if counts is None else "both were"
        raise ParameterError("`counts` or `like` must be given, and only one of them", wrong)
    sizes = {"items": items, "people": people, "exponent": exponent}
    habits = {"votes_cast": votes_cast, "groups_visited": groups_visited}
    if counts is not None or groups is None:
        refuse_given(habits, "`group_count`", "there are no invented groups")
    if like is not None:
        histogram = _invent(like, sizes, constraints, habits)
    else:
        refuse_given(sizes, "`like`", "counts were given")
        histogram = _read(counts, constraints)
    _check_size(histogram, size, constraints)
    names = (by,) if isinstance(by, str) else tuple(by or ("group",))
    planner = Planner(
        histogram=histogram,
        constraints=constraints,
        budget=Budget.plan(epsilon=whole, delta=failure, neighbours=constraints.neighbours),
        draws=lists,
        seed=seed,
        sort=sort,
        item=item,
        by=names if groups is not None else (),
        progress=progress,
    )
    return planner.plan(size, limit, wish)


def refuse_page() -> ParameterError:
    """Answer a plan with rho that is to be a page."""
    return ParameterError(
        "a page must be of a plan with `epsilon`",
        "its slider is one for epsilon, and the plan has `rho`",
        hint="write the plan as JSON: `output='plan.json'`",
    )


def _read_further(given: Any, **common: Any) -> tuple[str | Mechanism, ...]:
    """Read the further mechanisms of a plan. An object that disagrees with the plan is refused."""
    listed = () if given is None else tuple(given) if isinstance(given, list | tuple) else (given,)
    return tuple(
        build_mechanism(each, **common) if isinstance(each, Mechanism) else find_kind(each).name for each in listed
    )


def _invent(
    like: str, sizes: Mapping[str, Real | None], constraints: Constraints, habits: Mapping[str, Any]
) -> Histogram | Family:
    if constraints.groups is not None:
        return invent_family(Shape.read(like, **sizes), constraints, **habits)
    histogram = invent_histogram(like, **sizes, votes_per_person=constraints.votes_per_person).weigh(constraints)
    return histogram.drop_unvoted() if constraints.without_domain else histogram


def _read(counts: Any, constraints: Constraints) -> Histogram | Family:
    if constraints.groups is not None:
        return read_family(counts, constraints)
    histogram = (counts if isinstance(counts, Histogram) else read_histogram(counts)).weigh(constraints)
    return histogram.drop_unvoted() if constraints.without_domain else histogram


def _check_size(histogram: Histogram | Family, k: int, constraints: Constraints) -> None:
    """Refuse a k above the number of items. Without a domain, a group of a family may have fewer items with votes."""
    least = histogram.d
    if isinstance(histogram, Family) and not constraints.without_domain:
        least = min(each.d for each in histogram.shown)
    if k > least:
        what = " with votes" if constraints.without_domain else " of each group" if constraints.groups else ""
        raise DataError(
            f"`k` must be at most the number of items{what}",
            f"k is {k}, and there are {least}",
            hint="ask for fewer items",
        )


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Everything of a plan but k and epsilon, so that it can be made for many of them."""

    histogram: Histogram | Family
    constraints: Constraints
    budget: Budget
    draws: int
    seed: int
    sort: str
    item: str | None
    by: tuple[str, ...]
    progress: Report
    limits: Mapping[str, Limits] = field(default_factory=dict)
    """The limits of some mechanisms, if they are chosen already."""

    def plan(self, k: int, epsilon: Any, wish: Wish | None = None) -> Plan:
        """Make the plan for one k and one epsilon."""
        tried = {name: self.try_limits(name, k, epsilon) for name in self.list_names(k, epsilon)}
        limits = {name: _choose_limits(trials) for name, trials in tried.items()}
        allowed = {name: self._build(name, k, epsilon, each) for name, each in limits.items()}
        forecasts = sorted((self.look(each, limits[name]) for name, each in allowed.items()), key=SORTS[self.sort])
        return Plan(
            histogram=self.histogram,
            constraints=self.constraints,
            budget=self.budget,
            forecasts=tuple(forecasts),
            tried={name: trials for name, trials in tried.items() if len(trials) > 1},
            advice=advise(
                self.histogram,
                forecasts,
                self._relax(k, epsilon) if needs_help(forecasts[0]) else {},
                str(self.budget.guarantee).partition(" for")[0],
            ),
            wish=wish,
            answers={}
            if wish is None
            else {name: self._answer(wish, each, limits[name]) for name, each in allowed.items()},
            planner=self,
        )

    def settle(self, k: int, epsilon: Any) -> Planner:
        """Return a planner that keeps the limits which are best for one k and one epsilon."""
        names = dict.fromkeys(self.list_names(k, epsilon), self)
        names |= {name: replace(self, constraints=relaxed) for relaxed, name in self.constraints.relax().values()}
        return replace(
            self, limits={name: _choose_limits(each.try_limits(name, k, epsilon)) for name, each in names.items()}
        )

    def list_names(self, k: int, epsilon: Any) -> list[str]:
        """List the mechanisms that are allowed. Where limits may be chosen, those that need one are, too."""
        constraints = self.constraints
        if isinstance(self.histogram, Family) and self.histogram.invented:
            given = constraints.limits
            constraints = constraints.limit(replace(given, votes_per_person=given.votes_per_person or 1))
        return list(constraints.allow(k, epsilon))

    def try_limits(self, name: str, k: int, epsilon: Any) -> tuple[Trial, ...]:
        """Forecast a mechanism for a family with each of the limits that may be best; the only ones are not tried."""
        given, family = self.limits.get(name, self.constraints.limits), self.histogram
        if name in self.limits or not isinstance(family, Family):
            return (Trial(limits=given),)
        kind = MECHANISMS[name]
        if name == DEFAULT_MECHANISM and family.invented:
            # Its candidates make lists or noise on all cells, so it gets the limits of each, and both together.
            candidates = self._build(name, k, epsilon, replace(given, votes_per_person=1)).candidates
            best = [_choose_limits(self.try_limits(each, k, epsilon)) for each in candidates]
            fewest = min(each.groups_per_person for each in best if each.groups_per_person is not None)
            listed = list(dict.fromkeys([*best, *(replace(each, groups_per_person=fewest) for each in best)]))
        else:
            needed = {each.name for each in fields(kind) if each.default is MISSING}
            listed = family.list_limits(given, on_votes="votes_per_person" in needed)
        if len(listed) == 1:
            return (Trial(limits=listed[0]),)
        quick = replace(self, draws=min(self.draws, _QUICK))
        looks = [quick.look(self._build(name, k, epsilon, each), each) for each in listed]
        return tuple(Trial(limits=each.limits, kept=each.kept, recall=each.recall.mean) for each in looks)

    def _build(self, name: str, k: int, epsilon: Any, limits: Limits) -> Mechanism:
        return self.constraints.limit(limits).allow(k, epsilon)[name]

    def _relax(self, k: int, epsilon: Any) -> dict[str, Forecast]:
        """Forecast what one change of the constraints would allow, by the change in words."""
        few: int | None = FEW_VOTES
        if self.histogram.invented:
            # Invented people cast one vote each if no limit is given. In a family, limits are chosen anyway.
            few = None if isinstance(self.histogram, Family) else 1
        found = {}
        for words, (constraints, name) in self.constraints.relax(few=few).items():
            other = replace(self, constraints=constraints)
            limits = _choose_limits(other.try_limits(name, k, epsilon))
            found[words] = other.look(other._build(name, k, epsilon, limits), limits)
        return found

    def _answer(self, wish: Wish, mechanism: Mechanism, limits: Limits) -> Answer:
        """Find the smallest epsilon for a wish. The best limits there may be others, so they are chosen once more."""
        quick, answers = replace(self, draws=min(self.draws, DRAWS)), []
        for _ in range(2):
            built = self._build(mechanism.name, mechanism.k, mechanism.epsilon, limits)
            answers.append(find_epsilon(wish, built, partial(quick.look, limits=limits), limits))
            again = self.try_limits(mechanism.name, mechanism.k, answers[-1].epsilon or EPSILONS[-1])
            if (limits := _choose_limits(again)) == answers[-1].limits:
                break
        return find_least({str(place): each for place, each in enumerate(answers)}, "") or answers[0]

    def write_command(self, mechanism: Mechanism, limits: Limits) -> str:
        """Write the command of the shell that releases a list by a mechanism."""
        weights = self.constraints.weights
        return write_command(mechanism, limits=limits, item=self.item, by=self.by, weights=weights)

    def look(self, mechanism: Mechanism, limits: Limits = Limits()) -> Forecast:  # noqa: B008 (frozen)
        """Forecast one mechanism."""
        at = "" if limits == Limits() else f", with at most {limits}"
        budget = (
            "ε = " + write_exact(mechanism.epsilon) if mechanism.rho is None else "ρ = " + write_exact(mechanism.rho)
        )
        self.progress(f"Drawing {self.draws:,} lists of {mechanism.name} at {budget}{at}")
        common: dict[str, Any] = {"budget": self.budget, "draws": self.draws, "seed": self.seed}
        if isinstance(self.histogram, Family):
            return forecast_family(mechanism, self.histogram, limits, **common)
        return replace(forecast(mechanism, self.histogram, **common), limits=limits)


def _choose_limits(trials: Sequence[Trial]) -> Limits:
    """Choose the limits with the best recall; of equally good ones, the first, which are the smallest."""
    return max(trials, key=lambda each: round(each.recall, 3)).limits
