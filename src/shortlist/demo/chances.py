"""How likely Joint was to give a list: the number that differential privacy is about, for the demo to show."""

from __future__ import annotations

import math

import numpy as np

from shortlist.arrays import IntArray


def log_chance(counts: IntArray, chosen: IntArray, epsilon: float) -> float:
    """The logarithm of the chance that Joint chooses this sequence of items, one person more or less as neighbours.

    The law is q^L(s) over the sum of q^L over all sequences, which is (1 − q) Σ_r q^r N_r (design, section 2).
    Floats will do: this is for show, and nothing is decided by it.

    >>> counts = np.array([3, 1, 0])
    >>> chances = [math.exp(log_chance(counts, np.array([item]), 1.0)) for item in range(3)]
    >>> round(sum(chances), 9)
    1.0
    """
    k, d = len(chosen), len(counts)
    rising = np.sort(counts)
    top = rising[::-1][:k]
    loss = int(np.max(top - counts[chosen]))
    widest = int(top[0] - rising[0])
    levels = top[:, None] - np.arange(widest + 1)
    allowed = d - np.searchsorted(rising, levels) - np.arange(k)[:, None]
    rate = epsilon / 2
    terms = np.log(allowed).sum(axis=0) - rate * np.arange(widest + 1)
    # From the widest loss on, N_r is the number of all sequences, and the terms are a geometric series.
    terms[:-1] += math.log(-math.expm1(-rate))
    return float(-rate * loss - np.logaddexp.reduce(terms))
