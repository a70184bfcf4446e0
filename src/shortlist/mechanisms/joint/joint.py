"""Joint: the exponential mechanism over all sequences of k items, with nothing pruned."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from shortlist.mechanisms.bounds import bound_loss
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.profile import Levels


class Joint(Mechanism):
    """Choose k items in one draw, a sequence s with probability proportional to e^(−ε L(s) / 2Δ).

    Claim  epsilon-DP and (epsilon²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  joint.proof.md, Theorem 1.
    Cost   one pass over the profile, then O(k) for each draw; no failure probability.

    >>> Joint(k=10, epsilon="0.5").guarantee.rho
    Fraction(1, 32)
    """

    __slots__ = ()

    name: ClassVar[str] = "joint"
    summary: ClassVar[str] = "one draw among all ordered lists: the smaller the loss of a list, the likelier it is"
    when: ClassVar[str] = "the top counts have wide gaps: then the true list is very likely"
    rho_in_words: ClassVar[str] = "ε²/8"

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises."""
        return Guarantee(epsilon=self.epsilon, rho=self.epsilon**2 / 8, neighbours=self.neighbours)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        return bound_loss(math.perm(d, self.k), self.rate, failure)

    def _prepare(self, levels: Levels) -> Prepared:
        return Mixture(levels, k=self.k, rate=self.rate, tau=None)
