"""The terms of a release: what it is to hold and to promise, fixed before data is seen.

One value carries them from the reading of parameters to the record. What can be bought on top of a list is part of
them: noisy counts of its items, and a bound on its error that uses these data.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError, refuse_given
from shortlist.exact.bits import Bits
from shortlist.mechanisms import MECHANISMS, Mechanism, Prepared, build_mechanism, find_kind, is_own, takes_cap
from shortlist.mechanisms.accuracy import Assessment, ErrorBound, NoisyPeople, ReleasedCounts
from shortlist.mechanisms.mechanism import UNORDERED_BOUND
from shortlist.privacy import Guarantee, Neighbours, compose
from shortlist.privacy.composition import find_weakest
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_positive, read_rational, read_whole, write_count
from shortlist.profile import EVERY_LEVEL, NO_PICKS, Levels, Picks
from shortlist.safe_text import LONGEST_LINE, is_line, is_words

if TYPE_CHECKING:  # most lists are made without these, so they are imported where they are used
    from shortlist.mechanisms.assess import Assess
    from shortlist.mechanisms.noisy_counts import ListCounts
    from shortlist.mechanisms.private_cap import PrivateCap

AUTO_CAP = "auto"
"""In place of `votes_per_person`: the cap is chosen privately."""
EXTRAS = {"assess", "counts_epsilon", "counts_rho", "counts_delta", "others", "people_epsilon"}
"""The parameters that buy something on top of a list."""
SET_BY_CAP = ("groups_per_person", "k_bar", "noise")
"""The parameters that may follow from a private cap, if they are not given. They decide what other caps promise."""
MAY_BE_RANDOM = "may be random"
"""The remark on a list whose bound is at least the number of people in its group."""
TOO_FEW_PEOPLE = "too few people"
"""The remark on a group that has no list, because its noisy number of people is below `min_people`."""
_CONFIDENCE = Fraction(19, 20)
_WITH_COUNTS = ("noisy-counts", "threshold")
"""The mechanisms that release noisy counts by themselves."""
_LESS = Fraction(4, 5)
"""`threshold` is taken if the votes that an item needs are less than this share of what `limited-domain` asks for."""
_LIST = "pass `domain='catalogue.csv'`, a public list of all items that may be released, voted for or not"
_VALUES = {str, int, bool, float, type(None)}
"""Types of which equal values are read alike. A Decimal may have no hash, nor may a Fraction of numbers of NumPy."""


Sizes = int | tuple[int, int]
"""How many items: a number, or the smallest and the largest size of a list without order."""


class ListOptions(TypedDict, total=False):
    """What a list may be asked for beside k and epsilon."""

    rho: Real | None
    delta: Real | None
    ordered: bool | None
    neighbours: str | None
    votes_per_person: int | str | None
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
    others: bool | None
    people: int | None
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A mechanism that is built, what is bought beside its list, and what is known about the people.

    One `unit` (a person) changes a count by at most `sensitivity`. The mechanism and the extras run with epsilons
    divided by it, and a release states the whole. `votes_per_person` is the largest number of votes of one person
    that count. With `persons_counted`, the library counts different persons, and enforces both numbers. Otherwise the
    caller vouches for them. A family has one list for each of some `groups`, and a person is in at most
    `groups_per_person` of them. With a `weight_unit`, votes have weights: a count is a sum of such units, and
    `sensitivity` is the largest weight of a person in a cell. Then `votes_per_person` is a number of cells.

    With a `private_cap`, `votes_per_person` is chosen when the votes are counted. Until then it is the largest cap, and
    `by_cap` has the terms of each cap. The charge is the largest of theirs.

    Claim  The choice of the cap, the numbers of people, the list, the counts and the assessment together have the sum
           of the epsilons, deltas and rhos.
    Proof  Each is a release of its own, and may depend on the earlier ones: adaptive composition. families.proof.md,
           Theorem 8, says it of the numbers of people, on which it depends which groups get a list.
           private_cap.proof.md, Theorem 2, says it of the cap, on which the noise of all others depends. For weights:
           votes/weights.proof.md.
    """

    mechanism: Mechanism
    counts: ListCounts | None = None
    assess: Assess | None = None
    group_people: ListCounts | None = None
    """The noisy numbers of people of the groups, which are one count for each list."""
    min_people: int | None = None
    """How many people, by its noisy number, a group must have to get a list."""
    sensitivity: int = 1
    weight_unit: str | None = None
    votes_per_person: int | None = None
    persons_counted: bool = False
    people: int | None = None
    unit: str = "person"
    groups: int | None = None
    """In how many lists of a family one unit can be: None is one list, and 0 is a number that is not known yet."""
    private_cap: PrivateCap | None = None
    """How `votes_per_person` is or was chosen, if it is not given."""
    by_cap: Mapping[int, Terms] = field(default_factory=dict, compare=False, repr=False)
    """The terms of each cap that may be chosen, until one is."""
    cap_asked: tuple[tuple[str, Any], ...] = ()
    """With a private cap: what was asked for, where the mechanism of the chosen cap does not tell."""
    charged: Guarantee | None = None
    """With a private cap: what all of these terms promise, and what is charged."""
    guarantee: Guarantee = field(init=False, compare=False)
    """What a release promises, with all that it holds."""
    parameters: Mapping[str, Any] = field(init=False, compare=False)
    """The public parameters by the names under which they were given. They are known before votes are read."""

    def __post_init__(self) -> None:
        """State what is promised. Terms that promise nothing are refused, before anything is drawn."""
        assess, counts, times, people = self.assess, self.counts, self.sensitivity, self.group_people
        parts = [each.guarantee for each in (self.mechanism, counts, assess) if each is not None]
        weighed, private = self.weight_unit is not None, self.private_cap
        if sum(each.delta for each in parts) >= 1:
            raise ParameterError(
                "`delta` and `counts_delta` must sum to less than 1",
                "they do not",
                hint="`delta=1e-6` and `counts_delta=1e-6` are common",
            )
        asked = self.mechanism.rho is not None and len(self.mechanism.candidates) == 1
        if times > 1 and parts[0].delta and not asked:  # noise for an epsilon of 1/N would hide N votes too little
            raise ParameterError(
                f"`{'max_weight' if weighed else 'sensitivity'}` above 1 must go with a mechanism that has no delta",
                hint="leave `delta` out. `mechanism='noisy-counts'` takes it with `rho` in place of `epsilon`",
            )
        parts = [each.scale(times, unit=self.unit) for each in parts]
        # A person counts once in a group and under a cap, whatever the weights.
        parts += [replace(each.guarantee, unit=self.unit) for each in (people, private) if each is not None]
        together = compose(parts) if len(parts) > 1 else parts[0]
        parameters = {
            **self.mechanism.parameters,
            "epsilon": parts[0].epsilon + (private.epsilon if private else 0),
            "rho": self.mechanism.rho and self.mechanism.rho * times**2 + (private.rho if private else 0),
            "sensitivity": times if times > 1 and not weighed else None,
            "max_weight": times if weighed else None,
            "weight_unit": self.weight_unit,
            "votes_per_person": AUTO_CAP if self.by_cap else self.votes_per_person,
            "cap_epsilon": private and private.epsilon,
            "cap_quantile": private and private.quantile,
            "cap_asked": self.cap_asked or None,
            "assess": assess and assess.epsilon * times,
            "counts_epsilon": counts and counts.epsilon and counts.epsilon * times,
            "counts_rho": counts and counts.rho and counts.rho * times**2,
            "counts_delta": counts and counts.delta,
            "others": True if counts and counts.others else None,
            "people_epsilon": people and people.epsilon,
            "min_people": self.min_people,
        }
        object.__setattr__(self, "guarantee", self.charged or together)
        object.__setattr__(self, "parameters", {name: each for name, each in parameters.items() if each is not None})

    @classmethod
    def read(cls, mechanism: str | Mechanism, k: Any = None, epsilon: Real | None = None, **asked: Any) -> Terms:
        """Read the terms as users write them. Those that were read before are remembered.

        The same terms are often read again and again. A whole `top_k` is 1.1 to 1.7 times as fast with the memory.
        """
        plain = _VALUES.issuperset(map(type, (k, epsilon, *asked.values()))) and isinstance(mechanism, str | Mechanism)
        read: Any = _remember if plain else _read
        terms: Terms = read(mechanism, k, epsilon, **asked)
        return terms

    @classmethod
    def _read_one(
        cls,
        mechanism: str | Mechanism,
        k: Any,
        epsilon: Real | None,
        *,
        votes_per_person: Any = None,
        rho: Real | None = None,
        sensitivity: int = 1,
        max_weight: int | None = None,
        weight_unit: str | None = None,
        persons_counted: bool = False,
        people: int | None = None,
        unit: str = "person",
        without_domain: bool = False,
        groups: int | None = None,
        groups_per_person: int | None = None,
        people_epsilon: Real | None = None,
        min_people: int | None = None,
        assess: Real | None = None,
        counts_epsilon: Real | None = None,
        counts_rho: Real | None = None,
        counts_delta: Real | None = None,
        others: bool | None = None,
        **parameters: Any,
    ) -> Terms:
        """Read the terms with a cap that is given, or without one. Further `parameters` are those of the mechanism."""
        mechanism, limited = _limit_groups(mechanism, groups, groups_per_person, votes_per_person)
        times = _read_largest(sensitivity, max_weight, weight_unit, persons_counted)

        def share(value: Real | None, name: str, parts: int = times) -> Fraction | None:
            return None if value is None else read_epsilon(value, name=name) / parts

        spent_on_assessment = share(assess, "assess")
        counted: dict[str, Any] = {"epsilon": share(counts_epsilon, "counts_epsilon"), "delta": counts_delta}
        counted["others"] = None if others is False else others
        if counts_rho is not None:
            counted["rho"] = read_positive(counts_rho, name="counts_rho") / times**2
        parameters |= {"k": k, "epsilon": share(epsilon, "epsilon"), "rho": share(rho, "rho", times**2)}
        parameters["groups_per_person"] = limited
        if takes_cap(mechanism):
            parameters["votes_per_person"] = votes_per_person
        if without_domain:
            weighed, assessed = weight_unit is not None, assess is not None
            built = _build_without_domain(mechanism, parameters, times, weighed=weighed, assessed=assessed)
        else:
            built = build_mechanism(mechanism, **parameters)
        # The cap that a mechanism relies on is the cap of the votes.
        cap = _read_whole(getattr(built, "votes_per_person", votes_per_person), "votes_per_person")
        if cap is not None and cap < times and weight_unit is None:
            raise ParameterError(
                f"`votes_per_person` must be at least `sensitivity`, which is {times}",
                f"not {quote(cap)}",
                hint="a person who adds that much to one count casts as many votes",
            )
        return cls(
            mechanism=built,
            assess=_buy_assessment(built, spent_on_assessment),
            counts=_buy_counts(built, counted, cap, groups),
            group_people=_buy_people(built, people_epsilon, min_people, groups, persons_counted),
            min_people=_read_whole(min_people, "min_people"),
            sensitivity=times,
            weight_unit=weight_unit,
            votes_per_person=cap,
            persons_counted=persons_counted,
            people=_read_whole(people, "people"),
            unit=unit,
            groups=groups,
        )

    def choose_cap(self, exceeding: Sequence[int], bits: Bits) -> Terms:
        """Choose the cap, given for each how many units have more votes than the one before it; return its terms."""
        assert self.private_cap is not None
        return self.by_cap[self.private_cap.choose(exceeding, bits)]

    def draw(
        self, levels: Any, bits: Bits, *, people: IntArray | None = None, prepared: Prepared | None = None
    ) -> tuple[list[Picks], list[dict[str, Any]]]:
        """Draw the picks of each list from its levels, and by name the noisy numbers that `state_list` states about it.

        `people` is how many people each group has, if noisy numbers of them are bought. Groups with too few get no
        list. A single list is drawn by the mechanism that is `prepared`, if it is.
        """
        noisy_people = [None] * len(levels) if people is None else self.draw_people(people, bits)
        places = [place for place, number in enumerate(noisy_people) if self.has_list(number)]
        groups = [levels[place] for place in places]
        lists = self.mechanism.draw_family(groups, bits) if prepared is None else [prepared.draw(bits)]
        chosen = lists[0].chosen if lists else None
        picks, drawn = [NO_PICKS] * len(levels), [{"noisy_people": each, "chosen": chosen} for each in noisy_people]
        for place, group, each in zip(places, groups, lists, strict=True):
            picks[place], extras = self._draw_extras(each, group, bits)
            drawn[place] |= extras
        return picks, drawn

    def draw_people(self, people: IntArray, bits: Bits) -> list[int]:
        """Draw a noisy number of people for each group, given how many it has."""
        from shortlist.mechanisms.noisy_counts import clip_counts

        assert self.group_people is not None
        noisy: list[int] = clip_counts(self.group_people.add_noise(people.tolist(), bits)).tolist()
        return noisy

    def has_list(self, noisy_people: int | None) -> bool:
        """Whether a group gets a list, given its noisy number of people."""
        return self.min_people is None or noisy_people is None or noisy_people >= self.min_people

    def _draw_extras(self, picks: Picks, levels: Levels, bits: Bits) -> tuple[Picks, dict[str, int]]:
        """Draw noisy counts for picks, and by name what else `state_list` states: the spread, the count of others."""
        drawn: dict[str, int] = {}
        if self.counts is not None:
            from shortlist.mechanisms.noisy_counts import clip_counts

            listed = picks.levels.tolist()
            if self.counts.others:
                profile = levels.above(self.mechanism.k, EVERY_LEVEL)
                votes = sum(map(operator.mul, profile.values.tolist(), profile.sizes.tolist()))
                drawn["others"] = self.counts.add_noise_to_others(votes - sum(listed), bits)
            picks = replace(picks, counts=clip_counts(self.counts.add_noise(listed, bits)))
        if self.assess is not None:
            drawn["spread"] = self.assess.draw(self.mechanism.resolve(picks.chosen), levels, bits)
        return picks, drawn

    def state_promise(self, chosen: str | None) -> dict[str, Any]:
        """State what all lists have in common. `chosen` is the mechanism that `auto` chose."""
        parameters, ran = dict(self.parameters), self.mechanism.resolve(chosen)
        mechanism: Any = self.mechanism
        if ran is not mechanism:
            spent = {"choice_epsilon": mechanism.choice_epsilon, "chosen_epsilon": ran.epsilon}
            parameters |= {"chosen": ran.name, **{name: each * self.sensitivity for name, each in spent.items()}}
        return {
            "mechanism": mechanism.name,
            "parameters": parameters,
            "guarantee": self.guarantee,
            "persons_counted": self.persons_counted,
            "ordered": not mechanism.unordered,
            "up_to": None if mechanism.needs_domain else mechanism.k,
        }

    def state_list(
        self,
        *,
        d: int | None,
        noisy: IntArray | None = None,
        chosen: str | None = None,
        spread: int | None = None,
        others: int | None = None,
        people: int | None = None,
        noisy_people: int | None = None,
    ) -> dict[str, Any]:
        """State what one list has of its own.

        `noisy` are the noisy counts of the items, `chosen` is the mechanism that `auto` chose, `spread` is the noisy
        spread, and `others` is the noisy count of all other items. `people` is how many people its group has, where
        that is public, and `noisy_people` is a noisy number of them. A list whose bound is at least what they can add
        to a count has a remark. A group with too few people has no list.
        """
        counts = bound = assessed = None
        remark: str | None = TOO_FEW_PEOPLE
        if self.has_list(noisy_people):
            votes = None if d is None else self.mechanism.resolve(chosen).error_bound(d, _CONFIDENCE)
            bound = None if votes is None else self.state_bound(votes, chosen)
            assessed = None if spread is None else self._state_assessment(spread, chosen)
            counts = None if noisy is None else self._state_counts(noisy, chosen, d, others)
            known = noisy_people if people is None else people
            small = known is not None and 0 < find_least_bound(bound, assessed) >= known * self.sensitivity
            remark = MAY_BE_RANDOM if small else None
        stated = {"domain_size": d, "counts": counts, "error_bound": bound, "assessment": assessed}
        if self.groups is None:
            return stated
        noisy_number = None
        if self.group_people is not None and noisy_people is not None:
            ends: Any = self.group_people.state_counts([noisy_people], _CONFIDENCE)
            (low,), (high,) = ends.low, ends.high
            noisy_number = NoisyPeople(value=noisy_people, low=low, high=high, confidence=_CONFIDENCE)
        return {**stated, "people": people, "noisy_people": noisy_number, "remark": remark}

    def state_bound(self, votes: int, chosen: str | None) -> ErrorBound:
        """State a bound on the error of the list, of so many votes."""
        ran = self.mechanism.resolve(chosen)
        words = UNORDERED_BOUND if self.mechanism.unordered and not ran.unordered else ran.bound_in_words
        bound = write_count(votes, self.weight_unit or "votes")
        return ErrorBound(votes=votes, confidence=_CONFIDENCE, statement=words.format(bound=bound))

    def _state_counts(
        self, noisy: IntArray, chosen: str | None, d: int | None, others: int | None
    ) -> ReleasedCounts | None:
        """State noisy counts: those that were bought have an interval each, others have intervals that hold together.

        The counts of threshold have none: without a public domain, how many counts they would have to hold is not
        public.
        """
        if self.counts is not None:
            return self.counts.state_counts(noisy.tolist(), others=others)
        ran: Any = self.mechanism.resolve(chosen)
        if ran.name == "threshold":
            return ReleasedCounts(values=tuple(noisy.tolist()))
        stated: ReleasedCounts | None = ran.state_counts(noisy, d) if ran.name == "noisy-counts" and d else None
        return stated

    def _state_assessment(self, spread: int, chosen: str | None) -> Assessment | None:
        if self.assess is None:
            return None
        failure = 1 - _CONFIDENCE
        bound = self.assess.bound(self.mechanism.resolve(chosen), spread, failure)
        # Cutting off at 0 brings no estimate farther from a spread, which is 0 or more.
        margin = self.assess.find_margin(failure)
        return Assessment(estimate=max(0, spread), margin=margin, bound=self.state_bound(bound, chosen))


