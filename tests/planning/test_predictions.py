"""Forecasts are right: lists that are drawn one by one are as good as the forecast says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from contract import ALARM
from real_data import find_real_data
from scipy import stats

from shortlist.ledger import Budget
from shortlist.mechanisms import build_mechanism
from shortlist.planning.forecast import QUANTILES, forecast, measure
from shortlist.planning.inputs import Constraints, invent_histogram, read_histogram
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow

BUDGET = Budget.plan(epsilon=10, delta="1e-6")
REAL_DRAWS, DRAWS = 500, 1000


def draw_singly(mechanism, histogram, seed=99):
    """The measures of lists that are drawn one by one."""
    prepared, bits = mechanism.prepare(histogram.profile), SeededBits(seed)
    lists = [prepared.draw(bits) for _ in range(REAL_DRAWS)]
    return measure(histogram.counts[: mechanism.k], lists)


def disagree(predicted, errors):
    """The smallest p-value of the comparisons of a forecast with real lists."""
    p_values = []
    for spread, values in (
        (predicted.recall, errors.recall),
        (predicted.largest, errors.largest),
        (predicted.total, errors.total),
    ):
        deviation = math.sqrt(values.var() * (1 / REAL_DRAWS + 1 / DRAWS))
        gap = abs(values.mean() - spread.mean)
        if deviation:
            p_values.append(2 * stats.norm.sf(gap / deviation))
        else:  # all real lists are alike: if they are exact, the forecast says how likely that is
            p_values.append(predicted.exact**REAL_DRAWS if errors.exact.all() else float(gap < 0.02))
        # Of real lists, about a share p lies at the predicted quantile or below, and at most about p lies below it.
        for p, quantile in zip(QUANTILES, (spread.low, spread.middle, spread.high), strict=True):
            error = math.sqrt(p * (1 - p) * (1 / REAL_DRAWS + 1 / DRAWS))
            missing = max(p - (values <= quantile).mean(), (values < quantile).mean() - p)
            p_values.append(2 * stats.norm.sf(max(missing, 0) / error))
    times = int(errors.exact.sum())
    if predicted.exact_is_computed:
        p_values.append(stats.binomtest(times, REAL_DRAWS, min(predicted.exact, 1.0)).pvalue)
    return min(p_values)


def check(histogram, mechanism):
    """The forecast agrees with real lists, and that for an epsilon 30 % smaller or larger is seen to be wrong."""
    errors = draw_singly(mechanism, histogram)
    predicted = forecast(mechanism, histogram, budget=BUDGET, draws=DRAWS, seed=1)
    assert disagree(predicted, errors) > ALARM, mechanism.name
    others = [
        forecast(replace(mechanism, epsilon=mechanism.epsilon * factor), histogram, budget=BUDGET, draws=DRAWS, seed=1)
        for factor in (7 / 10, 13 / 10)
    ]
    return min(disagree(other, errors) for other in others)


@pytest.mark.parametrize("name", Constraints(delta="1e-6", ordered=False, votes_per_person=5).allow(10, 1))
def test_forecasts_agree_with_real_lists(name):
    """On an invented histogram where lists are partly right; the comparison has power."""
    histogram = invent_histogram("zipf", items=400, people=10_000)
    mechanism = Constraints(delta="1e-6", ordered=False, votes_per_person=5).allow(12, "0.4")[name]
    if name == "pnf-joint":  # it decides with balls here, which is slow, and its errors are those of joint
        predicted = forecast(mechanism, histogram, budget=BUDGET, draws=DRAWS // 4, seed=1)
        assert disagree(predicted, draw_singly(mechanism, histogram)) > ALARM
    else:
        assert check(histogram, mechanism) < ALARM


@pytest.mark.parametrize("name", ["limited-domain", "threshold", "stable"])
def test_forecasts_agree_without_a_domain(name):
    """Also where lists have different lengths; the comparison has power."""
    constraints = Constraints(delta="1e-3", ordered=False, votes_per_person=2, without_domain=True)
    histogram = read_histogram([90, 80, 60, 41, 40, 32, 10, 9, 8, 8, *range(1, 8)])
    assert check(histogram, constraints.allow(8, "0.6")[name]) < ALARM


def test_forecasts_agree_with_ties():
    """Most items have the same counts as others, so that exact lists are many."""
    histogram = read_histogram(np.repeat([40, 30, 20, 3, 0], [2, 3, 4, 30, 60]))
    for name in ("joint", "subset", "margin-joint"):
        check(histogram, build_mechanism(name, k=7, epsilon="0.7"))


@pytest.mark.parametrize("data", ["games", "food5core", "searchlogs"])
def test_forecasts_agree_on_real_data(data):
    """On histograms of real data, where they are at hand."""
    histogram = read_histogram(np.load(find_real_data(f"{data}.counts.npy")))
    capped = {"delta": "1e-6", "votes_per_person": 20}
    for name, parameters in (
        ("joint", {}),
        ("subset", {}),
        ("cdp-peel", {"delta": "1e-6"}),
        ("noisy-counts", capped),
        ("limited-domain", capped),
        ("threshold", capped),
    ):
        mechanism = build_mechanism(name, k=50, epsilon=1, **parameters)
        predicted = forecast(mechanism, histogram, budget=BUDGET, draws=DRAWS, seed=1)
        assert disagree(predicted, draw_singly(mechanism, histogram)) > ALARM, name
