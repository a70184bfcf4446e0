"""The first primitive and the floats that speed it up."""

import sys
import threading
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value
from mixtures import bound_doubt

from shortlist.exact.balls import enclose_exp_minus, enclose_shortfall, round_to_float
from shortlist.exact.choice import Table, choose_by_loss, enclose_sum, quantile
from shortlist.exact.scaled import power, powers
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.testing import SeededBits


@dataclass(frozen=True)
class Exponential:
    """A cell of weight n e^(−x)."""

    n: int
    x: Fraction

    def weight(self):
        return self.n * enclose_exp_minus(self.x)

    def split(self):
        return None


@dataclass(frozen=True)
class Pair:
    """A cell that shows only bounds until it is split."""

    left: Exponential
    right: Exponential

    def weight(self):
        return (self.left.weight() + self.right.weight()).union(arb(0))

    def split(self):
        return [self.left, self.right]


CELLS = [Exponential(n, Fraction(x, 3)) for n, x in [(1, 0), (5, 4), (40, 9), (1, 2)]]
LAW = [float(cell.n * np.exp(-float(cell.x))) for cell in CELLS]


def test_quantile_follows_the_weights():
    """Cells are hit in proportion to n e^(−x), and not to weights 30 % off."""
    bits = SeededBits(1)
    drawn = Counter(quantile(Uniform(bits), CELLS) for _ in range(5000))
    observed = [drawn[cell] for cell in CELLS]
    assert p_value(observed, LAW) > 1e-9
    assert p_value(observed, [w**1.3 for w in LAW]) < 1e-9
    assert p_value(observed, [w**0.7 for w in LAW]) < 1e-9


def test_a_loss_is_chosen_by_its_weight():
    """In any order and also below zero, each is chosen with probability ∝ e^(−rate · loss), and not 30 % off."""
    losses, bits = [3, -2, 0, -2, 7, 1], SeededBits(1)
    drawn = Counter(choose_by_loss(losses, Fraction(1, 3), bits) for _ in range(5000))
    observed = [drawn[place] for place in range(len(losses))]
    assert p_value(observed, np.exp(-np.array(losses) / 3)) > 1e-9
    for off in (0.7, 1.3):
        assert p_value(observed, np.exp(-off * np.array(losses) / 3)) < 1e-9


def test_splitting_lazily_changes_nothing():
    """Cells that are split only when needed are hit by the same numbers."""
    pairs = [Pair(CELLS[0], CELLS[1]), Pair(CELLS[2], CELLS[3])]
    for seed in range(200):
        assert quantile(Uniform(SeededBits(seed)), pairs) is quantile(Uniform(SeededBits(seed)), CELLS)


@pytest.mark.parametrize("doubt", [0.0, 1e-3, 0.3])
def test_table_agrees_with_quantile_or_says_nothing(doubt):
    """Whatever its error bound, a table never names another cell than the exact one."""
    table = Table(np.array(LAW), error=doubt + 1e-15, omitted=0.0)
    found = 0
    for seed in range(400):
        (word,) = draw_words(1, SeededBits(seed))
        (index,) = table.locate_each(np.array([word])).tolist()
        if index >= 0:
            found += 1
            assert CELLS[index] is quantile(Uniform(SeededBits(seed), int(word)), CELLS)
    assert found == 400 if doubt == 0 else found < 400


def test_many_cells_are_summed_within_the_slack():
    """A hundred thousand borders are as they should be, rising, and hardly in doubt."""
    weights = np.random.default_rng(5).random(100_003)
    table = Table(weights, error=1e-15, omitted=0.0)
    assert (np.diff(table._borders) >= 0).all()
    exact = np.cumsum(weights.astype(np.longdouble))
    assert np.abs(table._borders[1:] / exact - 1).max() < table.slack / 4
    assert bound_doubt(table) < 1e-4


def test_omitted_weight_widens_the_slack():
    """What a table leaves out counts as doubt about every border."""
    tables = [Table(np.ones(10), error=1e-15, omitted=omitted) for omitted in (0.0, 1e-6)]
    assert tables[1].slack >= 1e-7 > tables[0].slack
    assert bound_doubt(tables[1]) > bound_doubt(tables[0])


