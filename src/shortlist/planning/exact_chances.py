"""The probability of the exact list, where the law has a closed form.

A list is exact if the item at each place has the true count of that place. Items with equal counts may change places.
"""

from __future__ import annotations

from flint import arb

from shortlist.exact.balls import use_precision
from shortlist.mechanisms import FastJoint, Joint, Mechanism, Subset
from shortlist.mechanisms.joint.margin_joint import BonusMixture
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import Prepared
from shortlist.mechanisms.subset.draws import SetMixture

_PRECISION = 128


def compute_exact_chance(mechanism: Mechanism, prepared: Prepared) -> float | None:
    """Compute the probability of the exact list from the law; None where it has no closed form.

    Joint, FastJoint          the number of lists with loss 0, over Σ e^(−rate · loss) over all lists.
    Margin-Joint              p + (1 − p) times that of Joint, with p the probability of the bonus.
    Subset                    the number of sets with the true counts, over the like sum over all sets.
    """
    with use_precision(_PRECISION):
        if isinstance(mechanism, Joint | FastJoint) and isinstance(prepared, Mixture):
            return float((arb(prepared.best_number) / prepared.total()).mid())
        if isinstance(prepared, BonusMixture):
            return float(prepared.enclose_exact_chance().mid())
        if isinstance(mechanism, Subset) and isinstance(prepared, SetMixture) and mechanism.at_least is None:
            return float((arb(prepared.best_number) / prepared.total()).mid())
    return prepared.compute_exact_chance()
