"""Families of lists: all lists together keep the guarantee, whoever is in several groups or goes to others."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from contract import ALARM, RELATIONS, item_names
from divergences import Law, ball, hockey_stick, keeps, renyi
from flint import arb, ctx, fmpq
from laws import p_value, same
from noisy import find_neighbours, laplace_law
from peels import PeelLaw, exponential_round
from unlisted import observe

from shortlist.audits.cases import Case
from shortlist.errors import DataError, ParameterError
from shortlist.mechanisms import MECHANISMS, Auto, CDPPeel, Joint, LimitedDomain, Stable
from shortlist.mechanisms.assess import Assess
from shortlist.mechanisms.auto import PrivateChoice, state_chances, state_score
from shortlist.mechanisms.noisy_counts import ListCounts
from shortlist.mechanisms.stated import pair_families, rank_items
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Profile
from shortlist.testing import SeededBits

CASES = [(name, options) for name, kind in MECHANISMS.items() for options in kind.audited]
EPSILON = Fraction(2)
ABSENT = -1e300
"""Stands for the logarithm of 0."""
SMALL = [*itertools.product(range(3), repeat=2)]
THREE = [(1, 1, 0), (2, 1, 0), (0, 1, 2)]

every_case = pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n}-{'-'.join(o)}" for n, o in CASES])
every_relation = pytest.mark.parametrize("relation", RELATIONS)


class FamilyLaw(Law):
    """The probabilities of all outputs of a family, in the order of the outputs' numbers. Some may be 0."""

    def __init__(self, chances):
        self.chances = dict(sorted(chances.items()))
        super().__init__(self.chances.values())

    @cached_property
    def logs(self):
        return np.array([float(chance.log().mid()) if chance > 0 else ABSENT for chance in self])


def make(name, options, relation, groups_per_person, *, k=1, epsilon=EPSILON):
    """Make the mechanism of a family; a person may have as many votes in each group as one of a single list."""
    case = Case(kind=MECHANISMS[name], epsilon=epsilon, options=options)
    return case.build(k, relation, groups=groups_per_person)


def state_law(mechanism):
    """Return a function: the law of a family, computed once. Outputs are numbered, because numbers compare faster."""
    numbers = {}

    @cache
    def law(family):
        stated = mechanism.state_family(family, reach=3)
        return FamilyLaw({numbers.setdefault(output, len(numbers)): chance for output, chance in stated})

    return law


def align(mechanism, here, there):
    """Two laws over the same outputs. An output that is not stated is far away, or impossible without a domain."""
    ours, theirs = here.chances.keys(), there.chances.keys()
    if ours == theirs:
        return here, there
    outputs = ours & theirs if mechanism.needs_domain else ours | theirs
    return [FamilyLaw({output: each.chances.get(output, arb(0)) for output in outputs}) for each in (here, there)]


def find_violations(stated, guarantee, pairs):
    """The pairs of neighbours that a mechanism tells apart more than a guarantee says."""
    law = state_law(stated)
    for here, there in pairs:
        if not keeps(guarantee, *align(stated, law(here), law(there))):
            yield here, there


@pytest.mark.slow
@every_case
@every_relation
@pytest.mark.parametrize("groups_per_person", [1, 2])
def test_no_neighbour_of_a_family_is_told_apart(name, options, relation, groups_per_person):
    """Two groups, one hostile person in one or both: exact probabilities keep epsilon, delta and rho of the family."""
    for histograms, k in ((SMALL, 1), (THREE, 2)):
        mechanism = make(name, options, relation, groups_per_person, k=k)
        if k == 2 and "votes_per_person" in options:
            continue  # too many lists with counts
        cap = mechanism.parameters.get("votes_per_person")
        with ctx.workprec(96):
            pairs = pair_families(histograms, 2, relation, groups_per_person, cap)
            assert not [*find_violations(mechanism, mechanism.guarantee, pairs)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [each for each in CASES if each[1].get("votes_per_person", 1) == 1], ids=str
)
@every_relation
def test_a_family_that_is_told_apart_is_seen(name, options, relation):
    """The check has power: if each list is drawn like a single one, a person in all groups exceeds the guarantee."""
    single = make(name, options, relation, None)
    most = 2 if "noisy" in name or (name == "auto" and "votes_per_person" in options) else 4
    with ctx.workprec(96):
        for groups in range(2, most + 1):
            family = make(name, options, relation, groups)
            cap = options.get("votes_per_person")
            pairs = [
                ((here,) * groups, there * groups)
                for here in SMALL
                for there in find_neighbours((here,), relation, 1, cap)
            ]
            assert not [*find_violations(family, family.guarantee, pairs)]
            if any(True for _ in find_violations(single, family.guarantee, pairs)):
                return
    pytest.fail("no violation was found")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [each for each in CASES if "votes_per_person" not in each[1]], ids=str)
