"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from shortlist.errors import OutputError
from shortlist.exact.bits import SystemBits

PathLike = str | os.PathLike[str]


def check_target(path: PathLike, *, force: bool = False, what: str = "the output") -> Path:
    """Refuse a path where a file cannot be written, which errors call `what`. Call it before the work starts.

    >>> check_target("no/such/folder/top10.json")
    Traceback (most recent call last):
    shortlist.errors.OutputError: the output must be in a folder that exists; 'no/such/folder' does not exist.
    """
    if not isinstance(path, str | os.PathLike):
        raise OutputError(f"{what} must be a path, as text or a Path", f"not {type(path).__name__}")
    target = Path(path)
    folder, written = repr(str(target.parent)), repr(str(target))
    # Unlike methods of Path, these functions answer for a name that is too long.
    if not os.path.isdir(target.parent):
        raise OutputError(f"{what} must be in a folder that exists", f"{folder} does not exist")
    if os.path.isdir(target):
        raise OutputError(f"{what} must be a file", f"{written} is a folder")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{what} must be in a folder that can be written", f"{folder} cannot be written")
    try:
        os.lstat(target)
    except FileNotFoundError:
        return target
    except OSError as error:  # a name that is too long
        raise _describe_failure(target, error, what) from None
    if not force:
        raise _describe_existing_file(target)
    return target


def write_whole(
    path: PathLike,
    content: str | bytes | Callable[[BinaryIO], object],
    *,
    force: bool = False,
    private: bool = False,
) -> None:
    """Write a text, bytes, or what a function writes, to a file. Nobody ever sees a part of it, even after a crash.

    The bytes go to a temporary file in the same folder and reach the disk. Then the file gets its name. Without
    `force`, an existing file is never overwritten, even if it appears during the work. Only its owner may read a
    `private` file.
    """
    target = check_target(path, force=force)
    # Short whatever the target is called, because a name has at most 255 bytes.
    temporary = target.with_name(f".shortlist-{SystemBits().draw(12).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            if private:
                os.fchmod(file.fileno(), 0o600)
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(temporary, target)
        else:
            _name_new(temporary, target)
        _sync_folder(target.parent)
    except FileExistsError:
        raise _describe_existing_file(target) from None
    except OSError as error:
        raise _describe_failure(target, error) from None
    finally:
        # Also after Ctrl-C. There is no file if it could not be made.
        with suppress(OSError):
            temporary.unlink()


def _name_new(temporary: Path, target: Path) -> None:
    """Give the file its name in one step, unless the name is taken."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from None
        os.rename(temporary, target)


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk, on systems that can synchronise folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _describe_failure(target: Path, error: OSError, what: str = "the output") -> OutputError:
    return OutputError(f"{what} {str(target)!r} must be writable", f"{error.strerror or type(error).__name__}")


def _describe_existing_file(target: Path) -> OutputError:
    return OutputError(
        "the output must be a new file", f"{str(target)!r} exists", hint="pass `force=True` to overwrite it"
    )