def _read(mechanism: str | Mechanism, k: Any, epsilon: Real | None, **asked: Any) -> Terms:
    cap = asked.get("votes_per_person")
    if isinstance(cap, str):
        if cap != AUTO_CAP:
            or_auto = f", or {AUTO_CAP!r}" if asked.get("persons_counted") else ""
            raise ParameterError(f"`votes_per_person` must be a whole number from 1{or_auto}", f"not {quote(cap)}")
        del asked["votes_per_person"]
        return _read_for_each_cap(mechanism, k, epsilon, asked)
    return Terms._read_one(mechanism, k, epsilon, **asked)


_remember = lru_cache(maxsize=256, typed=True)(_read)


def _read_for_each_cap(mechanism: str | Mechanism, k: Any, epsilon: Any, given: dict[str, Any]) -> Terms:
    """Read the terms for each cap that may be chosen, with the epsilon or the rho that the choice leaves.

    They promise the same: the largest epsilon, delta and rho of all. So the charge is known before the votes are read.
    """
    _check_private_cap(mechanism, given)
    from shortlist.mechanisms.private_cap import CAPS, PrivateCap

    rho = given.get("rho")
    whole = {"epsilon": read_epsilon(epsilon)} if rho is None else {"rho": read_positive(rho, name="rho")}
    choice = PrivateCap.share(
        **whole,
        neighbours=Neighbours.read(given.get("neighbours") or Neighbours.ADD_REMOVE),
        delta=given.get("delta"),
        without_domain=given.get("without_domain", False),
    )
    spent = choice.guarantee
    left = {name: value - getattr(spent, name) for name, value in whole.items()}
    given = {**given, "epsilon": epsilon, **left}
    # While the number of groups is not known, two caps show what is wrong. Then the terms are read again.
    caps = CAPS[:: len(CAPS) - 1] if given.get("groups") == 0 else CAPS
    read = {cap: Terms._read_one(mechanism, k, votes_per_person=cap, **given) for cap in caps}
    # The terms of one cap are a release of their own after the choice.
    weakest = find_weakest([each.guarantee for each in read.values()])
    charged = compose([replace(spent, unit=weakest.unit), weakest])
    asked = {"mechanism": mechanism if given.get("without_domain") else None}
    asked |= {name: given.get(name) for name in SET_BY_CAP}
    further = tuple(
        (name, value if isinstance(value, str) else read_whole(value, name=name))
        for name, value in asked.items()
        if value is not None
    )
    after = {cap: replace(each, private_cap=choice, cap_asked=further, charged=charged) for cap, each in read.items()}
    return replace(after[CAPS[-1]], by_cap=after)


