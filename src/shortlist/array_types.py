"""The array types of this library, in one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
"""Counts, levels, ranks, positions."""

FloatArray = NDArray[np.float64]
"""Weights and other approximate numbers."""

BoolArray = NDArray[np.bool_]
"""Decisions, one for each entry."""

WordArray = NDArray[np.uint64]
"""Words of 64 random bits."""
