"""The law that follows from what a mixture over losses draws with: its blocks, its shuffles and its rejections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.array_types import IntArray
from shortlist.exact.choice import Table
from shortlist.mechanisms.block_mixture import BlockCell, BlockMixture, enclose_span
from shortlist.mechanisms.mechanism import Prepared
from shortlist.testing import SeededBits

DENSE = np.arange(400) % 41
ZIPF = (3000 / np.arange(1, 300)).astype(int)
GIANT = np.array([2**62, 2**61, 5, 4, 3, 2, 1, 0, 0, 0])
ZERO = np.zeros(30, dtype=int)
every_shape = pytest.mark.parametrize("counts", [DENSE, ZIPF, GIANT, ZERO], ids=["dense", "zipf", "giant", "zero"])
every_doubt = pytest.mark.parametrize("doubt", [1e-3, 1e9])


def implied_law(mixture: BlockMixture[Any], candidates: Sequence[Sequence[int]]) -> list[arb]:
    """What blocks, uniform candidates and rejection imply: the kept mass of each candidate over all cells.

    A candidate is a list of positions in falling order of count. Which candidates a cell can draw follows from the
    bounds of its shuffle, and how many there are is compared with the number in its weight.
    """
    by_length: dict[int, list[int]] = defaultdict(list)
    for index, each in enumerate(candidates):
        by_length[len(each)].append(index)
    rows = {length: np.array([candidates[i] for i in indices]) for length, indices in by_length.items()}
    kept = [arb(0)] * len(candidates)
    for cell in atoms(mixture.cells()):
        lasts = [np.array([last]) for _, last in cell.ranges]
        bounds = cell.candidates.count_allowed(cell.group, *lasts)[0]
        positions = rows[len(bounds)]
        ordered = np.sort(positions, axis=1) if mixture.candidates.unordered else positions
        allowed = np.flatnonzero((ordered < bounds).all(axis=1))
        assert len(allowed) == cell.most()
        share = cell.weight() / len(allowed)
        _, losses = cell.candidates.describe(cell.group, positions[allowed])
        parts: dict[tuple[int, ...], arb] = {}
        for index, found in zip(allowed.tolist(), zip(*(each.tolist() for each in losses), strict=True), strict=True):
            if found not in parts:
                parts[found] = share * keep(cell, found)
            kept[by_length[len(bounds)][index]] += parts[found]
    total = sum(kept, arb(0))
    return [each / total for each in kept]


def atoms(cells: Iterable[BlockCell]) -> Iterator[BlockCell]:
    """Split cells until none can be split further."""
    for cell in cells:
        parts = cell.split()
        yield from [cell] if parts is None else atoms(parts)


def keep(cell: BlockCell, losses: Sequence[int]) -> arb:
    """The probability that rejection keeps a candidate with these losses."""
    kept = arb(1)
    for (start, end), loss in zip(cell.spans(), losses, strict=True):
        if 0 <= end <= loss:
            return arb(0)
        if loss > start:
            kept *= enclose_span(cell.rate, loss, end) / enclose_span(cell.rate, start, end)
    return kept


def falling_positions(histogram: Sequence[int], candidates: Iterable[Sequence[int]]) -> list[list[int]]:
    """Candidates by the positions of their items in falling order of count."""
    order = sorted(range(len(histogram)), key=lambda item: -histogram[item])
    place = {item: position for position, item in enumerate(order)}
    return [[place[item] for item in each] for each in candidates]


def rate(epsilon: Fraction, relation: str) -> Fraction:
    """ε/2Δ."""
    return epsilon / (2 if relation == "add-remove" else 4)


def doubting(prepared: Prepared, doubt: float) -> Prepared:
    """The same object, with floats that are trusted less."""
    prepared.doubt = doubt
    return prepared


def draw_lists(prepared: Prepared, lists: int = 25) -> list[list[tuple[int, int]]]:
    """Lists that are drawn one by one, each from its own seed."""
    drawn = (prepared.draw(SeededBits(seed)) for seed in range(lists))
    return [list(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True)) for picks in drawn]


def bound_doubt(table: Table) -> float:
    """An upper bound of the probability that the floats of a table cannot decide."""
    return 2 * table.slack * len(table._borders)


def check_borders(mixture: BlockMixture[Any]) -> None:
    """Every float border lies within the proven slack of the exact one, and the total encloses the exact total."""
    borders: IntArray = mixture._table._borders
    with ctx.workprec(256):
        cells = mixture.cells()
        listed = [cell.weight() for cell in cells if cell.padded]
        rest = [cell.weight() for cell in atoms(cell for cell in cells if not cell.padded)]
        total = sum(listed, arb(0)) + sum(rest, arb(0))
        assert len(listed) == len(borders) - 1
        border = arb(0)
        for weight, ours in zip(listed, borders, strict=False):
            assert abs(arb(float(ours)) / arb(float(borders[-1])) - border / total) < arb(mixture._table.slack)
            border += weight
        assert mixture.total().overlaps(mixture.total(3))
        if np.array_equal(mixture.blocks[1], mixture.blocks[2]):
            assert mixture.total().contains(total)