def test_a_person_may_leave_two_groups_and_enter_two_others(name, options):
    """Four groups change although one person is in two: the guarantee holds for every such replacement."""
    mechanism = make(name, options, "replace", 2)
    changes = [
        (here, there)
        for here in SMALL
        for (there,) in find_neighbours((here,), "add-remove", 1)
        if sum(there) > sum(here)
    ]
    pairs = [
        ((more, more, few, few), (less, less, many, many))
        for (less, more), (few, many) in itertools.product(changes, repeat=2)
    ]
    with ctx.workprec(96):
        assert not [*find_violations(mechanism, mechanism.guarantee, pairs)]


@pytest.mark.parametrize(
    "make_one",
    [
        lambda c: Stable(k=(1, 1), epsilon="0.01", delta="1e-3", neighbours="replace", groups_per_person=c),
        lambda c: LimitedDomain(k=1, k_bar=1, epsilon="0.01", delta="1e-3", neighbours="replace", groups_per_person=c),
    ],
    ids=["stable", "limited-domain"],
)
def test_half_of_delta_is_needed_even_for_one_group(make_one):
    """One person replaces x in group 1 by z in group 2: with all of delta for each list, delta is exceeded.

    Items are in the order z, y, x. So z takes the place of y where both have one vote.
    """
    before, after = ((0, 0, 1), (0, 1, 0)), ((0, 0, 0), (1, 1, 0))
    with ctx.workprec(96):
        worst = []
        for mechanism in (make_one(1), make_one(None)):
            laws = map(state_law(mechanism), (before, after))
            worst.append(hockey_stick(*align(mechanism, *laws), ball(mechanism.epsilon).exp()))
        assert worst[0] < ball(mechanism.delta) < worst[1]


@every_relation
@pytest.mark.parametrize(("groups_per_person", "cap", "k_bar"), [(1, 2, 1), (2, 2, 2), (2, 3, 1), (2, None, 2)])
def test_labels_of_all_groups_are_few(relation, groups_per_person, cap, k_bar):
    """The candidates that differ, in all groups together, weigh at most delta₁ of what each stop weighs."""
    mechanism = LimitedDomain(
        k=1,
        epsilon=1,
        delta="0.01",
        k_bar=k_bar,
        votes_per_person=cap,
        neighbours=relation,
        groups_per_person=groups_per_person,
    )
    assert mechanism.stop.height == mechanism.neighbours.sensitivity
    most = 0
    for family in itertools.combinations_with_replacement([(0, 0, 0), (1, 0, 1), (1, 1, 1), (2, 1, 0)], 2):
        for other in find_neighbours(family, relation, groups_per_person, cap):
            labels = 0
            for here, there in zip(family, other, strict=True):
                left, come = (set(rank_items(each)[:k_bar]) for each in (here, there))
                labels += max(len(left - come), len(come - left))
            most = max(most, labels)
    assert most <= mechanism.stop.copies * mechanism.hidden_delta
    assert relation == "replace" or most == min(cap or 10, groups_per_person * k_bar)


SINGLE = {
    "stable": lambda relation: {"delta": Fraction(1, 15) if relation == "add-remove" else Fraction(1, 30)},
    "noisy-counts": lambda relation: {"epsilon": EPSILON},
    "threshold": lambda relation: {"epsilon": EPSILON},
}
"""What a single list with the law of one list of three has, besides a third of epsilon."""


