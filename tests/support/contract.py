"""What a mechanism owes its caller. Say how to make one, and which law its draws imply; inherit the tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow
import pytest
from divergences import Law, keeps
from flint import arb, ctx
from laws import Histogram, neighbour_pairs, p_value, random_histograms, same, sequences, small_histograms

from shortlist import prepare, select, top_k
from shortlist.array_types import IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.exact.choice import Table
from shortlist.mechanisms import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.profile import Levels, Picks, Profile
from shortlist.testing import SeededBits

ALARM = 1e-9
RELATIONS = ("add-remove", "replace")
SHAPES: tuple[list[int], ...] = (
    [3],
    [5, 5, 5, 5],
    [0, 0, 0],
    [0, 10**6, 0, 0],
    [2**62, 2**62 - 1, 0, 7, 7],
    [9, 8, 7, 6, 5, 4, 3],
    [2**63 - 1, 0],
)


class Subject:
    """The mechanism under test, and what is enumerated. Subclasses define `make` and `implied_law`."""

    epsilon: ClassVar[Fraction] = Fraction(1)
    largest_d: ClassVar[int] = 4
    """All histograms with up to this many items are small."""
    random_cases: ClassVar[tuple[int, int]] = (120, 7)
    """How many random histograms the law is checked on, and how large d may be."""
    private_cases: ClassVar[tuple[int, int]] = (12, 5)
    """How many of them, and how large, all neighbours are checked on."""
    sampled: ClassVar[tuple[tuple[Histogram, int], ...]] = (((5, 3, 3, 0), 2), ((9, 4, 4, 1, 0), 3), ((2, 2, 1), 3))
    draws: int = 6_000
    at_once: bool = False
    """Whether lists are drawn many at once."""

    def make(self, k: int, epsilon: Fraction, relation: str = "add-remove") -> Mechanism:
        raise NotImplementedError

    def law(self, histogram: Histogram, k: int, epsilon: Fraction, relation: str = "add-remove") -> list[arb]:
        """The law that the mechanism states by brute force, over `laws.sequences`."""
        stated = {output.items: p for output, p in self.make(k, epsilon, relation).state_law(histogram)}
        return [stated[items] for items in sequences(len(histogram), k)]

    def implied_law(self, mechanism: Mechanism, histogram: Histogram) -> list[arb]:
        """The law that follows from the weights the mechanism itself uses, over `laws.sequences`."""
        raise NotImplementedError


class LawContract(Subject):
    """The mechanism has its stated law, by enumeration and in samples, and names items in all shapes of counts."""

    @pytest.mark.slow
    @pytest.mark.parametrize("relation", RELATIONS)
    def test_law_is_the_stated_one_on_every_small_histogram(self, relation: str) -> None:
        """The mechanism's own weights imply the enumerated law, as certified balls."""
        for histogram in small_histograms(self.largest_d):
            for k in range(1, len(histogram) + 1):
                self.check_law(histogram, k, relation)

    @pytest.mark.slow
    def test_law_is_the_stated_one_on_random_histograms(self) -> None:
        """So they do with ties, zeros and gaps wider than any threshold."""
        rng = np.random.default_rng(5)
        for histogram in random_histograms(*self.random_cases, seed=11):
            self.check_law(histogram, int(rng.integers(1, min(len(histogram), 3) + 1)), "add-remove")

    def check_law(self, histogram: Histogram, k: int, relation: str) -> None:
        with ctx.workprec(300):
            mechanism = self.make(k, self.epsilon, relation)
            stated = self.law(histogram, k, self.epsilon, relation)
            assert same(self.implied_law(mechanism, histogram), stated), (histogram, k)

    @pytest.mark.slow
    def test_sampling_follows_the_law_and_no_other(self) -> None:
        """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
        self.check_sampling()

    @pytest.mark.slow
    def test_many_draws_follow_the_law_and_no_other(self) -> None:
        """So do lists that are drawn many at once."""
        self.at_once = True
        self.check_sampling()

    @pytest.mark.slow
    def test_many_draws_in_doubt_follow_the_law(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """So they do if floats are trusted so little that most decisions are made with balls."""
        trusting = Table.__init__

        def doubt(table: Table, *arguments: Any, **options: Any) -> None:
            trusting(table, *arguments, **options)
            table.slack += 0.1

        monkeypatch.setattr(Table, "__init__", doubt)
        self.at_once, self.draws = True, self.draws // 20
        tests = [self.sampled_p_values(histogram, k) for histogram, k in self.sampled]
        assert all(right > ALARM for right, _, _ in tests)

    def check_sampling(self) -> None:
        tests = [self.sampled_p_values(histogram, k) for histogram, k in self.sampled]
        assert all(right > ALARM for right, _, _ in tests)
        assert any(low < ALARM for _, low, _ in tests)
        assert any(high < ALARM for _, _, high in tests)

    def sample(self, prepared: Prepared) -> Iterable[Picks]:
        """Draw lists, one by one or many at once."""
        bits = SeededBits(3)
        if self.at_once:
            return prepared.draw_many(self.draws, bits)
        return (prepared.draw(bits) for _ in range(self.draws))

    def sampled_p_values(self, histogram: Histogram, k: int) -> tuple[float, float, float]:
        prepared = self.make(k, self.epsilon).prepare(Profile.of(np.array(histogram)))
        drawn = Counter(
            tuple(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True)) for picks in self.sample(prepared)
        )
        names = item_names(histogram)
        observed = [drawn[tuple(names[item] for item in each)] for each in sequences(len(histogram), k)]
        assert sum(observed) == self.draws
        right, low, high = (
            p_value(observed, [float(p.mid()) for p in self.law(histogram, k, self.epsilon * factor)])
            for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10))
        )
        return right, low, high

    def test_names_k_distinct_items(self) -> None:
        """A release names k different items, whatever the counts and the noise."""
        for counts in SHAPES:
            self.check_shape(np.array(counts))

    def check_shape(self, array: IntArray) -> None:
        before = array.copy()
        for k in range(1, len(array) + 1):
            chosen = top_k(array, mechanism=self.make(k, self.epsilon), bits=SeededBits(k))
            many = prepare(array, mechanism=self.make(k, self.epsilon)).draw_many(3, SeededBits(k))
            assert all(len(set(each.tolist())) == len(each) == len(chosen) for each in many)
            assert sorted(set(chosen.tolist())) == sorted(chosen.tolist())
            assert len(chosen) == k
            assert set(chosen.tolist()) <= set(range(len(array)))
            assert chosen.dtype == np.int64
        assert (array == before).all()

    @pytest.mark.parametrize("k", [1, 2, 7])
    def test_long_arrays_are_looked_at_in_parts(self, k: int) -> None:
        """Counts that show no level below the depth that is asked for give the picks that all levels give."""
        rng = np.random.default_rng(k)
        mechanism = self.make(k, self.epsilon)
        for counts in (
            np.append(np.zeros(60, dtype=int), 10**6),
            np.array([5000] * 20 + [0] * 60),
            rng.integers(0, 10**6, 80),
            rng.poisson(2.0, 80),
            (10**8 / np.arange(1, 81)).astype(int),
        ):
            whole = Profile.of(counts)
            drawn = [draw_some(mechanism, levels) for levels in (whole, UpperLevels(whole))]
            assert drawn[0] == drawn[1]


class UpperLevels:
    """Shows of a profile what is asked for, and nothing else."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self.d = profile.d

    def above(self, k: int, depth: int) -> Profile:
        """Return every level down to `depth` below the k-th largest count."""
        values, sizes = self._profile.values, self._profile.sizes
        shown = values >= int(self._profile.top(k)[-1]) - depth
        return Profile(values=values[shown], sizes=sizes[shown], d=self.d)


