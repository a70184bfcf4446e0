"""What a plan says: which mechanism and why, what would help, the smallest epsilon for a wish, and the command.

With a domain, `explain_collapse` says whether an ordered list collapses. Joint and its relatives draw one of d!/(d−k)!
ordered lists. A list with a loss of t votes has e^(−εt/2Δ) of the weight of the true one. So the many bad lists may
outweigh the true one where the counts are small. From the public bound on, they do not in 95 of 100 draws. The bound
suffices, and fewer votes may do. So the forecast decides what is said.

Without a domain, `explain_votes` says how many votes an item needs to be released. An item of one person must stay
hidden, so a mechanism without a domain asks for many votes. `limited-domain` ends the list where a stop is drawn, which
weighs as much as an item with that many votes more than the first item after its candidates. `threshold` releases items
from a noisy count on. `stable` asks for a gap between counts, not for votes.
"""

from __future__ import annotations

import math
import shlex
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.planning.constraints import Constraints
from shortlist.planning.counts import Counts, Histogram
from shortlist.planning.forecast import Forecast, write_share
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import quote, read_rational, write_count, write_exact, write_rounded_up
from shortlist.safe_text import join_words

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
INVENTED = "These counts are invented, so this plan gives nothing away. Never publish a plan made on private counts."
VOTES, CATALOGUE, GROUPS, PERSON, ITEM = "votes.csv", "catalogue.csv", "groups.csv", "person", "item"
"""What files and columns are called where nobody has said it."""

_GOOD = 0.95
"""From this recall on, nothing needs to help."""
_BETTER = 0.03
"""By how much more of the list a change must get right to be proposed."""
_COLLAPSED = 0.5
"""Below this recall, most of a list is wrong."""
_STEPS = ("1", "1.6", "2.5", "4", "6.3")
EPSILONS = (*(Fraction(step) * 10**decade / 100 for decade in range(3) for step in _STEPS), Fraction(10))
"""From 0.01 to 10, five in each decade."""
_TWO_DIGITS = (
    *(Fraction(digits, 1000) * 10**decade for decade in range(4) for digits in range(10, 100)),
    Fraction(100),
)
"""The numbers from 0.01 to 100 with two digits."""


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


def advise(counts: Counts, forecasts: Sequence[Forecast], others: Mapping[str, Forecast], budget: str) -> Advice:
    """Advise on forecasts in the order of the user's wishes, and on those that changes would allow, under a budget."""
    best = forecasts[0]
    if counts.groups is not None:
        rule, more = explain_family(counts, counts.groups, best), list[str]()
    else:
        explain = explain_collapse if best.mechanism.needs_domain else explain_votes
        rule, more = explain(counts.shown[0], forecasts)
    changes = [
        f"{words}, {each.name} gets {write_share(each.recall.mean)} right, and the budget covers "
        f"{_count_releases(each)}"
        for words, each in sorted(others.items(), key=lambda pair: -pair[1].recall.mean)
        if each.recall.mean > best.recall.mean + _BETTER
    ]
    return Advice(
        choice=" ".join([_describe_choice(best, budget), *_compare(forecasts)]),
        rule=rule,
        changes=(*changes, *more) if needs_help(best) else (),
    )


def needs_help(best: Forecast) -> bool:
    """Whether so much of the best list is wrong that other constraints are worth a thought."""
    return best.recall.mean < _GOOD


