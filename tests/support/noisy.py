"""The laws of noisy counts of `shortlist.audits`, by the names that tests use."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from shortlist.mechanisms.stated import Histogram, gaussian_law, laplace_law, neighbours, output_chance
from shortlist.mechanisms.stated import falling_counts as outputs

__all__ = ["capped_neighbours", "find_neighbours", "gaussian_law", "laplace_law", "output_chance", "outputs"]


def capped_neighbours(histogram: Histogram, relation: str, cap: int) -> Iterator[Histogram]:
    """Every other histogram that one person with at most `cap` votes more or less, or other votes, can make of it."""
    return (each for each in neighbours(histogram, relation, cap) if each != histogram)


def find_neighbours(
    family: Sequence[Histogram], relation: str, groups_per_person: int, cap: int | None = None
) -> Iterator[tuple[Histogram, ...]]:
    """Every family that one person more or less, or one person's other votes, can make of it."""
    for change in itertools.product((0, 1, -1), repeat=sum(map(len, family))):
        moves, left = [], list(change)
        for histogram in family:
            moves.append(tuple(left[: len(histogram)]))
            del left[: len(histogram)]
        allowed = relation == "replace" or 1 not in change or -1 not in change
        for sign in (1, -1):
            allowed &= sum(sign in move for move in moves) <= groups_per_person
            allowed &= cap is None or change.count(sign) <= cap
        moved = tuple(
            tuple(h + c for h, c in zip(histogram, move, strict=True))
            for histogram, move in zip(family, moves, strict=True)
        )
        if allowed and any(change) and min(map(min, moved)) >= 0:
            yield moved
