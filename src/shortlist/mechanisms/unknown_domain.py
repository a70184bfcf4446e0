"""Mechanisms without a public list of items: limited-domain, threshold and stable.

They see the observed items only, and may choose fewer than k. An item that nobody voted for does not exist for them.
One person can therefore add an item or take it away. Which items exist is data, and so is their number: no error and
no parameter may depend on it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Unpack

import numpy as np
from flint import arb

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteLaplace, Noise, bound_noise
from shortlist.mechanisms import stated
from shortlist.mechanisms.mechanism import CommonOptions, Mechanism, Prepared, ceil_log, read_sizes
from shortlist.mechanisms.noisy_counts import NoisyDraws, choose_noise
from shortlist.mechanisms.peel import PeelLevels, PeelRun
from shortlist.privacy import Guarantee
from shortlist.privacy.bounded_range import Calibration, calibrate
from shortlist.privacy.numbers import Choice, Real, quote, read_whole
from shortlist.privacy.zcdp import find_excess_order, find_rho, find_rho_of_pure, round_down
from shortlist.profile import EVERY_LEVEL, NO_PICKS, Levels, Picks, Profile

_AUDITED_DELTA = Fraction(1, 5)
"""Large, because a small delta makes no difference for the few items that can be enumerated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownDomain(Mechanism):
    """A mechanism that needs no domain: it chooses up to k of the items that have votes, and it needs a delta."""

    guarantee_in_words = "(ε, δ)"
    needs_domain = False
    counted: ClassVar[bool] = False
    """Whether the picks have noisy counts."""

    delta: Fraction

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.k > EVERY_LEVEL:  # no domain bounds k, and the record must hold it
            raise ParameterError("`k` must be at most 2^63 − 1", f"not {quote(self.k)}")

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises. Its ρ is that of approximate zCDP."""
        rho, failure = self._state_rho()
        return Guarantee(epsilon=self.epsilon, delta=self.delta, rho=rho, rho_delta=failure, neighbours=self.neighbours)

    @abstractmethod
    def _state_rho(self) -> tuple[Fraction, Fraction]:
        """State the ρ of approximate zCDP, and its δ₁."""

    def _prepare(self, levels: Levels) -> Prepared:
        profile = levels.above(1, EVERY_LEVEL) if levels.d else Profile.of(np.zeros(0, dtype=np.int64))
        voted = int(np.count_nonzero(profile.values))
        if not voted:
            return NothingToChoose(counted=self.counted, unordered=self.unordered)
        observed = Profile(values=profile.values[:voted], sizes=profile.sizes[:voted], d=int(profile.ends[voted - 1]))
        return self._prepare_observed(observed)

    @abstractmethod
    def _prepare_observed(self, observed: Profile) -> Prepared:
        """Prepare for the items that have votes."""


class NothingToChoose(Prepared):
    """A mechanism that always chooses no item. Its picks look like those of any draw that chooses none."""

    def __init__(self, *, counted: bool = False, unordered: bool = False) -> None:
        self._picks = replace(NO_PICKS, counts=NO_PICKS.levels if counted else None, unordered=unordered)

    def draw(self, bits: Bits) -> Picks:
        """Choose no item."""
        return self._picks


_FEWEST = 1000
_TIMES = 20
_GAIN = Fraction(21, 20)
"""Half of delta is spent on the rounds only if a round can then spend more than this factor times ε/k."""
_MOST_COPIES = 1 << 40
_HIGHEST = 1 << 61


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedDomain(UnknownDomain):
    """Choose up to k items one after another among the `k_bar` most-voted ones, and stop where a stop is drawn.

    An item with h votes weighs e^(rate · h). Let t be the number of votes of the item after the first `k_bar`, or 0.
    The stop weighs (c/δ₁) e^(rate · (t + Δ)), where c is the smaller of `k_bar` and `votes_per_person`. Equal counts at
    the cut-off are ordered by the item's bytes. `k_bar` is 20 k by default, and 1,000 at least.

    Claim  (epsilon, delta)-DP, and (k ε′²/8)-zCDP with δ₁, when one person raises each count by 0 or 1, at most
           `votes_per_person` of them. In a family, this is the number of votes in all groups together.
    Proof  limited_domain.proof.md; families.proof.md, Theorem 5, for a family.
    Cost   one pass over the profile, then O(k) for each draw.

    >>> mechanism = LimitedDomain(k=10, epsilon=1, delta="1e-6")
    >>> mechanism.k_bar, float(mechanism.round_epsilon), mechanism.votes_needed
    (1000, 0.149..., 145)
    """

    name = "limited-domain"
    summary = "k rounds of the exponential mechanism among the most-voted items, with a stop"
    when = "there is no list of all items, and k is small"
    rho_in_words = "kε′²/8, with a δ"
    # Two candidates, so that items of few people are at the cut-off.
    audited = ({"delta": _AUDITED_DELTA, "k_bar": 2}, {"delta": _AUDITED_DELTA, "k_bar": 2, "votes_per_person": 1})

    k_bar: int = None  # type: ignore[assignment]  # it is chosen when the object is built
    votes_per_person: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            delta: Real,
            k_bar: int | None = ...,
            votes_per_person: int | None = ...,
            **common: Unpack[CommonOptions],
        ) -> None: ...

    def __post_init__(self) -> None:
        UnknownDomain.__post_init__(self)
        if self.k_bar is None:
            self._read(k_bar=max(_TIMES * self.k, _FEWEST))
        elif self.k_bar < self.k:
            raise ParameterError(
                f"`k_bar` must be at least `k`, which is {quote(self.k)}",
                f"not {quote(self.k_bar)}",
                hint="leave `k_bar` out",
            )

    @property
    def round_epsilon(self) -> Fraction:
        """ε′, the epsilon of one round: rounded down, and never less than ε/k, or ε/ck in a family."""
        return self._split()[0]

    @property
    def rate(self) -> Fraction:
        """How fast the weight of an item falls with each vote that it is short of the best one left, in one round."""
        return self.round_epsilon / self.neighbours.sensitivity

    @property
    def hidden_delta(self) -> Fraction:
        """δ₁, the part of delta with which an item of one person may show. The rounds spend the rest."""
        return self._split()[1]

    @property
    def stop(self) -> Stop | None:
        """The stop as copies of an item that has so many votes more than the item at the cut-off."""
        return place_stop(self._stop_weight(), self.rate, height=self.neighbours.sensitivity)

    @property
    def votes_needed(self) -> int:
        """How many votes more than the item at the cut-off an item must have to weigh as much as the stop."""
        return self.neighbours.sensitivity + ceil_log(self._stop_weight(), self.rate)

    def find_need(self, profile: Profile) -> int:
        """Find how many votes an item needs to weigh as much as the stop."""
        at_cut = int(profile.top(self.k_bar + 1)[-1]) if profile.d > self.k_bar else 0
        return at_cut + self.votes_needed

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law of all lists: items one by one, until a stop or k items."""
        rate = self.round_epsilon / (1 if self.neighbours == "add-remove" else 2)
        ranked, stop = stated.rank_items(histogram), self.stop
        candidates = ranked[: self.k_bar] if stop is not None else []
        cut = histogram[ranked[len(candidates)]] if len(ranked) > len(candidates) else 0
        weights = {item: stated.decay(rate, -histogram[item]) for item in candidates}
        halt = arb(1) if stop is None else stop.copies * stated.decay(rate, -(cut + stop.height))
        for chosen in stated.sequences_up_to(candidates, self.k):
            chance, left = arb(1), set(candidates)
            for item in chosen:
                chance *= weights[item] / sum((weights[other] for other in left), halt)
                left.remove(item)
            if len(chosen) < self.k:
                chance *= halt / sum((weights[other] for other in left), halt)
            yield stated.Output(chosen), chance

    def _state_rho(self) -> tuple[Fraction, Fraction]:
        return self.rounds * self.round_epsilon**2 / 8, self.hidden_delta

    def _stop_weight(self) -> Fraction:
        """c/δ₁: how much more the stop weighs than an item that one person can show, in any list of a family."""
        in_one_list = Fraction(self.k_bar)
        if self.votes_per_person is not None:
            in_one_list = min(in_one_list, Fraction(self.votes_per_person, self.lists_per_person))
        return self.lists_changed * in_one_list / self.hidden_delta

    def _split(self) -> tuple[Fraction, Fraction]:
        """Return ε′ and δ₁. If half of delta buys hardly more than ε/ck for a round, all of delta hides items."""
        least = self.epsilon / self.rounds
        if self.rounds == 1:
            return least, self.delta
        calibration = Calibration.OPTIMAL if self.rho is None else Calibration.TIGHT
        spread = calibrate(self.rounds, self.epsilon, self.delta / 2, calibration)
        return (spread, self.delta / 2) if spread > _GAIN * least else (least, self.delta)

    def _prepare_observed(self, observed: Profile) -> Prepared:
        stop = self.stop
        if stop is None:
            return NothingToChoose()
        return StoppedPeel(observed, k=self.k, k_bar=self.k_bar, rate=self.rate, stop=stop)


