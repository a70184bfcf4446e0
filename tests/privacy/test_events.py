"""Guarantees as events of dp-accounting, added up by that library itself."""

import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from shortlist import Guarantee
from shortlist.errors import ParameterError
from shortlist.mechanisms import CDPPeel, Joint, PNFJoint
from shortlist.privacy.composition import find_strongest_rho
from shortlist.privacy.events import to_dp_event
from shortlist.privacy.zcdp import find_epsilon

dp_accounting = pytest.importorskip("dp_accounting")
from dp_accounting import pld, rdp  # noqa: E402

RELATIONS = {
    "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace": dp_accounting.NeighboringRelation.REPLACE_ONE,
}
DELTA = Fraction(1, 10**6)


def renyi_epsilon(guarantees, orders=None):
    """What the library's Rényi accountant says of several releases."""
    relation = RELATIONS[guarantees[0].neighbours]
    accountant = rdp.RdpAccountant(neighboring_relation=relation, **({} if orders is None else {"orders": orders}))
    for guarantee, times in Counter(guarantees).items():
        accountant.compose(to_dp_event(guarantee), times)
    return accountant.get_epsilon(float(DELTA))


def ours(guarantees):
    """What our zCDP accounting says of them."""
    return find_epsilon(sum(find_strongest_rho(each)[0] for each in guarantees), DELTA)


# Mechanisms, not guarantees: the calibration of cdp-peel takes long, and is not needed to collect tests.
CASES = [
    [Joint(k=10, epsilon="0.2")] * 52,
    [Joint(k=10, epsilon="0.2", neighbours="replace")] * 3,
    [PNFJoint(k=10, epsilon="1/3")] * 20,
    [PNFJoint(k=10, epsilon="1/3", neighbours="replace")] * 20,
    [PNFJoint(k=3, epsilon=2, neighbours="replace")] * 2,
    [CDPPeel(k=100, epsilon=1, delta="1e-6")] * 10,
    [CDPPeel(k=10, epsilon="0.1", delta="1e-6"), Joint(k=1, epsilon=3)],
    [Guarantee(epsilon=Fraction(1, 10))] * 100,
]


@pytest.fixture(params=CASES, ids=lambda case: f"{len(case)} of {type(case[0]).__name__}")
def guarantees(request):
    return [state(each) for each in request.param]


@cache
def state(release):
    return release if isinstance(release, Guarantee) else release.guarantee


def test_the_library_never_says_more_than_we_do(guarantees):
    """With fine orders around the best one, the Rényi accountant states at most our ε."""
    near = math.sqrt(-math.log(DELTA) / sum(find_strongest_rho(each)[0] for each in guarantees))
    orders = 1 + near * np.geomspace(0.2, 5, 2001)
    assert renyi_epsilon(guarantees, orders) <= float(ours(guarantees)) * (1 + 1e-6)


def test_the_default_orders_are_nearly_as_good(guarantees):
    """The library looks at fewer orders, which costs at most a few per mille here."""
    assert renyi_epsilon(guarantees) <= float(ours(guarantees)) * 1.005


@pytest.mark.parametrize(("epsilon", "times"), [("1/4", 1), ("1/4", 4), ("1/2", 30), (2, 3)])
def test_pure_releases_compose_optimally(epsilon, times):
    """The accountant of privacy losses takes replace guarantees, and states at most the sum and at most our ε."""
    one = PNFJoint(k=3, epsilon=epsilon, neighbours="replace").guarantee
    accountant = pld.PLDAccountant(RELATIONS["replace"], value_discretization_interval=1e-5)
    accountant.compose(to_dp_event(one), times)
    stated = accountant.get_epsilon(float(DELTA))
    # The library rounds each privacy loss up to a whole number of intervals.
    assert stated <= min(times * one.epsilon, ours([one] * times)) + Fraction(times, 10**5)
    assert accountant.get_epsilon(0) <= times * one.epsilon + Fraction(times, 10**5)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", ["1/3", "0.1", "1e-300", "30", "1e6"])
def test_floats_are_rounded_to_the_side_of_more_loss(epsilon, relation):
    """No event promises more than the guarantee, also where floats end."""
    guarantee = Guarantee(epsilon=Fraction(epsilon), neighbours=relation)
    event = to_dp_event(guarantee)
    if relation == "add-remove":
        assert Fraction(event.rho) >= find_strongest_rho(guarantee)[0]
    else:
        assert event.num_buckets == 2
        assert 0 <= event.noise_parameter <= 2 / (1 + math.exp(min(guarantee.epsilon, 700))) * (1 + 1e-15)


def test_a_guarantee_gives_its_event():
    """The method is the function."""
    one = Joint(k=10, epsilon="0.2").guarantee
    assert one.to_dp_event() == to_dp_event(one)


def test_a_delta_alone_has_no_event():
    """The library has none, and a wrong one would promise too much."""
    for stated in ({}, {"rho": "0.03", "rho_delta": "5e-7"}):
        with pytest.raises(ParameterError, match="no event for a rho that needs a delta"):
            to_dp_event(Guarantee(epsilon=1, delta="1e-6", **stated))


def test_the_missing_extra_is_named():
    """Without dp-accounting, the error says what to install."""
    program = (
        "import sys; sys.modules['dp_accounting'] = None\n"
        "from shortlist import Guarantee\n"
        "from shortlist.privacy.events import to_dp_event\n"
        "to_dp_event(Guarantee(epsilon=1))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'shortlist[accounting]'" in done.stderr
