"""What a release may hold beside its list: a private cap, noisy numbers of people, and noisy counts of its items.

Their laws are enumerated on small tables with all neighbours, and what is drawn is tested against them. The epsilons
and rhos are fixed, as the same code serves all others.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
from flint import arb

from shortlist.audits.cases import Finding
from shortlist.audits.frequencies import STRETCHES, judge_draws
from shortlist.audits.privacy_loss import Laws, compare_all
from shortlist.exact.bits import Bits, read_bits
from shortlist.exact.noise import DiscreteLaplace, Noise, SharedGaussian
from shortlist.mechanisms.noisy_counts import ListCounts
from shortlist.mechanisms.private_cap import CAPS, SHARE, PrivateCap
from shortlist.mechanisms.stated import gaussian_law, laplace_law
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import write_exact
from shortlist.terms import Terms

Pairs = Iterable[tuple[Any, Any]]
"""Tables and their neighbours."""

_SIZES = (0, 1, 2, 3, 5000)
"""How many votes a person of a small table has: none, few, and more than the largest cap."""
_NOISES: tuple[dict[str, Any], ...] = ({}, {"delta": Fraction(1, 10**6)}, {"without_domain": True})
"""Public parameters, which decide near which quantile a cap is chosen."""
_PEOPLE = [1] * 30 + [2] * 20 + [3] * 12 + [9] * 8 + [40] * 5
_CAP_EPSILON = 8
"""The votes per person from which caps are drawn, and an epsilon at which they have several likely caps."""
_BALLOTS = ((), (0,), (0, 1), (1,), (1, 0))
"""The votes of one person for two items, in the order in which a cap keeps them."""
_VOTED = (((0, 0), 0), ((1, 0), 1)), (((1, 1), 2), ((1, 0), 1))
"""What all others voted for in two groups: the counts and the people of each."""
_LEAST = 2
"""Groups with fewer people get no list."""
_FEW = range(-1, 5)
"""The noisy numbers of people that are enumerated. All others have the same ratios."""
_DELTA = Fraction(1, 100)
_COUNTS: tuple[dict[str, Any], ...] = (
    {"counts_epsilon": Fraction(3), "votes_per_person": 3, "others": True},
    {"counts_rho": Fraction(1, 2), "counts_delta": _DELTA},
    {"counts_rho": Fraction(2), "counts_delta": _DELTA, "votes_per_person": 2, "others": True},
    {"counts_rho": Fraction(2), "counts_delta": _DELTA, "max_weight": 2, "weight_unit": "units"},
)
"""What is bought beside a list of two items."""
_DEVIATIONS = 5
"""How many standard deviations of noise are enumerated."""


def check_extras(trials: int, bits: Bits | None, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Check all that may be bought beside a list."""
    source = read_bits(bits)
    progress("private cap: enumerating all neighbours")
    for relation in Neighbours:
        yield enumerate_cap(relation)
        yield enumerate_cap_and_list(relation)
    yield sample_cap(trials, source)
    progress("people of groups: enumerating all neighbours")
    for relation in Neighbours:
        yield enumerate_people(relation)
    yield sample_people(read_people("add-remove", 2), trials, source)
    for asked in _COUNTS:
        progress(f"{_name_counts(asked)}: enumerating all neighbours")
        for relation in Neighbours:
            yield enumerate_counts(asked, relation)
        yield sample_counts(asked, trials, source)


def enumerate_cap(relation: str, kind: type[PrivateCap] = PrivateCap) -> Finding:
    """Compare the laws of the cap on all tables of up to three people."""

    def list_laws(choice: PrivateCap) -> Laws:
        def state(sizes: Sequence[int]) -> dict[int, arb]:
            return dict(zip(CAPS, choice.state_law(_count_exceeding(sizes)), strict=True))

        return choice.guarantee, state, _pair_tables(_SIZES, 3, relation)

    choices = [kind.share(1 / SHARE, neighbours=Neighbours.read(relation), **given) for given in _NOISES]
    return compare_all("private cap", "privacy loss", relation, map(list_laws, choices), epsilon=Fraction(1))[0]


