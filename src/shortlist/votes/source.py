"""A table that was opened, not yet read: what files, databases and frames have in common."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.errors import ChangedError, DataError
from shortlist.votes.border import reading

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table in some engine.

    `frame` is a narwhals frame with the chosen columns, lazy or not; `typed` is whether the table knows the types of
    its columns (CSV and JSON lines do not: all is text); `local` is whether it lives in the library's own DuckDB.
    """

    frame: Any
    name: str
    typed: bool = True
    local: bool = False
    stamps: dict[Path, Stamp] = field(default_factory=dict)

    def check_unchanged(self) -> None:
        """Refuse to go on with files that changed while they were read."""
        for path, stamp in self.stamps.items():
            try:
                now = stamp_of(path)
            except OSError:
                now = None
            if now != stamp:
                raise ChangedError(
                    f"{self.name} changed while it was read; the file is {str(path)!r}.",
                    hint="run the selection again when nothing writes to the file",
                ) from None


@contextmanager
def reading_from(*sources: Source, hint: str | None = None) -> Iterator[None]:
    """Say in our words that sources could not be read, and first of all if their files changed or are gone."""
    files = [path for source in sources for path in source.stamps]
    try:
        with reading(" or ".join(source.name for source in sources), hint=hint, files=files):
            yield
    except DataError:
        for source in sources:
            source.check_unchanged()
        raise


def stamp_of(path: Path) -> Stamp:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
