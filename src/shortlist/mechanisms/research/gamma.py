"""The Gamma mechanism (Steinke and Ullman 2016) for top-k, in floating point."""

from __future__ import annotations

import math
from typing import ClassVar

from shortlist.array_types import FloatArray
from shortlist.exact.bits import Bits
from shortlist.mechanisms.research.noise import Noise, NoisyMechanism, draw_uniform_floats


class Gamma(NoisyMechanism):
    """Choose the k largest counts after noise of density proportional to e^(−ε max|z|) on all of them together.

    Claim  epsilon-DP when one person changes each count by at most 1, if the noise is a real number. Floats only
           approximate it.
    Proof  gamma.proof.md.
    Cost   O(d), less if many items have the same count. The noise grows with d, and not with k.

    >>> float(Gamma(k=10, epsilon=1, neighbours="replace").guarantee.rho)
    0.462117158
    """

    __slots__ = ()

    name: ClassVar[str] = "gamma"
    summary: ClassVar[str] = "the k largest counts after noise of one common radius"
    colour: ClassVar[str] = "#636363"

    def _make_noise(self, d: int) -> Noise:
        shape, scale = d + 1, float(1 / self.epsilon)

        def noise(tails: FloatArray, bits: Bits) -> FloatArray:
            return scale * draw_gamma(shape, bits) * (1 - 2 * tails)

        return noise


def draw_gamma(shape: float, bits: Bits) -> float:
    """Draw from the Gamma distribution of scale 1 and a shape of at least 1 (Marsaglia and Tsang 2000)."""
    centre = shape - 1 / 3
    while True:
        first, second, third = draw_uniform_floats(3, bits).tolist()
        normal = math.sqrt(-2 * math.log(first)) * math.cos(2 * math.pi * second)
        root = 1 + normal / math.sqrt(9 * centre)
        if root > 0 and math.log(third) < normal**2 / 2 + centre * (1 - root**3 + 3 * math.log(root)):
            return centre * root**3
