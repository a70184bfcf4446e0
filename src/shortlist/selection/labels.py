"""The labels of counts in memory: the keys of a mapping, or the index of a pandas Series."""

from __future__ import annotations

from typing import Any, Protocol

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.mechanisms import Mechanism
from shortlist.votes.memory.arrays import read_counts


class Series(Protocol):
    """Counts with labels, as pandas has them."""

    @property
    def index(self) -> Any:
        """The labels."""

    def to_numpy(self) -> Any:
        """The counts."""


def read_labelled_counts(counts: Any, mechanism: Mechanism) -> tuple[IntArray, list[Any] | None]:
    """Read counts. Without a domain, labels are put in the order of their bytes: the order of a mapping may be data."""
    array, labels = read_counts(counts, widen=False)
    if mechanism.needs_domain or labels is None:
        return array, labels
    from shortlist.votes.values import write_item

    keys = [write_item(label) for label in labels]
    if None in keys:
        raise DataError("the labels of {counts} must be text, whole numbers, dates, times, decimals or bytes")
    order = sorted(range(len(keys)), key=lambda place: keys[place] or b"")
    return array[order], [labels[place] for place in order]


def order_labels(labels: list[Any]) -> list[int]:
    """Order the labels of a set by their values alone. The order of a mapping may be data, as in `value_counts()`.

    >>> order_labels(["pear", "apple"]), order_labels([10, 9]), order_labels([("b",), "a"])
    ([1, 0], [1, 0], [0, 1])
    """
    keys = labels
    if {type(label) for label in labels} not in ({str}, {int}):
        from shortlist.votes.values import write_item

        keys = [write_item(label) or repr(label).encode() for label in labels]
    return sorted(range(len(keys)), key=keys.__getitem__)
