"""Mechanisms that are wrong in one way each, under the name and the guarantee of a right one: the audit fails them."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from shortlist.audits import run
from shortlist.audits.cases import Case, Result
from shortlist.audits.frequencies import check_frequencies, check_independence
from shortlist.audits.privacy_loss import Pair, bound_epsilon, enumerate_family, enumerate_losses
from shortlist.mechanisms import CDPPeel, Joint, PNFPeel, Subset
from shortlist.mechanisms.mechanism import Prepared
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow


def case(kind, **options):
    return Case(kind=kind, epsilon=Fraction(1), options=options)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRelation(Joint):
    """The noise is that of add-remove, whatever the relation is."""

    def _prepare(self, levels):
        return Joint(k=self.k, epsilon=self.epsilon).prepare(levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRelationOfPeel(PNFPeel):
    """The same, for a mechanism that uses all of its epsilon."""

    def _prepare(self, levels):
        return PNFPeel(k=self.k, epsilon=self.epsilon).prepare(levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneMore(Joint):
    """One item too many."""

    def _prepare(self, levels):
        return Joint(k=self.k + 1, epsilon=self.epsilon, neighbours=self.neighbours).prepare(levels)


class Wrapped(Prepared):
    """A right mechanism, of which a subclass changes something."""

    def __init__(self, right):
        self.right = right

    def draw(self, bits):
        return self.right.draw(bits)


class FirstOfEqual(Wrapped):
    """Among items with equal counts, the first in the domain are chosen."""

    def draw(self, bits):
        picks = self.right.draw(bits)
        seen = {}
        ranks = [seen.setdefault(level, iter(range(10**6))) for level in picks.levels.tolist()]
        return replace(picks, ranks=np.array([next(each) for each in ranks]))


class ManyWithTwice(Wrapped):
    """`draw` is right, and `draw_many` draws with twice the epsilon."""

    def __init__(self, right, twice):
        super().__init__(right)
        self.twice = twice

    def draw_many(self, n, bits):
        return self.twice.draw_many(n, bits)


class ManyRepeat(Wrapped):
    """Two lists of `draw_many` are equal."""

    def draw_many(self, n, bits):
        return [each for _ in range(n) for each in [self.right.draw(bits)] * 2][:n]


class RepeatNow(Wrapped):
    """Every second draw repeats the one before it."""

    last = None

    def draw(self, bits):
        drawn = self.last or self.right.draw(bits)
        self.last = None if self.last else drawn
        return drawn


class OwnSeed(Wrapped):
    """The randomness is a fixed stream, whatever source is given."""

    def __init__(self, right):
        super().__init__(right)
        self.own = SeededBits(1)

    def draw(self, bits):
        return self.right.draw(self.own)


def break_joint(wrapper):
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Broken(Joint):
        def _prepare(self, levels):
            right = Joint(k=self.k, epsilon=self.epsilon, neighbours=self.neighbours).prepare(levels)
            if wrapper is ManyWithTwice:
                twice = Joint(k=self.k, epsilon=2 * self.epsilon, neighbours=self.neighbours)
                return ManyWithTwice(right, twice.prepare(levels))
            return wrapper(right)

    return Broken


@pytest.mark.parametrize(
    ("kind", "sample"),
    [
        (OtherRelation, {"relation": "replace", "k": 3}),
        (break_joint(FirstOfEqual), {}),
        (OneMore, {}),
        (break_joint(ManyWithTwice), {"many": True, "k": 1}),
    ],
    ids=["add-remove noise for replace", "first of equal items", "one item more", "draw_many differs"],
)
def test_frequencies_show_another_law(kind, sample):
    """The sample that the audit draws rejects the stated law, and the right mechanism passes it."""
    assert check_frequencies(case(kind), 2000, SeededBits(3), **sample).result is Result.FAIL
    assert check_frequencies(case(Joint), 2000, SeededBits(3), **sample).result is Result.PASS


@pytest.mark.parametrize("wrapper", [RepeatNow, ManyRepeat, OwnSeed])
def test_draws_that_depend_on_each_other_are_caught(wrapper):
    """Each list has the right law; together they reveal more than the sum of their guarantees."""
    assert check_independence(case(break_joint(wrapper)), 1000, SeededBits(3)).result is Result.FAIL
    assert check_independence(case(Joint), 1000, SeededBits(3)).result is Result.PASS


def test_samples_show_a_wrong_relation():
    """Samples alone show that the noise for add-remove is too small for replace."""
    pair = Pair(here=(3, 4), there=(4, 3), k=1, relation="replace")
    assert bound_epsilon(case(OtherRelationOfPeel), pair, 8000, SeededBits(3)).result is Result.FAIL
    assert bound_epsilon(case(PNFPeel), pair, 8000, SeededBits(3)).result is Result.PASS


def restate(kind, **values):
    """A mechanism that draws as it should, and states another guarantee."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Restated(kind):
        @property
        def guarantee(self):
            right = kind.guarantee.fget(self)
            changed = {name: change(getattr(right, name)) for name, change in values.items()}
            return replace(right, **changed)

    return Restated


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (restate(Subset, epsilon=lambda epsilon: epsilon / 2), {}),
        (restate(Subset, epsilon=lambda epsilon: epsilon * 2), {}),
        (restate(Subset, rho=lambda rho: rho * Fraction(7, 10)), {}),
        (restate(Subset, neighbours=lambda _: "replace"), {}),
        (restate(CDPPeel, delta=lambda delta: delta / 2), {"delta": Fraction(1, 5)}),
    ],
    ids=["half of epsilon", "more than was asked", "rho 30 % too small", "another relation", "half of delta"],
)
def test_a_guarantee_that_is_not_that_of_the_law_is_caught(kind, options):
    """Epsilon, delta, rho and the relation of the record are those that the enumeration is compared with."""
    assert enumerate_losses(case(kind, **options), "add-remove", largest_d=3)[0].result is Result.FAIL


