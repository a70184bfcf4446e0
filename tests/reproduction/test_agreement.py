"""The published algorithms and the mechanisms for real use agree: the same laws, and the same errors on real data.

They share no code: the published ones work item by item in floating point with NumPy's generator, the others on the
profile, with exact draws. On real data the published side makes fewer than 200 runs where one
takes long. The published Joint takes seconds, and a rank test at 10⁻⁹ can reject nothing with fewer than 14 runs. So
Joint is compared on small histograms only.
"""

from collections import Counter
from functools import partial

import numpy as np
import pytest
from scipy.stats import chi2_contingency, mannwhitneyu

from reproduction import PUBLISHED
from shortlist import prepare
from shortlist.mechanisms import CDPPeel, FastJoint, Joint, PNFPeel
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow

ALARM = 1e-9
DELTA = 1e-6
BETA = 2.0**-10
PAIRS = {
    "joint": Joint,
    "fastjoint": partial(FastJoint, beta=BETA),
    "fastjoint-buckets": partial(FastJoint, beta=BETA),
    "pnf-peel": PNFPeel,
    "cdp-peel": partial(CDPPeel, delta=DELTA, calibration="published"),
}
RUNS = 200
SLOW = {
    **{(name, data): 60 for name in ("fastjoint", "fastjoint-buckets", "pnf-peel") for data in ("books", "news")},
    ("fastjoint", "games"): 60,
}
SMALL_RUNS = 3000
SMALL = ((9, 5, 5, 1, 0), 2, 1.1)

# FastJoint is here by its faster form.
TELL_EPSILONS_APART = ("fastjoint-buckets", "pnf-peel", "cdp-peel")


@pytest.mark.parametrize("name", PAIRS)
def test_small_laws_agree(name):
    """Sampled sequences have one law on small histograms, and another when epsilon is 30 % off."""
    right, low, high = _small_p_values(name, *SMALL)
    assert right > ALARM
    assert low < ALARM
    assert high < ALARM


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "joint"])
@pytest.mark.parametrize("data", ["games", "books", "news"])
def test_errors_on_real_data_agree(name, data, real_counts):
    """At k = 100 and ε = 1 the ℓ∞ and ℓ1 errors have the same distributions, by a rank test at 10⁻⁹.

    The same test on games rejects an epsilon that is 30 % off, so that agreement means something.
    """
    counts = real_counts(data).astype(np.int64)
    published = _errors(counts, _published(name, counts, 100, 1.0, SLOW.get((name, data), RUNS)))

    def p_values(epsilon):
        ours = _errors(counts, _ours(name, counts, 100, epsilon, RUNS))
        return [mannwhitneyu(theirs, mine).pvalue for theirs, mine in zip(published, ours, strict=True)]

    assert min(p_values(1.0)) > ALARM
    if data == "games" and name in TELL_EPSILONS_APART:
        assert max(min(p_values(factor)) for factor in (0.7, 1.3)) < ALARM


def _small_p_values(name, counts, k, epsilon):
    array = np.array(counts)
    published = Counter(map(tuple, _published(name, array, k, epsilon, SMALL_RUNS).tolist()))
    return [
        _same_law(published, Counter(map(tuple, _ours(name, array, k, factor * epsilon, SMALL_RUNS).tolist())))
        for factor in (1, 0.7, 1.3)
    ]


def _same_law(one, other):
    """The two-sample chi-square p-value; sequences drawn fewer than ten times are one cell."""
    table = np.array([[one[each], other[each]] for each in one | other]).T
    rare = table.sum(axis=0) < 10
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    return float(chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue)


def _published(name, counts, k, epsilon, runs):
    rng = np.random.default_rng(20240607)
    return np.array([PUBLISHED[name](counts, k, epsilon, rng=rng) for _ in range(runs)])


def _ours(name, counts, k, epsilon, runs):
    selector = prepare(counts, mechanism=PAIRS[name](k=k, epsilon=epsilon))
    return np.array(selector.draw_many(runs, SeededBits(11)))


def _errors(counts, chosen):
    """The ℓ∞ and ℓ1 errors of every run."""
    off = np.abs(np.sort(counts)[::-1][: chosen.shape[1]] - counts[chosen])
    return off.max(axis=1), off.sum(axis=1)
