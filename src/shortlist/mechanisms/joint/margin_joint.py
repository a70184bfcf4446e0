"""Margin-Joint: Joint, with a bonus for the true list if it leads clearly."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.exact.scaled import Scaled, concatenate, product
from shortlist.mechanisms.joint.joint import Joint
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.profile import Levels, Profile


class MarginJoint(Joint):
    """Choose k items in one draw, as Joint does, but the true list has loss −g if each place leads the next by g votes.

    Claim  epsilon-DP and (epsilon²/8)-zCDP when one person raises each count by 0 or 1. The true list is at least as
           likely as with Joint.
    Proof  margin_joint.proof.md.
    Cost   that of Joint.

    >>> MarginJoint(k=10, epsilon="0.5").guarantee.rho
    Fraction(1, 32)
    """

    __slots__ = ()

    name: ClassVar[str] = "margin-joint"
    summary: ClassVar[str] = "joint, with a bonus for the true list if it leads clearly"
    when: ClassVar[str] = "you would take joint: the true list is at least as likely"
    colour: ClassVar[str] = "#56B4E9"
    marker: ClassVar[str] = "^"
    in_experiment: ClassVar[bool] = False

    def _prepare(self, levels: Levels) -> Mixture:
        return Mixture(levels, k=self.k, rate=self.rate, tau=None, kind=LeadingSequences)


class LeadingSequences(Sequences):
    """The sequences of k distinct items by the loss L(s) + g, where the loss of the true list is 0 instead of g.

    The margin g is the smallest of h_(j) − h_(j+1) over j ≤ k. If it is above 0, the true list is unique. A loss
    below g then allows the true list alone.

    >>> sequences = LeadingSequences(Profile.of(np.array([9, 5, 3, 0])), k=2, reach=9)
    >>> sequences.margin, [sequences.number(r) for r in range(6)]
    (2, [1, 1, 1, 1, 2, 2])
    """

    def __init__(self, profile: Profile, k: int, reach: int) -> None:
        super().__init__(profile, k, reach)
        self.margin = _find_margin(profile, k, reach)
        if profile.is_complete:
            self.widest += self.margin

    def count_allowed(self, r: int | None) -> IntArray:
        """Return how many items position j may hold, for every j."""
        if r is None:
            return super().count_allowed(None)
        return super().count_allowed(r - self.margin) if r >= self.margin else np.arange(1, self.k + 1)

    def count_allowed_each(self, losses: IntArray) -> IntArray:
        """Return how many items position j may hold, a row for each loss. A negative loss allows every item."""
        rows = super().count_allowed_each(np.where(losses < 0, losses, np.maximum(losses - self.margin, 0)))
        rows[(losses >= 0) & (losses < self.margin)] = np.arange(1, self.k + 1)
        return rows

    def compute_numbers(self, losses: IntArray) -> Scaled:
        """Compute N_r for rising losses r, as floats with a proven error."""
        alone = int(np.searchsorted(losses, self.margin))
        parts = [product([np.ones((1, alone))])] if alone else []
        if alone < len(losses):
            parts.append(super().compute_numbers(losses[alone:] - self.margin))
        return concatenate(parts)

    def compute_loss(self, positions: IntArray) -> int:
        """Return the loss of the sequence with the items at these positions in falling order of count."""
        if (positions == np.arange(self.k)).all():
            return 0
        return super().compute_loss(positions) + self.margin

    def compute_loss_each(self, positions: IntArray) -> IntArray:
        """Compute the losses of many sequences, a row for each."""
        true = (positions == np.arange(self.k)).all(axis=1)
        return np.where(true, 0, super().compute_loss_each(positions) + self.margin)


def _find_margin(profile: Profile, k: int, reach: int) -> int:
    """Find the margin g. If the profile stops before h_(k+1), then h_(k+1) is more than the reach below h_(k)."""
    top = profile.top(min(k + 1, profile.d))
    gaps = top[:-1] - top[1:]
    smallest = int(gaps.min()) if len(gaps) else reach + 1
    if len(top) <= k < profile.d:
        return min(smallest, reach + 1)
    return smallest if len(gaps) else 0
