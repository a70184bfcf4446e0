"""What is bought beside a list is audited: it passes as it is, and fails where less noise is drawn than is promised."""

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from shortlist.audits import extras
from shortlist.audits.cases import Result
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, SharedGaussian
from shortlist.mechanisms.noisy_counts import ListCounts
from shortlist.mechanisms.private_cap import PrivateCap
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow

RELATIONS = ("add-remove", "replace")
COUNTS = {"counts_epsilon": Fraction(2), "votes_per_person": 2, "others": True}
SHARED = {"counts_rho": Fraction(2), "counts_delta": Fraction(1, 100), "max_weight": 2, "weight_unit": "units"}


def test_all_that_is_bought_beside_a_list_passes():
    """Every check of a whole audit has the power to notice an error, and finds none."""
    steps = []
    found = list(extras.check_extras(1500, SeededBits(1), steps.append))
    assert [each.result for each in found] == [Result.PASS] * len(found)
    assert {each.subject.partition(",")[0] for each in found} == {"private cap", "people of groups", "noisy counts"}
    assert len(steps) == 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SteepCap(PrivateCap):
    """It takes the sensitivity for three times smaller than it is."""

    def choose(self, exceeding, bits):
        return PrivateCap(epsilon=3 * self.epsilon, quantile=self.quantile).choose(exceeding, bits)

    def state_law(self, exceeding):
        return PrivateCap(epsilon=3 * self.epsilon, quantile=self.quantile).state_law(exceeding)


def test_a_cap_that_is_chosen_too_sharply_is_caught():
    """Its law shows that one person changes too much, under both relations, and samples show another law."""
    for relation in RELATIONS:
        assert extras.enumerate_cap(relation, SteepCap).result is Result.FAIL
    assert extras.sample_cap(1000, SeededBits(2), SteepCap).result is Result.FAIL


def weaken(noise):
    """Noise of two thirds of the size."""
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(noise.b * Fraction(2, 3))
    if isinstance(noise, SharedGaussian):
        return SharedGaussian(own=noise.own * Fraction(4, 9), shared=noise.shared * Fraction(4, 9))
    return DiscreteGaussian(noise.variance * Fraction(4, 9))


class WeakCounts(ListCounts):
    """The noise on listed items is too small."""

    @property
    def noise(self):
        return weaken(ListCounts.noise.fget(self))


class WeakOthers(ListCounts):
    """The noise on the votes for all other items is too small."""

    @property
    def others_noise(self):
        return weaken(ListCounts.others_noise.fget(self))


@pytest.mark.parametrize(
    ("asked", "kind"),
    [(COUNTS, WeakCounts), (COUNTS, WeakOthers), (SHARED, WeakCounts)],
    ids=["listed", "rest", "shared"],
)
def test_counts_with_too_little_noise_are_caught(asked, kind):
    """The law of the noise shows it under both relations, and samples show that it is not the law of the terms."""
    for relation in RELATIONS:
        assert extras.enumerate_counts(asked, relation, kind).result is Result.FAIL
    assert extras.sample_counts(asked, 1000, SeededBits(3), kind).result is Result.FAIL


def test_people_with_too_little_noise_are_caught():
    """Numbers of people that are drawn for twice the epsilon do not follow the law of the terms."""
    terms = extras.read_people("add-remove", 2)
    loud = replace(terms, group_people=replace(terms.group_people, epsilon=2))
    assert extras.sample_people(loud, 1000, SeededBits(4)).result is Result.FAIL
