"""The commands under one name, in the order of the help."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from shortlist.cli.options import app
from shortlist.version import __version__

__all__ = ["COMMANDS", "app"]

for _name in ("votes", "plan", "records", "mechanisms", "demo", "ledger"):
    import_module(f"shortlist.cli.{_name}")

COMMANDS = {each.callback.__name__: each.short_help for each in app.registered_commands if each.callback}
"""The commands, each in a line that a narrow terminal can show."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"shortlist {__version__}")
        raise typer.Exit


@app.callback()
def shortlist(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Release the most-voted items of a table, in order, under differential privacy."""
