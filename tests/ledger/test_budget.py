"""The accounting of a ledger covers adaptive choices: enumerated over whole trees of releases."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from flint import ctx
from laws import exponential, losses, neighbours

from shortlist import Guarantee, ShortlistError
from shortlist.errors import ParameterError
from shortlist.ledger.budget import Amount, Budget, add_up
from shortlist.mechanisms import CDPPeel, Joint, LimitedDomain
from shortlist.privacy.zcdp import find_epsilon, find_rho_of_pure

SLACK = 1e-12


class Response:
    """Randomised response: the worst ε-DP release. With probability δ it tells which world it is in."""

    def __init__(self, epsilon, delta=0, *, rho=None, relation="add-remove"):
        self.guarantee = Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta), rho=rho, neighbours=relation)

    def laws(self, worlds):
        truth = 1 / (1 + math.exp(-self.guarantee.epsilon))
        delta = float(self.guarantee.delta)
        law = [delta, 0.0, (1 - delta) * truth, (1 - delta) * (1 - truth)]
        return law, [law[1], law[0], law[3], law[2]]


class Draw:
    """One item by Joint, with the exact law of each of two histograms."""

    def __init__(self, epsilon, relation):
        self.mechanism = Joint(k=1, epsilon=epsilon, neighbours=relation)
        self.guarantee = self.mechanism.guarantee

    @cache  # noqa: B019
    def laws(self, worlds):
        with ctx.workprec(100):
            return [[float(p) for p in exponential(losses(world, 1), self.mechanism.rate)] for world in worlds]


def transcripts(budget, strategy, worlds=(), seen=(), spent=(), chances=(1.0, 1.0)):
    """Every transcript of an analyst who takes the first release that is covered, with its two probabilities."""
    total = add_up((guarantee, 1) for guarantee in spent)
    for release in strategy(seen):
        if budget.afford(total, release.guarantee):
            break
    else:
        yield chances
        return
    for answer, both in enumerate(zip(*release.laws(worlds), strict=True)):
        if max(both):
            after = tuple(a * b for a, b in zip(chances, both, strict=True))
            yield from transcripts(budget, strategy, worlds, (*seen, answer), (*spent, release.guarantee), after)


def hockey_stick(pairs, epsilon):
    """The δ that ε needs, in both directions."""
    factor = math.exp(epsilon)
    pairs = list(pairs)
    return max(sum(max(0.0, p - factor * q) for p, q in pairs), sum(max(0.0, q - factor * p) for p, q in pairs))


def renyi(pairs, order):
    """The Rényi divergence of one order."""
    return math.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)


def ladder(*sizes, make, longest=12):
    """An analyst who asks for more after an even answer, and for less where that is not covered."""
    releases = [make(size) for size in sizes]

    def strategy(seen):
        if len(seen) == longest:
            return []
        return releases if sum(seen) % 2 == 0 else releases[1:]

    return strategy


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("settings", [{"delta": 0}, {"delta": "1e-3"}, {"delta": "1e-3", "accounting": "zcdp"}])
def test_no_analyst_tells_neighbours_apart(relation, settings):
    """Every transcript of every pair of small neighbours satisfies the (ε, δ) of the budget."""
    budget = Budget.plan(epsilon=1, neighbours=relation, **settings)
    strategy = ladder("1/2", "1/3", "1/4", make=lambda size: Draw(size, relation), longest=5)
    for histogram in [(0, 0), (1, 0), (2, 1), (1, 1, 0)]:
        for other in neighbours(histogram, relation):
            pairs = transcripts(budget, strategy, (histogram, other))
            assert hockey_stick(pairs, 1) <= float(budget.guarantee.delta) + SLACK


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (Fraction(13, 10), False)])
def test_the_worst_releases_use_a_pure_budget_up(factor, holds):
    """Basic accounting is sound for randomised response, and would not be with 30 % more."""
    budget = Budget.plan(epsilon=factor)
    pairs = transcripts(budget, ladder("1/2", "1/4", "1/10", make=Response))
    assert (hockey_stick(pairs, 1) <= SLACK) == holds


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (Fraction(13, 10), False)])
def test_the_worst_releases_use_delta_up(factor, holds):
    """With leaks of probability δ each, the deltas add up, and would not hold with 30 % more."""
    budget = Budget.plan(epsilon=1, delta=Fraction(1, 10) * factor, accounting="basic")
    pairs = transcripts(budget, ladder("1/40", "1/50", make=lambda leak: Response("1/100", leak), longest=7))
    assert (hockey_stick(pairs, 1) <= 0.1 + SLACK) == holds


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (Fraction(13, 10), False)])
@pytest.mark.parametrize("order", [1.5, 2, 8])
def test_rhos_of_adaptive_releases_add_up(order, factor, holds):
    """The Rényi divergence of all transcripts is at most the order times the budget's ρ, and not with 30 % more."""
    limit = Fraction(5, 100) ** 2 * 4 / 2
    budget = Budget(
        guarantee=Budget.plan(epsilon=1).guarantee,
        accounting="zcdp",
        basic_delta=None,
        rho=limit * factor,
        rho_delta=Fraction(0),
    )
    pairs = list(transcripts(budget, ladder("5/100", "3/100", make=Response)))
    assert (renyi(pairs, order) <= order * float(limit) + SLACK) == holds


