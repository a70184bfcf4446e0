"""Does β change the time of the published FastJoint? All β in turn, round after round, and one setting five times.

python docs/reproduction/beta_side_by_side.py ../shared/data
"""

import sys
from pathlib import Path
from statistics import median

import numpy as np

from shortlist.paper.data.datasets import DATASETS, load
from shortlist.paper.experiment.contenders import CONTENDERS
from shortlist.paper.experiment.grid import DEFAULT, SWEEPS


def largest_over_smallest(counts, settings, rounds=50):
    """Time every setting once a round, so that a change in the machine's load meets all of them alike."""
    times = [[] for _ in settings]
    for seed in range(rounds):
        for setting, taken in zip(settings, times, strict=True):
            taken.append(CONTENDERS["published-fastjoint"].draw(counts, setting, seed).seconds)
    medians = [median(taken) for taken in times]
    return max(medians) / min(medians)


if __name__ == "__main__":
    for name in ("games", "books", "news"):
        falling = load(DATASETS[name], Path(sys.argv[1])).counts
        counts = np.random.Generator(np.random.PCG64(0)).permutation(falling)
        beta, control = (largest_over_smallest(counts, each) for each in (SWEEPS["beta"], [DEFAULT] * 5))
        print(f"{name}: all β {beta:.2f}×, control {control:.2f}×")
