"""The mechanisms that the experiment compares: four as published, five of ours, each timed from counts to indices.

Ours are timed as a user meets them: `top_k` with nothing prepared. They draw from a seeded stream so that a run can be
repeated; the operating system's randomness costs the same within a few per cent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any

import numpy as np

from shortlist.arrays import IntArray
from shortlist.exact.bits import SeededBits
from shortlist.mechanisms import MECHANISMS, Mechanism
from shortlist.paper.published import PUBLISHED
from shortlist.paper.published.fastjoint import truncation
from shortlist.paper.published.inputs import checked
from shortlist.paper.published.joint import draw_sequence, draw_subset
from shortlist.selector import top_k

DELTA = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parameters of one selection; beta is None for a mechanism that has none."""

    k: int
    epsilon: float
    beta: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The chosen items and the time they took; for the published Joint also the time before its sequence step."""

    items: IntArray
    seconds: float
    before_sequence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A mechanism in the experiment: `law` says what it draws, `ours` by whose code."""

    law: str
    ours: bool
    draw: Callable[[IntArray, Setting, int], Drawn]
    cost: Callable[[int, Setting], float]
    """About how many seconds a selection takes; only the forecast of the time left uses it."""

    @property
    def name(self) -> str:
        """What tables and commands call it."""
        return self.law if self.ours else f"published-{self.law}"

    @property
    def label(self) -> str:
        """What figures and pages call it: ours by name, the published ones as the paper spells them."""
        return f"{self.law} (ours)" if self.ours else _SPELLING[self.law]

    @property
    def has_beta(self) -> bool:
        """Whether the failure probability of the pruning is a parameter."""
        return self.law == "fastjoint"


def _published(law: str, parameters: Callable[[Setting], dict[str, Any]]) -> Callable[[IntArray, Setting, int], Drawn]:
    def draw(counts: IntArray, setting: Setting, seed: int) -> Drawn:
        rng = np.random.Generator(np.random.PCG64(seed))
        start = perf_counter()
        items = PUBLISHED[law](counts, setting.k, setting.epsilon, rng=rng, **parameters(setting))
        return Drawn(items=items, seconds=perf_counter() - start)

    return draw


def _published_joint(counts: IntArray, setting: Setting, seed: int) -> Drawn:
    """The published Joint in its two steps, to see the time of the first; a test says that it is the same draw."""
    rng = np.random.Generator(np.random.PCG64(seed))
    start = perf_counter()
    histogram, k, epsilon = checked(counts, setting.k, setting.epsilon)
    order = np.argsort(-histogram, kind="stable")
    decreasing = histogram[order]
    i, j = draw_subset(decreasing, k, epsilon, rng)
    between = perf_counter()
    items = order[draw_sequence(decreasing, k, i, j, rng)]
    return Drawn(items=items, seconds=perf_counter() - start, before_sequence=between - start)


def _ours(law: str, parameters: Callable[[Setting], dict[str, Any]]) -> Callable[[IntArray, Setting, int], Drawn]:
    def draw(counts: IntArray, setting: Setting, seed: int) -> Drawn:
        bits = SeededBits(seed)
        start = perf_counter()
        items = top_k(counts, setting.k, setting.epsilon, mechanism=law, bits=bits, **parameters(setting))
        return Drawn(items=np.asarray(items), seconds=perf_counter() - start)

    return draw


def _none(setting: Setting) -> dict[str, Any]:
    return {}


def _beta(setting: Setting) -> dict[str, Any]:
    return {"beta": setting.beta}


def _delta(setting: Setting) -> dict[str, Any]:
    return {"delta": DELTA}


def _parameters(kind: type[Mechanism]) -> Callable[[Setting], dict[str, Any]]:
    names = {field.name for field in fields(kind)}
    return _beta if "beta" in names else _delta if "delta" in names else _none


def _pruned_classes(d: int, setting: Setting) -> float:
    return 2.0e-7 * setting.k * truncation(d, setting.k, setting.epsilon) + 5.0e-7 * d


_SPELLING = {"fastjoint": "FastJoint", "joint": "Joint", "pnf-peel": "PNF-Peel", "cdp-peel": "CDP-Peel"}

CONTENDERS = {
    each.name: each
    for each in (
        Contender(law="fastjoint", ours=False, draw=_published("fastjoint", _beta), cost=_pruned_classes),
        Contender(law="joint", ours=False, draw=_published_joint, cost=lambda d, at: 3.0e-7 * at.k * d),
        Contender(law="pnf-peel", ours=False, draw=_published("pnf-peel", _none), cost=lambda d, at: 1.0e-8 * at.k * d),
        Contender(law="cdp-peel", ours=False, draw=_published("cdp-peel", _delta), cost=lambda d, at: 4.0e-8 * d),
        *(
            Contender(law=kind.name, ours=True, draw=_ours(kind.name, _parameters(kind)), cost=lambda d, at: 2.0e-3)
            for kind in MECHANISMS.values()
            if kind.in_experiment
        ),
    )
}
