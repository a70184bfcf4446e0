"""Does any call end in something else than a right answer or an error of the library that quotes no data?

    python benchmarks/hostile_calls.py                        # 5,000 calls
    python benchmarks/hostile_calls.py 100000 --seed 2 --processes 200

Calls go to `top_k`, `prepare`, `select`, `check`, `Release.from_json`, `Ledger`, `compose` and the command line, in
this process and in processes of their own. Every failure is printed once, with the call that made it.
"""

from __future__ import annotations

import argparse
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
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="shortlist-hostile-") as folder:
        attack = Attack(folder=Path(folder) / "files", seed=options.seed)
        for done in range(0, options.calls, 1000):
            attack.run(min(1000, options.calls - done))
        for _ in range(options.processes):
            attack.call("process")
    for kind, calls in attack.calls.items():
        print(f"{kind:<10} {calls:>8,} calls, {attack.answers[kind]:>7,} answers, the rest errors of the library")
    for name, example in attack.failures.items():
        print(f"\nFAILURE {name}\n  {example}")
    total, seconds = sum(attack.calls.values()), time.perf_counter() - start
    print(f"\n{total:,} calls, {len(attack.failures)} kinds of failure, {seconds:,.0f} s")
    sys.exit(bool(attack.failures))


if __name__ == "__main__":
    main()
