"""What the benchmarks measure: mechanisms, on real histograms and families of invented ones.

Real histograms are read from the folder in SHORTLIST_DATA, or ../shared/data. Without it there are none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]

FAMILIES = ("Zipf", "dense", "low", "equal", "huge")
MECHANISMS: dict[str, dict[str, object]] = {
    "joint": {},
    "margin-joint": {},
    "fastjoint": {},
    "pnf-joint": {},
    "subset": {},
    "pnf-peel": {},
    "cdp-peel": {"delta": "1e-6"},
    "noisy-counts": {"votes_per_person": 10},
    "auto": {},
}
"""The exact mechanisms that need a domain, with the parameters that each needs besides k and epsilon."""


def real() -> Iterator[tuple[str, Counts]]:
    folder = Path(os.environ.get("SHORTLIST_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
    for path in sorted(folder.glob("*.counts.npy")):
        yield path.name.removesuffix(".counts.npy"), np.random.default_rng(1).permutation(np.load(path))


def real_and_zipf() -> list[tuple[str, Counts]]:
    """The real histograms, and one as long as the longest of the paper."""
    return [*real(), ("Zipf", (10**6 / np.arange(10, 166_059)).astype(np.int64))]


def make_counts(family: str, d: int, largest: int = 2**62) -> Counts:
    """Zipf: few large counts. Dense: many near the top. Low: hardly any votes, all ties. Huge: far apart."""
    rng = np.random.default_rng(d)
    match family:
        case "Zipf":
            return rng.permutation(np.minimum(100 * d / np.arange(10, d + 10), largest).astype(np.int64))
        case "dense":
            return rng.integers(0, min(10 * d, largest), size=d)
        case "low":
            return rng.poisson(2.0, size=d)
        case "equal":
            return np.full(d, 7)
        case "huge":
            return rng.integers(0, largest, size=d)
        case _:
            raise ValueError(f"no family {family!r}")
