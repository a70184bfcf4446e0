"""What every engine offers: to read a domain, to count votes with or without one, and to hand rows to a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.profile import Picks, Profile
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.counted import ObservedTally
from shortlist.votes.files.source import Source
from shortlist.votes.header import Choose
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.matching import can_match
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

Start = Callable[[], None]
"""What an engine calls when all checks are done and before it reads a vote, once or several times."""

Batch = tuple[Sequence[Any], ...]
"""The items of some rows, and their persons or counts, as Python values."""


class Tally(Protocol):
    """The votes of every item of a domain, counted and fixed: nothing is read a second time.

    A tally satisfies `Levels`. Items on one level are ranked in ascending order, which is the same on every engine:
    numbers and times by value, false before true, text and bytes by their (UTF-8) bytes.
    """

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick in the domain."""

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows, as the domain wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRows:
    """A relation of the workspace with the columns `item` and `other`, and the type and family of its items."""

    source: Source
    kept: Any
    family: Family


Rows = TypedRows | Iterable[Batch]
"""All rows of a table, in columns with types or in batches of Python values."""


class Table(ABC):
    """A table in the engine that holds it. Errors call it by its name, and add a hint if the engine has one.

    Methods may fail with the engine's own errors. Whoever calls them wraps the call in `explain_failures`.
    """

    hint: str | None = None

    def __init__(self, workspace: Workspace, given: Any, name: str) -> None:
        self._workspace = workspace
        self._given = given
        self._name = name

    def explain_failures(self) -> AbstractContextManager[None]:
        """Say in our words that the engine failed."""
        return translate_errors(self._name, hint=self.hint)

    @abstractmethod
    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column, as an Arrow array."""

    @abstractmethod
    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Match votes to the rows of a domain, and count different persons for each row."""

    @abstractmethod
    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group votes by item, without a domain, and count different persons for each item."""

    @abstractmethod
    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns. A release never asks for them; a check does."""


def check_comparable(among: Family, domain: Domain, columns: VoteColumns) -> None:
    """Refuse a column of which no value can ever be an item. That depends on types alone, not on votes."""
    if not can_match(domain.family, among):
        raise DataError(
            "column {column!r} of the votes must hold values that can be items of the domain, which holds {items}",
            "it holds {seen}",
            hint="cast one of them to the type of the other",
            column=columns.item,
            items=domain.family,
            seen=among,
        )


def check_persons(plain: bool, columns: VoteColumns) -> None:
    """Refuse persons whose type each engine compares and hashes in its own way. That depends on types alone."""
    if not plain and not isinstance(columns.voters, CountColumn):
        raise DataError(
            "column {column!r} of the votes must hold persons as plain values",
            "it holds lists, structures, intervals or numbers of more than 38 digits",
            hint="make one text of their parts",
            column=columns.voters.name,
        )
