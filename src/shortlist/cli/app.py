"""The commands under one name, and what they have in common: the version, and the report of errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from shortlist.cli import audit, check, demo, ledger, mechanisms, plan, records, select
from shortlist.cli.options import Command, format_example
from shortlist.cli.process import report_errors
from shortlist.version import __version__

__all__ = ["COMMANDS", "app"]

_COMMANDS: dict[str, tuple[Callable[..., None], str, str]] = {
    "select": (select.select, select.EXAMPLE, "Release the k most-voted items."),
    "check": (check.check, check.EXAMPLE, "Check how the votes fit the domain."),
    "plan": (plan.plan, plan.EXAMPLE, "Forecast how good a list will be."),
    "show": (records.show, records.EXAMPLES["show"], "Print a release again."),
    "explain": (records.explain, records.EXAMPLES["explain"], "Explain a release to its readers."),
    "verify": (records.verify, records.EXAMPLES["verify"], "Find the charge of a release."),
    "mechanisms": (mechanisms.mechanisms, mechanisms.EXAMPLE, "Say what each mechanism promises."),
    "audit": (audit.audit, audit.EXAMPLE, "Check that mechanisms keep their promise."),
    "demo": (demo.demo, demo.EXAMPLE, "Release the top 10 of an invented log."),
}
COMMANDS = {name: summary for name, (_, _, summary) in _COMMANDS.items()}
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
for _name, (_run, _example, _summary) in _COMMANDS.items():
    app.command(_name, cls=Command, short_help=_summary, epilog=format_example(_example))(_run)
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
