"""Advice in words: which mechanism and why, what else would help, and the smallest epsilon for a wish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shortlist.errors import ParameterError
from shortlist.mechanisms import DEFAULT_MECHANISM
from shortlist.planning.forecast import Forecast
from shortlist.planning.inputs import Constraints
from shortlist.planning.rules import Collapse, Visibility
from shortlist.privacy.numbers import quote, read_rational, write_exact

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
    wish: Wish,
    constraints: Constraints,
    k: int,
    look: Callable[[str, Fraction], Forecast],
    report: Callable[[str], None],
) -> Mapping[str, Answer]:
    """For each mechanism, go down the grid from the largest epsilon until the wish fails.

    Recall need not grow with epsilon, so all larger values are looked at. `look` draws from equal random numbers for
    every epsilon.
    """
    answers = {}
    for name in constraints.allow(k, EPSILONS[-1]):
        found = None
        last = seen = look(name, EPSILONS[-1])
        for epsilon in reversed(EPSILONS):
            report(f"Looking for the epsilon of {name}: {write_exact(epsilon)}")
            seen = last if epsilon == EPSILONS[-1] else look(name, epsilon)
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
    met = [each for each in answers.values() if each.epsilon is not None]
    if not met:
        return f"No mechanism does what you want with ε up to {write_exact(EPSILONS[-1])}: {wish}."
    least = min(each.epsilon for each in met if each.epsilon is not None)
    cost = next(str(each) for each in met if each.epsilon == least)
    names = [each.mechanism for each in met if each.epsilon == least]
    every = len(names) == len(answers) > 1
    which = "any of the mechanisms" if every else " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"What you want needs {cost}, with {which}: {wish}."
