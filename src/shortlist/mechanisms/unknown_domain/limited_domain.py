"""Limited domain: peel among the most-voted items, and a stop, which hides items with few votes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball, enclose_exp_minus, use_precision
from shortlist.mechanisms.bounds import ceil_log
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.peel.calibration import Calibration, calibrate
from shortlist.mechanisms.unknown_domain.observed import NothingToChoose, UnknownDomain
from shortlist.mechanisms.unknown_domain.stopped_peel import Stop, StoppedPeel
from shortlist.privacy import Neighbours
from shortlist.privacy.numbers import Real, quote, read_whole
from shortlist.profile import Profile

_FEWEST = 1000
_TIMES = 20
_GAIN = Fraction(21, 20)
"""Half of delta is spent on the rounds only if a round can then spend more than this factor times ε/k."""
_MOST_COPIES = 1 << 40
_HIGHEST = 1 << 61
_PRECISION = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedDomain(UnknownDomain):
    """Choose up to k items one after another among the `k_bar` most-voted ones, and stop where a stop is drawn.

    An item with h votes weighs e^(rate · h). Let t be the number of votes of the item after the first `k_bar`, or 0.
    The stop weighs (c/δ₁) e^(rate · (t + Δ)), where c is the smaller of `k_bar` and `votes_per_person`. Equal counts at
    the cut-off are ordered by the item's bytes. `k_bar` is 20 k by default, and 1,000 at least.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1, at most `votes_per_person` of them.
    Proof  limited_domain.proof.md.
    Cost   one pass over the profile, then O(k) for each draw.

    >>> mechanism = LimitedDomain(k=10, epsilon=1, delta="1e-6")
    >>> mechanism.k_bar, float(mechanism.round_epsilon), mechanism.votes_needed
    (1000, 0.149..., 145)
    """

    name: ClassVar[str] = "limited-domain"
    summary: ClassVar[str] = "k rounds of the exponential mechanism among the most-voted items, with a stop"
    when: ClassVar[str] = "there is no list of all items, and k is small"

    k_bar: int | None = None
    votes_per_person: int | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            k: int,
            epsilon: Real,
            delta: Real,
            neighbours: Neighbours | str = ...,
            k_bar: int | None = ...,
            votes_per_person: int | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        UnknownDomain.__post_init__(self)
        if self.votes_per_person is not None:
            self._read(votes_per_person=read_whole(self.votes_per_person, name="votes_per_person"))
        candidates = max(_TIMES * self.k, _FEWEST) if self.k_bar is None else read_whole(self.k_bar, name="k_bar")
        if candidates < self.k:
            raise ParameterError(
                "{k_bar} must be at least {k}, which is {least}",
                "not {value}",
                hint="leave {k_bar} out",
                least=quote(self.k),
                value=quote(self.k_bar),
            )
        self._read(k_bar=candidates)

    @property
    def round_epsilon(self) -> Fraction:
        """ε′, the epsilon of one round: rounded down, and never less than ε/k."""
        return self._split()[0]

    @property
    def rate(self) -> Fraction:
        """How fast the weight of an item falls with each vote that it is short of the best one left, in one round."""
        return self.round_epsilon / self.neighbours.sensitivity

    @property
    def hidden_delta(self) -> Fraction:
        """δ₁, the part of delta with which an item of one person may show. The rounds spend the rest."""
        return self._split()[1]

    @property
    def stop(self) -> Stop | None:
        """The stop as copies of an item that has so many votes more than the item at the cut-off."""
        return place_stop(self._stop_weight(), self.rate, height=self.neighbours.sensitivity)

    @property
    def votes_needed(self) -> int:
        """How many votes more than the item at the cut-off an item must have to weigh as much as the stop."""
        return self.neighbours.sensitivity + ceil_log(self._stop_weight(), self.rate)

    def _stop_weight(self) -> Fraction:
        """c/δ₁: how much more the stop weighs than an item that one person can show."""
        assert self.k_bar is not None
        return min(self.k_bar, self.votes_per_person or self.k_bar) / self.hidden_delta

    def _split(self) -> tuple[Fraction, Fraction]:
        """Return ε′ and δ₁. If half of delta buys hardly more than ε/k for a round, all of delta hides items."""
        if self.k == 1:
            return self.epsilon, self.delta
        spread = calibrate(self.k, self.epsilon, self.delta / 2, Calibration.OPTIMAL)
        least = self.epsilon / self.k
        return (spread, self.delta / 2) if spread > _GAIN * least else (least, self.delta)

    def _prepare_observed(self, observed: Profile) -> Prepared:
        stop = self.stop
        assert self.k_bar is not None
        if stop is None:
            return NothingToChoose(self)
        return StoppedPeel(observed, k=self.k, k_bar=self.k_bar, rate=self.rate, stop=stop)


def place_stop(weight: Fraction, rate: Fraction, *, height: int) -> Stop | None:
    """Find copies of an item at `height` votes or more that weigh together at least `weight` items at `height`.

    There are 2^40 copies at most. None stands for a stop that is out of reach of every count: it is always drawn.

    >>> place_stop(Fraction(2000), Fraction(1, 10), height=1)
    Stop(height=1, copies=2000)
    """
    more = max(0, ceil_log(max(Fraction(1), weight / _MOST_COPIES), rate))
    if more > _HIGHEST:
        return None
    if not more:
        return Stop(height=height, copies=math.ceil(weight))
    with use_precision(_PRECISION):
        copies = (ball(weight) * enclose_exp_minus(rate * more)).upper().ceil().unique_fmpz()
    assert copies is not None
    return Stop(height=height + more, copies=int(copies))