class Stop(NamedTuple):
    """Copies of an item with `height` votes more than the item at the cut-off."""

    height: int
    copies: int


def place_stop(weight: Fraction, rate: Fraction, *, height: int) -> Stop | None:
    """Find copies of an item at `height` votes or more that weigh together at least `weight` items at `height`.

    There are 2^40 copies at most. None stands for a stop that is out of reach of every count: it is always drawn.

    >>> place_stop(Fraction(2000), Fraction(1, 10), height=1)
    Stop(height=1, copies=2000)
    """
    more = max(0, ceil_log(max(Fraction(1), weight / _MOST_COPIES), rate))
    if more > _HIGHEST:
        return None
    if not more:
        return Stop(height=height, copies=math.ceil(weight))
    with use_precision():
        copies = (ball(weight) * enclose_exp_minus(rate * more)).upper().ceil().unique_fmpz()
    assert copies is not None
    return Stop(height=height + more, copies=int(copies))


class StoppedPeel(Prepared):
    """The law of limited-domain on the profile of the observed items: a peel that ends where the stop is drawn.

    The stop is a number of copies of one further item. So the run is a peel of a profile with more items on one level,
    and an item of that level with a rank beyond the observed ones is the stop.
    """

    def __init__(self, observed: Profile, *, k: int, k_bar: int, rate: Fraction, stop: Stop) -> None:
        self.cut, candidates = cut_candidates(observed, k_bar)
        """The count at the cut-off."""
        self.copies = stop.copies
        values, sizes = candidates.values, candidates.sizes.copy()
        self.stop_level = level = int(np.searchsorted(-values, -stop.height))
        if level == len(values) or int(values[level]) != stop.height:
            values, sizes = np.insert(values, level, stop.height), np.insert(sizes, level, 0)
        self._first_stop = int(sizes[level])
        sizes[level] += stop.copies
        self.candidates = Profile(values=values, sizes=sizes, d=candidates.d + stop.copies)
        # After all candidates, only the stop is left.
        self.peeling = PeelLevels(self.candidates, k=min(k, candidates.d + 1), rate=rate)

    def draw(self, bits: Bits) -> Picks:
        """Choose up to k items."""
        run = PeelRun(self.peeling, bits)
        for _ in range(self.peeling.k):
            run.take(*run.propose())
            level, rank = run.taken[-1]
            if level == self.stop_level and rank >= self._first_stop:
                run.taken.pop()
                break
        picks = run.picks()
        return Picks(levels=picks.levels + self.cut, ranks=picks.ranks)


