"""The columns that a table has, and what may be said of them when one is missing.

The first line of a CSV file without a header is a vote, and the columns of an answer may be made from values. So
names are shown only where they are surely names.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from shortlist.errors import DataError

_SHORTEST = 3
"""A name that is missing and has so many letters may be the beginning of the right one."""

_NO_HEADER_OF_VOTES = " If there is no header, pass {votes.Files.header=False}: columns are then called 1, 2 and so on"
_NO_HEADER_OF_DOMAIN = (
    " If there is no header, pass {domain.Files.header=False}: columns are then called 1, 2 and so on"
)


class Origin(StrEnum):
    """Where the names of the columns stand."""

    SCHEMA = "schema"
    """In the schema of a Parquet file: they are names."""
    FRAME = "frame"
    """In a frame or a dict, where a table of items and persons or counts may have items as its columns."""
    FIRST_LINE = "first line"
    """In the first line of a CSV file, which is a vote if the file has no header."""
    KEYS = "keys"
    """In the objects of JSON lines."""
    ANSWER = "answer"
    """In the answer to a query."""
    UNKNOWN = "unknown"
    """Nowhere: the file has no line, and its columns may be called anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of one table or file."""

    columns: Sequence[Any]
    origin: Origin = Origin.FRAME
    file: Path | None = None

    def take(self, wanted: Sequence[str], *, where: str) -> list[str]:
        """Refuse a table that lacks a column or has it twice.

        >>> Header(columns=["user", "track"]).take(["usr"], where="the votes")
        Traceback (most recent call last):
        shortlist.errors.DataError: the votes must have a column 'usr'; there is none.
        Hint: did you mean 'user'?
        """
        for name in wanted if self.origin is not Origin.UNKNOWN else ():
            times = list(self.columns).count(name)
            if not times:
                raise self._describe_missing_column(name, where)
            if times > 1:
                raise DataError(
                    "{where} must have each column once",
                    "{name!r} is repeated{inside}",
                    where=where,
                    name=name,
                    inside=self._inside(),
                )
        return list(wanted)

    def describe(self) -> str:
        """What was found, as far as an error may say it."""
        if self.origin is not Origin.SCHEMA:
            return f"there is none{self._inside()}"
        names = ", ".join(map(repr, self.columns[:20])) + (", ..." if len(self.columns) > 20 else "")
        return f"found {names or 'none'}{self._inside()}"

    def _describe_missing_column(self, name: str, where: str) -> DataError:
        # Of a first line, of keys and of an answer nothing is repeated: they may be data.
        nearest = " or ".join(self._nearest(name))
        near = f"did you mean {nearest}?" if nearest else None
        advice = {
            Origin.SCHEMA: near,
            Origin.FRAME: near,
            Origin.FIRST_LINE: "is the first line a header, and is the name written as there, in case and blanks too?",
            Origin.KEYS: "is each line one object, with the names of the columns as its keys?",
            Origin.ANSWER: f"name the column in the query: SELECT ... AS {name}",
        }[self.origin]
        return DataError(
            "{where} must have a column {name!r}",
            "{columns}",
            hint="{advice}" + (_NO_HEADER_OF_DOMAIN if where == "the domain" else _NO_HEADER_OF_VOTES)
            if self.origin is Origin.FIRST_LINE
            else "{advice}"
            if advice
            else None,
            where=where,
            name=name,
            columns=self.describe(),
            advice=advice,
        )

    def _nearest(self, name: str) -> list[str]:
        """The names like the one that is missing, quoted."""
        cutoff = 0.6 if self.origin is Origin.SCHEMA else 0.8
        texts = [each for each in self.columns if isinstance(each, str)]
        same = [each for each in texts if each.strip().casefold() == name.strip().casefold()]
        longer = [each for each in texts if len(name) >= _SHORTEST and each.casefold().startswith(name.casefold())][:2]
        return list(map(repr, same or difflib.get_close_matches(name, texts, n=2, cutoff=cutoff) or longer))

    def _inside(self) -> str:
        return "" if self.file is None else f" in {str(self.file)!r}"


Choose = Callable[[Header], list[str]]
"""Says which columns are needed, given those that are there; refuses a table without them."""
