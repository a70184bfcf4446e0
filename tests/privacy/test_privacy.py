"""Guarantees: how they are written, composed and converted."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy.integrate import quad
from scipy.stats import binom, norm

from shortlist import Guarantee, compose, prepare
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, use_precision
from shortlist.mechanisms import CDPPeel, Joint, LimitedDomain
from shortlist.privacy.zcdp import find_epsilon, find_rho, find_rho_of_pure

PURE = Guarantee(epsilon=Fraction(1, 10), rho=Fraction(1, 800))
LEAKS = {"epsilon": 1, "rho_delta": "1e-6"}
"""A delta of rho without a rho."""
APPROXIMATE = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))


def test_pure_guarantees_add_up():
    """Without a delta, epsilons and rhos are summed and nothing is rounded."""
    together = compose([PURE] * 3)
    assert (together.epsilon, together.delta, together.rho) == (Fraction(3, 10), 0, Fraction(3, 800))


def test_one_guarantee_is_itself():
    """Composing one changes nothing."""
    assert compose([PURE]) == PURE
    again = compose([APPROXIMATE])
    assert (again.epsilon, again.delta) == (APPROXIMATE.epsilon, APPROXIMATE.delta)
    assert (again.rho, again.rho_delta) == (find_rho_of_pure(Fraction(1)), APPROXIMATE.delta)


@pytest.mark.parametrize(("times", "pure"), [(1, True), (3, True), (200, False)])
def test_the_smaller_of_two_is_stated(times, pure):
    """Few releases are better summed, many better converted."""
    together = compose([PURE] * times, delta="1e-6")
    assert (together.delta == 0) == pure
    assert together.epsilon == (PURE.epsilon * times if pure else find_epsilon(PURE.rho * times, Fraction(1, 10**6)))
    assert together.epsilon <= PURE.epsilon * times
    assert together.rho == PURE.rho * times


def test_a_pure_guarantee_without_rho_has_one():
    """ε-DP implies ρ = ε tanh(ε/2), whatever larger ρ is stated."""
    assert compose([Guarantee(epsilon="0.2")]).rho == find_rho_of_pure(Fraction(1, 5)) < Fraction(1, 50)
    assert compose([Guarantee(epsilon="0.2", rho=3)]).rho == find_rho_of_pure(Fraction(1, 5))


def test_deltas_add_up_where_rho_is_unknown():
    """An (ε, δ) guarantee without rho can be summed, but not below its delta."""
    together = compose([APPROXIMATE, PURE], delta="1e-5")
    assert (together.epsilon, together.delta) == (Fraction(11, 10), Fraction(1, 10**6))
    assert (together.rho, together.rho_delta) == (find_rho_of_pure(Fraction(1)) + PURE.rho, Fraction(1, 10**6))
    with pytest.raises(ParameterError, match="delta must be above 2e-6"):
        compose([APPROXIMATE] * 2, delta="1e-6")


def test_a_guarantee_without_rho_does_not_spoil_the_others():
    """A guarantee without rho keeps its epsilon and its delta; the others are converted at the delta that is left."""
    together = compose([APPROXIMATE, *[PURE] * 200], delta="1e-5")
    left = find_epsilon(200 * PURE.rho, Fraction(9, 10**6))
    assert (together.epsilon, together.delta) == (1 + left, Fraction(1, 10**5))
    assert together.epsilon < 21
    with pytest.raises(ParameterError, match="above 1e-6"):
        compose([APPROXIMATE, CDPPeel(k=9, epsilon=1, delta="1e-6").guarantee], delta="1e-6")


@pytest.mark.parametrize("leak", ["0", "1e-4"])
def test_a_rho_that_needs_a_delta_is_composed(leak):
    """Randomised responses that leak attain their guarantees: the stated pair covers their exact δ, and is not far."""
    leak, times, small = Fraction(leak), 50, Fraction(1, 10)
    part = Guarantee(epsilon=small, delta=leak, rho=find_rho_of_pure(small), rho_delta=leak)
    assert part.rho_delta == compose([part]).rho_delta
    together = compose([part] * times, delta="1e-2")
    assert together.rho_delta == times * leak
    assert together.epsilon == find_epsilon(times * part.rho, Fraction(1, 100) - times * leak)
    case = {"small": 0.1, "times": times, "large": 0.0, "leak": 1 - float(1 - leak) ** times}
    assert exact_delta(float(together.epsilon), **case) <= 0.01
    assert exact_delta(float(together.epsilon) / 2, **case) > 0.01


def test_weekly_lists_without_a_catalogue_share_a_budget():
    """52 lists at epsilon 1 cost less than 10 together, at a delta of 1e-6 beside what hides items of one person."""
    one = LimitedDomain(k=10, epsilon=1, delta="1e-6")
    together = compose([one] * 52, delta=Fraction(1, 10**6) + 52 * one.hidden_delta)
    assert together.epsilon < 10
    assert compose([one] * 52).epsilon == 52


def test_large_and_small_guarantees_are_split():
    """One large epsilon beside many small ones is summed, and the small ones are converted."""
    large = Guarantee(epsilon=5)
    together = compose([large, *[PURE] * 200], delta="1e-6")
    assert together.epsilon == 5 + find_epsilon(200 * PURE.rho, Fraction(1, 10**6))
    assert together.epsilon < find_epsilon(together.rho, Fraction(1, 10**6))


@pytest.mark.parametrize("delta", ["1e-7", "1e-6", "1e-5", "1e-2"])
def test_composition_is_never_worse_than_either_way_alone(delta):
    """Whatever the mixture, the stated epsilon is at most that of basic composition and of zCDP composition."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        parts = [Guarantee(epsilon=Fraction(int(n), 50)) for n in rng.integers(1, 200, size=rng.integers(1, 30))]
        parts += [CDPPeel(k=9, epsilon=1, delta="1e-7").guarantee] * int(rng.integers(0, 4))
        together, basic = compose(parts, delta=delta), compose(parts)
        assert together.delta <= Fraction(delta)
        assert together.epsilon <= find_epsilon(basic.rho, Fraction(delta))
        assert basic.delta > Fraction(delta) or together.epsilon <= basic.epsilon


