"""`Selector.draw_many`: many lists at once, as `draw` returns each."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from shortlist import ParameterError, prepare
from shortlist.mechanisms import MECHANISMS, Subset
from shortlist.testing import SeededBits

COUNTS = {"apple": 310, "pear": 190, "plum": 12, "quince": 2}


def test_many_lists_are_lists():
    """Of labels for a mapping, of indices for an array; each by itself."""
    lists = prepare(COUNTS, k=2, epsilon="0.01").draw_many(50, SeededBits(1))
    assert len(lists) == 50
    assert all(len(set(each)) == 2 and set(each) <= COUNTS.keys() for each in lists)
    assert len({tuple(each) for each in lists}) > 5
    arrays = prepare(list(COUNTS.values()), k=2, epsilon=9).draw_many(3)
    assert [each.tolist() for each in arrays] == [[0, 1]] * 3
    assert arrays[0].dtype == np.int64


def test_lists_without_an_order_are_in_the_order_of_the_counts():
    """As they are from single draws, also if sets have several sizes."""
    for mechanism in (Subset(k=3, epsilon="0.01"), Subset(k=(1, 3), epsilon="0.01")):
        lists = prepare(np.array([5, 7, 5, 9, 1]), mechanism=mechanism).draw_many(40, SeededBits(2))
        assert all((np.diff(each) > 0).all() for each in lists)
        assert {len(each) for each in lists} == set(mechanism.sizes)


def test_seeds_repeat_many_draws_and_the_system_does_not():
    """Equal seeds give equal lists. Without bits, the operating system's randomness is used."""
    selector = prepare(np.arange(100), k=10, epsilon="0.1")
    one, same = (np.array(selector.draw_many(5, SeededBits(3))).tolist() for _ in range(2))
    assert one == same
    assert np.array(selector.draw_many(5)).tolist() != np.array(selector.draw_many(5)).tolist()


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "ten"])
def test_a_wrong_number_is_refused(n):
    """Before anything is drawn."""
    with pytest.raises(ParameterError, match="n must be"):
        prepare(COUNTS, k=2, epsilon=1).draw_many(n)


@pytest.mark.parametrize("kind", MECHANISMS.values(), ids=list(MECHANISMS))
def test_whatever_is_prepared_can_be_pickled(kind):
    """Before a draw and after it, also if few counts are near the largest: the copy draws the same lists."""
    for extra, counts in itertools.product(kind.audited, ([9, 7, 7, 3], np.arange(5000))):
        selector = prepare(counts, mechanism=kind.build_example(k=2, **extra))
        for _ in range(2):
            sent = pickle.loads(pickle.dumps(selector))
            one, same = (each.draw_many(3, SeededBits(4)) for each in (selector, sent))
            assert [each.tolist() for each in one] == [each.tolist() for each in same]
