"""Auto: choose privately among the mechanisms that the user's constraints allow, then run the choice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import are_below, is_below
from shortlist.exact.shuffles import draw_distinct_below, permute_each
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.auto.candidates import adjust_score, find_terms
from shortlist.mechanisms.auto.scores import ListScore, RoundScore
from shortlist.mechanisms.joint.margin_joint import BonusMixture, MarginJoint
from shortlist.mechanisms.mechanism import Mechanism, Prepared, Score, read_sizes
from shortlist.mechanisms.peel.many import PeelDraws
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability, read_whole
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels, Picks

SHARE = Fraction(1, 20)
"""The share of epsilon that the choice spends."""
_PEELS = ("pnf-peel", "cdp-peel")
_PRECISION = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Mechanism):
    """Choose k items by the mechanism that suits the data, which is chosen privately with a twentieth of epsilon.

    The candidates are those that the constraints allow. `margin-joint` is always one. A peel is another: `cdp-peel` if
    a delta is given and helps, else `pnf-peel`. With `ordered=False`, `subset` is a third, and the items are listed
    in the order of the domain, whichever is chosen. Then k may be a range of sizes: `subset` may choose any of them,
    and the others give the largest. With `votes_per_person`, the largest number of votes of one person that were
    counted, `noisy-counts` is one more. If it is chosen, the picks have noisy counts.

    Claim  epsilon-DP without delta, else (epsilon, delta)-DP, when one person raises each count by 0 or 1. Its rho
           is the rho of the choice plus the largest rho of a candidate.
    Proof  auto.proof.md.
    Cost   that of all candidates together, without their draws.

    >>> auto = Auto(k=10, epsilon=1)
    >>> list(auto.candidates), str(auto.guarantee.epsilon)
    (['margin-joint', 'pnf-peel'], '1')
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "chooses privately one of the others that suits the data, then runs it"
    when: ClassVar[str] = "you do not know which: it is the default"
    guarantee_in_words: ClassVar[str] = "ε, or (ε, δ) with a δ"
    rho_in_words: ClassVar[str] = "ρ of the choice + the largest ρ of a candidate"

    delta: Fraction | None = None
    ordered: bool = True
    votes_per_person: int | None = None
    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int | tuple[int, int],
            epsilon: Real,
            neighbours: str = ...,
            delta: Real | None = ...,
            ordered: bool = ...,
            votes_per_person: int | None = ...,
            at_least: int | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        k, at_least = read_sizes(self.k, self.at_least)
        self._read(k=k, at_least=at_least)
        Mechanism.__post_init__(self)
        if self.delta is not None:
            self._read(delta=read_probability(self.delta, name="delta"))
        if not isinstance(self.ordered, bool):
            raise ParameterError("{ordered} must be True or False", "not {value}", value=quote(self.ordered))
        if self.ordered and self.at_least is not None:
            raise ParameterError(
                "{k} must be one number where the items have an order",
                "not a range",
                hint="pass {ordered=False}: a set may have any size in the range",
            )
        if self.votes_per_person is not None:
            self._read(votes_per_person=read_whole(self.votes_per_person, name="votes_per_person"))

    @property
    def choice_epsilon(self) -> Fraction:
        """The part of epsilon that the choice spends; the chosen mechanism spends the rest."""
        return find_terms(self, SHARE).epsilon

    @property
    def candidates(self) -> Mapping[str, Mechanism]:
        """The mechanisms that may be chosen, by name, each with the epsilon that is left to it."""
        return dict(find_terms(self, SHARE).candidates)

    @property
    def unordered(self) -> bool:
        """Whether the items have no order."""
        return not self.ordered

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises, whichever mechanism is chosen."""
        promises = [each.guarantee for each in self.candidates.values()]
        rhos = [promise.rho for promise in promises if promise.rho is not None]
        rho = find_rho_of_pure(self.choice_epsilon) + max(rhos) if len(rhos) == len(promises) else None
        delta = max(promise.delta for promise in promises)
        return Guarantee(epsilon=self.epsilon, delta=delta, rho=rho, neighbours=self.neighbours)

    def resolve(self, chosen: str | None) -> Mechanism:
        """Return the mechanism that was chosen."""
        return self if chosen is None else self.candidates[chosen]

    def _prepare(self, levels: Levels) -> PrivateChoice:
        return PrivateChoice(levels, self)


class PrivateChoice(Prepared):
    """Auto's law on given levels: choose a candidate by its score, then draw from it."""

    def __init__(self, levels: Levels, auto: Auto) -> None:
        self._levels = levels
        self._auto = auto
        self._terms = find_terms(auto, SHARE)
        self._candidates = self._terms.candidates
        self._prepared: dict[str, Prepared] = {}

    def draw(self, bits: Bits) -> Picks:
        """Choose a mechanism, and k items by it."""
        name = self.choose(bits)
        picks = self._prepare(name).draw(bits)
        unordered = self._auto.unordered
        return Picks(levels=picks.levels, ranks=picks.ranks, counts=picks.counts, chosen=name, unordered=unordered)

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose n mechanisms, and k items by each. The draws of one mechanism are made together."""
        names = np.array(self.choose_many(n, bits))
        draws: list[Picks | None] = [None] * n
        for name in self._candidates:
            rows = np.flatnonzero(names == name).tolist()
            if rows:
                for row, picks in zip(rows, self._prepare(name).draw_many(len(rows), bits), strict=True):
                    draws[row] = replace(picks, chosen=name, unordered=self._auto.unordered)
        return [picks for picks in draws if picks is not None]

    def choose(self, bits: Bits) -> str:
        """Choose a candidate by permute-and-flip: in random order, the first that is accepted."""
        names = list(self._candidates)
        order: list[int] = draw_distinct_below(np.full(len(names), len(names)), bits).tolist()
        # If all others are rejected, the last one is the best, because the best is never rejected. So it is accepted.
        accepted = next((each for each in order[:-1] if self._accept(each, Uniform(bits))), order[-1])
        return names[accepted]

    def choose_many(self, n: int, bits: Bits) -> list[str]:
        """Choose n candidates independently. Floats decide the coins that are not near a chance."""
        names = list(self._candidates)
        orders = permute_each(n, len(names), bits)
        with use_precision(_PRECISION):
            chances = [self.enclose_chance(index, 0) for index in range(len(names))]
            below, above = (
                np.array([float(end) for end in ends]) for ends in zip(*map(_find_ends, chances), strict=True)
            )
        tried = orders[:, :-1].ravel()
        words = draw_words(len(tried), bits)
        accepted = are_below(
            words,
            lambda i, effort: self.enclose_chance(int(tried[i]), effort),
            bits,
            least=below[tried],
            most=above[tried],
        ).reshape(n, -1)
        first = np.where(accepted.any(axis=1), accepted.argmax(axis=1), len(names) - 1) if len(names) > 1 else 0
        return [names[index] for index in orders[np.arange(n), first].tolist()]

    def _prepare(self, name: str) -> Prepared:
        if name not in self._prepared:
            candidate = self._candidates[name]
            if isinstance(candidate, MarginJoint) and isinstance(score := self._scores[0], ListScore):
                # The score has prepared the law of Joint.
                self._prepared[name] = BonusMixture(score.mixture, k=candidate.k, rate=candidate.rate)
            else:
                self._prepared[name] = candidate.prepare(self._levels)
        return self._prepared[name]

    def _accept(self, index: int, coin: Uniform) -> bool:
        """Decide with certainty whether a coin shows heads."""
        return is_below(coin, lambda effort: self.enclose_chance(index, effort))

    def enclose_chance(self, index: int, effort: int) -> arb:
        """Enclose e^(−ε₁ (score − smallest score) / 2Δ), with which a candidate is accepted."""
        scores = [score.enclose(effort) for score in self._scores] if effort else self._rough
        raised = [adjust_score(score, each) for score, each in zip(scores, self._terms.handicaps, strict=True)]
        excess = arb(0)
        for place, other in enumerate(raised):
            excess = excess if place == index else excess.max(raised[index] - other)
        return (-ball(self._terms.rate) * excess).exp()

    @cached_property
    def _scores(self) -> list[Score]:
        # A peel needs more levels than a list in most cases. If it is prepared first, levels are read only once.
        peels = {name: self._prepare(name) for name in self._candidates if name in _PEELS}
        return [make_score(each, self._levels, peels.get(name)) for name, each in self._candidates.items()]

    @cached_property
    def _rough(self) -> list[arb]:
        return [score.enclose(0) for score in self._scores]


def make_score(candidate: Mechanism, levels: Levels, prepared: Prepared | None = None) -> Score:
    """Make the score of a candidate. The weights of a peel that is prepared are not computed again."""
    if (score := candidate.make_score(levels, candidate.round_rate or candidate.rate)) is not None:
        return score
    if (rate := candidate.round_rate) is not None:
        peeling = prepared.peeling if isinstance(prepared, PeelDraws) else None
        return RoundScore(levels, k=candidate.k, rate=rate, peeling=peeling)
    if candidate.unordered:
        from shortlist.mechanisms.auto.set_scores import SetScore
        from shortlist.mechanisms.subset.subset import Subset

        assert isinstance(candidate, Subset)
        return SetScore(levels, sizes=candidate.sizes, rate=candidate.rate)
    return ListScore(levels, k=candidate.k, rate=candidate.rate)


def _find_ends(number: arb) -> tuple[arb, arb]:
    return number.lower(), number.upper()
