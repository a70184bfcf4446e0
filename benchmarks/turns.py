"""How the benchmarks measure: candidates that are compared take turns in one run.

A slow moment of the machine then meets all of them. A ratio is taken inside each turn, and the median of all is shown.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

import numpy as np

FloatArray = np.ndarray[tuple[int], np.dtype[np.float64]]


def take_turns(
    candidates: Mapping[str, Callable[[], object]],
    turns: int,
    *,
    times: int = 1,
    clock: Callable[[], float] | None = None,
) -> dict[str, FloatArray]:
    """Time each candidate in every turn, so many times in a row, after one turn that does not count.

    The clock is that of the processor, unless another is given.
    """
    read = time.process_time if clock is None else clock
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    gc.disable()
    for turn in range(turns + 1):
        for name, candidate in candidates.items():
            begin = read()
            for _ in range(times):
                candidate()
            if turn:
                seconds[name].append((read() - begin) / times)
    gc.enable()
    return {name: np.array(values) for name, values in seconds.items()}


def write_ms(seconds: FloatArray) -> str:
    """Write a median in milliseconds."""
    ms = float(np.median(seconds)) * 1e3
    return f"{ms:.2g}" if ms < 99.5 else f"{ms:,.0f}"


def write_ratio(ours: FloatArray, theirs: FloatArray) -> str:
    """Write the median of the ratios of all turns."""
    ratio = float(np.median(ours / theirs))
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def print_table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print_rows([head, ["---"] * len(head), *rows])


def print_rows(rows: list[list[str]]) -> None:
    """Print rows of a table that has begun, as soon as they are measured."""
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
