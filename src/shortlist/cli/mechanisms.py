"""`shortlist mechanisms`: the names that --mechanism takes, what each promises, and when to take it."""

from __future__ import annotations

from typing import NamedTuple

EXAMPLE = "shortlist mechanisms"


class _Entry(NamedTuple):
    guarantee: str
    rho: str
    when: str


# In letters that every terminal can show.
_ENTRIES = {
    "joint": _Entry("epsilon", "epsilon^2/8", "always, to begin with: the default"),
    "fastjoint": _Entry("epsilon", "epsilon^2/8", "for the published law, with its failure probability --beta"),
    "pnf-joint": _Entry("epsilon", "epsilon^2/2", "for one release alone: never a larger expected loss than joint"),
    "pnf-peel": _Entry("epsilon", "epsilon^2/2k", "when votes are few and k is small, or to compare"),
    "cdp-peel": _Entry("epsilon, delta", "k r^2/8", "when a small --delta will do and many counts lie close together"),
    "laplace": _Entry("epsilon", "epsilon^2/2", "for research only: noise on every count"),
    "gamma": _Entry("epsilon", "epsilon^2/2", "for research only: noise on every count"),
}
_NOTES = (
    "The guarantee is for the --neighbours that you choose; rho (zCDP) is what to add up over many releases, and r is "
    "what each of the k rounds of cdp-peel may spend. Secure means exact, without floating-point noise; the others are "
    "accepted only with --seed and --insecure."
)


def mechanisms() -> None:
    """List the mechanisms: what each promises, and when to take it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shortlist.mechanisms import MECHANISMS

    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("name", "guarantee", "rho", "secure"):
        table.add_column(head, no_wrap=True)
    table.add_column("take it", ratio=1)
    for name, kind in MECHANISMS.items():
        entry = _ENTRIES[name]
        secure = "no" if kind.research else "yes"
        table.add_row(*map(Text, (name, entry.guarantee, entry.rho, secure, entry.when)))
    console = Console(highlight=False)
    console.print(table)
    console.print()
    console.print(Text(_NOTES))
