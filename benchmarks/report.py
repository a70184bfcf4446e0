"""Run the benchmarks that docs/performance.md shows, and put their output there.

    python benchmarks/report.py                     every block of the page
    python benchmarks/report.py "growth.py k"       only the blocks whose commands have this text

A block of the page begins with a comment that has the command, and ends with another comment. Only what lies between
them is replaced: by the command, a line about the machine and the date, and what the command printed. All other text is
written by hand, such as the section about tables, whose benchmark is run separately. One block has no command: it lists
the aims that any other block calls missed. The page is written after each block. If a command fails, its block stays as
it is, the other commands are run, and the failures are listed at the end.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from aims import MISSED

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
LIST = re.compile(r"(<!-- aims that are missed -->).*?(<!-- end of aims -->)", re.DOTALL)
BLOCK = re.compile(r"(<!-- output of: (?P<command>[^\n]*) -->\n).*?(<!-- end of output -->)", re.DOTALL)


def main(wanted: list[str]) -> None:
    text, failed = PAGE.read_text(), []
    assert text.count("<!-- output of:") == text.count("<!-- end of output -->"), "a block has no end"
    commands = [match["command"] for match in BLOCK.finditer(text)]
    for command in commands:
        if not wanted or any(each in command for each in wanted):
            print(command, end="", flush=True)
            machine, begin = describe_machine(), time.perf_counter()
            finished = run(command)
            print(f"  ({time.perf_counter() - begin:.0f} s)", flush=True)
            if finished.returncode:
                failed.append(f"{command}\n{finished.stderr}")
            else:
                fill(command, machine, finished.stdout.strip())
    list_missed()
    if failed:
        sys.exit("\n".join(["These commands failed, and their blocks are as before:", *failed]))


def run(command: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = shlex.split(command)
    assert program == "python", command
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def fill(command: str, machine: str, output: str) -> None:
    """Replace the block of a command in the page."""

    def replace(match: re.Match[str]) -> str:
        if match["command"] != command:
            return match[0]
        return f"{match[1]}\n```\n{command}\n```\n\n{machine}\n\n{output}\n\n{match[3]}"

    PAGE.write_text(BLOCK.sub(replace, PAGE.read_text()))


def list_missed() -> None:
    """Fill the block of missed aims with the lines of all other blocks that say so."""
    text = PAGE.read_text()
    missed = [line for match in BLOCK.finditer(text) for line in match[0].splitlines() if line.endswith(f": {MISSED})")]
    PAGE.write_text(LIST.sub(lambda match: "\n\n".join([match[1], "\n".join(missed or ["None."]), match[2]]), text))


def describe_machine() -> str:
    """Say when and where a benchmark is run, and how busy the machine is before."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    busy = f"; programs that ran or waited before: {load:.1f} for {cores} cores"
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"*{datetime.now(UTC):%Y-%m-%d}, {(models or [platform.machine()])[0]}, {versions}{busy}.*"


if __name__ == "__main__":
    main(sys.argv[1:])
