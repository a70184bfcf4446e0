"""The page of a plan: one HTML file that needs nothing else, with sliders for epsilon and k."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from importlib.resources import files
from string import Template

from shortlist.planning.page.grid import compute_grid
from shortlist.planning.plan import Plan
from shortlist.planning.writing import INVENTED, NOT_PRIVATE
from shortlist.version import __version__

__all__ = ["write_page"]


def write_page(made: Plan, *, progress: Callable[[str], None] = lambda step: None) -> str:
    """Compute the plan for a grid of epsilon and k, and write the page. `progress` is called with each step."""
    data = compute_grid(made, progress)
    here = files("shortlist.planning.page")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        # Inside a script, "<" could end it: JSON has an escape for it.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
        source=escape(made.histogram.source),
        warning=escape(INVENTED if made.histogram.invented else NOT_PRIVATE),
        allowed=escape(made.constraints.describe()),
        version=escape(__version__),
    )