def _check_private_cap(mechanism: str | Mechanism, given: Mapping[str, Any]) -> None:
    """Refuse a private cap where nobody's votes are known, and where no cap makes a list better."""
    if not given.get("persons_counted"):
        raise ParameterError(
            f"`votes_per_person` must be a whole number where the votes are counted already, not {AUTO_CAP!r}",
            "in counts, nobody's votes can be told apart",
            hint="pass the votes themselves, with the column `person`; or say how many votes one person has at most; "
            "or leave `votes_per_person` out",
        )
    if isinstance(mechanism, Mechanism):
        raise ParameterError(
            f"`votes_per_person={AUTO_CAP!r}` must go with the name of a mechanism",
            "an object has its noise already, and the cap decides about it",
            hint=f"pass `mechanism={mechanism.name!r}`, with its parameters beside it",
        )
    counts = any(given.get(name) for name in ("counts_epsilon", "counts_rho"))
    limits_groups = given.get("groups") is not None and given.get("groups_per_person") is None
    if not (takes_cap(mechanism) or counts or limits_groups):
        raise ParameterError(
            f"`votes_per_person={AUTO_CAP!r}` must go with a mechanism that relies on a limit",
            f"{mechanism} does not: a limit would only drop votes, and its choice costs a part of the budget",
            hint="leave `votes_per_person` out; or leave `mechanism` out, because auto uses a limit",
        )


