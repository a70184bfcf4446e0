"""Does any call end in something else than a right answer or an error of the library that quotes no data?

    python benchmarks/hostile_calls.py                        # 5,000 calls
    python benchmarks/hostile_calls.py 100000 --seed 2 --processes 200

Calls go to `top_k`, `prepare`, `select` with a domain and without one, `check`, `plan`, `audit`, `Release.from_json`,
`Ledger`, `compose` and the command line, in this process and in processes of their own. Every failure is printed
once, with the call that made it.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

from attack import Attack


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", type=int, nargs="?", default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=20, help="how many further calls are processes of their own")
    options = parser.parse_args()
    # A call that takes all memory fails by itself, and does not end other programs.
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="shortlist-hostile-") as folder:
        attack = Attack(folder=Path(folder) / "files", seed=options.seed)
        known = 0
        for done in range(0, options.calls, 1000):
            attack.run(min(1000, options.calls - done))
            known = report(attack, known)
        for _ in range(options.processes):
            attack.call("process")
        report(attack, known)
    for kind, calls in attack.calls.items():
        print(f"{kind:<10} {calls:>8,} calls, {attack.answers[kind]:>7,} answers, the rest errors of the library")
    total, seconds = sum(attack.calls.values()), time.perf_counter() - start
    print(f"\n{total:,} calls, {len(attack.failures)} kinds of failure, {seconds:,.0f} s")
    sys.exit(bool(attack.failures))


def report(attack: Attack, known: int) -> int:
    """Print the kinds of failure that are new, and how far the attack is; return how many are known now."""
    for name, example in list(attack.failures.items())[known:]:
        print(f"FAILURE {name}\n  {example}", flush=True)
    print(f"{sum(attack.calls.values()):,} calls so far", flush=True)
    return len(attack.failures)


if __name__ == "__main__":
    main()
