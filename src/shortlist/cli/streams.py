"""Stdout and stderr: if printed text cannot be written, the program ends with an error."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}


class ClosedStream(io.TextIOBase):
    """Stdout as it is after `>&-`: writing fails."""

    def writable(self) -> bool:
        """Return True, so that `write` is called and fails."""
        return True

    def write(self, text: str) -> int:
        """Refuse to write."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


@contextmanager
def guard_streams() -> Iterator[None]:
    """Print unknown characters as escapes, and end with an error if stdout could not be written.

    A program may start with closed streams (`>&-`, `2>&-`). The first file that it opens would then get the descriptor
    of stdout or stderr, and a library could print into that file. So free descriptors are opened on the null device.
    """
    _open_free_descriptors()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = ClosedStream()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            yield
        finally:
            # Otherwise Python flushes later, and prints its own message if that fails.
            sys.stdout.flush()
    except OSError as error:
        if not is_unwritten(error) and not isinstance(error, BrokenPipeError):
            raise
        _discard_stdout()
        if is_unwritten(error):
            print(f"error: the output could not be written: {os.strerror(error.errno or 0)}.", file=sys.stderr)
        sys.exit(1)


def is_unwritten(error: BaseException) -> bool:
    """Whether an error says that output could not be written: a full disk or a closed stream."""
    return isinstance(error, OSError) and error.errno in _UNWRITTEN


def stdout_is_closed() -> bool:
    """Whether nothing can be printed."""
    return isinstance(sys.stdout, ClosedStream)


def make_stdout_exact() -> None:
    """Print in UTF-8 and with plain line ends from now on, as files are written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def _open_free_descriptors() -> None:
    """Open the null device on each of the descriptors 0, 1 and 2 that is free."""
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return


def _discard_stdout() -> None:
    """Discard buffered text, so that writing it does not fail again when the process ends."""
    if isinstance(sys.stdout, ClosedStream):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
