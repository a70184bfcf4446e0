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
from shortlist.mechanisms import MECHANISMS, Auto
from shortlist.planning.collapse import Collapse
from shortlist.planning.commands import write_command
from shortlist.planning.forecast import Forecast
from shortlist.planning.measures import Spread
from shortlist.planning.plan import Plan
from shortlist.privacy.numbers import write_exact

EPSILONS = tuple(Fraction(each) for each in ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10"))
_DRAWS = 200
_SHOWN_PLACES = 20
"""How many places of a sample list the page shows."""
_LONGEST_NAME = 40


def compute_grid(made: Plan, report: Callable[[str], None]) -> dict[str, Any]:
    """Make the plan for every epsilon and k of a grid around that of a plan; return what the script needs."""
    k, d = made.best.k, made.histogram.d
    epsilons = sorted({*EPSILONS, made.best.epsilon})
    sizes = sorted({max(1, k // 4), max(1, k // 2), k, min(2 * k, d)})
    planner = replace(made.planner, draws=_DRAWS, progress=lambda step: None)
    names = list(made.constraints.allow(k, made.best.epsilon))
    cells: list[list[dict[str, Any]]] = []
    for size in sizes:
        row: list[Plan] = []
        for epsilon in epsilons:
            report(f"Planning for k = {size:,} and ε = {write_exact(epsilon)}")
            row.append(planner.plan(size, epsilon))
        collapses = {
            name: _find_crossing(epsilons, [_pick(each, name) for each in row], row[0].collapse) for name in names
        }
        cells.append([{**_describe(each), "collapse": collapses} for each in row])
    positions = max(2 * sizes[-1], _SHOWN_PLACES)
    return {
        "source": made.histogram.source,
        "invented": made.histogram.invented,
        "items": d,
        "budget": str(made.budget.guarantee),
        "draws": _DRAWS,
        "epsilons": [float(each) for each in epsilons],
        "sizes": sizes,
        "start": [sizes.index(k), epsilons.index(made.best.epsilon)],
        "mechanisms": [{"name": name, "colour": MECHANISMS[name].colour} for name in names],
        "names": [made.histogram.name(place)[:_LONGEST_NAME] for place in range(min(positions, d))],
        "cells": cells,
    }


def _describe(made: Plan) -> dict[str, Any]:
    """The numbers and words of one plan."""
    item = made.planner.item
    return {
        "choice": made.advice.choice,
        "rule": made.advice.rule,
        "changes": made.advice.changes,
        "collapses": made.collapse.happens,
        "rows": {each.label: _describe_row(each, item) for each in made.forecasts},
    }


def _describe_row(each: Forecast, item: str | None) -> dict[str, Any]:
    guarantee = each.mechanism.guarantee
    return {
        "recall": _list(each.recall, 3),
        "exact": float(f"{each.exact:.3g}"),
        "computed": each.exact_is_computed,
        "largest": _list(each.largest, 0),
        "total": _list(each.total, 0),
        "bound": each.bound,
        "guarantee": f"({write_exact(guarantee.epsilon)}, {float(guarantee.delta):g})" if guarantee.delta else "pure",
        "rho": None if guarantee.rho is None else float(f"{float(guarantee.rho):.2g}"),
        "affordable": each.affordable,
        "command": write_command(each.mechanism, item=item),
        "ordered": not each.mechanism.unordered,
        "samples": _sort_unordered(each)[:, :_SHOWN_PLACES].tolist(),
        "right": (each.samples < each.mechanism.k).sum(axis=1).tolist(),
    }


def _sort_unordered(each: Forecast) -> IntArray:
    """The sample lists. Those without an order begin with the items that have fewest votes."""
    return -np.sort(-each.samples, axis=1) if each.mechanism.unordered else each.samples


def _list(spread: Spread, digits: int) -> list[float]:
    return [round(value, digits) for value in (spread.mean, spread.low, spread.middle, spread.high)]


def _pick(made: Plan, name: str) -> Forecast:
    return next(each for each in made.forecasts if each.label == name)


def _find_crossing(epsilons: Sequence[Fraction], forecasts: Sequence[Forecast], collapse: Collapse) -> float | None:
    """The epsilon at which the public bound equals the votes at rank k, between points of the grid.

    `auto` has no bound of its own. None also stands for an epsilon outside of the grid.
    """
    bounds = [each.bound for each in forecasts]
    if isinstance(forecasts[0].mechanism, Auto) or not collapse.votes:
        return None
    points = list(zip(map(float, epsilons), bounds, strict=True))
    for (left, before), (right, after) in pairwise(points):
        if before is not None and after is not None and before > collapse.votes >= after:
            share = math.log((before + 1) / (collapse.votes + 1)) / math.log((before + 1) / (after + 1))
            return round(math.exp(math.log(left) + share * math.log(right / left)), 4)
    return None
