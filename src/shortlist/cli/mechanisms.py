"""`shortlist mechanisms`: the names that --mechanism takes, what each promises, and when to take it."""

from __future__ import annotations

import shutil
import textwrap

EXAMPLE = "shortlist mechanisms"

# Letters that every terminal can show.
_LETTERS = {"ε′": "r", "ε": "epsilon", "δ": "delta", "β": "beta", "ρ": "rho", "²": "^2", "·": "*", "–": "-"}
_NOTES = (
    "The guarantee is for the --neighbours that you choose. rho (zCDP) is a second guarantee, to add up many releases; "
    "r is what each of the k rounds of cdp-peel may spend. All mechanisms are exact, without floating-point noise."
)
_WIDEST = 100


def mechanisms() -> None:
    """List the mechanisms: what each promises, and when to take it."""
    from shortlist.mechanisms import MECHANISMS

    width = min(shutil.get_terminal_size().columns, _WIDEST)
    for name, kind in MECHANISMS.items():
        print(name)
        _print_lines(kind.summary, width)
        _print_lines(f"take it when {kind.when}", width)
        rho = kind.rho_in_words if kind.rho_in_words.startswith("ρ") else f"rho {kind.rho_in_words}"
        _print_lines(f"guarantee {kind.guarantee_in_words}; {rho}", width)
    print()
    _print_lines(_NOTES, width, indent="")


def _print_lines(text: str, width: int, indent: str = "    ") -> None:
    for letter, spelling in _LETTERS.items():
        text = text.replace(letter, spelling)
    print(textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False))
