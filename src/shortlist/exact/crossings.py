"""Draw which of very many independent events happen, exactly. The cost grows with the number that happen.

Cells lie in a line. Each is hit with probability 1 − e^(−2^-20), independently: the number of cells between two hits
has a geometric law. An event has w cells, so one of them is hit with probability 1 − e^(−w · 2^-20). This is at least
the probability p of the event. If a cell of the event is hit, the event happens with probability p / (1 − e^(−w ·
2^-20)). The line holds all draws, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.exact.balls import enclose_shortfall
from shortlist.exact.bits import Bits
from shortlist.exact.choice import are_below
from shortlist.exact.noise import draw_geometric
from shortlist.exact.scaled import Scaled, compute_shortfalls
from shortlist.exact.uniform import draw_words

_CELL_BITS = 20
_CELL = Fraction(1, 1 << _CELL_BITS)
_WIDTH_BITS = 4
"""Widths are rounded up to this many digits, so that few are different."""
_RARE = 2.0**-40


class Crossings:
    """Independent events in groups, prepared for drawing which of them happen.

    There are `sizes[i]` events with the probability `chances[i]`, which is at most 1/2. The last `rare` events have
    probabilities below 2^-64 each. Events are numbered from 0, and `enclose` encloses the probability of one of them.
    """

    def __init__(self, sizes: IntArray, chances: Scaled, *, rare: int, enclose: Callable[[int], arb]) -> None:
        self._enclose = enclose
        floats = chances.align(0)
        # −ln(1 − p) ≤ p + p² for p ≤ 1/2. The factor allows for all roundings.
        mantissa, exponent = np.frexp((floats + floats**2) * (1 + 2 * chances.error + 2.0**-50) * 2.0**_CELL_BITS)
        rounded = np.ldexp(np.ceil(np.ldexp(mantissa, _WIDTH_BITS)), exponent - _WIDTH_BITS)
        self._widths = np.append(np.ceil(np.maximum(rounded, 1.0)).astype(np.int64), 1)
        ratios = chances / compute_shortfalls(_CELL, self._widths[:-1])
        near, error = ratios.align(0), ratios.error
        self._least = np.append(near * (1 - error), 0.0)
        self._most = np.append(near * (1 + error), _RARE)
        sizes = np.append(sizes, rare)
        self._events = np.cumsum(sizes)
        self._cells = np.cumsum(sizes * self._widths)

    def draw(self, n: int, bits: Bits) -> tuple[IntArray, IntArray]:
        """Draw n times: for each event that happens, in which draw, and its number. Both rise."""
        length = int(self._cells[-1])
        rows, cells = np.divmod(_draw_hits(n * length, bits), max(length, 1))
        groups = np.searchsorted(self._cells, cells, side="right")
        # Counted from the end of a group, because its start is not at hand.
        events = self._events[groups] - 1 - (self._cells[groups] - 1 - cells) // self._widths[groups]
        # An event happens once, however many of its cells are hit.
        first = np.append(True, (rows[1:] != rows[:-1]) | (events[1:] != events[:-1]))[: len(rows)]
        rows, groups, events = rows[first], groups[first], events[first]

        def enclose(i: int, _: int) -> arb:
            return self._enclose(int(events[i])) / enclose_shortfall(_CELL * int(self._widths[groups[i]]))

        words = draw_words(len(rows), bits)
        happened = are_below(words, enclose, bits, least=self._least[groups], most=self._most[groups])
        return rows[happened], events[happened]


def _draw_hits(cells: int, bits: Bits) -> IntArray:
    """Draw which cells of a line are hit, in rising order.

    Rounds  Each draws as many hits as are expected and some more, so a second round is rare.
    """
    parts, last = [np.zeros(0, dtype=np.int64)], -1
    while last < cells - 1:
        wanted = int((cells - last) * float(_CELL) * 1.1) + 8
        hits = last + np.cumsum(draw_geometric(_CELL, np.ones(wanted, dtype=np.int64), bits) + 1)
        parts.append(hits[hits < cells])
        last = int(hits[-1])
    return np.concatenate(parts)
