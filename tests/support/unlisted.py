"""What every mechanism without a domain owes its caller.

A histogram is a tuple of counts, and its places are the items in the order of their bytes. An item with count 0 does
not exist: the mechanism sees the other counts only. So neighbours may have different sets of items.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
from contract import ALARM, RELATIONS
from flint import arb, ctx
from laws import Histogram, p_value
from noisy import capped_neighbours

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.mechanisms import Mechanism
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Picks, Profile
from shortlist.testing import SeededBits

Law = Mapping[Any, arb]
"""The probability of every output."""
FAR = "far"
"""All outputs that a law does not enumerate, as one output."""


class UnlistedContract:
    """Subclasses define `make` and `read`, and may widen what is enumerated."""

    epsilon: ClassVar[Fraction] = Fraction(1)
    delta: ClassVar[Fraction] = Fraction(1, 5)
    histograms: ClassVar[tuple[Histogram, ...]] = tuple(itertools.product(range(4), repeat=3))
    sampled: ClassVar[tuple[Histogram, ...]] = ((5, 0, 3, 3), (0, 9, 4, 4))
    draws: ClassVar[int] = 3000
    cap: ClassVar[int | None] = None

    def make(self, k: int, epsilon: Fraction, relation: str = "add-remove") -> Mechanism:
        raise NotImplementedError

    def law(self, mechanism: Mechanism, histogram: Histogram) -> Law:
        """The law that the mechanism states by brute force."""
        stated = mechanism.state_law(histogram)
        return {output.items if output.counts is None else (output.items, output.counts): p for output, p in stated}

    def read(self, picks: Picks, items: Sequence[int]) -> tuple[object, ...]:
        """The output as `law` names it, given the items that were chosen."""
        return tuple(items)

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("k", [1, 2])
    def test_no_neighbour_is_told_apart(self, k: int, relation: str) -> None:
        """On every small histogram and every neighbour, also one with other items, hockey sticks are within delta."""
        with ctx.workprec(96):
            mechanism = self.make(k, self.epsilon, relation)
            worst = find_worst(lambda each: self.law(mechanism, each), self.histograms, relation, self.cap, 1)
            assert not worst > ball(self.delta)
            self.check_worst(worst)

    def check_worst(self, worst: arb) -> None:
        """The largest divergence is not far below delta: the enumeration would see a mechanism that is too sure."""
        assert worst > ball(self.delta) / 8

    def test_probabilities_sum_to_one(self) -> None:
        """The stated law is a law."""
        with ctx.workprec(96):
            for histogram in self.histograms[::5]:
                total = sum(self.law(self.make(2, self.epsilon), histogram).values(), arb(0))
                assert abs(total - 1) < arb(10) ** -6

    @pytest.mark.slow
    @pytest.mark.parametrize("at_once", [False, True])
    def test_sampling_follows_the_law_and_no_other(self, at_once: bool) -> None:
        """Sampled frequencies match the stated law, and miss it when epsilon is 30 % off; also many draws at once."""
        right, low, high = (
            [self.sampled_p_value(each, factor, at_once) for each in self.sampled]
            for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10))
        )
        assert min(right) > ALARM
        assert min(low) < ALARM
        assert min(high) < ALARM

    def sampled_p_value(self, histogram: Histogram, factor: Fraction, at_once: bool) -> float:
        observed = draw_outputs(type(self), histogram, at_once)
        with ctx.workprec(96):
            law = self.stretched_law(histogram, factor)
        far = sum(number for output, number in observed.items() if output not in law)
        assert FAR in law or not far
        counts = [far if output == FAR else observed[output] for output in law]
        return p_value(counts, [max(0.0, float(p.mid())) for p in law.values()])

    def stretched_law(self, histogram: Histogram, factor: Fraction) -> Law:
        """The law with an epsilon that is `factor` times as large."""
        return self.law(self.make(2, self.epsilon * factor), histogram)

    @pytest.mark.parametrize("counts", [[3], [0, 0], [], [5] * 40, [2**63 - 1, 0, 7], [9, 8, 7, 0, 5, 4, 3]])
    def test_names_at_most_k_items_that_have_votes(self, counts: list[int]) -> None:
        """However many items exist, there is no error: their number is data."""
        array = np.array(counts, dtype=np.int64)
        for k, epsilon in itertools.product((1, 4), ("1e-9", "1", "1000000")):
            levels = Profile.of(array) if len(array) else Nobody()
            prepared, bits = self.make(k, Fraction(epsilon)).prepare(levels), SeededBits(k)
            for picks in (prepared.draw(bits), *prepared.draw_many(3, bits)):
                assert len(picks.levels) <= min(k, np.count_nonzero(array))
                assert (picks.levels > 0).all()
                chosen = set(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
                assert len(chosen) == len(picks.levels)
                assert all(rank < counts.count(level) for level, rank in chosen)

    def test_finds_clear_leaders(self) -> None:
        """Items with very many votes are chosen, and items of one person are not."""
        counts = np.array([1] * 50 + [10**6, 10**6] + [1] * 50)
        picks = self.make(2, self.epsilon).prepare(Profile.of(counts)).draw(SeededBits(1))
        assert picks.levels.tolist() == [10**6, 10**6]

    def test_the_guarantee_has_a_delta_and_a_rho_that_needs_one(self) -> None:
        """An item of one person may show, so rho needs a delta, too. It is not larger than the delta."""
        guarantee = self.make(2, Fraction(1)).guarantee
        assert (guarantee.epsilon, guarantee.delta) == (1, self.delta)
        assert 0 < guarantee.rho_delta <= self.delta
        assert guarantee.rho is not None
        assert guarantee.rho <= find_rho_of_pure(Fraction(1))

    def test_refuses_a_wrong_epsilon(self) -> None:
        """An epsilon that promises nothing is refused when the mechanism is built."""
        for epsilon in (0, -1, float("nan"), "one", None, True, 1e7):
            with pytest.raises(ParameterError, match="epsilon"):
                self.make(2, epsilon)  # type: ignore[arg-type]


class Nobody:
    """Counts of no items at all."""

    d = 0

    def above(self, k: int, depth: int) -> Profile:
        raise AssertionError("there are no levels")


def observe(histogram: Histogram) -> Profile:
    """The profile of the items that exist."""
    return Profile.of(np.array([count for count in histogram if count]))


def find_worst(
    law: Callable[[Histogram], Law],
    histograms: Sequence[Histogram],
    relation: str,
    cap: int | None,
    epsilon: int,
) -> arb:
    """The largest hockey-stick divergence over all neighbours among some histograms, in both directions."""
    laws = {each: law(each) for each in histograms}
    factor = arb(epsilon).exp()
    worst = arb(0)
    for histogram in histograms:
        for other in capped_neighbours(histogram, relation, len(histogram) if cap is None else cap):
            if other in laws:
                worst = max(worst, hockey_stick(laws[histogram], laws[other], factor))
    return worst


def hockey_stick(here: Law, there: Law, factor: arb) -> arb:
    """How much more than e^epsilon times the other's one law puts anywhere. Outputs may differ."""
    gaps = (p - factor * there.get(output, arb(0)) for output, p in here.items())
    return sum((gap for gap in gaps if gap > 0), arb(0))


@lru_cache(maxsize=64)
def draw_outputs(contract: type[UnlistedContract], histogram: Histogram, at_once: bool) -> Counter[tuple[object, ...]]:
    """Draw from the mechanism, and name the items by their place in the histogram."""
    this, bits = contract(), SeededBits(5)
    prepared = this.make(2, this.epsilon).prepare(observe(histogram))
    names = {}
    for item, count in enumerate(histogram):
        names[count, sum(other == count for other in histogram[:item])] = item
    found: Counter[tuple[object, ...]] = Counter()
    single = (prepared.draw(bits) for _ in range(this.draws))
    for picks in prepared.draw_many(this.draws, bits) if at_once else single:
        items = [names[pair] for pair in zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True)]
        found[this.read(picks, items)] += 1
    return found
