"""What a release may say about its own error: noisy counts, a bound on what the list misses, and an assessment.

They are part of what a mechanism releases, and its guarantee covers them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from shortlist.errors import ParameterError
from shortlist.privacy.numbers import read_fields, read_probability


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedCounts:
    """A noisy count for each released item, with an interval that holds the count before noise.

    Each interval from `low` to `high` holds that count with probability `confidence`. Votes beyond a limit on the votes
    of a person are not counted, so more people may have chosen the item. Without a public domain there
    are no intervals: how many counts they would have to hold is not public.

    `others` is a noisy count of the votes for all items that are not listed, if it was asked for. A person with two
    such votes counts twice in it. Its interval is from `others_low` to `others_high`.

    >>> ReleasedCounts(values=(310, 190), low=(300, 180), high=(320, 200), confidence="0.95").confidence
    Fraction(19, 20)
    """

    values: tuple[int, ...]
    low: tuple[int, ...] | None = None
    high: tuple[int, ...] | None = None
    confidence: Fraction | None = None
    others: int | None = None
    others_low: int | None = None
    others_high: int | None = None

    def __post_init__(self) -> None:
        others = (self.others, self.others_low, self.others_high)
        complete = self.confidence is not None and all(type(each) is int for each in others)
        if others != (None, None, None) and not complete:
            raise ParameterError("`others`, `others_low`, `others_high` and `confidence` must go together")
        object.__setattr__(self, "values", tuple(int(each) for each in self.values))
        if self.low is None or self.high is None or self.confidence is None:
            if (self.low, self.high, self.confidence) != (None, None, None):
                raise ParameterError("`low`, `high` and `confidence` must go together")
            return
        for name, ends in (("low", self.low), ("high", self.high)):
            object.__setattr__(self, name, tuple(int(each) for each in ends))
        object.__setattr__(self, "confidence", read_probability(self.confidence, name="confidence"))
        if not len(self.values) == len(self.low) == len(self.high):
            raise ParameterError("`values`, `low` and `high` must have the same length", "they differ")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyPeople:
    """A noisy number of people of a group: the number before noise lies from `low` to `high` with that confidence.

    People are counted after the limits on groups and votes of a person, so a group may have more of them.

    >>> print(NoisyPeople(value=812, low=790, high=834, confidence="0.95"))
    812 (790 to 834)
    """

    value: int
    low: int
    high: int
    confidence: Fraction

    def __post_init__(self) -> None:
        read_fields(self, {"confidence": read_probability})
        for name in ("value", "low", "high"):
            if type(getattr(self, name)) is not int:
                raise ParameterError(f"`{name}` must be a whole number")

    def __str__(self) -> str:
        return f"{self.value:,} ({self.low:,} to {self.high:,})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    """How much a list may be wrong: `statement` is true with a probability of at least `confidence`.

    The bound depends on public numbers and on the mechanism that ran. Where `auto` chose that mechanism, the guarantee
    covers the choice. `votes` is the number of votes that the statement is about.

    >>> print(ErrorBound(votes=860, confidence="0.95", statement="no item has 860 votes fewer than it should"))
    with probability 0.95, no item has 860 votes fewer than it should
    """

    votes: int
    confidence: Fraction
    statement: str

    def __post_init__(self) -> None:
        read_fields(self, {"confidence": read_probability})
        _check_number(self.votes, "votes")
        if not (isinstance(self.statement, str) and self.statement.isprintable()):
            raise ParameterError("`statement` must be a text on one line")

    def __str__(self) -> str:
        return f"with probability {float(self.confidence):g}, {self.statement}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """A bound on the error of a list that was computed, with noise, from the data that it was drawn from.

    The `bound` follows from `estimate`: the spread of the law of the list, in votes, with noise. The noise is at most
    `margin` with the probability of the bound. The spread is not the error of the list, which may be smaller or larger.

    >>> bound = ErrorBound(votes=40, confidence="0.95", statement="no place misses 40")
    >>> print(Assessment(estimate=3, margin=30, bound=bound))
    on these data, with probability 0.95, no place misses 40
    """

    estimate: int
    bound: ErrorBound
    margin: int | None = None

    def __post_init__(self) -> None:
        _check_number(self.estimate, "estimate")
        _check_number(0 if self.margin is None else self.margin, "margin")

    def __str__(self) -> str:
        return f"on these data, {self.bound}"


def _check_number(number: int, name: str) -> None:
    if type(number) is not int or number < 0:
        raise ParameterError(f"`{name}` must be a whole number from 0")
