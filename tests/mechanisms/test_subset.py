"""Subset: the k items without their order."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from contract import ALARM, RELATIONS, LawContract, MechanismContract, Subject, item_names
from flint import arb, ctx
from laws import neighbours, p_value, random_histograms, set_losses, small_histograms, subsets
from levels import UpperLevels
from mixtures import (
    bound_doubt,
    check_borders,
    doubting,
    draw_lists,
    every_doubt,
    every_shape,
    falling_positions,
    implied_law,
)

from shortlist import prepare, top_k
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms import Subset
from shortlist.mechanisms.mechanism import bound_loss
from shortlist.mechanisms.subset import SetDraws, count_set_bits, count_sets, enclose_sets
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class SubsetInBlocks(Subset):
    """With at most two pairs most blocks hold several pairs, so sets are rejected."""

    name = "subset-in-blocks"

    def _prepare(self, levels):
        return SetDraws(levels, sizes=self.sizes, rate=self.rate, most_pairs=2)


class SubsetLaw(Subject):
    kind = Subset
    random_cases, private_cases = (90, 6), (12, 4)

    def make(self, k, epsilon, relation="add-remove"):
        return self.kind(k=k, epsilon=epsilon, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        return [chance for _, chance in self.make(k, epsilon, relation).state_law(histogram)]

    def implied_law(self, mechanism, histogram):
        sets = falling_positions(histogram, subsets(len(histogram), mechanism.sizes))
        return implied_law(mechanism.prepare(Profile.of(np.array(histogram))), sets)

    def sampled_p_values(self, histogram, k):
        mechanism = self.make(k, self.epsilon)
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        names = item_names(histogram)
        drawn = Counter(
            frozenset(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True)) for picks in self.sample(prepared)
        )
        every = subsets(len(histogram), mechanism.sizes)
        observed = [drawn[frozenset(names[item] for item in each)] for each in every]
        assert sum(observed) == self.draws
        return tuple(
            p_value(observed, [float(p.mid()) for p in self.law(histogram, k, self.epsilon * factor)])
            for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10))
        )


class TestSubset(SubsetLaw, MechanismContract):
    """Sets of one size."""


class TestSubsetInBlocks(SubsetLaw, LawContract):
    """Sets of one size, with rejections."""

    kind = SubsetInBlocks
    draws = 2_500


class TestSubsetOfSeveralSizes(SubsetLaw, MechanismContract):
    """Sets of one to k items."""

    sampled = (((5, 3, 3, 0), 2), ((9, 6, 2, 1, 0), 3), ((2, 2, 1), 3))

    def make(self, k, epsilon, relation="add-remove"):
        return self.kind(k=k, at_least=(k + 1) // 2, epsilon=epsilon, neighbours=relation)

    def check_shape(self, array):
        """A release names between the smallest and the largest number of items."""
        for k in range(1, len(array) + 1):
            chosen = top_k(array, mechanism=self.make(k, self.epsilon), bits=SeededBits(k))
            assert len(set(chosen.tolist())) == len(chosen)
            assert (k + 1) // 2 <= len(chosen) <= k


class TestSubsetOfSeveralSizesInBlocks(TestSubsetOfSeveralSizes):
    """Sets of one to k items, with rejections."""

    kind = SubsetInBlocks
    draws = 2_500
    random_cases, private_cases = (30, 5), (3, 3)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_loss_of_a_set_moves_by_the_sensitivity_at_most(relation):
    """The step of the proof that the guarantee stands on, for all neighbours and sets of every size."""
    moves = set()
    for here in [*small_histograms(), *random_histograms(40, 5, seed=31)]:
        sizes = range(1, len(here) + 1)
        ours = set_losses(here, sizes)
        for there in neighbours(here, relation):
            moves |= {abs(a - b) for a, b in zip(ours, set_losses(there, sizes), strict=True)}
    assert max(moves) == (1 if relation == "add-remove" else 2)


def draws_of(counts, sizes, epsilon=1, **options):
    levels = Profile.of(counts) if isinstance(counts, np.ndarray) else counts
    return SetDraws(levels, sizes=sizes, rate=Fraction(epsilon) / 2, **options)


SIZES = pytest.mark.parametrize("sizes", [range(6, 7), range(3, 7)], ids=["one size", "sizes"])


@every_shape
@every_doubt
@SIZES
@pytest.mark.parametrize("most_pairs", [1 << 15, 4], ids=["pairs", "blocks"])
def test_balls_find_the_block_that_floats_find(counts, doubt, sizes, most_pairs):
    """Which block a number hits is a fact: the same bits give the same sets if floats are hardly trusted."""
    sure, doubtful = (doubting(draws_of(counts, sizes, most_pairs=most_pairs), each) for each in (0.0, doubt))
    assert draw_lists(doubtful, 12) == draw_lists(sure, 12)


@every_shape
@SIZES
@pytest.mark.parametrize("leads", [True, False])
def test_borders_are_within_their_bound(counts, sizes, leads):
    """Every float border lies within the proven slack of the exact one."""
    check_borders(draws_of(counts, sizes, leads=leads))
    check_borders(draws_of(counts, sizes, leads=leads, most_pairs=4))


@pytest.mark.parametrize("leads", [True, False])
def test_the_total_is_that_of_enumeration(leads):
    """The sum of q^loss over all sets; without leads, a negative loss counts as 0."""
    for histogram in [*small_histograms(), *random_histograms(60, 6, seed=5)]:
        for largest in range(1, len(histogram) + 1):
            sizes = range((largest + 1) // 2, largest + 1)
            prepared = draws_of(np.array(histogram), sizes, leads=leads)
            losses = set_losses(histogram, sizes)
            found = [loss - min(0, *losses) if leads else max(loss, 0) for loss in losses]
            with ctx.workprec(200):
                exact = sum(((-arb(loss) / 2).exp() for loss in found), arb(0))
                assert prepared.total().contains(exact)
                assert prepared.total(5).overlaps(exact)
                assert prepared.total(5).rad() < exact * arb(2) ** -100


def test_a_profile_that_stops_early_changes_no_set():
    """Levels that show no more than is asked for give the sets that all levels give, by floats and by balls."""
    for counts in ((3000 / np.arange(1, 90)).astype(int), np.array([900] * 5 + [700] * 9 + [0] * 40)):
        for sizes in (range(4, 5), range(2, 8)):
            for doubt in (0.0, 1e9):
                whole, part = (
                    doubting(draws_of(each, sizes, epsilon=8), doubt) for each in (counts, UpperLevels(counts))
                )
                assert part.candidates.profile.is_complete is False
                assert draw_lists(part, 6) == draw_lists(whole, 6)
            with ctx.workprec(200):
                assert part.total().overlaps(whole.total(4))
                assert part.total(4).overlaps(whole.total(4))


def test_floats_decide_almost_every_draw():
    """The proven doubt about a draw is small, and no draw of thousands asks for all levels."""
    prepared = draws_of((10**5 / np.arange(1, 2000)).astype(int), range(50, 51))
    assert bound_doubt(prepared._table) < 1e-7
    prepared.draw_many(2000, SeededBits(8))
    assert "all_candidates" not in vars(prepared)


def test_the_picks_come_in_random_order():
    """Every order of the same set is equally likely, so the order says nothing."""
    prepared = Subset(k=3, epsilon=10).prepare(Profile.of(np.array([90, 80, 70, 0])))
    seen = Counter(tuple(picks.levels.tolist()) for picks in prepared.draw_many(3000, SeededBits(6)))
    orders = list(itertools.permutations([90, 80, 70]))
    assert p_value([seen[each] for each in orders], [1 / 6] * 6) > ALARM
    assert p_value([seen[each] for each in orders], [0.25] * 2 + [0.125] * 4) < ALARM


def test_items_come_back_in_the_order_of_the_domain():
    """Indices rise, and keys have the order of the mapping."""
    counts = np.arange(100) ** 2
    assert Subset(k=5, epsilon=5).unordered
    chosen = top_k(counts, mechanism=Subset(k=5, epsilon=5), bits=SeededBits(2)).tolist()
    assert chosen == sorted(chosen)
    keys = top_k({"a": 10**4, "b": 0, "c": 10**6}, k=2, epsilon=5, mechanism="subset", bits=SeededBits(1))
    assert keys == ["a", "c"]


def test_a_gap_decides_the_size():
    """Among sizes 1 to 8, the one before the widest gap is chosen."""
    chosen = top_k(np.array([900, 880, 860, 20, 15, 10, 5, 0]), k=(1, 8), epsilon=1, mechanism="subset")
    assert chosen.tolist() == [0, 1, 2]


def test_the_chance_of_the_exact_set_is_that_of_the_law():
    """The probability of a set with the true counts follows from the stated law."""
    for histogram, k in [((5, 3, 3, 0), 2), ((9, 6, 4, 1), 3), ((7, 7, 7), 2), ((4, 2), 2), ((0, 0), 2)]:
        mechanism, top = Subset(k=k, epsilon=1), sorted(histogram, reverse=True)[:k]
        chance = mechanism.prepare(Profile.of(np.array(histogram))).compute_exact_chance()
        stated = sum(
            float(p.mid())
            for output, p in mechanism.state_law(histogram)
            if sorted((histogram[item] for item in output.items), reverse=True) == top
        )
        assert chance == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-18", "1e-12", "1e-3", "100", "1e6"])
def test_extreme_epsilons_work(epsilon):
    """Tiny and huge epsilons give a set, on wide and on narrow counts."""
    for counts in ([2**63 - 1, 2**62, 2**40, 10**6, 5, 5, 0], np.arange(3000), np.zeros(10, dtype=int)):
        for k in (4, (2, 4)):
            chosen = top_k(np.array(counts), mechanism=Subset(k=k, epsilon=epsilon), bits=SeededBits(1))
            assert 2 <= len(set(chosen.tolist())) <= 4


@pytest.mark.parametrize("counts", [[2**63 - 1, 2**63 - 1, 0], [2**63 - 1, 0, 0]])
def test_the_largest_loss_there_is_has_a_score(counts):
    """The reach of a tiny epsilon is cut off at 2^63 − 1. A step of a loss may begin there, and it counts."""
    selector = prepare(np.array(counts), k=1, epsilon="1e-30", ordered=False)
    assert len(selector.draw(SeededBits(1))) == 1
    prepared = draws_of(np.array(counts), range(1, 2), epsilon="1e-30")
    assert bound_doubt(prepared._table) < 1e-9
    with ctx.workprec(200):
        assert abs(prepared.total(2) - 3) < 1e-9 or counts[1] == 0
        assert prepared.total().contains(prepared.total(8))


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "most"), [("1e-6", 30), ("0.001", 30), ("1", 3000)])
def test_sizes_that_carry_no_weight_are_not_tabulated(epsilon, most):
    """Among thousands of sizes, few have most sets. Each of the others needs no table of its own."""
    counts = np.random.default_rng(1).integers(0, 40_000, 20_000)
    prepared = draws_of(counts, range(600, 2100), epsilon)
    tabulated = {
        prepared.candidates.count_allowed(group, np.zeros(1), np.zeros(1)).shape[1]
        for group in set(prepared.blocks[0, 0].tolist())
    }
    assert len(tabulated) <= most
    assert 600 <= len(prepared.draw(SeededBits(1)).levels) <= 2100


def test_numbers_of_sets_are_those_of_enumeration():
    """C(r + m, r) as floats is within the stated error."""
    places, spare = np.array([0, 1, 2, 7, 60, 900]), np.array([0, 1, 3, 20, 1000, 10**6])
    for rows, columns in ((places, spare), (spare, places)):
        numbers = count_sets(*np.meshgrid(rows, columns, indexing="ij"))
        with ctx.workprec(300):
            for i, j in itertools.product(range(len(rows)), range(len(columns))):
                exact = arb(math.comb(int(rows[i] + columns[j]), int(rows[i])))
                value = arb(float(numbers.mantissa[i, j])) * arb(2) ** int(numbers.exponent[i, j])
                assert abs(value / exact - 1) <= arb(numbers.error)


def test_numbers_of_all_sets_are_those_of_enumeration():
    """Sums of C(d, n) over a range of sizes, of which only the terms near the largest one are added, are enclosed."""
    for d, sizes in (
        (5, range(1, 4)),
        (7, range(7, 8)),
        (300, range(1, 300)),
        (300, range(200, 300)),
        (3, range(1, 3)),
    ):
        for precision in (64, 500):
            with ctx.workprec(precision):
                enclosed = enclose_sets(d, sizes)
                assert arb(sum(math.comb(d, size) for size in sizes)) in enclosed
                assert enclosed.rel_accuracy_bits() > precision - 20


def test_wide_ranges_of_sizes_have_bounds_and_draws():
    """A range of ten thousand sizes has the bound that its number of sets implies, and can be drawn from."""
    mechanism = Subset(k=(9999, 19999), epsilon=1)
    sets = (
        2**20000 - sum(itertools.accumulate(range(9998), lambda term, n: term * (20000 - n) // (n + 1), initial=1)) - 1
    )
    assert mechanism.error_bound(20000) == bound_loss(sets, mechanism.rate, Fraction(1, 20))
    picks = mechanism.prepare(Profile.of(np.arange(20000) ** 2)).draw(SeededBits(1))
    assert 9999 <= len(picks.levels) <= 19999


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"k": (3, 2)}, "k must be a range with the smaller size first, not 3 and 2"),
        ({"k": (0, 2)}, "k must be a whole number from 1"),
        ({"k": (1, 2, 3)}, "k must be a number, or two numbers"),
        ({"k": (1, 2), "at_least": 1}, "k must be a number, or two numbers"),
        ({"k": 2, "at_least": "x"}, "at_least must be a whole number"),
        ({"k": "2"}, "k must be a number, or two numbers"),
    ],
)
def test_refuses_wrong_sizes(parameters, text):
    """Every wrong size is named."""
    with pytest.raises(ParameterError, match=text):
        Subset(epsilon=1, **parameters)


def test_refuses_a_range_beyond_the_domain():
    """The largest size must be possible."""
    with pytest.raises(DataError, match="k is 4, and there are 3"):
        top_k([1, 2, 3], k=(2, 4), epsilon=1, mechanism="subset")


def test_the_number_of_sets_is_bounded():
    """The bound for the number of sets is never below it."""
    for d in range(1, 12):
        for sizes in (range(a, b + 1) for b in range(1, d + 1) for a in range(1, b + 1)):
            assert len(subsets(d, sizes)) <= 2 ** count_set_bits(d, sizes)
