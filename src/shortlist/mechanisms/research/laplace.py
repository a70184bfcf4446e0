"""The Laplace mechanism for top-k (Bhaskar et al. 2010; Qiao, Su and Zhang 2021), in floating point."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shortlist.array_types import FloatArray
from shortlist.exact.bits import Bits
from shortlist.mechanisms.research.noise import Noise, NoisyMechanism


class Laplace(NoisyMechanism):
    """Choose the k largest counts after Laplace noise of scale Δk/ε on each.

    Claim  epsilon-DP when one person raises each count by 0 or 1, if the noise is a real number. Floats only
           approximate it.
    Proof  laplace.proof.md.
    Cost   O(d), less if many items have the same count.

    >>> float(Laplace(k=10, epsilon=1).guarantee.rho)
    0.462117158
    """

    __slots__ = ()

    name: ClassVar[str] = "laplace"
    summary: ClassVar[str] = "the k largest counts after Laplace noise on each"
    colour: ClassVar[str] = "#969696"

    def _make_noise(self, d: int) -> Noise:
        scale = float(self.neighbours.sensitivity * self.k / self.epsilon)

        def noise(tails: FloatArray, bits: Bits) -> FloatArray:
            return scale * np.where(tails < 0.5, -np.log(2 * tails), np.log(2 * (1 - tails)))

        return noise
