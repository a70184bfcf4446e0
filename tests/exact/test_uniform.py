"""Uniform draws are uniform, and numbers that wait for bits stay the same numbers."""

import itertools
from collections import Counter

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value, sequences

from shortlist import ShortlistError
from shortlist.exact.bits import is_secure
from shortlist.exact.uniform import Uniform, draw_below, draw_below_each, draw_distinct_below
from shortlist.testing import SeededBits, SystemBits


class Words:
    """A source that hands out given 64-bit words."""

    def __init__(self, *words):
        self.stream = b"".join(word.to_bytes(8, "little") for word in words)

    def draw(self, count):
        drawn, self.stream = self.stream[:count], self.stream[count:]
        return drawn


def test_below_is_uniform():
    """Every integer below a bound is as likely as any other."""
    bits = SeededBits(1)
    for bound in (1, 2, 3, 7, 10):
        drawn = Counter(draw_below(bound, bits) for _ in range(4000))
        assert p_value([drawn[i] for i in range(bound)], [1 / bound] * bound) > 1e-9 or bound == 1
        assert set(drawn) == set(range(bound))


def test_below_takes_bounds_of_any_size():
    """A bound of hundreds of digits is no larger trouble."""
    assert 0 <= draw_below(10**300, SeededBits(2)) < 10**300
    assert draw_below(1, SeededBits(2)) == 0


@pytest.mark.parametrize("bound", [3, 10, 2**40 + 1, 2**62 + 1])
def test_the_incomplete_last_cycle_is_rejected(bound):
    """A word beyond the last whole cycle of residues is drawn again; the last one inside is taken."""
    first_rejected = 2**64 - 2**64 % bound
    assert draw_below_each(np.array([bound]), Words(first_rejected, 2**64 - 1, 5))[0] == 5 % bound
    assert draw_below_each(np.array([bound]), Words(first_rejected - 1))[0] == bound - 1


def test_a_power_of_two_rejects_nothing():
    """For a power of two all words are whole cycles."""
    assert draw_below_each(np.array([8]), Words(2**64 - 1))[0] == 7


def test_below_each_is_uniform_and_independent():
    """Two bounds give a uniform pair."""
    bits = SeededBits(4)
    drawn = Counter(tuple(draw_below_each(np.array([3, 5]), bits).tolist()) for _ in range(6000))
    assert p_value([drawn[pair] for pair in itertools.product(range(3), range(5))], [1 / 15] * 15) > 1e-9


@pytest.mark.parametrize("bounds", [[4, 4, 4], [2, 3, 5], [1, 2, 4]])
def test_distinct_below_is_uniform_over_all_that_fit(bounds):
    """Each position is uniform among the integers below its bound that are not taken."""
    bits = SeededBits(5)
    drawn = Counter(tuple(draw_distinct_below(np.array([bounds]), bits)[0].tolist()) for _ in range(12_000))
    fitting = [s for s in sequences(max(bounds), len(bounds)) if all(x < b for x, b in zip(s, bounds, strict=True))]
    assert set(drawn) <= set(fitting)
    assert p_value([drawn[s] for s in fitting], [1] * len(fitting)) > 1e-9
    uneven = [1 + 0.3 * (index % 2) for index in range(len(fitting))]
    assert p_value([drawn[s] for s in fitting], uneven) < 1e-9


def test_a_number_keeps_its_bits():
    """More bits narrow a number down; they never move it."""
    number = Uniform(SeededBits(6))
    with ctx.workprec(400):
        before = number.ball()
        assert abs(arb(number.numerator * 2.0**-64) - before.mid()) < arb(2) ** -52
        number.extend()
        after = number.ball()
        assert before.contains(after)
        assert after.rad() < before.rad() * arb(2) ** -60


def test_seeded_bits_are_the_same_everywhere():
    """The stream of a seed is fixed for all time, however it is drawn."""
    assert SeededBits(0).draw(8).hex() == "fd45e50f22eb17ea"
    whole, pieces = SeededBits(9), SeededBits(9)
    assert whole.draw(40_000) == b"".join(pieces.draw(n) for n in (1, 7, 9_992, 30_000))
    assert SeededBits(1).draw(16) != SeededBits(2).draw(16)
    assert not is_secure(SeededBits(1))


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_refuses_a_wrong_seed(seed):
    """A seed is a non-negative int."""
    with pytest.raises(ShortlistError, match="seed"):
        SeededBits(seed)


def test_system_bits_differ_every_time():
    """The operating system never repeats itself."""
    bits = SystemBits()
    assert is_secure(bits)
    assert len({bits.draw(16) for _ in range(100)}) == 100


@pytest.mark.parametrize("length", [1, 5, 40, 600])
def test_a_shuffle_in_rows_is_the_shuffle(length):
    """The rows hold what swapping one by one gives, for the same places of each step."""
    rng = np.random.default_rng(length)
    bounds = np.maximum(np.sort(rng.integers(1, 2 * length + 1, (30, length)), axis=1), np.arange(1, length + 1))
    drawn = draw_distinct_below(bounds, SeededBits(length))
    chances = (bounds - np.arange(length)).ravel()
    places = draw_below_each(chances, SeededBits(length)).reshape(bounds.shape) + np.arange(length)
    for row, found in zip(places.tolist(), drawn.tolist(), strict=True):
        moved, expected = {}, []
        for step, place in enumerate(row):
            expected.append(moved.get(place, place))
            moved[place] = moved.get(step, step)
        assert found == expected


def test_rows_of_a_shuffle_are_uniform():
    """All 24 permutations are equally likely, and so are all ordered pairs of nested prefixes."""
    drawn = draw_distinct_below(np.full((24_000, 4), 4), SeededBits(1)) @ [1000, 100, 10, 1]
    observed = np.unique(drawn, return_counts=True)[1]
    assert len(observed) == 24
    assert p_value(observed, [1 / 24] * 24) > 1e-9
    nested = draw_distinct_below(np.tile([2, 4], (12_000, 1)), SeededBits(2)) @ [10, 1]
    observed = np.unique(nested, return_counts=True)[1]
    assert len(observed) == 6
    assert p_value(observed, [1 / 6] * 6) > 1e-9
