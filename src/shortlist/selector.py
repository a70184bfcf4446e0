"""From counts in memory to the chosen items."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.arrays import IntArray
from shortlist.exact.bits import Bits, source
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism, mechanism_named
from shortlist.release import check_may_release
from shortlist.votes.arrays import ArrayTally, read_counts


def top_k(
    counts: Any,
    k: int | None = None,
    epsilon: Any = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    bits: Bits | None = None,
    **parameters: Any,
) -> IntArray | list[Any]:
    """Choose k items with the largest counts, best first, under differential privacy.

    `counts` holds one whole number for each item of a public domain, and one person adds at most 1 to each: an array
    or what becomes one, and then indices are returned; or a mapping, and then a list of its keys. `epsilon` is read
    as the exact rational that was written. Without `bits`, the operating system's randomness is used.

    >>> counts = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}
    >>> top_k(counts, k=2, epsilon=1)
    ['apple', 'pear']
    """
    chosen = mechanism_named(mechanism, k=k, epsilon=epsilon, neighbours=neighbours, **parameters)
    drawn_from = source(bits)
    check_may_release(chosen, drawn_from)
    array, keys = read_counts(counts)
    return Selector(chosen, ArrayTally(array), keys).draw(drawn_from)


def prepare(
    counts: Any,
    k: int | None = None,
    epsilon: Any = None,
    *,
    mechanism: str | Mechanism = DEFAULT_MECHANISM,
    neighbours: str | None = None,
    **parameters: Any,
) -> Selector:
    """Prepare `top_k` on a copy of the counts, to draw from it many times; every draw costs the guarantee again.

    >>> selector = prepare({"apple": 310, "pear": 190, "plum": 12, "quince": 2}, k=2, epsilon=1)
    >>> selector.draw()
    ['apple', 'pear']
    """
    chosen = mechanism_named(mechanism, k=k, epsilon=epsilon, neighbours=neighbours, **parameters)
    array, keys = read_counts(counts)
    return Selector(chosen, ArrayTally(array.copy()), keys)


class Selector:
    """A mechanism that has seen the counts. Preparing pays for the levels and the weights; a draw takes O(k)."""

    def __init__(self, mechanism: Mechanism, tally: ArrayTally, keys: list[Any] | None) -> None:
        self._mechanism = mechanism
        self._tally = tally
        self._keys = keys
        self._prepared = mechanism.prepare(tally)

    def draw(self, bits: Bits | None = None) -> IntArray | list[Any]:
        """Choose k items, best first or in the order of the domain: indices, or keys if the counts had some."""
        drawn_from = source(bits)
        check_may_release(self._mechanism, drawn_from)
        items = self._tally.items(self._prepared.draw(drawn_from))
        items = np.sort(items) if self._mechanism.unordered else items
        return items if self._keys is None else [self._keys[index] for index in items.tolist()]
