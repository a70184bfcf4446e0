"""The command line, one file per command.

A command parses its options, calls one function of the library, and prints. Slow imports are inside the commands, so
that help and shell completion answer at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from shortlist.cli.process import guard_streams
from shortlist.errors import MissingExtraError

if TYPE_CHECKING:
    import typer

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments of the process name."""
    with guard_streams():
        try:
            app = _load()
            app(prog_name="shortlist")
        except MissingExtraError as error:
            sys.exit(f"error: {error}")
        except KeyboardInterrupt:
            sys.exit(130)


def _load() -> typer.Typer:
    try:
        from shortlist.cli.app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("click", "rich", "typer"):
            raise
        raise MissingExtraError("cli", purpose="the command line") from None
    return app