def find_least_bound(public: ErrorBound | None, assessed: Assessment | None) -> int:
    """Find the smaller bound on the error of a list, in votes; 0 if it has none."""
    if assessed is None:
        return 0 if public is None else public.votes
    return assessed.bound.votes if public is None else min(public.votes, assessed.bound.votes)


def check_text(text: str | None, *, name: str) -> str | None:
    """Return a name or a note, or None if it is empty. Refuse several lines, and more than 200 characters."""
    if text is None or (isinstance(text, str) and not text):
        return None
    if not is_line(text):
        raise ParameterError(f"`{name}` must be one line of at most {LONGEST_LINE} characters")
    return text


def _read_whole(value: Any, name: str) -> int | None:
    return None if value is None else read_whole(value, name=name)


def _limit_groups(
    mechanism: str | Mechanism, groups: int | None, groups_per_person: int | None, votes_per_person: int | None
) -> tuple[str | Mechanism, int | None]:
    """Find how many lists of a family one person is in at most; None is one list. A mechanism object is told it.

    It is the smallest of what is given: the limit on groups, the limit on votes, and the number of groups.
    """
    built = mechanism if isinstance(mechanism, Mechanism) else None
    own = getattr(built, "groups_per_person", None)
    given = own if groups_per_person is None else groups_per_person
    cap = getattr(built, "votes_per_person", None) if votes_per_person is None else votes_per_person
    if groups is None:
        alone = "leave `groups_per_person` out: one list has no groups"
        refuse_given({"groups_per_person": given}, "`by`, the columns of the groups, or `every`", hint=alone)
        return mechanism, None
    if not is_own(kind := find_kind(mechanism)):
        raise ParameterError(
            "`by` must go with a mechanism of this library", f"{kind.name} may not know how many lists one person is in"
        )
    if given is None and cap is None and groups != 1:
        raise ParameterError(
            "`groups_per_person` or `votes_per_person` must be given with `by` or `every`",
            "neither was. One person may be in every group, and epsilon is for all votes of the person together",
            hint="pass `groups_per_person=1` if a person is in one group, such as a country. Otherwise pass "
            "`votes_per_person=20`: so many votes of each person are counted at most, over all groups. With `time` and "
            "`every='week'`, `per='week'` makes the guarantee one for a person in one week, not for the whole person",
        )
    read = (_read_whole(given, "groups_per_person"), _read_whole(cap, "votes_per_person"), groups or None)
    limit = min(each for each in read if each is not None)
    # Two different limits are refused later. An epsilon that follows from rho follows once more.
    if isinstance(mechanism, Mechanism) and (own is None or groups_per_person in (None, own)):
        again: dict[str, Any] = {} if mechanism.rho is None else {"epsilon": None}
        mechanism = replace(mechanism, groups_per_person=limit, **again)
    return mechanism, limit


