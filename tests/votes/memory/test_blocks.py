"""Low counts of a long array: tallied block by block, and found again."""

import numpy as np
import pytest

from shortlist.profile import Profile
from shortlist.votes.memory.blocks import _BLOCK, _LOW, _PART, _add_bytes, tally_blocks


def check(counts):
    """Compare the levels, and some items of each of them, with those of the sorted array."""
    tallied, wide = tally_blocks(counts), counts.astype(np.int64)
    assert tallied is not None
    whole, shown = Profile.of(wide), tallied.profile()
    assert shown.values.tolist() == whole.values.tolist()
    assert shown.sizes.tolist() == whole.sizes.tolist()
    starts = whole.ends - whole.sizes
    spread = np.arange(0, len(counts), len(counts) // 500)
    positions = np.random.default_rng(0).permutation(np.concatenate([starts, whole.ends - 1, spread]))
    assert (tallied.items(whole.picks(positions)) == np.argsort(-wide, kind="stable")[positions]).all()


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_every_type_of_low_counts_is_tallied(kind):
    """In any order, from one level to as many as are compared, and also if only every second number is a count."""
    rng = np.random.default_rng(1)
    d = _PART * _BLOCK + 3 * _BLOCK + 77
    for counts in (rng.poisson(2, d), np.full(d, 7), np.zeros(d), rng.integers(0, _LOW, d)):
        check(counts.astype(kind))
    low = rng.poisson(2, d).astype(kind)
    for counts in (np.sort(low), np.sort(low)[::-1], np.repeat(low, 2)[::2]):
        check(counts)


@pytest.mark.parametrize("extra", [-1, 0, 1])
@pytest.mark.parametrize("blocks", [1, 5, _PART, _PART + 1])
def test_a_block_or_a_part_may_end_anywhere(extra, blocks):
    """An array may end just before or after the end of a block, or of the blocks that are compared at once."""
    d = blocks * _BLOCK + max(extra, 0 if blocks == 1 else extra)
    check(np.random.default_rng(d).poisson(2, d).astype(np.int32))


@pytest.mark.parametrize("kind", ["uint8", "uint16", "int64"])
def test_a_few_counts_may_be_large(kind):
    """They are found wherever they are, up to the largest number of the type."""
    d, most = _PART * _BLOCK + 5, int(np.iinfo(kind).max)
    low = np.random.default_rng(2).poisson(1, d).astype(kind)
    for value in (_LOW, 255, min(256, most), most):
        counts = low.copy()
        counts[[0, _BLOCK - 1, _BLOCK, d // 2, _PART * _BLOCK - 1, _PART * _BLOCK, d - 1]] = value
        check(counts)
    low[::200] = 30 + np.arange(len(low[::200])) % 90
    check(np.sort(low))


def test_a_whole_block_on_one_level_is_counted():
    """The sums of bytes do not overflow."""
    for level in range(_LOW):
        check(np.full(3 * _BLOCK, level, dtype=np.uint8))
    assert _add_bytes(np.array([2**64 - 1, 0, 1 << 56, 255], dtype=np.uint64)).tolist() == [8 * 255, 0, 1, 255]


def test_other_counts_are_left_to_other_views():
    """Many counts that are not low, many that are far away, and a negative one are not tallied."""
    d = 2 * _PART * _BLOCK
    low = np.random.default_rng(3).poisson(2, d)
    assert tally_blocks(low + _LOW) is None
    for start in (0, d // 2, d - d // 50):
        counts = low.copy()
        counts[start : start + d // 50] = 100
        assert tally_blocks(counts) is None
    far = np.tile(low, 4)
    far[100 : 100 + 5000] = 300
    assert tally_blocks(far) is None
    for kind in ("int8", "int16", "int32", "int64"):
        for place in (0, 1, _BLOCK, d // 2 + 1, d - 1):
            counts = low.astype(kind)
            counts[place] = -1 - place % 2 * int(np.iinfo(kind).max)
            assert tally_blocks(counts) is None
