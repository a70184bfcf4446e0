"""`python -m reproduction`: the paper's evaluation again, with the released programs and our mechanisms."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from shortlist.cli.options import format_example
from shortlist.cli.process import guard_streams, report_errors
from shortlist.errors import ParameterError

if TYPE_CHECKING:
    from reproduction.experiment.grid import Grid
    from reproduction.experiment.run import Progress, Watch
    from reproduction.reproduce import Outcome

EXAMPLE = """\
python -m reproduction --quick
python -m reproduction --data DIR --released DIR --output results/
python -m reproduction --output results/ --report-only
python -m reproduction --list-data"""

_EVERY = 30.0
"""Off a terminal, seconds between two lines about the progress of one step."""


def reproduce(
    quick: Annotated[
        bool, typer.Option("--quick", help="The same sweeps with fewer trials on small data: minutes, not hours.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder of the data sets. [default: $SHORTLIST_DATA, or stand-ins]"),
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The folder with the programs that the paper timed; they are run as well."),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Which data sets, by commas. [default: all six]")
    ] = None,
    vary: Annotated[str, typer.Option(metavar="NAMES", help="What to vary, by commas.")] = "k,epsilon,beta",
    trials: Annotated[int | None, typer.Option(metavar="N", help="Lists for each error. [default: 200]")] = None,
    rounds: Annotated[int | None, typer.Option(metavar="N", help="Rounds for each time. [default: 20]")] = None,
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="After 4 rounds, stop a cell that took so long. [default: 40]")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same errors.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the results go, and where a run continues.")
    ] = Path("results"),
    report_only: Annotated[
        bool, typer.Option("--report-only", help="Measure nothing; write the report of what is there.")
    ] = False,
    remeasure: Annotated[
        bool, typer.Option("--remeasure", help="Measure again what another version of the code measured.")
    ] = False,
    list_data: Annotated[
        bool, typer.Option("--list-data", help="Show which data sets were found and where to get the rest.")
    ] = False,
) -> None:
    """Reproduce the paper: its experiments, its figures, and a verdict on each of its claims.

    A run can be stopped at any time, and reported at any time. The same command continues it; more trials add to it.
    """
    if list_data:
        _list_data(data)
        return
    from reproduction import reproduce as library
    from shortlist.ledger import lift_variable

    grid = _build_grid(quick, datasets, vary, trials, rounds, seconds, seed)
    if report_only and remeasure:
        raise ParameterError("{remeasure} must not be given with {report_only}", "nothing is measured then")
    with _show_progress(output) as watch, lift_variable():
        if report_only:
            outcome = library.report_only(grid, data=data, output=output, watch=watch)
        else:
            outcome = library.reproduce(
                grid,
                data=data,
                output=output,
                released=released,
                remeasure=remeasure,
                command=_restate_command(),
                watch=watch,
            )
    _print(outcome, output)


def _build_grid(
    quick: bool,
    datasets: str | None,
    vary: str,
    trials: int | None,
    rounds: int | None,
    seconds: float | None,
    seed: int,
) -> Grid:
    from reproduction.data.datasets import DATASETS
    from reproduction.experiment.grid import Grid
    from reproduction.reproduce import QUICK

    defaults = QUICK if quick else Grid(datasets=tuple(DATASETS))
    return Grid(
        datasets=defaults.datasets if datasets is None else _split_names(datasets),
        vary=_split_names(vary),
        trials=defaults.trials if trials is None else trials,
        rounds=defaults.rounds if rounds is None else rounds,
        seconds=defaults.seconds if seconds is None else seconds,
        seed=seed,
        coarse=quick,
    )


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _restate_command() -> str:
    """The command as it was typed, with folders by their last name only: the report may be published."""
    words = [word if word.startswith("-") or "/" not in word else f"…/{Path(word).name}" for word in sys.argv[1:]]
    return shlex.join(["python", "-m", "reproduction", *words]).replace("'", "")


@contextmanager
def _show_progress(output: Path) -> Iterator[Watch]:
    """Show how far the run is, on stderr; say how to continue after Ctrl-C."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.fields[step]}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", markup=False),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    print("reading the data", file=sys.stderr, flush=True)
    try:
        if sys.stderr.isatty():
            with bar:
                yield _Display(bar, lines=False).show
        else:
            yield _Display(bar, lines=True).show
    except KeyboardInterrupt:
        from reproduction.experiment.store import count_trials

        trials = count_trials(output)
        print(f"{trials:,} trials are kept in {output}; the same command continues from there.", file=sys.stderr)
        raise


class _Display:
    """A bar for each step on a terminal. Elsewhere, a line at the start of each step and twice a minute."""

    def __init__(self, bar: Any, *, lines: bool) -> None:
        self._bar, self._lines = bar, lines
        self._tasks: dict[str, Any] = {}
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        if not progress.total:
            return
        if progress.step not in self._tasks:
            self._tasks[progress.step] = self._bar.add_task("", total=1.0, step=progress.step, left="")
            self._next = 0.0
        failed = f"{progress.failures} failed; " if progress.failures else ""
        text, share = failed + progress.current, progress.done / progress.total
        left = "" if progress.left is None else f"about {_write_minutes(progress.left)} left"
        self._bar.update(self._tasks[progress.step], completed=share, description=text, left=left)
        if self._lines and monotonic() >= self._next:
            self._next = monotonic() + _EVERY
            parts = [f"{100 * share:.0f} %", *([left] if left else [])]
            print(f"{progress.step}: {', '.join(parts)}; {text}", file=sys.stderr, flush=True)


def _write_minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _print(outcome: Outcome, output: Path) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title="Verdict on the paper's claims", title_justify="left")
    sides = list(outcome.findings[0].judgements) if outcome.findings else []
    for head, ratio in (("claim", 4), *((side, 1) for side in sides)):
        table.add_column(head, ratio=ratio, overflow="fold")
    for each in outcome.findings:
        verdicts = (Text(str(each.judgements[side].holding), style="bold") for side in sides)
        table.add_row(Text(each.claim.text), *verdicts)
    Console().print(table)
    print(f"The report is {output / 'report.html'}; the figures are in {output / 'figures'}.")
    if len(outcome.results.versions) > 1:
        print("The trials come from more than one version of the code; --remeasure measures the older ones again.")
    failures = outcome.results.tables.failures
    if failures:
        print(f"{len(failures)} cells failed; the report says why, and the same command tries them again.")
        raise typer.Exit(1)


def _list_data(data: Path | None) -> None:
    """Print plain lines, so that addresses and paths can be copied whole."""
    from reproduction.data.datasets import DATASETS, VARIABLE, find_folder, locate

    folder = find_folder(data)
    for each in DATASETS.values():
        found = locate(each, folder)
        place = f"stand-in; get {each.file} from {each.source}" if found is None else f"found: {found}"
        print(f"{each.name:<7} {each.d:>7,} items  {place}")
    print(f"The owners' files, or vectors NAME.counts.npy, go into one folder, named by --data or {VARIABLE}.")


class _Command(TyperCommand):
    """A command whose errors become a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
            return super().invoke(ctx)


app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.command(cls=_Command, epilog=format_example(EXAMPLE))(reproduce)

if __name__ == "__main__":
    with guard_streams():
        app(prog_name="python -m reproduction")
