"""Advice in words: which mechanism and why, when an ordered list collapses, and what else would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.planning.collapse import Collapse
from shortlist.planning.forecast import Forecast
from shortlist.privacy.numbers import write_exact

_GOOD = 0.95
"""From this recall on, nothing needs to help."""
_BETTER = 0.03
"""By how much more of the list a change must get right to be proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is advised, in sentences."""

    choice: str
    """Which mechanism, and how good its list will be."""
    rule: str
    """The rule of collapse, with the user's own numbers."""
    changes: tuple[str, ...]
    """What would help, the best first."""

    def __str__(self) -> str:
        helps = f" What would help: {'; '.join(self.changes)}." if self.changes else ""
        return f"{self.choice} {self.rule}{helps}"


def advise(forecasts: Sequence[Forecast], others: Sequence[Forecast], collapse: Collapse) -> Advice:
    """Advise on forecasts in the order of the user's wishes, and on those that other constraints would allow."""
    best = forecasts[0]
    return Advice(choice=_describe_choice(best), rule=collapse.explain(), changes=_find_changes(best, others, collapse))


def needs_help(best: Forecast) -> bool:
    """Whether so much of the best list is wrong that other constraints are worth a thought."""
    return best.recall.mean < _GOOD


def _describe_choice(best: Forecast) -> str:
    k = best.mechanism.k
    order = " without their order" if best.mechanism.unordered else ""
    often = "all" if best.recall.low == 1 else f"{write_share(best.recall.low)} or more"
    text = (
        f"Take {best.label}{order}: on average {write_share(best.recall.mean)} of its {k:,} items are in the true top "
        f"{k:,} ({often} in 95 of 100 lists)."
    )
    if best.exact >= 0.005:
        return f"{text} The exact list comes with probability {write_share(best.exact)}."
    return f"{text} The exact list is unlikely."


def _find_changes(best: Forecast, others: Sequence[Forecast], collapse: Collapse) -> tuple[str, ...]:
    if not needs_help(best):
        return ()
    better = [each for each in others if each.recall.mean > best.recall.mean + _BETTER]
    changes = [
        f"{each.label}, {each.mechanism.name} gets {write_share(each.recall.mean)} right"
        for each in sorted(better, key=lambda each: -each.recall.mean)
    ]
    if collapse.happens and collapse.enough_epsilon is not None:
        changes.append(f"from ε = {write_exact(collapse.enough_epsilon)} on, joint has enough votes")
    if collapse.happens and collapse.enough_k is not None:
        changes.append(f"up to k = {collapse.enough_k:,}, joint has enough votes")
    return tuple(changes)


def write_share(share: float) -> str:
    """Write a share as a percentage that never rounds up to all or down to none.

    >>> write_share(0.9996), write_share(1), write_share(0.367), write_share(0.0001)
    ('99.9 %', '100 %', '37 %', '< 0.1 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001:
        return "< 0.1 %"
    digits = 1 if share < 0.0995 or share > 0.985 else 0
    return f"{min(share, 0.999):.{digits}%}".replace("%", " %")
