"""The released programs as objects of this process: requests go to the worker, answers come back."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import as_file, files
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from reproduction.data.datasets import Histogram
from reproduction.released.environment import find_python
from reproduction.released.programs import Programs, find_programs
from shortlist.array_types import IntArray
from shortlist.errors import DataError

PROGRAMS = ("fastjoint", "joint", "pnf-peel", "cdp-peel")


class Released:
    """The released programs, running. Use it as a context: the process ends with it.

    If the process dies, the request that it was working on fails, and the next request starts a new one.
    """

    def __init__(self, folder: Path) -> None:
        self.programs: Programs = find_programs(folder)
        self._python = find_python()

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="shortlist-released-")
        self._script = as_file(files("reproduction.released") / "worker.py")
        self._worker = self._script.__enter__()
        self._start()
        self.versions: dict[str, str] = self.ask(op="hello")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._script.__exit__(None, None, None)
        self._scratch.cleanup()

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
            raise DataError("the released programs must answer", "their process ended ({python})", python=self._python)
        answer: dict[str, Any] = json.loads(line)
        if "failure" in answer:
            raise DataError("the released program failed", "{failure}", failure=answer["failure"])
        return answer

    def run(self, op: str, program: str, histogram: Histogram, **parameters: Any) -> dict[str, Any]:
        """Ask for a timed list or for the memory of one, on a histogram."""
        self._revive()
        if program not in self._warm:
            self._warm_up(program, **parameters)
        self._load(histogram)
        return self.ask(op=op, program=program, data=histogram.fingerprint, **parameters)

    def draw_lists(self, histogram: Histogram, seeds: Sequence[int], **parameters: Any) -> dict[str, Any]:
        """Ask for one list of FastJoint for each seed."""
        self._revive()
        self._load(histogram)
        return self.ask(op="lists", data=histogram.fingerprint, seeds=list(seeds), **parameters)

    def _revive(self) -> None:
        """Start a new process if the last one died."""
        if self._process.poll() is not None:
            self._stop()
            self._start()

    def _warm_up(self, program: str, **parameters: Any) -> None:
        """Draw a short list once in each process, so that no time includes that of imports."""
        self._warm.add(program)
        self._send("few", np.arange(9, 0, -1))
        # A program that fails here fails again on the histogram, and is reported there.
        with suppress(DataError):
            self.ask(op="time", program=program, data="few", **{**parameters, "k": 3, "epsilon": 1.0})
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
        words = [self._python, self._worker, self.programs.fastjoint, self.programs.dp_topk]
        self._loaded, self._warm = "", set[str]()
        try:
            self._process = subprocess.Popen(
                list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as error:
            raise DataError(
                "the released programs need a Python interpreter",
                "{python} cannot be started ({reason})",
                python=self._python,
                reason=type(error).__name__,
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
