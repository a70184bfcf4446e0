"""Outputs of the real code, drawn with the randomness of the operating system."""

from __future__ import annotations

from collections import Counter

import numpy as np

from shortlist.audits.laws import Histogram
from shortlist.audits.stated import Output
from shortlist.exact.bits import Bits, SystemBits
from shortlist.mechanisms import Mechanism
from shortlist.votes.memory.arrays import ArrayTally


def draw_outputs(mechanism: Mechanism, histogram: Histogram, trials: int, bits: Bits | None = None) -> Counter[Output]:
    """Draw `trials` times as `top_k` draws, and count what releases would show."""
    source = SystemBits() if bits is None else bits
    tally = ArrayTally(np.array(histogram))
    prepared = mechanism.prepare(tally)
    seen: Counter[Output] = Counter()
    for _ in range(trials):
        picks = prepared.draw(source)
        rows, noisy = picks.publish(tally.items(picks))
        counts = None if noisy is None else tuple(noisy.tolist())
        seen[Output(tuple(rows.tolist()), counts, picks.chosen)] += 1
    return seen
