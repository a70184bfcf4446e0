"""Folders that votes spill to: only their owner may read them, and they go when he does, even if he was killed.

A folder belongs to the process that holds the lock of a file in it. The system gives up the lock when the process
ends, in whatever way; so a folder whose lock is free is a left-over, and the next process removes it.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing is swept
    fcntl = None  # type: ignore[assignment]

_PREFIX = "shortlist-"
_LOCK = "owner.lock"


def make_own_folder() -> tuple[Path, int]:
    """Make a folder for this process alone, and hold its lock."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    # The file gets its name when it is locked, so that nobody ever finds it free.
    new = folder / "new.lock"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(new, folder / _LOCK)
    return folder, lock


def remove(folder: Path, lock: int) -> None:
    """Remove a folder, for what spilled there are votes, and give up its lock."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        os.close(lock)


def remove_left_folders() -> None:
    """Remove the folders of this user whose processes ended without doing so."""
    if fcntl is None:
        return
    with suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
