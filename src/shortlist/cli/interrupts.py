"""Signals that end the process (Ctrl-C, SIGTERM, SIGHUP), passed on to busy engines.

The process does not end at once. It first removes the votes that were spilled to disk. Python handles signals only
between its own steps. DuckDB checks for them now and then, but stops only the thread that checked. SQLite does not
check. So a thread waits for the signal, and stops every engine.
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
_SECONDS_FOR_REMOVAL = 5.0


@contextmanager
def handle_signals() -> Iterator[list[int]]:
    """Yield a list of the signals that arrive. It stays empty in other threads, and if signals are ignored."""
    arrived: list[int] = []
    raised = float("-inf")

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


@contextmanager
def _watch_signals() -> Iterator[int]:
    """Yield a descriptor. Once a byte arrives on it, a thread stops all engines, again and again."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    ended = threading.Event()

    def watch() -> None:
        theirs.recv(1)
        while not ended.wait(0.1):
            _stop_engines()

    thread = threading.Thread(target=watch, name="shortlist-interrupts", daemon=True)
    thread.start()
    try:
        yield ours.fileno()
    finally:
        ended.set()
        ours.close()
        thread.join()
        theirs.close()


def _stop_engines() -> None:
    """Stop all busy engines, if an engine was loaded."""
    running = sys.modules.get("shortlist.votes.failures")
    if running is not None:
        running.stop_engines()
