"""The parameters of a plan, read and checked: its size, its counts, its budget and its draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.ledger import Budget
from shortlist.planning.candidates import Constraints
from shortlist.planning.forecast import SORTS
from shortlist.planning.histograms import Histogram, invent_histogram, read_histogram
from shortlist.privacy.numbers import Real, quote, read_positive, read_rational, read_whole

_MOST_DRAWS = 10**6


def read_size(k: object) -> int:
    """Read the number of items. A range of sizes is refused."""
    if isinstance(k, Sequence) and not isinstance(k, str):
        raise ParameterError(
            "{k} must be one number in a plan",
            "not a range of sizes",
            hint="plan for the smallest and for the largest size; the page has a slider for k",
        )
    return read_whole(k, name="k")


def take_histogram(
    counts: Any,
    k: int,
    constraints: Constraints,
    like: str | None,
    items: Real | None,
    people: Real | None,
    exponent: Real | None,
) -> Histogram:
    """Read the counts, or invent them."""
    if (counts is None) == (like is None):
        wrong = "neither was" if counts is None else "both were"
        raise ParameterError("{counts} or {like} must be given, and only one of them", wrong)
    sizes = {"items": items, "people": people, "exponent": exponent}
    if like is not None:
        histogram = invent_histogram(like, **sizes, votes_per_person=constraints.votes_per_person)
    else:
        for name in (each for each, value in sizes.items() if value is not None):
            raise ParameterError(f"{{{name}}} must go with {{like}}", "counts were given")
        histogram = counts if isinstance(counts, Histogram) else read_histogram(counts)
    if constraints.without_domain:
        histogram = histogram.drop_unvoted()
    if k > histogram.d:
        raise DataError(
            "{k} must be at most the number of items" + (" with votes" if constraints.without_domain else ""),
            "k is {value}, and there are {d}",
            hint="ask for fewer items",
            value=k,
            d=histogram.d,
        )
    return histogram


def read_budget(epsilon: Real, delta: Real, neighbours: str) -> Budget:
    """Read the budget whose number of releases is stated."""
    limit, failure = read_positive(epsilon, name="budget_epsilon"), read_rational(delta, name="budget_delta")
    if not 0 <= failure < 1:
        raise ParameterError("{budget_delta} must be from 0 to 1, without 1", "not {value}", value=quote(delta))
    return Budget.plan(epsilon=limit, delta=failure, neighbours=neighbours)


def check_sort(sort: str) -> None:
    """Refuse a measure that no forecast has."""
    if not isinstance(sort, str) or sort not in SORTS:
        raise ParameterError("{sort} must be one of {names}", "not {value}", names=", ".join(SORTS), value=quote(sort))


def read_draws(draws: int) -> int:
    """Read how many lists are drawn for each mechanism."""
    number = read_whole(draws, name="draws")
    if number > _MOST_DRAWS:
        raise ParameterError("{draws} must be at most {most}", most=f"{_MOST_DRAWS:,}")
    return number