@every_relation
@pytest.mark.parametrize(
    ("name", "options"), [each for each in CASES if each[0] not in ("auto", "cdp-peel", "limited-domain")], ids=str
)
def test_a_list_of_a_family_is_that_of_a_single_list(name, options, relation):
    """It has its law and its draws: with a third of epsilon, or with all of it for noise on all cells."""
    kind, common = MECHANISMS[name], {"k": 2, "neighbours": relation, **options}
    family = kind(**common, epsilon=EPSILON, groups_per_person=3)
    changed = {"epsilon": EPSILON / 3, **SINGLE.get(name, lambda _: {})(relation)}
    single = kind(**(common | changed))
    counts = (3, 1, 0)
    with ctx.workprec(96):
        laws = [list(each.state_law(counts, reach=2)) for each in (family, single)]
        assert [output for output, _ in laws[0]] == [output for output, _ in laws[1]]
        assert all(ours.overlaps(theirs) for (_, ours), (_, theirs) in zip(*laws, strict=True))
    profile = observe((40, 31, 30, 22, 21, 21, 9, 8, 7))
    drawn = [each.prepare(profile).draw_many(20, SeededBits(4)) for each in (family, single)]
    for ours, theirs in zip(*drawn, strict=True):
        assert (ours.levels.tolist(), ours.ranks.tolist()) == (theirs.levels.tolist(), theirs.ranks.tolist())
    assert family.error_bound(9) == single.error_bound(9)


class RoundsOfAFamily(PeelLaw):
    """What the runs of `cdp-peel` imply."""

    round_law = staticmethod(exponential_round)


@every_relation
def test_rounds_of_a_family_imply_the_stated_law(relation):
    """The run of a list weighs items as its law states, as certified balls."""
    with ctx.workprec(300):
        for k, histogram in itertools.product((1, 2), [(3, 1, 0), (2, 2, 1), (9, 0, 0, 0)]):
            mechanism = make("cdp-peel", {"delta": Fraction(1, 5)}, relation, 2, k=k)
            stated = [chance for _, chance in mechanism.state_law(histogram)]
            assert same(RoundsOfAFamily().implied_law(mechanism, histogram), stated)


def test_rounds_of_a_family_are_calibrated_together():
    """The rounds of c lists are c·k rounds: ε′, ρ and δ are those of one list with so many."""
    family = CDPPeel(k=10, epsilon=5, delta="1e-7", groups_per_person=8)
    single = CDPPeel(k=80, epsilon=5, delta="1e-7")
    assert (family.round_epsilon, family.guarantee) == (single.round_epsilon, single.guarantee)
    assert Fraction(21, 100) < family.round_epsilon < Fraction(22, 100)
    pure = CDPPeel(k=1, epsilon=1, delta="1e-300", groups_per_person=2)
    assert (pure.round_epsilon, pure.guarantee.delta) == (Fraction(1, 2), 0)
    stopped = LimitedDomain(k=10, epsilon=5, delta="1e-7", groups_per_person=8)
    assert stopped.round_epsilon == CDPPeel(k=80, epsilon=5, delta="5e-8").round_epsilon


@pytest.mark.slow
@every_relation
@pytest.mark.parametrize("groups_per_person", [1, 2])
def test_the_mean_score_moves_by_the_sensitivity_at_most(relation, groups_per_person):
    """The step that the choice for a family stands on, for all neighbours of two groups and all candidates."""
    mechanism = Auto(
        k=2,
        epsilon=4,
        delta=Fraction(1, 5),
        ordered=False,
        votes_per_person=4,
        neighbours=relation,
        groups_per_person=groups_per_person,
    )
    score, largest = cache(state_score), 0.0
    sensitivity = groups_per_person * (1 if relation == "add-remove" else 2)
    with ctx.workprec(96):
        for here, there in pair_families([*THREE, (9, 0, 0)], 2, relation, groups_per_person, None):
            for each in mechanism.candidates.values():
                sums = [sum((score(each, group) for group in family), arb(0)) for family in (here, there)]
                assert not abs(sums[0] - sums[1]) > sensitivity
                largest = max(largest, float(abs(sums[0] - sums[1])))
    assert largest > 0.4 * sensitivity


def profiles(family):
    return [Profile.of(np.array(histogram)) for histogram in family]