def _describe_choice(best: Forecast, budget: str) -> str:
    k, order = best.mechanism.k, " without their order" if best.mechanism.unordered else ""
    top = f"the true top {k:,}"
    if best.by_size:
        parts = [_describe_family(best, top, order)]
    elif best.recall.low == 1:
        parts = [f"Take {best.name}: in 95 of 100 lists or more, all {k:,} items are in {top}{order}."]
    else:
        share, least = write_share(best.recall.mean), write_share(best.recall.low)
        parts = [
            f"Take {best.name}: on average {share} of {top} are in its list{order}, and {least} or more in 95 of 100 "
            "lists."
        ]
    if best.length.mean < k - 0.5:
        parts.append(f"It lists about {best.length.mean:,.0f} items{' in a group' if best.by_size else ''}.")
    if best.exact == 1 and not best.exact_is_computed:
        parts.append(f"All of {best.draws:,} drawn lists were exact.")
    elif best.exact >= 0.005:
        about = "" if best.exact_is_computed else "about "
        parts.append(f"The exact list comes with probability {about}{write_share(best.exact)}.")
    else:
        parts.append("The exact list is unlikely.")
    return " ".join([*parts, f"A budget of {budget} covers {_count_releases(best)}."])


def _describe_family(best: Forecast, top: str, order: str) -> str:
    """Say how good the lists of a family will be, by the size of the group."""
    sizes = [f"{write_share(each.mean)} in {name} groups" for name, each in best.by_size.items()]
    detail = f": {join_words(sizes, 'and')}" if len(sizes) > 1 else ""
    return (
        f"Take {best.name} with at most {best.constraints.limits}: on average over all lists, "
        f"{write_share(best.recall.mean)} of {top} are in the list{order}{detail}."
    )


def _count_releases(forecast: Forecast) -> str:
    return write_count(forecast.affordable, "such releases")


def _compare(forecasts: Sequence[Forecast]) -> list[str]:
    """If some mechanism is clearly worse, state the recall of the default and of joint, or else of the worst one."""
    best, worst = forecasts[0], min(forecasts, key=lambda each: each.recall.mean)
    if worst.recall.mean > best.recall.mean - _BETTER:
        return []
    shown = [each for each in forecasts[1:] if each.name in (DEFAULT_MECHANISM, "joint")] or [worst]
    parts = [f"{each.name} gets {write_share(each.recall.mean)} right" for each in shown]
    return [f"For comparison, {' and '.join(parts)}."]


def explain_collapse(histogram: Histogram, forecasts: Sequence[Forecast]) -> tuple[str, list[str]]:
    """Explain whether Joint collapses, by the rule and by its forecast, and which changes give it enough votes."""
    forecast = next(each for each in forecasts if each.name == "joint")
    joint, counts, d = forecast.mechanism, histogram.counts, histogram.d

    def find_lack(joint: Mechanism) -> int:
        """How many votes the item at rank k lacks."""
        needed = joint.error_bound(d)
        assert needed is not None
        return needed - int(counts[joint.k - 1])

    k, lack, votes = joint.k, find_lack(joint), int(counts[joint.k - 1])
    lists = int((math.lgamma(d + 1) - math.lgamma(d - k + 1)) / math.log(10))
    rule = (
        f"An ordered list of {k:,} items is one of about 10^{lists:,} lists. At ε = {write_exact(joint.epsilon)} joint "
        f"is proven not to collapse if {votes + lack:,} people or more have the item at rank {k:,}; you have {votes:,}."
    )
    if lack <= 0:
        return (
            f"{rule} So joint does not collapse. Whether its list is exact depends on the gaps between the counts.",
            [],
        )
    right = f"joint gets {write_share(forecast.recall.mean)} right"
    if forecast.recall.mean < _COLLAPSED:
        rule += f" You have fewer, and in the forecast joint collapses: {right}, so most of its list is noise."
    else:
        rule += f" You have fewer, so the forecast decides: {right}."
    # The need falls with epsilon. It grows with k, and the votes fall.
    epsilon = bisect_left(_TWO_DIGITS, 0, key=lambda each: -max(0, find_lack(replace(joint, epsilon=each, rho=None))))
    size = bisect_left(range(1, k + 1), 1, key=lambda each: find_lack(replace(joint, k=each)))
    changes = [
        f"from ε = {write_exact(each)} on, joint has enough votes" for each in _TWO_DIGITS[epsilon : epsilon + 1]
    ]
    return rule, [*changes, *([f"up to k = {size:,}, joint has enough votes"] if size else [])]


