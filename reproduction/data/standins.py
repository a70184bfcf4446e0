"""A synthetic histogram for a data set that is missing. Its size is right, and its details are invented."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from shortlist.array_types import FloatArray, IntArray


def make_stand_in(name: str, *, d: int, largest: int, hundredth: int, total: int, least: int) -> IntArray:
    """Make up d counts in falling order, each `least` plus a Poisson number.

    The rates fall by the law of Zipf and Mandelbrot, c·(rank + q)^(−a). Its three numbers are chosen so that the
    largest count and the sum are about the given ones, and the hundredth as near as they allow. `least` is 1 where
    items are known because somebody voted for them. The same name gives the same counts.

    >>> counts = make_stand_in("food", d=166_049, largest=11_500, hundredth=2_300, total=1_297_156, least=1)
    >>> len(counts), int(counts[-1]), bool(abs(counts[99] - 2_300) < 50), bool(abs(counts.sum() - 1_297_156) < 9_999)
    (166049, 1, True, True)
    """
    seed = int.from_bytes(hashlib.sha256(f"stand-in {name}".encode()).digest()[:8])
    generator = np.random.Generator(np.random.PCG64(seed))
    top, wanted = float(largest - least), float(total - least * d)
    shift, exponent = _fit(d, (hundredth - least) / top, wanted / top)
    rates = top * _fall(np.arange(1.0, d + 1), shift, exponent)
    counts = least + generator.poisson(rates).astype(np.int64)
    return np.sort(counts)[::-1].copy()


def _fall(ranks: FloatArray, shift: float, exponent: float) -> FloatArray:
    return ((1 + shift) / (ranks + shift)) ** exponent


def _fit(d: int, hundredth: float, total: float) -> tuple[float, float]:
    """Find q and a with the given value at rank 100 and the given sum, both in parts of the largest value."""
    edges = np.unique(np.geomspace(1, d + 1, 3000).astype(np.int64))
    middles, widths = (edges[:-1] + edges[1:] - 1) / 2, np.diff(edges).astype(np.float64)

    def exponent_for(shift: float) -> float:
        return _halve(lambda a: float((widths * _fall(middles, shift, a)).sum()) - total, 0.0, 1e4)

    def excess(shift: float) -> float:
        return hundredth - float(_fall(np.array([100.0]), shift, exponent_for(shift))[0])

    # A larger shift makes the head flatter, so the value at rank 100 rises.
    shift = _halve(excess, 0.0, 5_000.0)
    return shift, exponent_for(shift)


def _halve(falling: Callable[[float], float], low: float, high: float) -> float:
    """Find where a falling function crosses 0, or the nearer end."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high
