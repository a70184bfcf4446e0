"""Auto: choose privately among the mechanisms that the user's constraints allow, then run the choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from flint import arb

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.exact.bits import Bits
from shortlist.exact.choice import is_below
from shortlist.exact.uniform import Uniform, draw_below
from shortlist.mechanisms import stated
from shortlist.mechanisms.joint import MarginJoint
from shortlist.mechanisms.mechanism import CommonOptions, Mechanism, Prepared, read_sizes
from shortlist.mechanisms.peel import CDPPeel, PNFPeel
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import LARGEST_EPSILON, Real, quote
from shortlist.privacy.zcdp import find_epsilon, find_largest_epsilon, find_rho_of_pure
from shortlist.profile import Levels, Picks

HANDICAP = Fraction(1)
"""A number that is added to the score of a mechanism with a `round_rate`, in units of 2Δ/ε votes. Near-ties go to the
other mechanisms. In a family it is not c times as large: that would be more than the counts of small groups."""
DISCOUNT = Fraction(1, 2)
"""A factor for the same scores. These mechanisms are wrong by little at some places, the others at all places."""
_GAIN = Fraction(11, 10)
"""`cdp-peel` replaces `pnf-peel`, and `noisy-counts` a peel, if its rate is larger by this factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Mechanism):
    """Choose k items by the mechanism that suits the data, which is chosen privately with a twentieth of epsilon.

    The candidates are those that the constraints allow. `margin-joint` is always one. A peel is another: `cdp-peel` if
    a delta is given and helps, else `pnf-peel`. With `ordered=False`, `subset` is a third, and the items are listed
    in the order of the domain, whichever is chosen. Then k may be a range of sizes: `subset` may choose any of them,
    and the others give the largest. With `votes_per_person`, the largest number of votes of one person that were
    counted, `noisy-counts` is one more. If it has less noise than the peel, as in most families, it replaces the peel.
    If it is chosen, the picks have noisy counts.

    With `rho` in place of epsilon, the choice has a twentieth of rho, and each candidate has the rest: they have
    different epsilons then.

    Claim  epsilon-DP without delta, else (epsilon, delta)-DP, when one person raises each count by 0 or 1. Its rho
           is the rho of the choice plus the largest rho of a candidate.
    Proof  auto.proof.md; families.proof.md, Theorem 6, for a family.
    Cost   the scores of all candidates, and one of their draws.

    >>> auto = Auto(k=10, epsilon=1)
    >>> list(auto.candidates), str(auto.guarantee.epsilon)
    (['margin-joint', 'pnf-peel'], '1')
    """

    name = "auto"
    summary = "chooses privately one of the others that suits the data, then runs it"
    when = "you do not know which: it is the default"
    guarantee_in_words = "ε, or (ε, δ) with a δ"
    rho_in_words = "ρ of the choice + the largest ρ of a candidate"
    audited = ({}, {"delta": Fraction(1, 5)}, {"ordered": False}, {"votes_per_person": 1})
    share: ClassVar[Fraction] = Fraction(1, 20)
    """The share of epsilon, or of rho, that the choice spends."""

    delta: Fraction | None = None
    ordered: bool = True
    votes_per_person: int | None = None
    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int | tuple[int, int],
            delta: Real | None = ...,
            ordered: bool = ...,
            votes_per_person: int | None = ...,
            at_least: int | None = ...,
            **common: Unpack[CommonOptions],
        ) -> None: ...

    def __post_init__(self) -> None:
        k, at_least = read_sizes(self.k, self.at_least)
        self._read(k=k, at_least=at_least)
        if not isinstance(self.ordered, bool):
            raise ParameterError("`ordered` must be True or False", f"not {quote(self.ordered)}")
        if self.ordered and self.at_least is not None:
            raise ParameterError(
                "`k` must be one number where the items have an order",
                "not a range",
                hint="pass `ordered=False`: a set may have any size in the range",
            )
        Mechanism.__post_init__(self)

    @property
    def choice_epsilon(self) -> Fraction:
        """What the choice spends: a share of epsilon, or the epsilon whose rho is that share of rho."""
        if self.rho is None:
            return self.epsilon * self.share
        return find_largest_epsilon(find_rho_of_pure, self.rho * self.share, most=LARGEST_EPSILON)

    @property
    def candidates(self) -> Mapping[str, Mechanism]:
        """The mechanisms that may be chosen, by name, each with the epsilon or the rho that the choice leaves."""
        return _build_candidates(self)

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
        if self.delta is not None and self.epsilon < self._sum_epsilons():
            delta = self.delta
        return Guarantee(epsilon=self.epsilon, delta=delta, rho=rho, neighbours=self.neighbours)

    def _find_epsilon(self, rho: Fraction) -> Fraction:
        """Find the epsilon that a rho implies: by the epsilons of the choice and the candidates, or at delta by rho."""
        added = self._sum_epsilons()
        return added if self.delta is None else min(added, find_epsilon(rho, self.delta) or added)

    def _sum_epsilons(self) -> Fraction:
        return self.choice_epsilon + max(each.epsilon for each in self.candidates.values())

    def resolve(self, chosen: str | None) -> Mechanism:
        """Return the mechanism that was chosen."""
        return self if chosen is None else self.candidates[chosen]

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> Iterator[tuple[stated.Output, arb]]:
        """State the law by brute force: the choice, then the law of the candidate."""
        return ((output, p) for (output,), p in self.state_family([histogram], reach=reach))

    def state_family(
        self, histograms: Sequence[stated.Histogram], *, reach: int = 6
    ) -> Iterator[tuple[tuple[stated.Output, ...], arb]]:
        """State the law of a family: one choice, then the law of the candidate."""
        chances = stated.flip_round(state_chances(self, histograms))
        for chance, (name, each) in zip(chances, self.candidates.items(), strict=True):
            for outputs, p in each.state_family(histograms, reach=reach):
                yield tuple(replace(output, chosen=name) for output in outputs), chance * p

    def draw_family(self, groups: Sequence[Levels], bits: Bits) -> list[Picks]:
        """Choose one candidate for the whole family, and k items of each group by it."""
        if not groups:
            return []
        for levels in groups:
            self.check_size(levels.d)
        name = PrivateChoice(groups, self).choose(bits)
        drawn = self.candidates[name].draw_family(groups, bits)
        return [replace(picks, chosen=name, unordered=not self.ordered) for picks in drawn]

    def _prepare(self, levels: Levels) -> ChosenDraws:
        return ChosenDraws(levels, self)


