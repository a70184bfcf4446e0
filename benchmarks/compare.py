"""How much longer does this source take than an older one, and is it within the limits?

    python benchmarks/compare.py OLD_TREE            about five minutes
    python benchmarks/compare.py OLD_TREE --quick    few turns, to see that it works
    python benchmarks/compare.py OLD_TREE joint      only the rows whose names have this text; `long` for long lists

Each tree has a process of its own that imports its `src`. In every turn, each process makes the same calls, one process
after the other. A ratio is new / old, of processor time from counts to indices at ε = 1, and the median of all turns is
shown. The last rows compare the new source with `counts.max()` of the same process, and with a time in seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from histograms import real
from turns import print_table


@dataclass(frozen=True)
class Case:
    """A list of k items by a mechanism, and the limit of its ratio."""

    mechanism: str
    k: int
    family: str
    d: int
    limit: float | None = None
    times: int = 10
    """How many calls in a row make one turn."""
    more: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"`{self.mechanism}`, k = {self.k:,} of {self.d:,}, {self.family}"


PEELS: dict[str, dict[str, object]] = {"pnf-peel": {}, "cdp-peel": {"delta": "1e-6"}}
CASES = [
    *(Case("joint", k, family, 10**4, 2) for k in (10, 100, 200) for family in ("Zipf", "dense", "low")),
    *(Case("joint", k, "Zipf", 166_049, 2) for k in (10, 100, 200)),
    *(Case("joint", 1000, family, 10**5, 3, times=3) for family in ("Zipf", "dense", "low")),
    *(Case(name, 100, family, 10**4, 3, more=more) for name, more in PEELS.items() for family in ("Zipf", "dense")),
    *(Case(name, 1000, family, 10**5, 15, 1, more) for name, more in PEELS.items() for family in ("Zipf", "dense")),
    *(Case("subset", 100, family, 10**4) for family in ("Zipf", "dense")),
    *(Case("noisy-counts", 100, family, 10**4, more={"votes_per_person": 10}) for family in ("Zipf", "dense")),
    *(Case("auto", 100, family, 10**4, times=3) for family in ("Zipf", "dense")),
    *(Case("joint", 100, family, 10**7, times=1) for family in ("Zipf", "dense", "low")),
]
BESIDE_MAX = [Case("joint", 100, family, 10**7, 8, 1) for family in ("Zipf", "dense", "low")]
LONG = [Case("joint", k, "dense", 10**6, times=1) for k in (1000, 10**4, 10**5)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout of the older source")
    parser.add_argument("words", nargs="*", help="parts of the names of rows")
    parser.add_argument("--turns", type=int, default=41)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        answer_requests()
        return
    turns = 2 if arguments.quick else arguments.turns
    old, new = (Worker(tree) for tree in (arguments.old, Path(__file__).parents[1]))
    rows = []
    cases = [*(Case("joint", 100, name, len(counts), 2) for name, counts in real()), *CASES]
    for case in choose(cases, arguments.words):
        pairs = [(new.measure(case), old.measure(case)) for _ in range(1 + max(2, turns // (1 + 3 * (case.d > 10**6))))]
        seconds = np.array(pairs[1:])
        ratio = float(np.median(seconds[:, 0] / seconds[:, 1]))
        medians = [f"{each * 1e3:.3g}" for each in np.median(seconds, axis=0)]
        rows.append([case.name, *medians, *judge(ratio, case.limit)])
    for case in choose(BESIDE_MAX, arguments.words):
        pairs = [(new.measure(case), new.measure(case, "max")) for _ in range(1 + max(2, turns // 4))][1:]
        ours, largest = np.median(pairs, axis=0)
        ratio = float(np.median([one / other for one, other in pairs]))
        rows.append(
            [f"{case.name}, beside `max()`", f"{ours * 1e3:.3g}", f"{largest * 1e3:.3g}", *judge(ratio, case.limit)]
        )
    if not arguments.words or "long" in arguments.words:
        seconds = [float(np.median([new.measure(case) for _ in range(2 if arguments.quick else 5)])) for case in LONG]
        slope = float(np.polyfit(np.log([case.k for case in LONG]), np.log(seconds), 1)[0])
        rows.append([f"{LONG[-1].name}, seconds", f"{seconds[-1] * 1e3:.3g}", "", *judge(seconds[-1], 5)])
        rows.append(["growth with k, as a power", "", "", *judge(slope, 1.3)])
    print_table(["list", "new, ms", "old, ms", "ratio", "limit", ""], rows)


def choose(cases: list[Case], words: list[str]) -> list[Case]:
    return [case for case in cases if not words or any(word in case.name for word in words)]


def judge(number: float, limit: float | None) -> list[str]:
    """Write a number, its limit, and whether it is above."""
    return [
        f"{number:.2f}",
        "" if limit is None else f"{limit:g}",
        "above" if limit is not None and number > limit else "",
    ]


class Worker:
    """A process that imports the source of a tree, and times calls."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(tree), "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(tree.resolve() / "src")},
        )

    def measure(self, case: Case, what: str = "list") -> float:
        """Return the seconds of one call."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({**vars(case), "what": what}) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


def answer_requests() -> None:
    """Read requests line by line, and print the seconds of each."""
    from histograms import make_counts
    from shortlist import top_k

    real_counts = dict(real())
    made: dict[tuple[str, int], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        key = asked["family"], asked["d"]
        if key not in made:
            made.clear()
            made[key] = real_counts[key[0]] if key[0] in real_counts else make_counts(*key)
        counts = made[key]
        begin = time.process_time()
        for _ in range(asked["times"]):
            if asked["what"] == "max":
                counts.max()
            else:
                top_k(counts, k=asked["k"], epsilon=1, mechanism=asked["mechanism"], **asked["more"])
        print((time.process_time() - begin) / asked["times"], flush=True)


if __name__ == "__main__":
    main()