def exact_delta(epsilon, *, small, times, large, leak):
    """δ(ε) of a coin that leaks, one large randomised response and many small ones: they attain their guarantees."""
    agreements = np.arange(times + 1)
    chances = binom(times, 1 / (1 + math.exp(-small))).pmf(agreements)
    delta = leak
    for sign in (1, -1):
        losses = small * (2 * agreements - times) + sign * large
        chance = (1 - leak) / (1 + math.exp(-sign * large))
        delta += chance * float((chances * np.maximum(0, -np.expm1(epsilon - losses))).sum())
    return delta


@pytest.mark.parametrize("delta", ["1.001e-3", "2e-3", "1e-2"])
@pytest.mark.parametrize(("small", "times"), [("0.1", 100), ("0.01", 1000), ("0.3", 7)])
def test_mixed_composition_holds_for_randomised_response(small, times, delta):
    """The stated pair covers the exact δ of releases that attain their guarantees, and half its epsilon does not."""
    parts = [Guarantee(epsilon=1, delta="1e-3"), *[Guarantee(epsilon=small)] * times]
    stated = compose(parts, delta=delta)
    case = {"small": float(small), "times": times, "large": 1.0, "leak": 1e-3}
    # The comparison allows for the rounding of floats.
    assert 1e-3 <= exact_delta(float(stated.epsilon), **case) <= float(stated.delta) * (1 + 1e-12)
    assert stated.delta <= Fraction(delta)
    assert exact_delta(float(stated.epsilon) / 2, **case) > Fraction(delta)


def test_anything_with_a_guarantee_is_composed():
    """Releases, mechanisms and selectors, alone or together."""
    joint = Joint(k=1, epsilon="0.1")
    selector = prepare([5, 3], mechanism=joint)
    release = selector.release()
    assert compose(release) == compose(joint) == compose(selector) == compose(PURE) == PURE
    assert compose([release, release, PURE, selector]).epsilon == Fraction(4, 10)
    for wrong in (7, [7], None, ["a"]):
        with pytest.raises(ParameterError, match="guarantees must be"):
            compose(wrong)