def explain_votes(histogram: Histogram, forecasts: Sequence[Forecast]) -> tuple[str, list[str]]:
    """Explain how many votes an item needs to be released without a domain, and how many items have as many."""
    best, k = forecasts[0], forecasts[0].mechanism.k
    needs = {each.name: need for each in forecasts if (need := each.mechanism.find_need(histogram.profile)) is not None}
    name, least = min(needs.items(), key=lambda pair: pair[1])
    enough = histogram.count_from(least)
    others = [f"{other} about {need:,}" for other, need in needs.items() if other != name]
    more = f" ({', '.join(others)})" if others else ""
    rule = (
        "Without a public list of items, an item is released only if many people have it: an item of one person "
        f"must stay hidden. Here {name} needs about {least:,} people for an item{more}; the item at rank "
        f"{k:,} has {int(histogram.counts[k - 1]):,}."
    )
    if enough >= k:
        return f"{rule} So all {k:,} places can be filled.", []
    have = f"Only {enough:,} items have as many" if enough else "No item has as many"
    rule += f" {have}; in the forecast, {best.name} lists about {best.length.mean:,.0f}."
    return rule, [f"k = {enough:,} or less: only these items have enough votes"] if enough else []


def explain_family(counts: Counts, lists: int, best: Forecast) -> str:
    """Explain what one person may change in a family, and how many votes items need and have, by size of the group."""
    c, k, groups = best.mechanism.lists_per_person, best.mechanism.k, counts.limit(best.constraints)
    rule = f"The {lists:,} lists are one release. One person is in at most {c:,} of them"
    rule += ", and the others cost that person nothing." if c < lists else "."
    if counts.invented:
        rule += f" These limits leave {write_share(best.kept)} of the votes."
    chosen = best.mechanism.resolve(next(iter(best.choices), None))
    need = chosen.find_need(groups[0].profile)
    if need is not None:
        votes = [
            f"{int(groups[places[len(places) // 2]].top(k)[-1]):,} in a {name} group"
            for name, places in counts.sizes.items()
        ]
        rule += (
            f" With {chosen.name}, an item with {need:,} votes or more is safe from items without votes in 95 of 100 "
            f"lists; the item at rank {k:,} has {join_words(votes, 'and')}."
        )
    return rule


