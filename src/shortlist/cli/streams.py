"""Stdout and stderr, made to carry whatever is printed; or to say that they could not."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def printable() -> Iterator[None]:
    """Print characters that a stream cannot encode as escapes, and end with an error if stdout could not be written."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            yield
        finally:
            # Python would flush later, and tell a failure in words of its own.
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if not is_unwritten(error) and not isinstance(error, BrokenPipeError):
            raise
        _give_up_stdout()
        if is_unwritten(error):
            print(f"error: the output could not be written: {os.strerror(error.errno or 0)}.", file=sys.stderr)
        sys.exit(1)


def is_unwritten(error: BaseException) -> bool:
    """Whether an error says that there is no room for the output."""
    return isinstance(error, OSError) and error.errno in _UNWRITTEN


def exact_stdout() -> None:
    """Print from now on in UTF-8 and with plain line ends, as files are written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def _give_up_stdout() -> None:
    """Send what is still buffered nowhere, so that it does not fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
