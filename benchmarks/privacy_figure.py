"""The figure of docs/privacy.md: the probabilities of all lists with and without one person, and their ratios.

python benchmarks/privacy_figure.py docs/privacy
"""

from __future__ import annotations

import argparse
from math import e
from pathlib import Path

from matplotlib import pyplot as plt

from shortlist.mechanisms import Joint
from shortlist.mechanisms.stated import collect_law

# Three items, and one person who chose the first and the last.
WITH, WITHOUT = (9, 6, 4), (8, 6, 3)
NAMES = ("Blue", "Night", "Slow")


def main() -> None:
    """Draw the figure into a folder."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    mechanism = Joint(k=2, epsilon=1)
    laws = [
        {output.items: float(chance.mid()) for output, chance in collect_law(mechanism, counts).items()}
        for counts in (WITH, WITHOUT)
    ]
    lists = sorted(laws[0], key=laws[0].__getitem__, reverse=True)
    figure, (chances, ratios) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    places = range(len(lists))
    for law, shift, label in zip(laws, (-0.2, 0.2), ("with Ann", "without Ann"), strict=True):
        chances.bar([place + shift for place in places], [law[each] for each in lists], 0.4, label=label)
    chances.set(title="how likely each list of two items is", ylabel="probability")
    chances.legend()
    ratios.plot(places, [laws[0][each] / laws[1][each] for each in lists], "o", color="black")
    for border, label in ((e, r"$e^{\varepsilon}$ = 2.72"), (1 / e, r"$e^{-\varepsilon}$ = 0.37")):
        ratios.axhline(border, color="firebrick", linestyle="--")
        ratios.annotate(label, (len(lists) - 1, border), ha="right", va="bottom", color="firebrick")
    ratios.set(title="with Ann / without Ann, at ε = 1", yscale="log", ylim=(0.25, 4.5))
    ratios.set_yticks([0.5, 1, 2], ["0.5", "1", "2"])
    ratios.minorticks_off()
    for axes in (chances, ratios):
        axes.set_xticks(places, [f"{NAMES[first]},\n{NAMES[second]}" for first, second in lists], fontsize=8)
    figure.savefig(folder / "neighbours.png", dpi=130)


if __name__ == "__main__":
    main()
