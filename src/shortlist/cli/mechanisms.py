"""`shortlist mechanisms`: the names that --mechanism takes, what each promises, and when to take it."""

from __future__ import annotations

import inspect

EXAMPLE = "shortlist mechanisms"

_WHEN = {
    "joint": "the default: the most useful lists, and no failure probability",
    "fastjoint": "to repeat the published algorithm, with its failure probability beta",
    "pnf-joint": "never a larger expected loss than joint; only its rho is worse, so not for many releases",
    "pnf-peel": "to compare with: k rounds, each with its share of epsilon",
    "cdp-peel": "when a small delta is acceptable and k is large",
    "laplace": "to compare with: noise on every count",
    "gamma": "to compare with: noise on every count",
}


def mechanisms() -> None:
    """List the mechanisms: what each promises, and when to take it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shortlist.mechanisms import MECHANISMS

    table = Table(box=None, padding=(0, 2, 1, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("promises", ratio=1)
    table.add_column("take it", ratio=1)
    for name, kind in MECHANISMS.items():
        limit = "; floats, so only with --seed and --insecure" if kind.research else ""
        table.add_row(Text(name), Text(_claim(kind)), Text(_WHEN.get(name, "") + limit))
    Console().print(table)


def _claim(kind: type) -> str:
    """The paragraph of a docstring that begins with the word Claim."""
    lines = (inspect.getdoc(kind) or "").splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith("Claim")), len(lines))
    paragraph = lines[start : start + 1]
    for line in lines[start + 1 :]:
        if not line.startswith(" "):
            break
        paragraph.append(line)
    return " ".join(" ".join(paragraph).removeprefix("Claim").split())
