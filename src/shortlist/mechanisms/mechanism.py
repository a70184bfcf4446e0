"""What every mechanism is: parameters checked at once, a guarantee, and picks from a profile.

A mechanism knows no engine and no item. It is prepared once for given levels, which pays for the weights, and can
then be drawn from any number of times; every draw is a release of its own and costs the guarantee again.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar, Protocol

from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import Bits
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, quote, read_positive, read_probability
from shortlist.profile import Levels, Picks

UNORDERED_BOUND = "for every j, at least j listed items have at most {bound} votes fewer than the true item at place j"
"""What the bound for an ordered list says after its order is left out: the first j items of the list are such items."""

_LARGEST_EPSILON = 10**6


class Prepared(Protocol):
    """A mechanism that has seen the levels."""

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism(ABC):
    """A way to choose k items privately; subclasses say how, and what they promise.

    Parameters are given as users write them (`epsilon="0.2"`, `neighbours="replace"`). `__post_init__` replaces them
    by exact values. A dataclass knows one type for both, so each subclass declares the constructor that its users see
    under TYPE_CHECKING.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it does, in one line."""
    when: ClassVar[str]
    """Completes the sentence "Take it when …"."""
    guarantee_in_words: ClassVar[str] = "ε"
    rho_in_words: ClassVar[str]
    bound_in_words: ClassVar[str] = "each listed item has at most {bound} votes fewer than the true item at that place"
    """What `error_bound` bounds."""
    colour: ClassVar[str]
    """The colour of its line in figures; those of the experiment are the palette of Okabe and Ito, and grey."""
    marker: ClassVar[str] = "."
    """The marker of its line in figures; those of the paper's four methods are the paper's."""
    in_experiment: ClassVar[bool] = False
    """Whether the experiment of the paper compares it with the published algorithms."""
    research: ClassVar[bool] = False
    """Whether the mechanism works in floating point, and so may not make a secure release."""
    needs_domain: ClassVar[bool] = True
    """Whether it needs a public list of all items. A mechanism that needs none may choose fewer than k items."""

    k: int
    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        given = self.epsilon
        self._read(k=read_size(self.k, name="k"), epsilon=read_positive(given, name="epsilon"))
        self._read(neighbours=Neighbours.read(self.neighbours))
        if self.epsilon > _LARGEST_EPSILON:
            raise ParameterError(
                "{epsilon} must be at most {largest}",
                "not {value}",
                hint="a larger one promises nothing",
                largest=_LARGEST_EPSILON,
                value=quote(given),
            )

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one draw promises."""

    def error_bound(self, d: int, confidence: Real = Fraction(19, 20)) -> int | None:
        """Bound the error of a list from d items: `bound_in_words` is true with a probability of `confidence` or more.

        The bound depends on public numbers only, so that it may be published with the list. It is None where nothing
        is proven.
        """
        failure = 1 - read_probability(confidence, name="confidence")
        return None if self.k > d else self._error_bound(d, failure)

    def _error_bound(self, d: int, failure: Fraction) -> int | None:
        """Find a bound that is exceeded with a probability of `failure` at most; nothing is proven by default."""
        return None

    def prepare(self, levels: Levels) -> Prepared:
        """See the levels, and be ready to draw."""
        self.check_size(levels.d)
        return self._prepare(levels)

    def check_size(self, d: int) -> None:
        """Refuse a domain with fewer items than are to be chosen."""
        if self.k > d:
            raise DataError(
                "{k} must be at most the number of items",
                "k is {value}, and there are {d}",
                hint="ask for fewer items, or pass the whole domain",
                value=quote(self.k),
                d=d,
            )

    @abstractmethod
    def _prepare(self, levels: Levels) -> Prepared: ...

    @property
    def rate(self) -> Fraction:
        """ε/2Δ: how fast an exponential mechanism gives up on a score that one person moves by Δ."""
        return self.epsilon / (2 * self.neighbours.sensitivity)

    def resolve(self, chosen: str | None) -> Mechanism:
        """The mechanism that made a draw with this choice: itself, where there is nothing to choose."""
        return self

    @property
    def unordered(self) -> bool:
        """Whether the order of the picks says nothing; items are then to be listed in the order of the domain."""
        return False

    @property
    def parameters(self) -> dict[str, object]:
        """The public parameters, by the names under which they were given; those that are None are left out."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def _read(self, **values: object) -> None:
        """Replace parameters as given by parameters as meant, while the object is being built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


def read_size(value: object, *, name: str) -> int:
    """Read a number of items: a whole number from 1."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"{{{name}}} must be a whole number", "not {value}", value=quote(value)) from None
    if number < 1:
        raise ParameterError(f"{{{name}}} must be at least 1", "not {value}", value=quote(number))
    return number
