"""How a benchmark states an aim, and whether it is reached.

`report.py` collects the aims that are missed, so each is one line of this form.
"""

from __future__ import annotations

MISSED = "missed"


def state_aim(what: str, measured: float, limit: float, unit: str = "×") -> str:
    """State what was measured beside its limit.

    >>> state_aim("`joint` beside `max()`", 4.31, 4)
    '- `joint` beside `max()`: 4.31 × (aim 4: missed)'
    """
    verdict = "reached" if measured <= limit else MISSED
    return f"- {what}: {measured:.3g} {unit} (aim {limit:g}: {verdict})"