def cut_candidates(observed: Profile, k_bar: int) -> tuple[int, Profile]:
    """Return the count after the first `k_bar` ones, and the profile of these, with counts relative to it.

    >>> cut_candidates(Profile.of(np.array([9, 4, 4, 4, 1])), 3)
    (4, Profile(values=array([5, 0]), sizes=array([1, 2]), d=3))
    """
    if observed.d <= k_bar:
        return 0, observed
    last = int(np.searchsorted(observed.ends, k_bar, side="right"))
    cut = int(observed.values[last])
    before = int(observed.ends[last] - observed.sizes[last])
    sizes = np.append(observed.sizes[:last], k_bar - before)
    values = observed.values[: last + 1] - cut
    whole = slice(None) if sizes[-1] else slice(-1)
    return cut, Profile(values=values[whole], sizes=sizes[whole], d=k_bar)


class NoiseLaw(Choice):
    """The law of the noise on each count."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold(UnknownDomain):
    """Choose the items whose noisy counts reach a threshold, the k largest at most, and release these counts.

    With m votes per person and c = mΔ, the noise is discrete Gaussian of variance c/2ρ or discrete Laplace of scale
    c/ε. Without `noise`, it is the law with the lower threshold. Equal noisy counts are ordered at random.

    Claim  (epsilon, delta)-DP, and ρ-zCDP with a δ₁ of delta at most, when one person casts at most m votes, for
           different items; ρ is ε tanh(ε/2c) for Laplace noise. In a family, m is the number of votes in all groups
           together.
    Proof  threshold.proof.md; families.proof.md for a family.
    Cost   one pass over the profile, then about k noises for each draw, however many items there are.

    >>> mechanism = Threshold(k=100, epsilon=1, delta="1e-6", votes_per_person=20)
    >>> mechanism.law, mechanism.threshold
    (DiscreteGaussian(variance=...), 110)
    """

    name = "threshold"
    summary = "the items whose counts reach a threshold after noise, with the noisy counts"
    when = "there is no list of all items, people cast few votes each, and k is large"
    rho_in_words = "ρ, or ε·tanh(ε/2m), with a δ"
    counted = True
    # With two votes, one person can bring two items, or one, and move the count of another.
    audited = tuple(
        {"delta": _AUDITED_DELTA, "votes_per_person": cap, "noise": noise}
        for cap in (1, 2)
        for noise in ("laplace", "gaussian")
    )

    votes_per_person: int
    noise: NoiseLaw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            delta: Real,
            votes_per_person: int,
            noise: str | None = ...,
            **common: Unpack[CommonOptions],
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.noise is not None:
            self._read(noise=NoiseLaw.read(self.noise, name="noise"))
        elif self.rho is not None:  # for one rho, the tail of Gaussian noise is the lighter one
            self._read(noise=NoiseLaw.GAUSSIAN)
        UnknownDomain.__post_init__(self)
        if self.noise is None:
            self._read(noise=min(NoiseLaw, key=lambda each: self._find(each)[1]))

    @property
    def law(self) -> Noise:
        """The noise on each count."""
        return self._find(self.noise)[0]

    @property
    def threshold(self) -> int:
        """The smallest noisy count that is released."""
        return self._find(self.noise)[1]

    def find_need(self, profile: Profile) -> int:
        """Find how many votes an item needs: the threshold."""
        return self.threshold

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law of lists with noisy counts, up to `reach` beyond the threshold and the histogram."""
        least, law = self.threshold, self.law
        noise = stated.laplace_law(law.b) if isinstance(law, DiscreteLaplace) else stated.gaussian_law(law.variance)
        observed = [item for item, count in enumerate(histogram) if count]
        counts = tuple(histogram[item] for item in observed)
        values = range(least, max(least, *histogram) + reach + 1)
        for places in stated.sequences_up_to(range(len(observed)), self.k):
            items = tuple(observed[place] for place in places)
            for noisy in stated.falling_counts(len(places), values):
                if len(places) == self.k:
                    yield stated.Output(items, noisy), stated.output_chance(counts, places, noisy, noise)
                else:
                    yield stated.Output(items, noisy), stated.chance_of_few(counts, places, noisy, least, noise)

    def _state_rho(self) -> tuple[Fraction, Fraction]:
        moved, law = self.votes_per_person * self.neighbours.sensitivity, self.law
        pure = isinstance(law, DiscreteLaplace)
        return find_rho_of_pure(self.epsilon, moved) if pure else find_rho(self.epsilon, self.delta), self.delta

    def _find(self, noise: NoiseLaw | None) -> tuple[Noise, int]:
        moved = self.votes_per_person * self.neighbours.sensitivity
        if noise is NoiseLaw.LAPLACE:
            law, hidden = choose_noise(moved, self.epsilon, None), self.delta
        else:
            # A person who brings an item moves one count fewer, so delta need not be divided between noise and items:
            # δ (1 − e^(−α(α−1)ρ/Δ)) is left for hiding items, rounded down.
            rho, excess = find_rho(self.epsilon, self.delta), find_excess_order(self.epsilon, self.delta)
            law = choose_noise(moved, self.epsilon, rho)
            with use_precision():
                left = enclose_shortfall((excess + 1) * excess * rho / self.neighbours.sensitivity)
                hidden = round_down(ball(self.delta) * left)
        return law, find_threshold(law, self.votes_per_person, hidden)

    def _prepare_observed(self, observed: Profile) -> ItemsAboveThreshold:
        return ItemsAboveThreshold(observed, k=self.k, law=self.law, threshold=self.threshold)


