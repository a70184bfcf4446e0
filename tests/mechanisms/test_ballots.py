"""All small sets of ballots that differ in one person, by the definitions alone.

A ballot is the set of items that one person voted for. So one person can bring items, take the last vote for an item
away, or both. The laws are written down here from the definitions, in floats, for items with names. Of the library,
they use the numbers that the proofs leave open: ε′ and δ₁ of limited-domain.
"""

import itertools
import math
from collections import Counter
from functools import cache

import pyarrow as pa
import pytest
from contract import ALARM, RELATIONS
from laws import p_value
from tallying import observe

from shortlist.mechanisms import LimitedDomain, Stable, Threshold
from shortlist.testing import SeededBits

ITEMS = "abc"
BALLOTS = [frozenset(chosen) for size in range(4) for chosen in itertools.combinations(ITEMS, size)]
CROWDS = ((), (frozenset("ab"),) * 3, (frozenset("a"),) * 5)
"""Ballots of people who do not change."""
REACH = 6
ROUNDING = 1e-9


def count_votes(ballots):
    votes = Counter(item for ballot in ballots for item in ballot)
    return tuple(votes[item] for item in ITEMS)


@cache
def list_pairs(relation, cap):
    """Votes of every three people and one of the crowds, and what they are if one person changes."""
    ballots = [each for each in BALLOTS if cap is None or len(each) <= cap]
    pairs = set()
    for crowd, (first, second, old, new) in itertools.product(CROWDS, itertools.product(ballots, repeat=4)):
        if relation == "replace" or not old or not new:
            kept = (*crowd, first, second)
            pairs.add((count_votes((*kept, old)), count_votes((*kept, new))))
    return pairs


def rank(votes):
    """Items with votes, most votes first, then by their bytes."""
    return sorted((item for item, count in votes.items() if count), key=lambda item: (-votes[item], item.encode()))


def limited_domain(mechanism, counts):
    """Peel among the first k̄ items; ⊥ has the score h(k̄ + 1) + Δ + ln(min(m, k̄)/δ₁)/rate."""
    votes = dict(zip(ITEMS, counts, strict=True))
    step = 1 if mechanism.neighbours == "add-remove" else 2
    rate = float(mechanism.round_epsilon) / step
    ranked = rank(votes)
    after = votes[ranked[mechanism.k_bar]] if len(ranked) > mechanism.k_bar else 0
    most = min(mechanism.votes_per_person or math.inf, mechanism.k_bar)
    scores = {item: votes[item] for item in ranked[: mechanism.k_bar]}
    scores["⊥"] = after + step + math.log(most / float(mechanism.hidden_delta)) / rate
    law = Counter()

    def peel(chosen, chance):
        if len(chosen) == mechanism.k:
            law[chosen] += chance
            return
        left = {name: math.exp(rate * score) for name, score in scores.items() if name not in chosen}
        for name, weight in left.items():
            share = chance * weight / sum(left.values())
            if name == "⊥":
                law[chosen] += share
            else:
                peel((*chosen, name), share)

    peel((), 1.0)
    return law


def stable(mechanism, counts):
    """Choose n by e^(ε₁ g(n)/2Δ), release the first n items if g(n) ≥ 1 and g(n) + noise ≥ Δ + 1 + T."""
    votes = dict(zip(ITEMS, counts, strict=True))
    step = 1 if mechanism.neighbours == "add-remove" else 2
    sizes = range(mechanism.at_least, mechanism.k + 1)
    size_epsilon = float(mechanism.epsilon) / 2 if len(sizes) > 1 else 0.0
    decay = math.exp(-(float(mechanism.epsilon) - size_epsilon) / step)

    def tail(least):
        """P(discrete Laplace ≥ least)."""
        return decay**least / (1 + decay) if least > 0 else 1 - decay ** (1 - least) / (1 + decay)

    t = next(t for t in itertools.count() if tail(t + 1) <= mechanism.delta)
    falling = sorted(counts, reverse=True) + [0] * (mechanism.k + 1)
    gaps = {n: falling[n - 1] - falling[n] for n in sizes}
    weights = {n: math.exp(size_epsilon * gap / 2 / step) for n, gap in gaps.items()}
    law = Counter()
    for n, gap in gaps.items():
        chance = weights[n] / sum(weights.values())
        released = tail(step + 1 + t - gap) if gap else 0.0
        law[tuple(sorted(rank(votes)[:n]))] += chance * released
        law[()] += chance * (1 - released)
    return law


@cache
def noise_law(mechanism):
    """Probabilities of the noise, and the threshold: m items with one vote must not reach it but for δ₂."""
    moved = mechanism.votes_per_person * (1 if mechanism.neighbours == "add-remove" else 2)
    epsilon, delta, reach = float(mechanism.epsilon), float(mechanism.delta), range(-80, 81)
    if mechanism.noise == "laplace":
        one, hidden = epsilon / moved, delta
        weights = {z: math.exp(-abs(z) * one) for z in reach}
    else:
        one = 1 / (2 * float(mechanism.law.variance))
        weights = {z: math.exp(-z * z * one) for z in reach}

        def spend(order, shifts):
            """ln of the δ of this many shifts, by one order."""
            saved = (order - 1) * math.log1p(-1 / order) - math.log(order)
            return (order - 1) * (order * shifts * one - epsilon) + saved

        best = min((1 + math.exp(step / 500) for step in range(-1500, 3000)), key=lambda order: spend(order, moved))
        assert math.exp(spend(best, moved)) <= delta * (1 + 1e-4)
        hidden = delta - math.exp(spend(best, moved - mechanism.votes_per_person))
    law = {z: weight / sum(weights.values()) for z, weight in weights.items()}
    tails = {t: sum(chance for z, chance in law.items() if 1 + z >= t) for t in reach}
    limits = min(hidden / mechanism.votes_per_person, -math.expm1(-one))
    return law, next(t for t in range(1, 80) if tails[t] <= limits)


