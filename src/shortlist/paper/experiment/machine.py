"""What a time was measured on: the processor, its cores, and the versions of what ran; never whose machine it is."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from shortlist.version import __version__


def machine() -> str:
    """Describe this machine in one line."""
    parts = [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        *(f"{name} {found}" for name in ("numpy", "python-flint") if (found := _version(name))),
        f"shortlist {__version__}",
    ]
    return "; ".join(parts)


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