def enumerate_cap_and_list(relation: str) -> Finding:
    """Compare the laws of the cap and the list that follows, on all tables of two people and two items."""
    given = {"votes_per_person": "auto", "persons_counted": True, "neighbours": relation}
    terms = Terms.read("noisy-counts", 1, 1, **given)
    assert terms.private_cap is not None
    choice = terms.private_cap

    def state(table: Sequence[tuple[int, ...]]) -> dict[Any, arb]:
        chances = dict(zip(CAPS, choice.state_law(_count_exceeding(list(map(len, table)))), strict=True))
        law = {}
        for cap in (*CAPS[:3], CAPS[-1]):
            histogram = tuple(sum(item in ballot[:cap] for ballot in table) for item in range(2))
            for output, chance in terms.by_cap[cap].mechanism.state_law(histogram, reach=1):
                law[cap, output] = chances[cap] * chance
        return law

    laws = terms.guarantee, state, _pair_tables(_BALLOTS, 2, relation)
    return compare_all("private cap", "privacy loss of cap and list", relation, [laws], epsilon=Fraction(1))[0]


def sample_cap(trials: int, bits: Bits, kind: type[PrivateCap] = PrivateCap) -> Finding:
    """Draw caps, and compare them with their law."""
    laws, exceeding = [], _count_exceeding(_PEOPLE)
    for stretch in (1, *STRETCHES):
        stretched = PrivateCap.share(_CAP_EPSILON * stretch / SHARE, neighbours=Neighbours.ADD_REMOVE)
        laws.append(dict(zip(CAPS, stretched.state_law(exceeding), strict=True)))
    drawn = kind.share(_CAP_EPSILON / SHARE, neighbours=Neighbours.ADD_REMOVE)
    return _judge("private cap", laws, trials, lambda: drawn.choose(exceeding, bits))


def _count_exceeding(sizes: Sequence[int]) -> tuple[int, ...]:
    """Count the persons with more than 0 votes, with more than the first cap, and so on."""
    return tuple(sum(size > cap for size in sizes) for cap in (0, *CAPS[:-1]))


def _pair_tables(rows: Sequence[Any], people: int, relation: str) -> Pairs:
    """Pair all tables of up to so many people with all in which one person is missing, or another one."""
    for number in range(1, people + 1):
        for table in itertools.combinations_with_replacement(rows, number):
            for place, row in enumerate(table):
                rest = table[:place] + table[place + 1 :]
                if relation == "add-remove":
                    yield table, rest
                else:
                    yield from ((table, (*rest, other)) for other in rows[rows.index(row) + 1 :])


def enumerate_people(relation: str) -> Finding:
    """Compare the laws of the numbers of people and of the lists of large groups, with one person in one or both."""

    def list_laws(most: int) -> Laws:
        terms = read_people(relation, most)
        noise, _ = laplace_law(Fraction(min(2, most * Neighbours.read(relation).sensitivity)))
        state_lists = cache(lambda groups: dict(terms.mechanism.state_family(groups)) if groups else {(): arb(1)})

        def state(family: Any) -> dict[Any, arb]:
            law: dict[Any, arb] = {}
            for noisy in itertools.product(_FEW, repeat=2):
                chances = (noise(drawn - people) for drawn, (_, people) in zip(noisy, family, strict=True))
                large = tuple(counts for drawn, (counts, _) in zip(noisy, family, strict=True) if drawn >= _LEAST)
                chance = math.prod(chances, start=arb(1))
                law |= {(noisy, lists): chance * p for lists, p in state_lists(large).items()}
            return law

        return terms.guarantee, state, _pair_groups(relation, most)

    return compare_all("people of groups", "privacy loss", relation, map(list_laws, (1, 2)), epsilon=Fraction(2))[0]