def find_items(histogram, picks):
    """The items that were picked, by their index."""
    names = item_names(histogram)
    return tuple(names.index(each) for each in zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make_one", "family"),
    [
        (lambda factor: Joint(k=1, epsilon=4 * factor, groups_per_person=2), ((3, 1), (5, 2))),
        (lambda factor: Auto(k=1, epsilon=4 * factor, groups_per_person=2), ((3, 1), (5, 2))),
        (lambda factor: Auto(k=1, epsilon=4 * factor, ordered=False, groups_per_person=2), ((3, 1), (2, 2))),
    ],
    ids=["joint", "auto", "auto-of-sets"],
)
def test_families_follow_their_law_and_no_other(make_one, family):
    """Sampled families match the stated law of all lists together, and miss it when epsilon is 30 % off."""
    bits, mechanism, drawn, groups = SeededBits(3), make_one(1), Counter(), profiles(family)
    for _ in range(3000):
        picks = mechanism.draw_family(groups, bits)
        drawn[tuple((each.chosen, find_items(group, each)) for group, each in zip(family, picks, strict=True))] += 1
    found = []
    for factor in (1, Fraction(7, 10), Fraction(13, 10)):
        with ctx.workprec(96):
            stated = make_one(factor).state_family(family)
            law = {tuple((each.chosen, each.items) for each in outputs): float(p.mid()) for outputs, p in stated}
        assert drawn.keys() <= law.keys()
        found.append(p_value([drawn[each] for each in law], list(law.values())))
    assert found[0] > ALARM > max(found[1:]), found


@every_relation
@pytest.mark.parametrize("groups_per_person", [1, 3])
def test_the_choice_for_a_family_has_the_stated_chances(relation, groups_per_person):
    """The coins that are flipped are those of the mean scores, as certified balls, and a single list is one group."""
    family = ((9, 6, 5, 2, 0), (3, 3, 1), (0, 0))
    mechanism = Auto(
        k=2,
        epsilon=3,
        ordered=False,
        votes_per_person=2,
        neighbours=relation,
        groups_per_person=groups_per_person,
    )
    with ctx.workprec(192):
        for histograms in (family, family[:1]):
            used = PrivateChoice(profiles(histograms), mechanism).enclose_chances(4).values()
            stated = state_chances(mechanism, histograms)
            assert all(abs(a - b) < 1e-12 for a, b in zip(used, stated, strict=True))
            assert min(stated) < 0.999


def test_one_choice_is_made_for_all_lists():
    """Every list names the same choice, and with many groups the choice follows the scores almost surely."""
    mechanism = Auto(k=5, epsilon=1, groups_per_person=1)
    dense, far = np.arange(4000) % 400, np.array([9000, 7000, 5000, 3000, 1000, 0, 0])
    for counts, wanted in ((dense, "pnf-peel"), (far, "margin-joint")):
        groups = [Profile.of(counts + group) for group in range(60)]
        for seed in range(3):
            assert {picks.chosen for picks in mechanism.draw_family(groups, SeededBits(seed))} == {wanted}
    assert mechanism.draw_family([], SeededBits(1)) == []


@pytest.mark.parametrize("options", [{}, {"delta": "1e-7"}])
def test_small_groups_do_not_get_lists_of_chance(options):
    """Where noise on all cells tells something, a limit on cells that allows many groups does not hide it."""
    groups = [Profile.of(np.array([*top, *[0] * 300])) for top in ((20, 12, 9, 5), (2, 1, 1))] * 200
    mechanism = Auto(k=3, epsilon=5, votes_per_person=20, groups_per_person=20, **options)
    for seed in range(3):
        assert {picks.chosen for picks in mechanism.draw_family(groups, SeededBits(seed))} == {"noisy-counts"}


def test_a_single_list_is_a_family_of_one_group():
    """`draw_family` of one group draws what `draw` draws."""
    profile = Profile.of(np.arange(40))
    for mechanism in (Joint(k=3, epsilon=1), Auto(k=3, epsilon=1), Auto(k=3, epsilon=1, ordered=False)):
        for seed in range(5):
            (ours,), theirs = (
                mechanism.draw_family([profile], SeededBits(seed)),
                mechanism.prepare(profile).draw(SeededBits(seed)),
            )
            assert ours.levels.tolist() == theirs.levels.tolist()
            assert (ours.chosen, ours.unordered) == (theirs.chosen, theirs.unordered)


