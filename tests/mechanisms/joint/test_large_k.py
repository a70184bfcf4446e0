"""Many items from many: faster ways to count sequences and to cut losses into blocks change no answer."""

from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx
from mixtures import check_balls_agree, check_borders, every_doubt, every_shape, treat_as_large

from shortlist.mechanisms import Joint
from shortlist.mechanisms.joint import blocks, sequences
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.profile import Profile
from shortlist.testing import SeededBits


@pytest.fixture
def as_if_large(monkeypatch):
    """Cut losses and count sequences as for a large k."""
    treat_as_large(monkeypatch)


@pytest.mark.parametrize("table", [1 << 22, 0], ids=["table", "search"])
@every_shape
@pytest.mark.usefixtures("as_if_large")
def test_numbers_are_within_their_bound(counts, table, monkeypatch):
    """Losses at equal distances, at any distances, and at equal distances but the last: each N_r is near enough."""
    monkeypatch.setattr(sequences, "_LARGEST_TABLE", table)
    found = Sequences(Profile.of(counts), min(200, len(counts)), reach=10**6)
    reach = min(found.widest, 60)
    for losses in (range(0, reach + 1, 3), [0, 1, 5, 6, 60], [*range(0, 50, 7), 51], [4, 9], [8]):
        asked = np.unique(np.minimum(list(losses), reach))
        numbers = found.compute_numbers(asked)
        with ctx.workprec(200):
            for r, mantissa, exponent in zip(asked.tolist(), numbers.mantissa, numbers.exponent, strict=True):
                error = arb(float(mantissa)) * arb(2) ** int(exponent) / found.number(r) - 1
                assert abs(error) <= arb(numbers.error)


def test_a_long_list_is_counted_within_the_bound():
    """The same with thousands of factors and nothing changed, for all sequences, too."""
    counts = np.random.default_rng(3).integers(0, 50_000, size=5000)
    found = Sequences(Profile.of(counts), 4000, reach=50_000)
    asked = np.arange(2000, 3000, 7)
    numbers, everything = found.compute_numbers(asked), found.compute_number_of_all()
    with ctx.workprec(200):
        for numbers_of, place, exact in [
            *((numbers, place, found.number(int(asked[place]))) for place in (0, 71, len(asked) - 1)),
            (everything, 0, found.number(None)),
        ]:
            value = arb(float(numbers_of.mantissa[place])) * arb(2) ** int(numbers_of.exponent[place])
            assert abs(value / exact - 1) <= arb(numbers_of.error)


@every_shape
@pytest.mark.usefixtures("as_if_large")
def test_borders_are_within_their_bound(counts):
    """Every border of a wide block lies within the slack, which covers what coarse passes leave out."""
    check_borders(Joint(k=6, epsilon=1).prepare(Profile.of(counts)))


@every_shape
@every_doubt
@pytest.mark.usefixtures("as_if_large")
def test_a_wide_error_bound_changes_no_answer(counts, doubt, monkeypatch):
    """Balls find the wide block that floats find."""
    check_balls_agree(Joint(k=6, epsilon=1), counts, doubt, monkeypatch, lists=15)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "1", "100"])
def test_a_block_is_not_steep(epsilon):
    """In a block of several losses, N_r grows by less than a factor that bounds the rejections."""
    counts = np.random.default_rng(4).integers(0, 100_000, size=3000)
    prepared = Joint(k=3000, epsilon=epsilon).prepare(Profile.of(counts))
    ranges = prepared._blocks.list_ranges()
    assert all(before == start for (_, before), (start, _) in pairwise(ranges))
    # A fifth of the blocks is enough. At epsilon 100, losses are few, and every block is a single one.
    wide = [(start, end) for start, end in ranges if end - start > 1 and start % 5 == 0]
    assert bool(wide) == (epsilon != "100")
    for start, end in wide:
        growth = prepared._sequences.number(end - 1) // prepared._sequences.number(start)
        assert growth < 1 << (blocks._STEEP_BITS + 1)


@pytest.mark.parametrize("epsilon", ["1e-19", "1e-30"])
def test_borders_of_blocks_stay_whole_numbers(epsilon):
    """A block holds no more losses than there are, however slowly weights fall: sums of losses fit into 64 bits."""
    counts = np.array([2**62] * 10 + [0] * 9990)
    prepared = Joint(k=10, epsilon=epsilon).prepare(Profile.of(counts))
    ((start, end),) = prepared._blocks.list_ranges()
    assert 0 < start < end == 2**62
    assert prepared.draw(SeededBits(1)).levels.tolist() == [0] * 10
