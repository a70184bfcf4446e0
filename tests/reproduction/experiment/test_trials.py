"""Lists in batches follow the laws of the published programs."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from reproduction import PUBLISHED
from reproduction.experiment.datasets import DATASETS, Histogram
from reproduction.experiment.grid import CONTENDERS, Setting
from reproduction.experiment.trials import compute_tail, draw_lists
from shortlist.planning.forecast import measure

pytestmark = pytest.mark.slow

LAWS = ("fastjoint", "joint", "pnf-peel", "cdp-peel", "laplace", "gamma")
COUNTS = np.sort(np.random.default_rng(8).integers(0, 60, 40))[::-1].copy()
TOY = Histogram(dataset=DATASETS["games"], counts=COUNTS, origin=None)


def _total_errors(law, epsilon, lists=3000):
    """The ℓ1 errors of the published program itself."""
    contender, at = CONTENDERS[f"published-{law}"], Setting(k=5, epsilon=epsilon, beta=2.0**-10)
    rng = np.random.default_rng(1)
    drawn = [PUBLISHED[law](COUNTS, 5, epsilon, rng=rng, **contender.parameters(at)) for _ in range(lists)]
    return measure(COUNTS[:5], COUNTS[np.array(drawn)]).total


@pytest.mark.parametrize("law", LAWS)
def test_a_batch_has_the_law_of_the_program(law):
    """By rank tests of the errors; at an ε that is 30 % off they differ."""
    at = Setting(k=5, epsilon=1.0, beta=2.0**-10)
    counts, repeats = draw_lists(CONTENDERS[f"published-{law}"], TOY, at, range(3000))
    found = measure(COUNTS[:5], counts).total
    assert not repeats.any()
    assert mannwhitneyu(found, _total_errors(law, 1.0)).pvalue > 1e-9
    assert mannwhitneyu(found, _total_errors(law, 0.7)).pvalue < 1e-9


@pytest.mark.parametrize("law", ["joint", "fastjoint", "pnf-peel"])
def test_ours_and_the_published_ones_agree(law):
    """Our exact mechanisms draw from the same law."""
    at = Setting(k=5, epsilon=1.0, beta=2.0**-10)
    ours, published = (
        measure(COUNTS[:5], draw_lists(CONTENDERS[name], TOY, at, range(3000))[0]).total
        for name in (law, f"published-{law}")
    )
    assert mannwhitneyu(ours, published).pvalue > 1e-9


def test_a_list_depends_on_its_seed_only():
    """A batch that is drawn in two parts is the same batch."""
    at = Setting(k=5, epsilon=1.0, beta=2.0**-10)
    for name in ("published-joint", "published-pnf-peel", "cdp-peel"):
        whole, _ = draw_lists(CONTENDERS[name], TOY, CONTENDERS[name].own(at), range(10))
        parts = [
            draw_lists(CONTENDERS[name], TOY, CONTENDERS[name].own(at), part)[0] for part in (range(4), range(4, 10))
        ]
        assert (whole == np.concatenate(parts)).all()


def test_the_tail_probability_is_the_enumerated_one():
    """On three items all lists can be counted: Pr[loss ≥ τ] = Σ e^(−ετ/2) over them, over the sum of all."""
    counts = np.array([90, 1, 0])
    histogram = Histogram(dataset=DATASETS["games"], counts=counts, origin=None)
    setting = Setting(k=1, epsilon=0.5, beta=0.5)
    tau, log_probability = compute_tail(histogram, setting)
    weights = [math.exp(-0.25 * min(90 - count, tau)) for count in counts]
    expected = sum(weight for weight, count in zip(weights, counts, strict=True) if 90 - count >= tau) / sum(weights)
    assert math.exp(log_probability) == pytest.approx(expected)
    assert expected <= 0.5
