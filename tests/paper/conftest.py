"""Real histograms, where the machine has them; they are for measuring and stay out of the repository."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def real_counts() -> Callable[[str], np.ndarray]:
    """Load a histogram by name, from SHORTLIST_DATA or the folder `shared/data` beside the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("SHORTLIST_DATA", beside))

    def load(name: str) -> np.ndarray:
        path = folder / f"{name}.counts.npy"
        if not path.exists():
            pytest.skip(f"no {path.name} here: set SHORTLIST_DATA to the folder of real histograms")
        return np.load(path)

    return load