def _read_largest(sensitivity: int, max_weight: Any, weight_unit: object, persons_counted: bool) -> int:
    """Read what one person adds to a count at most. A largest weight must be enforced, and its unit be a word."""
    times = read_whole(sensitivity, name="sensitivity")
    if persons_counted and times > 1:
        raise ParameterError(
            "`sensitivity` must go with `count`: with `person`, each person counts once for an item",
            hint="leave `sensitivity` out",
        )
    if max_weight is None and weight_unit is None:
        return times
    if max_weight is None or not persons_counted:
        raise ParameterError(f"`weight` must go with `{'max_weight' if persons_counted else 'person'}`")
    if not is_words(weight_unit):
        raise ParameterError(
            "`weight_unit` must be a word for what the weights count, such as minutes, of at most 40 letters",
            hint="without it, it is the name of the column `weight`",
        )
    return read_whole(max_weight, name="max_weight")


def _buy_people(
    mechanism: Mechanism, epsilon: Real | None, min_people: object, groups: int | None, persons_counted: bool
) -> ListCounts | None:
    """Buy one noisy number of people for each list: one person moves those of at most cΔ groups, each by 1."""
    if epsilon is None and min_people is None:
        return None
    given = {"people_epsilon": epsilon, "min_people": min_people}
    if groups is None:
        refuse_given(given, "`by`, the columns of the groups")
    if not persons_counted:
        unknown = "in a table that is counted already, nobody knows how many people a group has"
        refuse_given(given, "`person`", hint=unknown)
    if epsilon is None:
        raise ParameterError(
            "`min_people` must go with `people_epsilon`",
            "how many people a group has is not public",
            hint="pass `people_epsilon=0.1`, which buys a noisy number of people for each group. If the numbers are "
            "public, leave small groups out of `groups`",
        )
    return _make_counts(mechanism, groups, k=1, epsilon=read_epsilon(epsilon, name="people_epsilon"))


