"""Margin-Joint: Joint, with a bonus for the true list if it leads clearly."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from flint import arb

from shortlist.exact.balls import enclose_exp_minus, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import are_below, is_below
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.joint.joint import Joint
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import Levels, ManyPicks, Picks, Profile

_PRECISION = 128


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

    def _prepare(self, levels: Levels) -> BonusMixture:
        return BonusMixture(Mixture(levels, k=self.k, rate=self.rate, tau=None), k=self.k, rate=self.rate)


class BonusMixture(Prepared):
    """The law of Joint on given levels, and on top of it the weight q^(−g) − 1 for the true list.

    The margin g is the smallest of h_(j) − h_(j+1) over j ≤ k. If it is 0, there is no bonus. With Z the sum of all
    weights of Joint, the bonus is drawn with probability (1 − q^g) / (1 − q^g + q^g Z).
    """

    def __init__(self, joint: Mixture, *, k: int, rate: Fraction) -> None:
        self._joint = joint
        self._k = k
        self._rate = rate
        self._leads = find_margin(joint.profile, k) != 0

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        if self._leads:
            least, most = self._bounds
            if is_below(Uniform(bits), self.enclose_chance, least=least, most=most):
                return self._joint.profile.picks(np.arange(self._k))
        return self._joint.draw(bits)

    def draw_many(self, n: int, bits: Bits) -> ManyPicks:
        """Choose k items n times."""
        if not self._leads:
            return self._joint.draw_many(n, bits)
        words = draw_words(n, bits)
        least, most = self._bounds
        bonus = are_below(words, lambda _, effort: self.enclose_chance(effort), bits, least=least, most=most)
        levels, ranks = np.empty((2, n, self._k), dtype=np.int64)
        true = self._joint.profile.picks(np.arange(self._k))
        levels[bonus], ranks[bonus] = true.levels, true.ranks
        if not bonus.all():
            others = self._joint.draw_many(n - int(bonus.sum()), bits)
            levels[~bonus], ranks[~bonus] = (each.reshape(-1, self._k) for each in (others.levels, others.ranks))
        return ManyPicks(levels=levels.ravel(), ranks=ranks.ravel(), lengths=np.full(n, self._k))

    def enclose_chance(self, effort: int) -> arb:
        """Enclose the probability of the bonus at the working precision."""
        profile = self._joint.all_sequences.profile if effort else self._joint.profile
        margin = find_margin(profile, self._k)
        if margin is None:
            # h_(k+1) is not shown, so h_(k) leads it by more than the reach. A smaller lead is the margin.
            shown, reach = profile.values[: self._k], self._joint.reach
            margin = min([reach + 1, *(shown[:-1] - shown[1:]).tolist()])
            if margin > reach:  # the bonus is not less likely than with the smallest of all possible margins
                return self._find_chance(margin, effort).union(arb(1))
        return self._find_chance(margin, effort)

    def _find_chance(self, margin: int, effort: int) -> arb:
        bonus = enclose_shortfall(self._rate * margin)
        return bonus / (bonus + enclose_exp_minus(self._rate * margin) * self._joint.total(effort))

    def enclose_exact_chance(self) -> arb:
        """Enclose the probability of a list with the true counts, from floats with a proven error."""
        chance = self.enclose_chance(0) if self._leads else arb(0)
        return chance + (1 - chance) * self._joint.best_number / self._joint.total()

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        """Floats that enclose the probability of the bonus."""
        with use_precision(_PRECISION):
            chance = self.enclose_chance(0)
            return float(chance.lower()), float(chance.upper())


def find_margin(profile: Profile, k: int) -> int | None:
    """Find the margin g, or None if the profile stops before h_(k+1) and no two of the k largest counts are equal.

    >>> [find_margin(Profile.of(np.array(counts)), k=2) for counts in ([9, 5, 3, 0], [9, 5, 5], [9, 5])]
    [2, 0, 4]
    """
    if int(profile.ends[min(k, len(profile.ends)) - 1]) > k or len(profile.values) < k:
        return 0
    values = profile.values[: k + 1]
    if len(values) == k < profile.d:
        return None
    gaps = values[:-1] - values[1:]
    return int(gaps.min()) if len(gaps) else 0
