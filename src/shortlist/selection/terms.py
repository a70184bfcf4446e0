"""What a selection is to hold and to promise, fixed before data is seen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from shortlist.errors import ParameterError
from shortlist.mechanisms import Mechanism, build_mechanism, takes_cap
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote, read_epsilon, read_whole
from shortlist.release.extras import EXTRA_PARAMETERS, Extras

_VALUES = (str, int, float, type(None), Fraction, Mechanism)
"""Types of which values that are equal, and of one type, are read alike. A Decimal may have no hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A mechanism that is built, what is bought beside its list, and what is known about the people.

    `unit` is the word for whom the guarantee protects.
    """

    mechanism: Mechanism
    extras: Extras
    sensitivity: int
    votes_per_person: int | None
    people: int | None
    unit: str

    @classmethod
    def read(
        cls, mechanism: str | Mechanism, k: Any, epsilon: Real | None, neighbours: str | None, **parameters: Any
    ) -> Terms:
        """Read the terms as users write them, or remember them. The same are often read again and again."""
        plain = all(isinstance(each, _VALUES) for each in (mechanism, k, epsilon, neighbours, *parameters.values()))
        read: Any = _remember if plain else cls._read
        terms: Terms = read(mechanism, k, epsilon, neighbours, **parameters)
        return terms

    @classmethod
    def _read(
        cls,
        mechanism: str | Mechanism,
        k: Any,
        epsilon: Real | None,
        neighbours: str | None,
        *,
        sensitivity: int = 1,
        votes_per_person: int | None = None,
        people: int | None = None,
        unit: str = "person",
        without_domain: bool = False,
        **parameters: Any,
    ) -> Terms:
        """Read the terms. The mechanism runs with epsilon divided by the sensitivity."""
        times = read_whole(sensitivity, name="sensitivity")
        per_vote = None if epsilon is None else read_epsilon(epsilon) / times
        bought = {name: parameters.pop(name) for name in EXTRA_PARAMETERS & parameters.keys()}
        parameters |= {"k": k, "epsilon": per_vote, "neighbours": neighbours}
        if without_domain:
            from shortlist.selection.without_domain import build_without_domain, check_extras

            check_extras(sensitivity=times, assess=bought.get("assess"))
            built = build_without_domain(mechanism, votes_per_person=votes_per_person, **parameters)
        else:
            if takes_cap(mechanism):
                parameters["votes_per_person"] = votes_per_person
            built = build_mechanism(mechanism, **parameters)
        # The cap that a mechanism relies on is the cap of the votes.
        cap = getattr(built, "votes_per_person", votes_per_person)
        if cap is not None:
            _check_cap(cap, times)
        terms = cls(
            mechanism=built,
            extras=Extras.read(built, **bought, votes_per_person=cap, sensitivity=times),
            sensitivity=times,
            votes_per_person=cap,
            people=None if people is None else read_whole(people, name="people"),
            unit=unit,
        )
        # Terms that promise nothing are refused here, before anything can be drawn.
        terms.state_guarantee()
        return terms

    def state_guarantee(self) -> Guarantee:
        """State what a release promises, with all that it holds."""
        return self.extras.add_to(self.mechanism.guarantee).scale(self.sensitivity, unit=self.unit)


_remember = lru_cache(maxsize=256, typed=True)(Terms._read)


def _check_cap(votes_per_person: object, sensitivity: int) -> None:
    """Refuse a cap below the sensitivity: who adds N to one count casts N votes."""
    if read_whole(votes_per_person, name="votes_per_person") < sensitivity:
        raise ParameterError(
            "{votes_per_person} must be at least {sensitivity}, which is {number}",
            "not {value}",
            hint="a person who adds that much to one count casts as many votes",
            number=sensitivity,
            value=quote(votes_per_person),
        )
