"""Stated laws by brute force: every output enumerated, nothing shared with the code that draws.

A mechanism states its law with these functions in `state_law`. The tests and the audit compare draws with it. Rates
are written there as formulas of epsilon.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from flint import arb, arb_poly, fmpq

from shortlist.exact.balls import ball, enclose_exp_minus

if TYPE_CHECKING:
    from shortlist.mechanisms.mechanism import Mechanism

Histogram = tuple[int, ...]
Items = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """What one release shows: the items as published, noisy counts and the name of the chosen mechanism, if any."""

    items: Items
    counts: tuple[int, ...] | None = None
    chosen: str | None = None


Stated = Iterator[tuple[Output, arb]]
"""Outputs and their probabilities. Where noisy counts are far away, outputs are left out."""


Law = dict[Output, arb]
"""The probability of each output."""


def collect_law(mechanism: Mechanism, histogram: Histogram, *, reach: int = 6) -> Law:
    """Collect the law that a mechanism states, output by output as they are published. Sets are sorted."""
    law: Law = defaultdict(lambda: arb(0))
    for output, chance in mechanism.state_law(histogram, reach=reach):
        if mechanism.unordered:
            order = sorted(range(len(output.items)), key=output.items.__getitem__)
            counts = None if output.counts is None else tuple(output.counts[place] for place in order)
            output = Output(tuple(output.items[place] for place in order), counts, output.chosen)
        law[output] += chance
    return dict(law)


def state_lists(histogram: Histogram, k: int, law: Iterable[arb]) -> Stated:
    """Name the lists of k items, given their probabilities in the order of `sequences`."""
    return zip(map(Output, sequences(len(histogram), k)), law, strict=True)


def small_histograms(largest_d: int = 4) -> list[Histogram]:
    """Every histogram with d ≤ 4 and counts ≤ 3, up to the order of the items."""
    return [h for d in range(1, largest_d + 1) for h in itertools.combinations_with_replacement(range(3, -1, -1), d)]


def neighbours(histogram: Histogram, relation: str, cap: int | None = None, weight: int = 1) -> Iterator[Histogram]:
    """Every histogram that one person more or less, or one person's other votes, can make of it.

    With `cap`, a person votes for at most `cap` items. A person adds at most `weight` to each.
    """
    return (moved for (moved,) in family_neighbours((histogram,), relation, 1, cap, weight))


def family_neighbours(
    family: Sequence[Histogram], relation: str, groups_per_person: int, cap: int | None = None, weight: int = 1
) -> Iterator[tuple[Histogram, ...]]:
    """Every family that one person more or less, or one person's other votes, can make of it.

    A person votes in at most so many groups, and for at most `cap` items over all groups.
    """
    steps = (0, *range(1, weight + 1), *range(-1, -weight - 1, -1))
    for changes in itertools.product(*(itertools.product(steps, repeat=len(each)) for each in family)):
        up, down = ([[sign * step > 0 for step in change] for change in changes] for sign in (1, -1))
        fits = relation == "replace" or not (any(map(any, up)) and any(map(any, down)))
        for moves in (up, down):
            fits &= sum(map(any, moves)) <= groups_per_person and (cap is None or sum(map(sum, moves)) <= cap)
        moved = tuple(
            tuple(h + step for h, step in zip(histogram, change, strict=True))
            for histogram, change in zip(family, changes, strict=True)
        )
        if fits and min(map(min, moved)) >= 0:
            yield moved


def pair_families(
    histograms: Iterable[Histogram], groups: int, relation: str, groups_per_person: int, cap: int | None = None
) -> Iterator[tuple[tuple[Histogram, ...], tuple[Histogram, ...]]]:
    """Every family of these histograms with its neighbours: once, whatever the order of the pair and of the groups."""
    seen = set()
    for family in itertools.combinations_with_replacement(histograms, groups):
        for other in family_neighbours(family, relation, groups_per_person, cap):
            pair, reverse = (tuple(sorted(zip(*each, strict=True))) for each in ((family, other), (other, family)))
            if other != family and pair not in seen and reverse not in seen:
                seen.add(pair)
                yield family, other


def sequences(d: int, k: int) -> list[Items]:
    """Every sequence of k distinct items, in a fixed order."""
    return list(itertools.permutations(range(d), k))


def losses(histogram: Histogram, k: int) -> list[int]:
    """L(s) of every sequence."""
    top = sorted(histogram, reverse=True)
    return [
        max(top[j] - histogram[item] for j, item in enumerate(sequence)) for sequence in sequences(len(histogram), k)
    ]


def margin(histogram: Histogram, k: int) -> int:
    """The smallest gap between neighbours among the k + 1 largest counts."""
    top = sorted(histogram, reverse=True)[: k + 1]
    return min((a - b for a, b in itertools.pairwise(top)), default=0)


def margin_losses(histogram: Histogram, k: int) -> list[int]:
    """The loss of every sequence: −g for the true list if it is unique, L(s) for all others."""
    order = sorted(range(len(histogram)), key=lambda item: -histogram[item])
    g = margin(histogram, k)
    return [
        -g if g and list(each) == order[:k] else loss
        for each, loss in zip(sequences(len(histogram), k), losses(histogram, k), strict=True)
    ]


def subsets(d: int, sizes: Iterable[int]) -> list[Items]:
    """Every set of items of these sizes, in a fixed order."""
    return [each for size in sizes for each in itertools.combinations(range(d), size)]


def set_losses(histogram: Histogram, sizes: Iterable[int]) -> list[int]:
    """The largest count outside minus the smallest count inside; the largest of no counts is 0."""
    return [
        max((count for item, count in enumerate(histogram) if item not in each), default=0)
        - min(histogram[item] for item in each)
        for each in subsets(len(histogram), sizes)
    ]


def exponential(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """The law ∝ e^(−rate · score)."""
    return _state_round(scores, rate, exponential_round)


def permute_and_flip(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """The law of permute-and-flip, where each is accepted with probability e^(−rate · (score − smallest score))."""
    return _state_round(scores, rate, flip_round)


def _state_round(scores: Sequence[int], rate: Fraction, round_law: RoundLaw) -> list[arb]:
    """The law of a round, where equal scores have one object as their e^(−rate · (score − smallest score))."""
    least = min(scores)
    decays = {score: decay(rate, score - least) for score in set(scores)}
    return round_law([decays[score] for score in scores])


def flip_round(decays: Sequence[arb]) -> list[arb]:
    """Permute-and-flip: P(i) = c_i ∫_0^1 ∏_{t≠i} (1 − c_t x) dx.

    All those before i in a uniform order have flipped tails. The integral is computed once for each different object.
    """
    chances: dict[int, arb] = {}
    for index, each in enumerate(decays):
        if id(each) not in chances:
            product = arb_poly([1])
            for other in (*decays[:index], *decays[index + 1 :]):
                product *= arb_poly([1, -other])
            chances[id(each)] = each * product.integral()(arb(1))
    return [chances[id(each)] for each in decays]


def exponential_round(decays: Sequence[arb]) -> list[arb]:
    """The exponential mechanism."""
    total = sum(decays, arb(0))
    return [each / total for each in decays]


def log_sum(numbers: Iterable[int], rate: Fraction) -> arb:
    """(1/rate) ln Σ e^(−rate · number)."""
    return sum((decay(rate, number) for number in numbers), arb(0)).log() / ball(rate)


def decay(rate: Fraction, loss: int) -> arb:
    """e^(−rate · loss)."""
    return enclose_exp_minus(rate * loss)


RoundLaw = Callable[[Sequence[arb]], list[arb]]
"""Who wins a round, given e^(−rate · loss) of each."""


def peel_law(histogram: Histogram, k: int, rate: Fraction, round_law: RoundLaw) -> list[arb]:
    """The law of k rounds, over `sequences`."""

    @cache
    def first(counts: tuple[int, ...]) -> list[arb]:
        return _state_round([-count for count in counts], rate, round_law)

    law = []
    for sequence in sequences(len(histogram), k):
        left, probability = list(range(len(histogram))), arb(1)
        for item in sequence:
            probability *= first(tuple(histogram[other] for other in left))[left.index(item)]
            left.remove(item)
        law.append(probability)
    return law


Point = Callable[[int], arb]


def laplace_law(scale: Fraction) -> tuple[Point, Point]:
    """P(Z = x) and P(Z ≤ x) of the discrete Laplace law."""
    rate = arb(fmpq(scale.denominator, scale.numerator))
    total = 1 + (-rate).exp()

    @cache
    def at(x: int) -> arb:
        return (-rate * abs(x)).exp() * (1 - (-rate).exp()) / total

    @cache
    def below(x: int) -> arb:
        return (rate * x).exp() / total if x < 0 else 1 - (-rate * (x + 1)).exp() / total

    return at, below


def gaussian_law(variance: Fraction) -> tuple[Point, Point]:
    """P(Z = x) and P(Z ≤ x) of the discrete Gaussian law, by sums that leave out less than 2^-200."""
    rate = arb(fmpq(variance.denominator, 2 * variance.numerator))
    reach = math.isqrt(math.ceil(2 * variance * 150)) + 2
    weights = [(-rate * x**2).exp() for x in range(reach)]
    total = weights[0] + 2 * sum(weights[1:], arb(0))

    @cache
    def at(x: int) -> arb:
        return (-rate * x**2).exp() / total

    @cache
    def below(x: int) -> arb:
        tail = sum(weights[abs(x) + (x >= 0) :], arb(0)) / total
        return 1 - tail if x >= 0 else tail

    return at, below


def falling_counts(k: int, values: range) -> Iterator[tuple[int, ...]]:
    """Every falling sequence of k noisy counts."""
    for rising in itertools.combinations_with_replacement(values, k):
        yield rising[::-1]


def output_chance(histogram: Histogram, items: Items, noisy: tuple[int, ...], law: tuple[Point, Point]) -> arb:
    """P(these items with these noisy counts are released), equal noisy counts being ordered uniformly at random.

    Of t equal counts in the list each order has probability 1/t!. If q of the other items have the last count as well,
    the t items of the list come first, in their order, with probability q! / (t + q)!.
    """
    at, _ = law
    chance = arb(1)
    for item, value in zip(items, noisy, strict=True):
        chance *= at(value - histogram[item])
    for value in set(noisy[:-1]) - {noisy[-1]}:
        chance /= math.factorial(noisy.count(value))
    left_out = sorted(count for item, count in enumerate(histogram) if item not in items)
    return chance * _chance_of_the_rest(tuple(left_out), noisy[-1], noisy.count(noisy[-1]), law)


@lru_cache(maxsize=100_000)
def _chance_of_the_rest(left_out: tuple[int, ...], last: int, ties: int, law: tuple[Point, Point]) -> arb:
    """P(no other item comes before the t items that have the last count), and those come in their order."""
    at, below = law
    # The coefficient of z^q is the probability that q others have the last count, and the rest less.
    others = [arb(1)]
    for count in left_out:
        equal, less = at(last - count), below(last - 1 - count)
        others = [a * less + b * equal for a, b in zip([*others, arb(0)], [arb(0), *others], strict=True)]
    orders = (fmpq(math.factorial(q), math.factorial(ties + q)) for q in range(len(others)))
    return sum((p * order for p, order in zip(others, orders, strict=True)), arb(0))


def rank_items(histogram: Histogram) -> list[int]:
    """The items that exist by falling count, equal counts in the order of their bytes."""
    return sorted((item for item, count in enumerate(histogram) if count), key=lambda item: (-histogram[item], item))


def sequences_up_to(items: Sequence[int], k: int) -> Iterator[Items]:
    """Every sequence of at most k of these items."""
    for length in range(min(k, len(items)) + 1):
        yield from itertools.permutations(items, length)


def chance_of_few(
    counts: tuple[int, ...], places: Items, noisy: tuple[int, ...], least: int, noise: tuple[Point, Point]
) -> arb:
    """P(these items have these noisy counts, and all others are below the threshold); ties in each order alike."""
    at, below = noise
    chance = arb(1)
    for place, count in enumerate(counts):
        chance *= at(noisy[places.index(place)] - count) if place in places else below(least - 1 - count)
    for value in set(noisy):
        chance /= math.factorial(noisy.count(value))
    return chance
