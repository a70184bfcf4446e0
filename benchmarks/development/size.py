"""Count the source code: its size, and how much of it one call runs.

Lines are all lines of the Python files. Tokens are those of the language, without comments and docstrings. A call is
counted when it is warm: the functions that it enters and the files that these are in, by `sys.setprofile`. What `auto`
enters depends on its choice, so each number is the median of some calls.

    python benchmarks/development/size.py [--tree PATH]
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import FrameType

CORE = ("mechanisms", "exact", "profile.py", "privacy", "audits", "planning")
CALLS = 31
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def main() -> None:
    """Print one table for the sizes, and one for the calls."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[2], help="a checkout of the repository")
    parser.add_argument("--calls", action="store_true", help="trace the calls in this process only")
    options = parser.parse_args()
    if options.calls:
        trace_calls()
        return
    tree = options.tree.resolve()
    print(f"{'':<70}{'lines':>8}{'files':>7}{'tokens':>9}")
    for name, files in group_files(tree).items():
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        print(f"{name:<70}{lines:>8,}{len(files):>7,}{sum(map(count_tokens, files)):>9,}")
    print(f"\n{'a warm call':<70}{'functions':>15}{'files':>9}", flush=True)
    subprocess.run(
        [sys.executable, __file__, "--calls"], check=True, env={**os.environ, "PYTHONPATH": str(tree / "src")}
    )


def group_files(tree: Path) -> dict[str, list[Path]]:
    """Divide the Python files of a tree into groups of folders."""
    package = tree / "src" / "shortlist"
    paper = [folder for folder in (package / "paper", tree / "reproduction") if folder.exists()]
    core = [package / name for name in CORE]
    rest = [path for path in package.iterdir() if path not in core + paper and path.name != "__pycache__"]
    groups = {
        "mechanisms, exact, profile, privacy, audits, planning": core,
        "votes, cli, selection, release, ledger, demo, top level": rest,
        "reproduction": paper,
        "tests": [tree / "tests"],
        "benchmarks": [tree / "benchmarks"],
    }
    return {name: sorted(file for path in paths for file in find_files(path)) for name, paths in groups.items()}


def find_files(path: Path) -> Iterator[Path]:
    """Find the Python files of a folder, or take the file itself."""
    return iter([path]) if path.suffix == ".py" else path.rglob("*.py")


def count_tokens(path: Path) -> int:
    """Count the tokens of a file without layout, comments and docstrings."""
    docstrings = find_docstrings(ast.parse(path.read_bytes()))
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in LAYOUT and token.string]
    return sum(token.start not in docstrings for token in tokens)


def find_docstrings(module: ast.Module) -> set[tuple[int, int]]:
    """Find where strings start that are statements of their own: docstrings, and notes below a name."""
    statements = (node for node in ast.walk(module) if isinstance(node, ast.Expr))
    strings = (node.value for node in statements if isinstance(node.value, ast.Constant))
    return {(node.lineno, node.col_offset) for node in strings if isinstance(node.value, str)}


def trace_calls() -> None:
    """Print how many functions of the package some warm calls enter, and in how many files."""
    import numpy as np
    import polars as pl

    import shortlist

    package = str(Path(shortlist.__file__).parent)
    rng = np.random.default_rng(0)
    counts = rng.zipf(1.6, 20_000) % 100_000
    frame = pl.DataFrame({"u": rng.integers(0, 500, 5000), "t": rng.zipf(1.6, 5000) % 1000})
    terms = {"k": 10, "epsilon": 1, "domain": list(range(1000)), "mechanism": "joint"}
    calls: dict[str, Callable[[], object]] = {
        'top_k(array, k=100, mechanism="joint")': lambda: shortlist.top_k(counts, k=100, epsilon=1, mechanism="joint"),
        'top_k(array, k=100, mechanism="auto")': lambda: shortlist.top_k(counts, k=100, epsilon=1, mechanism="auto"),
        'select(Polars frame, mechanism="joint")': lambda: shortlist.select(frame, person="u", item="t", **terms),
    }
    for name, call in calls.items():
        for _ in range(3):
            call()
        entered = [trace(call, package) for _ in range(CALLS)]
        functions = median(len(each) for each in entered)
        files = median(len({file for file, _ in each}) for each in entered)
        print(f"{name:<70}{functions:>15}{files:>9}")


def trace(call: Callable[[], object], package: str) -> set[tuple[str, str]]:
    """Run a call, and note the file and the name of every function of the package that it enters."""
    entered: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package):
            entered.add((code.co_filename, code.co_qualname))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


if __name__ == "__main__":
    main()
