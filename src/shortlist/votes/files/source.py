"""A table that DuckDB opened and has not read yet, and the files that it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shortlist.errors import ChangedError, DataError
from shortlist.votes.workspace.failures import translate_errors

Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A relation of DuckDB with the chosen columns, in their order.

    `stamps` belong to the files that must not change. `files` are the paths that DuckDB reads, which may be those of
    copies, with the names that errors may show.
    """

    relation: Any
    name: str
    stamps: dict[Path, Stamp] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def check_unchanged(self) -> None:
        """Refuse to go on with files that changed while they were read."""
        for path, stamp in self.stamps.items():
            try:
                now = read_stamp(path)
            except OSError:
                now = None
            if now != stamp:
                raise ChangedError(
                    "{name} changed while it was read; the file is {path}",
                    hint="run the selection again when nothing writes to the file",
                    name=self.name,
                    path=repr(str(path)),
                )


@contextmanager
def translate_errors_of(source: Source, *, hint: str | None = None) -> Iterator[None]:
    """Say in our words that a source could not be read, and first of all if its files changed or are gone."""
    try:
        with translate_errors(source.name, hint=hint, files=source.files):
            yield
    except DataError:
        source.check_unchanged()
        raise


def read_stamp(path: Path) -> Stamp:
    """What changes when a file does: its size and the time of the last change."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns
