"""The Laplace mechanism for top-k (Bhaskar et al. 2010; Qiao, Su and Zhang 2021), in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shortlist.array_types import FloatArray
from shortlist.exact.bits import Bits
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.mechanisms.research.noise import OneShot
from shortlist.privacy import Guarantee
from shortlist.privacy.numbers import Real
from shortlist.privacy.zcdp import rho_of_pure
from shortlist.profile import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(Mechanism):
    """Choose the k largest counts after Laplace noise of scale Δk/ε on each.

    Claim  epsilon-DP when one person raises each count by 0 or 1, for real numbers; floats only come near it.
    Proof  laplace.proof.md.
    Cost   O(d), less where many items have the same count.

    >>> float(Laplace(k=10, epsilon=1).guarantee.rho)
    0.462117158
    """

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "the k largest counts after Laplace noise on each"
    when: ClassVar[str] = "you do research: noise in floating point, refused for a secure release"
    rho_in_words: ClassVar[str] = "ε·tanh(ε/2)"
    colour: ClassVar[str] = "#969696"
    research: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __init__(self, *, k: int, epsilon: Real, neighbours: str = ...) -> None: ...

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises; rho is what any epsilon-DP mechanism has."""
        return Guarantee(epsilon=self.epsilon, rho=rho_of_pure(self.epsilon), neighbours=self.neighbours)

    def _prepare(self, levels: Levels) -> OneShot:
        scale = float(self.neighbours.sensitivity * self.k / self.epsilon)

        def noise(tails: FloatArray, bits: Bits) -> FloatArray:
            return scale * np.where(tails < 0.5, -np.log(2 * tails), np.log(2 * (1 - tails)))

        return OneShot(levels, k=self.k, noise=noise)
