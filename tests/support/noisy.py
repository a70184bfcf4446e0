"""The laws of noisy counts of `shortlist.audits`, by the names that tests use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shortlist.mechanisms.stated import (
    Histogram,
    family_neighbours,
    gaussian_law,
    laplace_law,
    neighbours,
    output_chance,
)
from shortlist.mechanisms.stated import falling_counts as outputs

__all__ = ["capped_neighbours", "find_neighbours", "gaussian_law", "laplace_law", "output_chance", "outputs"]


def capped_neighbours(histogram: Histogram, relation: str, cap: int) -> Iterator[Histogram]:
    """Every other histogram that one person with at most `cap` votes more or less, or other votes, can make of it."""
    return (each for each in neighbours(histogram, relation, cap) if each != histogram)


def find_neighbours(
    family: Sequence[Histogram], relation: str, groups_per_person: int, cap: int | None = None
) -> Iterator[tuple[Histogram, ...]]:
    """Every other family that one person more or less, or one person's other votes, can make of it."""
    found = family_neighbours(family, relation, groups_per_person, cap)
    return (each for each in found if each != tuple(family))
