"""Laws of lists with noisy counts by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, lru_cache

from flint import arb, fmpq

from shortlist.audits.laws import Histogram, Items

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
