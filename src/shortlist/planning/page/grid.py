"""The plan for many values of epsilon and k, as the numbers that the page shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.mechanisms import Auto, Mechanism
from shortlist.planning.advice import write_share
from shortlist.planning.commands import explain_limit, write_command
from shortlist.planning.forecast import Forecast
from shortlist.planning.histograms import Histogram
from shortlist.planning.measures import Spread
from shortlist.planning.plan import Plan, Planner
from shortlist.planning.visibility import find_need
from shortlist.planning.wishes import explain_answers
from shortlist.privacy.numbers import write_exact

EPSILONS = tuple(Fraction(each) for each in ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10"))
_MOST_DRAWS = 200
"""How many lists are drawn for each setting of the grid, if the plan has no fewer."""
_SHOWN_PLACES = 10
"""How many places of a sample list the page shows, and how many wrong items beyond these."""
_LONGEST_NAME = 40
_COLOURS = {
    "auto": "#000000",
    "joint": "#E69F00",
    "margin-joint": "#56B4E9",
    "subset": "#999999",
    "fastjoint": "#009E73",
    "pnf-joint": "#D55E00",
    "pnf-peel": "#CC79A7",
    "cdp-peel": "#0072B2",
    "noisy-counts": "#a6761d",
    "limited-domain": "#1b9e77",
    "threshold": "#7570b3",
    "stable": "#e7298a",
}
"""The colour of the line of each mechanism. Those of lists with a domain are from the palette of Okabe and Ito."""


def compute_grid(made: Plan, report: Callable[[str], None]) -> dict[str, Any]:
    """Make the plan for every epsilon and k of a grid around that of a plan; return what the script needs."""
    k, d = made.best.k, made.histogram.d
    epsilons = sorted({*EPSILONS, made.best.epsilon})
    sizes = sorted({max(1, k // 4), max(1, k // 2), k, min(2 * k, d)})
    planner = replace(made.planner, draws=min(made.planner.draws, _MOST_DRAWS), progress=lambda step: None)
    names = list(made.constraints.allow(k, made.best.epsilon))
    cells: list[list[dict[str, Any]]] = []
    for size in sizes:
        row: list[Plan] = []
        for epsilon in epsilons:
            report(f"Planning for k = {size:,} and ε = {write_exact(epsilon)}")
            row.append(planner.plan(size, epsilon))
        collapses = {
            name: _find_crossing(epsilons, [_pick(each, name).mechanism for each in row], made.histogram)
            for name in names
        }
        cells.append([{**_describe(each), "collapse": collapses} for each in row])
    positions = 2 * sizes[-1]
    return {
        "source": made.histogram.source,
        "invented": made.histogram.invented,
        "items": d,
        "inside": [_count_inside(made.histogram, size) for size in sizes],
        "listed": made.constraints.without_domain,
        "budget": str(made.budget.guarantee).partition(" for")[0],
        "limit": explain_limit(made.constraints.votes_per_person),
        "wishes": _answer_wish(made, planner, sizes, report),
        "draws": planner.draws,
        "places": _SHOWN_PLACES,
        "epsilons": [float(each) for each in epsilons],
        "sizes": sizes,
        "start": [sizes.index(k), epsilons.index(made.best.epsilon)],
        "mechanisms": [{"name": name, "colour": _COLOURS.get(name, "#333333")} for name in names],
        "names": [made.histogram.name(place)[:_LONGEST_NAME] for place in range(min(positions, d))],
        "cells": cells,
    }


def _answer_wish(
    made: Plan, planner: Planner, sizes: Sequence[int], report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """The wish and its answers for each k, or nothing without a wish."""
    if made.wish is None:
        return []
    answers = [
        made.answers if size == made.best.k else replace(planner, progress=report).answer(made.wish, size)
        for size in sizes
    ]
    return [
        {
            "text": explain_answers(made.wish, each),
            "answers": [
                [name, None if answer.epsilon is None else float(answer.epsilon), str(answer)]
                for name, answer in each.items()
            ],
            "command": planner.write_wish(each, size, made.best.name),
        }
        for size, each in zip(sizes, answers, strict=True)
    ]


def _describe(made: Plan) -> dict[str, Any]:
    """The numbers and words of one plan."""
    cap, item = made.constraints.votes_per_person, made.planner.item
    inside = _count_inside(made.histogram, made.best.k)
    return {
        "choice": made.advice.choice,
        "rule": made.advice.rule,
        "changes": made.advice.changes,
        "collapses": made.collapse.happens,
        "rows": {each.label: _describe_row(each, inside, cap, item) for each in made.forecasts},
    }


def _describe_row(each: Forecast, inside: int, cap: int | None, item: str | None) -> dict[str, Any]:
    rho = each.mechanism.guarantee.rho
    return {
        "length": round(each.length.mean, 1),
        "words": [write_share(each.recall.mean), write_share(each.exact)],
        "recall": _list(each.recall, 3),
        "exact": float(f"{each.exact:.3g}"),
        "computed": each.exact_is_computed,
        "largest": _list(each.largest, 0),
        "total": _list(each.total, 0),
        "bound": each.bound,
        "guarantee": each.promise,
        "rho": None if rho is None else float(f"{float(rho):.2g}"),
        "affordable": each.affordable,
        "command": write_command(each.mechanism, votes_per_person=cap, item=item),
        "ordered": not each.mechanism.unordered,
        "right": ((each.samples >= 0) & (each.samples < inside)).sum(axis=1).tolist(),
        "samples": [_shorten(each, inside) for each in _sort_unordered(each)],
    }


def _shorten(positions: IntArray, inside: int) -> list[list[int]]:
    """The first places of a list, and the first wrong ones after them: the number of each place, and its position."""
    listed = [[place, position] for place, position in enumerate(positions.tolist(), start=1) if position >= 0]
    wrong = [each for each in listed[_SHOWN_PLACES:] if each[1] >= inside]
    return listed[:_SHOWN_PLACES] + wrong[:_SHOWN_PLACES]


def _count_inside(histogram: Histogram, k: int) -> int:
    """How many items have as many votes as the item at place k, or more: k, and those that are tied with it."""
    return int(np.searchsorted(-histogram.counts, -histogram.counts[k - 1], side="right"))


def _sort_unordered(each: Forecast) -> IntArray:
    """The sample lists. Those without an order begin with the items that have fewest votes."""
    return -np.sort(-each.samples, axis=1) if each.mechanism.unordered else each.samples


def _list(spread: Spread, digits: int) -> list[float]:
    return [round(value, digits) for value in (spread.mean, spread.low, spread.middle, spread.high)]


def _pick(made: Plan, name: str) -> Forecast:
    return next(each for each in made.forecasts if each.label == name)


def _find_crossing(epsilons: Sequence[Fraction], mechanisms: Sequence[Mechanism], histogram: Histogram) -> float | None:
    """The epsilon at which the votes that are needed equal the votes at rank k, between points of the grid.

    `auto` needs what the mechanism needs that it chooses. None also stands for an epsilon outside of the grid.
    """
    votes = int(histogram.counts[mechanisms[0].k - 1])
    if isinstance(mechanisms[0], Auto) or not votes:
        return None
    points = [(float(each), find_need(one, histogram)) for each, one in zip(epsilons, mechanisms, strict=True)]
    for (left, before), (right, after) in pairwise(points):
        if before is not None and after is not None and before > votes >= after:
            share = math.log((before + 1) / (votes + 1)) / math.log((before + 1) / (after + 1))
            return round(math.exp(math.log(left) + share * math.log(right / left)), 4)
    return None
