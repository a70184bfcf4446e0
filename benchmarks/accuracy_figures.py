"""The figures of docs/accuracy.md: why lists fail, and how much of the truth each mechanism finds.

    python benchmarks/accuracy_figures.py docs/accuracy

Both use one generated histogram: 5,155 items, whose counts fall like those of popular games. No real data is in it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from shortlist.mechanisms import Auto, CDPPeel, Joint, MarginJoint, Mechanism, NoisyCounts, PNFPeel, Subset
from shortlist.profile import Profile
from shortlist.testing import SeededBits

D, EPSILON, DELTA, CAP = 5155, 1, "1e-6", 10
SIZES = (1, 2, 5, 10, 15, 20, 30, 40, 50, 70, 100, 140, 200)
# The palette of Okabe and Ito, with a marker each, so that colour is not needed to tell lines apart.
LINES = {
    "joint": ("#D55E00", "v", lambda k: Joint(k=k, epsilon=EPSILON)),
    "margin-joint": ("#56B4E9", "^", lambda k: MarginJoint(k=k, epsilon=EPSILON)),
    "pnf-peel": ("#CC79A7", "o", lambda k: PNFPeel(k=k, epsilon=EPSILON)),
    "auto": ("#000000", "s", lambda k: Auto(k=k, epsilon=EPSILON)),
    "subset (no order)": ("#009E73", "D", lambda k: Subset(k=k, epsilon=EPSILON)),
    "cdp-peel (δ = 10⁻⁶)": ("#0072B2", "P", lambda k: CDPPeel(k=k, epsilon=EPSILON, delta=DELTA)),
    "noisy-counts (10 votes per person)": (
        "#E69F00",
        "X",
        lambda k: NoisyCounts(k=k, epsilon=EPSILON, votes_per_person=CAP),
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=25)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    profile = Profile.of(generate())
    for name, draw in (("recall", draw_recall), ("votes-needed", draw_votes)):
        figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
        draw(axes, profile, arguments.draws)
        figure.savefig(arguments.folder / f"{name}.png", dpi=150)


def generate() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    places = np.arange(1, D + 1)
    return np.random.default_rng(7).poisson(3000 * places**-0.57 * np.exp(-places / 900))


def draw_recall(axes: Axes, profile: Profile, draws: int) -> None:
    """Recall against k: the share of the listed items that belong to the true top k."""
    for name, (colour, marker, make) in LINES.items():
        recalls = [find_recall(make(k), profile, draws) for k in SIZES]
        width = 4 if name == "joint" else 1.5  # margin-joint lies over it
        axes.plot(SIZES, recalls, color=colour, marker=marker, markersize=5, linewidth=width, label=name)
    axes.set_ylim(0, 1.03)
    label(axes, "share of listed items that are right", "Recall at ε = 1 on a generated histogram of 5,155 items")
    axes.legend(frameon=False, fontsize=9, loc="lower left")


def find_recall(mechanism: Mechanism, profile: Profile, draws: int) -> float:
    prepared, bits, least = mechanism.prepare(profile), SeededBits(mechanism.k), profile.top(mechanism.k)[-1]
    return float(np.mean([np.mean(prepared.draw(bits).levels >= least) for _ in range(draws)]))


def draw_votes(axes: Axes, profile: Profile, draws: int) -> None:
    """The bound on the error against k, beside the count of the k-th item."""
    for name, (colour, marker, make) in LINES.items():
        if name not in ("auto", "margin-joint"):
            bounds = [make(k).error_bound(D) for k in SIZES]
            axes.plot(SIZES, bounds, color=colour, marker=marker, markersize=5, label=name)
    axes.fill_between(SIZES, [profile.top(k)[-1] for k in SIZES], 1, color="#BBBBBB", alpha=0.5, linewidth=0)
    axes.annotate("fewer votes than\nthe k-th item has", (1.15, 60), fontsize=9)
    axes.set_yscale("log")
    axes.set_ylim(10, 6000)
    label(axes, "votes (bound on the error, 95 %)", "A list is sure to be useful where its line is in the grey area")
    axes.legend(frameon=False, fontsize=9, loc="lower right")


def label(axes: Axes, vertical: str, title: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.set_xlabel("k, the number of items in the list")
    axes.set_ylabel(vertical)
    axes.set_title(title, loc="left", fontsize=11)


if __name__ == "__main__":
    main()
