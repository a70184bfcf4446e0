"""Tests that share a component run on one worker, so that it is started once."""

import subprocess
import sys

import pytest

EXAMPLE = """
import os, pathlib, pytest
@pytest.mark.xdist_group("shared")
@pytest.mark.parametrize("number", range(5))
def test_where(number):
    (pathlib.Path(__file__).parent / os.environ["PYTEST_XDIST_WORKER"]).touch()
"""


@pytest.mark.slow
def test_a_group_runs_on_one_worker(tmp_path):
    """Ten tests of one group in two files, on two workers, run on one of them."""
    for name in ("test_one.py", "test_other.py"):
        (tmp_path / name).write_text(EXAMPLE)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist=loadgroup", "-p", "no:cacheprovider", "--rootdir=."]
    done = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True)
    assert "10 passed" in done.stdout, done.stdout
    assert len(list(tmp_path.glob("gw*"))) == 1, "this pytest-xdist does not see groups"
