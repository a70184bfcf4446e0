"""What a person sees: a release as a table, remarks, and progress while a step takes long; and which files are made."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.atomic_files import check_target, write_whole
from shortlist.cli.options import Format
from shortlist.cli.process import make_stdout_exact, stdout_is_closed, stop_if_interrupted
from shortlist.errors import OutputError, ParameterError
from shortlist.safe_text import escape, join_words

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from shortlist.release import Publication

_SUFFIXES = (".json", ".csv", ".parquet")

_PIPED_WIDTH = 60
"""The width of text without a terminal: narrow enough for a mail or a comment."""

WIDEST = 1000
"""Wider than any table."""


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Return a callback that shows each step when it starts, on stderr and on a terminal only.

    A run that was interrupted ends there, if not before.
    """
    if not sys.stderr.isatty():
        yield lambda step: stop_if_interrupted()
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("Starting", total=None)

        def show(step: str) -> None:
            stop_if_interrupted()
            bar.update(task, description=step)

        yield show


def remark(text: str) -> None:
    """Print a remark on stderr, beside the result."""
    print(escape(text), file=sys.stderr)


def make_console(*, stderr: bool = False, width: int | None = None) -> Console:
    """Make a console that prints text as it is, without colours for numbers."""
    from rich.console import Console

    piped = not (stderr or sys.stdout.isatty() or os.environ.get("COLUMNS"))
    return Console(stderr=stderr, highlight=False, width=width or (_PIPED_WIDTH if piped else None))


def print_lines(what: str | RenderableType, *, bold: bool = False, width: int | None = None) -> None:
    """Print on stdout, as wide as the terminal. Without a terminal, blanks at the ends of lines are removed."""
    console, shown = make_console(width=width), to_text(what) if isinstance(what, str) else what
    style = "bold" if bold else None
    if console.is_terminal:
        console.print(shown, style=style)
        return
    with console.capture() as captured:
        console.print(shown, style=style)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def to_text(value: Any) -> Text:
    """Make text of a value from data. Nothing in it steers the terminal or is read as markup.

    Characters that stdout cannot encode are escaped here, not by the stream, so that columns stay aligned.
    """
    from rich.text import Text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Text(escape(value).encode(encoding, errors="backslashreplace").decode(encoding))


def make_table(columns: Mapping[str, Iterable[Any]], *, numbers: bool = False) -> Table:
    """Lay out columns. Whole numbers stand at the right, and have separators. With `numbers`, all but the first do.

    What stands behind a list of items is dim. A table that is wider than the terminal has its columns closer together.
    If that is not enough, names of columns break after underscores.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table, listed = Table(box=box.SIMPLE_HEAD), {name: list(values) for name, values in columns.items()}
    for place, (name, values) in enumerate(listed.items()):
        right = (numbers and place > 0) or all(each is None or isinstance(each, Integral) for each in values)
        style = "dim" if not numbers and "item" in list(listed)[:place] else None
        table.add_column(to_text(name), justify="right" if right else "left", overflow="fold", style=style)
    for row in zip(*listed.values(), strict=True):
        cells = ["" if each is None else f"{each:,}" if isinstance(each, Integral) else each for each in row]
        table.add_row(*map(to_text, cells))
    console = make_console()
    widest = console.options.update(width=WIDEST)
    if table.__rich_measure__(console, widest).maximum > console.width:
        table.padding = (0, 0)
    if table.__rich_measure__(console, widest).maximum > console.width:
        for column, name in zip(table.columns, listed, strict=True):
            column.header = Text("\n").join(map(to_text, re.split("(?<=_)(?=.)", name)))
    return table


def check_outputs(paths: list[Path], *, force: bool, quiet: bool, once: bool = False) -> None:
    """Refuse a release that could not be written or printed, before any data is read and any privacy is spent."""
    check_quiet(quiet, paths, "the release would be lost", "output='top10.json'")
    if not paths and stdout_is_closed():
        raise OutputError("stdout must be open", "it is closed", hint="name a file with `output`")
    for path in paths:
        if paths.count(path) > 1:
            raise ParameterError("each `output` must be another file", f"{str(path)!r} is named twice")
        if not force and os.path.lexists(path) and not path.is_dir():
            raise OutputError(
                "the output must be a new file",
                f"{str(path)!r} exists",
                hint="if it is the release of this key, pass `force=True`: the same release is written again, free"
                if once
                else "if a list was released to it before, another run is a second release and spends epsilon again. "
                "Choose another name, or pass `force=True` if you want that",
            )
        check_output(path, _SUFFIXES, force=force)


def keep_inputs(output: Any, given: Any) -> None:
    """Refuse an output that exists and is read or charged: by its path, by a glob, or in a folder."""
    for path in map(Path, filter(os.path.exists, _list_paths(output))):
        folders = path.resolve().parents
        for text in map(os.path.expanduser, _list_paths(given)):
            named = [text] if os.path.exists(text) else glob.glob(text, recursive=True)
            if any(path.samefile(each) or Path(each).resolve() in folders for each in named):
                raise ParameterError("`output` must not be a file that is read or charged", f"{str(path)!r} is one")


def _list_paths(given: Any) -> list[str | Path]:
    """List what options name: a path, nothing, or lists of them."""
    if isinstance(given, str | Path):
        return [given]
    return [path for each in given or () for path in _list_paths(each)]


def check_quiet(quiet: bool, given: object, lost: str, way: str) -> None:
    """Refuse a command that would leave nothing behind. The `way` out is a parameter with an example of a value."""
    if quiet and not given:
        raise ParameterError(f"`quiet` must go with `{way.partition('=')[0]}`", lost, hint=f"pass `{way}`")


def check_output(path: Path | None, suffixes: tuple[str, ...], *, force: bool) -> None:
    """Refuse a file with another suffix, or one that cannot be written."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ParameterError(f"`output` must end in {join_words(suffixes, 'or')}", f"not {str(path)!r}")
    check_target(path, force=force)


def write_output(path: Path | None, text: str, *, force: bool) -> None:
    """Write a text to a file, whole or not at all, and say so."""
    if path is not None:
        write_whole(path, text, force=force)
        remark(f"wrote {path}")


def print_release(release: Publication, form: Format, *, whole: bool = False) -> None:
    """Print a release on stdout. JSON and CSV are what the files hold. A table has the first lists, or all."""
    from shortlist.caption import NOT_SECURE
    from shortlist.release import make_columns, write_csv

    if stdout_is_closed():
        return
    if form is not Format.TABLE:
        text = release.to_json() if form is Format.JSON else write_csv(release)
        if sys.stdout.isatty():
            # CSV has no escapes of its own. On a terminal, safety comes before exactness.
            text = "".join(f"{escape(line)}\n" for line in text.splitlines())
        make_stdout_exact()
        sys.stdout.write(text)
        return
    columns = make_columns(release, None if whole else release.first_lists)
    if columns["item"]:
        shown = {name: column for name, column in columns.items() if name != "secure"}
        # An item that is a number is a name, so it has no separators.
        names = {name: ["" if each is None else str(each) for each in shown[name]] for name in ("item", *release.by)}
        print_lines(make_table({**shown, **names}))
    for line in [] if whole else release.count_more():
        print_lines(line)
    for line in release.caption():
        print_lines(line, bold=line == NOT_SECURE)
