"""What can be bought on top of a list: noisy counts of its items, and a bound on its error that uses these data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from shortlist.errors import ParameterError
from shortlist.exact.bits import Bits
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee, compose
from shortlist.privacy.numbers import read_epsilon
from shortlist.profile import Levels, Picks

if TYPE_CHECKING:  # most lists have no extras, so these modules are imported where they are used
    from shortlist.mechanisms.assess import Assess
    from shortlist.mechanisms.noisy_counts import ListCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """The counts and the assessment that a release has beside its items. The guarantee of the release is the sum.

    Claim  The list, the counts and the assessment together have the sum of the epsilons, deltas and rhos.
    Proof  Each is a release of its own, and may depend on the earlier ones: adaptive composition.
    """

    counts: ListCounts | None = None
    assess: Assess | None = None

    @classmethod
    def read(
        cls,
        mechanism: Mechanism,
        *,
        assess: Any = None,
        counts_epsilon: Any = None,
        counts_rho: Any = None,
        counts_delta: Any = None,
        votes_per_person: int | None = None,
        sensitivity: int = 1,
    ) -> Extras:
        """Read what is asked for, as users write it. Epsilons are divided by the sensitivity, like that of the list."""
        if assess is not None:
            from shortlist.mechanisms.assess import Assess, check_assessed

            check_assessed(mechanism)
            assess = Assess(epsilon=read_epsilon(assess, name="assess") / sensitivity, neighbours=mechanism.neighbours)
        if counts_epsilon is None and counts_rho is None and counts_delta is None:
            return cls(assess=assess)
        from shortlist.mechanisms import NoisyCounts, Threshold
        from shortlist.mechanisms.noisy_counts import ListCounts

        if isinstance(mechanism, NoisyCounts | Threshold):
            raise ParameterError(
                "{counts_epsilon} must go with another {mechanism}",
                "{name} releases its counts already",
                hint="leave {counts_epsilon} out",
                name=mechanism.name,
            )
        if counts_delta is not None and sensitivity > 1:
            raise ParameterError(
                "{counts_delta} must go with a {sensitivity} of 1", hint="pass {counts_epsilon=0.1}, which has no delta"
            )
        if counts_epsilon is not None:
            counts_epsilon = read_epsilon(counts_epsilon, name="counts_epsilon") / sensitivity
        counts = ListCounts(
            k=mechanism.k,
            epsilon=counts_epsilon,
            rho=counts_rho,
            delta=counts_delta,
            votes_per_person=votes_per_person,
            neighbours=mechanism.neighbours,
        )
        return cls(counts=counts, assess=assess)

    def add_to(self, guarantee: Guarantee) -> Guarantee:
        """Add what the extras promise to what the list promises."""
        parts = [each.guarantee for each in (self.counts, self.assess) if each is not None]
        if sum(each.delta for each in (guarantee, *parts)) >= 1:
            raise ParameterError(
                "{delta} and {counts_delta} must sum to less than 1",
                "they do not",
                hint="{delta=1e-6} and {counts_delta=1e-6} are common",
            )
        return compose([guarantee, *parts]) if parts else guarantee

    def list_parameters(self, sensitivity: int = 1) -> dict[str, Fraction]:
        """List what was asked for, by the names under which it was."""
        assess, counts = self.assess, self.counts
        given = {
            "assess": None if assess is None else assess.epsilon * sensitivity,
            "counts_epsilon": None if counts is None or counts.epsilon is None else counts.epsilon * sensitivity,
            "counts_rho": None if counts is None else counts.rho,
            "counts_delta": None if counts is None else counts.delta,
        }
        return {name: value for name, value in given.items() if value is not None}

    def draw(self, mechanism: Mechanism, picks: Picks, levels: Levels, bits: Bits) -> tuple[Picks, int | None]:
        """Draw noisy counts for picks, and the noisy spread of the mechanism that chose them."""
        if self.counts is not None:
            from shortlist.mechanisms.noisy_counts import clip_counts

            picks = replace(picks, counts=clip_counts(self.counts.add_noise(picks.levels.tolist(), bits)))
        spread = None if self.assess is None else self.assess.draw(mechanism.resolve(picks.chosen), levels, bits)
        return picks, spread


NO_EXTRAS = Extras()
"""A list and nothing else."""
EXTRA_PARAMETERS = frozenset({"assess", "counts_epsilon", "counts_rho", "counts_delta"})
"""The parameters that ask for extras."""
