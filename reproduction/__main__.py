"""`python -m reproduction`: the paper's evaluation again, with the released programs and our mechanisms."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from reproduction.experiment.datasets import DATASETS, VARIABLE, Histogram, find_folder, load, locate
from reproduction.experiment.grid import Grid, add_mechanism
from reproduction.experiment.released import Released
from reproduction.experiment.run import Progress, Run, Watch, describe_machine, find_commit, hash_code
from reproduction.experiment.store import Results, RunInfo, count_trials, lock_folder, open_store
from reproduction.report.claims import Finding
from reproduction.report.figures import use_matplotlib
from reproduction.report.page import publish
from shortlist.errors import MissingExtraError, ParameterError
from shortlist.ledger import lift_variable

try:
    import typer
    from typer.core import TyperCommand

    from shortlist.cli.app import format_example
    from shortlist.cli.display import make_table, print_lines
    from shortlist.cli.process import guard_streams, report_errors
except ModuleNotFoundError:
    sys.exit(f"error: {MissingExtraError('reproduction', purpose='the reproduction')}")

EXAMPLE = """\
python -m reproduction --quick
python -m reproduction --data DIR --released DIR --output results/
python -m reproduction --output results/ --report-only
python -m reproduction --list-data"""
QUICK = Grid(datasets=("games", "books"), trials=50, rounds=5, seconds=4.0, coarse=True)
"""The same sweeps in some minutes: the two small data sets, fewer lists and fewer rounds."""
_OFTEN, _EVERY = 0.2, 30.0
"""Seconds between two lines about the progress of one step, on a terminal and elsewhere."""
_CLEAR = "\r\x1b[K"
"""Lets a terminal write over the line."""


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
        float | None, typer.Option(metavar="S", help="After 4 rounds, stop a cell that took so long. [default: 12]")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same errors.")] = 0,
    mechanism: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Measure a mechanism of yours, too: its file, or its name. Repeatable."),
    ] = None,
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
    for name in mechanism or ():
        add_mechanism(name)
    asked: dict[str, Any] = {"trials": trials, "rounds": rounds, "seconds": seconds, "seed": seed}
    asked |= {"vary": _split_names(vary), "datasets": None if datasets is None else _split_names(datasets)}
    given = {name: value for name, value in asked.items() if value is not None}
    grid = replace(QUICK if quick else Grid(datasets=tuple(DATASETS)), **given)
    if report_only and remeasure:
        raise ParameterError("`remeasure` must not be given with `report_only`", "nothing is measured then")
    with _show_progress(output) as watch, lift_variable():
        use_matplotlib()  # A missing optional part is reported now, not after hours.
        if report_only:
            with open_store(output, new=False) as store:
                results = store.read()
        folder = find_folder(data)
        histograms = [load(DATASETS[name], folder) for name in grid.datasets]
        if not report_only:
            results = _measure(grid, histograms, output, released, remeasure, watch)
        current = "drawing the figures and writing the page"
        watch(Progress(step="report", done=0, total=1, current=current, failures=len(results.failures)))
        findings = publish(results, histograms, output)
    _print(results, findings, output)


def _measure(
    grid: Grid, histograms: list[Histogram], output: Path, released: Path | None, remeasure: bool, watch: Watch
) -> Results:
    """Measure a grid into a folder.

    Only trials that are not in the folder yet are measured, so an interrupted run continues and a finished one can
    grow. With `remeasure`, trials that another version of the code measured are made again; without, they are marked.
    """
    programs = None if released is None else Released(released)
    with lock_folder(output), open_store(output) as store, programs or nullcontext():
        info = RunInfo(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=_restate_command(),
            code=hash_code(),
            release=find_commit(),
            machine=describe_machine(),
            released="" if programs is None else programs.describe(),
        )
        if remeasure:
            store.forget_other_versions(info.code)
        store.begin(info, histograms, grid.seed)
        return Run(grid, histograms, store, released=programs, watch=watch).measure()


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _restate_command() -> str:
    """The command as it was typed, with folders by their last name only: the report may be published."""
    words = [word if word.startswith("-") or "/" not in word else f"…/{Path(word).name}" for word in sys.argv[1:]]
    return shlex.join(["python", "-m", "reproduction", *words]).replace("'", "")


@contextmanager
def _show_progress(output: Path) -> Iterator[Watch]:
    """Show how far the run is, on stderr; say how to continue after Ctrl-C."""
    print("reading the data", file=sys.stderr, flush=True)
    try:
        yield _Display().show
    except KeyboardInterrupt:
        trials, start = count_trials(output), _CLEAR if sys.stderr.isatty() else ""
        print(f"{start}{trials:,} trials are kept in {output}; the same command continues from there.", file=sys.stderr)
        raise
    finally:
        if sys.stderr.isatty():
            print(end=_CLEAR, file=sys.stderr, flush=True)


class _Display:
    """A line that is written over on a terminal. Elsewhere, a line at the start of each step and twice a minute."""

    def __init__(self) -> None:
        self._step, self._next = "", 0.0

    def show(self, progress: Progress) -> None:
        if not progress.total:
            return
        now, terminal = monotonic(), sys.stderr.isatty()
        if progress.step == self._step and now < self._next:
            return
        self._step, self._next = progress.step, now + (_OFTEN if terminal else _EVERY)
        failed = f"{progress.failures} failed; " if progress.failures else ""
        parts = [f"{100 * progress.done / progress.total:.0f} %"]
        if progress.left is not None:
            time = f"{progress.left:.0f} s" if progress.left < 90 else f"{progress.left / 60:.0f} min"
            parts.append(f"about {time} left")
        line = f"{progress.step}: {', '.join(parts)}; {failed}{progress.current}"
        width = shutil.get_terminal_size().columns - 1
        print(_CLEAR + line[:width] if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True)


def _print(results: Results, findings: list[Finding], output: Path) -> None:
    columns: dict[str, list[str]] = {"claim of the paper": [each.claim.text for each in findings]}
    for side in findings[0].judgements if findings else ():
        columns[side] = [str(each.judgements[side].holding) for each in findings]
    print_lines(make_table(columns))
    print(f"Data: {', '.join(map(results.title, results.datasets))}.")
    if len(results.real) < len(results.datasets):
        print(
            "A stand-in has the right size and an invented shape: times count it, and verdicts on errors leave it out."
        )
    print(f"The report is {output / 'report.html'}; the figures are in {output / 'figures'}.")
    if len(results.versions) > 1:
        print("The trials come from more than one version of the code; --remeasure measures the older ones again.")
    if results.failures:
        print(f"{len(results.failures)} cells failed; the report says why, and the same command tries them again.")
        raise typer.Exit(1)


def _list_data(data: Path | None) -> None:
    """Print plain lines, so that addresses and paths can be copied whole."""
    folder = find_folder(data, filled=False)
    for each in DATASETS.values():
        found = locate(each, folder)
        place = f"stand-in; get {Path(each.file).name} from {each.source}" if found is None else f"found: {found}"
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
