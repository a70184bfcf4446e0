"""How good is a list without a public list of items, next to one that has it?

    python benchmarks/no_catalogue.py                 games and food5core, k = 10, 50, 100
    python benchmarks/no_catalogue.py --draws 11      fewer draws
    python benchmarks/no_catalogue.py --data games -k 10

For each cell: the mean recall, and in brackets the mean number of items in the list. Recall is the share of the true
top k that is in the list. ε = 1 and δ = 10⁻⁶. `threshold` and `noisy-counts` count 20 votes of each person at most; the
true top k is that of all votes. The votes are read from the folder in SHORTLIST_DATA, or ../shared/data.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shortlist.mechanisms import CDPPeel, LimitedDomain, Mechanism, NoisyCounts, Stable, Subset, Threshold
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.testing import SeededBits
from shortlist.votes.source import Tally
from shortlist.votes.tallies import plan_tally

EPSILON, DELTA, CAP = 1, "1e-6", 20
SIZES = (10, 50, 100)
DATA = {"games": ("user", "game"), "food5core": ("user", "item")}
ALL: dict[str, tuple[Callable[[int], Mechanism], int | None]] = {
    "limited-domain": (lambda k: LimitedDomain(k=k, epsilon=EPSILON, delta=DELTA), None),
    "limited-domain, m = 20": (
        lambda k: LimitedDomain(k=k, epsilon=EPSILON, delta=DELTA, votes_per_person=CAP),
        CAP,
    ),
    "threshold, m = 20": (lambda k: Threshold(k=k, epsilon=EPSILON, delta=DELTA, votes_per_person=CAP), CAP),
    "stable": (lambda k: Stable(k=k, epsilon=EPSILON, delta=DELTA), None),
    "cdp-peel": (lambda k: CDPPeel(k=k, epsilon=EPSILON, delta=DELTA), None),
    "subset": (lambda k: Subset(k=k, epsilon=EPSILON), None),
    "noisy-counts, m = 20": (lambda k: NoisyCounts(k=k, epsilon=EPSILON, delta=DELTA, votes_per_person=CAP), CAP),
}
"""The mechanisms with the cap on the votes that they see. The last three need a list of all items."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=31)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("-k", nargs="+", type=int, default=list(SIZES))
    options = parser.parse_args()
    print("| votes | k | " + " | ".join(ALL) + " |")
    print("|---" * (len(ALL) + 2) + "|")
    for name in options.data:
        (person, item), path = DATA[name], find_votes(name)
        asked = {"person": person, "item": item, "observed": True}
        tallies = {cap: plan_tally(path, **asked, votes_per_person=cap).count() for cap in (None, CAP)}
        true = read_all(tallies[None])
        for k in options.k:
            cells = [measure(make(k), tallies[cap], true, options.draws) for make, cap in ALL.values()]
            print(f"| {name} | {k} | " + " | ".join(cells) + " |", flush=True)


def measure(mechanism: Mechanism, tally: Tally, true: dict[object, int], draws: int) -> str:
    """The mean recall and the mean length of lists."""
    kth = sorted(true.values(), reverse=True)[mechanism.k - 1]
    prepared, bits = mechanism.prepare(tally[0]), SeededBits(mechanism.k)
    recalls, lengths = [], []
    for _ in range(draws):
        (items,) = tally.names(tally.rows([prepared.draw(bits)]))
        recalls.append(min(1.0, sum(true[item] >= kth for item in items) / mechanism.k))
        lengths.append(len(items))
    return f"{np.mean(recalls):.2f} ({np.mean(lengths):.0f})"


def read_all(tally: Tally) -> dict[object, int]:
    """The true count of every item."""
    profile = tally[0].above(1, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    (items,) = tally.names(tally.rows([Picks(levels=levels, ranks=ranks)]))
    return dict(zip(items, levels.tolist(), strict=True))


def find_votes(name: str) -> Path:
    folder = Path(os.environ.get("SHORTLIST_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
    path = folder / f"{name}.votes.csv.gz"
    if not path.exists():
        raise SystemExit(f"there is no {path.name}: set SHORTLIST_DATA to the folder of real data")
    return path


if __name__ == "__main__":
    main()
