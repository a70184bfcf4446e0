"""The commands under one name, and what they have in common: the version, and the report of errors."""

from __future__ import annotations

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shortlist.cli import ledger
from shortlist.cli.failures import report_errors
from shortlist.cli.options import format_example
from shortlist.version import __version__

__all__ = ["COMMANDS", "app"]

COMMANDS = {
    "select": "Release the k most-voted items.",
    "check": "Check how the votes fit the domain.",
    "plan": "Forecast how good a list will be.",
    "mechanisms": "Say what each mechanism promises.",
    "audit": "Check that mechanisms keep their promise.",
    "demo": "Release the top 10 of an invented log.",
}
"""The commands in the order of the help, each in a line that a narrow terminal can show."""


class _Commands(TyperGroup):
    """Commands whose errors become a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors():
            return super().invoke(ctx)


# Plain help is three times faster than help drawn by rich, and an example in it can be copied.
app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=format_example("shortlist demo"),
)
for _name, _summary in COMMANDS.items():
    # Each command is a module with a function of the same name and an EXAMPLE.
    _module = importlib.import_module(f"shortlist.cli.{_name}")
    app.command(_name, short_help=_summary, epilog=format_example(_module.EXAMPLE))(getattr(_module, _name))
app.add_typer(ledger.app, name="ledger", short_help="Keep a privacy budget for releases.")


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
