"""What a person sees: a ranking as a table, remarks, and progress while a step takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shortlist.text import escape

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

Step = Callable[[str], None]


@contextmanager
def progress(*, quiet: bool) -> Iterator[Step]:
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

    return Console(stderr=stderr, highlight=False)


def make_ranking(items: Iterable[Any], *, ranked: bool = True, **others: Iterable[Any]) -> Table:
    """Lay out items in rows, best first, with further columns beside them."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("rank" if ranked else "", justify="right")
    table.add_column("item", overflow="fold")
    for name in others:
        table.add_column(name.replace("_", " "), overflow="fold", style="dim")
    for rank, row in enumerate(zip(items, *others.values(), strict=True), start=1):
        table.add_row(str(rank) if ranked else "", *map(to_text, row))
    return table


def to_text(value: Any) -> Text:
    """Make text of a value from data. Nothing in it steers the terminal or is read as markup.

    Characters that stdout cannot encode are escaped here, not by the stream, so that columns stay aligned.
    """
    from rich.text import Text

    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return Text(escape(value).encode(encoding, errors="backslashreplace").decode(encoding))
