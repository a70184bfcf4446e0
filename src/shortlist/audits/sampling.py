"""Outputs of the real code, drawn with the randomness of the operating system."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shortlist.audits.laws import Histogram
from shortlist.audits.stated import Output
from shortlist.exact.bits import Bits, SystemBits
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import Picks
from shortlist.votes.array_counts import ArrayTally

_BATCHES = (1, 2, 3, 10, 100, 1000)
"""How many lists each call of `draw_many` draws, in turn."""


def draw_outputs(
    mechanism: Mechanism, histogram: Histogram, trials: int, bits: Bits | None = None, *, many: bool = False
) -> list[Output]:
    """Draw `trials` times as `top_k` draws, and return what releases would show. `many` draws by `draw_many`."""
    source = SystemBits() if bits is None else bits
    tally = ArrayTally(np.array(histogram))
    prepared = mechanism.prepare(tally)
    drawn = _draw_batches(prepared, trials, source) if many else (prepared.draw(source) for _ in range(trials))
    return [_show(picks, tally) for picks in drawn]


def _draw_batches(prepared: Prepared, trials: int, bits: Bits) -> Iterator[Picks]:
    done = turn = 0
    while done < trials:
        size = min(_BATCHES[turn % len(_BATCHES)], trials - done)
        yield from prepared.draw_many(size, bits).split()
        done, turn = done + size, turn + 1


def _show(picks: Picks, tally: ArrayTally) -> Output:
    rows, noisy = picks.publish(tally.items(picks))
    return Output(tuple(rows.tolist()), None if noisy is None else tuple(noisy.tolist()), picks.chosen)
