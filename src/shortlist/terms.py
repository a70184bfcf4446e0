"""The terms of a release: what it is to hold and to promise, fixed before data is seen.

One value carries them from the reading of parameters to the record. What can be bought on top of a list is part of
them: noisy counts of its items, and a bound on its error that uses these data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.mechanisms import MECHANISMS, Mechanism, build_mechanism, takes_cap
from shortlist.privacy import Guarantee, compose
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_rational, read_whole
from shortlist.profile import Levels, Picks

if TYPE_CHECKING:  # most lists are made without these, so they are imported where they are used
    from shortlist.mechanisms.accuracy import Assessment, ReleasedCounts
    from shortlist.mechanisms.assess import Assess
    from shortlist.mechanisms.noisy_counts import ListCounts

EXTRAS = frozenset({"assess", "counts_epsilon", "counts_rho", "counts_delta"})
"""The parameters that buy something on top of a list."""
_CONFIDENCE = Fraction(19, 20)
_LONGEST_TEXT = 200
_LESS = Fraction(4, 5)
"""`threshold` is taken if the votes that an item needs are less than this share of what `limited-domain` asks for."""
_LIST = "pass `domain='catalogue.csv'`, a public list of all items that may be released, voted for or not"
_VALUES = (str, int, float, type(None), Fraction, Mechanism)
"""Types of which values that are equal, and of one type, are read alike. A Decimal may have no hash."""


Sizes = int | tuple[int, int]
"""How many items: a number, or the smallest and the largest size of a list without order."""


class ListOptions(TypedDict, total=False):
    """What a list may be asked for beside k and epsilon."""

    delta: Real | None
    ordered: bool | None
    neighbours: str | None
    votes_per_person: int | None
    sensitivity: int
    beta: Real | None
    k_bar: int | None
    noise: str | None


class ReleaseOptions(ListOptions, total=False):
    """What a whole release may be asked for."""

    assess: Real | None
    counts_epsilon: Real | None
    counts_rho: Real | None
    counts_delta: Real | None
    people: int | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A mechanism that is built, what is bought beside its list, and what is known about the people.

    One `unit` (a person) changes a count by at most `sensitivity`. The mechanism and the extras run with epsilons
    divided by it, and a release states the whole. `votes_per_person` is the largest number of votes of one person
    that count. With `persons_counted`, the library counts different persons, and enforces both numbers. Otherwise the
    caller vouches for them.

    Claim  The list, the counts and the assessment together have the sum of the epsilons, deltas and rhos.
    Proof  Each is a release of its own, and may depend on the earlier ones: adaptive composition.
    """

    mechanism: Mechanism
    counts: ListCounts | None = None
    assess: Assess | None = None
    sensitivity: int = 1
    votes_per_person: int | None = None
    persons_counted: bool = False
    people: int | None = None
    unit: str = "person"

    @classmethod
    def read(cls, mechanism: str | Mechanism, k: Any, epsilon: Real | None, **parameters: Any) -> Terms:
        """Read the terms as users write them, or remember them. The same are often read again and again."""
        plain = all(isinstance(each, _VALUES) for each in (mechanism, k, epsilon, *parameters.values()))
        read: Any = _remember if plain else cls._read
        terms: Terms = read(mechanism, k, epsilon, **parameters)
        return terms

    @classmethod
    def _read(
        cls,
        mechanism: str | Mechanism,
        k: Any,
        epsilon: Real | None,
        *,
        sensitivity: int = 1,
        votes_per_person: int | None = None,
        persons_counted: bool = False,
        people: int | None = None,
        unit: str = "person",
        without_domain: bool = False,
        **parameters: Any,
    ) -> Terms:
        times = read_whole(sensitivity, name="sensitivity")
        per_vote = None if epsilon is None else read_epsilon(epsilon) / times
        bought = {name: parameters.pop(name) for name in EXTRAS & parameters.keys()}
        parameters |= {"k": k, "epsilon": per_vote}
        if without_domain:
            _check_extras(sensitivity=times, assess=bought.get("assess"))
            built = _build_without_domain(mechanism, votes_per_person=votes_per_person, **parameters)
        else:
            if takes_cap(mechanism):
                parameters["votes_per_person"] = votes_per_person
            built = build_mechanism(mechanism, **parameters)
        # The cap that a mechanism relies on is the cap of the votes.
        cap = getattr(built, "votes_per_person", votes_per_person)
        if cap is not None:
            _check_cap(cap, times)
        return cls.build(
            built,
            bought,
            sensitivity=times,
            votes_per_person=cap,
            persons_counted=persons_counted,
            people=None if people is None else read_whole(people, name="people"),
            unit=unit,
        )

    @classmethod
    def build(cls, mechanism: Mechanism, bought: Mapping[str, Any], **terms: Any) -> Terms:
        """Add what is `bought` to a mechanism. Terms that promise nothing are refused, before anything is drawn."""
        plain = cls(mechanism=mechanism, **terms)
        given = {name: value for name, value in bought.items() if value is not None}
        built = replace(plain, assess=_read_assess(plain, given), counts=_read_counts(plain, given))
        built.state_guarantee()
        return built

    def state_guarantee(self) -> Guarantee:
        """State what a release promises, with all that it holds."""
        list_alone = self.mechanism.guarantee
        parts = [each.guarantee for each in (self.counts, self.assess) if each is not None]
        if sum(each.delta for each in (list_alone, *parts)) >= 1:
            raise ParameterError(
                "`delta` and `counts_delta` must sum to less than 1",
                "they do not",
                hint="`delta=1e-6` and `counts_delta=1e-6` are common",
            )
        together = compose([list_alone, *parts]) if parts else list_alone
        return together.scale(self.sensitivity, unit=self.unit)

    def list_parameters(self) -> dict[str, Any]:
        """List the public parameters by the names under which they were given. They are known before votes are read."""
        assess, counts, times = self.assess, self.counts, self.sensitivity
        further = {
            "sensitivity": times if times > 1 else None,
            "votes_per_person": self.votes_per_person,
            "assess": None if assess is None else assess.epsilon * times,
            "counts_epsilon": None if counts is None or counts.epsilon is None else counts.epsilon * times,
            "counts_rho": None if counts is None else counts.rho,
            "counts_delta": None if counts is None else counts.delta,
        }
        whole = {**self.mechanism.parameters, "epsilon": self.mechanism.guarantee.epsilon * times}
        return whole | {name: value for name, value in further.items() if value is not None}

    def draw_extras(self, picks: Picks, levels: Levels, bits: Bits) -> tuple[Picks, int | None]:
        """Draw noisy counts for picks, and the noisy spread of the mechanism that chose them."""
        if self.counts is not None:
            from shortlist.mechanisms.noisy_counts import clip_counts

            picks = replace(picks, counts=clip_counts(self.counts.add_noise(picks.levels.tolist(), bits)))
        if self.assess is None:
            return picks, None
        return picks, self.assess.draw(self.mechanism.resolve(picks.chosen), levels, bits)

    def state(
        self,
        *,
        d: int | None,
        noisy: IntArray | None = None,
        chosen: str | None = None,
        spread: int | None = None,
    ) -> dict[str, Any]:
        """State the fields of a release that follow from its terms, the draw and the noisy numbers.

        `noisy` are the noisy counts of the items, `chosen` is the mechanism that `auto` chose, and `spread` is the
        noisy spread.
        """
        from shortlist.mechanisms.accuracy import ErrorBound

        mechanism, parameters, ran = self.mechanism, self.list_parameters(), self.mechanism.resolve(chosen)
        if ran is not mechanism:
            spent, whole = ran.epsilon * self.sensitivity, mechanism.epsilon * self.sensitivity
            parameters |= {"chosen": ran.name, "choice_epsilon": whole - spent, "chosen_epsilon": spent}
        votes = None if d is None else ran.error_bound(d, _CONFIDENCE)
        bound = None
        if votes is not None:
            bound = ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=self.write_bound(votes, chosen))
        return {
            "parameters": parameters,
            "guarantee": self.state_guarantee(),
            "persons_counted": self.persons_counted,
            "ordered": not mechanism.unordered,
            "up_to": None if mechanism.needs_domain else mechanism.k,
            "counts": self._state_counts(ran, noisy, d),
            "error_bound": bound,
            "assessment": self._state_assessment(ran, spread, chosen),
        }

    def write_bound(self, votes: int, chosen: str | None) -> str:
        """Write in words what a bound of so many votes says about the list."""
        from shortlist.mechanisms.accuracy import write_votes
        from shortlist.mechanisms.mechanism import UNORDERED_BOUND

        ran = self.mechanism.resolve(chosen)
        words = UNORDERED_BOUND if self.mechanism.unordered and not ran.unordered else ran.bound_in_words
        return words.format(bound=write_votes(votes))

    def _state_counts(self, ran: Mechanism, noisy: IntArray | None, d: int | None) -> ReleasedCounts | None:
        """State noisy counts: those that were bought have an interval each, others have intervals that hold together.

        The counts of threshold have none: without a public domain, how many counts they would have to hold is not
        public.
        """
        from shortlist.mechanisms import NoisyCounts, Threshold
        from shortlist.mechanisms.accuracy import ReleasedCounts

        if noisy is None:
            return None
        if self.counts is not None:
            return self.counts.state_counts(noisy.tolist())
        if isinstance(ran, Threshold):
            return ReleasedCounts(values=tuple(noisy.tolist()))
        return ran.state_counts(noisy, d) if isinstance(ran, NoisyCounts) and d is not None else None

    def _state_assessment(self, ran: Mechanism, spread: int | None, chosen: str | None) -> Assessment | None:
        from shortlist.mechanisms.accuracy import Assessment, ErrorBound

        if self.assess is None or spread is None:
            return None
        votes = self.assess.bound(ran, spread, 1 - _CONFIDENCE)
        bound = ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=self.write_bound(votes, chosen))
        # Cutting off at 0 brings no estimate farther from a spread, which is 0 or more.
        return Assessment(estimate=max(0, spread), margin=self.assess.find_margin(1 - _CONFIDENCE), bound=bound)


