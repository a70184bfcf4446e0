"""What a person sees: a ranking as a table, and a sign of life while a step takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Step = Callable[[str], None]


@contextmanager
def progress(*, quiet: bool) -> Iterator[Step]:
    """Give what is to be told each step as it begins, and shows it on stderr if somebody is there to see it."""
    if quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("Starting", total=None)
        yield lambda step: shown.update(task, description=step)


def remark(text: str, *, quiet: bool) -> None:
    """Say something beside the result, on stderr."""
    if not quiet:
        print(text, file=sys.stderr)


def ranking(items: Iterable[Any], *, title: str | None = None, **others: Iterable[Any]) -> Table:
    """Lay out items best first, with further columns beside them."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    table.add_column("rank", justify="right")
    table.add_column("item", overflow="fold")
    for name in others:
        table.add_column(name.replace("_", " "), overflow="fold", style="dim")
    for rank, row in enumerate(zip(items, *others.values(), strict=True), start=1):
        table.add_row(str(rank), *map(plain, row))
    return table


def plain(value: Any) -> Text:
    """Write a value as it is: items come from data, so nothing in them may steer the terminal or mark text up."""
    from rich.text import Text

    shown = (each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(value))
    return Text("".join(shown))
