"""The command line.

A command parses its options, calls one function of the library, and prints. Slow imports are inside the commands, so
that help and shell completion answer at once.
"""

from __future__ import annotations

import sys

from shortlist.cli.process import guard_streams
from shortlist.errors import MissingExtraError

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments of the process name."""
    with guard_streams():
        try:
            from shortlist.cli.app import app

            app(prog_name="shortlist")
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("click", "rich", "typer"):
                raise
            sys.exit(f"error: {MissingExtraError('cli', purpose='the command line')}")
        except KeyboardInterrupt:
            sys.exit(130)
