"""How long does the first list take in a new process, beyond the import of NumPy?

    python benchmarks/imports.py          medians of 9 turns

Every turn starts one process for each row. A figure is the processor time of the whole process, less that of a process
that imports NumPy alone, in the same turn.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

import numpy as np

FIRST = "import numpy as np\nimport shortlist\nshortlist.top_k(np.arange(5155) % 37, k=100, epsilon=1, mechanism={!r})"
PROGRAMS = {
    "numpy": "import numpy",
    "`import shortlist`": "import numpy\nimport shortlist",
    "`import flint`, which computes the exact numbers": "import numpy\nimport flint",
    "`import shortlist`, and the first list of `joint`": FIRST.format("joint"),
    "`import shortlist`, and the first list of `auto`": FIRST.format("auto"),
}


def main(turns: int = 9) -> None:
    with tempfile.TemporaryDirectory(prefix="shortlist-bench-") as folder:
        seconds = np.array([[run(program, folder) for program in PROGRAMS.values()] for _ in range(turns + 1)])[1:]
    print(f"`import numpy` took {np.median(seconds[:, 0]):.3f} s of processor time.\n")
    print("| beyond `import numpy` | s | / `import numpy` |")
    print("|---|---|---|")
    for place, name in enumerate(PROGRAMS):
        if place:
            beyond = seconds[:, place] - seconds[:, 0]
            print(f"| {name} | {np.median(beyond):.3f} | {np.median(beyond / seconds[:, 0]):.2f} |")


def run(program: str, folder: str) -> float:
    before = measure_children()
    # Modules are compiled in the first turn, which does not count.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    return measure_children() - before


def measure_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
