"""A release in plain words, for readers who do not know differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shortlist.release.release import Release


def explain(release: Release) -> str:
    """Write a paragraph from what the release publishes. It names no item.

    >>> from shortlist import prepare
    >>> print(explain(prepare({"apple": 310, "pear": 190}, k=1, epsilon=1, mechanism="pnf-joint").release()))
    This list of 1 of 2 items, most popular first, was made with differential privacy. Chance was added on purpose, ...
    """
    from shortlist.release.release import NOT_SECURE

    of_all = "" if release.d is None else f" of {release.d:,}"
    items = "item" if (release.d or len(release)) == 1 else "items"
    order = "in no order" if release.unordered else "most popular first"
    listed = f"This list of {len(release):,}{of_all} {items}, {order}, was made with differential privacy."
    sentences = [
        listed if release.items else "No item had enough votes to be listed. This was found with differential privacy.",
        f"Chance was added on purpose, to limit what the list reveals about any one {release.guarantee.unit}.",
        release.guarantee.in_words,
        "For the same reason the list may be wrong: items with close counts may change places, and an item may be "
        "listed that does not belong there.",
    ]
    if release.counts is not None:
        sentences.append("The counts have noise and are not exact.")
    sentences += release.remarks()
    sentences.append(f"Made with shortlist {release.version} by {release.mechanism}: {release.guarantee}.")
    return " ".join([*([] if release.secure else [NOT_SECURE]), *sentences])
