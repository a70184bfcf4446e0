"""The sampler behind Joint, FastJoint and Margin-Joint: a mixture over losses, evaluated only where its weight is.

Let q = e^(−rate), and let τ be a cap on the loss. Joint has no cap. A sequence s has probability ∝ q^min(L(s), τ).
This procedure has that law. First draw a loss R: r < τ with probability ∝ (1 − q) q^r N_r, and τ with probability
∝ q^τ N_∞. Then draw s uniformly among the sequences with L(s) ≤ R, or among all of them if R = τ. The proof is in
joint.proof.md.

Losses are drawn in blocks [a, b). The weight of a block is (q^a − q^b) N_{b−1}: every loss counts as many sequences as
the last one allows. Rejection sampling corrects this. A block of one loss needs no correction. For ordinary ε, every
block has one loss.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, enclose_sum, quantile
from shortlist.exact.shuffles import draw_distinct_below, draw_distinct_below_each
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.joint.blocks import Blocks, LossCell
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.spans import Span, draw_reaches, draw_reaches_each
from shortlist.profile import EVERY_LEVEL, Levels, ManyPicks, Picks, Profile, cut_batches


class Mixture(Prepared):
    """The law of Joint or FastJoint on given levels, ready to be drawn from."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction, tau: int | None) -> None:
        """Prepare P(s) ∝ e^(−rate · min(loss of s, tau)); no tau means no cap."""
        self._levels = levels
        self._k = k
        self._rate = rate
        self._tau = tau
        # Sequences with a larger loss weigh less, all together, than 2^-64 of the best sequence.
        nats = math.ceil((k * math.log2(levels.d) + 64) * math.log(2))
        self.reach = reach = min(EVERY_LEVEL, nats * rate.denominator // rate.numerator + 1)
        """The levels that are read go down to `reach` below h_(k), or farther."""
        self._sequences = Sequences(levels.above(k, reach), k, reach)
        self._blocks = Blocks(self._sequences, rate, horizon=_find_horizon(self._sequences, tau), reach=reach)

    @cached_property
    def _table(self) -> Table:
        # A score of auto needs the sum of the weights, and no table.
        return self._blocks.weights.table()

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        return self.picks(*self.draw_positions(bits))

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose k items n times."""
        parts = []
        for size in cut_batches(n, self._k):
            positions = self.draw_many_positions(size, bits).ravel()
            parts.append(self.picks(self._sequences, positions))
        return ManyPicks.join(parts).reshape(self._k)

    def draw_many_positions(self, n: int, bits: Bits) -> IntArray:
        """Choose k items n times, a row for each draw. Draws that floats cannot decide are made one by one.

        Rounds  Those of `draw_positions`, for each draw.
        """
        positions = np.empty((n, self._k), dtype=np.int64)
        missing = np.arange(n)
        while len(missing):
            words = draw_words(len(missing), bits)
            blocks = self._table.locate_each(words)
            known = np.flatnonzero(blocks >= 0)
            starts, lasts = self._blocks.find(blocks[known])
            drawn = draw_distinct_below_each(self._sequences.count_allowed_each(lasts), bits)
            kept = np.ones(len(known), dtype=bool)
            wide = np.flatnonzero(lasts > starts)
            if len(wide):
                losses = self._sequences.compute_loss_each(drawn[wide])
                kept[wide] = draw_reaches_each(self._rate, starts[wide], lasts[wide] + 1, losses, bits)
            positions[missing[known[kept]]] = drawn[kept]
            left = [known[~kept]]
            for i in np.flatnonzero(blocks < 0).tolist():
                single = self._try_positions(Uniform(bits, int(words[i])), bits)
                if single is None:
                    left.append(np.array([i]))
                else:
                    positions[missing[i]] = single[1]
            missing = missing[np.concatenate(left)]
        return positions

    def draw_positions(self, bits: Bits) -> tuple[Sequences, IntArray]:
        """Choose k items by their positions in falling order of count. Return them with the sequences drawn from.

        Rounds  N_r grows by less than 2^4 in a block, so a list is accepted with a probability of at least 1/16.
        """
        while True:
            if (drawn := self._try_positions(Uniform(bits), bits)) is not None:
                return drawn

    def _try_positions(self, number: Uniform, bits: Bits) -> tuple[Sequences, IntArray] | None:
        """Draw positions in the block that a number hits, or None if they are rejected."""
        sequences, start, end = self._choose(number)
        positions = draw_distinct_below(sequences.count_allowed(None if end is None else end - 1), bits)
        single = end is None or end - start == 1
        if single or draw_reaches(Span(rate=self._rate, start=start, end=end), sequences.compute_loss(positions), bits):
            return sequences, positions
        return None

    def picks(self, sequences: Sequences, positions: IntArray) -> Picks:
        """Describe the items at some positions. Items below the levels read so far need all levels."""
        profile = sequences.profile if positions.max() < sequences.profile.ends[-1] else self.all_sequences.profile
        return profile.picks(positions)

    @cached_property
    def magnitude(self) -> int:
        """An m such that the weights e^(−rate · L(s)) of all sequences sum to 2^m or more."""
        return self._blocks.magnitude()

    @property
    def best_number(self) -> int:
        """How many sequences have the smallest loss, which is 0."""
        return self._sequences.number(0)

    @property
    def top(self) -> IntArray:
        """The k largest counts, in falling order."""
        return self._sequences.top

    @property
    def profile(self) -> Profile:
        """The levels that are read so far."""
        return self._sequences.profile

    def total(self, effort: int = 0) -> arb:
        """Enclose the sum of all weights e^(−rate · min(loss, tau)): from floats with a proven error, or exactly."""
        if not effort:
            return self._blocks.total()
        return enclose_sum([replace(cell, padded=False) for cell in self.cells()], effort)

    @property
    def escalation_bound(self) -> float:
        """An upper bound of the probability that floats cannot choose a block."""
        return self._table.escalation_bound

    def cells(self) -> list[LossCell]:
        """Cover all losses in order with exact weights: the blocks of the table, and what it leaves out."""
        horizon = _find_horizon(self.all_sequences, self._tau)
        core = self._blocks.list_ranges()
        first, last = (core[0][0], core[-1][1]) if core else (horizon, horizon)
        cells = [self._make_cell(start, end, padded=True) for start, end in core]
        if first > 0:
            cells.insert(0, self._make_cell(0, first))
        if last < horizon:
            cells.append(self._make_cell(last, horizon))
        return [*cells, self._make_cell(horizon, None, padded=True)]

    def edges(self) -> list[int]:
        """The losses at which the blocks of the table begin."""
        return [start for start, _ in self._blocks.list_ranges()]

    def _choose(self, number: Uniform) -> tuple[Sequences, int, int | None]:
        """Find the block [start, end) that a number hits, and the sequences to draw from it."""
        index = self._table.locate(number)
        if index is not None:
            return self._sequences, *self._blocks.range(index)
        cell = quantile(number, self.cells())
        return cell.sequences, cell.span.start, cell.span.end

    @cached_property
    def all_sequences(self) -> Sequences:
        """All sequences, for the rare draws that the table cannot decide."""
        return Sequences(self._levels.above(self._k, EVERY_LEVEL), self._k, EVERY_LEVEL)

    def _make_cell(self, start: int, end: int | None, *, padded: bool = False) -> LossCell:
        span = Span(rate=self._rate, start=start, end=end)
        return LossCell(span=span, sequences=self.all_sequences, padded=padded)


def _find_horizon(sequences: Sequences, tau: int | None) -> int:
    """Find the smallest loss that allows every sequence, or the cap if that is smaller."""
    return sequences.widest if tau is None else min(sequences.widest, tau)
