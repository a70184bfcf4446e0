"""Real components that some tests need: Java, Chromium, PostgreSQL.

A test without its component is skipped on a developer's machine and fails where the variable CI is `true`: a build that
skips tests proves nothing.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TypeVar

import pytest

Found = TypeVar("Found")


def require_component(name: str, found: Found | None, how: str) -> Found:
    """Return what was found. If it is None, skip the test, or fail it where CI is true.

    `how` says how to get the component: `require_component("Java", shutil.which("java"), "install Java 17 or later")`.
    """
    if found is not None:
        return found
    text = f"{name} is missing: {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(text, pytrace=False)
    pytest.skip(text)


def find_java() -> str:
    """Find the Java that Spark runs on."""
    return require_component("Java", shutil.which("java"), "install Java 17 or later, say openjdk-17-jre-headless")


def find_chromium() -> str:
    """Find the system's Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    return require_component("Chromium", found, "install chromium")


def find_postgres() -> Path:
    """Find the folder with PostgreSQL's programs (`initdb`, `pg_ctl`, `postgres`)."""
    # Debian keeps them off the PATH, one folder for each version.
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    found = Path(on_path).resolve().parent if on_path else debian[-1].parent if debian else None
    return require_component("PostgreSQL", found, "install postgresql")
