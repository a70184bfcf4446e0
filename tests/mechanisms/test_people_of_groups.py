"""Noisy numbers of people of the groups of a family: with the lists of large groups, they keep the guarantee."""

import itertools
from fractions import Fraction
from functools import cache, cached_property

import numpy as np
import pytest
from contract import ALARM, RELATIONS
from divergences import Law, keeps
from flint import arb, ctx
from laws import p_value
from noisy import laplace_law

from shortlist.errors import ParameterError
from shortlist.terms import Terms
from shortlist.testing import SeededBits

CASES = [("joint", {}), ("auto", {}), ("cdp-peel", {"delta": Fraction(1, 5)}), ("stable", {"delta": Fraction(1, 5)})]
LEAST = 2
"""Groups with fewer people get no list."""
WINDOW = range(-3, 7)
"""The noisy numbers that are enumerated. All others only add to what both laws have in common."""
BALLOTS = [*itertools.product([(), (0,), (1,), (0, 1)], repeat=2)]
"""What one person may vote for in two groups of two items."""
OTHERS = [
    (((0, 0), 0), ((0, 0), 0)),
    (((1, 0), 1), ((1, 0), 1)),
    (((1, 1), 1), ((2, 1), 2)),
    (((2, 1), 2), ((1, 1), 2)),
]
"""What all others voted for: counts and people of each group."""
ABSENT = -1e300


class SparseLaw(Law):
    """The probabilities of all outputs. Some may be 0."""

    @cached_property
    def logs(self):
        return np.array([float(chance.log().mid()) if chance > 0 else ABSENT for chance in self])


def add_ballot(others, ballot):
    """The counts and people of each group, with one person more."""
    return tuple(
        (tuple(count + (item in voted) for item, count in enumerate(counts)), people + bool(voted))
        for (counts, people), voted in zip(others, ballot, strict=True)
    )


def find_pairs(relation, groups_per_person):
    """All neighbours: a person more or less, or a person's other votes."""
    ballots = [each for each in BALLOTS if sum(map(bool, each)) <= groups_per_person]
    nobody = ((), ())
    pairs = [(nobody, ballot) for ballot in ballots if ballot != nobody]
    if relation == "replace":
        pairs = [(here, there) for here, there in itertools.combinations(ballots, 2) if nobody not in (here, there)]
    for others, (here, there) in itertools.product(OTHERS, pairs):
        yield add_ballot(others, here), add_ballot(others, there)


def read_terms(name, options, relation, groups_per_person, epsilon=2):
    return Terms.read(
        name,
        (1, 1) if name == "stable" else 1,
        epsilon,
        neighbours=relation,
        groups=2,
        groups_per_person=groups_per_person,
        people_epsilon="0.7",
        min_people=LEAST,
        persons_counted=True,
        without_domain=name == "stable",
        **options,
    )


def state_law(mechanism, scale):
    """Return a function: the law of noisy people and of the lists of large groups, by brute force."""
    chance_at, _ = laplace_law(scale)

    @cache
    def state_lists(histograms):
        return dict(mechanism.state_family(histograms, reach=3)) if histograms else {(): arb(1)}

    @cache
    def law(family):
        found = {}
        for noisy in itertools.product(WINDOW, repeat=len(family)):
            chance = arb(1)
            for drawn, (_, people) in zip(noisy, family, strict=True):
                chance *= chance_at(drawn - people)
            large = tuple(counts for drawn, (counts, _) in zip(noisy, family, strict=True) if drawn >= LEAST)
            for lists, p in state_lists(large).items():
                found[noisy, lists] = chance * p
        return found

    return law


def find_violations(law, guarantee, pairs):
    """Whether each pair of neighbours is told apart more than the guarantee says."""
    for here, there in pairs:
        laws = law(here), law(there)
        outputs = laws[0].keys() | laws[1].keys()
        if not keeps(guarantee, *(SparseLaw(each.get(output, arb(0)) for output in outputs) for each in laws)):
            yield here, there


def find_scale(relation, groups_per_person):
    return min(groups_per_person * (1 if relation == "add-remove" else 2), 2) / Fraction(7, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), CASES, ids=[name for name, _ in CASES])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups_per_person", [1, 2])