def draw_some(mechanism: Mechanism, levels: Levels) -> list[tuple[list[int], list[int]]]:
    """Prepare a mechanism, and draw some lists with seeded bits, alone and together."""
    drawn = [mechanism.prepare(levels).draw(SeededBits(seed)) for seed in range(5)]
    drawn += mechanism.prepare(levels).draw_many(5, SeededBits(9))
    return [(picks.levels.tolist(), picks.ranks.tolist()) for picks in drawn]


class PrivacyContract(Subject):
    """All neighbours are as close as the guarantee says."""

    @pytest.mark.slow
    @pytest.mark.parametrize("relation", RELATIONS)
    def test_no_neighbour_is_told_apart(self, relation: str) -> None:
        """On every small histogram and every neighbour, exact probabilities keep epsilon, delta and rho.

        The probabilities follow from the mechanism's own weights, so a mechanism with a wrong law fails here, and so
        does one that cannot draw.
        """
        self.make(2, self.epsilon, relation).prepare(Profile.of(np.array([3, 1, 0]))).draw(SeededBits(0))
        for here, there in self.pairs(small_histograms(self.largest_d), relation):
            for k in range(1, len(here) + 1):
                self.check_pair(here, there, k, relation)

    @pytest.mark.slow
    @pytest.mark.parametrize("relation", RELATIONS)
    def test_no_neighbour_of_random_histograms_is_told_apart(self, relation: str) -> None:
        """So they do on larger histograms with wide gaps."""
        for here, there in self.pairs(random_histograms(*self.private_cases, seed=13), relation):
            self.check_pair(here, there, min(2, len(here)), relation)

    def pairs(self, histograms: Iterable[Histogram], relation: str) -> Iterable[tuple[Histogram, Histogram]]:
        """All pairs of neighbours in which one is given."""
        return neighbour_pairs(histograms, relation)

    def check_pair(self, here: Histogram, there: Histogram, k: int, relation: str) -> None:
        guarantee = _guarantee(type(self), k, relation)
        with ctx.workprec(128):
            laws = [self.cached_law(each, k, relation) for each in (here, there)]
            assert keeps(guarantee, *laws), (here, there, k)

    def cached_law(self, histogram: Histogram, k: int, relation: str) -> Law:
        return _law(type(self), histogram, k, relation)


