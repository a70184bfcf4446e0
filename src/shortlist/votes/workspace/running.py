"""The engines that work at this moment, so that Ctrl-C can stop them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_STOPS: dict[int, Callable[[], None]] = {}


@contextmanager
def register_engine(stop: Callable[[], None]) -> Iterator[None]:
    """List an engine as working; `stop` may be called from another thread.

    >>> stopped = []
    >>> with register_engine(lambda: stopped.append(True)):
    ...     stop_engines()
    >>> stop_engines(); stopped
    [True]
    """
    _STOPS[id(stop)] = stop
    try:
        yield
    finally:
        del _STOPS[id(stop)]


def stop_engines() -> None:
    """Tell all engines that work to stop."""
    for stop in list(_STOPS.values()):
        with suppress(Exception):  # an engine that finished meanwhile
            stop()
