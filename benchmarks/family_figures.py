"""The figure of docs/families.md: what the two limits keep of the votes of one person.

python benchmarks/family_figures.py docs/families
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

GROUPS, ITEMS = ("DE", "FR", "IE", "PT"), ("Blue Room", "Night Bus", "Slow Train", "Old Harbour")
VOTES = {("DE", 0), ("DE", 1), ("DE", 3), ("FR", 0), ("FR", 2), ("PT", 1)}
PANELS = {
    "all votes of one person:\n6 cells in 3 groups": VOTES,
    "groups_per_person=2:\nthe cells of at most 2 groups": {vote for vote in VOTES if vote[0] != "PT"},
    "votes_per_person=3:\nat most 3 cells, in any groups": {("DE", 1), ("FR", 0), ("PT", 1)},
}


def main() -> None:
    """Draw the figure into a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    figure, panels = plt.subplots(1, len(PANELS), figsize=(9, 3.2), sharey=True, layout="constrained")
    for axes, (title, kept) in zip(panels, PANELS.items(), strict=True):
        draw_cells(axes, title, kept)
    figure.savefig(folder / "limits.png", dpi=130)


def draw_cells(axes: Axes, title: str, kept: set[tuple[str, int]]) -> None:
    """Draw a cell for each group and item: filled if the vote counts, crossed out if a limit drops it."""
    for column, group in enumerate(GROUPS):
        for row in range(len(ITEMS)):
            counted = (group, row) in kept
            colour = "#0072B2" if counted else "white"
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="#999999"))
            if (group, row) in VOTES and not counted:
                axes.plot(column, row, marker="x", color="#D55E00", markersize=11, markeredgewidth=2)
    axes.set(xlim=(-0.55, len(GROUPS) - 0.45), ylim=(len(ITEMS) - 0.45, -0.55), aspect="equal")
    axes.set_xticks(range(len(GROUPS)), GROUPS)
    axes.set_yticks(range(len(ITEMS)), ITEMS)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title, loc="left", fontsize=10)


if __name__ == "__main__":
    main()
