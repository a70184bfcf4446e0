"""The interface of all mechanisms: parameters that are checked at once, a guarantee, and a draw from levels.

A mechanism knows no engine and no item. It is prepared once for given levels, which computes the weights. Then
it can draw any number of times. Each draw is one more release, and costs the guarantee again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from shortlist.errors import DataError, ParameterError
from shortlist.exact.bits import Bits
from shortlist.near_names import describe_unknown
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_probability, read_whole
from shortlist.profile import Levels, ManyPicks, Picks

UNORDERED_BOUND = (
    "sorted by their true counts, the listed items have at most {bound} fewer, place by place, than the true top k"
)
"""The bound of an ordered list, restated for its set of items.

Each of the first j items of the list has at most `bound` votes fewer than the true item at place j. So at least j of
the listed items have this many votes. The j-th of them after sorting has this many, too.
"""


class Prepared(Protocol):
    """A mechanism that has seen the levels. Implementations inherit from it."""

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose k items n times, independently. The law of each draw is that of `draw`, and so is its cost in privacy.

        Most mechanisms draw all at once, which is faster. By default, one draw follows the other.
        """
        return ManyPicks.join([self.draw(bits) for _ in range(n)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism(ABC):
    """A way to choose k items privately. Subclasses define how, and what they promise.

    Parameters are given as users write them (`epsilon="0.2"`, `neighbours="replace"`). `__post_init__` replaces them
    by exact values. A dataclass field has one type only. So the constructor with the users' types is declared under
    TYPE_CHECKING. A mechanism without further parameters inherits it, and is no dataclass of its own. A mechanism with
    further parameters is one, and declares its own constructor.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """What it does, in one line."""
    when: ClassVar[str]
    """Completes the sentence "Take it when …"."""
    guarantee_in_words: ClassVar[str] = "ε"
    rho_in_words: ClassVar[str]
    bound_in_words: ClassVar[str] = "each listed item has at most {bound} fewer than the true item at that place"
    """What `error_bound` bounds. `{bound}` stands for a number of votes, such as "1 vote"."""
    needs_domain: ClassVar[bool] = True
    """Whether it needs a public list of all items. A mechanism that needs none may choose fewer than k items."""

    k: int
    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    if TYPE_CHECKING:

        def __init__(self, *, k: int, epsilon: Real, neighbours: str = ...) -> None: ...

    else:

        def __new__(cls, **given: object) -> Mechanism:
            """Refuse unknown and missing parameters. A copy is made without any, and filled later."""
            if given:
                check_names(cls, given)
            return object.__new__(cls)

    def __post_init__(self) -> None:
        self._read(k=read_whole(self.k, name="k"), epsilon=read_epsilon(self.epsilon))
        self._read(neighbours=Neighbours.read(self.neighbours))

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one draw promises."""

    def error_bound(self, d: int, confidence: Real = Fraction(19, 20)) -> int | None:
        """Bound the error of a list from d items: `bound_in_words` is true with a probability of `confidence` or more.

        The bound depends on public numbers only, so it may be published with the list. It is None if no bound is
        proven.
        """
        failure = 1 - read_probability(confidence, name="confidence")
        return None if self.k > d else self._find_error_bound(d, failure)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        """Find a bound that is exceeded with a probability of at most `failure`, or None if no bound is proven."""
        return None

    def prepare(self, levels: Levels) -> Prepared:
        """Read the levels, and compute all that draws have in common."""
        self.check_size(levels.d)
        return self._prepare(levels)

    def check_size(self, d: int) -> None:
        """Refuse a domain with fewer than k items."""
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
        """ε/2Δ: the factor of the loss in the exponent, if one person changes the loss by at most Δ."""
        return self.epsilon / (2 * self.neighbours.sensitivity)

    @property
    def round_rate(self) -> Fraction | None:
        """The rate at which the weight of an item falls with its count, at one place of the list.

        It is None if the whole list is weighed at once.
        """
        return None

    def resolve(self, chosen: str | None) -> Mechanism:
        """Return the mechanism that made a draw: the one that was chosen, or this one if it does not choose."""
        return self

    @property
    def unordered(self) -> bool:
        """Whether the picks have no order. Items are then listed in the order of the domain."""
        return False

    @property
    def parameters(self) -> dict[str, object]:
        """The public parameters by name, without those that are None."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def _read(self, **values: object) -> None:
        """Replace parameters by the values that were read from them, while the object is built."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


_EXAMPLES = {"k": "10", "epsilon": "1", "delta": "1e-6", "votes_per_person": "5"}
_HINTS = {
    "delta": "{title} needs no {delta}: its guarantee is pure",
    "ordered": "{mechanism='auto'} and {mechanism='subset'} can leave out the order",
    "beta": "{beta} is for {mechanism='fastjoint'}",
    "k_bar": "{k_bar} is for {mechanism='limited-domain'}",
    "noise": "{noise} is for {mechanism='threshold'}",
}


def check_names(
    kind: type[Mechanism], given: Collection[str], *, further: Collection[str] = (), elsewhere: Collection[str] = ()
) -> None:
    """Refuse names that no parameter of a mechanism has, and parameters that are missing.

    An unknown name may be a misspelt parameter of the function that was called (`further`), or a parameter of other
    mechanisms (`elsewhere`).
    """
    known = [field.name for field in fields(kind)]
    shown = [each for each in known if each != "at_least"]  # a range of sizes can be given as k
    for name in given:
        if name not in known:
            there = name in elsewhere
            raise describe_unknown(name, kind.name, shown, further=further, elsewhere=there, hint=_HINTS.get(name))
    for name in (field.name for field in fields(kind) if field.default is MISSING):
        if name not in given:
            raise ParameterError(f"{{kind}} needs {{{name}}}", hint=f"try {{{name}={_EXAMPLES[name]}}}", kind=kind.name)


def read_sizes(k: object, at_least: object) -> tuple[object, object]:
    """Read a largest and a smallest number of items. Without a range there is no smallest.

    >>> read_sizes((5, 10), None), read_sizes((7, 7), None), read_sizes(10, None)
    ((10, 5), (7, None), (10, None))
    """
    given = k
    if isinstance(k, Sequence):
        if isinstance(k, str | bytes | bytearray) or len(k) != 2 or at_least is not None:
            raise ParameterError(
                "{k} must be a number, or two numbers for the smallest and the largest size",
                "not {value}",
                hint="try {k=(5, 10)}" if isinstance(k, str) and "-" in k else "try {k=10}",
                value=quote(given),
            )
        at_least, k = k
    if at_least is None:
        return k, None
    smallest, largest = read_whole(at_least, name="at_least" if k is given else "k"), read_whole(k, name="k")
    if smallest > largest:
        raise ParameterError(
            "{k} must be a range with the smaller size first" if k is not given else "{at_least} must be at most {k}",
            "not {smallest} and {largest}",
            hint="try {k=(5, 10)}" if k is not given else None,
            smallest=quote(smallest),
            largest=quote(largest),
        )
    return largest, None if smallest == largest else smallest