class MechanismContract(LawContract, PrivacyContract):
    """What every mechanism owes its caller. Where only internals or one parameter change, a part of it is enough."""

    @pytest.mark.slow
    def test_one_person_who_voted_for_everything_is_served(self) -> None:
        """`select` releases k items of the domain under the mechanism's own guarantee, also if one person voted."""
        domain = ["a", "b", "c", "d", "e"]
        votes = pyarrow.table({"person": ["p"] * 10, "item": domain * 2})
        for k in (1, 3, 5):
            mechanism = self.make(k, self.epsilon, "replace")
            release = select(votes, person="person", item="item", domain=domain, mechanism=mechanism)
            assert set(release.items) <= set(domain)
            assert (getattr(mechanism, "at_least", None) or k) <= len(set(release.items)) == len(release.items) <= k
            assert release.guarantee == mechanism.guarantee
            assert (release.mechanism, release.secure) == (mechanism.name, True)

    def test_same_seed_gives_the_same_answer(self) -> None:
        """Equal seeds give equal lists, and different seeds different ones."""
        counts = np.arange(200) % 23
        mechanism = self.make(10, self.epsilon)
        lists = [top_k(counts, mechanism=mechanism, bits=SeededBits(seed)).tolist() for seed in (1, 1, 2)]
        assert lists[0] == lists[1] != lists[2]

    def test_refuses_more_items_than_there_are(self) -> None:
        """k above d is an error that names both, which are public."""
        with pytest.raises(DataError, match="k is 4, and there are 3"):
            top_k([1, 2, 3], mechanism=self.make(4, self.epsilon), bits=SeededBits(0))

    def test_refuses_a_wrong_epsilon(self) -> None:
        """An epsilon that promises nothing is refused when the mechanism is built."""
        for epsilon in (0, -1, float("nan"), float("inf"), "one", None, True, 1e7):
            with pytest.raises(ParameterError, match="epsilon"):
                self.make(2, epsilon)  # type: ignore[arg-type]


def item_names(histogram: Histogram) -> list[tuple[int, int]]:
    """Each item as its level and its rank inside the level."""
    return [(count, histogram[:index].count(count)) for index, count in enumerate(histogram)]


@lru_cache(maxsize=1_000)
def _guarantee(contract: type[Subject], k: int, relation: str) -> Guarantee:
    return contract().make(k, contract.epsilon, relation).guarantee


@lru_cache(maxsize=200_000)
def _law(contract: type[Subject], histogram: Histogram, k: int, relation: str) -> Law:
    """The mechanism's own law, once for all neighbours."""
    return Law(contract().implied_law(contract().make(k, contract.epsilon, relation), histogram))
