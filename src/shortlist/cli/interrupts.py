"""Ctrl-C, made to reach engines that are busy.

Python looks at signals between its own steps. DuckDB looks for itself now and then, but stops only the thread that
looked and waits for the others to finish; SQLite does not look at all. So a thread waits for the interrupt, and tells
every engine to stop.
"""

from __future__ import annotations

import gc
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


@contextmanager
def heard() -> Iterator[list[int]]:
    """Keep a list of the interrupts that arrive, where they arrive at all: not in a thread, not when ignored."""
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield arrived
        return
    with _watcher() as wake:
        signal.signal(signal.SIGINT, note)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            yield arrived
        finally:
            signal.set_wakeup_fd(before)
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def _watcher() -> Iterator[int]:
    """Run a thread that stops all engines, again and again, once a byte arrives on the descriptor that is given."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    over = threading.Event()

    def watch() -> None:
        theirs.recv(1)
        while not over.wait(0.1):
            _stop_engines()

    thread = threading.Thread(target=watch, name="shortlist-interrupts", daemon=True)
    thread.start()
    try:
        yield ours.fileno()
    finally:
        over.set()
        ours.close()
        thread.join()
        theirs.close()


def _stop_engines() -> None:
    """Tell all open connections to stop; the library does not list them, so they are looked for."""
    workspace = getattr(sys.modules.get("shortlist.votes.workspace"), "Workspace", None)
    for each in gc.get_objects():
        found: Any = None
        if type(each) is workspace:
            found = getattr(each, "connection", None)
        elif type(each) is sqlite3.Connection:
            found = each
        if found is not None:
            with suppress(Exception):  # a connection that was closed meanwhile
                found.interrupt()
