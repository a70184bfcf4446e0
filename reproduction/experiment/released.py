"""The programs that the paper timed: found in a folder of the user, checked, and run in a process of their own.

They are not part of this repository and are never copied into it. Google's Joint assigns an array of one entry to a
number. NumPy 2.4 refuses that, so the programs get an older NumPy in an environment of their own. It is made once, in
the user's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from reproduction.baselines import DELTA
from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import Setting
from shortlist.array_types import IntArray
from shortlist.errors import DataError, OutputError

AUTHORS = "https://github.com/wuhao-wu-jiang/Differentially-Private-Top-k-Selection"
GOOGLE = "https://github.com/google-research/google-research/tree/master/dp_topk"
VARIABLE = "SHORTLIST_RELEASED_PYTHON"
_WORKER = Path(__file__).with_name("worker.py")

# SHA-256 of each file without its comment lines. Google changes the year of the copyright line every year; the program
# itself has not changed since August 2022.
_FILES = {
    "FastTopk.py": (AUTHORS, "d6aa022f028d4651"),
    "DP_Parameters.py": (AUTHORS, "874687fdd1f80bfa"),
    "joint.py": (GOOGLE, "6d5b0cddc0248756"),
    "baseline_mechanisms.py": (GOOGLE, "60b0221b5bd51ffd"),
    "differential_privacy.py": (GOOGLE, "24a83c61ef851985"),
}
_DEPTH = 3


class Released:
    """The released programs, running. Use it as a context: the process ends with it.

    If the process dies, the request that it was working on fails, and the next request starts a new one.
    """

    def __init__(self, folder: Path) -> None:
        self.programs: Programs = find_programs(folder)
        self._python = find_python()

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="shortlist-released-")
        self._start()
        self.versions: dict[str, str] = self.ask(op="hello")
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop()
        self._scratch.cleanup()

    def describe(self) -> str:
        """Name the versions of Python and NumPy, and the hash of each file, as JSON."""
        return json.dumps({**self.versions, **self.programs.hashes}, sort_keys=True)

    def run(self, op: str, program: str, histogram: Histogram, setting: Setting, seed: int) -> dict[str, Any]:
        """Ask for a timed list or for the memory of one, on a histogram."""
        self._revive()
        if program not in self._warm:
            self._warm_up(program, seed, setting.beta)
        self._load(histogram)
        return self._ask_at(op, histogram.fingerprint, setting, program=program, seed=seed)

    def draw_lists(self, histogram: Histogram, setting: Setting, seeds: Sequence[int]) -> dict[str, Any]:
        """Ask for one list of FastJoint for each seed."""
        self._revive()
        self._load(histogram)
        return self._ask_at("lists", histogram.fingerprint, setting, seeds=list(seeds))

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            self._stop()
            raise DataError("the released programs must answer", f"their process ended ({self._python})")
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise DataError("the released program failed", f"{answer['failure']}")
        return answer

    def _ask_at(self, op: str, data: str, at: Setting, **request: Any) -> dict[str, Any]:
        return self.ask(op=op, data=data, k=at.k, epsilon=at.epsilon, beta=at.beta, delta=DELTA, **request)

    def _revive(self) -> None:
        """Start a new process if the last one died."""
        if self._process.poll() is not None:
            self._stop()
            self._start()

    def _warm_up(self, program: str, seed: int, beta: float | None) -> None:
        """Draw a short list once in each process, so that no time includes that of imports."""
        self._warm.add(program)
        self._send("few", np.arange(9, 0, -1))
        # A program that fails here fails again on the histogram, and is reported there.
        with suppress(DataError):
            self._ask_at("time", "few", Setting(k=3, epsilon=1.0, beta=beta), program=program, seed=seed)
        self._revive()

    def _load(self, histogram: Histogram) -> None:
        if self._loaded != histogram.fingerprint:
            self._send(histogram.fingerprint, histogram.counts)

    def _send(self, name: str, counts: IntArray) -> None:
        """Hand over counts, in place of those before."""
        path = Path(self._scratch.name) / "counts.npy"
        np.save(path, counts)
        self.ask(op="load", name=name, path=str(path))
        self._loaded = name

    def _start(self) -> None:
        """Start the process, which has no counts yet."""
        words = [self._python, _WORKER, self.programs.fastjoint, self.programs.dp_topk]
        self._loaded, self._warm = "", set[str]()
        try:
            self._process = subprocess.Popen(
                list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise DataError(
                "the released programs need a Python interpreter",
                f"{self._python} cannot be started ({type(error).__name__})",
            ) from None

    def _stop(self) -> None:
        """End the process, if it has not ended by itself."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # What it did not take is lost.
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The folders of the released programs, and the hash of each of their files."""

    fastjoint: Path
    """The folder of the authors' FastTopk.py."""
    dp_topk: Path
    """The folder dp_topk of Google Research."""
    hashes: dict[str, str]


