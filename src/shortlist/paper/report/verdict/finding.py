"""What is said about a claim, and the comparisons that all claims are judged by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from shortlist.paper.experiment.grid import SWEEPS
from shortlist.paper.experiment.measure import Row
from shortlist.paper.experiment.results import Results

FEWEST = 5
"""With fewer trials than this, a row says nothing about a claim."""


class Holding(StrEnum):
    """Whether a claim was found to be so."""

    YES = "holds"
    NO = "does not hold"
    UNTESTED = "not tested here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim of the paper, how it is judged, what was measured, and whether it holds."""

    claim: str
    test: str
    measured: str
    holding: Holding

    @classmethod
    def untested(cls, claim: str, test: str, why: str) -> Finding:
        """A claim on which these results are silent."""
        return cls(claim=claim, test=test, measured=why, holding=Holding.UNTESTED)


def judged(holds: bool) -> Holding:
    """Turn the outcome of a test into words."""
    return Holding.YES if holds else Holding.NO


def pairs(results: Results, dataset: str, one: str, other: str, vary: str = "k") -> list[tuple[Row, Row]]:
    """The rows of two mechanisms at each value of a sweep; none, if both were measured at one value only."""
    rows = ((results.at(dataset, one, at), results.at(dataset, other, at)) for at in SWEEPS[vary])
    found = [(first, second) for first, second in rows if first is not None and second is not None]
    return found if len(found) > 1 else []


def ratios(found: Iterable[tuple[Row, Row]], measure: str, *, pad: int = 0) -> list[float]:
    """The first's median over the second's, for each pair."""
    return [(first.quartiles(measure)[1] + pad) / (second.quartiles(measure)[1] + pad) for first, second in found]


def spread(values: Sequence[float]) -> str:
    """Write ratios as their median and range.

    >>> spread([1.5, 30.0, 3.0])
    '3.0× (1.5–30)'
    """
    return f"{short(median(values))}× ({short(min(values))}–{short(max(values))})"


def short(value: float) -> str:
    """Write a ratio with two digits.

    >>> short(0.0123), short(4.56), short(45.6), short(456.0)
    ('0.012', '4.6', '46', '456')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def overlap(one: Row, other: Row, measure: str) -> bool:
    """Whether the ranges between the quartiles of two rows meet."""
    low, _, high = one.quartiles(measure)
    other_low, _, other_high = other.quartiles(measure)
    return low <= other_high and other_low <= high
