"""The shortest way in: counts in memory, the indices or keys of the chosen items out."""

from __future__ import annotations

from typing import Any

from shortlist.exact.bits import Bits, SystemBits
from shortlist.mechanisms import Mechanism, mechanism_named
from shortlist.profile import IntArray
from shortlist.release import check_may_release
from shortlist.votes.arrays import ArrayTally, read_counts


def top_k(
    counts: Any,
    k: int | None = None,
    epsilon: Any = None,
    *,
    mechanism: str | Mechanism = "joint",
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
    source = SystemBits() if bits is None else bits
    check_may_release(chosen, source)
    array, keys = read_counts(counts)
    tally = ArrayTally(array)
    items = tally.items(chosen.prepare(tally).draw(source))
    return items if keys is None else [keys[index] for index in items.tolist()]
