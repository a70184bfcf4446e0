"""Real data for tests. It is too large for the repository, so tests that need it are skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def find_real_data(name: str) -> Path:
    """Find a file in the folder that SHORTLIST_DATA names, or else in `shared/data` beside the repository."""
    path = Path(os.environ.get("SHORTLIST_DATA") or _BESIDE) / name
    if not path.exists():
        pytest.skip(f"there is no {name}: set SHORTLIST_DATA to the folder of real data")
    return path
