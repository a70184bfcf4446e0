"""Laws of lists and sets by brute force: every output enumerated, nothing shared with the code that draws."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from flint import arb, arb_poly

from shortlist.exact.balls import enclose_exp_minus

Histogram = tuple[int, ...]
Items = tuple[int, ...]


def small_histograms(largest_d: int = 4) -> list[Histogram]:
    """Every histogram with d ≤ 4 and counts ≤ 3, up to the order of the items."""
    return [h for d in range(1, largest_d + 1) for h in itertools.combinations_with_replacement(range(3, -1, -1), d)]


def neighbours(histogram: Histogram, relation: str, cap: int | None = None) -> Iterator[Histogram]:
    """Every histogram that one person more or less, or one person's other votes, can make of it.

    With `cap`, a person casts at most `cap` votes.
    """
    for change in itertools.product((0, 1, -1), repeat=len(histogram)):
        up, down = change.count(1), change.count(-1)
        fits = (cap is None or max(up, down) <= cap) and (relation == "replace" or not up or not down)
        moved = tuple(h + c for h, c in zip(histogram, change, strict=True))
        if fits and min(moved) >= 0:
            yield moved


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
    weights = {score: enclose_exp_minus(rate * score) for score in set(scores)}
    total = sum((weights[score] for score in scores), arb(0))
    chances = {score: weight / total for score, weight in weights.items()}
    return [chances[score] for score in scores]


def permute_and_flip(scores: Sequence[int], rate: Fraction) -> list[arb]:
    """The law of permute-and-flip, where each is accepted with probability e^(−rate · (score − smallest score))."""
    decays = {score: enclose_exp_minus(rate * (score - min(scores))) for score in set(scores)}
    return flip_round([decays[score] for score in scores])


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


def decay(rate: Fraction, loss: int) -> arb:
    """e^(−rate · loss)."""
    return enclose_exp_minus(rate * loss)


def hockey_stick(here: Iterable[arb], there: Iterable[arb], factor: arb) -> arb:
    """The hockey-stick divergence: Σ max(0, p − factor · q) over all outputs, where factor is e^epsilon."""
    gaps = [p - factor * q for p, q in zip(here, there, strict=True)]
    return sum((gap for gap in gaps if gap > 0), arb(0))


def find_rate(epsilon: Fraction, relation: str) -> Fraction:
    """ε/2Δ."""
    return epsilon / (2 if relation == "add-remove" else 4)
