"""The law that follows from the cells of a mixture over losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from flint import arb

from shortlist.mechanisms.joint.blocks import LossCell
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.spans import Span


def atoms(cells: Iterable[LossCell]) -> Iterator[LossCell]:
    """Split cells until none can be split further."""
    for cell in cells:
        parts = cell.split()
        yield from [cell] if parts is None else atoms(parts)


def mixture_law(mixture: Mixture, losses: list[int]) -> list[arb]:
    """What blocks, uniform sequences and rejection imply: kept mass of s over all blocks that allow it.

    `losses` are those of all sequences. How many of them a block allows is counted here, not asked of the mixture.
    """
    kept = []
    cells = list(atoms(mixture.cells()))
    for loss in losses:
        weight = arb(0)
        for cell in cells:
            start, end = cell.span.start, cell.span.end
            if end is not None and loss >= end:
                continue
            share = cell.weight() / count_allowed(losses, cell.last())
            if end is not None and loss > start:
                share *= Span(rate=cell.span.rate, start=loss, end=end).weight() / cell.span.weight()
            weight += share
        kept.append(weight)
    total = sum(kept, arb(0))
    return [weight / total for weight in kept]


def count_allowed(losses: list[int], last: int | None) -> int:
    """Count the sequences with a loss of at most `last`; without it, all."""
    return len(losses) if last is None else sum(each <= last for each in losses)


def rate(epsilon: Fraction, relation: str) -> Fraction:
    """ε/2Δ."""
    return epsilon / (2 if relation == "add-remove" else 4)
