"""The process of the command line: exit codes, the words of errors, signals and streams.

0        done
1        wrong data, or a file that cannot be written
2        wrong usage: an option or a parameter, before any data is seen
3        `audit` only: no check fails, and some are not decided
4        the budget of a ledger does not cover the release
5        `select --once` only: the key was released before, and that release is written again
6        failed after the charge: the budget is spent, and there is no new release
128 + n  interrupted by signal n: 130 is Ctrl-C, 143 is SIGTERM

Signals that end the process (Ctrl-C, SIGTERM, SIGHUP) are passed on to busy engines. The process does not end at once.
It first removes the votes that were spilled to disk. Python handles signals only between its own steps. DuckDB checks
for them now and then, but stops only the thread that checked. SQLite does not check. So a thread waits for the signal,
and stops every engine.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import FrameType
from typing import Any

from shortlist import ledger
from shortlist.errors import BudgetError, ParameterError, ShortlistError
from shortlist.near_names import find_meant, find_near

BUDGET_EXHAUSTED = 4
"""The exit code if a budget does not cover a release."""
RELEASED_BEFORE = 5
"""The exit code if a key was released before."""
FAILED_AFTER_CHARGE = 6
"""The exit code of a failure that has spent a charge."""

_WORDS = {
    "Files.encoding": "--encoding or --domain-encoding",
    "Files.format": "--input-format or --domain-format",
    "bits": "--seed and --insecure",
    "calibration": "calibration in Python",
    "counts": "the counts",
    "domain.Files.delimiter": "--domain-delimiter",
    "domain.Files.header": "--domain-no-header and --domain-column 1",
    "guarantees": "the guarantees",
    "k": "-k",
    "ordered": "--unordered",
    "shortlist.Query(database, sql)": "--database and --sql",
    "votes": "FILES",
    "votes.Files.delimiter": "--delimiter",
    "votes.Files.header": "--no-header",
    "without_domain": "--no-domain",
}
"""Parameters whose option is not called like them."""
_TRACEBACK = "SHORTLIST_TRACEBACK"
_UNWRITTEN = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}
_DEFAULTS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
_SECONDS_FOR_REMOVAL = 5.0
_arrived: list[int] = []
"""The signals that arrived during this run."""


@contextmanager
def report_errors(context: Any = None) -> Iterator[None]:
    """Turn errors into a message and an exit code. A charge that this process made earlier belongs to another run.

    The context of Typer says which command runs.
    """
    import typer

    ledger.latest = None
    with handle_signals() as interrupts:
        try:
            yield
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise  # Typer handles these
        except (Exception, KeyboardInterrupt) as error:
            # Engines that are interrupted raise errors of their own.
            if interrupts or isinstance(error, KeyboardInterrupt):
                text, code = f"interrupted.{_ask_for_charge(context)}", 128 + (interrupts or [signal.SIGINT])[0]
            else:
                # Usage errors of Typer carry their exit code. Their class has no public name in every version of Typer.
                _suggest_options(error)
                if hasattr(error, "exit_code") or _is_unwritten(error) or os.environ.get(_TRACEBACK):
                    raise
                text, code = _describe(error)
            print(f"error: {text}", file=sys.stderr, flush=True)
            raise typer.Exit(code) from None


def _describe(error: Exception) -> tuple[str, int]:
    """Write an error in the words of the command line, and choose the exit code."""
    # The text of a foreign error may quote data, so only its type is named.
    text, code = (
        f"something unexpected went wrong ({type(error).__name__}).\n"
        f"Hint: run again with {_TRACEBACK}=1 for the traceback; it may quote data, so read it before you share it",
        1,
    )
    if isinstance(error, ShortlistError):
        text = error.render(write_option)
        code = 2 if isinstance(error, ParameterError) else BUDGET_EXHAUSTED if isinstance(error, BudgetError) else 1
    account = ledger.latest
    if account is None or account.number is None:
        return text, code
    return f"{text}\n{_describe_charge(account, account.number)}", FAILED_AFTER_CHARGE


def _describe_charge(account: Any, number: int) -> str:
    """Say what a run that failed after its charge has spent."""
    if account.stored:
        return f"Charge {number:,} is spent, and the ledger has its release: another run with the same key is free."
    return f"The release was charged before: charge {number:,} is spent, and another run is charged again."


def _ask_for_charge(context: Any) -> str:
    """Say whether the release that was interrupted is paid for."""
    account = ledger.latest
    if account is None:  # a release that has not come to its ledger yet, or another command
        return " Nothing was charged." if getattr(context, "invoked_subcommand", None) == "select" else ""
    if account.ledger is None:
        return (
            " Nothing was charged, because there is no ledger. A list may have been drawn: if a part of it was printed "
            "or written, it counts as released."
        )
    try:
        number = account.find_charge()
    except ShortlistError:
        return " It is not known whether the release was charged: see `shortlist ledger show`."
    return " Nothing was charged." if number is None else f" {_describe_charge(account, number)}"


def _suggest_options(error: Any) -> None:
    """Let an unknown option be answered with those that were probably meant.

    An option of other commands is answered with their names.
    """
    written, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if isinstance(written, str) and context is not None and hasattr(error, "possibilities"):
        options = {
            each.name: max(each.opts, key=len) for each in context.command.params if each.name and not each.hidden
        }
        name = written.lstrip("-").replace("-", "_")
        error.possibilities = [options[each] for each in find_near(name, options)] or error.possibilities
        commands = getattr(context.find_root().command, "commands", {})
        # Under `shortlist ledger`, the plain name of a command of `shortlist` could be taken for one of `ledger`.
        path = "" if context.parent is context.find_root() else f"{context.find_root().info_name} "
        having = [path + name for name, other in commands.items() if any(written in each.opts for each in other.params)]
        if having and not find_meant(name, options):
            error.message, error.possibilities = f"{error.message}. Leave it out: it is for {', '.join(having)}", []


def write_option(name: str, value: str | None) -> str:
    """Write a parameter as an option, alone or with a value.

    >>> write_option("memory_limit", None), write_option("epsilon", "1"), write_option("mechanism", "'joint'")
    ('--memory-limit', '--epsilon 1', '--mechanism joint')
    >>> write_option("force", "True"), write_option("bits", "SeededBits(7)"), write_option("k", "10")
    ('--force', '--seed and --insecure', '-k 10')
    >>> write_option("k", "(5, 10)")
    '-k 5-10'
    """
    option = _WORDS.get(name, f"--{name.replace('_', '-')}")
    if value is None or value == "True" or name in ("bits", "ordered") or name.endswith(".header"):
        return option
    # A range of sizes is a pair in Python.
    return f"{option} {value.strip('()').replace(', ', '-') if name == 'k' else value.strip(chr(39))}"


@contextmanager
def handle_signals() -> Iterator[list[int]]:
    """Yield a list of the signals that arrive. It stays empty in other threads, and if signals are ignored."""
    arrived, raised = _arrived, float("-inf")
    arrived.clear()

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        arrived.append(number)
        # A second signal soon after the first is ignored, because it would stop the removal of spilled votes.
        if time.monotonic() - raised >= _SECONDS_FOR_REMOVAL:
            raised = time.monotonic()
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    ours = [each for each, default in _DEFAULTS.items() if signal.getsignal(each) is default] if main else []
    if not ours:
        yield arrived
        return
    with _watch_signals() as wake:
        for each in ours:
            signal.signal(each, note)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            yield arrived
        finally:
            signal.set_wakeup_fd(before)
            for each in ours:
                # The process is ending. Spilled votes are removed with their last references.
                signal.signal(each, signal.SIG_IGN if arrived else _DEFAULTS[each])


def stop_if_interrupted() -> None:
    """End the run at its next step, if a signal arrived: an interrupt may be lost in a library that is being loaded."""
    if _arrived:
        raise KeyboardInterrupt


@contextmanager
def _watch_signals() -> Iterator[int]:
    """Yield a descriptor. Once a byte arrives on it, a thread stops all engines, again and again."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ended = threading.Event()

    def watch() -> None:
        theirs.recv(1)
        while not ended.wait(0.1):
            running = sys.modules.get("shortlist.votes.failures")  # if an engine was loaded
            if running is not None:
                running.stop_engines()

    thread = threading.Thread(target=watch, name="shortlist-interrupts", daemon=True)
    thread.start()
    try:
        yield ours.fileno()
    finally:
        ended.set()
        ours.close()
        thread.join()
        theirs.close()


