"""The page of a plan: one HTML file that needs nothing else, with sliders for epsilon and k."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.mechanisms import MECHANISMS
from shortlist.planning.advice import INVENTED, NOT_PRIVATE, explain_answers
from shortlist.planning.forecast import Forecast, write_share
from shortlist.planning.plan import Plan
from shortlist.privacy.numbers import write_exact
from shortlist.version import __version__

EPSILONS = tuple(Fraction(each) for each in ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5", "10"))
_MOST_DRAWS = 200
"""How many lists are drawn for each setting of the grid, if the plan has no fewer."""
_SHOWN_PLACES = 10
"""How many places of a sample list the page shows, and how many wrong items beyond these."""
_LONGEST_NAME = 40
_KEPT = "On this page, every mechanism keeps the limits that are best at the ε and k of the plan."
_COLOURS = (
    *("#000000", "#E69F00", "#56B4E9", "#999999", "#009E73", "#D55E00", "#CC79A7", "#0072B2", "#a6761d"),
    *("#1b9e77", "#7570b3", "#e7298a"),
)
"""The colours of lines, in the order of the mechanisms. The first of them are the palette of Okabe and Ito."""


def write_page(made: Plan, *, progress: Callable[[str], None] = lambda step: None) -> str:
    """Compute the plan for a grid of epsilon and k, and write the page. `progress` is called with each step."""
    data = compute_grid(made, progress)
    here = files("shortlist.planning.page")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        # Inside a script, "<" could end it: JSON has an escape for it.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        source=escape(made.planner.counts.source),
        kind=" invented" if made.planner.counts.invented else "",
        warning=escape(INVENTED if made.planner.counts.invented else NOT_PRIVATE),
        allowed=escape(made.planner.constraints.describe()),
        version=escape(__version__),
    )


def compute_grid(made: Plan, report: Callable[[str], None]) -> dict[str, Any]:
    """Make the plan for every epsilon and k of a grid around that of a plan; return what the script needs."""
    k, d = made.best.k, made.planner.counts.d
    epsilons = sorted({*EPSILONS, made.best.epsilon})
    sizes = sorted({max(1, k // 4), max(1, k // 2), k, min(2 * k, d)})
    planner = replace(
        made.planner,
        draws=min(made.planner.draws, _MOST_DRAWS),
        progress=lambda step: None,
        reference=(k, made.best.epsilon),
    )
    names = planner.list_names(k, made.best.epsilon)
    colours = dict(zip(dict.fromkeys([*MECHANISMS, *names]), itertools.cycle(_COLOURS)))
    cells: list[list[dict[str, Any]]] = []
    for size in sizes:
        row: list[Plan] = []
        for epsilon in epsilons:
            report(f"Planning for k = {size:,} and ε = {write_exact(epsilon)}")
            row.append(planner.plan(size, epsilon))
        cells.append([_describe(each) for each in row])
    speaking = replace(planner, progress=report)
    wished = [made if size == k else speaking.plan(size, made.best.epsilon, made.wish) for size in sizes if made.wish]
    return {
        "items": d,
        "groups": made.planner.constraints.groups,
        "budget": planner.promise,
        "limit": " ".join([*made.notes, *([_KEPT] if made.tried else [])]) or None,
        "wishes": [_describe_wish(each) for each in wished],
        "draws": planner.draws,
        "places": _SHOWN_PLACES,
        "epsilons": [float(each) for each in epsilons],
        "sizes": sizes,
        "start": [sizes.index(k), epsilons.index(made.best.epsilon)],
        "mechanisms": [{"name": name, "colour": colours[name]} for name in names],
        "names": _list_names(made, min(2 * sizes[-1], d)),
        "cells": cells,
    }


def _describe_wish(made: Plan) -> dict[str, Any]:
    """The answers to the wish of one plan."""
    assert made.wish is not None
    return {
        "text": explain_answers(made.wish, made.answers),
        "answers": [
            [name, None if answer.epsilon is None else float(answer.epsilon), str(answer)]
            for name, answer in made.answers.items()
        ],
        "command": made.wish_command,
    }


def _describe(made: Plan) -> dict[str, Any]:
    """The numbers and words of one plan."""
    cells = made.cells
    return {
        "choice": made.advice.choice,
        "rule": made.advice.rule,
        "changes": made.advice.changes,
        "rows": {
            each.name: {
                "cells": cells[each.name],
                "command": made.planner.write_command(each.mechanism, each.constraints),
                "right_items": write_share(each.recall.mean),
                "recall": round(each.recall.mean, 3),
                "exact": float(f"{each.exact:.3g}"),
                "largest": round(each.largest.middle),
                **_show_samples(each),
            }
            for each in made.forecasts
        },
    }


def _show_samples(each: Forecast) -> dict[str, Any]:
    """Some lists, and how many of their items are right. Without an order, those with the fewest votes come first."""
    unordered, inside = each.mechanism.unordered, np.array(each.inside)
    samples = -np.sort(-each.samples, axis=1) if unordered else each.samples
    return {
        "ordered": not unordered,
        "right": ((samples >= 0) & (samples < inside[:, None])).sum(axis=1).tolist(),
        "inside": inside.tolist(),
        "sampled": each.sampled,
        "samples": [_shorten(positions, good) for positions, good in zip(samples, each.inside, strict=True)],
    }


def _list_names(made: Plan, most: int) -> list[str]:
    """The names of the first items. In a family, every group has items of its own."""
    if made.planner.counts.groups is not None:
        return []
    return [made.planner.counts.shown[0].name(place)[:_LONGEST_NAME] for place in range(most)]


def _shorten(positions: IntArray, inside: int) -> list[list[int]]:
    """The first places of a list, and the first wrong ones after them: the number of each place, and its position."""
    listed = [[place, position] for place, position in enumerate(positions.tolist(), start=1) if position >= 0]
    wrong = [each for each in listed[_SHOWN_PLACES:] if each[1] >= inside]
    return listed[:_SHOWN_PLACES] + wrong[:_SHOWN_PLACES]
