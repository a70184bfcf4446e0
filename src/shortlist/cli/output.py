"""Write a release to a file by its suffix, and print it by --format."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.cli.display import make_console, make_ranking, print_lines, remark, to_text
from shortlist.cli.options import Format
from shortlist.cli.streams import make_stdout_exact, stdout_is_closed
from shortlist.errors import OutputError, ParameterError
from shortlist.safe_text import escape

if TYPE_CHECKING:
    from shortlist.release import Release

_SUFFIXES = (".json", ".csv", ".parquet")


def check_output(path: Path | None, *, force: bool, quiet: bool = False) -> None:
    """Refuse a release that could not be written or printed, before any data is read and any privacy is spent."""
    from shortlist.atomic_files import check_target

    if path is None:
        if quiet:
            raise ParameterError(
                "{quiet} must go with {output}", "the release would be lost", hint="name a file with {output}"
            )
        if stdout_is_closed():
            raise OutputError("stdout must be open", "it is closed", hint="name a file with {output}")
        return
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError("{output} must end in .json, .csv or .parquet", "not {path}", path=repr(str(path)))
    if not force and os.path.lexists(path) and not path.is_dir():
        raise OutputError(
            "the output must be a new file",
            "{path} exists",
            hint="if a list was released to it before, another run is a second release and spends epsilon again. "
            "Choose another name, or pass {force=True} if you want that",
            path=repr(str(path)),
        )
    check_target(path, force=force)


def write_release(release: Release, path: Path, *, force: bool) -> None:
    """Write a release in the format that the suffix names, whole or not at all."""
    write = {".json": release.to_json, ".csv": release.to_csv, ".parquet": release.to_parquet}[path.suffix.lower()]
    write(path, force=force)


def print_release(release: Release, form: Format, *, people: int | None = None, quiet: bool = False) -> None:
    """Print a release on stdout. JSON and CSV are what the files hold."""
    if quiet or stdout_is_closed():
        return
    from shortlist.release import find_warnings

    for text in find_warnings(release, people):
        remark(f"remark: {text}", quiet=quiet)
    if form is Format.TABLE:
        _print_table(release)
        return
    from shortlist.release import write_csv

    text = release.to_json() if form is Format.JSON else write_csv(release)
    if sys.stdout.isatty():
        # CSV has no escapes of its own. On a terminal, safety comes before exactness.
        text = "".join(f"{escape(line)}\n" for line in text.splitlines())
    make_stdout_exact()
    sys.stdout.write(text)


def _print_table(release: Release) -> None:
    from shortlist.release import NOT_SECURE, make_columns

    columns, console = make_columns(release), make_console()
    others = {name: column for name, column in columns.items() if name not in ("rank", "item", "secure")}
    if release.items:
        print_lines(console, make_ranking(release.items, ranked=not release.unordered, **others))
    for line in release.caption():
        shown = to_text(line)
        if line == NOT_SECURE:
            shown.stylize("bold")
        print_lines(console, shown)
