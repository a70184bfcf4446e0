"""Advice in words: which mechanism and why, when an ordered list collapses, and what else would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shortlist.mechanisms import DEFAULT_MECHANISM
from shortlist.planning.collapse import Collapse
from shortlist.planning.forecast import Forecast
from shortlist.planning.visibility import Visibility

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
    """The rule of collapse, or of the votes that an item needs to be released, with the user's own numbers."""
    changes: tuple[str, ...]
    """What would help, the best first."""

    def __str__(self) -> str:
        helps = f" What would help: {'; '.join(self.changes)}." if self.changes else ""
        return f"{self.choice} {self.rule}{helps}"


def advise(forecasts: Sequence[Forecast], others: Sequence[Forecast], rule: Collapse | Visibility) -> Advice:
    """Advise on forecasts in the order of the user's wishes, and on those that other constraints would allow."""
    best = forecasts[0]
    choice = " ".join([_describe_choice(best), *_compare(forecasts)])
    return Advice(choice=choice, rule=rule.explain(), changes=_find_changes(best, others, rule))


def needs_help(best: Forecast) -> bool:
    """Whether so much of the best list is wrong that other constraints are worth a thought."""
    return best.recall.mean < _GOOD


def _describe_choice(best: Forecast) -> str:
    k, order = best.mechanism.k, " without their order" if best.mechanism.unordered else ""
    top = f"the true top {k:,}"
    if best.recall.low == 1:
        text = f"Take {best.label}: in 95 of 100 lists or more, all {k:,} items are in {top}{order}."
    else:
        text = (
            f"Take {best.label}: on average {write_share(best.recall.mean)} of {top} are in its list{order}, and "
            f"{write_share(best.recall.low)} or more in 95 of 100 lists."
        )
    if best.length.mean < k - 0.5:
        text += f" It lists about {best.length.mean:,.0f} items."
    if best.exact == 1 and not best.exact_is_computed:
        return f"{text} All of {best.draws:,} drawn lists were exact."
    if best.exact >= 0.005:
        about = "" if best.exact_is_computed else "about "
        return f"{text} The exact list comes with probability {about}{write_share(best.exact)}."
    return f"{text} The exact list is unlikely."


def _compare(forecasts: Sequence[Forecast]) -> list[str]:
    """If some mechanism is clearly worse, state the recall of the default and of joint, or else of the worst one."""
    best, worst = forecasts[0], min(forecasts, key=lambda each: each.recall.mean)
    if worst.recall.mean > best.recall.mean - _BETTER:
        return []
    shown = [each for each in forecasts[1:] if each.label in (DEFAULT_MECHANISM, "joint")] or [worst]
    parts = [f"{each.label} gets {write_share(each.recall.mean)} right" for each in shown]
    return [f"For comparison, {' and '.join(parts)}."]


def _find_changes(best: Forecast, others: Sequence[Forecast], rule: Collapse | Visibility) -> tuple[str, ...]:
    if not needs_help(best):
        return ()
    better = [each for each in others if each.recall.mean > best.recall.mean + _BETTER]
    changes = [
        f"{each.label}, {each.mechanism.name} gets {write_share(each.recall.mean)} right"
        for each in sorted(better, key=lambda each: -each.recall.mean)
    ]
    return (*changes, *rule.suggest())


def write_share(share: float) -> str:
    """Write a share as a percentage that never rounds up to all or down to none.

    >>> write_share(0.9996), write_share(1), write_share(0.367), write_share(0.0001)
    ('> 99.9 %', '100 %', '37 %', '< 0.1 %')
    """
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001 or share > 0.999:
        return "< 0.1 %" if share < 0.5 else "> 99.9 %"
    digits = 1 if share < 0.0995 or share > 0.985 else 0
    return f"{share:.{digits}%}".replace("%", " %")
