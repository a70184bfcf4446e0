"""Assess: publish, with noise, how spread the law of a list is on the data at hand, and the bound that follows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.errors import ParameterError
from shortlist.exact.balls import use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.noise import DiscreteLaplace, bound_noise
from shortlist.mechanisms.auto.auto import Auto
from shortlist.mechanisms.auto.scores import ListScore, RoundScore
from shortlist.mechanisms.auto.set_scores import SetScore
from shortlist.mechanisms.bounds import ceil_log
from shortlist.mechanisms.counts.noisy_counts import NoisyCounts
from shortlist.mechanisms.joint.joint import Joint
from shortlist.mechanisms.joint.margin_joint import MarginJoint
from shortlist.mechanisms.joint.pnf_joint import PNFJoint
from shortlist.mechanisms.mechanism import Mechanism, Score
from shortlist.mechanisms.peel.cdp_peel import CDPPeel
from shortlist.mechanisms.peel.pnf_peel import PNFPeel
from shortlist.mechanisms.subset.subset import Subset
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.numbers import Real, read_epsilon
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Levels

_ASSESSED = (Auto, Joint, MarginJoint, PNFJoint, Subset, PNFPeel, CDPPeel, NoisyCounts)
_PRECISION = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Assess:
    """A way to estimate by how many votes a place of a list is wrong, on the data that the list was drawn from.

    The spread of a law is a number of votes that one person moves by Δ. Its floor, cut off at the largest count, is
    released with discrete Laplace noise of scale Δ/ε.

    Claim  epsilon-DP and (ε tanh(ε/2))-zCDP, on top of the guarantee of the list.
    Proof  assess.proof.md.

    >>> print(Assess(epsilon="0.1").guarantee)
    0.1-DP (rho 0.0049958375) for one person, add-remove
    """

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    if TYPE_CHECKING:

        def __init__(self, *, epsilon: Real, neighbours: str = ...) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon, name="assess"))
        object.__setattr__(self, "neighbours", Neighbours.read(self.neighbours))

    @property
    def guarantee(self) -> Guarantee:
        """What the assessment promises, on top of the list."""
        return Guarantee(epsilon=self.epsilon, rho=find_rho_of_pure(self.epsilon), neighbours=self.neighbours)

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on the spread."""
        return DiscreteLaplace(self.neighbours.sensitivity / self.epsilon)

    def draw(self, mechanism: Mechanism, levels: Levels, bits: Bits) -> int:
        """Draw the noisy spread of the mechanism that made a list."""
        return find_spread(mechanism, levels) + self.noise.draw(1, bits)[0]

    def find_margin(self, failure: Fraction) -> int:
        """Bound the noise: it is farther from 0 with a probability of `failure` at most."""
        return bound_noise(self.noise, 1, failure)

    def bound(self, mechanism: Mechanism, noisy: int, failure: Fraction) -> int:
        """Bound the error of the list, given the noisy spread; it is exceeded with a probability of `failure` at most.

        Half of the failure is for the noise, and half for the list.
        """
        most = max(0, noisy + self.find_margin(failure))
        rate, factor = find_tail(mechanism)
        return most + ceil_log(2 * factor / failure, rate / 2)


def check_assessed(mechanism: Mechanism) -> None:
    """Refuse a mechanism for which nothing is proven."""
    if type(mechanism) not in _ASSESSED and mechanism.find_tail() is None:
        raise ParameterError(
            "{assess} must go with one of {names}",
            "not {name}",
            hint="{mechanism='auto'} is the default",
            names=", ".join(each.name for each in _ASSESSED),
            name=mechanism.name,
        )


def find_spread(mechanism: Mechanism, levels: Levels) -> int:
    """Find the floor of the spread: (1/r) ln Σ e^(−r · loss) over lists or sets, at half of the rate of the mechanism.

    For a peel and for noisy counts it is the largest such number of a round. No error is above the largest count, so
    the floor is cut off there.

    Rounds  The spread is 0 or more, and never a whole number above 0 (assess.proof.md). So narrower balls decide.
            Above the largest count nothing is left to decide.
    """
    largest = int(levels.above(mechanism.k, 0).values[0])
    score, effort = _make_score(mechanism, levels), 0
    while True:
        with use_precision(_PRECISION * (effort + 1)):
            spread = score.enclose_spread(effort)
            if spread.lower() >= largest:
                return largest
            low, high = (end.floor().unique_fmpz() for end in (spread.lower(), spread.upper()))
        if low is not None and high is not None and max(0, int(low)) == int(high):
            return int(high)
        effort += 1


def find_tail(mechanism: Mechanism) -> tuple[Fraction, int]:
    """Find a and c: an error of t or more has a probability of at most c · e^(a (s − t)/2), where s is the spread.

    >>> find_tail(Joint(k=3, epsilon=1)), find_tail(PNFPeel(k=3, epsilon=1))
    ((Fraction(1, 2), 1), (Fraction(1, 3), 3))
    """
    if (tail := mechanism.find_tail()) is not None:
        return tail
    if isinstance(mechanism, NoisyCounts):
        rate = mechanism.round_rate
        # E e^(a(Z − Z′)) is at most (16/7)² for a = 3/4b, and e⁴ for a = 2/σ.
        laplace = isinstance(mechanism.noise, DiscreteLaplace)
        return (rate * Fraction(3, 4), 6 * mechanism.k) if laplace else (2 * rate, 55 * mechanism.k)
    return (mechanism.rate, 1) if mechanism.round_rate is None else (mechanism.round_rate, mechanism.k)


def _make_score(mechanism: Mechanism, levels: Levels) -> Score:
    rate = find_tail(mechanism)[0] / 2
    if (score := mechanism.make_score(levels, rate)) is not None:
        return score
    if isinstance(mechanism, Subset):
        return SetScore(levels, sizes=mechanism.sizes, rate=rate)
    return (ListScore if mechanism.round_rate is None else RoundScore)(levels, k=mechanism.k, rate=rate)