@every_relation
def test_assessments_of_a_family_share_epsilon(relation):
    """Noise on the spreads of two lists keeps epsilon and rho for everyone in two groups, and barely."""
    assess = Assess(epsilon="0.7", neighbours=relation, groups_per_person=2)
    moves = [(1, 1), (1, 0)] if relation == "add-remove" else [(2, 2), (2, 1, 1), (1, 1, 1, 1), (2, 0)]
    with ctx.workprec(96):
        at, _ = laplace_law(assess.noise.b)
        window, losses = range(-300, 300), []
        for each in moves:
            losses.append(sum(abs(move) for move in each) / assess.noise.b)
            for order in (fmpq(11, 10), fmpq(2), fmpq(20)):
                divergence = sum(
                    (renyi([at(x) for x in window], [at(x - move) for x in window], order) for move in each), arb(0)
                )
                assert not divergence > ball(assess.guarantee.rho) * order
    assert max(losses) == assess.guarantee.epsilon == Fraction(7, 10)
    assert assess.guarantee.rho == 2 * find_rho_of_pure(Fraction(7, 20))


@every_relation
@pytest.mark.parametrize(("groups_per_person", "groups"), [(None, 1), (1, 3), (2, 2), (2, 3), (2, None)])
@pytest.mark.parametrize("cap", [None, 1, 3])
def test_counts_of_a_family_move_at_most_so_many(relation, groups_per_person, groups, cap):
    """No person moves more of the listed counts than the noise is for, and some person moves so many."""
    counts = ListCounts(
        k=2,
        epsilon=1,
        votes_per_person=cap,
        neighbours=relation,
        groups_per_person=groups_per_person,
        groups=groups if groups_per_person else None,
    )
    lists, most = groups or 4, 0
    ballots = [each for each in itertools.product(range(3), repeat=lists) if sum(each) <= (cap or 99)]
    ballots = [each for each in ballots if sum(map(bool, each)) <= (groups_per_person or 1)]
    nobody = (0,) * lists
    for old, new in itertools.product(ballots, ballots if relation == "replace" else [nobody]):
        # Of each list, old and new votes may be for different items, but no more than two are listed.
        most = max(most, sum(min(2, left + come) for left, come in zip(old, new, strict=True)))
    assert most == counts.moved


def test_the_guarantee_is_that_of_all_lists():
    """Epsilon stays, and rho falls: the lists of one person share it."""
    joint, single = Joint(k=3, epsilon=1, groups_per_person=4), Joint(k=3, epsilon=1)
    assert (joint.guarantee.epsilon, joint.guarantee.rho) == (1, Fraction(1, 32))
    assert joint.rate == single.rate / 4
    auto = Auto(k=3, epsilon=1, delta="1e-6", votes_per_person=9, groups_per_person=4)
    assert {each.groups_per_person for each in auto.candidates.values()} == {4}
    assert (
        auto.candidates["noisy-counts"].noise
        == Auto(**{**auto.parameters, "groups_per_person": 1}).candidates["noisy-counts"].noise
    )


def test_parameters_name_the_limit_of_a_family_only():
    """A record of a single list does not speak of groups; a family can be built again from its parameters."""
    assert "groups_per_person" not in Joint(k=3, epsilon=1).parameters
    for name, options in CASES:
        mechanism = make(name, options, "replace", 2)
        assert mechanism.parameters["groups_per_person"] == 2
        assert MECHANISMS[name](**mechanism.parameters) == mechanism


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True])
def test_refuses_a_wrong_number_of_groups(wrong):
    """It is a whole number from 1."""
    for build in (Joint, ListCounts):
        with pytest.raises(ParameterError, match="groups_per_person"):
            build(k=3, epsilon=1, groups_per_person=wrong)
    with pytest.raises(ParameterError, match="groups_per_person"):
        Assess(epsilon=1, groups_per_person=wrong)


def test_refuses_a_group_with_too_few_items():
    """Whatever the mechanism, and wherever the group stands."""
    groups = profiles(((3, 1, 0), (2, 1)))
    for mechanism in (Joint(k=3, epsilon=1, groups_per_person=1), Auto(k=3, epsilon=1, groups_per_person=1)):
        with pytest.raises(DataError, match="k is 3, and there are 2"):
            mechanism.draw_family(groups, SeededBits(1))


def test_a_family_without_a_domain_may_have_empty_groups():
    """A group in which nobody voted has an empty list, like any group in which nobody reaches the stop."""
    for name in ("limited-domain", "threshold", "stable"):
        mechanism = MECHANISMS[name].build_example(groups_per_person=3)
        few, nobody = mechanism.draw_family([observe((1, 1)), Profile.of(np.array([0]))], SeededBits(1))
        assert (len(few.levels), len(nobody.levels)) == (0, 0)
        assert (few.counts is None, few.unordered) == (nobody.counts is None, nobody.unordered)