def sample_people(terms: Terms, trials: int, bits: Bits) -> Finding:
    """Draw numbers of people of two groups without people, and compare them with the law of a person in both."""
    nobody = np.zeros(2, dtype=np.int64)
    laws = [_multiply([_state_noise(DiscreteLaplace(2 / stretch), 0)] * 2) for stretch in (Fraction(1), *STRETCHES)]
    return _judge("people of groups", laws, trials, lambda: tuple(terms.draw_people(nobody, bits) or ()))


def read_people(relation: str, most: int) -> Terms:
    """Read the terms of a family of two groups, of which a person is in one or in both."""
    asked = {"groups": 2, "people_epsilon": 1, "min_people": _LEAST, "persons_counted": True, "neighbours": relation}
    return Terms.read("joint", 1, 1, groups_per_person=most, **asked)


def _pair_groups(relation: str, most: int) -> Pairs:
    """Pair families of two groups of two items, which differ in the votes of one person."""
    ballots = [each for each in itertools.product(((), (0,), (1,), (0, 1)), repeat=2) if sum(map(bool, each)) <= most]
    nobody = ((), ())
    pairs = itertools.combinations(ballots, 2) if relation == "replace" else ((nobody, each) for each in ballots[1:])
    for others, ballots_of_one in itertools.product(_VOTED, list(pairs)):
        here, there = (
            tuple(
                (tuple(count + (item in voted) for item, count in enumerate(counts)), people + bool(voted))
                for (counts, people), voted in zip(others, ballot, strict=True)
            )
            for ballot in ballots_of_one
        )
        yield here, there


def enumerate_counts(asked: Mapping[str, Any], relation: str, kind: type[ListCounts] = ListCounts) -> Finding:
    """Compare the laws of two noisy counts, and perhaps of that of all others, for all that one person can change."""
    counts, terms = _read_counts(asked, relation, kind)
    promise = counts.guarantee.scale(terms.sensitivity, unit=terms.unit)
    still = (0,) * (3 if counts.others else 2)
    pairs = [(still, moved) for moved in _list_moves(counts, terms.sensitivity) if moved != still]
    budget = {"epsilon": asked.get("counts_epsilon", promise.epsilon), "rho": asked.get("counts_rho")}
    budget["delta"] = asked.get("counts_delta", Fraction(0))
    laws = promise, partial(_state_counts, counts), pairs
    return compare_all(_name_counts(asked), "privacy loss", relation, [laws], **budget)[0]


def sample_counts(asked: Mapping[str, Any], trials: int, bits: Bits, kind: type[ListCounts] = ListCounts) -> Finding:
    """Draw noisy counts, and compare them with their law."""
    powers, laws = {"counts_epsilon": 1, "counts_rho": 2}, []
    still = (0,) * (3 if "others" in asked else 2)
    for stretch in (Fraction(1), *STRETCHES):
        stretched = {name: asked[name] * stretch**power for name, power in powers.items() if name in asked}
        counts, _ = _read_counts({**asked, **stretched}, "add-remove")
        laws.append(_round_halves(counts, _state_counts(counts, still)))
    drawn, _ = _read_counts(asked, "add-remove", kind)

    def draw() -> tuple[int, ...]:
        others = (drawn.add_noise_to_others(0, bits),) if drawn.others else ()
        return (*drawn.add_noise([0, 0], bits), *others)

    return _judge(_name_counts(asked), laws, trials, draw)


def _name_counts(asked: Mapping[str, Any]) -> str:
    words = (f"{name}={write_exact(value) if isinstance(value, Fraction) else value}" for name, value in asked.items())
    return ", ".join(["noisy counts", *words])


def _read_counts(
    asked: Mapping[str, Any], relation: str, kind: type[ListCounts] = ListCounts
) -> tuple[ListCounts, Terms]:
    terms = Terms.read("joint", 2, 1, persons_counted=True, neighbours=relation, **asked)
    assert terms.counts is not None
    return kind(**{each.name: getattr(terms.counts, each.name) for each in fields(terms.counts)}), terms


