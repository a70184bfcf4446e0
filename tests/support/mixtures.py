"""The law that follows from the cells of a mixture over losses."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from shortlist import top_k
from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.choice import Table
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.joint import blocks, sequences
from shortlist.mechanisms.joint.blocks import LossCell
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.spans import Span
from shortlist.testing import SeededBits

DENSE = np.arange(400) % 41
ZIPF = (3000 / np.arange(1, 300)).astype(int)
GIANT = np.array([2**62, 2**61, 5, 4, 3, 2, 1, 0, 0, 0])
ZERO = np.zeros(30, dtype=int)
every_shape = pytest.mark.parametrize("counts", [DENSE, ZIPF, GIANT, ZERO], ids=["dense", "zipf", "giant", "zero"])
every_doubt = pytest.mark.parametrize("doubt", [1e-3, 1e9])


def atoms(cells: Iterable[LossCell]) -> Iterator[LossCell]:
    """Split cells until none can be split further."""
    for cell in cells:
        parts = cell.split()
        yield from [cell] if parts is None else atoms(parts)


def mixture_law(mixture: Mixture, losses: list[int]) -> list[arb]:
    """What blocks, uniform sequences and rejection imply: kept mass of s over all blocks that allow it.

    `losses` are those of all sequences. How many of them a block allows is counted here, not asked of the mixture.
    """
    ordered = sorted(losses)
    cells = [(cell, cell.weight() / count_allowed(ordered, cell.last())) for cell in atoms(mixture.cells())]
    kept = {loss: sum((keep(cell, share, loss) for cell, share in cells), arb(0)) for loss in set(losses)}
    total = sum((kept[loss] for loss in losses), arb(0))
    chances = {loss: weight / total for loss, weight in kept.items()}
    return [chances[loss] for loss in losses]


def keep(cell: LossCell, share: arb, loss: int) -> arb:
    """Of a sequence's share of a block, take the part that rejection keeps."""
    start, end = cell.span.start, cell.span.end
    if end is None or loss <= start:
        return share
    if loss >= end:
        return arb(0)
    return share * Span(rate=cell.span.rate, start=loss, end=end).weight() / cell.span.weight()


def count_allowed(ordered: list[int], last: int | None) -> int:
    """Count the sequences with a loss of at most `last`; without it, all."""
    return len(ordered) if last is None else bisect_right(ordered, last)


def rate(epsilon: Fraction, relation: str) -> Fraction:
    """ε/2Δ."""
    return epsilon / (2 if relation == "add-remove" else 4)


def treat_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every number of factors as too many: coarse passes, blocks of several losses, small matrices."""
    for name in ("_FEW_FACTORS", "_MANY_FACTORS", "_TOO_MANY_FACTORS"):
        monkeypatch.setattr(blocks, name, 0)
    monkeypatch.setattr(sequences, "_MANY_FACTORS", 0)
    monkeypatch.setattr(sequences, "_CACHED", 64)


def check_balls_agree(
    mechanism: Mechanism, counts: IntArray, doubt: float, monkeypatch: pytest.MonkeyPatch, *, lists: int = 25
) -> None:
    """Which block a number hits is a fact: balls find the block that floats find, for the same bits."""

    def draw_lists() -> list[list[int]]:
        return [top_k(counts, mechanism=mechanism, bits=SeededBits(seed)).tolist() for seed in range(lists)]

    answers = draw_lists()
    build = Table.__init__

    def doubtful(table: Table, weights: FloatArray, *, error: float, omitted: float) -> None:
        build(table, weights, error=error + doubt, omitted=omitted)

    monkeypatch.setattr(Table, "__init__", doubtful)
    assert draw_lists() == answers


def check_borders(mixture: Mixture) -> None:
    """Every float border lies within the proven slack of the exact one."""
    with ctx.workprec(256):
        cells = list(atoms(mixture.cells()))
        weights = [cell.weight() for cell in cells]
        total = sum(weights, arb(0))
        assert mixture.total().contains(total) or not all(cell.padded for cell in cells)
        tabulated = dict(zip(mixture.edges(), mixture._table._borders, strict=False))
        border = arb(0)
        for cell, weight in zip(cells, weights, strict=True):
            if (ours := tabulated.get(cell.span.start)) is not None:
                share = arb(float(ours)) / arb(float(mixture._table._borders[-1]))
                assert abs(share - border / total) < arb(mixture._table.slack)
            border += weight