def _buy_assessment(mechanism: Mechanism, epsilon: Fraction | None) -> Assess | None:
    if epsilon is None:
        return None
    from shortlist.mechanisms.assess import Assess, check_assessed

    check_assessed(mechanism)
    return Assess(epsilon=epsilon, neighbours=mechanism.neighbours, groups_per_person=mechanism.groups_per_person)


def _buy_counts(
    mechanism: Mechanism, counted: Mapping[str, Any], cap: int | None, groups: int | None
) -> ListCounts | None:
    spent = {name: value for name, value in counted.items() if value is not None}
    if not spent:
        return None
    if mechanism.name in _WITH_COUNTS:
        name = "others" if spent.keys() == {"others"} else "counts_epsilon"
        raise ParameterError(
            f"`{name}` must go with another `mechanism`",
            f"{mechanism.name} releases its counts already",
            hint=f"leave `{name}` out",
        )
    return _make_counts(mechanism, groups, k=mechanism.k, votes_per_person=cap, **spent)


def _make_counts(mechanism: Mechanism, groups: int | None, **counted: Any) -> ListCounts:
    from shortlist.mechanisms.noisy_counts import ListCounts

    limit = mechanism.groups_per_person
    return ListCounts(neighbours=mechanism.neighbours, groups_per_person=limit, groups=groups or None, **counted)


