"""Small programs with the released functions' names. Their FastJoint ends its own process for one beta."""

from pathlib import Path

import pytest

FASTJOINT = """
import os, signal
import numpy as np
def sort_k_largest(hist, k): return np.sort(hist)[::-1][:k]
def compute_error_truncation_threshold(epsilon, d, k, failure_probability, neighbor_type):
    if failure_probability == 2**-8:
        os.kill(os.getpid(), signal.SIGKILL)
    return 7
def construct_index_groups(hist): return list(enumerate(hist))
def sort_group_indices_by_score_above_threshold(groups, threshold): return groups
def compute_log_sequence_count_matrix(top, groups, tau, d, k): return np.zeros((tau + 1, k))
def sample_error_idx(log_sizes, tau, epsilon, neighbor_type): return 0, np.random.randint(0, 2)
def sample_sequence(groups, d, k, top, tau, error, column): return [0, column, *range(2, k)][:k]
def fast_joint_sampling_dp_top_k(item_counts, k, epsilon, neighbor_type, failure_probability):
    if epsilon > 5:
        raise RuntimeError("too large")
    compute_error_truncation_threshold(epsilon, len(item_counts), k, failure_probability, neighbor_type)
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
FILES = {
    "authors/FastTopk.py": FASTJOINT,
    "authors/DP_Parameters.py": NEIGHBOURS,
    "google/dp_topk/joint.py": JOINT,
    "google/dp_topk/baseline_mechanisms.py": PEELS,
    "google/dp_topk/differential_privacy.py": NEIGHBOURS,
}


@pytest.fixture
def small_programs(tmp_path) -> tuple[Path, Path]:
    """The folders of both programs."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "authors", tmp_path / "google/dp_topk"
