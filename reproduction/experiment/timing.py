"""Time one list of a program, and measure the memory of one list.

Ours are timed as a user calls them: `top_k` with nothing prepared. They draw from a seeded stream so that a run can be
repeated; the operating system's randomness costs the same within a few per cent.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np

from reproduction.data.datasets import Histogram
from reproduction.experiment.contenders import DELTA, Contender, Maker, Setting
from reproduction.published import PUBLISHED
from reproduction.published.inputs import read_arguments
from reproduction.published.joint import draw_sequence, draw_subset
from reproduction.released.process import Released
from shortlist.array_types import IntArray
from shortlist.exact.bits import SeededBits
from shortlist.selection.from_counts import top_k


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A list and its time in seconds, by the wall clock and of the processor; `before_cpu` is without the last step."""

    counts: IntArray
    repeats: int
    wall: float
    cpu: float
    before_cpu: float | None = None


def time_list(
    contender: Contender, histogram: Histogram, setting: Setting, seed: int, released: Released | None = None
) -> Timed:
    """Draw one list from the items in a random order, as the published experiments do, and time it."""
    if contender.maker is Maker.RELEASED:
        assert released is not None
        answer = released.run("time", contender.law, histogram, **_request(setting, seed))
        return Timed(
            counts=np.array(answer["counts"]),
            repeats=answer["repeats"],
            wall=answer["wall"],
            cpu=answer["cpu"],
            before_cpu=answer.get("before_cpu"),
        )
    counts = permute(histogram, seed)
    wall, cpu = perf_counter(), process_time()
    items, between = _draw(contender, counts, setting, seed)
    wall, spent = perf_counter() - wall, process_time() - cpu
    chosen = -np.sort(-counts[items]) if contender.is_unordered else counts[items]
    repeats = len(items) - len(set(items.tolist()))
    before = None if between is None else between - cpu
    return Timed(counts=chosen, repeats=repeats, wall=wall, cpu=spent, before_cpu=before)


def measure_memory(
    contender: Contender, histogram: Histogram, setting: Setting, seed: int, released: Released | None = None
) -> int:
    """Measure the peak memory of one list in bytes, besides the counts."""
    if contender.maker is Maker.RELEASED:
        assert released is not None
        return int(released.run("memory", contender.law, histogram, **_request(setting, seed))["bytes"])
    counts = permute(histogram, seed)
    tracemalloc.start()
    try:
        _draw(contender, counts, setting, seed)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def permute(histogram: Histogram, seed: int) -> IntArray:
    """The counts in the random order that belongs to a seed."""
    return np.random.Generator(np.random.PCG64([seed, 1])).permutation(histogram.counts)


def _draw(contender: Contender, counts: IntArray, setting: Setting, seed: int) -> tuple[IntArray, float | None]:
    """Draw a list; for the published Joint also read the processor's clock before the sequence step."""
    if contender.maker is Maker.OURS:
        items = top_k(
            counts,
            setting.k,
            setting.epsilon,
            mechanism=contender.mechanism,
            bits=SeededBits(seed),
            **contender.parameters(setting),
        )
        return np.asarray(items), None
    rng = np.random.Generator(np.random.PCG64(seed))
    if contender.law == "joint":
        return _run_joint(counts, setting, rng)
    program: Callable[..., IntArray] = PUBLISHED[contender.law]
    return program(counts, setting.k, setting.epsilon, rng=rng, **contender.parameters(setting)), None


def _run_joint(counts: IntArray, setting: Setting, rng: np.random.Generator) -> tuple[IntArray, float]:
    """The published Joint in its two steps; a test checks that it is the same draw."""
    histogram, k, epsilon = read_arguments(counts, setting.k, setting.epsilon)
    order = np.argsort(-histogram, kind="stable")
    decreasing = histogram[order]
    i, j = draw_subset(decreasing, k, epsilon, rng)
    between = process_time()
    return order[draw_sequence(decreasing, k, i, j, rng)], between


def _request(setting: Setting, seed: int) -> dict[str, Any]:
    return {"k": setting.k, "epsilon": setting.epsilon, "beta": setting.beta, "delta": DELTA, "seed": seed}
