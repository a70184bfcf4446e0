"""What every published algorithm asks of its input, checked once and in one place."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import quote, read_positive, read_rational


def read_arguments(counts: ArrayLike, k: int, epsilon: float) -> tuple[IntArray, int, float]:
    """Read the three arguments that all the algorithms share.

    >>> read_arguments([3, 1, 2], 2, 1)
    (array([3, 1, 2]), 2, 1.0)
    """
    histogram = _histogram(counts)
    d = len(histogram)
    try:
        number = operator.index(k)
    except TypeError:
        raise ParameterError("{k} must be an int", "not {type}", type=type(k).__name__) from None
    if isinstance(k, bool) or not 1 <= number <= d:
        raise ParameterError(
            "{k} must be from 1 to the number of items, {items}", "not {value}", items=d, value=quote(k)
        )
    return histogram, number, float(read_positive(epsilon, name="epsilon"))


def read_fraction(value: float, *, name: str) -> float:
    """Read a probability strictly between 0 and 1.

    >>> read_fraction("1/4", name="beta")
    0.25
    """
    number = float(read_rational(value, name=name))
    if not 0 < number < 1:
        raise ParameterError(f"{{{name}}} must be strictly between 0 and 1", "not {value}", value=quote(value))
    return number


def _histogram(counts: ArrayLike) -> IntArray:
    array: np.ndarray[Any, np.dtype[Any]] = np.asarray(counts)
    if array.ndim != 1 or len(array) == 0:
        raise DataError("{counts} must be one row of at least one number", "not of shape {shape}", shape=array.shape)
    if array.dtype.kind not in "iu":
        raise DataError(
            "{counts} must be integers",
            "not {type}",
            hint="round them before they are protected: the guarantee is for counts of whole votes",
            type=array.dtype,
        )
    histogram = array.astype(np.int64)
    if histogram.min() < 0:
        raise DataError("{counts} must be at least 0 and below 2**63, and some are not.")
    return histogram
