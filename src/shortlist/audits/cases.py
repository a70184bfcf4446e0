"""What is audited, and what is found: a mechanism with its parameters, and the results of checks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shortlist.errors import ParameterError
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits, read_bits
from shortlist.mechanisms import MECHANISMS, Mechanism, find_kind
from shortlist.mechanisms.stated import Histogram, Output, collect_law
from shortlist.privacy.numbers import Real, quote, read_positive, write_exact
from shortlist.votes.array_counts import ArrayTally

_SMALLEST, _LARGEST = Fraction(1, 100), Fraction(10)
_PRECISION = 128
_BATCHES = (1, 2, 3, 10, 100, 1000)
"""How many lists each call of `draw_many` draws, in turn."""


class Result(StrEnum):
    """How a check, or a whole audit, ended."""

    PASS = "pass"
    FAIL = "fail"
    """What was found contradicts the promise."""
    NOT_DECIDED = "not decided"
    """There were too few draws, or too few tables, to notice an error."""
    NOT_RUN = "not run"
    """The check needs something that is not there, and says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    subject: str
    """The mechanism, or the engine, that was checked."""
    check: str
    result: Result
    found: str
    """What was found, next to its limit, in words."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def judge(
        cls, subject: object, check: str, passed: bool | None, said: Sequence[str], seen: str, **details: Any
    ) -> Finding:
        """Report a test that passed or failed, or that had no power (None). `said` has the words for each of these."""
        place = (True, False, None).index(passed)
        found = f"{said[place]} ({seen})"
        return cls(subject=str(subject), check=check, result=list(Result)[place], found=found, details=details)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A mechanism with all parameters but k and the neighbour relation."""

    kind: type[Mechanism]
    epsilon: Fraction
    """The epsilon. If the options have a rho in its place, about that of the rho."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters, by name."""

    def build(
        self, k: int, relation: str = "add-remove", *, stretch: Fraction | int = 1, groups: int | None = None
    ) -> Mechanism:
        """Build the mechanism. `stretch` multiplies epsilon. With `groups`, one person is in so many lists of a family.

        Then the person may have as many votes in each of them as one of a single list.
        """
        given = {"epsilon": self.epsilon * stretch, "groups_per_person": groups, **self.options}
        if "rho" in given:  # it grows with the square of epsilon
            given |= {"epsilon": None, "rho": given["rho"] * stretch**2}
        if groups and "votes_per_person" in given:
            given["votes_per_person"] *= groups
        return self.kind(k=k, neighbours=relation, **given)

    @property
    def delta(self) -> Fraction:
        """The delta that is asked for."""
        return Fraction(self.options.get("delta", 0))

    @property
    def budget(self) -> dict[str, Any]:
        """What is asked for. With a rho, the epsilon is not checked."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.options.get("rho")}

    @property
    def needs_domain(self) -> bool:
        """Whether the items are public. Else an item without votes does not exist."""
        return self.kind.needs_domain

    @property
    def states_law(self) -> bool:
        """Whether the mechanism states its law. If not, samples alone are checked."""
        return self.kind.state_law is not Mechanism.state_law

    @cached_property
    def noisy(self) -> bool:
        """Whether outputs may have noisy counts."""
        return any(output.counts is not None for output, _ in self.build(1).state_law((1,), reach=0))

    def state(
        self, histogram: Histogram, k: int, relation: str, *, reach: int, stretch: Fraction | int = 1
    ) -> dict[Output, float]:
        """State the law as floats. `stretch` multiplies epsilon."""
        with use_precision(_PRECISION):
            law = collect_law(self.build(k, relation, stretch=stretch), histogram, reach=reach)
            return {output: float(chance.mid()) for output, chance in law.items()}

    def fit(self, k: int) -> int:
        """The largest size up to k that the other parameters allow."""
        return min(k, int(self.options.get("k_bar", k)))

    def __str__(self) -> str:
        written = [
            f"{name}={write_exact(value) if isinstance(value, Fraction) else value}"
            for name, value in self.options.items()
        ]
        return ", ".join([self.kind.name, *written])


def list_cases(mechanism: str | Mechanism | Sequence[str] | None, epsilon: Real) -> list[Case]:
    """List what is audited: one mechanism as an object, some by their names, or all that may make secure releases.

    >>> [str(case) for case in list_cases("noisy-counts", 1)]
    ['noisy-counts, votes_per_person=1', 'noisy-counts, votes_per_person=1, delta=0.2']
    >>> [str(case) for case in list_cases(["subset", "joint"], 1)]
    ['subset', 'joint']
    """
    exact = read_positive(epsilon, name="epsilon")
    if isinstance(mechanism, Mechanism):
        exact = mechanism.epsilon
    if not _SMALLEST <= exact <= _LARGEST:
        raise ParameterError(
            f"`epsilon` must be from {write_exact(_SMALLEST)} to {write_exact(_LARGEST)} for an audit",
            f"not {quote(epsilon)}",
            hint="other values use the same code; samples cannot show it",
        )
    if isinstance(mechanism, Mechanism):
        common = ("k", "epsilon", "neighbours", "groups_per_person")
        given = {name: value for name, value in mechanism.parameters.items() if name not in common}
        if given.pop("at_least", mechanism.k) != mechanism.k:
            given["at_least"] = 1  # small k are audited: sizes from 1 to k in place of a range
        return [Case(kind=type(mechanism), epsilon=exact, options=given)]
    wanted: Sequence[object] = mechanism if isinstance(mechanism, list | tuple) and mechanism else [mechanism]
    kinds = MECHANISMS.values() if mechanism is None else dict.fromkeys(find_kind(name) for name in wanted)
    return [Case(kind=kind, epsilon=exact, options=options) for kind in kinds for options in kind.audited]


def draw_outputs(
    mechanism: Mechanism, histogram: Histogram, trials: int, bits: Bits | None = None, *, many: bool = False
) -> list[Output]:
    """Draw `trials` times as `top_k` draws, and return what releases would show. `many` draws by `draw_many`.

    Without `bits`, the randomness is that of the operating system.
    """
    source, tally = read_bits(bits), ArrayTally(np.array(histogram))
    prepared, outputs = mechanism.prepare(tally), list[Output]()
    for n in itertools.cycle(_BATCHES):
        n = min(n, trials - len(outputs))
        for picks in prepared.draw_many(n, source) if many else (prepared.draw(source) for _ in range(n)):
            rows, noisy = picks.publish(tally.items(picks))
            outputs.append(Output(tuple(rows.tolist()), None if noisy is None else tuple(noisy.tolist()), picks.chosen))
        if len(outputs) == trials:
            break
    return outputs
