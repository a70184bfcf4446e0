"""`shortlist mechanisms`: the names that --mechanism takes, what each promises, and when to take it."""

from __future__ import annotations

EXAMPLE = "shortlist mechanisms"

# Letters that every terminal can show.
_LETTERS = {"ε′": "r", "ε": "epsilon", "δ": "delta", "β": "beta", "ρ": "rho", "²": "^2", "·": "*", "–": "-"}
_NOTES = (
    "The guarantee is for the --neighbours that you choose. rho (zCDP) is a second guarantee, to add up many releases; "
    "r is what each of the k rounds of cdp-peel may spend. Secure means exact, without floating-point noise. The "
    "others are accepted only with --seed and --insecure."
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
    table.add_column("take it when", ratio=1)
    for name, kind in MECHANISMS.items():
        secure = "no" if kind.research else "yes"
        cells = (name, kind.guarantee_in_words, kind.rho_in_words, secure, kind.when)
        table.add_row(*(Text(_spell_out(cell)) for cell in cells))
    console = Console(highlight=False)
    console.print(table)
    console.print()
    console.print(Text(_NOTES))


def _spell_out(text: str) -> str:
    """Replace Greek letters and powers by ASCII."""
    for letter, spelling in _LETTERS.items():
        text = text.replace(letter, spelling)
    return text