class ItemsAboveThreshold(Prepared):
    """The law of threshold on the profile of the observed items: those of the k largest noisy counts that reach it."""

    def __init__(self, observed: Profile, *, k: int, law: Noise, threshold: int) -> None:
        self._largest = NoisyDraws(observed, k=min(k, observed.d), noise=law)
        self._threshold = threshold

    def draw_many(self, n: int, bits: Bits) -> list[Picks]:
        """Choose the items n times, with their noisy counts."""
        drawn = []
        for picks in self._largest.draw_many(n, bits):
            assert picks.counts is not None
            kept = picks.counts >= self._threshold
            drawn.append(Picks(levels=picks.levels[kept], ranks=picks.ranks[kept], counts=picks.counts[kept]))
        return drawn


@lru_cache(maxsize=256)
def find_threshold(law: Noise, most: int, hidden: Fraction) -> int:
    """Find a T such that items with one vote stay below T after noise.

    Claim   p = P(1 + noise ≥ T) satisfies most · p ≤ hidden and p ≤ 1 − e^(−x), where x is 1/b or 1/2σ².

    >>> find_threshold(DiscreteLaplace(Fraction(1)), 1, Fraction(1, 10**6))
    15
    """
    x = 1 / law.b if isinstance(law, DiscreteLaplace) else 1 / (2 * law.variance)
    with use_precision():
        rare = round_down(enclose_shortfall(x))
    # `bound_noise` finds the smallest B with 2 · count · P(noise ≥ B + 1) ≤ failure.
    return 2 + max(bound_noise(law, most, 2 * hidden), bound_noise(law, 1, 2 * rare))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stable(UnknownDomain):
    """Choose a size n with probability ∝ e^(ε₁ g(n) / 2Δ), then release the n most-voted items if g(n) is wide.

    g(n) is the gap between the n-th and the next largest count; a count that does not exist is 0. The set is released
    if g(n) is above 0 and g(n) + discrete Laplace noise of scale Δ/ε₂ reaches `threshold`. Else nothing is. Sizes are
    from `at_least` to k; `at_least` is half of k by default, and a pair as k gives both.

    Claim  (epsilon, delta)-DP, and (ε₁²/8 + ε₂ tanh(ε₂/2))-zCDP with δ₁ = delta, when one person raises each count by 0
           or 1.
    Proof  stable.proof.md; families.proof.md, Theorem 5, for a family.
    Cost   one pass over the profile, then one choice and one noise for each draw.

    >>> mechanism = Stable(k=10, epsilon=1, delta="1e-6")
    >>> mechanism.sizes, mechanism.threshold
    (range(5, 11), 28)
    """

    name = "stable"
    summary = "the exact set of the most-voted items, at a size where the counts have a gap, or nothing"
    when = "there is no list of all items, and a set of any size near k that is exactly right is wanted"
    rho_in_words = "ε₁²/8 + ε₂·tanh(ε₂/2), with a δ"
    audited = ({"delta": _AUDITED_DELTA},)
    unordered: ClassVar[bool] = True

    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int | tuple[int, int], delta: Real, at_least: int | None = ..., **common: Unpack[CommonOptions]
        ) -> None: ...

    def __post_init__(self) -> None:
        one_size = isinstance(self.k, Sequence) or self.at_least is not None
        sizes, at_least = read_sizes(self.k, self.at_least)
        k = read_whole(sizes, name="k")
        self._read(k=k, at_least=at_least or (k if one_size else (k + 1) // 2))
        UnknownDomain.__post_init__(self)

    @property
    def sizes(self) -> range:
        """How many items a set may have."""
        assert self.at_least is not None
        return range(self.at_least, self.k + 1)

    @property
    def size_epsilon(self) -> Fraction:
        """ε₁, which the choice of one size spends: half of ε/c, or 0 where there is only one size."""
        return self.list_epsilon / 2 if self.at_least != self.k else Fraction(0)

    @property
    def rate(self) -> Fraction:
        """How fast the weight of a size falls with each vote by which its gap is narrower."""
        return self.size_epsilon / (2 * self.neighbours.sensitivity)

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on the gap."""
        return DiscreteLaplace(self.neighbours.sensitivity / (self.list_epsilon - self.size_epsilon))

    @property
    def threshold(self) -> int:
        """The smallest noisy gap with which a set is released.

        It is Δ + 1 + T with the smallest T such that P(noise ≥ T + 1) ≤ delta, or a share of delta in a family.
        """
        return self.neighbours.sensitivity + 1 + bound_noise(self.law, self.lists_changed, 2 * self.delta)

    def state_law(self, histogram: stated.Histogram, *, reach: int = 6) -> stated.Stated:
        """State the law of the set, which may be empty."""
        step = 1 if self.neighbours == "add-remove" else 2
        ranked = stated.rank_items(histogram)
        counts = [*(histogram[item] for item in ranked), *[0] * (self.k + 1)]
        gaps = {size: counts[size - 1] - counts[size] for size in self.sizes}
        whole, part = self.epsilon / self.lists_per_person, self.size_epsilon
        weights = {size: stated.decay(part / (2 * step), -gap) for size, gap in gaps.items()}
        total, nothing = sum(weights.values(), arb(0)), arb(0)
        _, below = stated.laplace_law(step / (whole - part))
        for size, gap in gaps.items():
            passes = 1 - below(self.threshold - 1 - gap) if gap else arb(0)
            if gap:
                yield stated.Output(tuple(sorted(ranked[:size]))), weights[size] / total * passes
            nothing += weights[size] / total * (1 - passes)
        yield stated.Output(()), nothing

    def _state_rho(self) -> tuple[Fraction, Fraction]:
        of_gap = find_rho_of_pure(self.list_epsilon - self.size_epsilon)
        return self.lists_per_person * (self.size_epsilon**2 / 8 + of_gap), self.delta

    def _prepare_observed(self, observed: Profile) -> StableSets:
        return StableSets(observed, sizes=self.sizes, rate=self.rate, law=self.law, threshold=self.threshold)


class StableSets(Prepared):
    """The law of stable on the profile of the observed items."""

    def __init__(
        self, observed: Profile, *, sizes: range, rate: Fraction, law: DiscreteLaplace, threshold: int
    ) -> None:
        self._observed = observed
        self._sizes = sizes
        self._law = law
        self._threshold = threshold
        self.gaps = observed.find_gaps(sizes)
        listed = Profile.of(self.gaps)
        members = listed.sizes.copy()
        members[-1] += len(sizes) - len(self.gaps)  # all further sizes have the gap 0, which is the narrowest
        # A size weighs as much as an item with so many votes as its gap. With one size, any rate will do.
        gaps = Profile(values=listed.values, sizes=members, d=len(sizes))
        self._all_sizes = PeelLevels(gaps, k=1, rate=rate or Fraction(1))

    def draw(self, bits: Bits) -> Picks:
        """Choose a set of items, or none."""
        level, place = PeelRun(self._all_sizes, bits).propose()
        gap = int(self._all_sizes.profile.values[level])
        noisy = gap + int(self._law.draw(1, bits)[0])
        released = 0
        if gap > 0 and noisy >= self._threshold:
            released = self._sizes.start + int(np.flatnonzero(self.gaps == gap)[place])
        picks = self._observed.picks(np.arange(released))
        return Picks(levels=picks.levels, ranks=picks.ranks, unordered=True)
