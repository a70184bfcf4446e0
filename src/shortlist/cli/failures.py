"""Failures of the command line: a message on stderr and an exit code, without data.

2        wrong usage: an option or a parameter, before any data is seen
1        wrong data, or a file that cannot be written
128 + n  interrupted by signal n: 130 is Ctrl-C, 143 is SIGTERM
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from shortlist.cli.dialect import write_option
from shortlist.cli.interrupts import handle_signals
from shortlist.cli.streams import is_unwritten
from shortlist.errors import ParameterError, ShortlistError
from shortlist.near_names import find_meant

_TRACEBACK = "SHORTLIST_TRACEBACK"


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors into a message and an exit code."""
    with handle_signals() as interrupts:
        try:
            yield
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise  # Typer handles these
        except (Exception, KeyboardInterrupt) as error:
            # Engines that are interrupted raise errors of their own.
            if interrupts or isinstance(error, KeyboardInterrupt):
                print_error("interrupted.")
                raise typer.Exit(128 + (interrupts or [signal.SIGINT])[0]) from None
            # Usage errors of Typer carry their exit code. Their class has no public name in every version of Typer.
            _suggest_options(error)
            if hasattr(error, "exit_code") or is_unwritten(error) or os.environ.get(_TRACEBACK):
                raise
            print_error(_describe(error))
            raise typer.Exit(2 if isinstance(error, ParameterError) else 1) from None


def print_error(message: str) -> None:
    """Print an error on stderr."""
    print(f"error: {message}", file=sys.stderr, flush=True)


def _suggest_options(error: BaseException) -> None:
    """Let an unknown option be answered with those that were probably meant, where its name is a common other name."""
    written, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if isinstance(written, str) and context is not None and hasattr(error, "possibilities"):
        options = {
            each.name: max(each.opts, key=len) for each in context.command.params if each.name and not each.hidden
        }
        meant = find_meant(written.lstrip("-").replace("-", "_"), options)
        error.possibilities = [options[each] for each in meant] or error.possibilities


def _describe(error: Exception) -> str:
    if isinstance(error, ShortlistError):
        return error.render(write_option)
    # The text of a foreign error may quote data, so only its type is named.
    return (
        f"something unexpected went wrong ({type(error).__name__}).\n"
        f"Hint: run again with {_TRACEBACK}=1 for the traceback; it may quote data, so read it before you share it"
    )