def _list_moves(counts: ListCounts, most: int) -> set[tuple[int, ...]]:
    """List how one person can move two listed counts, each by `most`, and the votes for all others."""
    cap = counts.votes_per_person or 2
    listed, others = range(most + 1), range(cap * most + 1) if counts.others else (0,)
    gifts = [
        (*each, other)[: 3 if counts.others else 2]
        for *each, other in itertools.product(listed, listed, others)
        if sum(map(bool, each)) + math.ceil(other / most) <= cap
    ]
    if counts.neighbours == "add-remove":
        return set(gifts)
    return {tuple(x - y for x, y in zip(*pair, strict=True)) for pair in itertools.product(gifts, repeat=2)}


def _state_counts(counts: ListCounts, moved: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
    """State the law of two noisy counts, given the true ones, and of a third with the noise of all others.

    Shared noise makes halves, which are rounded later. Here they are doubled.
    """
    others = [_state_noise(counts.others_noise, each) for each in moved[2:]]
    if not isinstance(counts.noise, SharedGaussian):
        return _multiply([*(_state_noise(counts.noise, each) for each in moved[:2]), *others])
    own, shared = gaussian_law(counts.noise.own)[0], gaussian_law(counts.noise.shared)[0]
    reach = _find_reach(counts.noise.own + counts.noise.shared) + 2  # counts are doubled
    listed: dict[tuple[int, ...], arb] = {}
    for pair in itertools.product(range(-reach, reach + 1), repeat=2):
        x, y = (value - 2 * count for value, count in zip(pair, moved, strict=False))
        # Where both counts are far away, the shared noise may be as far.
        listed[pair] = sum((shared(e) * own(x - e) * own(y - e) for e in range(-2 * reach, 2 * reach + 1)), arb(0))
    return _multiply([listed, *others])


def _find_reach(variance: Fraction) -> int:
    """Find how far Gaussian noise is enumerated, also around a count that one person moves by up to 2."""
    return math.ceil(_DEVIATIONS * math.sqrt(variance)) + 2


def _state_noise(noise: Noise, count: int) -> dict[tuple[int, ...], arb]:
    """State the law of a noisy count. All ratios of Laplace noise are among those of the nearest values."""
    if isinstance(noise, DiscreteLaplace):
        reach, (at, _) = 3 * math.ceil(noise.b), laplace_law(noise.b)
    else:
        reach, (at, _) = _find_reach(noise.variance), gaussian_law(noise.variance)
    return {(y,): at(y - count) for y in range(-reach, reach + 1)}


def _multiply(laws: Sequence[Mapping[tuple[int, ...], arb]]) -> dict[tuple[int, ...], arb]:
    """State the law of independent numbers, each with its law."""
    law: dict[tuple[int, ...], arb] = {(): arb(1)}
    for each in laws:
        law = {here + more: p * q for (here, p), (more, q) in itertools.product(law.items(), each.items())}
    return law


def _round_halves(counts: ListCounts, law: dict[tuple[int, ...], arb]) -> dict[tuple[int, ...], arb]:
    """Round doubled counts of shared noise up or down at random. Others are whole."""
    if not isinstance(counts.noise, SharedGaussian):
        return law
    rounded: defaultdict[tuple[int, ...], arb] = defaultdict(lambda: arb(0))
    for (one, other, *rest), chance in law.items():
        for ends in itertools.product((one // 2, (one + 1) // 2), (other // 2, (other + 1) // 2)):
            rounded[*ends, *rest] += chance / 4
    return dict(rounded)


def _judge(subject: str, laws: Sequence[Mapping[Any, arb]], trials: int, draw: Callable[[], Any]) -> Finding:
    """Compare draws with the first law and with the wrong ones."""
    floats = [{output: float(chance.mid()) for output, chance in law.items()} for law in laws]
    return judge_draws(subject, floats, trials, lambda times: [draw() for _ in range(times)])
