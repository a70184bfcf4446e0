"""How good are the lists of a family: the top 10 of 27 countries in each of 8 weeks, under one budget?

python benchmarks/family_accuracy.py LISTENING_LOG.PY [--seeds 1 2 3] [--draws 2]

The first argument is a script that invents a log: `script FOLDER --seed N` writes plays.parquet (user_id, track_id,
country, day), catalogue.csv (track_id) and groups.csv (country, week: a Monday). Without the script nothing is
measured. Recall is the share of the items of a list whose true count in the group reaches the k-th largest, so ties at
place k are hits. The truth knows no limits. Votes are counted once for each limit, and each mechanism draws all lists
several times from these counts, as `select` does once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from shortlist.exact.bits import SystemBits
from shortlist.terms import Terms
from shortlist.votes.tallies import plan_tally

K = 10
SETTINGS = {
    "(5, 1e-7), votes_per_person=20": (
        {"epsilon": 5, "delta": "1e-7", "votes_per_person": 20},
        ("auto", "margin-joint", "cdp-peel", "pnf-peel", "noisy-counts"),
    ),
    "5, votes_per_person=5": (
        {"epsilon": 5, "votes_per_person": 5},
        ("auto", "margin-joint", "pnf-peel", "noisy-counts"),
    ),
    "5/216 for each list": ({"epsilon": 5, "groups_per_person": 216}, ("joint",)),
}
"""The total guarantee and the limits, and the mechanisms that are compared."""


def main() -> None:
    """Measure, and print one line for each seed, guarantee and mechanism."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--draws", type=int, default=2)
    args = parser.parse_args()
    if not args.script.exists():
        print("skipped: there is no script that invents the log")
        return
    print("| seed | total guarantee | mechanism | chose | mean recall |\n|---|---|---|---|---|")
    for seed in args.seeds:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, args.script, folder, "--seed", str(seed)], check=True)
            measure(Path(folder), seed, args.draws)


def measure(folder: Path, seed: int, draws: int) -> None:
    """Measure all settings on one log."""
    week = pl.col("day").cast(pl.Date).dt.truncate("1w").alias("week")
    plays = pl.read_parquet(folder / "plays.parquet", columns=["user_id", "track_id", "country", "day"])
    plays = plays.select("user_id", "track_id", "country", week)
    groups = pl.read_csv(folder / "groups.csv", try_parse_dates=True)
    catalogue = pl.read_csv(folder / "catalogue.csv")["track_id"].to_list()
    counts = (
        plays.drop_nulls()
        .filter(pl.col("track_id").is_in(catalogue))
        .unique()
        .group_by("country", "week", "track_id")
        .len("votes")
    )
    last = counts.group_by("country", "week").agg(pl.col("votes").top_k(K).min().alias("last"))
    hits = counts.join(last, on=["country", "week"]).filter(pl.col("votes") >= pl.col("last"))
    true = set(hits.select("country", "week", "track_id").iter_rows())
    for title, (asked, mechanisms) in SETTINGS.items():
        limits: dict[str, Any] = {name: asked.get(name) for name in ("votes_per_person", "groups_per_person")}
        plan = plan_tally(
            plays, item="track_id", person="user_id", domain=catalogue, by=("country", "week"), groups=groups, **limits
        )
        family, names = plan.count_family(), plan.groups
        assert names is not None
        for name in mechanisms:
            takes_delta = name in ("auto", "cdp-peel", "noisy-counts")
            given = {key: each for key, each in asked.items() if key != "delta" or takes_delta}
            terms = Terms.read(name, K, groups=len(names), persons_counted=True, **given)
            found, chosen = [], set()
            for _ in range(draws):
                picks = terms.mechanism.draw_family(family, SystemBits())  # type: ignore[arg-type]
                chosen |= {each.chosen for each in picks if each.chosen}
                found += [(*names[g], item) in true for g, items in enumerate(family.find(picks)) for item in items]
            recall = sum(found) / len(found)
            print(f"| {seed} | {title} | {name} | {', '.join(sorted(chosen))} | {recall:.3f} |", flush=True)


if __name__ == "__main__":
    main()
