"""The trials of one cell: many lists for their errors, one list for its time, and one list for its memory.

For errors, everything that depends only on the data and on k is computed once. The laws are those of the published
algorithms: Joint and FastJoint draw their subset from cumulative weights instead of by Gumbel noise, and PNF-Peel draws
the largest noise of each group of equal counts instead of every noise. A test compares the lists with those of the
published programs.

For times, ours are called as users call them: `top_k` with nothing prepared. They draw from a seeded stream so that a
run can be repeated; the operating system's randomness costs the same within a few per cent.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter, process_time

import numpy as np

from reproduction import PUBLISHED, fastjoint, joint
from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import Contender, Maker, Setting
from reproduction.experiment.released import Released
from shortlist import prepare, top_k
from shortlist.array_types import FloatArray, IntArray
from shortlist.testing import SeededBits

_Draw = Callable[[np.random.Generator], IntArray]
_BLOCK = 64
"""How many lists of ours are drawn at once. It is a power of 2, so that the seeds of a cell's trials begin a block."""
_NEGLIGIBLE = 41.0
"""−ln of 10⁻¹⁸: a group that wins with a smaller probability than this is left out."""


def draw_lists(
    contender: Contender,
    histogram: Histogram,
    setting: Setting,
    seeds: Sequence[int],
    released: Released | None = None,
) -> tuple[IntArray, IntArray]:
    """Draw one list for each seed: the counts of the items, a row a list, and how many items of each are repeats."""
    if contender.maker is Maker.RELEASED:
        assert released is not None
        answer = released.draw_lists(histogram, setting, seeds)
        return np.array(answer["counts"]), np.array(answer["repeats"])
    falling = histogram.counts
    if contender.is_mechanism:
        lists = _draw_ours(contender, falling, setting, seeds)
    else:
        draw = _LAWS.get(contender.law, _prepare_program)(contender, histogram, setting)
        lists = [draw(_make_generator(seed)) for seed in seeds]
    # The counts fall, so items in rising order have falling counts.
    lists = [np.sort(items) if contender.is_unordered else items for items in lists]
    return np.array([falling[items] for items in lists]), np.array([_count_repeats(items) for items in lists])


def compute_tail(histogram: Histogram, setting: Setting) -> tuple[int, float]:
    """Compute τ and ln Pr[loss ≥ τ] of FastJoint, from its subset sizes. It is −inf if no list has the loss."""
    tau, _, log_sizes = _compute_fastjoint_sizes(histogram, setting)
    log_weights = log_sizes - setting.epsilon / 2 * np.arange(len(log_sizes))[:, None]
    return tau, float(np.logaddexp.reduce(log_weights[-1]) - np.logaddexp.reduce(log_weights, axis=None))


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
        answer = released.run("time", contender.law, histogram, setting, seed)
        return Timed(**{**answer, "counts": np.array(answer["counts"])})
    counts = permute(histogram, seed)
    wall, cpu = perf_counter(), process_time()
    clock: list[float] = []
    items = _draw_once(contender, counts, setting, seed, before_sequence=lambda: clock.append(process_time()))
    wall, spent = perf_counter() - wall, process_time() - cpu
    chosen = -np.sort(-counts[items]) if contender.is_unordered else counts[items]
    before = clock[0] - cpu if clock else None
    return Timed(counts=chosen, repeats=_count_repeats(items), wall=wall, cpu=spent, before_cpu=before)


def measure_memory(
    contender: Contender, histogram: Histogram, setting: Setting, seed: int, released: Released | None = None
) -> int:
    """Measure the peak memory of one list in bytes, besides the counts."""
    if contender.maker is Maker.RELEASED:
        assert released is not None
        return int(released.run("memory", contender.law, histogram, setting, seed)["bytes"])
    counts = permute(histogram, seed)
    tracemalloc.start()
    try:
        _draw_once(contender, counts, setting, seed)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def permute(histogram: Histogram, seed: int) -> IntArray:
    """The counts in the random order that belongs to a seed."""
    return np.random.Generator(np.random.PCG64([seed, 1])).permutation(histogram.counts)


def _draw_ours(contender: Contender, falling: IntArray, setting: Setting, seeds: Sequence[int]) -> list[IntArray]:
    """Draw the lists of a mechanism in blocks.

    A seed names a block and a list in it. So a list does not depend on which other lists are asked for, and a run that
    grows has the lists of a run that was large from the start.
    """
    selector = prepare(falling, **contender.call(setting))
    starts = dict.fromkeys(seed - seed % _BLOCK for seed in seeds)
    blocks = {start: selector.draw_many(_BLOCK, SeededBits(start)) for start in starts}
    return [np.asarray(blocks[seed - seed % _BLOCK][seed % _BLOCK]) for seed in seeds]