def test_no_neighbour_is_told_apart_by_people_and_lists(name, options, relation, groups_per_person):
    """Two groups, one hostile person in one or both: exact probabilities keep epsilon, delta and rho together."""
    terms = read_terms(name, options, relation, groups_per_person)
    assert terms.guarantee.epsilon == Fraction(27, 10)
    with ctx.workprec(96):
        law = state_law(terms.mechanism, find_scale(relation, groups_per_person))
        assert not [*find_violations(law, terms.guarantee, find_pairs(relation, groups_per_person))]


@pytest.mark.parametrize(("relation", "groups_per_person"), [("add-remove", 2), ("replace", 1)])
def test_people_that_are_told_apart_are_seen(relation, groups_per_person):
    """The check has power: noise for one group is too little for a person who is in two, or goes to another."""
    # Of a smaller epsilon, the list leaves less unused.
    terms = read_terms("joint", {}, relation, groups_per_person, epsilon="0.1")
    with ctx.workprec(96):
        law = state_law(terms.mechanism, 1 / Fraction(7, 10))
        assert any(True for _ in find_violations(law, terms.guarantee, find_pairs(relation, groups_per_person)))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("groups_per_person", "groups"), [(1, 1), (1, 3), (2, 3), (3, 3), (2, 9)])
def test_one_person_moves_at_most_so_many_numbers(relation, groups_per_person, groups):
    """The noise is for as many groups as one person leaves and enters, and some person does so."""
    terms = Terms.read(
        *("joint", 1, 1),
        neighbours=relation,
        groups=groups,
        groups_per_person=groups_per_person,
        people_epsilon=1,
        persons_counted=True,
    )
    sets = [set(each) for n in range(groups_per_person + 1) for each in itertools.combinations(range(groups), n)]
    most = max(len(left ^ entered) for left in sets for entered in (sets if relation == "replace" else [set()]))
    assert terms.group_people.moved == most
    assert terms.guarantee.epsilon == 2


def test_numbers_of_people_follow_their_law_and_no_other():
    """Drawn numbers match discrete Laplace noise of scale c/epsilon, and miss it when epsilon is 30 % off."""
    terms = Terms.read(
        *("joint", 1, 1), groups=5, groups_per_person=2, people_epsilon="0.5", min_people=40, persons_counted=True
    )
    drawn = np.array(terms.draw_people(np.full(20_000, 40), SeededBits(6))) - 40
    points, found = range(-80, 81), []
    for factor in (1, Fraction(7, 10), Fraction(13, 10)):
        with ctx.workprec(96):
            at, _ = laplace_law(2 / (Fraction(1, 2) * factor))
            law = [float(at(x).mid()) for x in points]
        found.append(p_value([int((drawn == x).sum()) for x in points], law))
    assert found[0] > ALARM > max(found[1:]), found
    assert [terms.has_list(number) for number in (39, 40, -3)] == [False, True, False]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups": None}, "`people_epsilon` must go with `by`"),
        ({"persons_counted": False}, "`people_epsilon` must go with `person`"),
        ({"people_epsilon": None}, "`min_people` must go with `people_epsilon`"),
        ({"people_epsilon": None, "groups": None}, "`min_people` must go with `by`"),
        ({"people_epsilon": 0}, "`people_epsilon`"),
        ({"people_epsilon": "much"}, "`people_epsilon`"),
        ({"min_people": 0}, "`min_people`"),
        ({"min_people": "ten"}, "`min_people`"),
    ],
    ids=repr,
)
def test_refuses_numbers_of_people_that_make_no_sense(changes, words):
    """Without groups or persons there are no numbers, and without numbers there is no limit on them."""
    asked = {"groups": 3, "persons_counted": True, "people_epsilon": 1, "min_people": 5} | changes
    with pytest.raises(ParameterError) as caught:
        Terms.read("joint", 1, 1, groups_per_person=None if asked["groups"] is None else 1, **asked)
    assert words.replace("`", "") in str(caught.value).replace("`", "")
