"""`shortlist demo`: a vote log made on the spot, its top 10 released, and what that protected."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shortlist.cli.display import plain, progress, ranking
from shortlist.cli.options import Force, Quiet
from shortlist.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

    from shortlist.demo.playlog import PlayLog

EXAMPLE = "shortlist demo --folder demo"

_K, _EPSILON = 10, 1
_WARNING = """The two columns on the right are not private. They are shown because this log is invented;
of a real one, only the list that was released may ever be published.
"""
_COLUMNS: dict[str, Any] = {"person": "user_id", "item": "track"}

Folder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where to put the files. [default: a new temporary folder, which stays]"),
]


def demo(folder: Folder = None, force: Force = False, quiet: Quiet = False) -> None:
    """Make a log of plays, release its top 10, and show what was protected."""
    from rich.console import Console

    from shortlist.demo.playlog import PlayLog
    from shortlist.selection import select

    plays, catalogue, output = _places(folder, force)
    console = Console(highlight=False, soft_wrap=True)
    with progress(quiet=quiet) as step:
        step("Inventing a log of plays")
        log = PlayLog.invent(plays=300_000, people=20_000)
        log.write(plays, catalogue)
        release = select(plays, **_COLUMNS, domain=catalogue, k=_K, epsilon=_EPSILON, progress=step)
        release.to_json(output, force=force)
        step("Releasing again, without one listener")
        protection = _protection(log, release.items, catalogue)
    console.print(plain(f"Made a log of {len(log.people):,} plays:      {plays}"))
    console.print(plain(f"and a catalogue of {len(log.names):,} tracks:  {catalogue}"))
    console.print()
    best = log.counts.argsort(kind="stable")[::-1][:_K]
    true = [log.names[each] for each in best]
    console.print(ranking(release.items, title="The top 10, as released", true_order=true, people=log.counts[best]))
    console.print(_WARNING)
    console.print("What was protected", style="bold")
    console.print(protection)
    _show_next(console, plays, catalogue, output)


def _places(folder: Path | None, force: bool) -> tuple[Path, Path, Path]:
    """Where the files go: none of them may be there already, unless forced."""
    import tempfile

    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="shortlist-demo-"))
    else:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"the folder {str(folder)!r} could not be made ({type(error).__name__}).") from None
    places = folder / "plays.parquet", folder / "catalogue.csv", folder / "top10.json"
    for place in places:
        if place.exists() and not force:
            raise OutputError(f"{str(place)!r} exists already.", hint="pass --force to overwrite it")
    return places


def _protection(log: PlayLog, items: Sequence[Any], catalogue: Path) -> str:
    """Take the keenest listener out, release again, and compare how likely the first list was, with and without."""
    import numpy as np

    from shortlist.demo.chances import log_chance
    from shortlist.selection import select

    person = log.keenest()
    without = log.without(person)
    again = select(without.table(), **_COLUMNS, domain=catalogue, k=_K, epsilon=_EPSILON)
    same = sum(left == right for left, right in zip(items, again.items, strict=True))
    numbers = {name: number for number, name in enumerate(log.names)}
    chosen = np.array([numbers[item] for item in items])
    here, gone = log_chance(log.counts, chosen, _EPSILON), log_chance(without.counts, chosen, _EPSILON)
    return (
        f"  Listener u{person:05d} played {np.sum(log.counts != without.counts)} different tracks, more than anyone.\n"
        f"  Released again without this person, the list agrees in {same} of {_K} places.\n"
        f"  The list above had a chance of {math.exp(here):.2%}, and of {math.exp(gone):.2%} without this person:\n"
        f"  a factor of {math.exp(abs(here - gone)):.3f}.\n"
        f"  Epsilon {_EPSILON} promises at most {math.exp(_EPSILON):.2f}, for every person and every list:\n"
        "  by no more than that can reading a list move anyone's odds that you are in the log.\n"
    )


def _show_next(console: Console, plays: Path, catalogue: Path, output: Path) -> None:
    command = (
        f"{_program()} select {shlex.quote(str(plays))} --person user_id --item track "
        f"--domain {shlex.quote(str(catalogue))} -k {_K} --epsilon {_EPSILON} --output mine.json"
    )
    console.print("The release to publish", style="bold")
    console.print(plain(f"  {output}"))
    console.print("  (the demo's files stay until you delete their folder; --folder puts them where you like)")
    console.print("The same with your own data: change the files and the columns", style="bold")
    console.print(plain(f"  {command}"))


def _program() -> str:
    """What runs this program in the reader's shell: its name alone only if that is where the shell would look."""
    running = shutil.which(sys.argv[0])
    if running is None or Path(running).stem != "shortlist":
        return f"{shlex.quote(sys.executable)} -m shortlist.cli"
    named = shutil.which("shortlist")
    same = named is not None and os.path.samefile(named, running)
    return "shortlist" if same else shlex.quote(running)
