"""How good is a list under a private cap, next to one under a fixed cap that somebody had to guess?

    python benchmarks/private_cap.py                  games and food5core, k = 100
    python benchmarks/private_cap.py --draws 11       fewer draws

Each cell is the mean recall at ε = 1 under a cap on the votes per person: the share of the true top k, of all votes,
that is in the list. The private cap pays for its choice with a twentieth of ε; the caps that were chosen stand in
brackets, and how often. `threshold` knows no list of items. The votes are read from the folder in SHORTLIST_DATA, or
../shared/data.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from no_catalogue import DATA, find_votes, read_all
from shortlist.terms import Terms
from shortlist.testing import SeededBits
from shortlist.votes.source import Tally
from shortlist.votes.tallies import plan_tally

FIXED = (5, 10, 20, 40)
MECHANISMS = ("noisy-counts", "auto", "threshold")
DELTAS = {"0": {}, "10⁻⁶": {"delta": "1e-6"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=101)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("-k", type=int, default=100)
    options = parser.parse_args()
    print("| votes | mechanism | δ | " + " | ".join(f"cap {cap}" for cap in FIXED) + " | private cap |")
    print("|---" * (len(FIXED) + 4) + "|")
    for name in options.data:
        votes = Votes(name)
        for mechanism, (delta, given) in itertools.product(MECHANISMS, DELTAS.items()):
            if mechanism == "threshold" and not given:
                continue
            cells = []
            for cap in (*FIXED, "auto"):
                recalls, chosen = votes.measure(mechanism, options.k, options.draws, cap, **given)
                often = ", ".join(f"{each}: {n}" for each, n in sorted(Counter(chosen).items()))
                cells.append(f"{np.mean(recalls):.3f}" + (f" ({often})" if cap == "auto" else ""))
            print(f"| {name} | `{mechanism}` | {delta} | " + " | ".join(cells) + " |", flush=True)


class Votes:
    """Votes that are counted under each cap when it is asked for."""

    def __init__(self, name: str) -> None:
        self._asked: dict[str, Any] = dict(zip(("person", "item"), DATA[name], strict=True))
        self._path = find_votes(name)
        self.true = read_all(self.count(None, without_domain=True))
        """The true count of every item."""

    @cache  # noqa: B019  # there are two of these objects
    def count(self, cap: int | None, *, without_domain: bool) -> Tally:
        """Count the votes under a cap."""
        if without_domain:
            return plan_tally(self._path, **self._asked, observed=True, votes_per_person=cap).count()
        return plan_tally(self._path, **self._asked, domain=list(self.true), votes_per_person=cap).count()

    @cache  # noqa: B019
    def count_exceeding(self, caps: tuple[int, ...]) -> list[int]:
        """Count the persons with more votes than each cap."""
        found: list[int] = []

        def keep(exceeding: Any) -> int:
            found.extend(exceeding)
            return caps[0]

        plan_tally(
            self._path, **self._asked, observed=True, votes_per_person=caps[-1], caps=caps, choose_cap=keep
        ).count()
        return found

    def measure(
        self, mechanism: str, k: int, draws: int, cap: int | str, **given: Any
    ) -> tuple[list[float], list[int]]:
        """The recall of each list, and the cap of each."""
        kth, bits, unlisted = sorted(self.true.values(), reverse=True)[k - 1], SeededBits(k), mechanism == "threshold"
        terms = Terms.read(
            mechanism, k, 1, votes_per_person=cap, persons_counted=True, without_domain=unlisted, **given
        )
        used = [terms] * draws
        if terms.private_cap is not None:
            exceeding = self.count_exceeding(terms.private_cap.caps)
            used = [terms.choose_cap(exceeding, bits) for _ in range(draws)]
        recalls, caps = [], sorted(each.votes_per_person or 0 for each in used)
        for own in {each.votes_per_person: each for each in used}.values():
            counted = self.count(own.votes_per_person, without_domain=unlisted)
            prepared = own.mechanism.prepare(counted[0])
            for picks in prepared.draw_many(caps.count(own.votes_per_person or 0), bits):
                (items,) = counted.names(counted.rows([picks]))
                recalls.append(min(1.0, sum(self.true[item] >= kth for item in items) / k))
        return recalls, caps


if __name__ == "__main__":
    main()