_MEASURES: dict[str, tuple[str, Callable[[Forecast], float]]] = {
    "recall": ("in 95 of 100 lists, {} or more of the items are in the true top k", lambda each: each.recall.low),
    "exact": ("the exact list has a probability of {} or more", lambda each: each.exact),
    "error": ("in 95 of 100 lists, no place is off by more than {} votes", lambda each: each.largest.high),
}
"""What a wish may be about: what it means in words, and where a forecast states it."""
_FAMILY_MEASURES = _MEASURES | {
    "recall": (
        "on average over all lists, {} or more of the items are in the true top k",
        lambda each: each.recall.mean,
    ),
    "exact": ("on average, a list is exact with a probability of {} or more", lambda each: each.exact),
}
"""The same for a family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a list should be: a measure, and the value that it must reach.

    >>> wish = Wish.read("recall 0.9")
    >>> wish.measure, str(wish)
    ('recall', 'in 95 of 100 lists, 90 % or more of the items are in the true top k')
    """

    measure: str
    value: Fraction
    family: bool = False
    """Whether it is about all lists of a family."""

    @classmethod
    def read(cls, text: object, *, family: bool = False) -> Wish:
        """Read a wish such as "recall 0.9", "exact 0.5" or "error 20"."""
        parts = text.split() if isinstance(text, str) else []
        if len(parts) != 2 or parts[0] not in _MEASURES:
            raise ParameterError(
                "`want` must be a measure and a value: 'recall 0.9', 'exact 0.5' or 'error 20'", f"not {quote(text)}"
            )
        try:
            value = read_rational(parts[1].removesuffix("%"), name="want") / (100 if parts[1].endswith("%") else 1)
        except ParameterError:
            raise ParameterError(
                "`want` must have a number after the measure, as in 'recall 0.9'", f"not {quote(parts[1])}"
            ) from None
        if not (0 < value <= 1 if parts[0] != "error" else value >= 0):
            limits = "0 votes or more" if parts[0] == "error" else "above 0 and at most 1"
            raise ParameterError(f"`want` for {parts[0]} must be {limits}", f"not {quote(parts[1])}")
        return cls(measure=parts[0], value=value, family=family)

    @property
    def _measure(self) -> tuple[str, Callable[[Forecast], float]]:
        return (_FAMILY_MEASURES if self.family else _MEASURES)[self.measure]

    def __str__(self) -> str:
        value = f"{float(self.value):,g}" if self.measure == "error" else f"{float(100 * self.value):g} %"
        return self._measure[0].format(value)

    def measure_of(self, forecast: Forecast) -> str:
        """The measure of a forecast that the wish is about, in words."""
        found = self._measure[1](forecast)
        return f"{found:,.0f} votes" if self.measure == "error" else write_share(found)

    def holds(self, forecast: Forecast) -> bool:
        """Whether a forecast satisfies the wish."""
        found = self._measure[1](forecast)
        return found <= float(self.value) if self.measure == "error" else found >= float(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The smallest epsilon with two digits at which a mechanism satisfies a wish, also at larger ones of the grid."""

    mechanism: str
    epsilon: Fraction | None
    """None if not even the largest epsilon of the grid does it."""
    reached: str
    """What the measure is at the largest epsilon."""
    constraints: Constraints
    """What the answer is for, with the limits on each person."""

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"no ε up to {write_exact(EPSILONS[-1])}, where it is {self.reached}"
        return f"ε = {write_exact(self.epsilon)}{' or less' if self.epsilon == EPSILONS[0] else ''}"


def find_epsilon(wish: Wish, name: str, constraints: Constraints, look: Callable[[Fraction], Forecast]) -> Answer:
    """Go down the grid from the largest epsilon until the wish fails. Then look at the numbers above with two digits.

    Recall need not grow with epsilon, so all larger values of the grid are looked at. `look` forecasts the mechanism at
    an epsilon, and draws from equal random numbers for all of them.
    """

    def fails(epsilon: Fraction) -> bool:
        return not wish.holds(look(epsilon))

    found, largest = None, look(EPSILONS[-1])
    if wish.holds(largest):
        last = next((place for place in reversed(range(len(EPSILONS) - 1)) if fails(EPSILONS[place])), -1)
        found = EPSILONS[last + 1]
        between = [each for each in _TWO_DIGITS if last >= 0 and EPSILONS[last] < each < found]
        found = [*between, found][bisect_left(between, True, key=lambda epsilon: not fails(epsilon))]
    return Answer(mechanism=name, epsilon=found, reached=wish.measure_of(largest), constraints=constraints)


def find_least(answers: Iterable[Answer], preferred: str) -> Answer | None:
    """Find the answer with the smallest epsilon: of the preferred mechanism if it has it, else of the first one.

    >>> same = {"epsilon": Fraction(1), "reached": "90 %", "constraints": Constraints()}
    >>> answers = [Answer(mechanism=name, **same) for name in ("auto", "joint")]
    >>> find_least(answers, "joint").mechanism, find_least(answers, "pnf-peel").mechanism, find_least([], "joint")
    ('joint', 'auto', None)
    """
    met = [each for each in answers if each.epsilon is not None]
    return min(met, key=lambda each: (each.epsilon, each.mechanism != preferred), default=None)


def explain_answers(wish: Wish, answers: Mapping[str, Answer]) -> str:
    """Say in one sentence what the wish costs at least."""
    least = find_least(answers.values(), DEFAULT_MECHANISM)
    if least is None:
        return f"No mechanism does what you want with ε up to {write_exact(EPSILONS[-1])}: {wish}."
    names = [each.mechanism for each in answers.values() if each.epsilon == least.epsilon]
    every = len(names) == len(answers) > 1
    which = "any of the mechanisms" if every else join_words(names, "or")
    limits = f" and at most {least.constraints.limits}" if wish.family else ""
    return f"What you want needs {least}, with {which}{limits}: {wish}."


def write_command(
    mechanism: Mechanism, constraints: Constraints, *, item: str | None = None, by: Sequence[str] = ()
) -> str:
    """Write the command of the shell that releases a list by a mechanism, from a table of votes and a catalogue.

    A limit on votes per person is a limit on the votes that are counted, whatever the mechanism. With `by`, it releases
    a list for each group.

    >>> from shortlist.mechanisms import CDPPeel
    >>> print(write_command(CDPPeel(k=50, epsilon=1, delta="1e-6"), Constraints(), item="track"))
    shortlist select votes.csv --person person --item track --domain catalogue.csv -k 50 --epsilon 1
        --mechanism cdp-peel --delta 1e-6 --output top50.json
    """
    words = ["shortlist", "select", VOTES]
    terms = _list_sources(mechanism, item, by) | _list_terms(mechanism, constraints) | constraints.weights
    for name, value in terms.items():
        if name == "ordered":
            words.append("--unordered")
        elif value != DEFAULT_MECHANISM:
            text = ",".join(by) if name == "by" else str(value)
            words += ["-k" if name == "k" else f"--{name.replace('_', '-')}", text]
    return shlex.join([*words, "--output", f"top{mechanism.k}.json"])


def write_call(mechanism: Mechanism, constraints: Constraints, *, by: Sequence[str] = ()) -> str:
    """Write the call of Python that chooses a list by a mechanism, from counts, or a family of lists, from votes.

    >>> from shortlist.mechanisms import PNFPeel
    >>> write_call(PNFPeel(k=50, epsilon="0.5"), Constraints())
    "shortlist.top_k(new_counts, k=50, epsilon='0.5', mechanism='pnf-peel')"
    """
    terms = _list_terms(mechanism, constraints)
    if by:
        call, terms = "select(new_votes", _list_sources(mechanism, None, by) | terms | constraints.weights
    else:
        call = "top_k(new_counts"
        # Sums in memory are counts to which one person adds more than 1.
        terms |= {"sensitivity": constraints.max_weight} if constraints.weights else {}
    return f"shortlist.{call}, {', '.join(f'{name}={value!r}' for name, value in terms.items())})"


def _list_sources(mechanism: Mechanism, item: str | None, by: Sequence[str]) -> dict[str, object]:
    """List where the votes, the items and the groups of a release are, by the names of their parameters."""
    sources: dict[str, object] = {"person": PERSON, "item": ITEM if item is None else item}
    sources |= {"domain": CATALOGUE} if mechanism.needs_domain else {}
    return sources | ({"by": list(by), "groups": GROUPS} if by else {})


def _list_terms(mechanism: Mechanism, constraints: Constraints) -> dict[str, object]:
    """List the terms of a release by the names of their parameters, without those that are left at their default."""
    delta: Any = mechanism.parameters.get("delta")
    if delta is not None:  # as 1e-6 if that is the same number
        short = write_rounded_up(delta)
        delta = short if read_rational(short, name="delta") == delta else write_exact(delta)
    rho, add_remove = mechanism.rho, mechanism.neighbours is Neighbours.ADD_REMOVE
    terms = {
        "k": mechanism.k,
        "epsilon": write_exact(mechanism.epsilon) if rho is None else None,
        "rho": None if rho is None else write_exact(rho),
        "mechanism": mechanism.name,
        "ordered": None if mechanism.parameters.get("ordered", True) else False,
        "delta": delta,
        **constraints.caps,
        "neighbours": None if add_remove else str(mechanism.neighbours),
    }
    return {name: value for name, value in terms.items() if value is not None}
