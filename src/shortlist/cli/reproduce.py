"""`shortlist reproduce`: the paper's evaluation again, with our mechanisms beside the published ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shortlist.paper.experiment.grid import Grid
    from shortlist.paper.experiment.run import Progress, Watch
    from shortlist.paper.reproduce import Outcome

EXAMPLE = """\
shortlist reproduce --quick
shortlist reproduce --data DIR --datasets games,books,news --vary k,epsilon,beta --trials 200 --output results/
shortlist reproduce --list-data"""


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="The same grid with few trials on small data: minutes, not hours.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the data sets. [default: $SHORTLIST_DATA, or stand-ins]"),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Which data sets, by commas. [default: all six]")
    ] = None,
    vary: Annotated[str, typer.Option(metavar="NAMES", help="What to vary, by commas.")] = "k,epsilon,beta",
    trials: Annotated[int | None, typer.Option(metavar="N", help="Trials of each cell. [default: 200]")] = None,
    joint_trials: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many for the published Joint, which is slow.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same errors.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go, and where a run continues.")
    ] = Path("results"),
    list_data: Annotated[
        bool, typer.Option("--list-data", help="Show which data sets were found and where to get the rest.")
    ] = False,
) -> None:
    """Reproduce the paper: its experiments, its figures, and a verdict on each of its claims.

    A run can be stopped at any time; the same command goes on where it stopped.
    """
    if list_data:
        _list_data(data)
        return
    from shortlist.paper import reproduce as library

    grid = _grid(quick, datasets, vary, trials, joint_trials, seed)
    with _shown(output) as watch:
        outcome = library.reproduce(grid, data=data, output=output, watch=watch)
    _tell(outcome, output)


def _grid(
    quick: bool, datasets: str | None, vary: str, trials: int | None, joint_trials: int | None, seed: int
) -> Grid:
    from shortlist.paper.data.datasets import DATASETS
    from shortlist.paper.experiment.grid import Grid
    from shortlist.paper.reproduce import QUICK

    defaults = QUICK if quick else Grid(datasets=tuple(DATASETS))
    return Grid(
        datasets=defaults.datasets if datasets is None else _names(datasets),
        vary=_names(vary),
        trials=defaults.trials if trials is None else trials,
        joint_trials=joint_trials,
        seed=seed,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


@contextmanager
def _shown(output: Path) -> Iterator[Watch]:
    """Show how far the run is, on stderr; say how to go on after Ctrl-C."""
    try:
        with _display() as watch:
            yield watch
    except KeyboardInterrupt:
        from shortlist.paper.experiment.store import kept

        # Counted in the file: a cell may have been kept just before the signal came.
        print(f"{kept(output)} cells are kept in {output}; the same command goes on from there.", file=sys.stderr)
        raise


@contextmanager
def _display() -> Iterator[Watch]:
    """A bar with cells done, time left and the current cell; where nobody looks on, a line now and then."""
    if not sys.stderr.isatty():
        yield _Log().show
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading the data", total=1.0)
        yield lambda progress: bar.update(task, completed=progress.share, description=_line(progress))


class _Log:
    """A line for every minute, for a run whose stderr goes to a file."""

    def __init__(self) -> None:
        self._next = monotonic() + 60

    def show(self, progress: Progress) -> None:
        if monotonic() >= self._next:
            self._next = monotonic() + 60
            print(_line(progress), file=sys.stderr, flush=True)


def _line(progress: Progress) -> str:
    current = "drawing the figures and the report" if progress.current is None else str(progress.current)
    failed = f", {progress.failures} failed" if progress.failures else ""
    return f"{progress.done}/{progress.cells} cells{failed}{_left(progress)}; {current}"


def _left(progress: Progress) -> str:
    """Write the time left in the unit that suits it."""
    if progress.seconds_left is None or progress.current is None:
        return ""
    seconds = int(progress.seconds_left)
    if seconds < 90:
        return f", {seconds} s left"
    return f", {seconds // 60} min left" if seconds < 5400 else f", {seconds / 3600:.1f} h left"


def _tell(outcome: Outcome, output: Path) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title="Verdict on the paper's claims", title_justify="left")
    for head, ratio in (("claim", 3), ("verdict", 1), ("measured here", 4)):
        table.add_column(head, ratio=ratio, overflow="fold")
    for each in outcome.findings:
        table.add_row(Text(each.claim), Text(str(each.holding), style="bold"), Text(each.measured))
    console = Console()
    console.print(table)
    print(f"The report is {output / 'report.html'}; the figures are in {output / 'figures'}.")
    failures = outcome.results.failures
    if failures:
        print(f"{len(failures)} cells failed; the report says why, and the same command tries them again.")
        raise typer.Exit(1)


def _list_data(data: Path | None) -> None:
    """Print plain lines, so that addresses and paths can be copied whole."""
    from shortlist.paper.data.datasets import DATASETS, VARIABLE, given_folder, locate

    folder = given_folder(data)
    for each in DATASETS.values():
        found = locate(each, folder)
        place = f"stand-in; get {each.file} from {each.source}" if found is None else f"found: {found}"
        print(f"{each.name:<7} {each.d:>7,} items  {place}")
    print(f"The owners' files, or vectors NAME.counts.npy, go into one folder, named by --data or {VARIABLE}.")
