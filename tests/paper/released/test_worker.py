"""The process for released programs: requests in, answers out, whatever the programs do.

The programs here are small ones with the released functions' names, so that the process is tested without the folder.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shortlist.paper.released import worker

FASTJOINT = """
import numpy as np
def sort_k_largest(hist, k): return np.sort(hist)[::-1][:k]
def compute_error_truncation_threshold(epsilon, d, k, failure_probability, neighbor_type): return 7
def construct_index_groups(hist): return list(enumerate(hist))
def sort_group_indices_by_score_above_threshold(groups, threshold): return groups
def compute_log_sequence_count_matrix(top, groups, tau, d, k): return np.zeros((tau + 1, k))
def sample_error_idx(log_sizes, tau, epsilon, neighbor_type): return 0, np.random.randint(0, 2)
def sample_sequence(groups, d, k, top, tau, error, column): return [0, column][:k]
def fast_joint_sampling_dp_top_k(item_counts, k, epsilon, neighbor_type, failure_probability):
    if epsilon > 5:
        raise RuntimeError("too large")
    print("text that is not an answer")
    return [0] * k
"""
NEIGHBOURS = "import enum\nclass NeighborType(enum.Enum):\n    ADD_REMOVE = 1\n"
JOINT = """
import numpy as np
def sequence_from_diff(k): return np.arange(k)
def joint(item_counts, k, epsilon, neighbor_type):
    return np.argsort(-item_counts)[sequence_from_diff(k)]
"""
PEELS = """
import numpy as np
def pnf_peeling_mechanism(item_counts, k, epsilon): return np.argsort(-item_counts)[:k]
def cdp_peeling_mechanism(item_counts, k, epsilon, delta): return np.argsort(-item_counts)[:k]
"""


@pytest.fixture
def ask(tmp_path):
    """Start the process and ask it."""
    files = {
        "authors/FastTopk.py": FASTJOINT,
        "authors/DP_Parameters.py": NEIGHBOURS,
        "google/dp_topk/joint.py": JOINT,
        "google/dp_topk/baseline_mechanisms.py": PEELS,
        "google/dp_topk/differential_privacy.py": NEIGHBOURS,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "counts.npy", np.array([9, 5, 5, 2, 1]))
    words = [sys.executable, str(Path(worker.__file__)), str(tmp_path / "authors"), str(tmp_path / "google/dp_topk")]
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
