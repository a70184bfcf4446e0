"""Subset: the k items without their order."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from contract import ALARM, RELATIONS, LawContract, MechanismContract, Subject, item_names
from flint import arb, ctx
from laws import exponential, neighbours, p_value, random_histograms, set_losses, small_histograms, subsets
from mixtures import check_balls_agree, every_doubt, every_shape, rate

from shortlist import top_k
from shortlist.errors import DataError, ParameterError
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms import Subset
from shortlist.mechanisms.spans import Span, draw_reaches, draw_reaches_each
from shortlist.mechanisms.subset import grid
from shortlist.mechanisms.subset.draws import count_set_bits
from shortlist.profile import Profile
from shortlist.testing import SeededBits


def split_all(cells):
    """Split cells until none can be split further."""
    for cell in cells:
        parts = cell.split()
        yield from [cell] if parts is None else split_all(parts)


def kept_share(span, loss):
    """The probability that a loss drawn from a span is at least a given one."""
    if loss <= span.start:
        return arb(1)
    if span.end is not None and loss >= span.end:
        return arb(0)
    return type(span)(rate=span.rate, start=loss, end=span.end).weight() / span.weight()


def implied(mechanism, histogram):
    """What blocks, uniform sets and rejection imply for every set."""
    cells = [
        (cell.sets, cell.spans(), cell.weight() / cell.most())
        for cell in split_all(mechanism.prepare(Profile.of(np.array(histogram))).cells())
    ]
    families, kept_part = {sets for sets, _, _ in cells}, cache(kept_share)
    order = sorted(range(len(histogram)), key=lambda item: -histogram[item])
    place = {item: position for position, item in enumerate(order)}
    kept = []
    for each in subsets(len(histogram), mechanism.sizes):
        positions, weight = np.sort([place[item] for item in each]), arb(0)
        fitting = {sets: sets.compute_losses(positions) for sets in families if sets.n == len(each)}
        for sets, spans, share in cells:
            if sets in fitting:
                upper, lower = map(kept_part, spans, fitting[sets])
                weight += share * upper * lower
        kept.append(weight)
    total = sum(kept, arb(0))
    return [weight / total for weight in kept]


class SubsetLaw(Subject):
    random_cases, private_cases = (90, 6), (12, 4)

    def make(self, k, epsilon, relation="add-remove"):
        return Subset(k=k, epsilon=epsilon, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        sizes = self.make(k, epsilon, relation).sizes
        return exponential(set_losses(histogram, sizes), rate(epsilon, relation))

    def implied_law(self, mechanism, histogram):
        return implied(mechanism, histogram)

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
    """With at most two pairs most blocks hold several pairs, so sets are rejected."""

    draws = 2_500  # each takes long, and so many reject the laws that are 30 % off

    @pytest.fixture(autouse=True)
    def large_blocks(self, monkeypatch):
        monkeypatch.setattr(grid, "_MOST_PAIRS", 2)
        monkeypatch.setattr(grid, "_FEW_PAIRS", 1)
        monkeypatch.setattr(grid, "_LEFT_OUT_BITS", 6)


class TestSubsetOfSeveralSizes(SubsetLaw, MechanismContract):
    """Sets of one to k items."""

    # Their sets are drawn one after the other.
    test_many_draws_follow_the_law_and_no_other = None
    test_many_draws_in_doubt_follow_the_law = None

    sampled = (((5, 3, 3, 0), 2), ((9, 6, 2, 1, 0), 3), ((2, 2, 1), 3))

    def make(self, k, epsilon, relation="add-remove"):
        return Subset(k=k, at_least=(k + 1) // 2, epsilon=epsilon, neighbours=relation)

    def check_shape(self, array):
        """A release names between the smallest and the largest number of items."""
        for k in range(1, len(array) + 1):
            chosen = top_k(array, mechanism=self.make(k, self.epsilon), bits=SeededBits(k))
            assert len(set(chosen.tolist())) == len(chosen)
            assert (k + 1) // 2 <= len(chosen) <= k


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


@every_shape
@every_doubt
@pytest.mark.parametrize("k", [6, (3, 6)], ids=["one size", "sizes"])
def test_a_wide_error_bound_changes_no_answer(counts, k, doubt, monkeypatch):
    """Balls find the block that floats find, for the same bits."""
    check_balls_agree(Subset(k=k, epsilon=1), counts, doubt, monkeypatch, lists=12)


@every_shape
def test_borders_are_within_their_bound(counts):
    """Every float border lies within the proven slack of the exact one."""
    prepared = Subset(k=(4, 6), epsilon=1).prepare(Profile.of(counts))
    borders = prepared._table._borders
    with ctx.workprec(256):
        cells = prepared.cells()
        listed = [cell.weight() for cell in cells if cell.padded]
        rest = [cell.weight() for cell in split_all(cell for cell in cells if not cell.padded)]
        total = sum(listed, arb(0)) + sum(rest, arb(0))
        assert len(listed) == len(borders) - 1
        border = arb(0)
        for weight, ours in zip(listed, borders, strict=False):
            assert abs(arb(float(ours)) / arb(float(borders[-1])) - border / total) < arb(prepared._table.slack)
            border += weight


@pytest.mark.parametrize("rate", ["1e-25", "1e-18", "0.5", "0.7", "9"])
def test_floats_reach_the_losses_that_balls_reach(rate):
    """For the same numbers, in spans with a near end, a far end and no end."""
    rate = Fraction(rate)
    steps = sorted({min(2**62, int(part / rate) + 1) for part in (0, 0.1, 0.7, 3, 40, 1000)})
    spans = [(7, end, 7 + step) for step in steps for end in (8 + step, 2**63 - 1, -1)] * 40
    starts, ends, losses = np.array(spans).T
    reached = draw_reaches_each(rate, starts, ends, losses, SeededBits(5)).tolist()
    bits = SeededBits(5)
    for (start, end, loss), ours, word in zip(spans, reached, draw_words(len(spans), bits).tolist(), strict=True):
        span = Span(rate=rate, start=start, end=None if end < 0 else end)
        assert ours == draw_reaches(span, loss, bits, Uniform(bits, word))


def test_floats_decide_almost_every_draw(monkeypatch):
    """In normal use no draw of thousands needs balls, and the proven doubt says why."""
    prepared = Subset(k=50, epsilon=1).prepare(Profile.of((10**5 / np.arange(1, 2000)).astype(int)))
    monkeypatch.setattr("shortlist.mechanisms.subset.draws.quantile", None)
    bits = SeededBits(8)
    for _ in range(2000):
        prepared.draw(bits)
    assert prepared.escalation_bound < 1e-7


def test_the_picks_come_in_random_order():
    """Every order of the same set is equally likely, so the order says nothing."""
    prepared = Subset(k=3, epsilon=10).prepare(Profile.of(np.array([90, 80, 70, 0])))
    bits = SeededBits(6)
    seen = Counter(tuple(prepared.draw(bits).levels.tolist()) for _ in range(3000))
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


@pytest.mark.parametrize("epsilon", ["1e-18", "1e-12", "1e-3", "100", "1e6"])
def test_extreme_epsilons_work(epsilon):
    """Tiny and huge epsilons give a set, on wide and on narrow counts."""
    for counts in (np.array([2**62, 2**40, 10**6, 5, 5, 0]), np.arange(3000), np.zeros(10, dtype=int)):
        for k in (4, (2, 4)):
            chosen = top_k(counts, mechanism=Subset(k=k, epsilon=epsilon), bits=SeededBits(1))
            assert 2 <= len(set(chosen.tolist())) <= 4


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
