"""Stable: the exact top set of a size where the counts have a wide gap, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, quantile
from shortlist.exact.noise import DiscreteLaplace, bound_noise
from shortlist.exact.scaled import powers
from shortlist.exact.uniform import Uniform, draw_below, draw_below_each, draw_words
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.unknown_domain.observed import UnknownDomain
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import Real, quote, read_whole
from shortlist.profile import ManyPicks, Picks, Profile

_FARTHEST = 1 << 40
"""Up to this gap, threshold and size, sums with noise fit into 64 bits, so many draws can be made at once."""
_TINY = 2.0**-1000
"""Weights below this may lose digits as floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stable(UnknownDomain):
    """Choose a size n with probability ∝ e^(ε₁ g(n) / 2Δ), then release the n most-voted items if g(n) is wide.

    g(n) is the gap between the n-th and the next largest count; a count that does not exist is 0. The set is released
    if g(n) is above 0 and g(n) + discrete Laplace noise of scale Δ/ε₂ reaches `threshold`. Else nothing is. Sizes are
    from `at_least` to k; `at_least` is half of k by default, and a pair as k gives both.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Proof  stable.proof.md.
    Cost   one pass over the profile, then one choice and one noise for each draw.

    >>> mechanism = Stable(k=10, epsilon=1, delta="1e-6")
    >>> mechanism.sizes, mechanism.threshold
    (range(5, 11), 28)
    """

    name: ClassVar[str] = "stable"
    summary: ClassVar[str] = "the exact set of the most-voted items, at a size where the counts have a gap, or nothing"
    when: ClassVar[str] = "there is no list of all items, and a set of any size near k that is exactly right is wanted"

    at_least: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int | tuple[int, int],
            epsilon: Real,
            delta: Real,
            neighbours: Neighbours | str = ...,
            at_least: int | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: object = self.k
        if isinstance(given, Sequence) and not isinstance(given, str):
            if len(given) != 2 or self.at_least is not None:
                raise ParameterError(
                    "{k} must be a number, or two numbers for the smallest and the largest size",
                    "not {value}",
                    value=quote(given),
                )
            self._read(k=given[1], at_least=given[0])
        UnknownDomain.__post_init__(self)
        smallest = (self.k + 1) // 2 if self.at_least is None else read_whole(self.at_least, name="at_least")
        if smallest > self.k:
            raise ParameterError(
                "{at_least} must be at most {k}, which is {largest}",
                "not {value}",
                largest=quote(self.k),
                value=quote(smallest),
            )
        self._read(at_least=smallest)

    @property
    def sizes(self) -> range:
        """How many items a set may have."""
        assert self.at_least is not None
        return range(self.at_least, self.k + 1)

    @property
    def size_epsilon(self) -> Fraction:
        """ε₁, which the choice of the size spends: half of epsilon, or 0 where there is only one size."""
        return self.epsilon / 2 if self.at_least != self.k else Fraction(0)

    @property
    def rate(self) -> Fraction:
        """How fast the weight of a size falls with each vote by which its gap is narrower."""
        return self.size_epsilon / (2 * self.neighbours.sensitivity)

    @property
    def law(self) -> DiscreteLaplace:
        """The noise on the gap."""
        return DiscreteLaplace(self.neighbours.sensitivity / (self.epsilon - self.size_epsilon))

    @property
    def threshold(self) -> int:
        """The smallest noisy gap with which a set is released.

        It is Δ + 1 + T with the smallest T such that P(noise ≥ T + 1) ≤ delta.
        """
        return self.neighbours.sensitivity + 1 + bound_noise(self.law, 1, 2 * self.delta)

    @property
    def unordered(self) -> bool:
        """True: the items have no order."""
        return True

    def _prepare_observed(self, observed: Profile) -> StableSets:
        return StableSets(observed, sizes=self.sizes, rate=self.rate, law=self.law, threshold=self.threshold)


