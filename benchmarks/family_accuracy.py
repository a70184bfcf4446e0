"""How good are the lists of a family: the top 10 of 27 countries in each of 8 weeks, under one budget?

python benchmarks/family_accuracy.py LISTENING_LOG.PY [--seeds 1 2 3] [--draws 2] [--plays 300000]
python benchmarks/family_accuracy.py LISTENING_LOG.PY --by week --country DE

The first argument is a script that invents a log: `script FOLDER --seed N` writes plays.parquet (user_id, track_id,
country, day), catalogue.csv (track_id) and groups.csv (country, week: a Monday). Without the script nothing is
measured. `--country` keeps the plays of one country, and then `--plays` a random part of the log. Recall is the share
of the items of a list whose true count in the group reaches the k-th largest, so ties at place k are hits. The truth
knows no limits. Votes are counted once for each limit, and each mechanism draws all lists several times from these
counts, as `select` does once.
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
DELTA = "1e-7"
VOTES = (
    {"epsilon": 5, "delta": DELTA, "votes_per_person": 20},
    {"epsilon": 5, "votes_per_person": 5},
)
SETTINGS = {
    "country,week": (*VOTES, {"epsilon": 5, "groups_per_person": 216}),
    "country": (*VOTES, {"epsilon": 1, "groups_per_person": 1}, {"epsilon": 1, "delta": DELTA, "groups_per_person": 1}),
    "week": (*VOTES, {"epsilon": 5, "groups_per_person": 8}, {"epsilon": 5, "delta": DELTA, "groups_per_person": 8}),
}
"""The total guarantees and limits for each kind of group."""


def main() -> None:
    """Measure, and print one line for each seed, guarantee and mechanism."""
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--plays", type=int)
    parser.add_argument("--by", choices=SETTINGS, default="country,week")
    parser.add_argument("--country")
    args = parser.parse_args()
    if not args.script.exists():
        print("skipped: there is no script that invents the log")
        return
    print("| seed | total guarantee | mechanism | chose | mean recall |\n|---|---|---|---|---|")
    for seed in args.seeds:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, args.script, folder, "--seed", str(seed)], check=True)
            measure(Path(folder), seed, args)


def measure(folder: Path, seed: int, args: argparse.Namespace) -> None:
    """Measure all settings on one log."""
    by = args.by.split(",")
    week = pl.col("day").cast(pl.Date).dt.truncate("1w").alias("week")
    plays = pl.read_parquet(folder / "plays.parquet", columns=["user_id", "track_id", "country", "day"])
    plays = plays.select("user_id", "track_id", "country", week)
    groups = pl.read_csv(folder / "groups.csv", try_parse_dates=True)
    if args.country:
        plays, groups = (each.filter(pl.col("country") == args.country) for each in (plays, groups))
    if args.plays:
        plays = plays.sample(args.plays, seed=seed)
    groups = groups.select(by).unique(maintain_order=True)
    catalogue = pl.read_csv(folder / "catalogue.csv")["track_id"].to_list()
    cells = plays.select("user_id", *by, "track_id").drop_nulls().filter(pl.col("track_id").is_in(catalogue)).unique()
    counts = cells.group_by(*by, "track_id").len("votes")
    last = counts.group_by(by).agg(pl.col("votes").top_k(K).min().alias("last"))
    hits = counts.join(last, on=by).filter(pl.col("votes") >= pl.col("last"))
    true = set(hits.select(*by, "track_id").iter_rows())
    for asked in SETTINGS[args.by]:
        title = ", ".join(f"{name}={value}" for name, value in asked.items())
        limits: dict[str, Any] = {name: asked.get(name) for name in ("votes_per_person", "groups_per_person")}
        plan = plan_tally(plays, item="track_id", person="user_id", domain=catalogue, by=by, groups=groups, **limits)
        family, names = plan.count(), plan.groups
        assert names is not None
        keys = [each if isinstance(each, tuple) else (each,) for each in names]
        peels = ("cdp-peel", "pnf-peel") if "delta" in asked else ("pnf-peel",)
        for name in ("auto", "margin-joint", *peels, *(["noisy-counts"] if "votes_per_person" in asked else [])):
            takes_delta = name in ("auto", "cdp-peel", "noisy-counts")
            given = {key: each for key, each in asked.items() if key != "delta" or takes_delta}
            terms = Terms.read(name, K, groups=len(names), persons_counted=True, **given)
            found, chosen = [], set()
            for _ in range(args.draws):
                picks = terms.mechanism.draw_family(family, SystemBits())  # type: ignore[arg-type]
                chosen |= {each.chosen for each in picks if each.chosen}
                found += [
                    (*keys[g], item) in true
                    for g, items in enumerate(family.names(family.rows(picks)))
                    for item in items
                ]
            recall = sum(found) / len(found)
            print(f"| {seed} | {title} | {name} | {', '.join(sorted(chosen))} | {recall:.3f} |", flush=True)


if __name__ == "__main__":
    main()
