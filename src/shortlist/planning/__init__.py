"""How good a list will be, before it is paid for: forecasts, advice, and a page.

A plan is computed from counts without any noise, so it is not private. It is for counts that are public, past or
invented.
"""

from shortlist.planning.advice import NOT_PRIVATE
from shortlist.planning.plan import Plan, plan

__all__ = ["NOT_PRIVATE", "Plan", "plan"]
