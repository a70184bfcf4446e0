"""`shortlist show`, `explain` and `verify`: what a record says, in a table, in words, and whether it was charged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shortlist.cli import options
from shortlist.cli.display import make_console, print_lines, print_release, to_text
from shortlist.cli.options import Format

if TYPE_CHECKING:
    from shortlist.release import Release

_MAKE = r"""shortlist select plays --person user_id --item track \
    --domain catalogue.csv -k 3 --epsilon 1 --output top3.json"""
EXAMPLES = {
    "show": f"{_MAKE}\nshortlist show top3.json",
    "explain": f"{_MAKE}\nshortlist explain top3.json",
    "verify": f"shortlist ledger create budget.db --epsilon 10\n{_MAKE} --ledger budget.db\n"
    "shortlist verify top3.json --ledger budget.db",
}

Record = Annotated[
    Path, typer.Argument(metavar="RECORD", help="The record of a release: .json, or .parquet.", show_default=False)
]
Charged = Annotated[Path, options.option(options.BUDGET, "The ledger that the release was charged to.", metavar="FILE")]


def show(record: Record, printed: options.Printed = Format.TABLE) -> None:
    """Print a release again, from its record. A record that contradicts itself is refused."""
    print_release(_read(record), printed)


def explain(record: Record) -> None:
    """Write a paragraph about a release, for readers who do not know differential privacy."""
    print_lines(make_console(), to_text(_read(record).explain()))


def verify(record: Record, ledger: Charged, quiet: options.Quiet = False) -> None:
    """Say whether a record is the one that was charged to a ledger. The exit code is 1 if it is not."""
    from shortlist.ledger import Ledger

    charge = Ledger.open(ledger).verify(_read(record))
    if not quiet:
        words = (
            f"{record} is the release of charge {charge.number:,} of {ledger}, made {charge.made:%Y-%m-%d %H:%M} UTC."
        )
        print_lines(make_console(), to_text(words))


def _read(path: Path) -> Release:
    from shortlist.release import Release

    return Release.from_parquet(path) if path.suffix.lower() == ".parquet" else Release.from_json(path)
