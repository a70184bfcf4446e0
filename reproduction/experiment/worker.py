"""The process that calls the released programs: requests in as JSON lines, answers out as JSON lines.

It runs in the environment that was made for the programs, where shortlist is not installed, so it imports NumPy and
the standard library only. The programs are called as they are; nothing in them is changed. To time Joint before its
sequence step, the clock is read when that step is entered.
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np


def main() -> None:
    """Answer requests until the input ends."""
    fastjoint, dp_topk = sys.argv[1:3]
    # FastTopk imports DP_Parameters beside it; joint imports the package dp_topk.
    sys.path[:0] = [fastjoint, str(Path(dp_topk).parent)]
    warnings.simplefilter("ignore")
    answers, sys.stdout = sys.stdout, sys.stderr
    programs = Programs()
    for line in sys.stdin:
        try:
            answer = programs.answer(json.loads(line))
        except Exception as error:  # the caller keeps it beside the trial
            answer = {"failure": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


class Programs:
    """The four programs, each called on a histogram by its number."""

    def __init__(self) -> None:
        self._fast = import_module("FastTopk")
        self._fast_type = import_module("DP_Parameters").NeighborType.ADD_REMOVE
        self._joint = joint = import_module("dp_topk.joint")
        self._joint_type = import_module("dp_topk.differential_privacy").NeighborType.ADD_REMOVE
        self._peels = import_module("dp_topk.baseline_mechanisms")
        self._histograms: dict[str, Any] = {}
        self._step = 0.0
        sequence_step = joint.sequence_from_diff

        def mark_step(*given: Any, **named: Any) -> Any:
            self._step = time.process_time()
            return sequence_step(*given, **named)

        joint.sequence_from_diff = mark_step  # type: ignore[attr-defined]

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Do what a request asks for."""
        if request["op"] == "hello":
            return {"numpy": np.__version__, "python": sys.version.split()[0]}
        if request["op"] == "load":
            self._histograms = {request["name"]: np.load(request["path"])}
            return {}
        return {"time": self._time, "memory": self._measure_memory, "lists": self._draw_lists}[request["op"]](request)

    def _time(self, request: dict[str, Any]) -> dict[str, Any]:
        counts = self._permute(request)
        np.random.seed(request["seed"] % 2**32)  # noqa: NPY002
        wall, cpu = time.perf_counter(), time.process_time()
        items = self._call(counts, request)
        after = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        if request["program"] == "joint":
            after["before_cpu"] = self._step - cpu
        return {**after, "counts": counts[items].tolist(), "repeats": len(items) - len({int(item) for item in items})}

    def _measure_memory(self, request: dict[str, Any]) -> dict[str, Any]:
        counts = self._permute(request)
        np.random.seed(request["seed"] % 2**32)  # noqa: NPY002
        tracemalloc.start()
        self._call(counts, request)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return {"bytes": peak}

    def _draw_lists(self, request: dict[str, Any]) -> dict[str, Any]:
        """Draw many lists of FastJoint: its log sizes once, then its own two steps for each list."""
        fast, k, epsilon = self._fast, request["k"], request["epsilon"]
        counts = self._histograms[request["data"]]
        d = len(counts)
        top = fast.sort_k_largest(counts, k)
        tau = fast.compute_error_truncation_threshold(epsilon, d, k, request["beta"], self._fast_type)
        groups = fast.sort_group_indices_by_score_above_threshold(fast.construct_index_groups(counts), top[-1] - tau)
        log_sizes = fast.compute_log_sequence_count_matrix(top, groups, tau, d, k)
        lists, repeats = [], []
        for seed in request["seeds"]:
            np.random.seed(seed % 2**32)  # noqa: NPY002
            error, column = fast.sample_error_idx(log_sizes, tau, epsilon, self._fast_type)
            items = fast.sample_sequence(groups, d, k, top, tau, error, column)
            lists.append(counts[items].tolist())
            repeats.append(len(items) - len({int(item) for item in items}))
        return {"counts": lists, "repeats": repeats}

    def _permute(self, request: dict[str, Any]) -> Any:
        generator = np.random.Generator(np.random.PCG64([request["seed"], 1]))
        return generator.permutation(self._histograms[request["data"]])

    def _call(self, counts: Any, request: dict[str, Any]) -> Any:
        k, epsilon = request["k"], request["epsilon"]
        if request["program"] == "fastjoint":
            return self._fast.fast_joint_sampling_dp_top_k(counts, k, epsilon, self._fast_type, request["beta"])
        if request["program"] == "joint":
            return self._joint.joint(counts, k, epsilon, self._joint_type)
        if request["program"] == "pnf-peel":
            return self._peels.pnf_peeling_mechanism(counts, k, epsilon)
        return self._peels.cdp_peeling_mechanism(counts, k, epsilon, request["delta"])


if __name__ == "__main__":
    main()
