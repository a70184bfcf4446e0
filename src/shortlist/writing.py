"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from shortlist.errors import OutputError


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Refuse a place where a file cannot be written; ask before the work, so that it is not done for nothing.

    >>> check_target("no/such/folder/top10.json")
    Traceback (most recent call last):
    shortlist.errors.OutputError: the output must be in a folder that exists; 'no/such/folder' does not.
    """
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"the output must be a path, as text or a Path, not {type(path).__name__}.")
    target = Path(path)
    if not target.parent.is_dir():
        raise OutputError(f"the output must be in a folder that exists; {str(target.parent)!r} does not.")
    if target.is_dir():
        raise OutputError(f"the output must be a file; {str(target)!r} is a folder.")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"the output must be in a folder that can be written; {str(target.parent)!r} cannot.")
    if not force and os.path.lexists(target):
        raise _in_the_way(target)
    return target


def write_whole(path: str | os.PathLike[str], write: Callable[[BinaryIO], object], *, force: bool = False) -> None:
    """Write a file through `write`, so that no reader and no crash ever sees a part of it.

    The bytes go to a temporary file in the same folder, reach the disk, and only then get their name. Without
    `force`, an existing file stays, even one that appears while we write.
    """
    target = check_target(path, force=force)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(temporary, target)
        else:
            _name_new(temporary, target)
        _sync_folder(target.parent)
    except FileExistsError:
        raise _in_the_way(target) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise OutputError(f"the output {str(target)!r} could not be written: {reason}.") from None
    finally:
        # Also after Ctrl-C.
        temporary.unlink(missing_ok=True)


def _name_new(temporary: Path, target: Path) -> None:
    """Give the file its name unless the name is taken, in one step."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(temporary, target)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a crash, where folders can be synchronised."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)


def _in_the_way(target: Path) -> OutputError:
    return OutputError(f"the output must be a new file; {str(target)!r} exists.", hint="pass force to overwrite it")
