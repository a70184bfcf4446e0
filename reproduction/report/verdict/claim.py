"""What a claim is, whose programs it is judged on, and how many comparisons become one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from reproduction.experiment.contenders import PAPER_LAWS
from reproduction.experiment.results import Results
from reproduction.report.verdict.statistics import ALPHA, reject


class Holding(StrEnum):
    """What was found about a claim."""

    YES = "holds"
    PART = "holds in part"
    NO = "does not hold"
    OPEN = "not decided"
    """It was measured and not contradicted, but the trials are too few or too equal to confirm it."""
    UNTESTED = "not tested here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Whose programs a claim is judged on: the program of each law, for its times and for its errors."""

    title: str
    times: dict[str, str]
    errors: dict[str, str]

    def present(self, results: Results) -> bool:
        """Whether the programs were run."""
        return bool({*self.times.values()} & {key[1] for key in (*results.times, *results.errors)})


_PUBLISHED = {law: f"published-{law}" for law in (*PAPER_LAWS, "laplace", "gamma")}
RELEASED = Side(
    title="programs as released",
    times={law: f"released-{law}" for law in PAPER_LAWS},
    errors={**_PUBLISHED, "fastjoint": "released-fastjoint"},
)
ANEW = Side(title="written anew here", times=_PUBLISHED, errors=_PUBLISHED)
SIDES = (RELEASED, ANEW)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was found about a claim on one side, and the numbers."""

    holding: Holding
    measured: str

    @classmethod
    def untested(cls, why: str) -> Judgement:
        """Return the judgement on a claim that these results cannot test."""
        return cls(holding=Holding.UNTESTED, measured=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the paper in its own words, the rule by which it is judged, and the judge."""

    place: str
    text: str
    rule: str
    judge: Callable[[Results, Side], Judgement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A claim with its judgement on each side, by the title of the side."""

    claim: Claim
    judgements: dict[str, Judgement]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One comparison of a claim: how likely what was seen is if the claim fails here, and if it is true here."""

    where: str
    if_false: float
    """Small where the claim is confirmed."""
    if_true: float
    """Small where the claim is contradicted."""
    smallest: float = 0.0
    """The smallest chance that so many trials can give. It is large where the trials are too few to say anything."""


def judge_comparisons(comparisons: Sequence[Comparison], measured: str, *, absence: bool = False) -> Judgement:
    """Turn comparisons into a verdict. The rule was fixed before the full run, and is in docs/reproduction.

    A claim that is true at every comparison gets the verdict "holds in part" or "does not hold" with a chance of at
    most 1 in 1,000. With `absence`, the claim is that there is no difference. No test can confirm that, so to see none
    is enough, where the trials are enough to see one.
    """
    if not comparisons:
        return Judgement.untested("nothing that bears on it was measured")
    total = len(comparisons)
    against = reject([each.if_true for each in comparisons])
    contradicted = sum(against)
    if absence:
        confirmed = sum(each.smallest <= ALPHA / total for each in comparisons) - contradicted
    else:
        confirmed = sum(reject([each.if_false for each in comparisons]))
    if contradicted:
        holding = Holding.PART if contradicted <= confirmed else Holding.NO
    else:
        holding = Holding.YES if 2 * confirmed >= total else Holding.OPEN
    where = [each.where for each, contradicts in zip(comparisons, against, strict=True) if contradicts]
    all_of_them = "1 comparison" if total == 1 else f"{total} comparisons"
    measured += f"; contradicted in {contradicted or 'none'} of {all_of_them}"
    measured += f" ({summarise(where)})" if where else ""
    return Judgement(holding=holding, measured=measured if absence else f"{measured}, confirmed in {confirmed}")


def summarise(places: Sequence[str], most: int = 4) -> str:
    """Name some places, and how many more there are.

    >>> summarise(["games, k = 10", "games, k = 20", "books, k = 10"], most=2)
    'games, k = 10; games, k = 20; and 1 more'
    """
    more = f"; and {len(places) - most} more" if len(places) > most else ""
    return "; ".join(places[:most]) + more


def count_verdicts(findings: Sequence[Finding], side: Side) -> dict[Holding, int]:
    """How many claims got each verdict on one side."""
    counts = Counter(each.judgements[side.title].holding for each in findings if side.title in each.judgements)
    return {holding: counts[holding] for holding in Holding}