_remember = lru_cache(maxsize=256, typed=True)(Terms._read)


def check_text(text: str | None, *, name: str) -> str | None:
    """Return a name or a note, or None if it is empty. Refuse several lines, and more than 200 characters."""
    if text is None or (isinstance(text, str) and not text):
        return None
    if not isinstance(text, str) or not text.isprintable() or len(text) > _LONGEST_TEXT:
        raise ParameterError(f"`{name}` must be one line of at most {_LONGEST_TEXT} characters")
    return text


def _read_assess(terms: Terms, bought: Mapping[str, Any]) -> Assess | None:
    if "assess" not in bought:
        return None
    from shortlist.mechanisms.assess import Assess, check_assessed

    check_assessed(terms.mechanism)
    epsilon = read_epsilon(bought["assess"], name="assess") / terms.sensitivity
    return Assess(epsilon=epsilon, neighbours=terms.mechanism.neighbours)


def _read_counts(terms: Terms, bought: Mapping[str, Any]) -> ListCounts | None:
    if not bought.keys() - {"assess"}:
        return None
    from shortlist.mechanisms import NoisyCounts, Threshold
    from shortlist.mechanisms.noisy_counts import ListCounts

    if isinstance(terms.mechanism, NoisyCounts | Threshold):
        raise ParameterError(
            "`counts_epsilon` must go with another `mechanism`",
            f"{terms.mechanism.name} releases its counts already",
            hint="leave `counts_epsilon` out",
        )
    epsilon, delta = bought.get("counts_epsilon"), bought.get("counts_delta")
    if delta is not None and terms.sensitivity > 1:
        raise ParameterError(
            "`counts_delta` must go with a `sensitivity` of 1", hint="pass `counts_epsilon=0.1`, which has no delta"
        )
    return ListCounts(
        k=terms.mechanism.k,
        epsilon=None if epsilon is None else read_epsilon(epsilon, name="counts_epsilon") / terms.sensitivity,
        rho=bought.get("counts_rho"),
        delta=delta,
        votes_per_person=terms.votes_per_person,
        neighbours=terms.mechanism.neighbours,
    )


