"""A table that was opened, not yet read: what files, databases and frames have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.errors import ChangedError

Choose = Callable[[Sequence[str]], list[str]]
"""Says which columns are needed, given those that are there; refuses a table without them."""

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
                )


def stamp_of(path: Path) -> Stamp:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
