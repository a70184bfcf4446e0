"""What every published algorithm asks of its input, checked once and in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import quote, read_positive, read_whole


def read_arguments(counts: ArrayLike, k: int, epsilon: float) -> tuple[IntArray, int, float]:
    """Read the three arguments that all the algorithms share.

    >>> read_arguments([3, 1, 2], 2, 1)
    (array([3, 1, 2]), 2, 1.0)
    """
    array: np.ndarray[Any, np.dtype[Any]] = np.asarray(counts)
    if array.ndim != 1 or len(array) == 0:
        raise DataError("`counts` must be one row of at least one number", f"not of shape {array.shape}")
    if array.dtype.kind not in "iu":
        raise DataError(
            "`counts` must be integers",
            f"not {array.dtype}",
            hint="round them before they are protected: the guarantee is for counts of whole votes",
        )
    histogram = array.astype(np.int64)
    if histogram.min() < 0:
        raise DataError("`counts` must be at least 0 and below 2**63, and some are not.")
    size = read_whole(k, name="k")
    if size > len(histogram):
        raise ParameterError("`k` must be at most the number of items", f"not {quote(k)}")
    return histogram, size, float(read_positive(epsilon, name="epsilon"))
