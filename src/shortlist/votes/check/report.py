"""What a check found, as numbers and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from shortlist.errors import Dialect, write_python

NOTICE = "NOT PRIVATE, NOT FOR PUBLICATION: for the data owner only."

_WIDTH = 60
_NAMES = {
    0.0: "min",
    0.25: "25th percentile",
    0.5: "median",
    0.75: "75th percentile",
    0.9: "90th percentile",
    0.99: "99th percentile",
    1.0: "max",
}

_COUNTS = (
    "Are the persons counts? Every item has one row, and many rows have the same whole number. If so, name that column "
    "with {count} in place of {person}."
)
_FROM_LOG = (
    "Every item of the domain has a vote: was the domain made from the log? Then the guarantee does not hold. Take a "
    "list of all items that exist, with or without votes."
)
FEWEST_ITEMS = 20
"""A domain of fewer items may well have a vote for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A likely cause of failed matches, and how many rows and different items it explains."""

    name: str
    rows: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """How the rows of the votes fit the domain. **Not private and not for publication.**

    Every row is one of: without a person, without an item, unreadable in the type of the domain, not in the domain, or
    matched. `votes` counts different pairs of person and item among the matched rows, as a release does. If the
    table is counted already, "without a person" means without a count, `votes` is the sum of the counts, and no person
    is known.
    """

    rows: int
    without_person: int
    without_item: int
    unreadable: int
    not_in_domain: int
    matched: int
    domain_size: int
    domain_type: str
    votes_type: str
    items_voted: int
    """How many items of the domain have a vote."""
    persons: int
    persons_matched: int
    """How many persons have a matched vote."""
    votes: int
    votes_per_person: tuple[tuple[float, int], ...]
    """Quantiles of the matched votes of a person: pairs of the share of persons and the number of votes."""
    persons_look_like_counts: bool
    """Whether every item has one row, and half of the persons or more repeat another one, a whole number."""
    counts_unreadable: int
    """Matched rows whose count is not a whole number; a release refuses them."""
    items_repeated: int
    """Items with several rows of counts; a release refuses them."""
    votes_at_places: tuple[tuple[int, int], ...]
    """Pairs of a place and the votes of the item there, to compare with the bound of a release."""
    items_unmatched: int
    most_unmatched: tuple[tuple[str | None, int], ...]
    """The items that failed to match most often, with their rows; None for an item that is not shown."""
    causes: tuple[Cause, ...]

    @property
    def share_matched(self) -> float:
        """The share of the rows with a person and an item that matched; 0 if there are none."""
        complete = self.rows - self.without_person - self.without_item
        return self.matched / complete if complete else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All numbers under their names; the notice is the first and the last entry."""
        return {
            "not_private": NOTICE,
            **asdict(self),
            "share_matched": self.share_matched,
            "not_for_publication": NOTICE,
        }

    def __str__(self) -> str:
        return self.write()

    def write(self, dialect: Dialect = write_python) -> str:
        """Write the report as text, with parameters in the words of Python or of the command line."""
        return "\n".join([NOTICE, "", *self._lines(dialect), "", NOTICE])

    def _lines(self, dialect: Dialect) -> Iterator[str]:
        yield _line("rows read", self.rows)
        yield _line("  without a person", self.without_person)
        yield _line("  without an item", self.without_item)
        yield _line(f"  unreadable as {self.domain_type}", self.unreadable, f"the column holds {self.votes_type}")
        yield _line("  not in the domain", self.not_in_domain)
        yield _line("  matched", self.matched, f"{_percent(self.share_matched)} of those with a person and an item")
        yield _line("items of the domain", self.domain_size)
        yield _line("  with a vote", self.items_voted)
        for place, votes in self.votes_at_places:
            yield _line(f"  votes of the item at place {place:,}", votes)
        yield _line("persons", self.persons)
        yield _line("  with a matched vote", self.persons_matched)
        yield _line("votes (a person counts once for an item)", self.votes)
        if self.counts_unreadable or self.items_repeated:
            yield _line("rows whose count is no whole number", self.counts_unreadable)
            yield _line("items with several counts", self.items_repeated)
        if self.votes_per_person:
            yield _wrap("votes per person: " + ", ".join(f"{_NAMES[q]} {n:,}" for q, n in self.votes_per_person))
        if self.persons_look_like_counts:
            yield ""
            yield _wrap(_COUNTS.format(count=dialect("count", None), person=dialect("person", None)))
        if self.domain_size == self.items_voted >= FEWEST_ITEMS:
            yield ""
            yield _wrap(_FROM_LOG)
        if self.items_unmatched:
            yield ""
            yield from self._failures()

    def _failures(self) -> Iterator[str]:
        yield _line("different items that did not match", self.items_unmatched)
        if any(value is not None for value, _ in self.most_unmatched):
            yield "  most often:"
            yield from (f"  {n:>12,}  {_escape(value or '')}" for value, n in self.most_unmatched)
        else:
            yield _wrap("  rows of the most frequent: " + ", ".join(f"{n:,}" for _, n in self.most_unmatched))
        if not self.causes:
            yield "  none of the usual causes explains them:"
            yield "  is it the right column, and the right catalogue?"
            return
        yield "  likely causes, and what would match without them:"
        yield f"  {'rows':>12}  {'items':>8}"
        yield from (f"  {cause.rows:>12,}  {cause.items:>8,}  {cause.name}" for cause in self.causes)


def _line(name: str, number: int, remark: str = "") -> str:
    return f"{name:<42}{number:>14,}" + (f"\n    ({remark})" if remark else "")


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, subsequent_indent="    ")


def _percent(share: float) -> str:
    # Rounded down: 100 % means all rows.
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{int(share * 1000) / 10:g} %"


def _escape(value: str) -> str:
    """Quote an item, so that it cannot steer a terminal and blanks are seen."""
    shown = "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in value)
    return f"'{shown}'"
