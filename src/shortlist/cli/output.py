"""Where a release goes: a file by its suffix, and the screen by --format."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.cli.display import plain, ranking
from shortlist.cli.options import Format
from shortlist.cli.streams import exact_stdout
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from shortlist.release import Release

_SUFFIXES = (".json", ".csv", ".parquet")


def check_output(path: Path | None, *, force: bool) -> None:
    """Refuse a file that could not be written, before any data is read and any privacy is spent."""
    from shortlist.writing import check_target

    if path is None:
        return
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"--output must end in {', '.join(_SUFFIXES)}; found {str(path)!r}.")
    check_target(path, force=force)


def write_release(release: Release, path: Path, *, force: bool) -> None:
    """Write a release in the format that the suffix names, whole or not at all."""
    write = {".json": release.to_json, ".csv": release.to_csv, ".parquet": release.to_parquet}[path.suffix.lower()]
    write(path, force=force)


def print_release(release: Release, form: Format) -> None:
    """Print a release on stdout; JSON and CSV are what the files hold."""
    from shortlist import record

    if form is not Format.TABLE:
        exact_stdout()
    if form is Format.JSON:
        sys.stdout.write(record.dumps(release))
    elif form is Format.CSV:
        writer = csv.writer(sys.stdout, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["rank", "item"])
        writer.writerows((rank, record.text(item)) for rank, item in enumerate(release.items, start=1))
    else:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(ranking(release.items))
        console.print(plain(f"The top {len(release.items)} of {release.d} items by {release.mechanism}."))
        console.print(plain(f"Guarantee: {release.guarantee}."))
        if not release.secure:
            console.print("NOT SECURE: made with repeatable randomness, for tests only.", style="bold")