@pytest.mark.parametrize("share", ["0", "1/10", "1/2", "9/10"])
def test_both_accountings_share_delta(share):
    """A release is covered if one of the two covers all; together they keep to (ε, δ) on every path."""
    budget = Budget.plan(epsilon=1, delta="1/5", accounting="both", basic_share=share)

    def make(size):
        return Response(size, Fraction(1, 50) if size == "1/2" else 0, rho=None)

    pairs = transcripts(budget, ladder("1/2", "1/3", "1/5", make=make, longest=7))
    assert hockey_stick(pairs, 1) <= 0.2 + SLACK


def test_both_covers_what_one_of_them_covers():
    """Few large releases are covered by basic accounting, many small ones by zCDP."""
    settings = {"epsilon": 2, "delta": "1e-6"}
    both, basic, zcdp = (Budget.plan(accounting=each, **settings) for each in ("both", "basic", "zcdp"))
    large, small = Joint(k=1, epsilon=1).guarantee, Joint(k=1, epsilon="0.01").guarantee
    assert [each.afford(Amount(), large) for each in (basic, zcdp, both)] == [2, 0, 2]
    assert basic.afford(Amount(), small) == 200
    assert 200 < both.afford(Amount(), small) <= zcdp.afford(Amount(), small)
    after = add_up([(large, 2)])
    assert both.afford(after, small) == 0


def test_the_rho_of_a_budget_implies_its_epsilon():
    """The sum of rhos up to the limit converts to at most ε at δ."""
    budget = Budget.plan(epsilon=10, delta="1e-6", accounting="zcdp")
    assert find_epsilon(budget.rho, Fraction(1, 10**6) - budget.rho_delta) <= 10 + Fraction(1, 10**7)
    assert budget.rho_delta == Fraction(1, 10**7)
    assert budget.rho > 1


@pytest.mark.parametrize(("factor", "holds"), [(1, True), (Fraction(13, 10), False)])
def test_leaks_are_counted_beside_rhos(factor, holds):
    """With leaks, zCDP accounting keeps to the budget's delta. With 30 % more of it for leaks, it would not."""
    budget = Budget.plan(epsilon=1, delta="1/10", accounting="zcdp", rho_delta_share="9/10")
    wider = replace(budget, rho_delta=budget.rho_delta * factor)
    pairs = transcripts(wider, ladder("1/40", "1/50", make=lambda leak: Response("1/100", leak), longest=7))
    assert (hockey_stick(pairs, 1) <= 0.1 + SLACK) == holds


def test_lists_without_a_catalogue_are_added_up_by_rho():
    """Their rho needs a delta, for which a part of the budget's is kept."""
    one = LimitedDomain(k=10, epsilon="0.5", delta="1e-9").guarantee
    zcdp, basic = (Budget.plan(epsilon=10, delta="1e-6", accounting=each) for each in ("zcdp", "basic"))
    assert basic.afford(Amount(), one) == 20
    assert 100 < zcdp.afford(Amount(), one) <= zcdp.rho_delta / one.rho_delta
    spent = add_up([(one, 10)])
    assert spent.rho_delta == 10 * one.rho_delta == zcdp.rho_delta - zcdp.subtract(spent).rho_delta
    leaky = LimitedDomain(k=10, epsilon="0.5", delta="1e-6").guarantee
    assert zcdp.afford(Amount(), leaky) == 0
    assert "rho_delta_share" in str(zcdp.refuse(Amount(), leaky))


def test_a_release_without_rho_has_the_one_that_its_epsilon_implies():
    """It needs the whole delta of the release."""
    leaky = Guarantee(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8))
    both, zcdp = (Budget.plan(epsilon=1, delta="1e-6", accounting=each) for each in ("both", "zcdp"))
    assert both.afford(Amount(), leaky) == 10
    assert add_up([(leaky, 1)]).rho_delta == leaky.delta
    assert zcdp.afford(Amount(), leaky) == zcdp.rho // find_rho_of_pure(leaky.epsilon) > 1


def test_a_release_with_delta_and_rho_is_counted_by_rho():
    """CDP-Peel has both: its delta is of the conversion, not of the release."""
    one = CDPPeel(k=10, epsilon="0.2", delta="1e-6").guarantee
    assert Budget.plan(epsilon=1, delta="1e-6", accounting="zcdp").afford(Amount(), one) > 5
    assert Budget.plan(epsilon=1, delta="1e-6", accounting="basic").afford(Amount(), one) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": "nan"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": -1},
        {"epsilon": 1, "accounting": "zcdp"},
        {"epsilon": 1, "accounting": "both"},
        {"epsilon": 1, "delta": "1e-6", "accounting": "best"},
        {"epsilon": 1, "delta": "1e-6", "accounting": "both", "basic_share": 1},
        {"epsilon": 1, "delta": "1e-6", "accounting": "zcdp", "basic_share": "1/2"},
        {"epsilon": 1, "rho_delta_share": "1/2"},
        {"epsilon": 1, "delta": "1e-6", "rho_delta_share": 1},
        {"epsilon": 1, "neighbours": "others"},
        {"epsilon": 1, "unit": ""},
    ],
)
def test_refuses_budgets_that_promise_nothing(wrong):
    """A pure budget has basic accounting only, and all numbers are in their range."""
    with pytest.raises(ShortlistError):
        Budget.plan(**wrong)


@pytest.mark.parametrize("field", ["neighbours", "unit"])
def test_different_guarantees_are_not_added_up(field):
    """A release for another relation or another unit is refused, with the reason."""
    other = Guarantee(epsilon=Fraction(1, 10), **{field: {"neighbours": "replace", "unit": "household"}[field]})
    with pytest.raises(ParameterError, match="do not add up"):
        Budget.plan(epsilon=1).afford(Amount(), other)
