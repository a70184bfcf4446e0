"""Losses in blocks: which of them carry the weight of a mixture, and how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.scaled import Scaled, concatenate, powers
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.mechanisms.spans import BITS_PER_NAT, Span, count_bits, weigh_spans
from shortlist.mechanisms.weights import Weights
from shortlist.profile import EVERY_LEVEL

# These constants never change a probability. They trade the time of preparing for the time of drawing.
_LEFT_OUT_BITS = 42
"""A block below 2^-42 of the whole weight is left out of the table. More bits make the table longer and ball
arithmetic rarer."""
_COARSE_BLOCKS = 48
"""The number of blocks in a coarse first pass, which finds the blocks that carry the weight."""
_FEW_FACTORS, _MANY_FACTORS, _TOO_MANY_FACTORS = 1 << 13, 1 << 20, 1 << 22
"""Limits on the number of factors C_{r,j}. Computing all factors is faster than a coarse pass up to the first limit,
faster than a second coarse pass up to the second, and faster than rejecting draws from wide blocks up to the third."""
_MOST_BLOCKS = 2048
"""For more losses or many factors, a block holds several losses, and a draw from it may be rejected."""
_STEEP_BITS = 3
"""N_r grows by less than 2^4 in a block, so a draw is accepted with a probability of at least 1/16. Where the weight is
greatest, N_r grows as fast as q^r falls. In a block of 3 bits, that gives a probability of about 0.4."""


class Blocks:
    """The blocks [start, end) of losses that are worth a place in a table, and [horizon, ∞) if it is within reach."""

    def __init__(self, sequences: Sequences, rate: Fraction, *, horizon: int, reach: int) -> None:
        self._sequences = sequences
        self._rate = rate
        self._closing = [horizon] if horizon <= reach else []
        first, last, left_out = _find_core(sequences, rate, min(horizon, reach))
        if not self._closing:
            all_sequences = sequences.k * math.log2(sequences.profile.d) + 1
            left_out.append(np.atleast_1d(all_sequences - count_bits(rate, reach)))
        self._left_out = np.concatenate(left_out)
        sequences.narrow(last)
        lasts, self._numbers, self._least = _divide(sequences, rate, first, last)
        self._ends = lasts + 1
        self._starts = lasts if self._least is None else np.append(first, self._ends[:-1])

    def range(self, index: int) -> tuple[int, int | None]:
        """Return the block with an index in the table. The closing block has the end None."""
        if index == len(self._starts):
            return self._closing[0], None
        return int(self._starts[index]), int(self._ends[index])

    def find(self, indices: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first and the last losses of blocks, by places in the table. The closing block ends at −1."""
        if not self._closing:
            return self._starts[indices], self._ends[indices] - 1
        return np.append(self._starts, self._closing)[indices], np.append(self._ends - 1, -1)[indices]

    def list_ranges(self) -> list[tuple[int, int]]:
        """Return all blocks but the closing one."""
        return list(zip(self._starts.tolist(), self._ends.tolist(), strict=True))

    @cached_property
    def weights(self) -> Weights:
        """The weight (q^start − q^end) N_{end−1} of every block."""
        return self._weigh(self._numbers)

    def _weigh(self, numbers: Scaled) -> Weights:
        """Compute the weights of all blocks, each with some number of sequences."""
        parts = []
        if len(self._starts):
            parts.append(numbers * weigh_spans(self._rate, self._starts, self._ends, single=self._least is None))
        if self._closing:
            parts.append(self._sequences.compute_number_of_all() * powers(self._rate, np.array(self._closing)))
        return Weights(concatenate(parts), self._left_out)

    def total(self) -> arb:
        """Enclose Σ q^L(s) over all sequences."""
        highest = self.weights.total()
        return highest if self._least is None else highest.union(self._weigh(self._least).total())

    def magnitude(self) -> int:
        """Return an integer m such that the weights of all sequences sum to 2^m or more.

        For any a, the sequences with a loss of at most a sum to N_a q^a or more. Rounding loses less than half of that.
        """
        if not len(self._starts):
            return 0  # the best sequence alone weighs 1
        numbers = self._numbers * powers(self._rate, self._ends - 1)
        _, shift = np.frexp(numbers.mantissa)
        return max(0, int((numbers.exponent + shift).max()) - 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossCell:
    """The losses in [start, end) with their exact weight in a mixture.

    In the weight of a `padded` cell, every loss counts as many sequences as the last one allows. The weight of any
    other cell is bounded from below by its first loss and from above by its last.
    """

    span: Span
    sequences: Sequences
    padded: bool = False

    def last(self) -> int | None:
        """Return the largest loss in the cell. It is None for the closing cell, which allows every sequence."""
        return None if self.span.end is None else self.span.end - 1

    def weight(self) -> arb:
        """Enclose the weight."""
        most = arb(self.sequences.number(self.last()))
        return self.span.weight() * (most if self.padded else most.union(arb(self.sequences.number(self.span.start))))

    def split(self) -> tuple[LossCell, LossCell] | None:
        """Return two halves, or None if all losses in the cell allow the same sequences."""
        if self.padded or self.span.end is None:
            return None
        if self.sequences.number(self.span.start) == self.sequences.number(self.span.end - 1):
            return None
        middle = (self.span.start + self.span.end) // 2
        return (
            replace(self, span=replace(self.span, end=middle)),
            replace(self, span=replace(self.span, start=middle)),
        )


def _find_core(sequences: Sequences, rate: Fraction, limit: int) -> tuple[int, int, list[FloatArray]]:
    """Find the range of losses below `limit` that carries the weight, and bound what lies outside, in bits.

    A block [a, b) weighs at most q^a N_b, and all sequences together at least q^a N_a for any a. Exponents of two
    are enough to compare them. Three bits allow for this, and for the error of `count_bits`.
    """
    first, last, outside = 0, limit, [np.empty(0)]
    enough, stride = _FEW_FACTORS, -(-limit // _COARSE_BLOCKS)
    # The bound of a block this wide is too large by as many bits as may be left out.
    tight = _count_losses(rate, _LEFT_OUT_BITS)
    while (last - first) * sequences.k > enough:
        edges = first + stride * np.arange(-(-(last - first) // stride) + 1)
        edges[-1] = last
        exponents = sequences.compute_numbers(edges).exponent
        cost = count_bits(rate, edges)
        most = exponents[1:] - cost[:-1] + 3
        heavy = np.flatnonzero(most > (exponents - cost).max() - _LEFT_OUT_BITS)
        begin, end = heavy[0], heavy[-1] + 1
        first, last = int(edges[begin]), int(edges[end])
        outside += [most[:begin], most[end:]]
        # A second pass costs as much as the first. It pays only if very many factors are left.
        enough = _MANY_FACTORS
        if stride <= tight:
            break
        stride = -(-(last - first) // _COARSE_BLOCKS) if 2 * (end - begin) <= len(most) else tight
    return first, last, outside


def _divide(sequences: Sequences, rate: Fraction, first: int, last: int) -> tuple[IntArray, Scaled, Scaled | None]:
    """Cut [first, last) into blocks: single losses if there are few, otherwise blocks in which N_r grows little.

    Return the last loss of each block, N_r of that loss, and a lower bound of N_r in the block: N_r of the first loss
    of all, or of the last loss before the block. There are no lower bounds if every block has one loss.
    """
    if first == last:
        nothing = powers(rate, np.empty(0, dtype=np.int64))
        return np.empty(0, dtype=np.int64), nothing, None
    stride = _choose_stride(sequences.k, rate, last - first)
    if stride == 1:
        lasts = np.arange(first, last)
        numbers = sequences.compute_numbers(lasts)
        return lasts, numbers, None
    lasts = np.append(np.arange(first + stride - 1, last - 1, stride), last - 1)
    numbers = sequences.compute_numbers(lasts)
    start = sequences.compute_numbers(np.array([first]))
    while True:
        least = concatenate([start, numbers.take(slice(-1))])
        widths = np.diff(lasts, prepend=first - 1)
        steep = (numbers.exponent - least.exponent > _STEEP_BITS) & (widths > 1)
        if not steep.any():
            return lasts, numbers, least
        middles = lasts[steep] - widths[steep] // 2
        order = np.argsort(np.append(lasts, middles))
        numbers = concatenate([numbers, sequences.compute_numbers(middles)]).take(order)
        lasts = np.append(lasts, middles)[order]


def _choose_stride(k: int, rate: Fraction, width: int) -> int:
    """Choose how many losses a block holds at first: never more than there are, so that no border leaves 64 bits."""
    if width * k <= _TOO_MANY_FACTORS:
        return -(-width // _MOST_BLOCKS)
    return min(width, _count_losses(rate, _STEEP_BITS))


@lru_cache(maxsize=256)
def _count_losses(rate: Fraction, bits: int) -> int:
    """Return how many losses make q^r fall by so many bits, and at least one."""
    return max(1, min(EVERY_LEVEL, math.floor(bits / (rate * Fraction(BITS_PER_NAT)))))
