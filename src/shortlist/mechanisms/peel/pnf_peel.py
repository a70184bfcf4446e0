"""PNF-Peel: k rounds of permute-and-flip."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from shortlist.exact.balls import enclose_exp_minus, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.thinning import accept_by_balls, accept_by_integers, accept_by_sums
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.peel.many import Accept, ManyPeels, PeelDraws
from shortlist.mechanisms.peel.many_thinned import Thinning
from shortlist.mechanisms.peel.peeling import PeelRun
from shortlist.mechanisms.peel.race import Race
from shortlist.mechanisms.peel.thinned_run import ThinnedRun
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels

_PRECISION = 128
_TURNS = 5
"""How many arrivals of one item are drawn in advance. Few items are rejected that often."""


class PNFPeel(Mechanism):
    """Choose k items one after another, each the one left with the largest count + exponential noise of mean Δk/ε.

    Claim  epsilon-DP and (epsilon tanh(epsilon/2k))-zCDP when one person raises each count by 0 or 1.
    Proof  pnf_peel.proof.md.
    Cost   one pass over the profile, then for each item one over the levels within reach.

    >>> float(PNFPeel(k=10, epsilon=1).guarantee.rho)
    0.049958375
    """

    __slots__ = ()

    name: ClassVar[str] = "pnf-peel"
    summary: ClassVar[str] = "k rounds of permute-and-flip, one item each"
    when: ClassVar[str] = "counts lie close together and δ must be 0"
    rho_in_words: ClassVar[str] = "ε·tanh(ε/2k)"

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        rho = self.k * find_rho_of_pure(self.epsilon / self.k)
        return Guarantee(epsilon=self.epsilon, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """The rate of one round: an item that is n votes below the best one left has weight e^(−rate · n)."""
        return self.epsilon / (self.k * self.neighbours.sensitivity)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(self.k * d, self.round_rate, failure)

    def _prepare(self, levels: Levels) -> ThinnedDraws:
        return ThinnedDraws(levels, k=self.k, rate=self.round_rate)


class ThinnedDraws(PeelDraws):
    """PNF-Peel's law on given levels: a round is rejection sampling from the exponential mechanism."""

    def _accept_many(self, runs: ManyPeels, bits: Bits) -> Accept:
        return Thinning(runs, bits).accept

    def draw_positions(self, bits: Bits) -> list[int]:
        """Choose k items by their positions in falling order of count: along a race, then by proposals in batches."""
        quick = ThinnedRun(self.peeling, bits)
        quick.run(self._race)
        positions = list(quick.positions)
        if len(positions) == self.peeling.k:
            return positions
        run, height = PeelRun(self.peeling, bits, positions), quick.height
        for _ in range(self.peeling.k - len(positions)):
            run.take(*self._run_round(run, height, bits))
            height = Uniform(bits)
        return run.positions

    @cached_property
    def _race(self) -> Race:
        return Race(self.peeling, turns=_TURNS)

    def _run_round(self, run: PeelRun, height: Uniform, bits: Bits) -> tuple[int, int]:
        """Propose items until one is accepted."""
        while True:
            level, position = run.propose()
            # The best item left is always accepted: then x* = 1, where S is infinite.
            if not (loss := run.compute_loss(level)) or self._accept(
                run, height, Uniform(bits), self.peeling.rate * loss
            ):
                return level, position

    def _accept(self, run: PeelRun, height: Uniform, coin: Uniform, x: Fraction) -> bool:
        first, second = run.sums()
        lower = int(float(first.lower() * 0.999))  # the factor is far below what a float can round up
        if accept_by_integers(height, coin, lower.bit_length() - 1):
            return True
        with use_precision(_PRECISION):
            quick = accept_by_sums(height, coin, enclose_exp_minus(x), first, second)
        return accept_by_balls(height, coin, x, [run.left()]) if quick is None else quick
