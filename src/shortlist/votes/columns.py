"""Which columns of the votes are read: the items, and either the persons or the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shortlist.errors import ParameterError
from shortlist.privacy.numbers import quote
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.header import Header

VOTES = "the votes"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonColumn:
    """The column of who voted. With a cap, at most so many items of each person count."""

    name: str
    cap: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountColumn:
    """The column of counts, of a table that is counted already."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteColumns:
    """The column of items, and the column of persons or of counts (`voters`)."""

    item: str
    voters: PersonColumn | CountColumn

    def choose(self, header: Header) -> list[str]:
        """The two columns, each of which must be there once."""
        return header.take([self.item, self.voters.name], where=VOTES)


def read_columns(*, item: Any, person: Any, count: Any, votes_per_person: Any) -> VoteColumns:
    """Refuse columns that contradict each other.

    >>> read_columns(item="track", person="user", count=None, votes_per_person=2).voters
    PersonColumn(name='user', cap=2)
    """
    for name, column in (("item", item), ("person", person), ("count", count)):
        if not isinstance(column, str) and (column is not None or name == "item"):
            raise ParameterError(
                f"{{{name}}} must be the name of a column, as text", "not {kind}", kind=type(column).__name__
            )
    if (person is None) == (count is None):
        raise ParameterError(
            "{person} or {count} must be named, and only one of them",
            "neither was" if person is None else "both were",
            hint="{person} names the column of who voted; {count} the counts of a table that is counted already",
        )
    if item in (person, count):
        raise ParameterError(f"{{item}} and {{{'person' if count is None else 'count'}}} must be different columns")
    if votes_per_person is not None:
        _check_cap(votes_per_person, counted=person is None)
    voters = CountColumn(name=count) if person is None else PersonColumn(name=person, cap=votes_per_person)
    return VoteColumns(item=item, voters=voters)


def _check_cap(cap: Any, *, counted: bool) -> None:
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= EVERY_LEVEL:
        raise ParameterError("{votes_per_person} must be a whole number from 1", "not {value}", value=quote(cap))
    if counted:
        raise ParameterError(
            "{votes_per_person} must go with {person}",
            hint="in a table that is counted already, nobody's votes can be told apart",
        )
