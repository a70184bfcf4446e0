"""Weights as floats with a proven error, and a bound of the weights that are left out."""

from __future__ import annotations

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray
from shortlist.exact.choice import Table
from shortlist.exact.scaled import Scaled


class Weights:
    """The weights of the cells that are worth a place in a table."""

    def __init__(self, numbers: Scaled, left_out: FloatArray) -> None:
        """Take the weights, and upper bounds of the base-2 logarithms of all other weights."""
        self._unit = int(numbers.exponent.max())
        self._numbers = numbers.align(self._unit)
        self._error = numbers.error
        # `align` may lose numbers below 2^-1022 of the unit. They count as left out.
        # A bound beyond the range of floats is infinite: then balls decide.
        with np.errstate(over="ignore"):
            self._omitted = float(np.exp2(np.maximum(left_out - self._unit, -1000.0)).sum())
        self._omitted += len(self._numbers) * 2.0**-1000

    def table(self) -> Table:
        """Tabulate the weights, to choose among the cells."""
        return Table(self._numbers, error=self._error, omitted=self._omitted)

    def total(self) -> arb:
        """Enclose the sum of all weights, including those left out.

        The sum of n positive floats is off by at most 2^-52 n of itself.
        """
        computed = float(self._numbers.sum())
        error = computed * (self._error + 2.0**-52 * len(self._numbers)) * 1.01
        below, above = computed - error, computed + error + self._omitted * 1.01
        return arb(below).union(arb(above)) * arb(2) ** self._unit
