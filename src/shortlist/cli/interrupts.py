"""Ctrl-C and its kin (SIGTERM, SIGHUP), made to reach engines that are busy.

None of them ends the process on the spot, so that votes that were spilled to disk are removed first. Python looks at
signals between its own steps. DuckDB looks for itself now and then, but stops only the thread that looked and waits for
the others to finish; SQLite does not look at all. So a thread waits for the signal, and tells every engine to stop.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_DEFAULTS = {
    getattr(signal, name): signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)
}
_PATIENCE = 5.0


@contextmanager
def handle_signals() -> Iterator[list[int]]:
    """Keep a list of the signals that arrive, where they arrive at all: not in a thread, not when ignored."""
    arrived: list[int] = []
    raised = float("-inf")

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal raised
        arrived.append(number)
        # A second one soon after would stop the removal of spilled votes; later, somebody insists.
        if time.monotonic() - raised >= _PATIENCE:
            raised = time.monotonic()
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    ours = [each for each, default in _DEFAULTS.items() if signal.getsignal(each) is default] if main else []
    if not ours:
        yield arrived
        return
    with _watcher() as wake:
        for each in ours:
            signal.signal(each, note)
        before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        try:
            yield arrived
        finally:
            signal.set_wakeup_fd(before)
            for each in ours:
                # The last references to spilled votes go when the process ends; it is ending already.
                signal.signal(each, signal.SIG_IGN if arrived else _DEFAULTS[each])


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
    """Tell the engines that work to stop, if any engine was loaded."""
    running = sys.modules.get("shortlist.votes.workspace.running")
    if running is not None:
        running.stop_engines()
