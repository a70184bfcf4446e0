"""The process for released programs: requests in, answers out, whatever the programs do.

The programs are small ones, so that the process is tested without the folder.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reproduction.experiment import worker


@pytest.fixture
def ask(small_programs, tmp_path):
    """Start the process and ask it."""
    np.save(tmp_path / "counts.npy", np.array([9, 5, 5, 2, 1]))
    words = [sys.executable, str(Path(worker.__file__)), *map(str, small_programs)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(**request):
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    send(op="load", name="toy", path=str(tmp_path / "counts.npy"))
    yield send
    process.communicate(timeout=30)
    assert process.returncode == 0


AT = {"data": "toy", "k": 3, "epsilon": 1.0, "beta": 0.01, "delta": 1e-6, "seed": 2**70 + 4}


@pytest.mark.parametrize("program", ["joint", "pnf-peel", "cdp-peel"])
def test_a_list_is_timed(ask, program):
    """With wall and CPU time; for Joint also the time before the sequence step."""
    answer = ask(op="time", program=program, **AT)
    assert answer["counts"] == [9, 5, 5]
    assert answer["repeats"] == 0
    assert answer["wall"] > 0
    assert ("before_cpu" in answer) == (program == "joint")


def test_repeats_are_counted(ask):
    """What a program prints does not disturb the answers."""
    answer = ask(op="time", program="fastjoint", **AT)
    assert answer["repeats"] == 2
    assert ask(op="lists", **{**AT, "k": 2}, seeds=[1, 1, 2])["repeats"][0] in (0, 1)


def test_a_failure_is_an_answer(ask):
    """The process goes on."""
    assert ask(op="time", program="fastjoint", **{**AT, "epsilon": 9.0}) == {"failure": "RuntimeError: too large"}
    assert ask(op="memory", program="joint", **AT)["bytes"] > 0
    assert ask(op="hello")["numpy"] == np.__version__