def _check_cap(votes_per_person: object, sensitivity: int) -> None:
    """Refuse a cap below the sensitivity: who adds N to one count casts N votes."""
    if read_whole(votes_per_person, name="votes_per_person") < sensitivity:
        raise ParameterError(
            f"`votes_per_person` must be at least `sensitivity`, which is {sensitivity}",
            f"not {quote(votes_per_person)}",
            hint="a person who adds that much to one count casts as many votes",
        )


def _build_without_domain(mechanism: str | Mechanism, *, votes_per_person: int | None, **parameters: Any) -> Mechanism:
    """Build a mechanism that needs no domain. `auto` takes the one that asks for fewer votes, by public numbers alone.

    >>> common = {"k": 100, "epsilon": 1, "delta": "1e-6"}
    >>> [_build_without_domain("auto", votes_per_person=cap, **common).name for cap in (None, 20)]
    ['limited-domain', 'threshold']
    """
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else None
    if isinstance(mechanism, str):
        kind = MECHANISMS.get(mechanism)
    _check_parameters(kind, parameters)
    if kind is not None and kind.name == "auto":
        given = dict(mechanism.parameters) if isinstance(mechanism, Mechanism) else {}
        terms = {**parameters, "votes_per_person": votes_per_person}
        return _choose(given | {name: value for name, value in terms.items() if value is not None})
    if kind is not None and kind.needs_domain:
        names = ", ".join(each.name for each in MECHANISMS.values() if not each.needs_domain)
        raise ParameterError(
            f"`mechanism` must be one of {names} where there is no `domain`",
            f"not {kind.name}",
            hint=_LIST + ", or leave `mechanism` out and pass `delta=1e-6`",
        )
    if kind is not None and takes_cap(mechanism):
        parameters["votes_per_person"] = votes_per_person
    return build_mechanism(mechanism, **parameters)


