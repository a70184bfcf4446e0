"""The commands under one name, and what they have in common: the version, and how failures are told."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shortlist.cli.failures import told
from shortlist.cli.options import example
from shortlist.version import __version__

__all__ = ["COMMANDS", "app"]

COMMANDS = ("select", "check", "mechanisms", "demo", "reproduce")


class _Commands(TyperGroup):
    """Commands whose failures are told in words, with an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with told():
            return super().invoke(ctx)


# Plain help comes in a third of the time of drawn help, and an example in it can be copied.
app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=example("shortlist demo"),
)
for _name in COMMANDS:
    # Each is a module that holds a function of the same name and an EXAMPLE.
    _module = importlib.import_module(f"shortlist.cli.{_name}")
    app.command(_name, epilog=example(_module.EXAMPLE))(getattr(_module, _name))


def _print_version(asked: bool) -> None:
    if asked:
        print(f"shortlist {__version__}")
        raise typer.Exit


@app.callback()
def shortlist(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Release the most-voted items of a table, in order, under differential privacy."""
