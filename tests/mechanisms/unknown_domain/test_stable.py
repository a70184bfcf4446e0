"""Stable: the exact top set at a size with a gap, or nothing."""

import itertools
from fractions import Fraction

import pytest
from contract import RELATIONS
from flint import ctx
from unlisted import UnlistedContract, find_worst

from shortlist.audits.unknown_domain_laws import stable_law
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.mechanisms import Stable


class TestStable(UnlistedContract):
    epsilon = Fraction(1)
    delta = Fraction(1, 5)
    histograms = tuple(itertools.product(range(6), repeat=2)) + tuple(itertools.product(range(3), repeat=3))
    sampled = ((9, 2, 0, 1), (0, 14, 4, 4))
    draws = 4000
    at_least = 1

    def make(self, k, epsilon, relation="add-remove"):
        at_least = self.at_least
        return Stable(k=k, epsilon=epsilon, delta=self.delta, at_least=at_least, neighbours=relation)

    def law(self, mechanism, histogram):
        return stable_law(mechanism, histogram)

    def read(self, picks, items):
        assert picks.unordered
        return tuple(sorted(items))


class TestStableOfOneSize(TestStable):
    at_least = None

    def make(self, k, epsilon, relation="add-remove"):
        return Stable(k=(k, k), epsilon=epsilon, delta=self.delta, neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("k", [1, 2])
def test_one_less_is_seen(k, relation):
    """The check has power: with a threshold of one less, delta is exceeded."""
    mechanism = Stable(k=(k, k), epsilon=1, delta="0.05", neighbours=relation)
    histograms = tuple(itertools.product(range(5), repeat=k + 1))
    with ctx.workprec(96):
        right, wrong = (
            find_worst(lambda h, t=t: stable_law(mechanism, h, threshold=t), histograms, relation, None, 1)
            for t in (mechanism.threshold, mechanism.threshold - 1)
        )
        assert not right > ball(mechanism.delta)
        assert wrong > ball(mechanism.delta)


def test_epsilon_is_split_where_there_is_a_choice():
    """Half of epsilon chooses the size; a single size needs no choice."""
    several, single = Stable(k=10, epsilon=1, delta="1e-6"), Stable(k=(10, 10), epsilon=1, delta="1e-6")
    assert (several.sizes, several.size_epsilon, several.law.b) == (range(5, 11), Fraction(1, 2), 2)
    assert (single.sizes, single.size_epsilon, single.law.b) == (range(10, 11), 0, 1)
    assert Stable(**several.parameters) == several
    assert Stable(k=1, epsilon=1, delta="1e-6", neighbours="replace").law.b == 2


def test_refuses_wrong_parameters():
    """Sizes must be a range."""
    with pytest.raises(ParameterError, match="at_least must be at most k, which is 3, not 4"):
        Stable(k=3, at_least=4, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match="two numbers"):
        Stable(k=(1, 2, 3), epsilon=1, delta="1e-6")
