"""Which of many independent events happen."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from laws import p_value

from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.crossings import Crossings
from shortlist.exact.scaled import powers
from shortlist.testing import SeededBits

SIZES = np.array([2, 1, 3])
DEPTHS = np.array([1, 2, 4])
RATE = Fraction(3, 4)
EVENTS = [(group, index) for group, size in enumerate(SIZES) for index in range(size)]


def chance(index):
    return enclose_exp_minus(RATE * int(DEPTHS[index]))


def prepare(error=0):
    """Events of probability e^(−rate · depth), with numbers that are off by so many roundings more."""
    chances = powers(RATE, DEPTHS)
    doubtful = replace(chances, roundings=chances.roundings + error)
    return Crossings(SIZES, doubtful, rare=0, enclose=lambda event: chance(EVENTS[event][0]))


def law(rate):
    """The probability of every set of events."""
    chances = [float(np.exp(-rate * DEPTHS[group])) for group, _ in EVENTS]
    for happen in itertools.product((False, True), repeat=len(EVENTS)):
        probability = np.prod([p if yes else 1 - p for p, yes in zip(chances, happen, strict=True)])
        yield frozenset(event for event, yes in enumerate(happen) if yes), float(probability)


@pytest.mark.parametrize(("error", "draws"), [(0, 20_000), (2**50, 3_000)])
def test_events_are_independent_with_their_probabilities(error, draws):
    """Every set of events has its probability, also where balls decide often; not one that is 30 % off."""
    happened = [[] for _ in range(draws)]
    for draw, event in zip(*(each.tolist() for each in prepare(error).draw(draws, SeededBits(3))), strict=True):
        happened[draw].append(event)
    drawn = Counter(map(frozenset, happened))
    assert all(len(set(each)) == len(each) for each in happened)
    for factor, right in ((1.0, True), (0.7, False), (1.3, False)):
        expected = dict(law(float(RATE) * factor))
        assert set(drawn) <= set(expected)
        value = p_value([drawn[events] for events in expected], list(expected.values()))
        assert value > 1e-9 if right else value < 1e-9


def test_floats_are_never_wrong():
    """Deciding everything with balls gives the events that floats give, for the same bits."""
    sure, doubtful = prepare(), prepare()
    doubtful._least, doubtful._most = doubtful._least - 1, doubtful._most + 1
    for seed in range(60):
        ours, theirs = (each.draw(1, SeededBits(seed)) for each in (sure, doubtful))
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


def test_unlikely_events_have_their_probability():
    """Three million events that are less likely than a cell is hit: each is as likely, and rare ones do not happen."""
    size, draws = 3 * 10**6, 400
    chances = powers(Fraction(1), np.array([1, 15]))
    crossings = Crossings(np.array([2, size]), chances, rare=10**7, enclose=lambda _: arb(2) ** -65)
    rows, events = crossings.draw(draws, SeededBits(2))
    unlikely = events[events >= 2] - 2
    assert (np.diff(rows) >= 0).all()
    assert unlikely.max() < size
    expected = draws * size * np.exp(-15.0)
    assert abs(len(unlikely) - expected) < 6.2 * np.sqrt(expected)
    assert p_value(np.bincount(unlikely * 5 // size, minlength=5).tolist(), [0.2] * 5) > 1e-9


def test_many_events_are_drawn_without_a_draw_each():
    """A billion events of probability 10⁻⁷: about a hundred happen, and a thousand cells are hit."""

    class Counting(SeededBits):
        drawn = 0

        def draw(self, count):
            Counting.drawn += count
            return super().draw(count)

    size, rate = 10**9, Fraction(16)
    events = Crossings(np.array([size]), powers(rate, np.array([1])), rare=0, enclose=lambda _: enclose_exp_minus(rate))
    numbers = [len(events.draw(1, Counting(seed))[0]) for seed in range(100)]
    expected = size * np.exp(-16.0)
    assert abs(np.mean(numbers) - expected) < 6.2 * np.sqrt(expected / 100)
    assert Counting.drawn < 100 * (200 + 20 * (expected + size / 2**20))
