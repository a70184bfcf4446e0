"""CDP-Peel: k rounds of the exponential mechanism, composed by their bounded range."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, working_precision
from shortlist.exact.bits import Bits
from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.peel.peeling import Peel, Peeling
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability
from shortlist.privacy.zcdp import rho_from, round_down
from shortlist.profile import Levels, Picks

_PRECISION = 256


class Calibration(StrEnum):
    """How the epsilon of one round follows from that of all."""

    TIGHT = "tight"
    """Through the best conversion from zCDP that is known."""
    PUBLISHED = "published"
    """As in the paper, through ρ + 2 √(ρ ln(1/δ)); it is smaller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CDPPeel(Mechanism):
    """Choose k items one after another, each with probability proportional to e^(ε′ h / Δ) among those left.

    Claim  (epsilon, delta)-DP and (k ε′²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  cdp_peel.proof.md, Theorems 1 and 2.
    Cost   one pass over the profile, then O(k) for each draw where counts are close; a pass over the levels within
           reach for each item where they are far apart.

    >>> mechanism = CDPPeel(k=100, epsilon=1, delta="1e-6")
    >>> float(mechanism.round_epsilon), float(mechanism.guarantee.rho)
    (0.0441415634, 0.024355970...)
    """

    name: ClassVar[str] = "cdp-peel"
    summary: ClassVar[str] = "k rounds of the exponential mechanism, one item each"
    when: ClassVar[str] = "counts lie close together and a small δ is acceptable"
    guarantee_in_words: ClassVar[str] = "(ε, δ)"
    rho_in_words: ClassVar[str] = "kε′²/8"
    colour: ClassVar[str] = "#2b8cbe"
    marker: ClassVar[str] = "P"
    in_experiment: ClassVar[bool] = True

    delta: Fraction
    calibration: Calibration = Calibration.TIGHT

    if TYPE_CHECKING:

        def __init__(
            self, *, k: int, epsilon: Real, delta: Real, calibration: str = ..., neighbours: str = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        self._read(delta=read_probability(self.delta, name="delta"))
        try:
            self._read(calibration=Calibration(self.calibration))
        except ValueError:
            names = " or ".join(repr(str(each)) for each in Calibration)
            raise ParameterError(
                "{calibration} must be {names}", "not {value}", names=names, value=quote(self.calibration)
            ) from None

    @property
    def round_epsilon(self) -> Fraction:
        """ε′, what one round spends: rounded down, and never less than ε/k."""
        return max(_calibrated(self.k, self.epsilon, self.delta, self.calibration), self.epsilon / self.k)

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        rho = self.k * self.round_epsilon**2 / 8
        return Guarantee(epsilon=self.epsilon, delta=self.delta, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """How fast the weight of an item falls with each vote that it is short of the best one left, in one round."""
        return self.round_epsilon / self.neighbours.sensitivity

    def _error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(self.k * d, self.round_rate, failure)

    def _prepare(self, levels: Levels) -> SuccessiveDraws:
        return SuccessiveDraws(levels, k=self.k, rate=self.round_rate)


class SuccessiveDraws:
    """CDP-Peel's law on given levels: every proposal is taken."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction) -> None:
        self._peeling = Peeling(levels, k=k, rate=rate)

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        peel = Peel(self._peeling, bits)
        for _ in range(self._peeling.k):
            peel.take(*peel.propose())
        return peel.picks()


@lru_cache(maxsize=256)
def _calibrated(k: int, epsilon: Fraction, delta: Fraction, calibration: Calibration) -> Fraction:
    """The largest ε′ of nine digits that is proven, with balls, to give (epsilon, delta) through zCDP."""
    with working_precision(_PRECISION):
        if calibration is Calibration.TIGHT:
            return round_down((8 * ball(rho_from(epsilon, delta)) / k).sqrt())
        unlikely = -8 * ball(delta).log()
        return round_down(((unlikely + 8 * ball(epsilon)) / k).sqrt() - (unlikely / k).sqrt())
