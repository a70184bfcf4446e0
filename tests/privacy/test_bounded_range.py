"""From (ε, δ) to the ε′ of one round."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shortlist.errors import ParameterError
from shortlist.mechanisms import CDPPeel
from shortlist.privacy.bounded_range import Calibration, bound_delta, calibrate, count_cells

MILLIONTH = Fraction(1, 10**6)


def worst_delta(k, y, share, parts):
    """V_k(y) with t on an even grid: what some mechanism of bounded range reaches, as a float."""
    if not k:
        return np.maximum(0, 1 - y)
    t = np.linspace(0, share, parts[0])
    weight = (math.exp(share) - np.exp(t)) / math.expm1(share)
    lower, upper = (
        worst_delta(k - 1, np.asarray(y)[..., None] * np.exp(shift), share, parts[1:]) for shift in (-t, share - t)
    )
    return (weight * lower + (1 - weight) * upper).max(axis=-1)


@pytest.mark.parametrize("delta", ["0.05", "0.2"])
@pytest.mark.parametrize(("k", "parts"), [(1, [2001]), (2, [301, 401]), (3, [61, 101, 201])])
def test_optimal_is_what_brute_force_finds(k, parts, delta):
    """Brute force reaches less than delta at ε′, and more than delta at an ε′ that is half a per cent larger."""
    share = float(calibrate(k, Fraction(1), Fraction(delta), Calibration.OPTIMAL))
    assert worst_delta(k, math.e, share, parts) <= float(delta)
    assert worst_delta(k, math.e, share * 1.005, parts) > float(delta)


@pytest.mark.slow
def test_no_mechanism_passes_the_bound():
    """However coarse the grid, the bound is not below what a mechanism reaches; a fine grid comes close."""
    for epsilon in ("0", "0.3", "1", "2"):
        for share in (0.2, 0.7, 1.5):
            reached = float(worst_delta(3, math.exp(float(epsilon)), share, [61, 81, 161]))
            bounds = [
                float(bound_delta(3, Fraction(epsilon), Fraction(share), cells=cells, unlikely=unlikely))
                for cells, unlikely in ((1, 0.1), (3, 20.0), (40, 20.0), (256, 20.0))
            ]
            assert min(bounds) >= reached
            assert bounds[-1] <= reached * 1.01 + 1e-5


def test_two_rounds_of_randomised_response_pass_a_bound_that_is_too_low():
    """The check has power: for a range 10 % smaller the bound is below what a mechanism reaches."""
    reached = float(worst_delta(2, math.e, 0.9, [301, 401]))
    assert bound_delta(2, Fraction(1), Fraction("0.81"), cells=64, unlikely=5.0) < reached


@pytest.mark.parametrize(("k", "expected"), [(10, "0.1533"), (50, "0.0670"), (100, "0.0473")])
def test_optimal_round_epsilons(k, expected):
    """ε = 1, δ = 10⁻⁶: the first four digits of what optimal composition allows."""
    assert math.floor(calibrate(k, Fraction(1), MILLIONTH, Calibration.OPTIMAL) * 10**4) == int(expected[2:])


@pytest.mark.parametrize(("k", "epsilon"), [(10, 1), (100, 1), (400, 4)])
def test_a_finer_grid_changes_little(k, epsilon):
    """At an ε′ that is 0.1 % larger, a grid that is twice as fine does not prove delta."""
    share = calibrate(k, Fraction(epsilon), MILLIONTH, Calibration.OPTIMAL)
    prove = partial(bound_delta, k, Fraction(epsilon), cells=2 * count_cells(k, MILLIONTH), unlikely=14.0)
    assert prove(share) <= MILLIONTH < prove(share * Fraction(1001, 1000))


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), [(100, "1", "1e-6"), (50, "0.1", "1e-9"), (1000, "8", "0.01"), (30, "1", "0.3")]
)
def test_round_epsilon_is_the_stated_one(k, epsilon, delta):
    """Published is the paper's formula, tight is the conversion's optimum, and both are rounded down."""
    exact = Fraction(epsilon), Fraction(delta)
    tight, published = (calibrate(k, *exact, each) for each in (Calibration.TIGHT, Calibration.PUBLISHED))
    number, unlikely = float(epsilon), 8 * math.log(1 / float(delta))
    formula = math.sqrt((unlikely + 8 * number) / k) - math.sqrt(unlikely / k)
    assert formula * (1 - 1e-8) < published < formula * (1 + 1e-14)
    over = np.geomspace(1e-3, 1e5, 1_000_001)
    rho = ((number + np.log1p(1 / over) + (math.log(float(delta)) + np.log1p(over)) / over) / (1 + over)).max()
    assert math.sqrt(8 * rho / k) * (1 - 1e-8) < tight < math.sqrt(8 * rho / k) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    [
        (1, "1", "1e-6"),
        (4, "1e-6", "1e-300"),
        (4, "1000000", "0.999999"),
        (30, "1e-6", "0.9"),
        (100, "1e-300", "0.5"),
        (5, "20", "1e-6"),
        (7, "3", "1e-15"),
        (10**5, "1", "1e-6"),
        (200, "0.5", "1e-12"),
    ],
)
def test_each_calibration_allows_as_much_as_the_next(k, epsilon, delta):
    """Optimal, tight, published, pure: in this order, for any parameters."""
    shares = [calibrate(k, Fraction(epsilon), Fraction(delta), each) for each in Calibration]
    assert [*shares, Fraction(epsilon) / k] == sorted([*shares, Fraction(epsilon) / k], reverse=True)


def test_rho_says_what_was_spent():
    """ρ is kε′²/8 for the ε′ that is used, whatever the calibration."""
    for each in Calibration:
        mechanism = CDPPeel(k=100, epsilon=1, delta="1e-6", calibration=each)
        assert mechanism.guarantee.rho == 100 * mechanism.round_epsilon**2 / 8
        assert mechanism.guarantee.delta == MILLIONTH


def test_a_pure_round_states_no_delta():
    """Where ε′ is ε/k the mechanism is ε-DP, and its guarantee says so."""
    guarantee = CDPPeel(k=4, epsilon="1e-6", delta="1e-300").guarantee
    assert (guarantee.epsilon, guarantee.delta) == (MILLIONTH, 0)


def test_refuses_an_unknown_calibration():
    """There are three calibrations, and the error names them."""
    with pytest.raises(ParameterError, match="'optimal', 'tight' or 'published'"):
        CDPPeel(k=1, epsilon=1, delta="0.1", calibration="loose")
