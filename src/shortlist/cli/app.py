"""The program: its commands under one name, their help, and what every one of them does with options and errors."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from shortlist.cli.display import keep_inputs
from shortlist.cli.options import ARGUMENTS, HEADINGS, OTHERS, READ, Options
from shortlist.cli.process import report_errors, silence
from shortlist.errors import ParameterError
from shortlist.ledger import VARIABLE
from shortlist.version import __version__

__all__ = ["Command", "app", "command", "format_example", "make_group"]


class Command(TyperCommand):
    """A command whose help has headings. An option that is given twice is an error: one of the two would be lost."""

    def list_options(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """List the options under their headings: how each is written, and what it does."""
        groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for each in self.get_params(ctx):
            shown = each.get_help_record(ctx)
            if shown is None:
                continue
            if each.param_type_name == "argument":  # by its name, without its type in Python
                groups[ARGUMENTS].append((str(each.metavar), shown[1]))
            else:
                groups[getattr(each, "rich_help_panel", None) or OTHERS].append(shown)
        return {heading: options for heading, options in groups.items() if options}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options under their headings, as plain text."""
        for heading, options in self.list_options(ctx).items():
            with formatter.section(heading):
                formatter.write_dl(options)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that is repeated, or whose value is the next option. Then read the arguments."""
        values, _, order = self.make_parser(ctx).parse_args(args=list(args))
        names = {name for each in self.get_params(ctx) if each.param_type_name == "option" for name in each.opts}
        for each in order:
            if each.param_type_name != "option" or getattr(each, "is_flag", False):
                continue
            if not each.multiple and order.count(each) > 1:
                several = {"label": "title,artist", "by": "country,week"}.get(each.name or "")
                hint = several and f"name several columns in one: {each.opts[0]} {several}"
                raise ParameterError(f"{each.opts[0]} must be given once", "it was given twice", hint=hint)
            found = values[each.name] if each.multiple else [values[each.name]]
            for value in names.intersection(found):
                raise ParameterError(f"{each.opts[0]} must have a value", f"the option {value} follows it")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. It overwrites nothing that it reads. With --quiet, nothing is printed but errors."""
        written = {each.name: each.metavar for each in self.get_params(ctx)}
        read = [value for name, value in ctx.params.items() if written.get(name) in READ and name != "output"]
        keep_inputs(ctx.params.get("output"), [*read, os.environ.get(VARIABLE)])
        with silence(ctx.params.get("quiet", False)):
            return super().invoke(ctx)


class _Commands(TyperGroup):
    """Commands whose errors become a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with report_errors(ctx):
            return super().invoke(ctx)


def format_example(command: str) -> str:
    r"""Lay a command out as the last lines of a help. The character \b keeps its lines as they are.

    >>> print(format_example("shortlist demo").lstrip("\b"))
    <BLANKLINE>
    Example:
      shortlist demo
    """
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in command.splitlines())


# Plain help is three times faster than help drawn by rich, and an example in it can be copied.
app = typer.Typer(
    cls=_Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog=format_example("shortlist demo"),
)


def make_group(name: str, text: str, summary: str, example: str) -> typer.Typer:
    """Make a group of commands under one name."""
    group = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=text, epilog=format_example(example))
    app.add_typer(group, name=name, short_help=summary)
    return group


def command(
    group: typer.Typer, example: str, *options: Options, summary: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command of a group, with groups of options. Typer reads them from its signature."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        parameters = [each.make_parameter(name) for some in options for name, each in some.items()]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {each.name: each.annotation for each in parameters}
        return group.command(cls=Command, short_help=summary, epilog=format_example(example))(function)

    return register


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


# In the order of the help. They import this module, so they are imported last.
for _name in ("votes", "plan", "records", "mechanisms", "demo", "ledger"):
    import_module(f"shortlist.cli.{_name}")
