"""What both peels stand on: proposals from what is left, decided by floats only where floats can tell."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value
from levels import UpperLevels
from peels import single_levels

from shortlist.exact.choice import Table
from shortlist.mechanisms import CDPPeel, PNFPeel
from shortlist.mechanisms.peel import peeling
from shortlist.mechanisms.peel.peeling import PeelLevels, PeelRun
from shortlist.profile import Profile
from shortlist.testing import SeededBits

HISTOGRAMS = {
    "dense": np.arange(300) % 41,
    "zipf": (3000 / np.arange(1, 200)).astype(np.int64),
    "giant": np.array([2**62, 2**61, 5, 4, 3, 2, 1, 0, 0, 0]),
    "zero": np.zeros(30, dtype=np.int64),
}
every_histogram = pytest.mark.parametrize("counts", HISTOGRAMS.values(), ids=HISTOGRAMS)
every_peel = pytest.mark.parametrize(
    "mechanism", [CDPPeel(k=8, epsilon=2, delta="0.1"), PNFPeel(k=8, epsilon=2)], ids=["cdp", "pnf"]
)


def drawn(mechanism, levels, runs):
    prepared = mechanism.prepare(levels)
    picks = [prepared.draw(SeededBits(seed)) for seed in range(runs)]
    return [(each.levels.tolist(), each.ranks.tolist()) for each in picks]


@every_histogram
@every_peel
def test_a_wide_error_bound_changes_no_answer(counts, mechanism, monkeypatch):
    """Which level a number hits is a fact: balls find the level that floats find, for the same bits."""
    answers = drawn(mechanism, Profile.of(counts), 12)
    build = Table.__init__

    def wide(self, *arguments, **options):
        build(self, *arguments, **options)
        self.slack = 0.01

    monkeypatch.setattr(Table, "__init__", wide)
    assert drawn(mechanism, Profile.of(counts), 12) == answers


@every_peel
@pytest.mark.parametrize("doubtful", [False, True])
def test_levels_out_of_reach_change_no_answer(mechanism, doubtful, monkeypatch):
    """A large array shows only its upper levels, and the lists are those of the whole profile."""
    counts = np.random.default_rng(4).integers(0, 200, size=5000)
    counts[::100] += 1000
    upper = UpperLevels(counts)
    assert not upper.above(8, 300).is_complete
    whole = drawn(mechanism, Profile.of(counts), 5)
    if doubtful:
        locate = Table.locate_each
        monkeypatch.setattr(Table, "locate_each", lambda self, words: np.where(words % 7, locate(self, words), -1))
    assert drawn(mechanism, upper, 5) == whole


@pytest.mark.parametrize("likely", [-1.0, 2.0])
def test_the_best_level_gets_its_share(likely, monkeypatch):
    """Trying the best level first, always or never, leaves the law of the exponential mechanism."""
    monkeypatch.setattr(peeling, "_LIKELY", likely)
    peel_of = PeelLevels(Profile.of(np.array([4, 4, 3, 1])), k=2, rate=Fraction(2, 5))
    bits, seen = SeededBits(9), np.zeros((3, 3))
    for _ in range(6000):
        run = PeelRun(peel_of, bits)
        first = run.propose()
        run.take(*first)
        seen[first[0], run.propose()[0]] += 1
    weights, items = np.exp(-0.4 * np.array([0, 1, 3])), np.array([2, 1, 1])
    total = weights @ items
    law = [
        items[i] * weights[i] / total * (items[j] - (i == j)) * weights[j] / (total - weights[i])
        for i in range(3)
        for j in range(3)
    ]
    likely_cells = [index for index, probability in enumerate(law) if probability]
    assert p_value(seen.ravel()[likely_cells], np.array(law)[likely_cells]) > 1e-9


@every_histogram
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(7)])
def test_sums_and_totals_hold_what_they_claim(counts, rate):
    """Along a run, floats enclose Σ c and Σ c² over what is left, and totals are never too small."""
    peel_of = PeelLevels(Profile.of(counts), k=8, rate=rate)
    peel = PeelRun(peel_of, SeededBits(2))
    with ctx.workprec(200):
        for _ in range(8):
            levels = list(single_levels(peel.left()))
            first = sum((each.members * each.decay() for each in levels), arb(0))
            second = sum((each.members * each.decay() ** 2 for each in levels), arb(0))
            ours = peel.sums()
            assert ours[0].contains(first.mid())
            assert ours[1].contains(second.mid())
            assert arb(peel_of.shown.totals[levels[0].level()]) > first
            peel.take(*peel.propose())


def test_all_items_can_be_taken():
    """With k = d every item is named once, whatever the levels."""
    counts = np.array([7, 7, 7, 0, 0, 3] * 50)
    for mechanism in (CDPPeel(k=300, epsilon=1, delta="0.1"), PNFPeel(k=300, epsilon=1)):
        picks = mechanism.prepare(Profile.of(counts)).draw(SeededBits(3))
        assert len(set(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))) == 300
