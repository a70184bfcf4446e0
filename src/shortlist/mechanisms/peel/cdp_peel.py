"""CDP-Peel: k rounds of the exponential mechanism, which has bounded range."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shortlist.errors import ParameterError
from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.peel.calibration import Calibration, calibrate
from shortlist.mechanisms.peel.many import PeelDraws
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real, quote, read_probability
from shortlist.profile import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class CDPPeel(Mechanism):
    """Choose k items one after another, each with probability proportional to e^(ε′ h / Δ) among those left.

    Claim  (epsilon, delta)-DP and (k ε′²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  cdp_peel.proof.md, Theorems 1 to 3.
    Cost   one pass over the profile, then O(k) for each draw if counts are close. If they are far apart, a pass
           over the levels within reach for each item.

    >>> mechanism = CDPPeel(k=100, epsilon=1, delta="1e-6")
    >>> float(mechanism.round_epsilon), float(mechanism.guarantee.rho)
    (0.047..., 0.028...)
    """

    name: ClassVar[str] = "cdp-peel"
    summary: ClassVar[str] = "k rounds of the exponential mechanism, one item each"
    when: ClassVar[str] = "counts lie close together and a small δ is acceptable"
    guarantee_in_words: ClassVar[str] = "(ε, δ)"
    rho_in_words: ClassVar[str] = "kε′²/8"

    delta: Fraction
    calibration: Calibration = Calibration.OPTIMAL

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
        """ε′, the epsilon of one round: rounded down, and never less than ε/k."""
        return calibrate(self.k, self.epsilon, self.delta, self.calibration)

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises. It has no delta if ε′ is ε/k."""
        delta = self.delta if self.round_epsilon > self.epsilon / self.k else Fraction(0)
        rho = self.k * self.round_epsilon**2 / 8
        return Guarantee(epsilon=self.epsilon, delta=delta, rho=rho, neighbours=self.neighbours)

    @property
    def round_rate(self) -> Fraction:
        """The rate of one round: an item that is n votes below the best one left has weight e^(−rate · n)."""
        return self.round_epsilon / self.neighbours.sensitivity

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(self.k * d, self.round_rate, failure)

    def _prepare(self, levels: Levels) -> PeelDraws:
        return PeelDraws(levels, k=self.k, rate=self.round_rate)