def test_concentrated_releases_share_one_delta():
    """Ten releases of CDP-Peel at δ = 10⁻⁶ each hold together at δ = 10⁻⁶, not 10⁻⁵."""
    one = CDPPeel(k=100, epsilon=1, delta="1e-6").guarantee
    together = compose([one] * 10, delta="1e-6")
    assert together.delta == Fraction(1, 10**6)
    assert 3 < together.epsilon < 4
    assert compose([one], delta="1e-6").epsilon <= 1


def test_refuses_what_does_not_belong_together():
    """Different relations, different units, or nothing at all."""
    with pytest.raises(ParameterError, match="same neighbours"):
        compose([PURE, Joint(k=1, epsilon=1, neighbours="replace").guarantee])
    with pytest.raises(ParameterError, match="same unit"):
        compose([PURE, Guarantee(epsilon=Fraction(1), unit="household")])
    with pytest.raises(ParameterError, match="empty"):
        compose([])


@pytest.mark.parametrize("delta", [0, 1, -0.5, "x"])
def test_refuses_a_wrong_delta(delta):
    """Delta lies strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="delta"):
        compose([PURE], delta=delta)


def hockey_stick_of_gaussian(rho, epsilon):
    """δ of the Gaussian mechanism with this ρ, which ρ-zCDP implies at most up to the conversion."""
    mean = math.sqrt(2 * rho)
    return norm.cdf(mean / 2 - epsilon / mean) - math.exp(epsilon) * norm.cdf(-mean / 2 - epsilon / mean)


@pytest.mark.parametrize("rho", ["0.001", "0.02", "1/8", "2", "50"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.005"])
def test_conversion_is_safe_and_near_the_best(rho, delta):
    """The stated ε is that of the best order, rounded up, above what a Gaussian needs, and find_rho inverts it."""
    rho, delta = Fraction(rho), Fraction(delta)
    stated = find_epsilon(rho, delta)
    over = np.geomspace(1e-4, 1e7, 400_001)
    best = (float(rho) * (1 + over) - np.log1p(1 / over) - (math.log(delta) + np.log1p(over)) / over).min()
    assert best * (1 - 1e-7) <= stated <= best * (1 + 1e-7)
    assert hockey_stick_of_gaussian(float(rho), float(stated)) < delta
    assert rho * (1 - Fraction(1, 10**6)) < find_rho(stated, delta) < rho * (1 + Fraction(1, 10**6))
    assert find_epsilon(find_rho(Fraction(1), delta), delta) <= 1


def test_texts_never_promise_more_than_the_numbers():
    """A long rational is written rounded up."""
    assert str(Guarantee(epsilon=Fraction(1, 3))) == "1/3-DP for one person, add-remove"
    assert str(Guarantee(epsilon=Fraction(10**12 + 1, 3 * 10**12))) == "0.333333334-DP for one person, add-remove"


def test_a_tiny_guarantee_is_not_written_as_nothing():
    """Numbers far below the range of floats keep their digits in print."""
    assert str(Joint(k=1, epsilon="1e-300").guarantee) == "1e-300-DP (rho 1.25e-601) for one person, add-remove"


@pytest.mark.parametrize(
    ("epsilon", "delta", "least"),
    [("1e-6", "1e-3", 1.3e-6), ("1e-9", "1e-6", 1.3e-12), ("1e-12", "1e-6", 1.3e-12), ("1e-6", "0.9", 2.0)],
)
def test_the_best_order_is_found_wherever_it_lies(epsilon, delta, least):
    """Also where epsilon is far below delta, or delta near 1, the conversion is about as good as can be."""
    rho = find_rho(Fraction(epsilon), Fraction(delta))
    assert float(rho) > least
    assert find_epsilon(rho, Fraction(delta)) <= Fraction(epsilon) * (1 + Fraction(1, 10**6))


def test_guarantees_are_checked_when_they_are_built():
    """Numbers become exact rationals, and what promises nothing sensible is refused."""
    assert print_of([Guarantee(epsilon=0.1)] * 3) == "0.3-DP (rho 0.0149875125) for one person, add-remove"
    assert compose([Guarantee(epsilon=1, delta="0.6")] * 2).delta == 1
    for wrong in ({"epsilon": -1}, {"epsilon": 1, "delta": 2}, {"epsilon": 1, "rho": -1}, {"epsilon": "x"}, LEAKS):
        with pytest.raises(ParameterError):
            Guarantee(**wrong)


def test_a_promise_beyond_floats_is_composed():
    """A guarantee that is worth nothing is still a guarantee."""
    assert compose([Guarantee(epsilon=Fraction(10**200))], delta="1e-6").epsilon == 10**200


def print_of(guarantees):
    return str(compose(guarantees))


def enumerate_leaders(mechanism, leaders, others):
    """The law of cdp-peel with a person who voted for all leaders, and without: on who is a leader, round by round."""
    lift = ball(mechanism.round_epsilon).exp()
    for path in itertools.product((True, False), repeat=mechanism.k):
        here = there = arb(1)
        left = {True: leaders, False: others}
        for leads in path:
            here *= left[leads] * (lift if leads else 1) / (left[True] * lift + left[False])
            there *= arb(left[leads]) / (left[True] + left[False])
            left[leads] -= 1
        yield here, there


def test_a_delta_bounds_probabilities_and_not_odds():
    """On 200 items with one vote and 400 without, the odds change by more than e^ε forty times as often as δ says.

    The sentence of a guarantee with a delta is about probabilities: they keep the bound. So it says nothing of odds.
    """
    mechanism = CDPPeel(k=10, epsilon=1, delta="1e-6")
    law, factor, delta = list(enumerate_leaders(mechanism, 200, 400)), arb(1).exp(), ball(Fraction(1, 10**6))
    beyond = [(here, there) for here, there in law if here > factor * there]
    assert sum((here for here, _ in beyond), arb(0)) > 39 * delta
    for pairs in (law, [(there, here) for here, there in law]):
        assert sum((p - factor * q for p, q in pairs if p > factor * q), arb(0)) < delta
    words = mechanism.guarantee.in_words
    assert "the probability of any conclusion changes by at most a factor of 2.72, plus 1e-6" in words
    assert "odds" not in words
    assert "odds" in Joint(k=10, epsilon=1).guarantee.in_words


def test_the_factor_of_a_sentence_is_never_too_small():
    """A factor of 1 would promise that nothing changes, and 1.11 is too small for an epsilon just above ln 1.11."""
    just_above = Fraction("0.10436001532424277"), Fraction("0.104360015324242768")
    with use_precision():
        assert all(ball(each).exp() > ball(Fraction(111, 100)) for each in just_above)
        for epsilon in (Fraction(1, 10**20), *just_above):
            words = Guarantee(epsilon=epsilon).in_words
            assert ball(epsilon).exp() <= ball(Fraction(words.rpartition(" ")[2].rstrip(".")))
    assert Guarantee(epsilon=0).in_words.endswith("a factor of 1.")


def test_guarantees_that_results_choose_need_a_ledger():
    """A Gaussian with ρ = 1 decides what the next release promises: δ is above what compose states for either."""
    gaussian, next_gaussian = (Guarantee(epsilon=100, delta="1e-30", rho=rho) for rho in (1, "0.5037"))
    delta = Fraction(1, 100)
    stated = [
        compose([gaussian, other], delta=delta).epsilon
        for other in (Guarantee(epsilon="0.001", delta="0.0095"), next_gaussian)
    ]
    epsilon, shift = float(max(stated)), math.sqrt(2)

    def reveal(limit):
        """The δ of (0.001, 0.0095) randomised response at an epsilon."""
        heads = 1 / (1 + math.exp(-0.001))
        gaps = [p - math.exp(limit) * q for p, q in ((heads, 1 - heads), (1 - heads, heads))]
        return 0.0095 + 0.9905 * sum(gap for gap in gaps if gap > 0)

    def blur(limit):
        """The δ of a Gaussian with ρ = 0.5037 at an epsilon."""
        mean = math.sqrt(2 * 0.5037)
        return norm.sf(limit / mean - mean / 2) - math.exp(limit) * norm.sf(limit / mean + mean / 2)

    def find_delta(choose):
        """The δ of both releases at the stated epsilon, the second chosen given the noise of the first."""
        found, error = quad(lambda z: norm.pdf(z) * choose(epsilon - shift * z - 1), -8, 8, limit=500)
        assert error < 1e-6
        return found

    assert find_delta(reveal) < float(delta)
    assert find_delta(blur) < float(delta)
    assert find_delta(lambda limit: max(reveal(limit), blur(limit))) == pytest.approx(0.01155, abs=1e-5)
