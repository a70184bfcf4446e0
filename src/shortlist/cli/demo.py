"""`shortlist demo`: release the top 10 of an invented log and of three countries, and show what that protects."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shortlist
from shortlist.atomic_files import check_target
from shortlist.cli.app import app, command
from shortlist.cli.display import check_quiet, make_table, print_lines, show_progress, to_text
from shortlist.cli.options import FORCE, OUTPUT, Option, be_quiet, under
from shortlist.errors import OutputError
from shortlist.ledger import lift_variable

if TYPE_CHECKING:
    from shortlist.demo import Comparison, PlayLog

_K, _EPSILON = 10, 1
_WARNING = """\
The column "item" is released. The two columns on its right
are NOT private. They are here because this log is invented.
Never publish them for a real log.
"""


@command(
    app,
    "shortlist demo --folder demo",
    under(
        OUTPUT,
        folder=Option("FOLDER | Where to put the files. [default: a new temporary folder, which stays]", kind=Path),
    ),
    FORCE,
    be_quiet("; needs --folder"),
    summary="Release the top 10 of an invented log.",
)
def demo(*, folder: Path | None, force: bool, quiet: bool) -> None:
    """Invent a log of plays, release its top 10 and those of three countries, and show what is protected."""
    check_quiet(quiet, folder, "nobody would know where the files are", "folder=demo")
    from shortlist.demo import PlayLog, compare

    plays, catalogue, countries, output, charts_output = _choose_paths(folder, force)
    asked: dict[str, Any] = {"person": "user_id", "item": "track", "k": _K, "epsilon": _EPSILON, "mechanism": "joint"}
    by_country: dict[str, Any] = {"by": "country", "groups": countries, "groups_per_person": 1}
    with show_progress() as step, lift_variable():
        step("Inventing a log of plays")
        log = PlayLog.invent(plays=120_000, people=10_000)
        log.write(plays, catalogue, countries)
        release = shortlist.select(plays, domain=catalogue, **asked, progress=step)
        release.to_json(output, force=force)
        charts = shortlist.select(plays, domain=catalogue, **by_country, **asked, progress=step)
        charts.to_json(charts_output, force=force)
        step("Releasing many times, with and without one listener")
        comparison = compare(log, release.items, epsilon=_EPSILON)
    print(f"An invented log of {len(log.people):,} plays:\n  {to_text(plays)}")
    print(f"A public catalogue of {len(log.names):,} tracks:\n  {to_text(catalogue)}")
    print(f"A public list of {len(charts)} countries:\n  {to_text(countries)}\n")
    print_lines("The released list, beside the true one", bold=True)
    best = log.counts.argsort(kind="stable")[::-1][:_K]
    true = [log.names[each] for each in best]
    ranks = range(1, _K + 1)
    print_lines(make_table({"rank": ranks, "item": release.items, "true item": true, "people": log.counts[best]}))
    print(_WARNING)
    _show_comparison(comparison)
    _show_charts(log, charts)
    _show_next(plays, catalogue, countries, (output, charts_output))


def _choose_paths(folder: Path | None, force: bool) -> list[Path]:
    """Choose where the files go. Without force, none of them may exist."""
    import tempfile

    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="shortlist-demo-"))
    else:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                "`folder` must be a folder that exists or can be made",
                f"{str(folder)!r} could not be made ({error.strerror or type(error).__name__})",
            ) from None
    names = ("plays.parquet", "catalogue.csv", "countries.csv", "top10.json", "charts.json")
    places = [folder / name for name in names]
    for place in places:
        check_target(place, force=force)
    return places


def _show_comparison(comparison: Comparison) -> None:
    print_lines("What is protected", bold=True)
    print(
        f"  Listener u{comparison.person:05d} played {comparison.tracks} tracks, more than anyone.\n"
        f"  A list is partly random. We drew {comparison.draws} pairs of lists:\n"
        f"    both with this listener:      {comparison.agreement_with:.1f} of {_K} places agree\n"
        f"    one with, one without:        {comparison.agreement_without:.1f} of {_K} places agree\n"
        "  A list hardly shows whether this listener is in the log.\n"
        "  In numbers: the list above was drawn by joint, a mechanism\n"
        "  whose probabilities can be computed. Its probability was\n"
        f"    {comparison.chance_with:.3%} with this listener, and {comparison.chance_without:.3%} without.\n"
        f"  The ratio is {comparison.ratio:.3f}. Epsilon {_EPSILON} promises at most {comparison.limit:.2f},\n"
        "  for every person and every list. So a list changes the\n"
        "  odds that you are in the log by no more than this factor.\n"
    )


def _show_charts(log: PlayLog, charts: shortlist.ReleaseFamily) -> None:
    print_lines("One list for each country", bold=True)
    print_lines(make_table({"rank": range(1, _K + 1), **{str(country): charts[country].items for country in charts}}))
    print(
        "  Each listener is in one country. So the lists together\n"
        f"  have epsilon {_EPSILON}, as one list has. A small country has fewer\n"
        "  votes, and the same noise. Not private are the numbers of\n"
        "  listed tracks that belong to the true top 10:"
    )
    for country in charts:
        counts = log.count_country(str(country))
        least = sorted(counts.tolist())[-_K]
        true = {log.names[each] for each in (counts >= least).nonzero()[0]}
        print(f"    {country}: {len(true.intersection(charts[country]))} of {_K}")
    print(f"  Both releases of this demo together have epsilon {2 * _EPSILON}.\n")


def _show_next(plays: Path, catalogue: Path, countries: Path, outputs: tuple[Path, Path]) -> None:
    select = (
        f"{_find_program()} select {shlex.quote(str(plays))} --person user_id --item track "
        f"--domain {shlex.quote(str(catalogue))}"
    )
    by_country = f"--by country --groups {shlex.quote(str(countries))} --groups-per-person 1"
    asked = f"-k {_K} --epsilon {_EPSILON} --output"
    print_lines("The releases to publish", bold=True)
    for output in outputs:
        print(f"  {to_text(output)}")
    print("  The files stay until you delete their folder.\n  --folder puts them where you like.\n")
    print_lines("The same for your data", bold=True)
    print("  Change the files and columns in these commands.\n  They leave the choice of the mechanism to auto.")
    print(f"  {to_text(f'{select} {asked} mine.json')}")
    print(f"  {to_text(f'{select} {by_country} {asked} my-charts.json')}")


def _find_program() -> str:
    """Find how the reader's shell runs this program: by its name alone, if the shell would find this one."""
    running = shutil.which(sys.argv[0])
    if running is None or Path(running).stem != "shortlist":
        return f"{shlex.quote(sys.executable)} -m shortlist"
    named = shutil.which("shortlist")
    same = named is not None and os.path.samefile(named, running)
    return "shortlist" if same else shlex.quote(running)