class StableSets(Prepared):
    """The law of stable on the profile of the observed items."""

    def __init__(
        self, observed: Profile, *, sizes: range, rate: Fraction, law: DiscreteLaplace, threshold: int
    ) -> None:
        self._observed = observed
        self._law = law
        self._threshold = threshold
        self.gaps = find_gaps(observed, sizes)
        self._sizes = sizes
        self._rate = rate
        widths, self._numbers = np.unique(self.gaps, return_counts=True)
        further = sizes.stop - sizes.start - len(self.gaps)  # they have the gap 0, which is the narrowest
        self._cells = [
            GapCell(rate=rate, gap=gap, loss=int(widths[-1]) - gap, sizes=number + (0 if gap else further))
            for gap, number in zip(widths.tolist(), self._numbers.tolist(), strict=True)
        ]

    def draw(self, bits: Bits) -> Picks:
        """Choose a set of items, or none."""
        cell = quantile(Uniform(bits), self._cells)
        place = draw_below(cell.sizes, bits)
        noisy = cell.gap + self._law.draw(1, bits)[0]
        released = 0
        if cell.gap > 0 and noisy >= self._threshold:
            released = self._sizes.start + int(np.flatnonzero(self.gaps == cell.gap)[place])
        picks = self._observed.picks(np.arange(released))
        return Picks(levels=picks.levels, ranks=picks.ranks, unordered=True)

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose a set of items n times."""
        if max(self._threshold, int(self.gaps.max()), self._sizes.stop) > _FARTHEST:
            return ManyPicks.join(Prepared.draw_many(self, n, bits))
        words = draw_words(n, bits)
        cells = self._table.locate_each(words)
        for i in np.flatnonzero(cells < 0).tolist():
            cells[i] = self._cells.index(quantile(Uniform(bits, int(words[i])), self._cells))
        numbers = self._numbers  # of the gap 0, any size will do: nothing is released
        gaps = np.array([cell.gap for cell in self._cells])[cells]
        # The places of the sizes, those with the narrowest gap first.
        order = np.argsort(self.gaps, kind="stable")
        places = order[(np.cumsum(numbers) - numbers)[cells] + draw_below_each(numbers[cells], bits)]
        released = (gaps > 0) & (gaps + self._law.draw_array(n, bits) >= self._threshold)
        lengths = np.where(released, self._sizes.start + places, 0)
        picks = self._observed.picks(np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths))
        return ManyPicks(levels=picks.levels, ranks=picks.ranks, lengths=lengths, unordered=True)

    @cached_property
    def _table(self) -> Table:
        """The cells with their weights as floats."""
        weights = powers(self._rate, np.array([cell.loss for cell in reversed(self._cells)]))
        sizes = np.array([float(cell.sizes) for cell in self._cells])
        error = weights.error + 2.0**-52
        return Table(sizes * weights.align(0)[::-1], error=error, omitted=float(sizes.sum()) * _TINY)


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCell:
    """All sizes with the same gap, which is `loss` votes narrower than the widest."""

    rate: Fraction
    gap: int
    loss: int
    sizes: int

    def weight(self) -> arb:
        """Enclose the weight of these sizes together."""
        return self.sizes * enclose_exp_minus(self.rate * self.loss)

    def split(self) -> None:
        """Return None: there are no smaller parts."""


def find_gaps(observed: Profile, sizes: range) -> IntArray:
    """Find the gap after the first n counts, for every size n. A count that does not exist is 0.

    Of the sizes above the number of items, only the first is included: all of them have the gap 0, and k may be huge.

    >>> find_gaps(Profile.of(np.array([9, 4, 4])), range(1, 10**30)).tolist()
    [5, 0, 4, 0]
    """
    first, last = sizes[0], min(sizes[-1], max(observed.d + 1, sizes[0]))
    counts = observed.top(min(last + 1, observed.d))[first - 1 :]
    padded = np.concatenate([counts, np.zeros(last - first + 2 - len(counts), dtype=np.int64)])
    gaps: IntArray = padded[:-1] - padded[1:]
    return gaps
