"""What a plan says: which mechanism and why, what would help, the smallest epsilon for a wish, and the command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import DEFAULT_MECHANISM, Mechanism
from shortlist.mechanisms.accuracy import write_votes
from shortlist.planning.forecast import Forecast, write_share
from shortlist.planning.inputs import Constraints
from shortlist.planning.rules import Collapse, Visibility
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import quote, read_rational, write_exact, write_rounded_up

NOT_PRIVATE = (
    "A plan is NOT PRIVATE: it is computed from the counts themselves. Make it on counts that are public, past or "
    "invented, and do not publish a plan that was made on private counts."
)
INVENTED = "These counts are invented, so this plan gives nothing away. Never publish a plan made on private counts."
VOTES, CATALOGUE, PERSON, ITEM = "votes.csv", "catalogue.csv", "person", "item"
"""What files and columns are called where nobody has said it."""

_GOOD = 0.95
"""From this recall on, nothing needs to help."""
_BETTER = 0.03
"""By how much more of the list a change must get right to be proposed."""
_STEPS = ("1", "1.6", "2.5", "4", "6.3")
EPSILONS = (*(Fraction(step) * 10**decade / 100 for decade in range(3) for step in _STEPS), Fraction(10))
"""From 0.01 to 10, five in each decade."""

_WORDS = {
    "recall": "in 95 of 100 lists, {value} or more of the items are in the true top k",
    "exact": "the exact list has a probability of {value} or more",
    "error": "in 95 of 100 lists, no place is off by more than {value} votes",
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a list should be: a measure, and the value that it must reach.

    >>> wish = Wish.read("recall 0.9")
    >>> wish.measure, str(wish)
    ('recall', 'in 95 of 100 lists, 90 % or more of the items are in the true top k')
    """

    measure: str
    value: Fraction

    @classmethod
    def read(cls, text: object) -> Wish:
        """Read a wish such as "recall 0.9", "exact 0.5" or "error 20"."""
        parts = text.split() if isinstance(text, str) else []
        if len(parts) != 2 or parts[0] not in _WORDS:
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
        return cls(measure=parts[0], value=value)

    def __str__(self) -> str:
        value = f"{float(self.value):,g}" if self.measure == "error" else f"{float(100 * self.value):g} %"
        return _WORDS[self.measure].format(value=value)

    def measure_of(self, forecast: Forecast) -> str:
        """The measure of a forecast that the wish is about, in words."""
        if self.measure == "error":
            return f"{forecast.largest.high:,.0f} votes"
        return write_share(forecast.recall.low if self.measure == "recall" else forecast.exact)

    def holds(self, forecast: Forecast) -> bool:
        """Whether a forecast satisfies the wish."""
        if self.measure == "recall":
            return Fraction(forecast.recall.low).limit_denominator(10**6) >= self.value
        if self.measure == "exact":
            return forecast.exact >= float(self.value)
        return forecast.largest.high <= float(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The smallest epsilon for which a mechanism satisfies a wish, also with every larger one of the grid."""

    mechanism: str
    epsilon: Fraction | None
    """None if not even the largest epsilon of the grid does it."""
    reached: str
    """What the measure is at that epsilon, or at the largest one."""

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"no ε up to {write_exact(EPSILONS[-1])}, where it is {self.reached}"
        least = self.epsilon == EPSILONS[0]
        return f"ε = {write_exact(self.epsilon)}{' or less' if least else ''}"


def find_epsilons(
    wish: Wish, constraints: Constraints, k: int, look: Callable[[Mechanism], Forecast], report: Callable[[str], None]
) -> Mapping[str, Answer]:
    """For each mechanism, go down the grid from the largest epsilon until the wish fails.

    Recall need not grow with epsilon, so all larger values are looked at. `look` draws from equal random numbers for
    every epsilon.
    """
    answers = {}
    for name, largest in constraints.allow(k, EPSILONS[-1]).items():
        found, last = None, look(largest)
        for epsilon in reversed(EPSILONS):
            report(f"Looking for the epsilon of {name}: {write_exact(epsilon)}")
            seen = last if epsilon == EPSILONS[-1] else look(constraints.allow(k, epsilon)[name])
            if not wish.holds(seen):
                break
            found, last = epsilon, seen
        answers[name] = Answer(mechanism=name, epsilon=found, reached=wish.measure_of(last))
    return answers


def find_least(answers: Mapping[str, Answer], preferred: str) -> Answer | None:
    """Find the answer with the smallest epsilon: of the preferred mechanism if it has it, else of the first one.

    >>> answers = {name: Answer(mechanism=name, epsilon=Fraction(1), reached="90 %") for name in ("auto", "joint")}
    >>> find_least(answers, "joint").mechanism, find_least(answers, "pnf-peel").mechanism, find_least({}, "joint")
    ('joint', 'auto', None)
    """
    met = [each for each in answers.values() if each.epsilon is not None]
    return min(met, key=lambda each: (each.epsilon, each.mechanism != preferred), default=None)


def explain_answers(wish: Wish, answers: Mapping[str, Answer]) -> str:
    """Say in one sentence what the wish costs at least."""
    least = find_least(answers, DEFAULT_MECHANISM)
    if least is None:
        return f"No mechanism does what you want with ε up to {write_exact(EPSILONS[-1])}: {wish}."
    names = [each.mechanism for each in answers.values() if each.epsilon == least.epsilon]
    every = len(names) == len(answers) > 1
    which = "any of the mechanisms" if every else " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"What you want needs {least}, with {which}: {wish}."


def write_command(mechanism: Mechanism, *, votes_per_person: int | None = None, item: str | None = None) -> str:
    """Write the command of the shell that releases a list by a mechanism, from a table of votes and a catalogue.

    A limit on votes per person is a limit on the votes that are counted, whatever the mechanism.

    >>> from shortlist.mechanisms import CDPPeel
    >>> print(write_command(CDPPeel(k=50, epsilon=1, delta="1e-6"), item="track"))
    shortlist select votes.csv --person person --item track --domain catalogue.csv -k 50 --epsilon 1
        --mechanism cdp-peel --delta 1e-6 --output top50.json
    """
    words = ["shortlist", "select", VOTES, "--person", PERSON, "--item", ITEM if item is None else item]
    words += ["--domain", CATALOGUE] if mechanism.needs_domain else []
    for name, value in _list_terms(mechanism, votes_per_person).items():
        if name == "ordered":
            words.append("--unordered")
        elif value != DEFAULT_MECHANISM:
            words += ["-k" if name == "k" else f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--output", f"top{mechanism.k}.json"])


def write_call(mechanism: Mechanism, *, votes_per_person: int | None = None) -> str:
    """Write the call of Python that chooses a list by a mechanism, from counts.

    >>> from shortlist.mechanisms import PNFPeel
    >>> write_call(PNFPeel(k=50, epsilon="0.5"))
    "shortlist.top_k(new_counts, k=50, epsilon='0.5', mechanism='pnf-peel')"
    """
    terms = _list_terms(mechanism, votes_per_person)
    return f"shortlist.top_k(new_counts, {', '.join(f'{name}={value!r}' for name, value in terms.items())})"


def _list_terms(mechanism: Mechanism, votes_per_person: int | None) -> dict[str, object]:
    """List the terms of a release by the names of their parameters, without those that are left at their default."""
    delta: Any = mechanism.parameters.get("delta")
    if delta is not None:  # as 1e-6 if that is the same number
        short = write_rounded_up(delta)
        delta = short if read_rational(short, name="delta") == delta else write_exact(delta)
    replaced = None if mechanism.neighbours is Neighbours.ADD_REMOVE else str(mechanism.neighbours)
    terms: dict[str, object] = {"k": mechanism.k, "epsilon": write_exact(mechanism.epsilon)}
    terms |= {"mechanism": mechanism.name, "ordered": None if mechanism.parameters.get("ordered", True) else False}
    terms |= {"delta": delta, "votes_per_person": votes_per_person, "neighbours": replaced}
    return {name: value for name, value in terms.items() if value is not None}


def explain_limit(votes_per_person: int | None) -> str | None:
    """Say what a limit in a command means for the votes; None without a limit.

    >>> explain_limit(3)
    'This counts at most 3 votes of each person. If many people cast more, their other votes are not counted.'
    """
    if votes_per_person is None:
        return None
    counted = f"This counts at most {write_votes(votes_per_person)} of each person."
    return f"{counted} If many people cast more, their other votes are not counted."
