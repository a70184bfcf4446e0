"""How a benchmark states an aim, and whether it is reached.

`report.py` collects the aims that are missed, so each is one line of this form.
"""

from __future__ import annotations

MISSED = "missed"


def state_aim(what: str, measured: float, limit: float, unit: str = "×", *, least: bool = False) -> str:
    """State what was measured beside its limit: the largest number that is wanted, or the `least`.

    >>> state_aim("`joint` beside `max()`", 4.31, 4)
    '- `joint` beside `max()`: 4.31 × (aim 4: missed)'
    """
    shown = f"{measured:.3g}"
    reached = float(shown) >= limit if least else float(shown) <= limit
    return f"- {what}: {' '.join([shown, *unit.split()])} (aim {limit:g}: {'reached' if reached else MISSED})"
