"""The interface of all mechanisms: parameters that are checked at once, a guarantee, and a draw from levels.

A mechanism knows no engine and no item. It is prepared once for given levels, which computes the weights. Then
it can draw any number of times. Each draw is one more release, and costs the guarantee again.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

import numpy as np
from flint import arb, fmpq

from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.exact.balls import ball, use_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms import stated
from shortlist.near_names import describe_unknown
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import (
    LARGEST_EPSILON,
    Real,
    quote,
    read_epsilon,
    read_fields,
    read_probability,
    read_rational,
    read_whole,
)
from shortlist.privacy.zcdp import find_largest_epsilon
from shortlist.profile import EVERY_LEVEL, Levels, Picks, Profile

UNORDERED_BOUND = (
    "sorted by their true counts, the listed items have at most {bound} fewer, place by place, than the true top k"
)
"""The bound of an ordered list, restated for its set of items.

Each of the first j items of the list has at most `bound` votes fewer than the true item at place j. So at least j of
the listed items have this many votes. The j-th of them after sorting has this many, too.
"""


class Prepared:
    """A mechanism that has seen the levels: the object that draws.

    A law of rounds defines `draw`. A law that is drawn in one step defines `draw_many`, and a draw is a row of one.
    """

    doubt: float = 0.0
    """A number that is added to the proven error of floats. Balls decide more often then, and the law is the same."""

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        return self.draw_many(1, bits)[0]

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose k items n times, independently. The law of each draw is that of `draw`, and so is its cost in privacy.

        By default, one draw follows the other.
        """
        return [self.draw(bits) for _ in range(n)]

    def compute_exact_chance(self) -> float | None:
        """Compute the probability of a list with the true count at each place; None if it has no closed form.

        Items with equal counts may change places.
        """
        return None


class Score(ABC):
    """The score of a mechanism on given levels: about how many votes its list misses at a place. Less is better.

    One person changes it by at most Δ. A score has logarithms of sums of exponentials, so it is irrational. It is
    enclosed in balls: first from floats with a proven error, then exactly. More effort makes the ball narrower.
    """

    top: IntArray
    """The k largest counts, h_(1) to h_(k)."""

    @abstractmethod
    def enclose_spreads(self, effort: int) -> list[arb]:
        """Enclose the spread z_j of each place j: without effort by floats, else as narrowly as the effort allows."""

    def enclose(self, effort: int) -> arb:
        """Enclose the mean over places j of min(z_j, h_(j)): no place can miss more votes than its count."""
        spreads = self.enclose_spreads(effort)
        return sum(map(arb.min, spreads, map(arb, self.top.tolist())), arb(0)) / len(spreads)

    def enclose_spread(self, effort: int) -> arb:
        """Enclose the largest z_j, which is not cut off at a count."""
        return reduce(arb.max, self.enclose_spreads(effort))