def find_programs(folder: Path) -> Programs:
    """Find both programs in a folder or up to three folders below it, and check their hashes."""
    if not folder.is_dir():
        raise DataError("`released` must name a folder", f"{folder} is not one")
    fastjoint = _find(folder, "FastTopk.py")
    dp_topk = _find(folder, "baseline_mechanisms.py")
    paths = {name: (fastjoint if address == AUTHORS else dp_topk) / name for name, (address, _) in _FILES.items()}
    for name, path in paths.items():
        if not path.is_file():
            raise _describe_missing_program(path.parent, name)
    hashes = {}
    for name, path in paths.items():
        address, expected = _FILES[name]
        hashes[name] = hash_program(path)[: len(expected)]
        if hashes[name] != expected:
            raise DataError(
                "`released` must hold the programs as released",
                f"{path} has another content (hash {hashes[name]}, not {expected})",
                hint=f"clone it again: {address}",
            )
    return Programs(fastjoint=fastjoint, dp_topk=dp_topk, hashes=hashes)


def hash_program(path: Path) -> str:
    """Hash a Python file without its comment lines; line ends do not count either."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return "unreadable"
    kept = [line for line in lines if not line.lstrip().startswith("#")]
    return hashlib.sha256(("\n".join(kept) + "\n").encode()).hexdigest()


def _find(folder: Path, name: str) -> Path:
    """Find the nearest folder that has a file, at most three levels down. Folders with a dot are passed over."""
    for depth in range(_DEPTH + 1):
        found = sorted(folder.glob("[!.]*/" * depth + name))
        if found:
            return found[0].parent
    raise _describe_missing_program(folder, name)


def _describe_missing_program(folder: Path, name: str) -> DataError:
    return DataError(
        "`released` must name a folder with the released programs",
        f"{folder} has no {name}",
        hint=f"clone {_FILES[name][0]} into it",
    )


def choose_numpy() -> str:
    """Choose the NumPy of the environment: that of the paper's time, if this Python has it."""
    return "1.26.4" if sys.version_info < (3, 13) else "2.1.3"


def find_python() -> Path:
    """The interpreter for the released programs: the one that the variable names, or one made for them."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "shortlist" / f"released-numpy-{choose_numpy()}-py{sys.version_info[0]}{sys.version_info[1]}"
    python = folder / "bin/python"
    if not (folder / "ready").exists():
        _make_environment(folder, python)
    return python


def _make_environment(folder: Path, python: Path) -> None:
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"numpy=={choose_numpy()}"],
    )
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1] if done.returncode else None
        except OSError as error:
            reason = type(error).__name__
        if reason is not None:
            raise OutputError(
                f"the released programs need an environment with NumPy {choose_numpy()}",
                f"{folder} could not be made ({reason})",
                hint=f"make one yourself and name its interpreter in {VARIABLE}",
            )
    (folder / "ready").touch()