def threshold(mechanism, counts):
    """Every item with votes gets noise; those that reach T are listed with their noisy counts, ties in random order."""
    votes = {item: count for item, count in zip(ITEMS, counts, strict=True) if count}
    law, least = noise_law(mechanism)
    top = least + REACH
    outcomes = []
    for count in votes.values():
        values = {value: law[value - count] for value in range(least, top)}
        values[None] = sum(chance for z, chance in law.items() if count + z < least)
        values["far"] = 1 - sum(values.values())
        outcomes.append(values)
    found = Counter()
    for noisy in itertools.product(*outcomes):
        chance = math.prod(values[value] for values, value in zip(outcomes, noisy, strict=True))
        if "far" in noisy:
            found["far"] += chance
            continue
        named = [(value, item) for item, value in zip(votes, noisy, strict=True) if value is not None]
        orders = [order for order in itertools.permutations(named) if list(order) == sorted(order, key=lambda x: -x[0])]
        for order in orders:
            found[tuple(item for _, item in order[: mechanism.k]), tuple(v for v, _ in order[: mechanism.k])] += (
                chance / len(orders)
            )
    return found


SAMPLED = {(limited_domain, "add-remove"): (4, 3, 1), (stable, "replace"): (9, 8, 1)}
"""Counts on which 30 % of epsilon make a difference; elsewhere (9, 2, 1) do."""
TERMS = {"epsilon": 1, "delta": "0.2"}
CASES = {
    "limited-domain": (limited_domain, LimitedDomain, {"k": 2, "k_bar": 2}),
    "limited-domain, one vote": (limited_domain, LimitedDomain, {"k": 1, "k_bar": 2, "votes_per_person": 1}),
    "limited-domain, many candidates": (limited_domain, LimitedDomain, {"k": 2, "k_bar": 9, "votes_per_person": 2}),
    "stable": (stable, Stable, {"k": (1, 3)}),
    "stable, one size": (stable, Stable, {"k": (2, 2)}),
    "threshold, gaussian": (threshold, Threshold, {"k": 3, "votes_per_person": 1, "noise": "gaussian"}),
    "threshold, gaussian, two votes": (threshold, Threshold, {"k": 1, "votes_per_person": 2, "noise": "gaussian"}),
    "threshold, laplace": (threshold, Threshold, {"k": 3, "votes_per_person": 1, "noise": "laplace"}),
    "threshold, laplace, two votes": (threshold, Threshold, {"k": 2, "votes_per_person": 2, "noise": "laplace"}),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", CASES)
def test_one_person_hardly_changes_what_is_released(case, relation):
    """For every pair, P(S) ≤ e^ε P′(S) + δ for every set S of outputs; and δ is needed."""
    law, kind, options = CASES[case]
    mechanism = kind(**options, **TERMS, neighbours=relation)
    pairs = list_pairs(relation, getattr(mechanism, "votes_per_person", None))
    laws = {counts: law(mechanism, counts) for counts in {counts for pair in pairs for counts in pair}}
    assert all(abs(sum(each.values()) - 1) < ROUNDING for each in laws.values())
    worst = max(
        sum(max(0.0, chance - math.e * laws[there][output]) for output, chance in laws[here].items())
        for here, there in pairs
    )
    assert 0.01 < worst <= 0.2 + ROUNDING


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("case", CASES)
def test_the_library_draws_by_these_definitions(case, relation):
    """From a table of ballots to named items, against the law and against that of 30 % more epsilon."""
    law, kind, options = CASES[case]
    mechanism = kind(**options, **TERMS, neighbours=relation)
    more = kind(**options, **{**TERMS, "epsilon": "1.3"}, neighbours=relation)
    counts = SAMPLED.get((law, relation), (9, 2, 1))
    votes = [(f"{item} {person}", item) for item, n in zip(ITEMS, counts, strict=True) for person in range(n)]
    table = pa.table({"person": [person for person, _ in votes], "item": [item for _, item in votes]})
    tally = observe(table, person="person", item="item")
    picked, drawn = {}, Counter()
    for picks in mechanism.prepare(tally[0]).draw_many(4000, SeededBits(8)):
        place = tuple(picks.levels.tolist()), tuple(picks.ranks.tolist())
        if place not in picked:
            picked[place] = tuple(tally.names(tally.rows([picks]))[0])
        items, noisy = picked[place], picks.counts
        if picks.unordered:
            items = tuple(sorted(items))
        drawn[items if noisy is None else (items, tuple(noisy.tolist()))] += 1
    stated, other = law(mechanism, counts), law(more, counts)
    if isinstance(mechanism, Threshold):
        assert noise_law(mechanism)[1] == mechanism.threshold
    far = sum(number for output, number in drawn.items() if output not in stated)
    observed = [far if output == "far" else drawn[output] for output in stated]
    assert far == 0 or "far" in stated
    assert p_value(observed, list(stated.values())) > ALARM
    assert p_value(observed, [other[output] for output in stated]) < ALARM
