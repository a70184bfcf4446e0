"""Which of many independent events happen."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value

from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.crossings import Crossings, Groups
from shortlist.exact.logarithms import compute_hazards
from shortlist.exact.scaled import powers
from shortlist.testing import SeededBits

SIZES = np.array([2, 1, 3])
DEPTHS = np.array([1, 2, 4])
RATE = Fraction(3, 4)


def chance(index):
    return enclose_exp_minus(RATE * int(DEPTHS[index]))


def prepare(shown=3):
    """Events of probability e^(−rate · depth), of which the first groups are shown."""
    with ctx.workprec(100):
        omitted = float(sum((int(SIZES[i]) * -(-chance(i)).log1p() for i in range(shown, 3)), arb(0)).upper())
    return Crossings.of_chances(
        SIZES[:shown],
        powers(RATE, DEPTHS[:shown]),
        omitted=omitted * (1 + 1e-9),
        all_groups=lambda: Groups(sizes=SIZES, hazard=lambda index: -(-chance(index)).log1p()),
    )


def law(rate):
    """The probability of every set of events."""
    events = [(group, index) for group, size in enumerate(SIZES) for index in range(size)]
    chances = {event: float(np.exp(-rate * DEPTHS[event[0]])) for event in events}
    for happen in itertools.product((False, True), repeat=len(events)):
        probability = np.prod([chances[e] if yes else 1 - chances[e] for e, yes in zip(events, happen, strict=True)])
        yield frozenset(e for e, yes in zip(events, happen, strict=True) if yes), float(probability)


@pytest.mark.parametrize("shown", [3, 2, 0])
def test_events_are_independent_with_their_probabilities(shown):
    """Every set of events has its probability, also where some groups are not shown; not one that is 30 % off."""
    crossings, bits = prepare(shown), SeededBits(3)
    draws = 20_000 if shown == 3 else 3_000
    happened = [[] for _ in range(draws)]
    for draw, *event in zip(*(each.tolist() for each in crossings.draw(draws, bits)), strict=True):
        happened[draw].append(tuple(event))
    drawn = Counter(map(frozenset, happened))
    assert all(len(set(each)) == len(each) for each in happened)
    for factor, right in ((1.0, True), (0.7, False), (1.3, False)):
        expected = dict(law(float(RATE) * factor))
        assert set(drawn) <= set(expected)
        value = p_value([drawn[events] for events in expected], list(expected.values()))
        assert value > 1e-9 if right else value < 1e-9


def test_floats_are_never_wrong():
    """Deciding everything with balls gives the events that floats give, for the same bits."""
    groups = Groups(sizes=SIZES, hazard=lambda index: -(-chance(index)).log1p())
    rates = compute_hazards(powers(RATE, DEPTHS).align(0))
    sure, doubtful = (
        Crossings(SIZES, rates, error=error, omitted=0.0, all_groups=lambda: groups) for error in (1e-14, 1e9)
    )
    for seed in range(60):
        ours, theirs = (each.draw(1, SeededBits(seed)) for each in (sure, doubtful))
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))


def test_many_events_are_drawn_without_a_draw_each():
    """A billion events of probability 10⁻⁷: about a hundred happen, and few bytes are drawn."""

    class Counting(SeededBits):
        drawn = 0

        def draw(self, count):
            Counting.drawn += count
            return super().draw(count)

    size, rate = 10**9, Fraction(16)
    groups = Groups(sizes=np.array([size]), hazard=lambda index: -(-enclose_exp_minus(rate)).log1p())
    events = Crossings.of_chances(groups.sizes, powers(rate, np.array([1])), omitted=0.0, all_groups=lambda: groups)
    numbers = [len(events.draw(1, Counting(seed))[0]) for seed in range(100)]
    expected = size * np.exp(-16.0)
    assert abs(np.mean(numbers) - expected) < 6.2 * np.sqrt(expected / 100)
    assert Counting.drawn < 100 * (8 + 20 * 2 * expected)