def test_a_wrong_calibration_of_delta_is_caught():
    """Rounds that are calibrated for a delta of 0.3 do not satisfy 0.2."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class OtherDelta(CDPPeel):
        @property
        def round_epsilon(self):
            return CDPPeel(k=self.k, epsilon=self.epsilon, delta="0.3", neighbours=self.neighbours).round_epsilon

        @property
        def guarantee(self):
            return CDPPeel(k=self.k, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours).guarantee

    delta = {"delta": Fraction(1, 5)}
    assert enumerate_losses(case(CDPPeel, **delta), "add-remove", largest_d=3)[0].result is Result.PASS
    assert enumerate_losses(case(OtherDelta, **delta), "add-remove", largest_d=3)[0].result is Result.FAIL


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOfEpsilonInEachGroup(PNFPeel):
    """Each list of a family is drawn like a single one."""

    def state_family(self, histograms, *, reach=6):
        return PNFPeel(k=self.k, epsilon=self.epsilon, neighbours=self.neighbours).state_family(histograms)


def test_a_family_that_costs_more_than_it_says_is_caught():
    """One person in two groups has both losses; the right mechanism passes."""
    for relation in ("add-remove", "replace"):
        assert enumerate_family(case(PNFPeel), relation).result is Result.PASS
        assert enumerate_family(case(AllOfEpsilonInEachGroup), relation).result is Result.FAIL


def test_a_mechanism_that_breaks_down_fails():
    """An error while drawing is a finding, not the end of the audit; its text may hold data and is left out."""

    class Broken(Wrapped):
        def draw(self, bits):
            raise ValueError("secret")

    report = run.audit(break_joint(Broken)(k=1, epsilon=1), tables=False)
    assert report.result == "fail"
    assert "ValueError" in str(report)
    assert "secret" not in str(report)
