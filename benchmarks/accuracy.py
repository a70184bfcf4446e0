"""How good is the list that `auto` gives, next to each mechanism that it chooses from?

    python benchmarks/accuracy.py                          all data sets, k = 5 … 200, epsilon = 0.25, 1, 4
    python benchmarks/accuracy.py --epsilon 1 --draws 21   one epsilon, fewer draws

For each cell: the median ℓ1 error, and the mean recall. The ℓ1 error is the sum over places of the difference between
the count of the listed item and the true count at that place. Recall is the share of the listed items that belong to
the true top k. Every mechanism has the whole epsilon; auto spends a twentieth of it on the choice. Sets are sorted by
count before they are compared. Real histograms are read from the folder in SHORTLIST_DATA, or ../shared/data.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shortlist.mechanisms import Auto, CDPPeel, MarginJoint, Mechanism, PNFPeel, Subset
from shortlist.profile import Profile
from shortlist.testing import SeededBits

DELTA = "1e-6"
SIZES = (5, 10, 20, 50, 100, 200)
CLOSE = 1.25
VOTES_PER_PLACE = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=31)
    parser.add_argument("--epsilon", nargs="*", default=["0.25", "1", "4"])
    arguments = parser.parse_args()
    print("| counts | k | ε | allowed | " + " | ".join(COLUMNS) + " | auto | chosen |")
    print("|---" * (len(COLUMNS) + 6) + "|")
    verdicts: dict[str, list[tuple[bool, bool]]] = {}
    for name, counts in histograms():
        for epsilon in arguments.epsilon:
            for k in SIZES:
                if k <= len(counts):
                    for allowed in ALLOWED:
                        row, *verdict = compare(name, Profile.of(counts), k, epsilon, allowed, arguments.draws)
                        print(row, flush=True)
                        verdicts.setdefault(allowed, []).append((verdict[0], verdict[1]))
    print()
    for allowed, found in verdicts.items():
        close = sum(each for each, _ in found)
        print(
            f"{allowed}: within {CLOSE} × (or {VOTES_PER_PLACE} votes per place) of the better candidate in {close} of "
            f"{len(found)} cells ({close / len(found):.1%}); "
            f"recall below half of the best candidate's in {sum(bad for _, bad in found)}"
        )


COLUMNS = ["margin-joint", "pnf-peel", "cdp-peel", "subset"]
ALLOWED = {
    "ordered, δ = 0": ({}, ["margin-joint", "pnf-peel"]),
    "ordered, δ = 10⁻⁶": ({"delta": DELTA}, ["margin-joint", "cdp-peel"]),
    "any order, δ = 0": ({"ordered": False}, ["margin-joint", "pnf-peel", "subset"]),
}


def compare(name: str, profile: Profile, k: int, epsilon: str, allowed: str, draws: int) -> tuple[str, bool, bool]:
    """One row of the table, whether auto is close to the better candidate, and whether it misses it badly."""
    options, candidates = ALLOWED[allowed]
    makers = {
        "margin-joint": lambda: MarginJoint(k=k, epsilon=epsilon),
        "pnf-peel": lambda: PNFPeel(k=k, epsilon=epsilon),
        "cdp-peel": lambda: CDPPeel(k=k, epsilon=epsilon, delta=DELTA),
        "subset": lambda: Subset(k=k, epsilon=epsilon),
    }
    results = {each: measure(makers[each](), profile, draws, "subset" in candidates) for each in candidates}
    auto = measure(Auto(k=k, epsilon=epsilon, **options), profile, draws, "subset" in candidates)
    best_error = min(error for error, _, _ in results.values())
    best_recall = max(recall for _, recall, _ in results.values())
    close = auto[0] <= max(CLOSE * best_error, best_error + VOTES_PER_PLACE * k)
    cells = [write(results.get(each)) for each in COLUMNS]
    chosen = ", ".join(f"{each} {count / draws:.0%}" for each, count in auto[2].most_common())
    row = " | ".join([name, str(k), epsilon, allowed, *cells, write(auto), chosen])
    return f"| {row} |", close, auto[1] < best_recall / 2


Measured = tuple[float, float, Counter[str]]


def measure(mechanism: Mechanism, profile: Profile, draws: int, unordered: bool) -> Measured:
    """The median ℓ1 error, the mean recall, and what was chosen."""
    prepared, bits = mechanism.prepare(profile), SeededBits(mechanism.k)
    top = profile.top(mechanism.k)
    errors, recalls, chosen = [], [], Counter[str]()
    for _ in range(draws):
        picks = prepared.draw(bits)
        levels = np.sort(picks.levels)[::-1] if unordered else picks.levels
        errors.append(int(np.abs(top - levels).sum()))
        recalls.append(np.count_nonzero(levels >= top[-1]) / mechanism.k)
        chosen[picks.chosen or mechanism.name] += 1
    return float(np.median(errors)), min(1.0, float(np.mean(recalls))), chosen


def write(measured: Measured | None) -> str:
    return "" if measured is None else f"{measured[0]:,.0f} / {measured[1]:.2f}"


def histograms() -> Iterator[tuple[str, np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    folder = Path(os.environ.get("SHORTLIST_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
    for path in sorted(folder.glob("*.counts.npy")):
        yield path.name.removesuffix(".counts.npy"), np.load(path)


if __name__ == "__main__":
    main()
