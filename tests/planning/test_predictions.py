"""Forecasts are right: lists that are drawn one by one are as good as the forecast says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from contract import ALARM
from real_data import find_real_data
from scipy import stats

from shortlist.ledger.budget import Budget
from shortlist.mechanisms import build_mechanism
from shortlist.planning.constraints import Constraints
from shortlist.planning.counts import invent_counts, read_given
from shortlist.planning.forecast import QUANTILES, fill_places, forecast, measure
from shortlist.testing import SeededBits

pytestmark = pytest.mark.slow

BUDGET = Budget.plan(epsilon=10, delta="1e-6")
REAL_DRAWS, DRAWS = 500, 1000


def draw_singly(mechanism, counts, seed=99):
    """The measures of lists that are drawn one by one."""
    histogram, bits = counts.shown[0], SeededBits(seed)
    prepared = mechanism.prepare(histogram.profile)
    lists = fill_places([prepared.draw(bits).levels for _ in range(REAL_DRAWS)], mechanism.k, empty=0)
    return measure(histogram.counts[: mechanism.k], lists, unordered=mechanism.unordered)


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
            p_values.append(predicted.exact**REAL_DRAWS if not errors.largest.any() else float(gap < 0.02))
        # Of real lists, about a share p lies at the predicted quantile or below, and at most about p lies below it.
        for p, quantile in zip(QUANTILES, (spread.low, spread.middle, spread.high), strict=True):
            error = math.sqrt(p * (1 - p) * (1 / REAL_DRAWS + 1 / DRAWS))
            missing = max(p - (values <= quantile).mean(), (values < quantile).mean() - p)
            p_values.append(2 * stats.norm.sf(max(missing, 0) / error))
    times = int((errors.largest == 0).sum())
    if predicted.exact_is_computed:
        p_values.append(stats.binomtest(times, REAL_DRAWS, min(predicted.exact, 1.0)).pvalue)
    return min(p_values)


def predict(mechanism, counts, draws=DRAWS):
    return forecast(mechanism, counts, Constraints(), budget=BUDGET, draws=draws, seed=1)


def check(counts, mechanism):
    """The forecast agrees with real lists, and that for an epsilon 30 % smaller or larger is seen to be wrong."""
    errors = draw_singly(mechanism, counts)
    predicted = predict(mechanism, counts)
    assert disagree(predicted, errors) > ALARM, mechanism.name
    others = [predict(replace(mechanism, epsilon=mechanism.epsilon * factor), counts) for factor in (7 / 10, 13 / 10)]
    return min(disagree(other, errors) for other in others)


@pytest.mark.parametrize("name", Constraints(delta="1e-6", ordered=False, votes_per_person=5).allow(10, 1))
def test_forecasts_agree_with_real_lists(name):
    """On an invented histogram where lists are partly right; the comparison has power."""
    counts = invent_counts("zipf", Constraints(), items=400, people=10_000)
    mechanism = Constraints(delta="1e-6", ordered=False, votes_per_person=5).allow(12, "0.4")[name]
    if name == "pnf-joint":  # it decides with balls here, which is slow, and its errors are those of joint
        predicted = predict(mechanism, counts, DRAWS // 4)
        assert disagree(predicted, draw_singly(mechanism, counts)) > ALARM
    else:
        assert check(counts, mechanism) < ALARM


@pytest.mark.parametrize("name", ["limited-domain", "threshold", "stable"])
def test_forecasts_agree_without_a_domain(name):
    """Also where lists have different lengths; the comparison has power."""
    constraints = Constraints(delta="1e-3", ordered=False, votes_per_person=2, without_domain=True)
    counts = read_given([90, 80, 60, 41, 40, 32, 10, 9, 8, 8, *range(1, 8)])
    assert check(counts, constraints.allow(8, "0.6")[name]) < ALARM


def test_forecasts_agree_with_ties():
    """Most items have the same counts as others, so that exact lists are many."""
    counts = read_given(np.repeat([40, 30, 20, 3, 0], [2, 3, 4, 30, 60]))
    for name in ("joint", "subset", "margin-joint"):
        check(counts, build_mechanism(name, k=7, epsilon="0.7"))


@pytest.mark.parametrize("data", ["games", "food5core", "searchlogs"])
def test_forecasts_agree_on_real_data(data):
    """On histograms of real data, where they are at hand."""
    counts = read_given(np.load(find_real_data(f"{data}.counts.npy")))
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
        predicted = predict(mechanism, counts)
        assert disagree(predicted, draw_singly(mechanism, counts)) > ALARM, name
