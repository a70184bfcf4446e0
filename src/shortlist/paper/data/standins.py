"""A synthetic histogram in place of a data set that is not at hand: right in size, invented in shape."""

from __future__ import annotations

import hashlib

import numpy as np

from shortlist.arrays import IntArray


def stand_in(name: str, *, d: int, largest: int, total: int) -> IntArray:
    """Make d counts up, falling: Poisson votes whose rates follow a power law from `largest` with sum `total`.

    The same name gives the same counts.

    >>> len(stand_in("games", d=5155, largest=4841, total=129511))
    5155
    """
    ranks = np.arange(1.0, d + 1)
    seed = int.from_bytes(hashlib.sha256(f"stand-in {name}".encode()).digest()[:8])
    generator = np.random.Generator(np.random.PCG64(seed))
    rates = largest * ranks ** -_exponent(ranks, total / largest)
    return np.sort(generator.poisson(rates).astype(np.int64))[::-1].copy()


def _exponent(ranks: np.ndarray[tuple[int], np.dtype[np.float64]], wanted: float) -> float:
    """Find a with Σ rank^(−a) = wanted, by halving: the sum falls as a grows."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (ranks**-middle).sum() > wanted else (low, middle)
    return high
