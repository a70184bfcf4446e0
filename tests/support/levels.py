"""Counts that hide what they are not asked for."""

from __future__ import annotations

import numpy as np

from shortlist.array_types import IntArray
from shortlist.profile import Profile


class UpperLevels:
    """Levels that show no more than they are asked for."""

    def __init__(self, counts: IntArray) -> None:
        self.counts = counts
        self.d = len(counts)

    def above(self, k: int, depth: int) -> Profile:
        floor = int(np.sort(self.counts)[-k]) - depth
        return Profile.of(self.counts[self.counts >= floor], d=self.d)
