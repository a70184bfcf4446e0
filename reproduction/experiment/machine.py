"""The machine of a trial, its load, and the version of the code."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from shortlist.version import __version__

_MEASURED = (
    *(f"shortlist/{name}" for name in ("exact", "mechanisms", "privacy", "selection", "profile.py")),
    *(f"reproduction/{name}" for name in ("published", "released", "experiment", "data")),
)
"""The files and folders that decide what a trial is."""


def describe_machine() -> str:
    """Describe this machine in one line, without the name of its owner."""
    parts = [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        *(f"{name} {found}" for name in ("numpy", "python-flint") if (found := _version(name))),
        f"shortlist {__version__}",
    ]
    return "; ".join(parts)


def measure_load() -> float | None:
    """Measure how many processes wanted to run in the last minute, if the system tells."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


@cache
def hash_code() -> str:
    """Hash the code that a measurement depends on: two trials with the same version ran the same code."""
    digest = hashlib.sha256()
    for name in _MEASURED:
        package, _, inside = name.partition("/")
        root = Path(str(files(package)))
        place = root / inside
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()[:12]


@cache
def find_commit() -> str:
    """Find the commit of the working copy that the code comes from. An installed package has none."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10"],
            cwd=str(files("shortlist")),
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
