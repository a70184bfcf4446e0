"""The last step of every one-shot mechanism: the largest noisy counts, in order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import IntArray


def find_best(noisy: NDArray[np.float64], k: int) -> IntArray:
    """Name the k largest entries, best first.

    >>> find_best(np.array([0.5, 2.5, 1.5]), 2)
    array([1, 2])
    """
    chosen = np.argpartition(noisy, len(noisy) - k)[len(noisy) - k :]
    return chosen[np.argsort(-noisy[chosen])].astype(np.int64)