@lru_cache(maxsize=256)
def _build_candidates(auto: Auto) -> Mapping[str, Mechanism]:
    """Build the candidates with the epsilon or the rho that the choice leaves. They are public, and are remembered.

    Most choices are between two of them, so the others are imported where they are used.
    """
    common: dict[str, Any] = {"k": auto.k, "neighbours": auto.neighbours, "groups_per_person": auto.groups_per_person}
    if auto.rho is None:
        common["epsilon"] = auto.epsilon - auto.choice_epsilon
    else:
        common["rho"] = auto.rho - find_rho_of_pure(auto.choice_epsilon)
    peel: PNFPeel | CDPPeel = PNFPeel(**common)
    if auto.delta is not None:
        spread = CDPPeel(**common, delta=auto.delta)
        peel = spread if spread.round_rate > _GAIN * peel.round_rate else peel
    found: list[Mechanism] = [MarginJoint(**common), peel]
    if not auto.ordered:
        from shortlist.mechanisms.subset import Subset

        found.append(Subset(**common, at_least=auto.at_least))
    if auto.votes_per_person is not None:
        from shortlist.mechanisms.noisy_counts import NoisyCounts

        noisy = NoisyCounts(**common, votes_per_person=auto.votes_per_person, delta=auto.delta)
        if noisy.round_rate > _GAIN * peel.round_rate:
            found.remove(peel)
        found.append(noisy)
    return MappingProxyType({each.name: each for each in found})


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean over the groups of the score of a candidate. One person changes it by at most cΔ/G.

    The score of a group is made again when it is needed: those of many groups would need much memory.
    """

    candidate: Mechanism
    groups: Sequence[Levels]

    def enclose(self, effort: int) -> arb:
        """Enclose the mean."""
        rate = self.candidate.rate if self.candidate.round_rate is None else self.candidate.round_rate
        total = arb(0)
        for levels in self.groups:
            score = self.candidate.make_score(levels, rate)
            assert score is not None  # every candidate has one
            total += score.enclose(effort)
        return total / len(self.groups)


class PrivateChoice:
    """Auto's choice among the candidates, by their scores on the levels of one group or of all groups of a family.

    A forecast may look at some groups in place of all `lists`.
    """

    def __init__(self, groups: Sequence[Levels], auto: Auto, *, lists: int | None = None) -> None:
        self._candidates, lists = dict(auto.candidates), lists or len(groups)
        self._rate = auto.choice_epsilon * lists / (2 * auto.neighbours.sensitivity * auto.lists_per_person)
        self._chances: dict[int, dict[str, arb]] = {}
        """What `enclose_chances` returned for each effort."""
        self.scores = {name: MeanScore(each, groups) for name, each in self._candidates.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what was enclosed already: balls cannot be pickled, and are enclosed again when they are needed."""
        return vars(self) | {"_chances": {}}

    def choose(self, bits: Bits) -> str:
        """Choose a candidate by permute-and-flip: flip the coin of each, and choose uniformly among the heads.

        The coin of the best candidate always shows heads.
        """
        heads = []
        for name in self._candidates:
            if is_below(Uniform(bits), lambda effort, name=name: self.enclose_chances(effort)[name]):  # type: ignore[misc]
                heads.append(name)
        return heads[draw_below(len(heads), bits)] if len(heads) > 1 else heads[0]

    def enclose_chances(self, effort: int) -> dict[str, arb]:
        """Enclose e^(−ε₁ (score − smallest score) G / 2cΔ) of each candidate, with which its coin shows heads.

        Public numbers change some scores, which no person moves by more.
        """
        if effort in self._chances:
            return self._chances[effort]
        scores, chances = {}, {}
        # Rounds need more levels than a list in most cases. If their scores are made first, levels are read only once.
        for name, each in reversed(self._candidates.items()):
            score = self.scores[name].enclose(effort)
            changed = score * ball(DISCOUNT) + ball(HANDICAP / (each.rate * each.lists_per_person))
            scores[name] = score if each.round_rate is None else changed
        for name in self._candidates:
            excess = arb(0)
            for other in scores:
                excess = excess if other == name else excess.max(scores[name] - scores[other])
            chances[name] = (-ball(self._rate) * excess).exp()
        return self._chances.setdefault(effort, chances)