@contextmanager
def guard_streams() -> Iterator[None]:
    """Print unknown characters as escapes, and end with an error if stdout could not be written.

    A program may start with closed streams (`>&-`, `2>&-`). The first file that it opens would then get the descriptor
    of stdout or stderr, and a library could print into that file. So free descriptors are opened on the null device.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    # Writing to the null device that is open for reading fails, as writing to a closed stdout does.
    sys.stdout = sys.stdout or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
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
        unwritten = _is_unwritten(error)
        if not unwritten and not isinstance(error, BrokenPipeError):
            raise
        if not stdout_is_closed():
            # Buffered text is discarded, so that writing it does not fail again when the process ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        if unwritten:
            reason = os.strerror(error.errno or errno.EBADF)
            print(f"error: the output could not be written: {reason}.", file=sys.stderr)
        sys.exit(1)


@contextmanager
def silence(wanted: bool) -> Iterator[None]:
    """Print nothing but warnings and errors, if this is wanted."""
    if not wanted:
        yield
        return
    with warnings.catch_warnings(record=True) as seen:
        try:
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
                yield
        finally:
            for each in seen:
                print(f"warning: {each.message}", file=sys.stderr)


def stdout_is_closed() -> bool:
    """Whether nothing can be printed."""
    return not sys.stdout.writable()


def make_stdout_exact() -> None:
    """Print in UTF-8 and with plain line ends from now on, as files are written."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")


def _is_unwritten(error: BaseException) -> bool:
    """Whether an error says that output could not be written: a full disk or a closed stream."""
    closed = isinstance(error, io.UnsupportedOperation) and stdout_is_closed()
    return closed or (isinstance(error, OSError) and error.errno in _UNWRITTEN)