def _check_extras(*, sensitivity: int, assess: object) -> None:
    """Refuse what is proven for a public list of items only."""
    if sensitivity > 1:
        raise ParameterError(
            "`sensitivity` must be 1 where there is no `domain`",
            f"not {sensitivity}",
            hint="`delta` is proven for 1 only: " + _LIST + "; or count each person once for an item",
        )
    if assess is not None:
        raise ParameterError("`assess` must go with `domain`", hint="leave `assess` out; or " + _LIST)


def _check_parameters(kind: type[Mechanism] | None, parameters: dict[str, Any]) -> None:
    """Refuse values that need a domain. The hint says what to do without one."""
    delta, k = parameters.get("delta"), parameters.get("k")
    if delta is not None and read_rational(delta, name="delta") == 0:
        raise ParameterError(
            "`delta` must be above 0 where there is no `domain`",
            f"not {quote(delta)}",
            hint="try `delta=1e-6`; or " + _LIST,
        )
    if kind is None or (kind.needs_domain and kind.name != "auto"):
        return
    if isinstance(k, tuple | list) and kind.name != "stable":
        raise ParameterError(
            "`k` must be one number where there is no `domain`",
            "not a range of sizes",
            hint="up to so many items are released anyway; `mechanism='stable'` chooses a size from a range",
        )
    if parameters.get("ordered") is not None and kind.name in ("limited-domain", "threshold"):
        raise ParameterError(
            f"{kind.name} has no `ordered`: the order of its list costs nothing",
            hint="leave `ordered` out; `mechanism='stable'` gives a set",
        )


def _choose(parameters: dict[str, Any]) -> Mechanism:
    """Choose by public numbers: how many votes an item needs to be released."""
    if parameters.get("delta") is None:
        raise ParameterError(
            "`delta` or `domain` must be given",
            "neither was. Without a public list of items, an item that only one person voted for must not "
            "show; δ is the probability that it does",
            hint=_LIST + "; or pass `delta=1e-6`",
        )
    from shortlist.mechanisms import LimitedDomain, Threshold

    # The order of a list costs nothing here.
    parameters.pop("ordered", None)
    own: dict[str, Any] = {name: parameters.pop(name) for name in ("k_bar", "noise") if name in parameters}
    limited = build_mechanism("limited-domain", **parameters, k_bar=own.get("k_bar"))
    assert isinstance(limited, LimitedDomain)
    if limited.votes_per_person is None:
        chosen: Mechanism = limited
    else:
        above = build_mechanism("threshold", **parameters, noise=own.get("noise"))
        assert isinstance(above, Threshold)
        chosen = above if above.threshold < _LESS * limited.votes_needed else limited
    _check_own(chosen, own)
    return chosen


def _check_own(chosen: Mechanism, own: dict[str, Any]) -> None:
    """Refuse a parameter that only the other mechanism has. The user did not name one, so say that auto chose."""
    if "k_bar" in own and chosen.name != "limited-domain":
        raise ParameterError(
            "`k_bar` must go with `mechanism='limited-domain'`",
            f"auto chose {chosen.name} for these parameters, which has no such parameter",
            hint="leave `k_bar` out, or pass `mechanism='limited-domain'`",
        )
    if "noise" in own and chosen.name != "threshold":
        raise ParameterError(
            "`noise` must go with `mechanism='threshold'`",
            f"auto chose {chosen.name} for these parameters, which has no such parameter",
            hint="leave `noise` out, or pass `mechanism='threshold'`, which needs `votes_per_person`",
        )