def test_the_bound_is_what_the_proof_says():
    """Weights off by the stated error, and omitted ones put anywhere, move no border by more than the slack."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        true = rng.random(8) ** 4
        error, omitted = 10.0 ** rng.integers(-9, -2), 10.0 ** rng.integers(-9, -2)
        table = Table(true * (1 + error * rng.uniform(-1, 1, 8)), error=error, omitted=omitted)
        before, after = rng.dirichlet([1, 1]) * omitted
        borders = (before + np.concatenate([[0], np.cumsum(true)])) / (before + true.sum() + after)
        computed = table._borders / table._borders[-1]
        assert np.abs(borders - computed).max() <= table.slack


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 10**6), Fraction(17, 3), Fraction(10**6)])
def test_powers_are_within_their_error(rate):
    """e^(−rate n) as a float is off by no more than its roundings allow, for n near, far and repeated."""
    far, repeated = np.array([0, 1, 3, 1024, 5000, 10**6 + 1]), np.array([4, 4, 4, 5, 8, 8, 10])
    for exponents in (np.arange(5, 900), far, repeated, np.array([7])):
        numbers = powers(rate, exponents)
        with ctx.workprec(300):
            for n, mantissa, exponent in zip(exponents, numbers.mantissa, numbers.exponent, strict=True):
                exact = enclose_exp_minus(rate * int(n))
                assert abs(arb(float(mantissa)) * arb(2) ** int(exponent) / exact - 1) < arb(numbers.error)


def test_rounding_a_ball_costs_two_roundings():
    """Mantissa and exponent of a ball are within 2^-53 + 2^-59 of it, which is less than two roundings."""
    for x in (Fraction(1, 3), Fraction(1000), Fraction(10**30), Fraction(1, 10**9), Fraction(1, 10**300)):
        for enclose in (enclose_exp_minus, enclose_shortfall):
            mantissa, exponent = round_to_float(lambda enclose=enclose, x=x: enclose(x))
            with ctx.workprec(2000):
                assert abs(arb(mantissa) * arb(2) ** exponent / enclose(x) - 1) < arb(2) ** -53 + arb(2) ** -59
            assert 0.5 <= mantissa <= 1
    assert power(Fraction(1), 0) == (0.5, 1)


def test_threads_do_not_blur_each_other():
    """The working precision belongs to the process; threads that change it leave roundings as good as they were."""
    stop = threading.Event()

    def meddle():
        while not stop.is_set():
            with ctx.workprec(40):
                pass

    threads = [threading.Thread(target=meddle) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    try:
        results = [round_to_float(lambda n=n: enclose_exp_minus(Fraction(n, 3))) for n in range(300)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
        ctx.prec = 53
    assert results == [round_to_float(lambda n=n: enclose_exp_minus(Fraction(n, 3))) for n in range(300)]


@pytest.mark.parametrize("signs", [(1, 1, -1, -1), (-1, -1, 1, 1), (1, -1, 1, -1), (-1, 1, -1, 1)])
def test_a_table_of_weights_that_are_off_never_names_another_cell(signs):
    """Weights may be off by the stated error, in either direction: near a border, nothing is named."""
    error = 0.02
    table = Table(np.array(LAW) * (1 + error * np.array(signs)), error=error, omitted=0.0)
    borders = np.cumsum(LAW) / sum(LAW)
    words = (np.arange(0, 1, 1 / 4000) * 2.0**64).astype(np.uint64)
    named = table.locate_each(words)
    true = np.searchsorted(borders, words * 2.0**-64, side="right")
    assert (named[named >= 0] == true[named >= 0]).all()
    assert 0.3 < (named >= 0).mean() < 1


class Stretch:
    """The weights e^(−n/10) for n from `first` to `last`, bounded until it is split. It counts its weighings."""

    def __init__(self, first, last, weighed):
        self.first, self.last, self.weighed = first, last, weighed

    def weight(self):
        self.weighed[self.first, self.last] += 1
        ends = [enclose_exp_minus(Fraction(n, 10)) for n in (self.first, self.last)]
        return (self.last - self.first + 1) * ends[0].union(ends[1])

    def split(self):
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        return [Stretch(self.first, middle, self.weighed), Stretch(middle + 1, self.last, self.weighed)]


def test_splitting_a_cell_weighs_no_other_again():
    """With each split of 2,000 cells, the weights of all others would be computed again, for minutes."""
    weighed = Counter()
    with ctx.workprec(200):
        total = enclose_sum([Stretch(0, 1999, weighed)], 4)
        exact = enclose_shortfall(Fraction(200)) / enclose_shortfall(Fraction(1, 10))
        assert total.overlaps(exact)
    assert len(weighed) > 1000
    assert set(weighed.values()) == {1}
    weighed.clear()
    number = Uniform(SeededBits(1))
    assert quantile(number, [Stretch(0, 1999, weighed)]).first < 2000
    assert max(weighed.values()) <= number.known // 64 + 1