def _build_without_domain(
    mechanism: str | Mechanism,
    parameters: dict[str, Any],
    sensitivity: int = 1,
    *,
    weighed: bool = False,
    assessed: bool = False,
) -> Mechanism:
    """Build a mechanism that needs no domain. What needs a domain, or is proven with one only, is refused.

    >>> common = {"k": 100, "epsilon": 1, "delta": "1e-6"}
    >>> [_build_without_domain("auto", {**common, "votes_per_person": cap}).name for cap in (None, 20)]
    ['limited-domain', 'threshold']
    """
    kind = find_kind(mechanism)
    if weighed:
        raise ParameterError(
            "`domain` must be given with `weight`",
            "δ is proven for people who add 1 to an item, and with weights one person alone adds more",
            hint=_LIST,
        )
    if kind.needs_domain and kind.name != "auto":
        names = ", ".join(each.name for each in MECHANISMS.values() if not each.needs_domain)
        raise ParameterError(
            f"`mechanism` must be one of {names} where there is no `domain`",
            f"not {kind.name}",
            hint=_LIST + ", or leave `mechanism` out and pass `delta=1e-6`",
        )
    given: dict[str, Any] = dict(mechanism.parameters) if isinstance(mechanism, Mechanism) else {}
    given |= {name: value for name, value in parameters.items() if value is not None}
    delta = given.get("delta")
    refusals = (
        (
            sensitivity > 1,
            "`sensitivity` must be 1 where there is no `domain`",
            f"not {sensitivity}",
            f"`delta` is proven for 1 only: {_LIST}; or count each person once for an item",
        ),
        (assessed, "`assess` must go with `domain`", None, f"leave `assess` out; or {_LIST}"),
        (
            delta is not None and read_rational(delta, name="delta") == 0,
            "`delta` must be above 0 where there is no `domain`",
            f"not {quote(delta)}",
            f"try `delta=1e-6`; or {_LIST}",
        ),
        (
            kind.name != "stable" and isinstance(given.get("k"), tuple | list),
            "`k` must be one number where there is no `domain`",
            "not a range of sizes",
            "up to so many items are released anyway; `mechanism='stable'` chooses a size from a range",
        ),
        (
            kind.name in ("limited-domain", "threshold") and "ordered" in given,
            f"{kind.name} has no `ordered`: the order of its list costs nothing",
            None,
            "leave `ordered` out; `mechanism='stable'` gives a set",
        ),
        (
            kind.name == "auto" and delta is None,
            "`delta` or `domain` must be given",
            "neither was. Without a public list of items, an item that only one person voted for must not "
            "show; δ is the probability that it does",
            f"{_LIST}; or pass `delta=1e-6`",
        ),
    )
    for is_wrong, expected, found, hint in refusals:
        if is_wrong:
            raise ParameterError(expected, found, hint=hint)
    return _choose(given) if kind.name == "auto" else build_mechanism(mechanism, **parameters)


def _choose(parameters: dict[str, Any]) -> Mechanism:
    """Choose the mechanism that asks for fewer votes for an item, by public numbers alone."""
    own = {"k_bar": "limited-domain", "noise": "threshold"}
    # The order of a list costs nothing here.
    common = {name: value for name, value in parameters.items() if name not in (*own, "ordered")}
    chosen: Any = build_mechanism("limited-domain", **common, k_bar=parameters.get("k_bar"))
    if chosen.votes_per_person is not None:
        above: Any = build_mechanism("threshold", **common, noise=parameters.get("noise"))
        chosen = above if above.threshold < _LESS * chosen.votes_needed else chosen
    for name, owner in own.items():
        if name in parameters and chosen.name != owner:
            needs = ", which needs `votes_per_person`" if owner == "threshold" else ""
            raise ParameterError(
                f"`{name}` must go with `mechanism={owner!r}`",
                f"auto chose {chosen.name} for these parameters, which has no such parameter",
                hint=f"leave `{name}` out, or pass `mechanism={owner!r}`{needs}",
            )
    built: Mechanism = chosen
    return built
