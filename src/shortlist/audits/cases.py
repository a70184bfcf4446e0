"""What is audited: a mechanism with its parameters, which is built for any k, neighbour relation and epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import MECHANISMS, Mechanism, find_kind
from shortlist.privacy.numbers import Real, quote, read_positive, write_exact

_SMALLEST, _LARGEST = Fraction(1, 100), Fraction(10)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A mechanism with all parameters but k and the neighbour relation."""

    kind: type[Mechanism]
    epsilon: Fraction
    options: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.kind, self.epsilon, tuple(self.options.items())))

    def build(self, k: int, relation: str = "add-remove", *, stretch: Fraction = Fraction(1)) -> Mechanism:
        """Build the mechanism. `stretch` multiplies epsilon."""
        return _build(self.kind, k, relation, self.epsilon * stretch, tuple(self.options.items()))

    @property
    def delta(self) -> Fraction | None:
        """The delta that is asked for."""
        return self.options.get("delta")

    @property
    def cap(self) -> int | None:
        """How many votes one person casts at most, if the mechanism relies on it."""
        return self.options.get("votes_per_person")

    @property
    def needs_domain(self) -> bool:
        """Whether the items are public. Else an item without votes does not exist."""
        return self.kind.needs_domain

    @cached_property
    def noisy(self) -> bool:
        """Whether outputs may have noisy counts."""
        return any(output.counts is not None for output, _ in self.build(1).state_law((1,), reach=0))

    @property
    def largest_k(self) -> int | None:
        """The largest k that the other parameters allow, if they bound it."""
        return self.options.get("k_bar")

    def __str__(self) -> str:
        written = (f"{name}={_write(value)}" for name, value in self.options.items())
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
        names = [each.name for each in fields(mechanism) if each.name not in ("k", "epsilon", "neighbours")]
        given = {name: value for name, value in mechanism.parameters.items() if name in names}
        if "at_least" in given:
            # Small k are audited: sizes from 1 to k in place of a range, or the default in place of one size.
            several = given.pop("at_least") != mechanism.k
            given |= {"at_least": 1} if several else {}
        return [Case(kind=type(mechanism), epsilon=exact, options=MappingProxyType(given))]
    if mechanism is None:
        kinds = list(MECHANISMS.values())
    else:
        wanted: Sequence[object] = mechanism if isinstance(mechanism, list | tuple) and mechanism else [mechanism]
        kinds = list(dict.fromkeys(find_kind(name) for name in wanted))
    return [
        Case(kind=kind, epsilon=exact, options=MappingProxyType(options)) for kind in kinds for options in kind.audited
    ]


@cache
def _build(
    kind: type[Mechanism], k: int, relation: str, epsilon: Fraction, options: tuple[tuple[str, Any], ...]
) -> Mechanism:
    return kind(k=k, epsilon=epsilon, neighbours=relation, **dict(options))


def _write(value: object) -> str:
    return write_exact(value) if isinstance(value, Fraction) else str(value)
