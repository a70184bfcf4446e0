"""A view of a long array of low counts, which are tallied block by block.

A block is short, so the blocks of all chosen items are searched at once.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from shortlist.array_types import IntArray
from shortlist.votes.memory.chunks import Chunks

_BLOCK = 1 << 10
"""The number of counts in a block: a multiple of 8, and at most 8 · 255."""
_PART, _LEVELS = 1 << 6, 1 << 4
"""How many blocks are compared at once, and with how many levels, so that all fit into the processor's cache."""
_LOW = 20
"""Counts below this are low. For more levels, `np.bincount` is faster than one comparison for each level."""
_RARE, _SAMPLE = 1 << 6, 1 << 9
"""At most one count in this many may be larger, and half as many of a sample of this size."""
_FAR, _MOST_FAR = (1 << 8) - 1, 1 << 12
"""Counts from the first number on are far. If more than the second number are far, a mechanism may need no low counts,
so nothing is tallied."""
_SEARCHED = 1 << 7
"""How many blocks are searched at once."""
_COLUMN = np.arange(_LOW, dtype=np.uint8)[:, np.newaxis]


class Blocks(Chunks):
    """Low counts tallied block by block, and the others in a window."""

    def _search(self, levels: IntArray, ranks: IntArray) -> IntArray:
        """The indices of low items. Each block is searched once for each level."""
        blocks, within = self._locate(levels, ranks)
        keys, places = np.unique(blocks * _LOW + levels, return_inverse=True)
        found = np.empty_like(ranks)
        for start in range(0, len(keys), _SEARCHED):
            chosen = np.flatnonzero((places >= start) & (places < start + _SEARCHED))
            searched, wanted = np.divmod(keys[start : start + _SEARCHED], _LOW)
            found[chosen] = self._search_blocks(searched, wanted, places[chosen] - start, within[chosen])
        return found

    def _search_blocks(self, blocks: IntArray, levels: IntArray, places: IntArray, ranks: IntArray) -> IntArray:
        """Search each block for one level. An item is given by the place of its block in the list, and its rank."""
        # The last block is searched together with some counts before it, which belong to another block.
        starts = np.minimum(blocks * _BLOCK, len(self._counts) - _BLOCK)
        there = sliding_window_view(self._counts, _BLOCK)[starts] == levels.astype(self._counts.dtype)[:, np.newaxis]
        there[starts < blocks * _BLOCK, : -len(self._counts) % _BLOCK] = False
        sizes = self._tallies[blocks, levels].astype(np.int64)
        positions = np.flatnonzero(there)[(np.cumsum(sizes) - sizes)[places] + ranks]
        found: IntArray = starts[places] + positions - places * _BLOCK
        return found


def tally_blocks(counts: IntArray) -> Blocks | None:
    """Tally counts that are low except for a few; None if more are not low, or if one is negative."""
    unsigned = counts.view(f"u{counts.itemsize}")  # a negative count is larger than every valid one
    if np.count_nonzero(unsigned[:: -(-len(counts) // _SAMPLE)] >= _LOW) > _SAMPLE // _RARE // 2:
        return None
    blocks = -(-len(counts) // _BLOCK)
    packed = np.zeros((_LOW, blocks), dtype=np.uint64)
    room, equal = np.empty(_PART * _BLOCK, dtype=np.uint8), np.empty((_LEVELS, _PART * _BLOCK), dtype=bool)
    large = [np.empty(0, dtype=np.int64)]
    rare = far = highest = 0
    for first in range(0, blocks, _PART):
        part = unsigned[first * _BLOCK : (first + _PART) * _BLOCK]
        top = int(np.maximum.reduce(part))
        highest = max(highest, top)
        short = room[: -(-len(part) // _BLOCK) * _BLOCK]
        short[len(part) :] = 0
        np.copyto(short[: len(part)], np.minimum(part, _FAR) if top > _FAR else part, casting="unsafe")
        if top >= _LOW:
            high = short >= _LOW
            rare, far = rare + int(np.count_nonzero(high)), far + int(np.count_nonzero(short == _FAR))
            if rare > len(counts) // _RARE or far > _MOST_FAR or top > np.iinfo(counts.dtype).max:
                return None
            large.append(first * _BLOCK + np.flatnonzero(high))
        _compare(short, equal, packed[: top + 1, first : first + _PART])
    others = np.concatenate(large)
    # Row by row, so that little new memory is needed: the system takes long to give it.
    tallies = np.array([_add_bytes(row) for row in packed[: highest + 1]])
    # How many items are on the lowest level follows from the others.
    tallies[0] = _BLOCK - np.bincount(others // _BLOCK, minlength=blocks)
    tallies[0, -1] -= -len(counts) % _BLOCK
    tallies[0] -= tallies[1:].sum(axis=0, dtype=np.uint16)
    return Blocks(counts, 0, tallies.T, others)


def _compare(short: NDArray[np.uint8], equal: NDArray[np.bool_], packed: NDArray[np.uint64]) -> None:
    """Tally the levels from 1 upwards in each block. A tally is the sum of eight bytes, none of them above 255."""
    for lowest in range(1, len(packed), _LEVELS):
        tallied = packed[lowest : lowest + _LEVELS]
        compared = equal[: len(tallied), : len(short)]
        np.equal(short, _COLUMN[lowest : lowest + len(tallied)], out=compared)
        np.einsum("lbw->lb", compared.view(np.uint64).reshape(*tallied.shape, _BLOCK // 8), out=tallied)


def _add_bytes(numbers: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Add the eight bytes of each number. The numbers are overwritten.

    >>> _add_bytes(np.array([0xFF0000000000FF01], dtype=np.uint64))
    array([511], dtype=uint16)
    """
    every_second = np.uint64(0x00FF00FF00FF00FF)
    odd = numbers >> np.uint64(8)
    odd &= every_second
    numbers &= every_second
    numbers += odd
    # Now a number has four parts of sixteen bits. The product has their sum in its first sixteen bits.
    numbers *= np.uint64(0x0001000100010001)
    numbers >>= np.uint64(48)
    return numbers.astype(np.uint16)
