"""A Python environment with a NumPy that the released programs work with.

Google's Joint assigns an array of one entry to a number. NumPy 2.4 refuses that, so the programs get an older NumPy in
an environment of their own. It is made once, in the user's cache folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from shortlist.errors import OutputError

VARIABLE = "SHORTLIST_RELEASED_PYTHON"


def choose_numpy() -> str:
    """Choose the NumPy of the environment: that of the paper's time, if this Python has it."""
    return "1.26.4" if sys.version_info < (3, 13) else "2.1.3"


def find_python() -> Path:
    """The interpreter for the released programs: the one that the variable names, or one made for them."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    folder = _cache() / "shortlist" / f"released-numpy-{choose_numpy()}-py{sys.version_info[0]}{sys.version_info[1]}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        _make(folder, python)
    return python


def _make(folder: Path, python: Path) -> None:
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"numpy=={choose_numpy()}"],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
        except OSError as error:
            raise _describe_failure(folder, type(error).__name__) from None
        if done.returncode:
            raise _describe_failure(folder, (done.stderr.strip().splitlines() or ["no message"])[-1])
    (folder / "ready").touch()


def _describe_failure(folder: Path, reason: str) -> OutputError:
    return OutputError(
        "the released programs need an environment with NumPy {version}",
        "{folder} could not be made ({reason})",
        hint="make one yourself and name its interpreter in {variable}",
        version=choose_numpy(),
        folder=folder,
        reason=reason,
        variable=VARIABLE,
    )


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    return Path(given) if given else Path.home() / ".cache"