class CommonOptions(TypedDict, total=False):
    """What every mechanism takes beside k, with the types that users write."""

    epsilon: Real
    neighbours: str
    groups_per_person: int | None
    rho: Real | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism(ABC):
    """A way to choose k items privately. Subclasses define how, and what they promise.

    Parameters are given as users write them (`epsilon="0.2"`, `neighbours="replace"`). `__post_init__` replaces them
    by exact values. A dataclass field has one type only. So the constructor with the users' types is declared under
    TYPE_CHECKING. A mechanism without further parameters inherits it, and is no dataclass of its own. A mechanism with
    further parameters is one, and declares its own constructor. Class variables are not annotated again.
    """

    name: ClassVar[str]
    """How records, tables and commands call it."""
    summary: ClassVar[str] = "a mechanism without a summary"
    """What it does, in one line."""
    when: ClassVar[str] = "its author advises it"
    """Completes the sentence "Take it when …"."""
    guarantee_in_words: ClassVar[str] = "ε"
    rho_in_words: ClassVar[str] = "not described"
    bound_in_words: ClassVar[str] = "each listed item has at most {bound} fewer than the true item at that place"
    """What `error_bound` bounds. `{bound}` stands for a number of votes, such as "1 vote"."""
    needs_domain: ClassVar[bool] = True
    """Whether it needs a public list of all items. A mechanism that needs none may choose fewer than k items."""

    audited: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """Further parameters with which an audit checks it."""

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # it follows from rho where it is not given
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    groups_per_person: int | None = None
    """In a family of lists, one for each group: how many of them one person is in at most. None is a single list.

    Then the guarantee is that of all lists together. All else describes one list of the family (families.proof.md).
    """
    rho: Fraction | None = None
    """A budget in place of epsilon: epsilon is then the largest one, of nine digits, whose rho is at most this."""

    if TYPE_CHECKING:

        def __init__(self, *, k: int, **common: Unpack[CommonOptions]) -> None: ...

    else:

        def __new__(cls, **given: object) -> Mechanism:
            """Refuse unknown and missing parameters. A copy is made without any, and filled later."""
            if given:
                check_names(cls, given)
            return object.__new__(cls)

    def __post_init__(self) -> None:
        read_fields(self, READERS)
        given = self.parameters.get("epsilon")
        if self.rho is not None:
            found = self._find_epsilon(self.rho)
            if given not in (None, found):
                raise ParameterError(
                    "`epsilon` and `rho` must not both be given", hint="leave `epsilon` out: it follows from `rho`"
                )
            self._read(epsilon=found)
        elif given is None:
            raise ParameterError(f"{self.name} needs `epsilon`, or `rho` in its place", hint="try `epsilon=1`")

    def _find_epsilon(self, rho: Fraction) -> Fraction:
        """Find the epsilon for a budget, while the object is built: all that the guarantee depends on is read."""

        def state_rho(epsilon: Fraction) -> Fraction:
            self._read(epsilon=epsilon)
            stated = self.guarantee.rho
            if stated is None:
                raise ParameterError(
                    f"`rho` must go with a mechanism that has one, not {self.name}", hint="pass `epsilon=1`"
                )
            return stated

        found = find_largest_epsilon(state_rho, rho, most=LARGEST_EPSILON)
        if not found:
            raise ParameterError(
                "`delta` must be smaller for this `rho`",
                "its epsilon would be 0",
                hint="try `delta=1e-9`, or a larger `rho`: a `max_weight` or `sensitivity` of N divides it by N²",
            )
        return found

    @classmethod
    def build_example(cls, **parameters: Any) -> Mechanism:
        """Build the mechanism with examples for the parameters that it needs and that are not given."""
        needed = ["epsilon", *(field.name for field in fields(cls) if field.default is MISSING)]
        return cls(**{name: _EXAMPLES[name] for name in needed} | parameters)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one draw promises, or one draw of each list of a family."""

    def error_bound(self, d: int, confidence: Real = Fraction(19, 20)) -> int | None:
        """Bound the error of a list from d items: `bound_in_words` is true with a probability of `confidence` or more.

        The bound depends on public numbers only, so it may be published with the list. It is None if no bound is
        proven.
        """
        failure = 1 - read_probability(confidence, name="confidence")
        return None if self.k > d else self._find_error_bound(d, failure)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        """Find a bound that is exceeded with a probability of at most `failure`, or None if no bound is proven."""
        return None if self.round_rate is None else bound_loss(self.k * d, self.round_rate, failure)

    def prepare(self, levels: Levels) -> Prepared:
        """Read the levels, and compute all that draws have in common."""
        if not hasattr(levels, "above"):
            hint = "counts go to `shortlist.top_k(counts, mechanism=...)` or `shortlist.prepare(counts, mechanism=...)`"
            raise ParameterError("a mechanism prepares a profile", f"not {type(levels).__name__}", hint=hint)
        if self.k > levels.d:
            self.check_size(levels.d)
        prepared = self._prepare(levels)
        if not isinstance(prepared, Prepared):
            raise TypeError(f"{type(self).__name__}._prepare must return a shortlist.mechanisms.Prepared")
        return prepared

    def check_size(self, d: int) -> None:
        """Refuse a domain with fewer than k items. Without a domain their number is data, and fewer may be chosen."""
        if self.needs_domain and self.k > d:
            raise DataError(
                "`k` must be at most the number of items",
                f"k is {quote(self.k)}, and there are {d}",
                hint="ask for fewer items, or pass the whole domain",
            )

    @abstractmethod
    def _prepare(self, levels: Levels) -> Prepared:
        """Read `levels.above(k, depth)`, compute what draws have in common, and return the object that draws."""

    def draw_family(self, groups: Sequence[Levels], bits: Bits) -> list[Picks]:
        """Choose k items of each group, given the levels of all groups. The guarantee covers all lists together."""
        return [self.prepare(levels).draw(bits) for levels in groups]

    @property
    def lists_per_person(self) -> int:
        """How many lists one person is in at most: c in a family, and 1 if there is one list."""
        return self.groups_per_person or 1

    @property
    def lists_changed(self) -> int:
        """How many lists change at most if one person does. In a family, other votes may leave c lists and enter c."""
        return 1 if self.groups_per_person is None else self.groups_per_person * self.neighbours.sensitivity

    @property
    def rounds(self) -> int:
        """In how many rounds one person is, where each list takes k: c·k."""
        return self.lists_per_person * self.k

    @property
    def list_epsilon(self) -> Fraction:
        """ε/c: what one list may lose, where the losses of c lists add up."""
        return self.epsilon / self.lists_per_person

    @property
    def rate(self) -> Fraction:
        """ε/2Δc: the factor of the loss in the exponent, if one person changes the loss by at most Δ."""
        return self.epsilon / (2 * self.neighbours.sensitivity * self.lists_per_person)

    @property
    def round_rate(self) -> Fraction | None:
        """The rate at which the weight of an item falls with its count, at one place of the list.

        It is None if the whole list is weighed at once. Otherwise error bound, score and tail are by default those of
        rounds that take an item n votes below the best one left with a probability of at most e^(−rate · n).
        """
        return None

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> Iterator[tuple[stated.Output, arb]]:
        """State the law by brute force: each output on a histogram with its probability, at the working precision.

        Tests and audits compare draws with it. It shares nothing with the code that draws (see `stated.py`), and its
        rates are formulas of epsilon. Noisy counts are enumerated up to `reach` beyond the counts of the histogram.
        """
        raise ParameterError("`mechanism` must be one that states its law", f"{self.name} does not")

    def state_family(
        self, histograms: Sequence[stated.Histogram], *, reach: int = 6
    ) -> Iterator[tuple[tuple[stated.Output, ...], arb]]:
        """State the law of a family by brute force: the outputs of all groups, which are independent."""
        for lists in itertools.product(*(list(self.state_law(each, reach=reach)) for each in histograms)):
            yield tuple(output for output, _ in lists), math.prod((chance for _, chance in lists), start=arb(1))

    def make_score(self, levels: Levels, rate: Fraction) -> Score | None:
        """Make the score of the mechanism at a rate: that of rounds where it has a `round_rate`; None if it has none.

        `auto` compares scores at the rate of the mechanism. An assessment publishes the spread at half of a smaller
        rate.
        """
        from shortlist.mechanisms.peel import PeelLevels

        return None if self.round_rate is None else PeelLevels(levels, k=self.k, rate=rate)

    def find_tail(self) -> tuple[Fraction, int] | None:
        """Find a and c: an error of t or more has a probability of at most c · e^(a (s − t)/2), with s the spread.

        The spread is that of the score at the rate a/2. None stands for no proof, so no list can be assessed.
        """
        return None if self.round_rate is None else (self.round_rate, self.k)

    def find_need(self, profile: Profile) -> int | None:
        """Find how many votes an item needs to be about as likely in the list as not; None if votes do not decide it.

        With a domain it is the public bound on the error: an item with fewer votes may give way to one without any.
        """
        return self.error_bound(profile.d)

    @property
    def candidates(self) -> Mapping[str, Mechanism]:
        """The mechanisms that may make the list, by name: this one, unless it chooses among others."""
        return {self.name: self}

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


class SimpleMechanism(Mechanism):
    """A mechanism that is written as one function of all counts: the shortest way to try an idea."""

    __slots__ = ()

    @abstractmethod
    def choose(self, counts: IntArray, bits: Bits) -> Sequence[int]:
        """Choose k different positions, best first, given the counts of all items in falling order."""

    def _prepare(self, levels: Levels) -> Prepared:
        return _Choice(self, levels.above(self.k, EVERY_LEVEL))


class _Choice(Prepared):
    def __init__(self, mechanism: SimpleMechanism, profile: Profile) -> None:
        self._mechanism, self._profile = mechanism, profile
        self._counts = np.repeat(profile.values, profile.sizes)

    def draw(self, bits: Bits) -> Picks:
        return self._profile.picks(np.array(self._mechanism.choose(self._counts, bits)))


READERS: dict[str, Callable[..., object]] = {
    **dict.fromkeys(("k", "k_bar", "votes_per_person", "groups_per_person", "groups"), read_whole),
    "epsilon": read_epsilon,
    "beta": read_rational,
    "delta": read_probability,
    "rho": read_epsilon,
    "neighbours": Neighbours.read,
}
"""How each parameter is read, in all mechanisms that have it."""
_EXAMPLES: dict[str, Any] = {"k": 10, "epsilon": 1, "delta": "1e-6", "votes_per_person": 5}


def check_names(kind: type[Mechanism], given: Collection[str], *, further: Collection[str] = ()) -> None:
    """Refuse names that no parameter of a mechanism has, and parameters that are missing.

    An unknown name may be a misspelt parameter of the function that was called (`further`), or a parameter of other
    mechanisms.
    """
    known = [field.name for field in fields(kind)]
    for name in given:
        if name not in known:
            from shortlist.mechanisms import MECHANISMS  # imports all of them, so it is for errors only

            others = [other for other, each in MECHANISMS.items() if any(field.name == name for field in fields(each))]
            hint = f"`{name}` is for " + " or ".join(f"`mechanism={other!r}`" for other in others)
            if name == "delta":
                hint = f"{kind.name} needs no `delta`: its guarantee is pure"
            # A range of sizes can be given as k, and a single list has no groups.
            shown = [each for each in known if each not in ("at_least", "groups_per_person")]
            raise describe_unknown(
                name, kind.name, shown, further=further, elsewhere=bool(others), hint=hint if others else None
            )
    for name in (field.name for field in fields(kind) if field.default is MISSING):
        if name not in given:
            raise ParameterError(f"{kind.name} needs `{name}`", hint=f"try `{name}={_EXAMPLES[name]}`")


def ceil_log(number: Fraction | Callable[[], arb], rate: Fraction) -> int:
    """Compute ⌈ln(number) / rate⌉ exactly, for a rational number of at least 1. It may be given by what encloses it.

    The logarithm of a rational other than 1 is irrational, so rising precision decides the integer.

    >>> ceil_log(Fraction(20), Fraction(1, 2))
    6
    """
    if number == 1:
        return 0
    enclose, precision = number if callable(number) else partial(ball, number), 64
    while True:
        with use_precision(precision):
            whole = (enclose().log() * fmpq(rate.denominator, rate.numerator)).ceil().unique_fmpz()
        if whole is not None:
            return int(whole)
        precision *= 2


def bound_loss(candidates: int | Callable[[], arb], rate: Fraction, failure: Fraction) -> int:
    """Find the smallest B with candidates · e^(−rate · (B + 1)) ≤ failure.

    The loss is a whole number. It is t or more with a probability of at most candidates · e^(−rate · t). So it is above
    B with a probability of at most `failure`. Many candidates may be given by what encloses their number.

    >>> bound_loss(1000, Fraction(1, 2), Fraction(1, 20))
    19
    """
    if callable(candidates):
        return max(0, ceil_log(lambda: candidates() / ball(failure), rate) - 1)
    return max(0, ceil_log(candidates / failure, rate) - 1)


def read_sizes(k: object, at_least: object) -> tuple[object, object]:
    """Read a largest and a smallest number of items. Without a range there is no smallest.

    >>> read_sizes((5, 10), None), read_sizes((7, 7), None), read_sizes(10, None)
    ((10, 5), (7, None), (10, None))
    """
    given = k
    if isinstance(k, Sequence):
        if isinstance(k, str | bytes | bytearray) or len(k) != 2 or at_least is not None:
            raise ParameterError(
                "`k` must be a number, or two numbers for the smallest and the largest size",
                f"not {quote(given)}",
                hint="try `k=(5, 10)`" if isinstance(k, range) or (isinstance(k, str) and "-" in k) else "try `k=10`",
            )
        at_least, k = k
    if at_least is None:
        return k, None
    smallest, largest = read_whole(at_least, name="at_least" if k is given else "k"), read_whole(k, name="k")
    if smallest > largest:
        raise ParameterError(
            "`k` must be a range with the smaller size first" if k is not given else "`at_least` must be at most `k`",
            f"not {quote(smallest)} and {quote(largest)}",
            hint="try `k=(5, 10)`" if k is not given else None,
        )
    return largest, None if smallest == largest else smallest