class ChosenDraws(PrivateChoice, Prepared):
    """Auto's law on given levels: choose a candidate by its score, then draw from it."""

    def __init__(self, levels: Levels, auto: Auto) -> None:
        super().__init__([levels], auto)
        self._levels = levels
        self._unordered = not auto.ordered
        self._prepared: dict[str, Prepared] = {}

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose n mechanisms, and k items by each. The draws of one mechanism are made together."""
        names = [self.choose(bits) for _ in range(n)]
        drawn = {}
        for name in dict.fromkeys(names):
            if name not in self._prepared:
                self._prepared[name] = self._candidates[name].prepare(self._levels)
            drawn[name] = iter(self._prepared[name].draw_many(names.count(name), bits))
        return [replace(next(drawn[name]), chosen=name, unordered=self._unordered) for name in names]


def state_chances(auto: Auto, histograms: Sequence[stated.Histogram]) -> list[arb]:
    """State e^(−ε₁ (score − smallest score) G / 2cΔ) of each candidate by brute force, for the mean of its scores."""
    groups = len(histograms)
    rate = auto.choice_epsilon / (2 * auto.neighbours.sensitivity * auto.lists_per_person)
    raised = []
    for name, each in auto.candidates.items():
        score = sum((state_score(each, histogram) for histogram in histograms), arb(0)) / groups
        # By name, and not by `round_rate`: the law says independently of the draws which scores are changed.
        if name in ("pnf-peel", "cdp-peel", "noisy-counts"):
            score = score * ball(DISCOUNT) + ball(HANDICAP * 2 * auto.neighbours.sensitivity / each.epsilon)
        raised.append(score)
    least = raised[0]
    for score in raised:
        least = score if score < least else least
    return [(-ball(rate) * groups * (score - least)).exp() for score in raised]


def state_score(candidate: Mechanism, histogram: stated.Histogram) -> arb:
    """State the score of a candidate by brute force."""
    k, top = candidate.k, sorted(histogram, reverse=True)
    if candidate.name == "margin-joint":
        places = [stated.log_sum(stated.losses(histogram, k), candidate.rate)] * k
    elif candidate.name == "subset":
        cut = [max(loss, 0) for loss in stated.set_losses(histogram, getattr(candidate, "sizes"))]  # noqa: B009
        places = [stated.log_sum(cut, candidate.rate)] * k
    else:
        assert candidate.round_rate is not None
        places = [stated.log_sum([top[j] - count for count in top[j:]], candidate.round_rate) for j in range(k)]
    return sum((each.min(arb(count)) for each, count in zip(places, top, strict=False)), arb(0)) / k
