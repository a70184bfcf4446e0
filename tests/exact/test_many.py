"""Exact steps that are made many at once: each decides what its single counterpart decides."""

import math
from fractions import Fraction

import numpy as np
import pytest
from contract import ALARM
from flint import arb, ctx
from laws import p_value

from shortlist.exact import coins
from shortlist.exact.choice import Table
from shortlist.exact.coins import draw_geometric_array, flip_exp_array
from shortlist.exact.logarithms import LOG_ERROR, compute_negative_logs
from shortlist.exact.many_thinning import POWERS, accept_each_by_integers, accept_each_by_sums
from shortlist.exact.shuffles import _draw_places, _take, draw_distinct_below_each, permute_each
from shortlist.exact.thinning import accept_by_balls, accept_by_integers
from shortlist.exact.uniform import Uniform, draw_below_each_short, draw_words
from shortlist.mechanisms.peel.ranges import cover_all_left
from shortlist.testing import SeededBits


def test_a_shuffle_in_rows_is_the_shuffle():
    """Given the places of each step, rows hold what swapping one by one gives."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        length = int(rng.integers(1, 12))
        bounds = np.maximum(np.sort(rng.integers(1, 15, (20, length)), axis=1), np.arange(1, length + 1))
        places = _draw_places(bounds, SeededBits(int(rng.integers(10**6))))
        for row, drawn in zip(places.tolist(), _take(places).tolist(), strict=True):
            moved, expected = {}, []
            for step, place in enumerate(row):
                expected.append(moved.get(place, place))
                moved[place] = moved.get(step, step)
            assert drawn == expected


def test_rows_of_a_shuffle_are_uniform():
    """All 24 permutations are equally likely, and so are all ordered pairs of nested prefixes."""
    drawn = permute_each(24_000, 4, SeededBits(1)) @ [1000, 100, 10, 1]
    observed = np.unique(drawn, return_counts=True)[1]
    assert len(observed) == math.factorial(4)
    assert p_value(observed, [1 / 24] * 24) > ALARM
    nested = draw_distinct_below_each(np.tile([2, 4], (12_000, 1)), SeededBits(2)) @ [10, 1]
    observed = np.unique(nested, return_counts=True)[1]
    assert len(observed) == 6
    assert p_value(observed, [1 / 6] * 6) > ALARM


@pytest.mark.parametrize("largest", [10, 3 * 10**9, 2**40])
def test_short_words_are_uniform(largest):
    """Also near and beyond the range of 32 bits."""
    bounds = np.full(12_000, largest)
    drawn = draw_below_each_short(bounds, SeededBits(3))
    assert p_value(np.bincount(drawn * 10 // largest, minlength=10), [0.1] * 10) > ALARM


def test_logarithms_are_within_their_error():
    """For numbers between 2^-200 and 1, compared with balls."""
    rng = np.random.default_rng(1)
    numbers = np.concatenate([[1.0, 0.5, 2.0**-200, 1 - 2.0**-53], rng.random(200), 2.0 ** -rng.uniform(0, 200, 200)])
    with ctx.workprec(200):
        for number, log in zip(numbers.tolist(), compute_negative_logs(numbers).tolist(), strict=True):
            assert abs(-arb(number).log() - arb(log)) < LOG_ERROR
        assert abs(arb(2).log() - arb(math.log(2))) < arb(2) ** -54


def test_quick_decisions_agree_with_balls():
    """Integers and sums never contradict the certain decision, and leave few proposals open."""
    rng, decided, asked = np.random.default_rng(2), 0, 0
    for case in range(60):
        values = np.sort(rng.choice(60, size=int(rng.integers(2, 12)), replace=False))[::-1]
        sizes = rng.integers(1, 6, len(values))
        rate = Fraction(int(rng.integers(1, 40)), 40)
        decays = np.exp(-float(rate) * (values[0] - values))
        sums = np.array([(sizes * decays**m).sum() for m in range(1, POWERS + 1)])
        levels = rng.integers(1, len(values), 10)
        heights, coins_drawn = draw_words(10, SeededBits(case)), draw_words(10, SeededBits(case + 10**6))
        heights[0], coins_drawn[1] = np.uint64(1), np.uint64(2**64 - 1)
        below, above = (np.tile(sums[:, None] * share, (1, 10)) for share in (1 - 1e-13, 1 + 1e-13))
        sure, never = accept_each_by_sums(heights, coins_drawn, decays[levels], 1e-13, below, above)
        magnitude = math.frexp(sums[0] * 0.999)[1] - 1
        integers = accept_each_by_integers(heights, coins_drawn, np.full(10, magnitude))
        for i, level in enumerate(levels.tolist()):
            height, coin = (Uniform(SeededBits(9), int(words[i])) for words in (heights, coins_drawn))
            assert not integers[i] or accept_by_integers(height, coin, magnitude)
            loss = rate * int(values[0] - values[level])
            right = accept_by_balls(height, coin, loss, [cover_all_left(values, sizes, rate)])
            assert right or not (sure[i] or integers[i])
            assert not (right and never[i])
            decided += bool(sure[i] or never[i])
            asked += 1
    assert decided > 0.9 * asked


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 40), Fraction(50)])
def test_geometric_variables_follow_their_law(rate, monkeypatch):
    """With one table, with two tables, and without a table; not if the rate is 30 % off."""
    monkeypatch.setattr(coins, "_LONGEST_TABLE", 1 << 8)
    coins._tabulate_first.cache_clear()
    drawn = draw_geometric_array(rate, 20_000, SeededBits(4))
    edges = np.unique(np.quantile(drawn, np.linspace(0, 1, 12))[1:-1].astype(int))
    observed = np.bincount(np.searchsorted(edges, drawn, side="right"), minlength=len(edges) + 1)
    p_values = []
    for factor in (1.0, 0.7, 1.3):
        tails = np.concatenate([[1.0], np.exp(-float(rate) * factor * edges), [0.0]])
        p_values.append(p_value(observed, tails[:-1] - tails[1:]))
    assert p_values[0] > ALARM
    if rate < 1:
        assert max(p_values[1:]) < ALARM
    coins._tabulate_first.cache_clear()


def test_coins_follow_their_chances():
    """Each shows heads with probability e^(−x), also where only balls can decide."""
    exponents = np.tile([0.0, 0.25, 1.0, 3.0], 5_000)
    heads = flip_exp_array(exponents, lambda i: Fraction(exponents[i]), SeededBits(5)).reshape(-1, 4).sum(axis=0)
    assert heads[0] == 5_000
    for shown, x in zip(heads[1:].tolist(), (0.25, 1.0, 3.0), strict=True):
        assert p_value([shown, 5_000 - shown], [math.exp(-x), -math.expm1(-x)]) > ALARM
        assert p_value([shown, 5_000 - shown], [math.exp(-0.7 * x), -math.expm1(-0.7 * x)]) < ALARM


def test_numbers_are_located_after_a_first_cell():
    """The cell is the one that inversion among the later cells gives."""
    weights = np.array([5.0, 3.0, 2.0, 1.0, 1.0])
    table = Table(weights, error=0.0, omitted=0.0)
    words = draw_words(30_000, SeededBits(6))
    for first in range(len(weights)):
        found = table.locate_each_after(words, np.full(len(words), first))
        kept = found >= 0
        assert kept.mean() > 0.999
        share = np.cumsum(weights[first:]) / weights[first:].sum()
        assert (found[kept] == first + np.searchsorted(share, words[kept] * 2.0**-64, side="right")).all()
