"""How failures leave the command line: in words on stderr, with an exit code, and with no data in them.

2        wrong usage: an option or a parameter, before any data is seen
1        wrong data, or a file that cannot be written
128 + n  interrupted by the signal n: 130 is Ctrl-C, 143 is SIGTERM
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from shortlist.cli.interrupts import heard
from shortlist.cli.streams import is_unwritten
from shortlist.cli.wording import in_options
from shortlist.errors import ParameterError, ShortlistError

_TRACEBACK = "SHORTLIST_TRACEBACK"


@contextmanager
def told() -> Iterator[None]:
    """Turn what is raised inside into a message and an exit code."""
    with heard() as interrupts:
        try:
            yield
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise  # Typer ends these in its own way
        except (Exception, KeyboardInterrupt) as error:
            # Engines that are interrupted raise errors of their own.
            if interrupts or isinstance(error, KeyboardInterrupt):
                complain("interrupted.")
                raise typer.Exit(128 + (interrupts or [signal.SIGINT])[0]) from None
            # Usage errors of Typer carry their exit code; their class has no public name in every version of it.
            if hasattr(error, "exit_code") or is_unwritten(error) or os.environ.get(_TRACEBACK):
                raise
            complain(_words(error))
            raise typer.Exit(2 if isinstance(error, ParameterError) else 1) from None


def complain(message: str) -> None:
    """Print an error on stderr."""
    print(f"error: {message}", file=sys.stderr, flush=True)


def _words(error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return in_options(str(error))
    # The text of a foreign error may quote data, so only its kind is named.
    return (
        f"something unexpected went wrong ({type(error).__name__}).\n"
        f"Hint: run again with {_TRACEBACK}=1 for the whole story; it may quote data, so read it before sharing"
    )
