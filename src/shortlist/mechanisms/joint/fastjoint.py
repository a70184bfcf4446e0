"""FastJoint (Wu and Zhang, NeurIPS 2024): Joint with all losses above a threshold counted as the threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shortlist.errors import ParameterError
from shortlist.mechanisms.bounds import ceil_log
from shortlist.mechanisms.joint.joint import Joint
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import Mechanism
from shortlist.privacy.numbers import Real, quote, read_rational
from shortlist.profile import Levels


@dataclass(frozen=True, slots=True, kw_only=True)
class FastJoint(Joint):
    """Choose k items in one draw, counting every loss above tau as tau.

    Claim  epsilon-DP and (epsilon²/8)-zCDP when one person raises each count by 0 or 1.
    Proof  fastjoint.proof.md, Theorem 1.
    Cost   one pass over the profile, then O(k) for each draw. A list has a loss of tau or more with a probability of at
           most beta. With beta 0, this is Joint.

    >>> FastJoint(k=10, epsilon=1).tau(1000)
    152
    """

    name: ClassVar[str] = "fastjoint"
    summary: ClassVar[str] = "joint, with every loss above a threshold counted as the threshold"
    when: ClassVar[str] = "you want the algorithm of the paper, with its failure probability β; joint is as fast"
    rho_in_words: ClassVar[str] = "ε²/8"

    beta: Fraction = Fraction(1, 1024)

    if TYPE_CHECKING:

        def __init__(self, *, k: int, epsilon: Real, beta: Real = ..., neighbours: str = ...) -> None: ...

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        given = self.beta
        self._read(beta=read_rational(given, name="beta"))
        if not 0 <= self.beta < 1:
            raise ParameterError(
                "{beta} must be at least 0 and below 1", "not {value}", hint="{beta=0} is joint", value=quote(given)
            )

    def tau(self, d: int) -> int | None:
        """The threshold ⌈(2Δ/ε) ln(d!/(d−k)! / β)⌉ for d items, or None if beta is 0."""
        if not self.beta:
            return None
        return ceil_log(math.perm(d, self.k) / self.beta, self.rate)

    def _find_error_bound(self, d: int, failure: Fraction) -> int | None:
        # Nothing is proven about a list of loss tau or more, and its probability may be beta.
        return Joint._find_error_bound(self, d, failure) if self.beta <= failure else None

    def _prepare(self, levels: Levels) -> Mixture:
        return Mixture(levels, k=self.k, rate=self.rate, tau=self.tau(levels.d))
