"""Many lists of one law, for their errors. Everything that depends only on the data and on k is computed once.

The laws are those of the published algorithms. Joint and FastJoint draw their subset from cumulative weights instead of
by Gumbel noise, and PNF-Peel draws the largest noise of each group of equal counts instead of every noise. A test
compares the lists with those of the published programs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from reproduction.data.datasets import Histogram
from reproduction.experiment.contenders import Contender, Maker, Setting
from reproduction.published import PUBLISHED
from reproduction.published.fastjoint import Groups, compute_truncation, count_table, group_items
from reproduction.published.fastjoint import compute_log_sizes as log_sizes_of_groups
from reproduction.published.fastjoint import draw_sequence as draw_from_groups
from reproduction.published.joint import compute_log_sizes as log_sizes_of_places
from reproduction.published.joint import draw_sequence as draw_from_order
from reproduction.released.process import Released
from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import SeededBits
from shortlist.selection.from_counts import prepare

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
        answer = released.draw_lists(histogram, seeds, k=setting.k, epsilon=setting.epsilon, beta=setting.beta)
        return np.array(answer["counts"]), np.array(answer["repeats"])
    falling = histogram.counts
    if contender.maker is Maker.OURS:
        lists = _draw_ours(contender, falling, setting, seeds)
    else:
        draw = _LAWS.get(contender.law, _prepare_program)(contender, histogram, setting)
        lists = [draw(np.random.Generator(np.random.PCG64(seed))) for seed in seeds]
    # The counts fall, so items in rising order have falling counts.
    lists = [np.sort(items) if contender.is_unordered else items for items in lists]
    return np.array([falling[items] for items in lists]), np.array([len(each) - len(np.unique(each)) for each in lists])


def _draw_ours(contender: Contender, falling: IntArray, setting: Setting, seeds: Sequence[int]) -> list[IntArray]:
    """Draw the lists of one of our mechanisms in blocks.

    A seed names a block and a list in it. So a list does not depend on which other lists are asked for, and a run that
    grows has the lists of a run that was large from the start.
    """
    k, epsilon, parameters = setting.k, setting.epsilon, contender.parameters(setting)
    selector = prepare(falling, k, epsilon, mechanism=contender.mechanism, **parameters)
    starts = dict.fromkeys(seed - seed % _BLOCK for seed in seeds)
    blocks = {start: selector.draw_many(_BLOCK, SeededBits(start)) for start in starts}
    return [np.asarray(blocks[seed - seed % _BLOCK][seed % _BLOCK]) for seed in seeds]


def compute_tail(histogram: Histogram, setting: Setting) -> tuple[int, float]:
    """Compute τ and ln Pr[loss ≥ τ] of FastJoint, from its subset sizes. It is −inf if no list has the loss."""
    tau, _, log_sizes = _compute_fastjoint_sizes(histogram, setting)
    log_weights = log_sizes - setting.epsilon / 2 * np.arange(len(log_sizes))[:, None]
    return tau, _log_sum(log_weights[-1]) - _log_sum(log_weights)


def _prepare_joint(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    falling, k = histogram.counts, setting.k
    log_weights = _JOINT_SIZES.of(histogram, k) - setting.epsilon / 2 * (falling[:k, None] - falling[None, :])
    cumulative = _accumulate(log_weights)

    def draw(rng: np.random.Generator) -> IntArray:
        i, j = divmod(_choose(cumulative, rng), len(falling))
        return draw_from_order(falling, k, i, j, rng)

    return draw


def _prepare_fastjoint(contender: Contender, histogram: Histogram, setting: Setting) -> _Draw:
    tau, groups, log_sizes = _compute_fastjoint_sizes(histogram, setting)
    cumulative = _accumulate(log_sizes - setting.epsilon / 2 * np.arange(tau + 1)[:, None])

    def draw(rng: np.random.Generator) -> IntArray:
        r, i = divmod(_choose(cumulative, rng), setting.k)
        return draw_from_groups(groups, tau, r, i, rng)

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


class _Sizes:
    """The log sizes of Joint's subsets for the last data set and k: they do not depend on epsilon."""

    def __init__(self) -> None:
        self._key = ("", 0)
        self._sizes: FloatArray = np.empty(0)

    def of(self, histogram: Histogram, k: int) -> FloatArray:
        if self._key != (histogram.fingerprint, k):
            self._key, self._sizes = (histogram.fingerprint, k), log_sizes_of_places(histogram.counts, k)
        return self._sizes


_JOINT_SIZES = _Sizes()


def _compute_fastjoint_sizes(histogram: Histogram, setting: Setting) -> tuple[int, Groups, FloatArray]:
    assert setting.beta is not None
    tau = compute_truncation(len(histogram.counts), setting.k, setting.epsilon, setting.beta)
    groups = group_items(histogram.counts, setting.k)
    return tau, groups, log_sizes_of_groups(count_table(groups, tau))


def _accumulate(log_weights: FloatArray) -> FloatArray:
    """The cumulative weights in parts of the largest one."""
    return np.cumsum(np.exp(log_weights - log_weights.max()))


def _choose(cumulative: FloatArray, rng: np.random.Generator) -> int:
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def _log_sum(log_weights: FloatArray) -> float:
    largest = float(log_weights.max())
    if largest == -math.inf:
        return -math.inf
    return largest + math.log(float(np.exp(log_weights - largest).sum()))