def _prepare_joint(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    falling, k = histogram.counts, setting.k
    log_weights = _compute_joint_sizes(histogram, k) - setting.epsilon / 2 * (falling[:k, None] - falling[None, :])
    cumulative = _accumulate(log_weights)

    def draw(rng: np.random.Generator) -> IntArray:
        i, j = divmod(_choose(cumulative, rng), len(falling))
        return joint.sample_sequence(falling, k, i, j, rng)

    return draw


def _prepare_fastjoint(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    tau, groups, log_sizes = _compute_fastjoint_sizes(histogram, setting)
    cumulative = _accumulate(log_sizes - setting.epsilon / 2 * np.arange(tau + 1)[:, None])

    def draw(rng: np.random.Generator) -> IntArray:
        r, i = divmod(_choose(cumulative, rng), setting.k)
        return fastjoint.sample_sequence(groups, tau, r, i, rng)

    return draw


def _prepare_pnf_peel(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    """The largest of m exponential noises is −s·ln(1 − U^(1/m)): one number for each group of equal counts."""
    falling, k, scale = histogram.counts, setting.k, setting.k / setting.epsilon
    # After fewer than k rounds the largest count that is left is at least the k-th, so no group far below it can win.
    lowest = falling[k - 1] - scale * (math.log(len(falling)) + _NEGLIGIBLE)
    values, starts, sizes = np.unique(-falling[falling >= lowest], return_index=True, return_counts=True)

    def draw(rng: np.random.Generator) -> IntArray:
        left, chosen = sizes.astype(np.float64), np.empty(k, dtype=np.int64)
        for position in range(k):
            with np.errstate(divide="ignore", invalid="ignore"):
                noise = -scale * np.log(-np.expm1(np.log(rng.random(len(left))) / left))
            winner = int(np.where(left > 0, noise - values, -np.inf).argmax())
            left[winner] -= 1
            chosen[position] = starts[winner] + left[winner]
        return chosen

    return draw


def _prepare_program(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    """Run the published program itself, if one list takes O(d)."""
    program, parameters = PUBLISHED[contender.law], contender.parameters(setting)
    return lambda rng: program(histogram.counts, setting.k, setting.epsilon, rng=rng, **parameters)


_LAWS: dict[str, Callable[[Contender, Histogram, Setting], _Draw]] = {
    "joint": _prepare_joint,
    "fastjoint": _prepare_fastjoint,
    "pnf-peel": _prepare_pnf_peel,
}


@lru_cache(maxsize=1)
def _compute_joint_sizes(histogram: Histogram, k: int) -> FloatArray:
    """The log sizes of Joint's subsets. They do not depend on epsilon; those of the last data set and k are kept."""
    return joint.compute_log_sizes(histogram.counts, k)


def _compute_fastjoint_sizes(histogram: Histogram, setting: Setting) -> tuple[int, fastjoint.Groups, FloatArray]:
    assert setting.beta is not None
    tau = fastjoint.compute_tau(len(histogram.counts), setting.k, setting.epsilon, setting.beta)
    groups = fastjoint.group_items(histogram.counts, setting.k)
    return tau, groups, fastjoint.compute_log_sizes(fastjoint.count_items(groups, tau))


def _draw_once(
    contender: Contender, counts: IntArray, setting: Setting, seed: int, **hooks: Callable[[], object]
) -> IntArray:
    """Draw a list. Only the published Joint has a step to call a hook before."""
    if contender.is_mechanism:
        return np.asarray(top_k(counts, bits=SeededBits(seed), **contender.call(setting)))
    given = contender.parameters(setting) | (hooks if contender.law == "joint" else {})
    return PUBLISHED[contender.law](counts, setting.k, setting.epsilon, rng=_make_generator(seed), **given)


def _make_generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _count_repeats(items: IntArray) -> int:
    return len(items) - len(np.unique(items))


def _accumulate(log_weights: FloatArray) -> FloatArray:
    """The cumulative weights in parts of the largest one."""
    return np.cumsum(np.exp(log_weights - log_weights.max()))


def _choose(cumulative: FloatArray, rng: np.random.Generator) -> int:
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
