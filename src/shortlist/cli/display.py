"""What a person sees: a ranking as a table, remarks, and progress while a step takes long."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

from shortlist.safe_text import escape

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

Step = Callable[[str], None]

_PIPED_WIDTH = 60
"""The width of text without a terminal: narrow enough for a mail or a comment."""


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Step]:
    """Return a callback that shows each step when it starts, on stderr and on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("Starting", total=None)
        yield lambda step: bar.update(task, description=step)


def remark(text: str, *, quiet: bool) -> None:
    """Print a remark on stderr, beside the result."""
    if not quiet:
        print(escape(text), file=sys.stderr)


def make_console(*, stderr: bool = False) -> Console:
    """Make a console that prints text as it is, without colours for numbers."""
    from rich.console import Console

    piped = not (stderr or (sys.stdout and sys.stdout.isatty()) or os.environ.get("COLUMNS"))
    return Console(stderr=stderr, highlight=False, width=_PIPED_WIDTH if piped else None)


def print_lines(console: Console, what: RenderableType) -> None:
    """Print on stdout. Without a terminal, blanks at the ends of lines are removed."""
    if console.is_terminal:
        console.print(what)
        return
    with console.capture() as captured:
        console.print(what)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def make_ranking(items: Iterable[Any], *, ranked: bool = True, **others: Iterable[Any]) -> Table:
    """Lay out items in rows, best first, with further columns beside them."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    if ranked:
        table.add_column("rank", justify="right")
    table.add_column("item", overflow="fold")
    columns = {name.replace("_", " "): list(values) for name, values in others.items()}
    for name, values in columns.items():
        numbers = all(isinstance(each, Integral) for each in values)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold", style="dim")
    for rank, row in enumerate(zip(items, *columns.values(), strict=True), start=1):
        first, *rest = row
        table.add_row(*([str(rank)] if ranked else []), to_text(first), *map(_to_cell, rest))
    return table


def to_text(value: Any) -> Text:
    """Make text of a value from data. Nothing in it steers the terminal or is read as markup.

    Characters that stdout cannot encode are escaped here, not by the stream, so that columns stay aligned.
    """
    from rich.text import Text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Text(escape(value).encode(encoding, errors="backslashreplace").decode(encoding))


def _to_cell(value: Any) -> Text:
    """Write a number with separators, and anything else as it is."""
    return to_text(f"{value:,}" if isinstance(value, Integral) else value)
