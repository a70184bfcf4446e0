"""A plan: how good a private list will be, for each mechanism, before any privacy is spent."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from html import escape
from typing import Any, overload

from shortlist.atomic_files import PathLike, write_whole
from shortlist.errors import DataError, ParameterError, refuse_given
from shortlist.ledger.budget import Budget
from shortlist.mechanisms import DEFAULT_MECHANISM, MECHANISMS, Mechanism, build_mechanism, find_kind
from shortlist.planning.advice import (
    EPSILONS,
    INVENTED,
    NOT_PRIVATE,
    Advice,
    Answer,
    Wish,
    advise,
    explain_answers,
    find_epsilon,
    find_least,
    needs_help,
    write_call,
    write_command,
)
from shortlist.planning.constraints import FEW_VOTES, Constraints
from shortlist.planning.counts import MOST_GROUPS, Counts, invent_counts, read_given, read_number
from shortlist.planning.forecast import SORTS, Forecast, forecast
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

    planner: Planner
    """What the plan is made from. It makes the plan for other values of k and epsilon, too."""
    forecasts: tuple[Forecast, ...]
    tried: Mapping[str, tuple[Forecast, ...]]
    """For an invented family: the forecasts with the limits that were tried with each mechanism."""
    advice: Advice
    wish: Wish | None
    answers: Mapping[str, Answer]
    """With a wish: the smallest epsilon of each mechanism."""

    def __repr__(self) -> str:
        return f"Plan({self.planner.counts.source}: {self.best!r}, recall {self.forecasts[0].recall.mean:.3f})"

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
        hidden = set() if self.planner.constraints.without_domain else {"items"}  # else every list has k items
        hidden |= set() if self.planner.counts.invented else {"kept"}
        return {
            each.name: {name: text for name, text in each.to_cells().items() if name not in hidden}
            for each in self.forecasts
        }

    @property
    def command(self) -> str:
        """The command of the shell that makes the release. It reads votes.csv, and catalogue.csv if it needs one."""
        return self.planner.write_command(self.best, self.forecasts[0].constraints)

    @property
    def wish_command(self) -> str | None:
        """The command for the wish, with the smallest epsilon; None without a wish, or if no epsilon is enough."""
        least = find_least(self.answers.values(), self.best.name)
        if least is None:
            return None
        allowed = least.constraints.allow(self.best.k, least.epsilon)
        return self.planner.write_command(allowed[least.mechanism], least.constraints)

    @property
    def call(self) -> str:
        """The call of Python that chooses the list."""
        return write_call(self.best, self.forecasts[0].constraints, by=self.planner.by)

    @property
    def notes(self) -> list[str]:
        """What the limits in the command mean, and which were tried."""
        best, notes = self.forecasts[0], list[str]()
        if limits := best.constraints.limits:
            notes.append(f"This counts at most {limits}. If many people have more, their other votes are not counted.")
        if best.by_size and needs_help(best):
            notes.append("Random lists are marked only if the groups have a column 'people', or with `people_epsilon`.")
        if trials := self.tried.get(best.name):
            parts = [
                f"{each.constraints.limits.removesuffix(' of each person')} {each.recall.mean:.2f}" for each in trials
            ]
            notes.append(f"Recall by the limits that were tried with {best.name}: {', '.join(parts)}.")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Describe the plan by values that JSON can hold."""
        best, counts, constraints = self.best, self.planner.counts, self.planner.constraints
        return {
            "schema": "shortlist.plan/1",
            "private": False,
            "source": counts.source,
            "items": counts.d,
            "k": best.k,
            "epsilon": write_exact(best.epsilon),
            "rho": None if constraints.rho is None else write_exact(constraints.rho),
            "delta": None if constraints.delta is None else write_exact(constraints.delta),
            "groups": constraints.groups,
            **constraints.caps,
            "max_weight": constraints.max_weight,
            "weight_unit": constraints.weight_unit if constraints.weights else None,
            "ordered": constraints.ordered,
            "neighbours": constraints.neighbours,
            "domain": not constraints.without_domain,
            "best": best.name,
            "why": self.why,
            "command": self.command,
            "wish_command": self.wish_command,
            "budget": str(self.planner.budget.guarantee),
            "table": self.table,
            "limits_tried": [
                {"mechanism": name, **each.constraints.caps, "votes_kept": each.kept, "recall": each.recall.mean}
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
    def to_json(self, path: PathLike, *, force: bool = ...) -> None: ...
    def to_json(self, path: PathLike | None = None, *, force: bool = False) -> str | None:
        """Write the plan as JSON, to a file or as text."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        if path is None:
            return text
        write_whole(path, text, force=force)
        return None

    def to_html(self, path: PathLike, *, force: bool = False, progress: Report = lambda step: None) -> None:
        """Write the page: one file that needs no network, with the plan for other values of epsilon and k as well."""
        if self.planner.constraints.rho is not None:
            raise refuse_page()
        from shortlist.planning.page import write_page

        text = write_page(self, progress=progress)
        write_whole(path, text, force=force)

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
        warning = INVENTED if self.planner.counts.invented else NOT_PRIVATE
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
    >>> made.best.name, round(made.forecasts[0].recall.mean, 2)
    ('auto', 1.0)
    >>> print(made.advice.rule)
    An ordered list of 10 items is one of about 10^29 lists. At ε = 1 joint is proven not to collapse if 144 people or
    more have the item at rank 10; you have 1,335. So joint does not collapse. Whether its list is exact depends on the
    gaps between the counts.
    >>> family = plan(like="zipf", items=1000, people=10**5, votes_cast=10, group_count=27, k=10, epsilon=1)
    >>> family.best.name, family.forecasts[0].constraints.limits, list(family.forecasts[0].by_size)
    ('joint', '1 group of each person', ['large', 'middle', 'small'])
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
    if (counts is None) == (like is None):
        wrong = "neither was" if counts is None else "both were"
        raise ParameterError("`counts` or `like` must be given, and only one of them", wrong)
    if max_weight is None:
        refuse_given({"weight_unit": weight_unit}, "`max_weight`")
    if not isinstance(sort, str) or sort not in SORTS:
        raise ParameterError(f"`sort` must be one of {', '.join(SORTS)}", f"not {quote(sort)}")
    shape = {"items": items, "people": people, "exponent": exponent}
    habits = {"votes_cast": votes_cast, "groups_visited": groups_visited}
    groups = None if group_count is None else read_number(group_count, name="group_count", most=MOST_GROUPS)
    if counts is not None:
        refuse_given({"group_count": group_count} | shape, "`like`", "counts were given")
        counts = read_given(counts)
        groups = counts.groups
    if counts is not None or groups is None:
        refuse_given({"groups_visited": groups_visited}, "`group_count`", "there are no invented groups")
        hint = None if counts is not None else "for one list, `votes_per_person` says how many votes each person casts"
        refuse_given({"votes_cast": votes_cast}, "`group_count`", "there are no invented groups", hint=hint)
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
    whole = read_positive(budget_epsilon, name="budget_epsilon")
    if not 0 <= (failure := read_rational(budget_delta, name="budget_delta")) < 1:
        raise ParameterError("`budget_delta` must be from 0 to 1, without 1", f"not {quote(budget_delta)}")
    lists = read_number(draws, name="draws", most=_MOST_DRAWS)
    wish = None if want is None else Wish.read(want, family=groups is not None)
    if like is not None:
        counts = invent_counts(like, constraints, **shape, **habits)
    planner = Planner(
        counts=_check_size(counts.suit(constraints), size, constraints),
        constraints=constraints,
        budget=Budget.plan(epsilon=whole, delta=failure, neighbours=constraints.neighbours),
        draws=lists,
        seed=seed,
        sort=sort,
        item=item,
        by=() if groups is None else (by,) if isinstance(by, str) else tuple(by or ("group",)),
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


def _check_size(counts: Counts, k: int, constraints: Constraints) -> Counts:
    """Refuse a k above the number of items. Without a domain, a group of a family may have fewer items with votes."""
    least = counts.d if constraints.without_domain else min(each.d for each in counts.shown)
    if k > least:
        what = " with votes" if constraints.without_domain else " of each group" if constraints.groups else ""
        raise DataError(
            f"`k` must be at most the number of items{what}",
            f"k is {k}, and there are {least}",
            hint="ask for fewer items",
        )
    return counts


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Everything of a plan but k and epsilon, so that it can be made for many of them."""

    counts: Counts
    constraints: Constraints
    budget: Budget
    draws: int
    seed: int
    sort: str
    item: str | None
    by: tuple[str, ...]
    progress: Report
    reference: tuple[int, Any] | None = None
    """The k and the epsilon whose best limits every plan has. Without it, each plan has the best for its own."""
    _chosen: dict[Any, tuple[Constraints, tuple[Forecast, ...]]] = field(default_factory=dict, repr=False)
    """What `choose_limits` returned."""

    @property
    def promise(self) -> str:
        """The whole budget in words."""
        return str(self.budget.guarantee).partition(" for")[0]

    def plan(self, k: int, epsilon: Any, wish: Wish | None = None) -> Plan:
        """Make the plan for one k and one epsilon."""
        chosen = {name: self.choose_limits(name, k, epsilon, self.constraints) for name in self.list_names(k, epsilon)}
        found = [self.look(name, k, epsilon, limited) for name, (limited, _) in chosen.items()]
        forecasts = sorted(found, key=SORTS[self.sort])
        others = self._relax(k, epsilon) if needs_help(forecasts[0]) else {}
        return Plan(
            planner=self,
            forecasts=tuple(forecasts),
            tried={name: trials for name, (_, trials) in chosen.items() if trials},
            advice=advise(self.counts, forecasts, others, self.promise),
            wish=wish,
            answers={name: self._answer(wish, name, k, limited) for name, (limited, _) in chosen.items() if wish},
        )

    def list_names(self, k: int, epsilon: Any) -> list[str]:
        """List the mechanisms that are allowed. Where limits may be chosen, those that need one are, too."""
        constraints = self.constraints
        if self.counts.may_be_limited:
            constraints = replace(constraints, votes_per_person=constraints.votes_per_person or 1)
        return list(constraints.allow(k, epsilon))

    def choose_limits(
        self, name: str, k: int, epsilon: Any, constraints: Constraints
    ) -> tuple[Constraints, tuple[Forecast, ...]]:
        """Choose the limits with the best recall; of equally good ones, the first, which are the smallest.

        Return them with the forecasts of all that were tried. If there is no choice, nothing is tried.
        """
        if not self.counts.may_be_limited:
            return constraints, ()
        k, epsilon = self.reference or (k, epsilon)
        key = name, k, epsilon, constraints
        if key not in self._chosen:
            listed, trials = self._list_limits(*key), tuple[Forecast, ...]()
            if len(listed) > 1:
                quick = replace(self, draws=min(self.draws, _QUICK))
                trials = tuple(quick.look(name, k, epsilon, each) for each in listed)
                listed = [max(trials, key=lambda each: round(each.recall.mean, 3)).constraints]
            self._chosen[key] = listed[0], trials
        return self._chosen[key]

    def _list_limits(self, name: str, k: int, epsilon: Any, constraints: Constraints) -> list[Constraints]:
        """List the limits that may be best for a mechanism."""
        if name != DEFAULT_MECHANISM:
            needed = {each.name for each in fields(MECHANISMS[name]) if each.default is MISSING}
            return self.counts.list_limits(constraints, on_votes="votes_per_person" in needed)
        # Its candidates make lists or noise on all cells, so it gets the limits of each, and both together. Under so
        # large a limit, noisy counts replace no peel, so every candidate is there.
        candidates = replace(constraints, votes_per_person=10**6).allow(k, epsilon)[name].candidates
        best = [self.choose_limits(each, k, epsilon, constraints)[0] for each in candidates]
        fewest = min(each.groups_per_person for each in best if each.groups_per_person is not None)
        return list(dict.fromkeys([*best, *(replace(each, groups_per_person=fewest) for each in best)]))

    def _relax(self, k: int, epsilon: Any) -> dict[str, Forecast]:
        """Forecast what one change of the constraints would allow, by the change in words."""
        # Invented people cast one vote each if no limit is given. In a family, limits are chosen anyway.
        few = None if self.counts.may_be_limited else 1 if self.counts.invented else FEW_VOTES
        return {
            words: self.look(name, k, epsilon, self.choose_limits(name, k, epsilon, relaxed)[0])
            for words, (relaxed, name) in self.constraints.relax(few=few).items()
        }

    def _answer(self, wish: Wish, name: str, k: int, limited: Constraints) -> Answer:
        """Find the smallest epsilon for a wish. The best limits there may be others, so they are chosen once more."""
        quick, answers = replace(self, draws=min(self.draws, DRAWS)), list[Answer]()
        for _ in range(2):
            answers.append(find_epsilon(wish, name, limited, partial(quick.look, name, k, constraints=limited)))
            limited, _ = self.choose_limits(name, k, answers[-1].epsilon or EPSILONS[-1], self.constraints)
            if limited == answers[-1].constraints:
                break
        return find_least(answers, "") or answers[0]

    def write_command(self, mechanism: Mechanism, constraints: Constraints) -> str:
        """Write the command of the shell that releases a list by a mechanism."""
        return write_command(mechanism, constraints, item=self.item, by=self.by)

    def look(self, name: str, k: int, epsilon: Any, constraints: Constraints) -> Forecast:
        """Forecast one mechanism."""
        mechanism = constraints.allow(k, epsilon)[name]
        rho = mechanism.rho
        budget = f"ε = {write_exact(mechanism.epsilon)}" if rho is None else f"ρ = {write_exact(rho)}"
        at = f", with at most {constraints.limits}" if constraints.limits else ""
        self.progress(f"Drawing {self.draws:,} lists of {name} at {budget}{at}")
        return forecast(mechanism, self.counts, constraints, budget=self.budget, draws=self.draws, seed=self.seed)
